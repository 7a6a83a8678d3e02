// The Python face of the loops over graphs and over histograms with keys of 64 bits.
#include "arguments.hpp"
#include "graphlets.hpp"
#include "graphs.hpp"
#include "keyed.hpp"
#include "walks.hpp"

using Keys = InRow<std::uint64_t>;

static Graphs graphs(const Starts &node_starts, const Starts &starts, const InRow<std::int32_t> &neighbors) {
    return {node_starts.data(), starts.data(), neighbors.data(), node_starts.shape(0) - 1};
}

static nb::tuple arrays(Histograms &&found) {
    return nb::make_tuple(owned(std::move(found.starts)), owned(std::move(found.keys)), owned(std::move(found.counts)));
}

static nb::tuple define_weisfeiler_lehman(const Starts &node_starts, const Starts &starts,
                                          const InRow<std::int32_t> &neighbors, const Keys &labels,
                                          const Keys &edge_labels, std::size_t iterations) {
    const Graphs given = graphs(node_starts, starts, neighbors);
    Histograms found;
    {
        nb::gil_scoped_release release;
        found = weisfeiler_lehman(given, labels.data(), edge_labels.data(), iterations);
    }
    return arrays(std::move(found));
}

static nb::tuple define_shortest_paths(const Starts &node_starts, const Starts &starts,
                                       const InRow<std::int32_t> &neighbors, const Keys &labels) {
    const Graphs given = graphs(node_starts, starts, neighbors);
    Histograms found;
    {
        nb::gil_scoped_release release;
        found = shortest_paths(given, labels.data());
    }
    return arrays(std::move(found));
}

static void define_graphlets(const Starts &node_starts, const Starts &starts, const InRow<std::int32_t> &neighbors,
                             const InRow<std::int32_t> &of_code, const In<std::int64_t> &contains, std::size_t p,
                             const Out<double> &result) {
    const Graphs given = graphs(node_starts, starts, neighbors);
    const Matrix<double> to = out<double>(result);
    const Types types{of_code.data(), contains.data(), p, contains.shape(0)};
    nb::gil_scoped_release release;
    graphlets(given, types, to.entries);
}

static Keyed keyed(const Starts &starts, const Keys &keys, const InRow<double> &counts) {
    return {starts.data(), keys.data(), counts.data(), starts.shape(0) - 1};
}

static void define_keyed_products(const Out<double> &result, const Starts &a_starts, const Keys &a_keys,
                                  const InRow<double> &a, const Starts &b_starts, const Keys &b_keys,
                                  const InRow<double> &b) {
    const Matrix<double> to = out<double>(result);
    const Keyed A = keyed(a_starts, a_keys, a), B = keyed(b_starts, b_keys, b);
    nb::gil_scoped_release release;
    const Lists lists(B);
    const Rows rows(A, lists);
    functions<double>().sparse_products(to, rows.sparse(), lists.sparse());
}

static void define_labeled_walks(const Out<double> &result, const Starts &a_nodes, const Starts &a_starts,
                                 const InRow<std::int32_t> &a_neighbors, const Keys &a_labels, const Keys &a_edges,
                                 const InRow<double> &a_radii, const Starts &b_nodes, const Starts &b_starts,
                                 const InRow<std::int32_t> &b_neighbors, const Keys &b_labels, const Keys &b_edges,
                                 const InRow<double> &b_radii, double decay) {
    const Matrix<double> to = out<double>(result);
    const Labeled A{graphs(a_nodes, a_starts, a_neighbors), a_labels.data(), a_edges.data(), a_radii.data()};
    const Labeled B{graphs(b_nodes, b_starts, b_neighbors), b_labels.data(), b_edges.data(), b_radii.data()};
    nb::gil_scoped_release release;
    labeled_walks(to, A, B, decay);
}

void define_graphs(nb::module_ &m) {
    using nb::arg;
    m.def("weisfeiler_lehman", &define_weisfeiler_lehman, arg("node_starts").noconvert(), arg("starts").noconvert(),
          arg("neighbors").noconvert(), arg("labels").noconvert(), arg("edge_labels").noconvert(), arg("iterations"));
    m.def("shortest_paths", &define_shortest_paths, arg("node_starts").noconvert(), arg("starts").noconvert(),
          arg("neighbors").noconvert(), arg("labels").noconvert());
    m.def("graphlets", &define_graphlets, arg("node_starts").noconvert(), arg("starts").noconvert(),
          arg("neighbors").noconvert(), arg("of_code").noconvert(), arg("contains").noconvert(), arg("p"),
          arg("out").noconvert());
    m.def("keyed_products", &define_keyed_products, arg("out").noconvert(), arg("a_starts").noconvert(),
          arg("a_keys").noconvert(), arg("a").noconvert(), arg("b_starts").noconvert(), arg("b_keys").noconvert(),
          arg("b").noconvert());
    m.def("labeled_walks", &define_labeled_walks, arg("out").noconvert(), arg("a_nodes").noconvert(),
          arg("a_starts").noconvert(), arg("a_neighbors").noconvert(), arg("a_labels").noconvert(),
          arg("a_edges").noconvert(), arg("a_radii").noconvert(), arg("b_nodes").noconvert(),
          arg("b_starts").noconvert(), arg("b_neighbors").noconvert(), arg("b_labels").noconvert(),
          arg("b_edges").noconvert(), arg("b_radii").noconvert(), arg("decay"));
}

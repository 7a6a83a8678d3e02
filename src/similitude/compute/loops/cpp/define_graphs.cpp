// The Python face of the loops over graphs and over histograms with keys of 64 bits.
#include "arguments.hpp"
#include "graphlets.hpp"
#include "graphs.hpp"
#include "keyed.hpp"

using Keys = InRow<std::uint64_t>;

// Graphs that are safe to walk.
static Graphs graphs(const Starts &node_starts, const Starts &starts, const InRow<std::int32_t> &neighbors) {
    check_starts(starts, neighbors.shape(0));
    check_starts(node_starts, starts.shape(0) - 1);
    const Graphs found{node_starts.data(), starts.data(), neighbors.data(), node_starts.shape(0) - 1};
    for (std::size_t g = 0; g < found.count; ++g) {
        bool inside = true;
        for (std::int64_t p = found.starts[found.node_starts[g]]; p < found.starts[found.node_starts[g + 1]]; ++p)
            inside &= found.neighbors[p] >= 0 && static_cast<std::size_t>(found.neighbors[p]) < found.nodes(g);
        require(inside, "a neighbor is outside of its graph");
    }
    return found;
}

static nb::tuple arrays(Histograms &&found) {
    return nb::make_tuple(owned(std::move(found.starts)), owned(std::move(found.keys)), owned(std::move(found.counts)));
}

static nb::tuple define_weisfeiler_lehman(const Starts &node_starts, const Starts &starts,
                                          const InRow<std::int32_t> &neighbors, const Keys &labels,
                                          const Keys &edge_labels, std::size_t iterations) {
    const Graphs given = graphs(node_starts, starts, neighbors);
    require(labels.shape(0) == given.all_nodes(), "one label per node");
    require(edge_labels.shape(0) == neighbors.shape(0), "one edge label per neighbor");
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
    require(labels.shape(0) == given.all_nodes(), "one label per node");
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
    require(p >= 2 && p <= 5, "p must be from 2 to 5");
    require(of_code.shape(0) == types.codes(), "one type per code");
    require(contains.shape(1) == types.count && to.columns == types.count && to.rows == given.count, "wrong shapes");
    require(to.stride == static_cast<std::ptrdiff_t>(to.columns) || to.rows <= 1, "out must be contiguous");
    for (std::size_t code = 0; code < types.codes(); ++code)
        require(of_code.data()[code] >= 0 && static_cast<std::size_t>(of_code.data()[code]) < types.count,
                "there is no such type");
    nb::gil_scoped_release release;
    graphlets(given, types, to.entries);
}

static Keyed keyed(const Starts &starts, const Keys &keys, const InRow<double> &counts, std::size_t rows) {
    check_starts(starts, keys.shape(0));
    require(starts.shape(0) == rows + 1, "starts needs one entry more than there are rows");
    require(counts.shape(0) == keys.shape(0), "one count per key");
    return {starts.data(), keys.data(), counts.data(), rows};
}

static void define_keyed_products(const Out<double> &result, const Starts &a_starts, const Keys &a_keys,
                                  const InRow<double> &a, const Starts &b_starts, const Keys &b_keys,
                                  const InRow<double> &b) {
    const Matrix<double> to = out<double>(result);
    const Keyed A = keyed(a_starts, a_keys, a, to.rows), B = keyed(b_starts, b_keys, b, to.columns);
    require(b_keys.shape(0) < (std::size_t(1) << 31), "too many keys in one block");
    nb::gil_scoped_release release;
    const Lists lists(B);
    const Rows rows(A, lists);
    functions<double>().sparse_products(to, rows.sparse(), lists.sparse());
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
}

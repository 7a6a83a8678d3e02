// The Python face of the loops over graphs and over histograms with keys of 64 bits.
#include "checks.hpp"
#include "graphlets.hpp"
#include "graphs.hpp"
#include "keyed.hpp"
#include "walks.hpp"

using Keys = InRow<std::uint64_t>;
using Structure = std::tuple<Starts, Starts, InRow<std::int32_t>>; // node starts, starts, neighbors

constexpr std::int64_t most_refinements = 10'000; // the labels of all of them are held at once

static Graphs graphs_of(const Starts &node_starts, const Starts &starts, const InRow<std::int32_t> &neighbors) {
    require_starts("starts", starts, neighbors.size());
    require_starts("node_starts", node_starts, starts.size() - 1);
    const Graphs graphs{node_starts.data(), starts.data(), neighbors.data(), node_starts.size() - 1};
    for (std::size_t g = 0; g < graphs.count; ++g)
        for (std::int64_t p = starts[static_cast<std::size_t>(node_starts[g])];
             p < starts[static_cast<std::size_t>(node_starts[g + 1])]; ++p) {
            const std::int32_t neighbor = neighbors[static_cast<std::size_t>(p)];
            require(neighbor >= 0 && static_cast<std::size_t>(neighbor) < graphs.nodes(g),
                    "neighbors has a node outside of its graph");
        }
    require(increase(neighbors, starts), "neighbors of each node must increase");
    return graphs;
}

static Graphs graphs_of(const Structure &structure) {
    return graphs_of(std::get<0>(structure), std::get<1>(structure), std::get<2>(structure));
}

static void require_labels(const Graphs &graphs, const Keys &labels) {
    require(labels.size() == graphs.all_nodes(), "labels need one label per node");
}

static void require_edge_labels(const InRow<std::int32_t> &neighbors, const Keys &edge_labels) {
    require(edge_labels.size() == neighbors.size(), "edge_labels need one edge label per neighbor");
}

static nb::tuple arrays(Histograms &&found) {
    return nb::make_tuple(owned(std::move(found.starts)), owned(std::move(found.keys)), owned(std::move(found.counts)));
}

static nb::tuple define_weisfeiler_lehman(const Structure &structure, const Keys &labels, const Keys &edge_labels,
                                          Whole iterations) {
    const Graphs graphs = graphs_of(structure);
    require_labels(graphs, labels);
    require_edge_labels(std::get<2>(structure), edge_labels);
    require_range("iterations", iterations, 0, most_refinements);
    Histograms found;
    {
        nb::gil_scoped_release release;
        found = weisfeiler_lehman(graphs, labels.data(), edge_labels.data(), static_cast<std::size_t>(iterations));
    }
    return arrays(std::move(found));
}

static nb::tuple define_shortest_paths(const Structure &structure, const Keys &labels) {
    const Graphs graphs = graphs_of(structure);
    require_labels(graphs, labels);
    Histograms found;
    {
        nb::gil_scoped_release release;
        found = shortest_paths(graphs, labels.data());
    }
    return arrays(std::move(found));
}

static nb::ndarray<nb::numpy, double, nb::ndim<2>> define_graphlets(const Structure &structure, Whole p,
                                                                   const InRow<std::int32_t> &of_code,
                                                                   const In<std::int64_t> &contains) {
    const Graphs graphs = graphs_of(structure);
    require_range("p", p, 2, 5);
    const Types types{of_code.data(), contains.entries, static_cast<std::size_t>(p), contains.rows};
    require(of_code.size() == types.codes(), "of_code needs one type per code");
    require(contains.rows == contains.columns, "contains needs one row and one column per type");
    require_inside(of_code, types.count, "of_code has no such type");
    std::unique_ptr<double[]> counts(new double[graphs.count * types.count + 1]());
    {
        nb::gil_scoped_release release;
        graphlets(graphs, types, counts.get());
    }
    double *entries = counts.get();
    nb::capsule owner(counts.release(), [](void *values) noexcept { delete[] static_cast<double *>(values); });
    return {entries, {graphs.count, types.count}, owner};
}

using Histogram = std::tuple<Starts, Keys, InRow<double>>;

static Keyed keyed(const Histogram &given, std::size_t rows) {
    const auto &[starts, keys, counts] = given;
    require_starts("starts", starts, keys.size());
    require(starts.size() == rows + 1, "starts needs one entry more than there are rows");
    require(counts.size() == keys.size(), "counts need one count per key");
    return {starts.data(), keys.data(), counts.data(), rows};
}

static void define_keyed_products(const Out<double> &out, const Histogram &A, const Histogram &B) {
    const Keyed a = keyed(A, out.rows), b = keyed(B, out.columns);
    require(b.stored() < std::size_t(1) << 31, "B has too many keys for one block");
    nb::gil_scoped_release release;
    const Lists lists(b);
    const Rows rows(a, lists);
    functions<double>().sparse_products(out, rows.sparse(), lists.sparse());
}

// A structure, labels of nodes and of neighbors, and the largest eigenvalue of each graph.
using LabeledGraphs = std::tuple<Starts, Starts, InRow<std::int32_t>, Keys, Keys, InRow<double>>;

static Labeled labeled(const LabeledGraphs &given, std::size_t rows) {
    const auto &[node_starts, starts, neighbors, labels, edge_labels, radii] = given;
    const Graphs graphs = graphs_of(node_starts, starts, neighbors);
    require_labels(graphs, labels);
    require_edge_labels(neighbors, edge_labels);
    require(graphs.count == rows && radii.size() == rows, "one row or column of out and one radius for each graph");
    require(std::all_of(radii.begin(), radii.end(), [](double radius) { return radius >= 0; }), "radii must be at least 0");
    return {graphs, labels.data(), edge_labels.data(), radii.data()};
}

static std::size_t most_nodes(const Graphs &graphs) {
    std::size_t most = 0;
    for (std::size_t g = 0; g < graphs.count; ++g)
        most = std::max(most, graphs.nodes(g));
    return most;
}

static double largest(const Labeled &graphs) {
    const double *end = graphs.radii + graphs.graphs.count;
    return graphs.radii == end ? 0.0 : *std::max_element(graphs.radii, end);
}

static void define_labeled_walks(const Out<double> &out, const LabeledGraphs &A, const LabeledGraphs &B, Number decay) {
    const Labeled a = labeled(A, out.rows), b = labeled(B, out.columns);
    const std::size_t nodes = most_nodes(a.graphs), others = most_nodes(b.graphs);
    require(nodes == 0 || others < (std::size_t(1) << 31) / nodes, "two graphs have too many pairs of nodes");
    require(decay >= 0 && decay * (largest(a) * largest(b)) < 1, "decay times two radii must be below 1");
    nb::gil_scoped_release release;
    labeled_walks(out, a, b, decay);
}

void define_graphs(nb::module_ &m) {
    m.def("weisfeiler_lehman", &define_weisfeiler_lehman, "graphs"_a, "labels"_a, "edge_labels"_a, "iterations"_a);
    m.def("shortest_paths", &define_shortest_paths, "graphs"_a, "labels"_a);
    m.def("graphlets", &define_graphlets, "graphs"_a, "p"_a, "of_code"_a, "contains"_a);
    m.def("keyed_products", &define_keyed_products, "out"_a, "A"_a, "B"_a);
    m.def("labeled_walks", &define_labeled_walks, "out"_a, "A"_a, "B"_a, "decay"_a);
}

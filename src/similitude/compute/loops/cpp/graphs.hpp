// Graphs one after the other, and their histograms of labels: Weisfeiler-Lehman refinement and shortest paths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace { // names of this kind are common: they stay in the one file that uses them

// Graph g owns the nodes node_starts[g] .. node_starts[g + 1]; neighbors are numbered within their graph.
struct Graphs {
    const std::int64_t *node_starts, *starts;
    const std::int32_t *neighbors;
    std::size_t count;

    std::size_t nodes(std::size_t g) const { return static_cast<std::size_t>(node_starts[g + 1] - node_starts[g]); }
    std::size_t all_nodes() const { return static_cast<std::size_t>(node_starts[count]); }
};

// One of them, its nodes numbered from 0.
struct Graph {
    const std::int64_t *starts;
    const std::int32_t *neighbors;
    std::size_t nodes;

    Graph(const Graphs &graphs, std::size_t g)
        : starts(graphs.starts + graphs.node_starts[g]), neighbors(graphs.neighbors), nodes(graphs.nodes(g)) {}

    const std::int32_t *begin(std::size_t v) const { return neighbors + starts[v]; }
    const std::int32_t *end(std::size_t v) const { return neighbors + starts[v + 1]; }
    std::int64_t degree(std::size_t v) const { return starts[v + 1] - starts[v]; }
};

// Histograms one after the other: keys[p] occurs counts[p] times in histogram g for p in starts[g] .. starts[g + 1].
struct Histograms {
    std::vector<std::int64_t> starts{0};
    std::vector<std::uint64_t> keys;
    std::vector<double> counts;

    void add(std::uint64_t key, double count) {
        keys.push_back(key);
        counts.push_back(count);
    }
    void end_of_row() { starts.push_back(static_cast<std::int64_t>(keys.size())); }
};

// The finaliser of splitmix64: every bit of the result depends on every bit of x.
inline std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15u;

// The label of each node after each iteration; `labels` has one row of all nodes per iteration, the first one given.
inline void refine(const Graphs &graphs, const std::uint64_t *edge_salts, std::size_t iterations,
                   std::uint64_t *labels) {
    const std::size_t all = graphs.all_nodes();
    for (std::size_t t = 1; t <= iterations; ++t) {
        const std::uint64_t *before = labels + (t - 1) * all;
        std::uint64_t *after = labels + t * all;
        for (std::size_t g = 0; g < graphs.count; ++g) {
            const std::uint64_t *own = before + graphs.node_starts[g];
            for (std::int64_t v = graphs.node_starts[g]; v < graphs.node_starts[g + 1]; ++v) {
                std::uint64_t sum = mix(before[v] + golden * (t + 1));
                for (std::int64_t p = graphs.starts[v]; p < graphs.starts[v + 1]; ++p)
                    sum += mix(own[graphs.neighbors[p]] + edge_salts[p]);
                after[v] = mix(sum);
            }
        }
    }
}

inline void add_runs(std::vector<std::uint64_t> &keys, Histograms &to) {
    std::sort(keys.begin(), keys.end());
    for (std::size_t p = 0, q = 0; p < keys.size(); p = q) {
        while (q < keys.size() && keys[q] == keys[p])
            ++q;
        to.add(keys[p], static_cast<double>(q - p));
    }
    to.end_of_row();
}

inline Histograms weisfeiler_lehman(const Graphs &graphs, const std::uint64_t *labels,
                                    const std::uint64_t *edge_labels, std::size_t iterations) {
    const std::size_t all = graphs.all_nodes();
    std::vector<std::uint64_t> refined((iterations + 1) * all), salts(static_cast<std::size_t>(graphs.starts[all]));
    for (std::size_t v = 0; v < all; ++v)
        refined[v] = mix(labels[v] + golden);
    for (std::size_t p = 0; p < salts.size(); ++p)
        salts[p] = mix(edge_labels[p] + golden);
    refine(graphs, salts.data(), iterations, refined.data());
    Histograms found;
    std::vector<std::uint64_t> keys;
    for (std::size_t g = 0; g < graphs.count; ++g) {
        keys.clear();
        for (std::size_t t = 0; t <= iterations; ++t)
            keys.insert(keys.end(), refined.begin() + static_cast<std::ptrdiff_t>(t * all) + graphs.node_starts[g],
                        refined.begin() + static_cast<std::ptrdiff_t>(t * all) + graphs.node_starts[g + 1]);
        add_runs(keys, found);
    }
    return found;
}

// Breadth-first search from one node after the other.
class Search {
  public:
    explicit Search(const Graph &graph) : graph_(graph), distance_(graph.nodes), queue_(graph.nodes) {}

    // Calls visit(v, distance) for every other node that can be reached, nearest first.
    template <class Visit> void from(std::size_t root, Visit visit) {
        std::fill(distance_.begin(), distance_.end(), -1);
        std::size_t filled = 0;
        distance_[root] = 0;
        queue_[filled++] = static_cast<std::int32_t>(root);
        for (std::size_t next = 0; next < filled; ++next) {
            const auto u = static_cast<std::size_t>(queue_[next]);
            for (const std::int32_t *v = graph_.begin(u); v < graph_.end(u); ++v)
                if (distance_[static_cast<std::size_t>(*v)] < 0) {
                    distance_[static_cast<std::size_t>(*v)] = distance_[u] + 1;
                    queue_[filled++] = *v;
                    visit(static_cast<std::size_t>(*v), static_cast<std::size_t>(distance_[u] + 1));
                }
        }
    }

  private:
    Graph graph_;
    std::vector<std::int32_t> distance_, queue_;
};

// Triples of two labels and a distance within one graph as small numbers: labels are numbered within the graph.
class Triples {
  public:
    Triples(const std::uint64_t *labels, std::size_t nodes) : labels_(labels, labels + nodes), number_(nodes) {
        std::sort(labels_.begin(), labels_.end());
        labels_.erase(std::unique(labels_.begin(), labels_.end()), labels_.end());
        for (std::size_t v = 0; v < nodes; ++v)
            number_[v] = static_cast<std::size_t>(std::lower_bound(labels_.begin(), labels_.end(), labels[v]) -
                                                  labels_.begin());
    }

    std::size_t up_to(std::size_t distance) const { return labels_.size() * labels_.size() * (distance + 1); }

    std::uint64_t pack(std::size_t u, std::size_t v, std::size_t distance) const {
        const std::size_t a = std::min(number_[u], number_[v]), b = std::max(number_[u], number_[v]);
        return (distance * labels_.size() + a) * labels_.size() + b;
    }

    std::uint64_t key(std::uint64_t packed) const {
        const std::uint64_t k = labels_.size();
        return mix(mix(labels_[packed / k % k] + golden) + mix(labels_[packed % k] + golden) + golden * (packed / k / k));
    }

  private:
    std::vector<std::uint64_t> labels_;
    std::vector<std::size_t> number_;
};

// The packed triples of all pairs that are connected, each with how often it occurs.
class Tally {
  public:
    void count(std::uint64_t packed) {
        if (packed < few)
            count_small(packed);
        else
            large_.push_back(packed);
    }

    template <class Emit> void drain(Emit emit) {
        for (std::size_t packed = 0; packed < small_.size(); ++packed)
            if (small_[packed] > 0)
                emit(packed, small_[packed]);
        std::sort(large_.begin(), large_.end());
        for (std::size_t p = 0, q = 0; p < large_.size(); p = q) {
            while (q < large_.size() && large_[q] == large_[p])
                ++q;
            emit(large_[p], static_cast<double>(q - p));
        }
        small_.clear();
        large_.clear();
    }

  private:
    static constexpr std::uint64_t few = 1 << 16; // counted in place; the others are sorted
    void count_small(std::uint64_t packed) {
        if (packed >= small_.size())
            small_.resize(packed + 1);
        small_[packed] += 1;
    }

    std::vector<double> small_;
    std::vector<std::uint64_t> large_;
};

inline Histograms shortest_paths(const Graphs &graphs, const std::uint64_t *labels) {
    Histograms found;
    Tally tally;
    for (std::size_t g = 0; g < graphs.count; ++g) {
        const Graph graph(graphs, g);
        const Triples triples(labels + graphs.node_starts[g], graph.nodes);
        Search search(graph);
        for (std::size_t u = 0; u < graph.nodes; ++u)
            search.from(u, [&](std::size_t v, std::size_t distance) {
                if (u < v)
                    tally.count(triples.pack(u, v, distance));
            });
        std::vector<std::pair<std::uint64_t, double>> row;
        tally.drain([&](std::uint64_t packed, double count) { row.emplace_back(triples.key(packed), count); });
        std::sort(row.begin(), row.end());
        for (const auto &[key, count] : row)
            found.add(key, count);
        found.end_of_row();
    }
    return found;
}

} // namespace

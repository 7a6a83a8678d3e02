// How often each type of induced subgraph with p nodes occurs in a graph, for p = 2 .. 5.
//
// N(H), the number of subgraphs (induced or not) of type H, comes from closed formulas; the induced numbers follow from
// the type with most edges down: N(H) = sum over types H' of contains(H', H) I(H'). For p = 5 the induced numbers of
// connected types come from enumeration.
#pragma once

#include <iterator>

#include "graphs.hpp"

namespace { // names of this kind are common: they stay in the one file that uses them

// Numbers of subgraphs with up to 5 nodes: at most nodes^5, which 64 bits hold for graphs of this size.
constexpr std::size_t nodes_for_64_bits = 5000;

template <class Whole> Whole choose2(Whole n) { return n < 2 ? 0 : n * (n - 1) / 2; }
template <class Whole> Whole choose3(Whole n) { return n < 3 ? 0 : n * (n - 1) / 2 * (n - 2) / 3; }
template <class Whole> Whole choose4(Whole n) { return n < 4 ? 0 : n * (n - 1) / 2 * (n - 2) / 3 * (n - 3) / 4; }
template <class Whole> Whole choose5(Whole n) { return n < 5 ? 0 : choose4(n) * (n - 4) / 5; }

// Types of graphs with p nodes: the number of each code (bit j (j - 1) / 2 + i is set if nodes i < j are joined), and
// contains[a * count + b]: how many subgraphs of type b with all p nodes type a has.
struct Types {
    const std::int32_t *of_code;
    const std::int64_t *contains;
    std::size_t p, count;

    std::size_t codes() const { return std::size_t(1) << (p * (p - 1) / 2); }
};

// What the formulas are made of.
template <class Whole> struct Sums {
    Whole n = 0, edges = 0, wedges = 0, stars = 0, paths = 0, triangles = 0, squares = 0, paws = 0, diamonds = 0,
          cliques = 0;
    Whole degrees_in_triangles = 0; // sum over triangles of the degrees of their nodes
    Whole degrees_in_wedges = 0;    // sum over wedges of the degrees of their nodes
};

template <class Whole> class Summation {
  public:
    explicit Summation(std::size_t most_nodes) : shared_(most_nodes) {}

    Sums<Whole> sums(const Graph &graph, std::size_t p) {
        graph_ = &graph;
        sum_ = {};
        sum_.n = static_cast<Whole>(graph.nodes);
        for (std::size_t u = 0; u < graph.nodes; ++u)
            p >= 4 ? add_neighbors(u) : add_degree(u);
        sum_.edges /= 2;
        for (std::size_t u = 0; p >= 3 && u < graph.nodes; ++u)
            if (graph.degree(u) >= 2)
                add_around(u, p >= 4);
        sum_.triangles /= 3; // met from each of their edges, the others from two of them or across both diagonals
        sum_.squares /= 2;
        sum_.paws /= 2;
        sum_.degrees_in_triangles /= 2;
        sum_.paths = sum_.paths / 2 - 3 * sum_.triangles;
        return sum_;
    }

  private:
    void add_degree(std::size_t u) {
        const Whole d = graph_->degree(u);
        sum_.edges += d;
        sum_.wedges += choose2(d);
    }

    void add_neighbors(std::size_t u) {
        const Graph graph = *graph_;
        const Whole d = graph.degree(u);
        Whole around = 0;
        for (const std::int32_t *v = graph.begin(u), *last = graph.end(u); v < last; ++v)
            around += graph.degree(static_cast<std::size_t>(*v));
        add_degree(u);
        sum_.paths += (d - 1) * (around - d); // both ends of an edge see it
        sum_.stars += choose3(d);
        sum_.degrees_in_wedges += choose2(d) * d + (d - 1) * around;
    }

    // Pairs of u and a larger node, by the number of their common neighbors.
    void add_around(std::size_t u, bool larger) {
        Whole squares = 0;
        over_two_steps(u, [&](std::int32_t &shared) { squares += shared++; });
        sum_.squares += squares;
        for (const std::int32_t *v = graph_->end(u); v-- > graph_->begin(u) && static_cast<std::size_t>(*v) > u;)
            if (const std::int32_t shared = shared_[static_cast<std::size_t>(*v)]; shared > 0)
                add_edge(u, static_cast<std::size_t>(*v), static_cast<Whole>(shared), larger);
        over_two_steps(u, [](std::int32_t &shared) { shared = 0; });
    }

    template <class Visit> void over_two_steps(std::size_t u, Visit visit) {
        const Graph graph = *graph_;
        std::int32_t *shared = shared_.data();
        for (const std::int32_t *v = graph.begin(u), *last = graph.end(u); v < last; ++v) {
            const std::int32_t *begin = graph.begin(static_cast<std::size_t>(*v));
            for (const std::int32_t *w = graph.end(static_cast<std::size_t>(*v)); w-- > begin;) {
                if (static_cast<std::size_t>(*w) <= u)
                    break;
                visit(shared[*w]);
            }
        }
    }

    void add_edge(std::size_t u, std::size_t v, Whole shared, bool larger) {
        const Whole degrees = graph_->degree(u) + graph_->degree(v);
        sum_.triangles += shared;
        sum_.diamonds += choose2(shared);
        sum_.degrees_in_triangles += shared * degrees;
        sum_.paws += shared * (degrees - 4);
        if (larger && shared >= 2) {
            both_.clear();
            std::set_intersection(std::upper_bound(graph_->begin(u), graph_->end(u), static_cast<std::int32_t>(v)),
                                  graph_->end(u), graph_->begin(v), graph_->end(v), std::back_inserter(both_));
            add_cliques();
        }
    }

    void add_cliques() {
        for (const std::int32_t w : both_)
            for (const std::int32_t x : both_)
                if (w < x)
                    sum_.cliques += std::binary_search(graph_->begin(static_cast<std::size_t>(w)),
                                                       graph_->end(static_cast<std::size_t>(w)), x);
    }

    const Graph *graph_ = nullptr;
    Sums<Whole> sum_;
    std::vector<std::int32_t> shared_; // all zero between two nodes
    std::vector<std::int32_t> both_;
};

// Induced subgraphs of connected types, each met once: the algorithm ESU of Wernicke (2006).
class Enumeration {
  public:
    Enumeration(const Graph &graph, std::size_t p, std::vector<std::int64_t> &codes)
        : graph_(graph), p_(p), codes_(codes), joined_(graph.nodes) {}

    void run() {
        for (std::size_t root = 0; root < graph_.nodes; ++root) {
            root_ = static_cast<std::int32_t>(root);
            waiting_.assign(1, root_);
            extend(0, 0, 0);
        }
    }

  private:
    // Nodes from `first` on wait to become member number `size`; `code` is that of the members so far. Bit i of
    // joined_[v] says that v is joined to member i.
    void extend(std::size_t size, std::size_t first, std::size_t code) {
        const std::size_t shift = size * (size - 1) / 2, end = waiting_.size();
        if (size + 1 == p_) {
            for (std::size_t q = first; q < end; ++q)
                ++codes_[code | static_cast<std::size_t>(joined_[static_cast<std::size_t>(waiting_[q])]) << shift];
            return;
        }
        for (std::size_t q = first; q < end; ++q) {
            const auto v = static_cast<std::size_t>(waiting_[q]);
            const std::size_t bits = size == 0 ? 0 : static_cast<std::size_t>(joined_[v]) << shift;
            const std::size_t begin = waiting_.size();
            for (std::size_t other = q + 1; other < end; ++other)
                waiting_.push_back(waiting_[other]);
            for (const std::int32_t *w = graph_.begin(v); w < graph_.end(v); ++w) {
                std::uint8_t &joined = joined_[static_cast<std::size_t>(*w)];
                if (joined == 0 && *w > root_)
                    waiting_.push_back(*w);
                joined = static_cast<std::uint8_t>(joined | 1u << size);
            }
            extend(size + 1, begin, code | bits);
            for (const std::int32_t *w = graph_.begin(v); w < graph_.end(v); ++w)
                joined_[static_cast<std::size_t>(*w)] &= static_cast<std::uint8_t>(~(1u << size));
            waiting_.resize(begin);
        }
    }

    Graph graph_;
    std::size_t p_;
    std::vector<std::int64_t> &codes_;
    std::vector<std::uint8_t> joined_;
    std::vector<std::int32_t> waiting_;
    std::int32_t root_ = 0;
};

constexpr std::size_t joined(std::size_t i, std::size_t j) { return std::size_t(1) << (j * (j - 1) / 2 + i); }
constexpr std::size_t path3 = joined(0, 1) | joined(1, 2), triangle = path3 | joined(0, 2),
                      two_edges = joined(0, 1) | joined(2, 3), star = joined(0, 1) | joined(0, 2) | joined(0, 3),
                      path4 = path3 | joined(2, 3), square = path4 | joined(0, 3), paw = triangle | joined(2, 3),
                      diamond = square | joined(0, 2), clique = diamond | joined(1, 3);

// Codes of one graph of each type for which N is known by a formula; those with p <= 4 nodes come first.
constexpr std::size_t most_known = 13;
constexpr std::size_t codes_with_formula[most_known] = {0,    joined(0, 1), path3, triangle, two_edges,
                                                        star, path4,        square, paw,     diamond,
                                                        clique, path3 | joined(3, 4), triangle | joined(3, 4)};

inline std::size_t with_formula(std::size_t p) {
    constexpr std::size_t number[] = {2, 4, 11, most_known};
    return number[p - 2];
}

// N of each of them.
template <class Whole> void by_formula(const Sums<Whole> &s, std::size_t p, Whole *to) {
    const Whole n = s.n, pairs = choose2(s.edges) - s.wedges, more = n - static_cast<Whole>(p - 1);
    if (p <= 3) {
        const Whole found[] = {p == 2 ? choose2(n) : choose3(n), p == 2 ? s.edges : s.edges * (n - 2), s.wedges,
                               s.triangles};
        std::copy_n(found, with_formula(p), to);
    } else if (p == 4) {
        const Whole found[] = {choose4(n), s.edges * choose2(n - 2), s.wedges * more, s.triangles * more, pairs, s.stars,
                               s.paths, s.squares, s.paws, s.diamonds, s.cliques};
        std::copy_n(found, with_formula(p), to);
    } else {
        const Whole found[] = {choose5(n), s.edges * choose3(n - 2), s.wedges * choose2(n - 3),
                               s.triangles * choose2(n - 3), pairs * more, s.stars * more, s.paths * more,
                               s.squares * more, s.paws * more, s.diamonds * more, s.cliques * more,
                               s.wedges * (s.edges + 2) + 3 * s.triangles - s.degrees_in_wedges,
                               s.triangles * (s.edges + 3) - s.degrees_in_triangles};
        std::copy_n(found, with_formula(p), to);
    }
}

// The induced number of every type; types are ordered by their number of edges.
template <class Whole> class Induced {
  public:
    Induced(const Types &types, std::size_t most_nodes)
        : types_(types), summation_(most_nodes), codes_(types.codes()), number_(types.count), has_formula_(types.count) {
        for (std::size_t i = 0; i < with_formula(types.p); ++i)
            has_formula_[type(codes_with_formula[i])] = 1;
    }

    void count(const Graph &graph, double *out) {
        std::fill(number_.begin(), number_.end(), Whole(0));
        if (graph.nodes >= types_.p) {
            if (types_.p == 5)
                enumerate(graph);
            Whole known[most_known];
            by_formula(summation_.sums(graph, types_.p), types_.p, known);
            for (std::size_t i = 0; i < with_formula(types_.p); ++i)
                number_[type(codes_with_formula[i])] = known[i];
            subtract();
        }
        for (std::size_t b = 0; b < types_.count; ++b)
            out[b] = static_cast<double>(number_[b]);
    }

  private:
    std::size_t type(std::size_t code) const { return static_cast<std::size_t>(types_.of_code[code]); }

    void enumerate(const Graph &graph) {
        std::fill(codes_.begin(), codes_.end(), 0);
        Enumeration(graph, types_.p, codes_).run();
        for (std::size_t code = 0; code < codes_.size(); ++code)
            number_[type(code)] += static_cast<Whole>(codes_[code]);
    }

    // From N to the induced number, the type with most edges first.
    void subtract() {
        for (std::size_t b = types_.count; b-- > 0;)
            for (std::size_t a = b + 1; has_formula_[b] && a < types_.count; ++a)
                number_[b] -= static_cast<Whole>(types_.contains[a * types_.count + b]) * number_[a];
    }

    Types types_;
    Summation<Whole> summation_;
    std::vector<std::int64_t> codes_;
    std::vector<Whole> number_;
    std::vector<char> has_formula_;
};

// One row of `types.count` numbers per graph.
inline void graphlets(const Graphs &graphs, const Types &types, double *out) {
    std::size_t most = 0;
    for (std::size_t g = 0; g < graphs.count; ++g)
        most = std::max(most, graphs.nodes(g));
    Induced<std::int64_t> small(types, std::min(most, nodes_for_64_bits));
    for (std::size_t g = 0; g < graphs.count; ++g) {
        const Graph graph(graphs, g);
        if (graph.nodes <= nodes_for_64_bits)
            small.count(graph, out + g * types.count);
        else
            Induced<__int128>(types, graph.nodes).count(graph, out + g * types.count);
    }
}

} // namespace

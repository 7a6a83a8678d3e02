// Walks that two labeled graphs have in common, summed over all lengths.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs.hpp"
#include "table.hpp"

namespace { // names of this kind are common: they stay in the one file that uses them

// Graphs with a label for each node and each neighbor, and the largest eigenvalue of each.
struct Labeled {
    Graphs graphs;
    const std::uint64_t *labels, *edge_labels;
    const double *radii;
};

// The product of two graphs: pairs of nodes with equal labels, joined where both are joined by edges of equal labels.
class ProductGraph {
  public:
    void make(const Labeled &A, std::size_t i, const Labeled &B, std::size_t j) {
        const Graph a(A.graphs, i), b(B.graphs, j);
        const std::uint64_t *a_labels = A.labels + A.graphs.node_starts[i];
        const std::uint64_t *b_labels = B.labels + B.graphs.node_starts[j];
        number_.assign(a.nodes * b.nodes, -1);
        std::int32_t pairs = 0;
        for (std::size_t u = 0; u < a.nodes; ++u)
            for (std::size_t v = 0; v < b.nodes; ++v)
                if (a_labels[u] == b_labels[v])
                    number_[u * b.nodes + v] = pairs++;
        starts_.assign(1, 0);
        neighbors_.clear();
        for (std::size_t u = 0; u < a.nodes; ++u)
            for (std::size_t v = 0; v < b.nodes; ++v)
                if (number_[u * b.nodes + v] >= 0)
                    join(A, a, u, B, b, v);
    }

    std::size_t pairs() const { return starts_.size() - 1; }

    // to = from - decay * (sum over the neighbors of each pair); returns the dot product of to and from.
    double multiply(double decay, const std::vector<double> &from, std::vector<double> &to) const {
        double product = 0;
        for (std::size_t p = 0; p < pairs(); ++p) {
            double sum = 0;
            for (std::size_t q = starts_[p]; q < starts_[p + 1]; ++q)
                sum += from[static_cast<std::size_t>(neighbors_[q])];
            to[p] = from[p] - decay * sum;
            product += to[p] * from[p];
        }
        return product;
    }

  private:
    void join(const Labeled &A, const Graph &a, std::size_t u, const Labeled &B, const Graph &b, std::size_t v) {
        for (std::int64_t p = a.starts[u]; p < a.starts[u + 1]; ++p)
            for (std::int64_t q = b.starts[v]; q < b.starts[v + 1]; ++q)
                if (A.edge_labels[p] == B.edge_labels[q]) {
                    const auto x = static_cast<std::size_t>(a.neighbors[p]), y = static_cast<std::size_t>(b.neighbors[q]);
                    if (const std::int32_t pair = number_[x * b.nodes + y]; pair >= 0)
                        neighbors_.push_back(pair);
                }
        starts_.push_back(neighbors_.size());
    }

    std::vector<std::int32_t> number_, neighbors_;
    std::vector<std::size_t> starts_;
};

// The sum of the entries of (I - decay W)^-1 1 by conjugate gradients, W the adjacency matrix of the product.
class Walks {
  public:
    double sum(const ProductGraph &product, double decay, double gap) {
        const std::size_t n = product.pairs();
        residual_.assign(n, 1.0);
        direction_.assign(n, 1.0);
        image_.resize(n);
        double found = 0, squares = static_cast<double>(n);
        // What is missing is residual' (I - decay W)^-1 residual, at most its squared norm over the smallest eigenvalue.
        for (std::size_t step = 0; step < n + more_steps && squares > rounding * gap * found; ++step) {
            const double length = squares / product.multiply(decay, direction_, image_);
            found += length * squares;
            double next = 0;
            for (std::size_t p = 0; p < n; ++p) {
                residual_[p] -= length * image_[p];
                next += residual_[p] * residual_[p];
            }
            for (std::size_t p = 0; p < n; ++p)
                direction_[p] = residual_[p] + next / squares * direction_[p];
            squares = next;
        }
        return found;
    }

  private:
    static constexpr double rounding = 1e-15;
    static constexpr std::size_t more_steps = 1000; // beyond those that exact arithmetic needs
    std::vector<double> residual_, direction_, image_;
};

inline void labeled_walks(Matrix<double> out, const Labeled &A, const Labeled &B, double decay) {
    ProductGraph product;
    Walks walks;
    for (std::size_t i = 0; i < A.graphs.count; ++i)
        for (std::size_t j = 0; j < B.graphs.count; ++j) {
            product.make(A, i, B, j);
            out.row(i)[j] = walks.sum(product, decay, 1 - decay * A.radii[i] * B.radii[j]);
        }
}

} // namespace

// Sparse rows whose columns are named by keys of 64 bits: columns are numbered on the way to the sparse product.
#pragma once

#include <cstdint>
#include <vector>

#include "numbers.hpp"
#include "table.hpp"

namespace { // names of this kind are common: they stay in the one file that uses them

struct Keyed {
    const std::int64_t *starts;
    const std::uint64_t *keys;
    const double *counts;
    std::size_t rows;

    std::size_t stored() const { return static_cast<std::size_t>(starts[rows]); }
};

// For each key of B the rows that have it.
class Lists {
  public:
    explicit Lists(const Keyed &B) : numbers_(B.stored()), rows_(B.stored()), counts_(B.stored()) {
        std::vector<std::int32_t> number(B.stored());
        for (std::size_t q = 0; q < B.stored(); ++q)
            number[q] = static_cast<std::int32_t>(numbers_.add(B.keys[q], equal));
        starts_.assign(numbers_.count() + 1, 0);
        for (const std::int32_t k : number)
            ++starts_[static_cast<std::size_t>(k) + 1];
        for (std::size_t k = 0; k < numbers_.count(); ++k)
            starts_[k + 1] += starts_[k];
        std::vector<std::int64_t> next(starts_.begin(), starts_.end() - 1);
        for (std::size_t j = 0; j < B.rows; ++j)
            for (std::int64_t q = B.starts[j]; q < B.starts[j + 1]; ++q) {
                const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(number[static_cast<std::size_t>(q)])]++);
                rows_[at] = static_cast<std::int32_t>(j);
                counts_[at] = B.counts[q];
            }
    }

    std::int64_t find(std::uint64_t key) const { return numbers_.find(key, equal); }
    Sparse<double> sparse() const { return {counts_.data(), rows_.data(), starts_.data(), numbers_.count()}; }

  private:
    static bool equal(std::size_t) { return true; } // keys are all there is to compare

    Numbers numbers_;
    std::vector<std::int32_t> rows_;
    std::vector<double> counts_;
    std::vector<std::int64_t> starts_;
};

// The rows of A with numbers for keys; keys that no row of B has are left out.
class Rows {
  public:
    Rows(const Keyed &A, const Lists &lists) {
        columns_.reserve(A.stored());
        counts_.reserve(A.stored());
        for (std::size_t i = 0; i < A.rows; ++i) {
            for (std::int64_t p = A.starts[i]; p < A.starts[i + 1]; ++p)
                if (const std::int64_t k = lists.find(A.keys[p]); k >= 0) {
                    columns_.push_back(static_cast<std::int32_t>(k));
                    counts_.push_back(A.counts[p]);
                }
            starts_.push_back(static_cast<std::int64_t>(columns_.size()));
        }
    }

    Sparse<double> sparse() const { return {counts_.data(), columns_.data(), starts_.data(), starts_.size() - 1}; }

  private:
    std::vector<std::int32_t> columns_;
    std::vector<double> counts_;
    std::vector<std::int64_t> starts_{0};
};

} // namespace

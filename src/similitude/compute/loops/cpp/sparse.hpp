// Sums over the features that two sparse rows share. B comes transposed: for each feature the list of the rows that
// have it. Long lists are spread out into full rows, which are added with vector instructions; short ones are added
// entry by entry. What is spread out is never more than a fixed multiple of what B stores.
#pragma once

#include "buffer.hpp"
#include "rows.hpp"

namespace SIMD_NAMESPACE {

// sum_k term(a_k, b_k) = sum_k alone(a_k) + sum_k alone(b_k) + factor * (sum over the shared features of shared).
// Every operation is symmetric in a and b, so that a Gram matrix comes out symmetric.
template <class T> struct ProductOfEntries {
    template <class V> static V shared(V a, V b) { return a * b; }
};

template <class T> struct SparseSquaredDifference : ProductOfEntries<T> {
    static constexpr T factor = -2;
    static constexpr bool cancels = true;
    static double alone(double a) { return a * a; }
    static T term(T a, T b) { return (a - b) * (a - b); }
};

template <class T> struct SparseAbsoluteDifference {
    static constexpr T factor = 1;
    static constexpr bool cancels = true;
    template <class V> static V absolute(V x) { return x < T(0) ? -x : x; }
    template <class V> static V shared(V a, V b) { return absolute(a - b) - (absolute(a) + absolute(b)); }
    static double alone(double a) { return a < 0 ? -a : a; }
    static T term(T a, T b) { return absolute(a - b); }
};

template <class T> struct SparseSmaller {
    static constexpr T factor = 1;
    static constexpr bool cancels = false;
    template <class V> static V negative(V x) { return x < T(0) ? x : x - x; }
    template <class V> static V shared(V a, V b) { return (a < b ? a : b) - (negative(a) + negative(b)); }
    static double alone(double a) { return a < 0 ? a : 0; }
    static T term(T a, T b) { return a < b ? a : b; }
};

// The columns that are added up at once, in registers.
constexpr std::size_t stripe_vectors = 8;
template <class T> constexpr std::size_t stripe = stripe_vectors * lanes<T>;

// What one row of A takes from full rows: entries at these offsets, with these weights.
template <class T> struct Taken {
    const std::size_t *offsets;
    const T *weights;
    std::size_t count;
};

// Writes sum_k shared(weights[k], (from + offsets[k])[j]) for a stripe of columns j.
template <class T, class Term> inline void add_stripe(T *to, const T *from, Taken<T> taken) {
    Vector<T> sums[stripe_vectors] = {};
    for (std::size_t k = 0; k < taken.count; ++k) {
        const Vector<T> a = all<T>(taken.weights[k]);
        const T *b = from + taken.offsets[k];
#pragma GCC unroll 8
        for (std::size_t v = 0; v < stripe_vectors; ++v)
            sums[v] += Term::template shared<Vector<T>>(a, load<T>(b + v * lanes<T>));
    }
#pragma GCC unroll 8
    for (std::size_t v = 0; v < stripe_vectors; ++v)
        store<T>(to + v * lanes<T>, sums[v]);
}

// The same for `count` columns, fewer than a stripe.
template <class T, class Term> inline void add_columns(T *to, const T *from, Taken<T> taken, std::size_t count) {
    for (std::size_t j = 0; j < count; j += lanes<T>) {
        const std::size_t width = fewer(lanes<T>, count - j);
        Vector<T> sum{};
        for (std::size_t k = 0; k < taken.count; ++k)
            sum += Term::template shared<Vector<T>>(all<T>(taken.weights[k]), load<T>(from + taken.offsets[k] + j, width));
        store<T>(to + j, sum, width);
    }
}

// The lists of B, the long ones spread out, stripe by stripe: within a stripe, one long list after the other.
template <class T> class Lists {
  public:
    Lists(Sparse<T> Bt, std::size_t columns)
        : Bt_(Bt), columns_(columns), number_(Bt.rows), long_(number_long_lists()),
          entries_((columns + stripe<T> - 1) / stripe<T> * stripe_size()) {
        for (std::size_t k = 0; k < Bt.rows; ++k)
            for (std::size_t q = Bt.begin(k); is_long(k) && q < Bt.end(k); ++q) {
                const std::size_t j = Bt.indices[q];
                entries_[j / stripe<T> * stripe_size() + offset(k) + j % stripe<T>] += Bt.data[q];
            }
    }

    bool is_long(std::size_t k) const { return number_[k] > 0; }
    std::size_t offset(std::size_t k) const { return (number_[k] - 1) * stripe<T>; }
    const T *stripe_of(std::size_t j) const { return entries_.begin() + j / stripe<T> * stripe_size(); }

    // Adds what row i of A takes from the short lists.
    template <class Term> void add_short(T *to, Sparse<T> A, std::size_t i) const {
        for (std::size_t p = A.begin(i); p < A.end(i); ++p) {
            const std::size_t k = A.indices[p];
            if (is_long(k))
                continue;
            for (std::size_t q = Bt_.begin(k); q < Bt_.end(k); ++q)
                to[Bt_.indices[q]] += Term::template shared<T>(A.data[p], Bt_.data[q]);
        }
    }

  private:
    std::size_t stripe_size() const { return long_ * stripe<T>; }
    std::size_t number_long_lists() const {
        std::size_t found = 0;
        for (std::size_t k = 0; k < Bt_.rows; ++k)
            if (Bt_.count(k) * lanes<T> > columns_)
                number_[k] = ++found;
        return found;
    }

    Sparse<T> Bt_;
    std::size_t columns_;
    Buffer<std::size_t> number_;
    std::size_t long_;
    Buffer<T> entries_;
};

// The long lists that some rows of A take from.
template <class T> class TakenFromLong {
  public:
    explicit TakenFromLong(Sparse<T> A) : A_(A), starts_(A.rows + 1), offsets_(A.end_of_all()), weights_(A.end_of_all()) {}

    void choose(const Lists<T> &lists) {
        std::size_t count = 0;
        for (std::size_t i = 0; i < A_.rows; ++i) {
            for (std::size_t p = A_.begin(i); p < A_.end(i); ++p)
                if (lists.is_long(A_.indices[p])) {
                    offsets_[count] = lists.offset(A_.indices[p]);
                    weights_[count++] = A_.data[p];
                }
            starts_[i + 1] = count;
        }
    }

    Taken<T> row(std::size_t i) const {
        return {offsets_.begin() + starts_[i], weights_.begin() + starts_[i], starts_[i + 1] - starts_[i]};
    }

  private:
    Sparse<T> A_;
    Buffer<std::size_t> starts_, offsets_;
    Buffer<T> weights_;
};

// Rows that stay in the cache while stripe after stripe passes by.
template <class T> constexpr std::size_t rows_in_cache(std::size_t columns) {
    return 4 + fewer(60, (std::size_t(1) << 18) / (columns * sizeof(T) + 1));
}

// Calls finish(i, row) with the sums over shared features of row i of A and all rows of B. They are gathered in rows
// next to each other rather than in the result, whose rows may lie far apart.
template <class T, class Term, class Finish>
void sums_over_shared(Sparse<T> A, Sparse<T> Bt, std::size_t columns, Finish finish) {
    const Lists<T> lists(Bt, columns);
    TakenFromLong<T> taken(A);
    taken.choose(lists);
    const std::size_t rows = fewer(rows_in_cache<T>(columns), A.rows);
    const Buffer<T> gathered(rows * columns);
    for (std::size_t first = 0; first < A.rows; first += rows) {
        const std::size_t end = fewer(first + rows, A.rows);
        std::size_t j = 0;
        for (; j + stripe<T> <= columns; j += stripe<T>)
            for (std::size_t i = first; i < end; ++i)
                add_stripe<T, Term>(gathered.begin() + (i - first) * columns + j, lists.stripe_of(j), taken.row(i));
        for (std::size_t i = first; i < end; ++i) {
            T *row = gathered.begin() + (i - first) * columns;
            add_columns<T, Term>(row + j, lists.stripe_of(j), taken.row(i), columns - j);
            lists.template add_short<Term>(row, A, i);
            finish(i, row);
        }
    }
}

template <class T> void sparse_products(Matrix<T> out, Sparse<T> A, Sparse<T> Bt) {
    sums_over_shared<T, ProductOfEntries<T>>(A, Bt, out.columns, [&](std::size_t i, const T *row) {
        std::memcpy(out.row(i), row, out.columns * sizeof(T));
    });
}

template <class T> void sparse_dense_products(Matrix<T> out, Sparse<T> A, Matrix<const T> Bt) {
    using Term = ProductOfEntries<T>;
    const Buffer<std::size_t> offsets(A.end_of_all());
    for (std::size_t p = 0; p < A.end_of_all(); ++p)
        offsets[p] = static_cast<std::size_t>(A.indices[p]) * static_cast<std::size_t>(Bt.stride);
    for (std::size_t j = 0; j < out.columns; j += stripe<T>)
        for (std::size_t i = 0; i < out.rows; ++i) {
            const Taken<T> taken{offsets.begin() + A.begin(i), A.data + A.begin(i), A.count(i)};
            if (j + stripe<T> <= out.columns)
                add_stripe<T, Term>(out.row(i) + j, Bt.entries + j, taken);
            else
                add_columns<T, Term>(out.row(i) + j, Bt.entries + j, taken, out.columns - j);
        }
}

} // namespace SIMD_NAMESPACE

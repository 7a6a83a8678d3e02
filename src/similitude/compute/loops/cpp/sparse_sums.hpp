// A function of sums over all features of two sparse rows.
#pragma once

#include "sparse.hpp"

namespace SIMD_NAMESPACE {

// The sum over all features of row i of A and row j of B, walking both in the order of their features.
template <class T, class Term> T sum_of_pair(Sparse<T> A, std::size_t i, Sparse<T> B, std::size_t j) {
    std::size_t p = A.begin(i), q = B.begin(j);
    const std::size_t p_end = A.end(i), q_end = B.end(j);
    T total = 0;
    while (p < p_end || q < q_end) {
        const bool left = q == q_end || (p < p_end && A.indices[p] <= B.indices[q]);
        const bool right = p == p_end || (q < q_end && B.indices[q] <= A.indices[p]);
        total += Term::term(left ? A.data[p] : T(0), right ? B.data[q] : T(0));
        p += left;
        q += right;
    }
    return total;
}

template <class T, class Term> T sum_alone(Sparse<T> A, std::size_t i) {
    double total = 0;
    for (std::size_t p = A.begin(i); p < A.end(i); ++p)
        total += Term::alone(A.data[p]);
    return static_cast<T>(total);
}

template <class T, class Term, class F>
void sparse_sums(Matrix<T> out, Sparse<T> A, Sparse<T> B, Sparse<T> Bt, F f) {
    const Buffer<T> b(out.columns);
    for (std::size_t j = 0; j < out.columns; ++j)
        b[j] = sum_alone<T, Term>(B, j);
    const T close = closeness<T>();
    sums_over_shared<T, Term>(A, Bt, out.columns, [&](std::size_t i, T *row) {
        const T a = sum_alone<T, Term>(A, i);
        if (combine_row<T>(row, out.columns, a, b.begin(), Term::factor, close) && Term::cancels)
            for_each_close<T>(row, out.columns, a, b.begin(), close,
                              [&](std::size_t j) { row[j] = sum_of_pair<T, Term>(A, i, B, j); });
        apply_to_row<T>(out.row(i), row, out.columns, f);
    });
}

template <class T>
void of_sparse_sums(Matrix<T> out, Sparse<T> A, Sparse<T> B, Sparse<T> Bt, Sum sum, Form form) {
    with_function<T>(form, [&](auto f) {
        switch (sum) {
        case Sum::squared_difference:
            return sparse_sums<T, SparseSquaredDifference<T>>(out, A, B, Bt, f);
        case Sum::absolute_difference:
            return sparse_sums<T, SparseAbsoluteDifference<T>>(out, A, B, Bt, f);
        case Sum::smaller:
            return sparse_sums<T, SparseSmaller<T>>(out, A, B, Bt, f);
        }
    });
}

} // namespace SIMD_NAMESPACE

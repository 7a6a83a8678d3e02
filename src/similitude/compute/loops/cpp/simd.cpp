// Compiled once per instruction set, each time into a namespace of its own (SIMD_NAMESPACE).
#include "alignment.hpp"
#include "bits.hpp"
#include "candidates.hpp"
#include "convolutions.hpp"
#include "elastic.hpp"
#include "hadamard.hpp"
#include "mixed.hpp"
#include "levenshtein.hpp"
#include "medoids.hpp"
#include "perceptron.hpp"
#include "rows.hpp"
#include "scored.hpp"
#include "sets.hpp"
#include "signatures.hpp"
#include "smo.hpp"
#include "sparse_sums.hpp"
#include "subsequences.hpp"
#include "sums.hpp"
#include "warping_search.hpp"
#include "waves.hpp"

namespace SIMD_NAMESPACE {

template <class T> void apply(Matrix<T> values, Form form) {
    with_function<T>(form, [&](auto f) {
        for (std::size_t i = 0; i < values.rows; ++i)
            apply_to_row<T>(values.row(i), values.columns, f);
    });
}

template <class T> T squared_distance(const T *a, const T *b, std::size_t d) {
    Vector<T> sum{};
    std::size_t k = 0;
    for (; k + lanes<T> <= d; k += lanes<T>) {
        const Vector<T> gap = load<T>(a + k) - load<T>(b + k);
        sum += gap * gap;
    }
    T total = 0;
    for (std::size_t lane = 0; lane < lanes<T>; ++lane)
        total += sum[lane];
    for (; k < d; ++k)
        total += (a[k] - b[k]) * (a[k] - b[k]);
    return total;
}

// A row is done in pieces that stay in the first cache from one step to the next.
template <class T>
void of_products(Matrix<T> products, Matrix<const T> A, Matrix<const T> B, const T *a, const T *b, Form form) {
    constexpr std::size_t piece = 8192 / sizeof(T);
    const T close = closeness<T>();
    with_function<T>(form, [&](auto f) {
        for (std::size_t i = 0; i < products.rows; ++i)
            for (std::size_t j = 0; j < products.columns; j += piece) {
                const std::size_t count = fewer(piece, products.columns - j);
                T *row = products.row(i) + j;
                if (combine_row<T>(row, count, a[i], b + j, T(-2), close))
                    for_each_close<T>(row, count, a[i], b + j, close, [&](std::size_t k) {
                        row[k] = squared_distance<T>(A.row(i), B.row(j + k), A.columns);
                    });
                apply_to_row<T>(row, count, f);
            }
    });
}

template <class T> void of_sums(Matrix<T> out, Matrix<const T> A, Matrix<const T> B, Sum sum, Form form) {
    with_function<T>(form, [&](auto f) {
        switch (sum) {
        case Sum::squared_difference:
            return write_sums<T>(out, TermByTerm<T, SquaredDifference<T>>{A, B}, f);
        case Sum::absolute_difference:
            return absolute_sums<T>(out, A, B, f);
        case Sum::smaller:
            return write_sums<T>(out, TermByTerm<T, Smaller<T>>{A, B}, f);
        }
    });
}

#define NAME_OF(set) #set
#define NAME(set) NAME_OF(set)

template <class T> constexpr Functions<T> functions() {
    return {&apply<T>,
            &of_products<T>,
            &of_sums<T>,
            &mirror<T>,
            &sparse_products<T>,
            &sparse_dense_products<T>,
            &of_sparse_sums<T>,
            &perceptron_pass<T>,
            &dtw<T>,
            &global_alignment<T>,
            &self_alignment<T>,
            &elastic<T>,
            &convolutions<T>,
            &signatures<T>,
            &hadamard<T>,
            &cos_sin<T>,
            &smo<T>,
            &add_rows<T>,
            &swap_medoids<T>,
            &dtw_pairs<T>,
            &outside_ranges<T>};
}

extern const Table table;
const Table table{NAME(SIMD_NAMESPACE),
                  functions<float>(),
                  functions<double>(),
                  &count_bits,
                  &common_bits<std::int32_t>,
                  &common_bits<std::int64_t>,
                  &gower,
                  &shared_bits,
                  &of_shared,
                  &common_bits<double>,
                  &levenshtein,
                  &subsequences,
                  &self_subsequences,
                  &best_alignment,
                  &sum_alignments,
                  &self_sum_alignments,
                  &candidates,
                  &levenshtein_pairs};

} // namespace SIMD_NAMESPACE

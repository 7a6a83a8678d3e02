// Compiled once per instruction set, each time into a namespace of its own (SIMD_NAMESPACE).
#include "bits.hpp"
#include "dynamic.hpp"
#include "hadamard.hpp"
#include "perceptron.hpp"
#include "rows.hpp"
#include "smo.hpp"
#include "sparse_sums.hpp"
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

template <class T>
void of_products(Matrix<T> products, Matrix<const T> A, Matrix<const T> B, const T *a, const T *b, Form form) {
    const T close = closeness<T>();
    with_function<T>(form, [&](auto f) {
        for (std::size_t i = 0; i < products.rows; ++i) {
            T *row = products.row(i);
            if (combine_row<T>(row, products.columns, a[i], b, T(-2), close))
                for_each_close<T>(row, products.columns, a[i], b, close, [&](std::size_t j) {
                    row[j] = squared_distance<T>(A.row(i), B.row(j), A.columns);
                });
            apply_to_row<T>(row, products.columns, f);
        }
    });
}

template <class T> struct SquaredDifference {
    static SIMD_INLINE Vector<T> add(Vector<T> sum, Vector<T> a, Vector<T> b) { return sum + (a - b) * (a - b); }
};

template <class T> struct AbsoluteDifference {
    static SIMD_INLINE Vector<T> add(Vector<T> sum, Vector<T> a, Vector<T> b) { return sum + magnitude<T>(a - b); }
};

template <class T> struct Smaller {
    static SIMD_INLINE Vector<T> add(Vector<T> sum, Vector<T> a, Vector<T> b) { return sum + smaller<T>(a, b); }
};

// Sums over features for a block of rows and columns held in registers; B comes packed, column by column.
constexpr std::size_t block_rows = 4, block_vectors = 2;

template <class T, class Term> inline void block_of_sums(const T *const *a, const T *packed, std::size_t d,
                                                         Vector<T> (&sums)[block_rows][block_vectors]) {
    constexpr std::size_t width = block_vectors * lanes<T>;
    Vector<T> held[block_rows][block_vectors]{}; // in registers, where a reference would be written back each time
    for (std::size_t k = 0; k < d; ++k) {
        const Vector<T> left = load<T>(packed + k * width), right = load<T>(packed + k * width + lanes<T>);
#pragma GCC unroll 8
        for (std::size_t r = 0; r < block_rows; ++r) {
            const Vector<T> x = all<T>(a[r][k]);
            held[r][0] = Term::add(held[r][0], x, left);
            held[r][1] = Term::add(held[r][1], x, right);
        }
    }
    for (std::size_t r = 0; r < block_rows; ++r)
        for (std::size_t v = 0; v < block_vectors; ++v)
            sums[r][v] = held[r][v];
}

template <class T> void pack(Matrix<const T> B, std::size_t first, T *packed) {
    constexpr std::size_t width = block_vectors * lanes<T>;
    const std::size_t there = fewer(width, B.rows - first);
    for (std::size_t c = 0; c < width; ++c) {
        const T *row = B.row(first + fewer(c, there - 1)); // columns past the end are computed and not stored
        for (std::size_t k = 0; k < B.columns; ++k)
            packed[k * width + c] = row[k];
    }
}

// All rows from i to end against the packed columns from j on.
template <class T, class Term, class F>
inline void sums_of_panel(Matrix<T> out, Matrix<const T> A, const T *packed, std::size_t i, std::size_t end,
                          std::size_t j, F f) {
    constexpr std::size_t width = block_vectors * lanes<T>;
    const std::size_t columns = fewer(width, out.columns - j);
    Vector<T> block[block_rows][block_vectors];
    const T *a[block_rows];
    for (; i < end; i += block_rows) {
        const std::size_t rows = fewer(block_rows, end - i);
        for (std::size_t r = 0; r < block_rows; ++r)
            a[r] = A.row(i + fewer(r, rows - 1));
        block_of_sums<T, Term>(a, packed, A.columns, block);
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t v = 0; v * lanes<T> < columns; ++v) {
                T *to = out.row(i + r) + j + v * lanes<T>;
                const std::size_t left = columns - v * lanes<T>;
                if (left >= lanes<T>)
                    store<T>(to, f(block[r][v]));
                else
                    store<T>(to, f(block[r][v]), left);
            }
    }
}

// Some columns are packed, and a few rows go through all of them while both, and the results, are in the cache.
template <class T, class Term, class F> void sums(Matrix<T> out, Matrix<const T> A, Matrix<const T> B, F f) {
    constexpr std::size_t width = block_vectors * lanes<T>, few_rows = 64, cache = 1 << 18;
    const std::size_t panel = A.columns * width;
    const std::size_t fitting = cache / (sizeof(T) * (panel + 1)), needed = (B.rows + width - 1) / width;
    const std::size_t panels = fitting > 0 ? fewer(fitting, needed) : 1;
    const Buffer<T> packed(panel * panels);
    for (std::size_t j = 0; j < B.rows && A.rows > 0; j += panels * width) {
        const std::size_t end_j = fewer(B.rows, j + panels * width);
        for (std::size_t p = 0; j + p * width < end_j; ++p)
            pack<T>(B, j + p * width, packed.begin() + p * panel);
        for (std::size_t i = 0; i < A.rows; i += few_rows)
            for (std::size_t p = 0; j + p * width < end_j; ++p)
                sums_of_panel<T, Term>(out, A, packed.begin() + p * panel, i, fewer(A.rows, i + few_rows), j + p * width,
                                       f);
    }
}

template <class T> void of_sums(Matrix<T> out, Matrix<const T> A, Matrix<const T> B, Sum sum, Form form) {
    with_function<T>(form, [&](auto f) {
        switch (sum) {
        case Sum::squared_difference:
            return sums<T, SquaredDifference<T>>(out, A, B, f);
        case Sum::absolute_difference:
            return sums<T, AbsoluteDifference<T>>(out, A, B, f);
        case Sum::smaller:
            return sums<T, Smaller<T>>(out, A, B, f);
        }
    });
}

#define NAME_OF(set) #set
#define NAME(set) NAME_OF(set)

template <class T> constexpr Functions<T> functions() {
    return {&apply<T>,
            &of_products<T>,
            &of_sums<T>,
            &sparse_products<T>,
            &sparse_dense_products<T>,
            &of_sparse_sums<T>,
            &perceptron_pass<T>,
            &dtw<T>,
            &hadamard<T>,
            &cos_sin<T>,
            &smo<T>,
            &add_rows<T>};
}

extern const Table table;
const Table table{NAME(SIMD_NAMESPACE), functions<float>(),         functions<double>(),
                  &count_bits,          &common_bits<std::int32_t>, &common_bits<std::int64_t>};

} // namespace SIMD_NAMESPACE

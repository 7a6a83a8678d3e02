// Gower's coefficient of rows of numbers and categories, some of them missing.
#pragma once

#include "buffer.hpp"
#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

// The block: its sums and its numbers of known terms are held in registers.
constexpr std::size_t mixed_rows = SIMD_BYTES == 64 ? 4 : 2, mixed_vectors = 2;
constexpr std::size_t mixed_columns = mixed_vectors * lanes<double>;

// What one pair adds up: similarities, and how many of them there are.
struct Agreement {
    Vector<double> sums[mixed_rows][mixed_vectors], known[mixed_rows][mixed_vectors];

    SIMD_INLINE void add(std::size_t r, std::size_t v, Vector<double> similarity, Mask<double> is_known) {
        sums[r][v] += bits<Vector<double>>(is_known & bits<Mask<double>>(similarity));
        known[r][v] += bits<Vector<double>>(is_known & bits<Mask<double>>(all<double>(1)));
    }
};

// Some columns of B, packed feature by feature, after one another: the numbers, then the keys.
template <class T> void pack_columns(Matrix<const T> B, std::size_t first, std::size_t count, T *packed) {
    for (std::size_t k = 0; k < B.columns; ++k)
        for (std::size_t c = 0; c < count; ++c)
            packed[k * mixed_columns + c] = B.row(first + c)[k];
}

// Rows of A, from `i` on, with the packed columns. A number that is missing is NaN, a key that is missing is 0.
inline void compare_block(Mixed A, std::size_t i, std::size_t rows, const double *numbers, const std::int64_t *keys,
                          Agreement &found) {
    for (std::size_t k = 0; k < A.numbers.columns; ++k)
#pragma GCC unroll 4
        for (std::size_t r = 0; r < mixed_rows; ++r) {
            const Vector<double> x = all<double>(A.numbers.row(i + fewer(r, rows - 1))[k]);
#pragma GCC unroll 2
            for (std::size_t v = 0; v < mixed_vectors; ++v) {
                const Vector<double> z = load<double>(numbers + k * mixed_columns + v * lanes<double>);
                const Vector<double> gap = magnitude<double>(x - z);
                found.add(r, v, 1 - gap, gap == gap);
            }
        }
    for (std::size_t k = 0; k < A.keys.columns; ++k)
#pragma GCC unroll 4
        for (std::size_t r = 0; r < mixed_rows; ++r) {
            const std::int64_t x = A.keys.row(i + fewer(r, rows - 1))[k];
            if (x == 0)
                continue;
#pragma GCC unroll 2
            for (std::size_t v = 0; v < mixed_vectors; ++v) {
                const Mask<double> z = load<std::int64_t>(keys + k * mixed_columns + v * lanes<double>);
                const Vector<double> same = bits<Vector<double>>((z == x) & bits<Mask<double>>(all<double>(1)));
                found.add(r, v, same, z != 0);
            }
        }
}

// Writes the mean similarity of the features that both rows have; 0 where there are none.
inline void gower(Matrix<double> out, Mixed A, Mixed B) {
    const Buffer<double> numbers(A.numbers.columns * mixed_columns);
    const Buffer<std::int64_t> keys(A.keys.columns * mixed_columns);
    for (std::size_t j = 0; j < out.columns; j += mixed_columns) {
        const std::size_t columns = fewer(mixed_columns, out.columns - j);
        pack_columns<double>(B.numbers, j, columns, numbers.begin());
        pack_columns<std::int64_t>(B.keys, j, columns, keys.begin());
        for (std::size_t i = 0; i < out.rows; i += mixed_rows) {
            const std::size_t rows = fewer(mixed_rows, out.rows - i);
            Agreement found{};
            compare_block(A, i, rows, numbers.begin(), keys.begin(), found);
            alignas(SIMD_BYTES) double values[mixed_rows][mixed_columns];
            for (std::size_t r = 0; r < mixed_rows; ++r)
                for (std::size_t v = 0; v < mixed_vectors; ++v)
                    store<double>(values[r] + v * lanes<double>,
                                  found.sums[r][v] / larger<double>(found.known[r][v], all<double>(1)));
            for (std::size_t r = 0; r < rows; ++r)
                std::memcpy(out.row(i + r) + j, values[r], columns * sizeof(double));
        }
    }
}

} // namespace SIMD_NAMESPACE

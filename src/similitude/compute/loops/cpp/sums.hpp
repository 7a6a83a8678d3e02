// Functions of sums over the features of two vectors. Blocks of some rows and columns are summed in registers.
#pragma once

#include "mirror.hpp"
#include "rows.hpp"

namespace SIMD_NAMESPACE {

template <class T> struct SquaredDifference {
    static SIMD_INLINE Vector<T> add(Vector<T> sum, Vector<T> a, Vector<T> b) { return sum + (a - b) * (a - b); }
};

template <class T> struct AbsoluteDifference {
    static SIMD_INLINE Vector<T> add(Vector<T> sum, Vector<T> a, Vector<T> b) {
        return added<T>(sum, magnitude<T>(a - b));
    }
};

template <class T> struct Smaller {
    static SIMD_INLINE Vector<T> add(Vector<T> sum, Vector<T> a, Vector<T> b) {
        return added<T>(sum, smaller<T>(a, b));
    }
};

// The block: half of the registers hold its sums.
constexpr std::size_t block_rows = 4, block_vectors = SIMD_BYTES == 64 ? 4 : 2;
template <class T> constexpr std::size_t block_columns = block_vectors * lanes<T>;

// Sums over features for one block; B comes packed, feature by feature.
template <class T, class Term>
inline void sum_block(const T *const (&a)[block_rows], const T *packed, std::size_t d, T *sums) {
    Vector<T> held[block_rows][block_vectors]{};
    for (std::size_t k = 0; k < d; ++k, packed += block_columns<T>) {
        Vector<T> b[block_vectors];
#pragma GCC unroll 4
        for (std::size_t v = 0; v < block_vectors; ++v)
            b[v] = load<T>(packed + v * lanes<T>);
#pragma GCC unroll 4
        for (std::size_t r = 0; r < block_rows; ++r) {
            const Vector<T> x = all<T>(a[r][k]);
#pragma GCC unroll 4
            for (std::size_t v = 0; v < block_vectors; ++v)
                held[r][v] = Term::add(held[r][v], x, b[v]);
        }
    }
    std::memcpy(sums, held, sizeof held);
}

// Columns past the end hold whatever was there: they are computed and not stored.
template <class T> void pack(Matrix<const T> B, std::size_t first, T *packed) {
    const std::size_t there = fewer(block_columns<T>, B.rows - first);
    mirror_squares<T>({packed, B.columns, there, block_columns<T>}, {B.row(first), there, B.columns, B.stride});
}

// Writes f of the sums of the block at row i and column j.
template <class T, class Term, class F>
inline void write_block(Matrix<T> out, Matrix<const T> A, const T *packed, std::size_t i, std::size_t j, F f) {
    const std::size_t rows = fewer(block_rows, out.rows - i), columns = fewer(block_columns<T>, out.columns - j);
    const T *a[block_rows];
    for (std::size_t r = 0; r < block_rows; ++r)
        a[r] = A.row(i + fewer(r, rows - 1));
    alignas(SIMD_BYTES) T block[block_rows * block_columns<T>];
    sum_block<T, Term>(a, packed, A.columns, block);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < block_rows * block_vectors; ++v)
        store<T>(block + v * lanes<T>, f(load<T>(block + v * lanes<T>)));
    for (std::size_t r = 0; r < rows; ++r)
        if (columns == block_columns<T>)
            std::memcpy(out.row(i + r) + j, block + r * block_columns<T>, sizeof(T) * block_columns<T>);
        else
            std::memcpy(out.row(i + r) + j, block + r * block_columns<T>, sizeof(T) * columns);
}

// As many columns as the cache holds are packed; then a few rows at a time go through all of them, so that results are
// written one after the other.
template <class T, class Term, class F> void sums(Matrix<T> out, Matrix<const T> A, Matrix<const T> B, F f) {
    constexpr std::size_t width = block_columns<T>, cache = 1 << 19;
    const std::size_t panel = A.columns * width;
    const std::size_t fitting = cache / (sizeof(T) * (panel + 1)), needed = (B.rows + width - 1) / width;
    const std::size_t panels = fitting > 0 ? fewer(fitting, needed) : 1;
    const Buffer<T> packed(panel * panels);
    for (std::size_t first = 0; first < B.rows && A.rows > 0; first += panels * width) {
        const std::size_t end = fewer(B.rows, first + panels * width);
        for (std::size_t j = first, p = 0; j < end; j += width, ++p)
            pack<T>(B, j, packed.begin() + p * panel);
        for (std::size_t i = 0; i < A.rows; i += block_rows)
            for (std::size_t j = first, p = 0; j < end; j += width, ++p)
                write_block<T, Term>(out, A, packed.begin() + p * panel, i, j, f);
    }
}

} // namespace SIMD_NAMESPACE

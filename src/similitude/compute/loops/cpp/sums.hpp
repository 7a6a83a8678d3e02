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

template <class T> struct Larger {
    static SIMD_INLINE Vector<T> add(Vector<T> sum, Vector<T> a, Vector<T> b) {
        return added<T>(sum, larger<T>(a, b));
    }
};

// The block: half of the registers hold its sums.
constexpr std::size_t block_rows = 4, block_vectors = SIMD_BYTES == 64 ? 4 : 2;
template <class T> constexpr std::size_t block_columns = block_vectors * lanes<T>;

// One vector after the other: those of the first row, those of the second, ...
template <class T> struct Block { Vector<T> of[block_rows * block_vectors]; };

// Sums over features for one block; B comes packed, feature by feature.
template <class T, class Term>
SIMD_INLINE Block<T> sum_block(const T *const (&a)[block_rows], const T *packed, std::size_t d) {
    Block<T> sums{};
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
                sums.of[r * block_vectors + v] = Term::add(sums.of[r * block_vectors + v], x, b[v]);
        }
    }
    return sums;
}

// Columns past the end hold whatever was there: they are computed and not stored.
template <class T> void pack(Matrix<const T> B, std::size_t first, T *packed) {
    const std::size_t there = fewer(block_columns<T>, B.rows - first);
    mirror_squares<T>({packed, B.columns, there, block_columns<T>}, {B.row(first), there, B.columns, B.stride});
}

// The rows of A that a block compares; past the end, the last one again.
template <class T> struct BlockRows {
    const T *row[block_rows];
    std::size_t index[block_rows];

    BlockRows(Matrix<const T> A, std::size_t i) {
        for (std::size_t r = 0; r < block_rows; ++r) {
            index[r] = fewer(i + r, A.rows - 1);
            row[r] = A.row(index[r]);
        }
    }
};

// Sums of a block, term by term.
template <class T, class Term> struct TermByTerm {
    Matrix<const T> A, B;

    SIMD_INLINE Block<T> operator()(const BlockRows<T> &a, const T *packed, std::size_t) const {
        return sum_block<T, Term>(a.row, packed, A.columns);
    }
};

// The sum of each row, and an eighth of the sum of its absolute values: a distance below that of two rows together is
// small beside their size. `more` rows past the end are far from all others.
template <class T> struct RowTotals {
    Buffer<T> sum, small;

    RowTotals(Matrix<const T> A, std::size_t more) : sum(A.rows + more), small(A.rows + more) {
        for (std::size_t i = 0; i < A.rows; ++i)
            for (std::size_t k = 0; k < A.columns; ++k) {
                const T entry = A.row(i)[k];
                sum[i] += entry;
                small[i] += (entry < 0 ? -entry : entry) * T(0.125);
            }
        for (std::size_t i = A.rows; i < A.rows + more; ++i)
            sum[i] = -std::numeric_limits<T>::infinity();
    }
};

// Absolute differences by |a - b| = 2 max(a, b) - a - b, which is an instruction less per feature. Digits cancel where
// the distance is small beside the size of both rows: such pairs are summed again, term by term.
template <class T> struct AbsoluteByLarger {
    Matrix<const T> A, B;
    RowTotals<T> a{A, 0}, b{B, block_columns<T>};

    SIMD_INLINE Block<T> operator()(const BlockRows<T> &rows, const T *packed, std::size_t j) const {
        Block<T> sums = sum_block<T, Larger<T>>(rows.row, packed, A.columns);
        Mask<T> kept = ~Mask<T>{};
#pragma GCC unroll 16
        for (std::size_t v = 0; v < block_rows * block_vectors; ++v) {
            sums.of[v] = sums.of[v] * T(2) - of_both(a.sum, b.sum, rows, j, v);
            kept &= sums.of[v] >= of_both(a.small, b.small, rows, j, v);
        }
        if (!every<T>(kept))
            sum_again(rows, packed, j, sums);
        return sums;
    }

    [[gnu::noinline]] void sum_again(const BlockRows<T> &rows, const T *packed, std::size_t j, Block<T> &sums) const {
        const Block<T> exact = sum_block<T, AbsoluteDifference<T>>(rows.row, packed, A.columns);
        for (std::size_t v = 0; v < block_rows * block_vectors; ++v)
            sums.of[v] = sums.of[v] >= of_both(a.small, b.small, rows, j, v) ? sums.of[v] : exact.of[v];
    }

    // What two rows have in total, for vector v of a block.
    SIMD_INLINE Vector<T> of_both(const Buffer<T> &left, const Buffer<T> &right, const BlockRows<T> &rows,
                                  std::size_t j, std::size_t v) const {
        return load<T>(right.begin() + j + v % block_vectors * lanes<T>) + left[rows.index[v / block_vectors]];
    }
};

// Writes f of the sums of the block at row i and column j.
template <class T, class Sums, class F>
[[gnu::noinline]] void write_block(Matrix<T> out, const Sums &sums, const T *packed, std::size_t i, std::size_t j,
                                   F f) {
    const std::size_t rows = fewer(block_rows, out.rows - i), columns = fewer(block_columns<T>, out.columns - j);
    Block<T> block = sums(BlockRows<T>(sums.A, i), packed, j);
#pragma GCC unroll 4
    for (std::size_t v = 0; v < block_rows * block_vectors; ++v)
        block.of[v] = f(block.of[v]);
    for (std::size_t r = 0; r < rows; ++r)
        if (columns == block_columns<T>)
            std::memcpy(out.row(i + r) + j, block.of + r * block_vectors, sizeof(T) * block_columns<T>);
        else
            std::memcpy(out.row(i + r) + j, block.of + r * block_vectors, sizeof(T) * columns);
}

// As many columns as the cache holds are packed; then a few rows at a time go through all of them, so that results are
// written one after the other.
template <class T, class Sums, class F> void write_sums(Matrix<T> out, const Sums &sums, F f) {
    constexpr std::size_t width = block_columns<T>, cache = 1 << 19;
    const Matrix<const T> A = sums.A, B = sums.B;
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
                write_block<T>(out, sums, packed.begin() + p * panel, i, j, f);
    }
}

// Few features are not worth the totals of the rows.
constexpr std::size_t few_features = 12;

template <class T, class F> void absolute_sums(Matrix<T> out, Matrix<const T> A, Matrix<const T> B, F f) {
    if (A.columns > few_features)
        write_sums<T>(out, AbsoluteByLarger<T>{A, B}, f);
    else
        write_sums<T>(out, TermByTerm<T, AbsoluteDifference<T>>{A, B}, f);
}

} // namespace SIMD_NAMESPACE

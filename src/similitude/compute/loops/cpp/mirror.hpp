// The transpose of a matrix, in squares that are turned in registers.
#pragma once

#include "buffer.hpp"
#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

// The entries of a and b in turn: a0 b0 a1 b1 ... from the lower or the upper halves.
template <class T> SIMD_INLINE Vector<T> in_turn(Vector<T> a, Vector<T> b, bool upper) {
#if defined(__clang__)
    Vector<T> both;
    for (std::size_t lane = 0; lane < lanes<T>; ++lane)
        both[lane] = (lane % 2 ? b : a)[lane / 2 + (upper ? lanes<T> / 2 : 0)];
    return both;
#else
    Mask<T> from;
    for (std::size_t lane = 0; lane < lanes<T>; ++lane)
        from[lane] = lane / 2 + (upper ? lanes<T> / 2 : 0) + (lane % 2 ? lanes<T> : 0);
    return __builtin_shuffle(a, b, from);
#endif
}

// A square of as many rows as a vector has entries. Taking the rows i and i + half in turn, as often as the number of
// rows can be halved, leaves the columns.
template <class T> SIMD_INLINE void turn(Vector<T> (&rows)[lanes<T>]) {
    constexpr std::size_t n = lanes<T>;
    Vector<T> turned[n];
#pragma GCC unroll 4
    for (std::size_t round = n; round > 1; round /= 2) {
#pragma GCC unroll 16
        for (std::size_t i = 0; i < n; ++i)
            turned[i] = in_turn<T>(rows[i / 2], rows[i / 2 + n / 2], i % 2);
#pragma GCC unroll 16
        for (std::size_t i = 0; i < n; ++i)
            rows[i] = turned[i];
    }
}

template <class T, bool streamed>
SIMD_INLINE void mirror_square(Matrix<T> to, Matrix<const T> from, std::size_t i, std::size_t j) {
    Vector<T> rows[lanes<T>];
#pragma GCC unroll 16
    for (std::size_t k = 0; k < lanes<T>; ++k)
        rows[k] = load<T>(from.row(i + k) + j);
    turn<T>(rows);
#pragma GCC unroll 16
    for (std::size_t k = 0; k < lanes<T>; ++k)
        if constexpr (streamed)
            stream<T>(to.row(j + k) + i, rows[k]);
        else
            store<T>(to.row(j + k) + i, rows[k]);
}

template <class T>
inline void mirror_entries(Matrix<T> to, Matrix<const T> from, std::size_t i, std::size_t end_i, std::size_t j,
                           std::size_t end_j) {
    for (; i < end_i; ++i)
        for (std::size_t k = j; k < end_j; ++k)
            to.row(k)[i] = from.row(i)[k];
}

// Writes entry (j, i) of `to` for each entry (i, j) of `from`, some columns of `from` after the others.
template <class T, bool streamed = false> void mirror_squares(Matrix<T> to, Matrix<const T> from) {
    constexpr std::size_t n = lanes<T>, some = 4 * n;
    for (std::size_t first = 0; first < from.columns; first += some) {
        const std::size_t end = fewer(from.columns, first + some), whole = first + (end - first) / n * n;
        std::size_t i = 0;
        for (; i + n <= from.rows; i += n) {
            for (std::size_t j = first; j < whole; j += n)
                mirror_square<T, streamed>(to, from, i, j);
            mirror_entries<T>(to, from, i, i + n, whole, end);
        }
        mirror_entries<T>(to, from, i, from.rows, first, end);
    }
}

// The same for a large matrix, streamed where its rows are aligned alike.
template <class T> void mirror(Matrix<T> to, Matrix<const T> from) {
    const std::size_t past_line = reinterpret_cast<std::uintptr_t>(to.entries) % SIMD_BYTES;
    if (!can_stream || to.stride % static_cast<std::ptrdiff_t>(lanes<T>) != 0 || past_line % sizeof(T) != 0)
        return mirror_squares<T>(to, from);
    const std::size_t lead = fewer(from.rows, (SIMD_BYTES - past_line) % SIMD_BYTES / sizeof(T));
    mirror_entries<T>(to, from, 0, lead, 0, from.columns);
    mirror_squares<T, can_stream>({to.entries + lead, to.rows, to.columns - lead, to.stride},
                                  {from.row(lead), from.rows - lead, from.columns, from.stride});
    end_streams();
}

} // namespace SIMD_NAMESPACE

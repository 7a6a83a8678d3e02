// Fast Walsh-Hadamard transforms of rows, each after a multiplication by signs.
#pragma once

#include <utility>

#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

// Lanes j and j ^ h change places.
template <class T, std::size_t h, std::size_t... j>
SIMD_INLINE Vector<T> exchanged(Vector<T> v, std::index_sequence<j...>) {
#if defined(__clang__)
    return __builtin_shufflevector(v, v, static_cast<int>(j ^ h)...);
#else // GCC before version 12 lacks the other one
    return __builtin_shuffle(v, Mask<T>{static_cast<Integer<T>>(j ^ h)...});
#endif
}

// Sums and differences of lanes that are h apart, for every h below the width of a vector.
template <class T, std::size_t h = 1> SIMD_INLINE Vector<T> mixed_lanes(Vector<T> v) {
    if constexpr (h == lanes<T>) {
        return v;
    } else {
        Vector<T> sign{};
        for (std::size_t lane = 0; lane < lanes<T>; ++lane)
            sign[lane] = (lane & h) != 0 ? T(-1) : T(1);
        return mixed_lanes<T, 2 * h>(v * sign + exchanged<T, h>(v, std::make_index_sequence<lanes<T>>()));
    }
}

// Sums and differences of entries that are h and 2 h apart; h is a multiple of the width of a vector.
template <class T> inline void mix_four(T *x, std::size_t size, std::size_t h) {
    for (std::size_t i = 0; i < size; i += 4 * h)
        for (std::size_t j = i; j < i + h; j += lanes<T>) {
            const Vector<T> a = load<T>(x + j), b = load<T>(x + j + h);
            const Vector<T> c = load<T>(x + j + 2 * h), d = load<T>(x + j + 3 * h);
            const Vector<T> sum = a + b, difference = a - b, sum_2 = c + d, difference_2 = c - d;
            store<T>(x + j, sum + sum_2);
            store<T>(x + j + h, difference + difference_2);
            store<T>(x + j + 2 * h, sum - sum_2);
            store<T>(x + j + 3 * h, difference - difference_2);
        }
}

// The same for entries that are h apart, h any power of two.
template <class T> inline void mix_two(T *x, std::size_t size, std::size_t h) {
    for (std::size_t i = 0; i < size; i += 2 * h)
        for (std::size_t j = i; j < i + h; ++j) {
            const T a = x[j], b = x[j + h];
            x[j] = a + b;
            x[j + h] = a - b;
        }
}

template <class T> inline void signed_transform(T *x, const T *signs, std::size_t size) {
    std::size_t h = 1;
    if (size >= lanes<T>) {
        for (std::size_t j = 0; j < size; j += lanes<T>)
            store<T>(x + j, mixed_lanes<T>(load<T>(x + j) * load<T>(signs + j)));
        for (h = lanes<T>; 4 * h <= size; h *= 4)
            mix_four<T>(x, size, h);
    } else {
        for (std::size_t j = 0; j < size; ++j)
            x[j] *= signs[j];
    }
    for (; h < size; h *= 2)
        mix_two<T>(x, size, h);
}

// Each stretch of `size` entries of a row goes through all transforms while it is in the cache.
template <class T> void hadamard(Matrix<T> values, Matrix<const T> signs, std::size_t size) {
    for (std::size_t i = 0; i < values.rows; ++i)
        for (std::size_t start = 0; start < values.columns; start += size)
            for (std::size_t k = 0; k < signs.rows; ++k)
                signed_transform<T>(values.row(i) + start, signs.row(k) + start, size);
}

} // namespace SIMD_NAMESPACE

// Shares of positive values of dilated convolutions of series, as in MiniRocket.
#pragma once

#include <cstring>
#include <limits>

#include "buffer.hpp"
#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

constexpr std::size_t taps = 9, half_taps = 4, biases_at_once = 4;

// The three taps of weight 2 among nine; all others have weight -1. Kernels are numbered in lexicographic order.
struct Triple {
    std::size_t first, second, third;
};

struct Triples {
    Triple of[84]{};
    constexpr Triples() {
        std::size_t number = 0;
        for (std::size_t i = 0; i < taps; ++i)
            for (std::size_t j = i + 1; j < taps; ++j)
                for (std::size_t k = j + 1; k < taps; ++k)
                    of[number++] = {i, j, k};
    }
};

constexpr Triples triples;

// One series, mixed into one channel and padded with zeros, and the sum over all nine taps at each of its times.
template <class T> class Taps {
  public:
    explicit Taps(std::size_t longest) : padded_(9 * longest + lanes<T>), sum_(longest + lanes<T>) {}

    void prepare(const T *x, std::size_t n, std::size_t channels, const T *mix, std::size_t dilation) {
        step_ = fewer(dilation, n); // a longer step leads out of the series as well
        T *padded = padded_.begin(), *inside = padded + half_taps * step_;
        std::memset(static_cast<void *>(padded), 0, (n + 2 * half_taps * step_ + lanes<T>) * sizeof(T));
        for (std::size_t c = 0; c < channels; ++c)
            if (mix[c] != T(0))
                for (std::size_t t = 0; t < n; ++t)
                    inside[t] += mix[c] * x[t * channels + c];
        for (std::size_t t = 0; t < n; t += lanes<T>) {
            Vector<T> total = load<T>(padded + t);
            for (std::size_t k = 1; k < taps; ++k)
                total += load<T>(padded + k * step_ + t);
            store<T>(sum_.begin() + t, total);
        }
    }

    // Writes the convolution at times `low` to `high`, then what is larger than no bias up to the end of a register.
    void convolve(Triple at, std::size_t low, std::size_t high, T *values) const {
        const T *x = padded_.begin(), *a = x + at.first * step_, *b = x + at.second * step_, *c = x + at.third * step_;
        for (std::size_t t = low; t < high; t += lanes<T>) {
            const Vector<T> three = load<T>(a + t) + load<T>(b + t) + load<T>(c + t);
            // twice and once, not three times: a product could be rounded together with the difference
            store<T>(values + (t - low), ((three + three) + three) - load<T>(sum_.begin() + t));
        }
        for (std::size_t t = high - low; t % lanes<T> != 0; ++t)
            values[t] = -std::numeric_limits<T>::infinity();
    }

  private:
    Buffer<T> padded_, sum_;
    std::size_t step_ = 0;
};

// The share of values above each of `number` biases.
template <class T, std::size_t number>
SIMD_INLINE void shares_above(const T *values, std::size_t count, const T *biases, T *shares) {
    Mask<T> above[number]{};
    for (std::size_t t = 0; t < count; t += lanes<T>) {
        const Vector<T> v = load<T>(values + t);
#pragma GCC unroll 4
        for (std::size_t k = 0; k < number; ++k)
            above[k] -= v > biases[k];
    }
    for (std::size_t k = 0; k < number; ++k) {
        std::int64_t total = 0;
        for (std::size_t lane = 0; lane < lanes<T>; ++lane)
            total += above[k][lane];
        shares[k] = count == 0 ? T(0) : static_cast<T>(total) / static_cast<T>(count);
    }
}

template <class T> void convolutions(Matrix<T> out, Series<T> A, Filters<T> filters) {
    std::size_t longest = 0;
    for (std::size_t i = 0; i < A.count; ++i)
        longest = A.length(i) > longest ? A.length(i) : longest;
    Taps<T> series(longest);
    const Buffer<T> values(longest + lanes<T>);
    for (std::size_t i = 0; i < A.count; ++i) {
        const std::size_t n = A.length(i);
        for (std::size_t g = 0; g < filters.count; ++g) {
            const std::int64_t dilation = filters.dilation(g);
            if (g == 0 || dilation != filters.dilation(g - 1) || !filters.same_mix(g, g - 1, A.channels))
                series.prepare(A.begin(i), n, A.channels, filters.mix + g * A.channels,
                               static_cast<std::size_t>(dilation));
            // without padding, only where the whole kernel lies in the series; with it, if it lies there nowhere
            const std::size_t edge = half_taps * fewer(static_cast<std::size_t>(dilation), n);
            const bool whole = filters.padded(g) || 2 * edge >= n;
            const std::size_t low = whole ? 0 : edge, high = whole ? n : n - edge;
            series.convolve(triples.of[filters.kernel(g)], low, high, values.begin());
            T *shares = out.row(i);
            std::size_t f = filters.begin(g);
            for (; f + biases_at_once <= filters.begin(g + 1); f += biases_at_once)
                shares_above<T, biases_at_once>(values.begin(), high - low, filters.biases + f, shares + f);
            for (; f < filters.begin(g + 1); ++f)
                shares_above<T, 1>(values.begin(), high - low, filters.biases + f, shares + f);
        }
    }
}

} // namespace SIMD_NAMESPACE

// Signatures of series, level by level: iterated integrals along the lines between neighboring times.
#pragma once

#include "buffer.hpp"
#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

// The signatures of as many series as a register has lanes, one in each lane. By Chen's identity a step x multiplies
// the signature by the exponential of x, so that a step of zeros, after the end of a series, changes nothing.
template <class T> class Signatures {
  public:
    Signatures(std::size_t channels, std::size_t level, std::size_t width)
        : channels_(channels), level_(level), width_(width), sums_(width * lanes<T>),
          first_(width / channels * lanes<T>), second_(width / channels * lanes<T>), steps_((level + 1) * channels * lanes<T>), begins_(level + 1), sizes_(level + 1) {
        for (std::size_t m = 1, begin = 0, size = channels; m <= level; ++m, begin += size, size *= channels) {
            begins_[m] = begin;
            sizes_[m] = size;
        }
    }

    // Follows up to `lanes` series from their beginning to their end, and writes a row for each.
    void follow(Matrix<T> out, const Series<T> &A, const std::int64_t *which, std::size_t number) {
        std::size_t longest = 0;
        for (std::size_t lane = 0; lane < number; ++lane) {
            const std::size_t n = A.length(static_cast<std::size_t>(which[lane]));
            longest = n > longest ? n : longest;
        }
        std::memset(static_cast<void *>(sums_.begin()), 0, width_ * lanes<T> * sizeof(T));
        for (std::size_t t = 1; t < longest; ++t) {
            read_step(A, which, number, t);
            take_step();
        }
        for (std::size_t lane = 0; lane < number; ++lane) {
            T *row = out.row(static_cast<std::size_t>(which[lane]));
            for (std::size_t k = 0; k < width_; ++k)
                row[k] = sums_[k * lanes<T> + lane];
        }
    }

  private:
    T *sums(std::size_t m) const { return sums_.begin() + begins_[m] * lanes<T>; }
    T *step(std::size_t divisor) const { return steps_.begin() + divisor * channels_ * lanes<T>; }

    // The step to time t, and the step divided by 2, 3, ….
    void read_step(const Series<T> &A, const std::int64_t *which, std::size_t number, std::size_t t) {
        T *x = step(1);
        for (std::size_t lane = 0; lane < number; ++lane) {
            const std::size_t i = static_cast<std::size_t>(which[lane]);
            const bool inside = t < A.length(i);
            const T *before = A.begin(i) + (inside ? t - 1 : 0) * channels_;
            for (std::size_t c = 0; c < channels_; ++c)
                x[c * lanes<T> + lane] = inside ? before[channels_ + c] - before[c] : T(0);
        }
        for (std::size_t divisor = 2; divisor <= level_; ++divisor)
            for (std::size_t c = 0; c < channels_; ++c)
                store<T>(step(divisor) + c * lanes<T>, load<T>(x + c * lanes<T>) * (T(1) / static_cast<T>(divisor)));
    }

    // Level m grows by (((x / m + S_1) x / (m - 1) + S_2) x / (m - 2) + …) x, from the last level to the first.
    void take_step() {
        for (std::size_t m = level_; m > 1; --m) {
            const T *product = step(m);
            for (std::size_t j = 1; j + 1 < m; ++j) {
                T *to = j % 2 == 0 ? first_.begin() : second_.begin();
                multiply<false>(to, product, sums(j), sizes_[j], step(m - j));
                product = to;
            }
            multiply<true>(sums(m), product, sums(m - 1), sizes_[m - 1], step(1));
        }
        for (std::size_t c = 0; c < channels_; ++c)
            store<T>(sums(1) + c * lanes<T>, load<T>(sums(1) + c * lanes<T>) + load<T>(step(1) + c * lanes<T>));
    }

    template <bool adds>
    void multiply(T *to, const T *product, const T *sum, std::size_t size, const T *x) const {
        switch (channels_) {
        case 2:
            return multiply<adds, 2>(to, product, sum, size, x, 2);
        case 3:
            return multiply<adds, 3>(to, product, sum, size, x, 3);
        default:
            return multiply<adds, 0>(to, product, sum, size, x, channels_);
        }
    }

    // Writes or adds the outer product of (product + sum) and x; `known` channels unless that is 0.
    template <bool adds, std::size_t known>
    void multiply(T *to, const T *product, const T *sum, std::size_t size, const T *x, std::size_t channels) const {
        const std::size_t d = known == 0 ? channels : known;
        for (std::size_t p = 0; p < size; ++p) {
            const Vector<T> factor = load<T>(product + p * lanes<T>) + load<T>(sum + p * lanes<T>);
            for (std::size_t c = 0; c < d; ++c, to += lanes<T>) {
                const Vector<T> by = load<T>(x + c * lanes<T>);
                store<T>(to, adds ? multiply_add<T>(factor, by, load<T>(to)) : factor * by);
            }
        }
    }

    std::size_t channels_, level_, width_;
    Buffer<T> sums_, first_, second_, steps_;
    Buffer<std::size_t> begins_, sizes_;
};

// `order` sorts the series by length, so that those in one register end at about the same time.
template <class T> void signatures(Matrix<T> out, Series<T> A, const std::int64_t *order, std::size_t level) {
    Signatures<T> some(A.channels, level, out.columns);
    for (std::size_t i = 0; i < A.count; i += lanes<T>)
        some.follow(out, A, order + i, fewer(lanes<T>, A.count - i));
}

} // namespace SIMD_NAMESPACE

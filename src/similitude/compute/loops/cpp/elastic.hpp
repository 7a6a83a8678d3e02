// Elastic distances of series: recurrences of cells from entries of both series, not from their difference alone.
//
// The "channels" of an entry are what a recurrence needs of it: the values, the values before, and costs that depend on
// one series only. The callers prepare them.
#pragma once

#include "dynamic.hpp"
#include "elementary.hpp"

namespace SIMD_NAMESPACE {

// The Euclidean distance of channels `first` to `first + count` of two entries.
template <class T, class X, class Z>
SIMD_INLINE Vector<T> entry_distance(X x, Z z, std::size_t first, std::size_t count) {
    if (count == 1)
        return magnitude<T>(x(first) - z(first));
    Vector<T> squares{};
    for (std::size_t c = first; c < first + count; ++c) {
        const Vector<T> gap = x(c) - z(c);
        squares += gap * gap;
    }
    return root<T>(squares);
}

// What the recurrences below share: the best of three costs, and no limits at the borders.
template <class T> struct BestOfThree {
    static constexpr T corner = 0;
    static constexpr T border = std::numeric_limits<T>::infinity();
    static constexpr std::size_t registers = 2, rescaled_every = 0;
    static constexpr bool of_entries = true;

    static SIMD_INLINE Vector<T> best(Vector<T> both, Vector<T> second, Vector<T> first) {
        return smaller<T>(smaller<T>(both, second), first);
    }
    template <class Entry> SIMD_INLINE Vector<T> border_of(Entry) const { return all<T>(border); }
    template <std::size_t r> void rescale(Group<T, r> *, std::size_t, Group<T, r> &) const {}
};

// Move-split-merge. Channels: the value, and the value before.
template <class T> struct MoveSplitMerge : BestOfThree<T> {
    T cost;

    // Of a value next to `before` where the other series is at `other`: how far it lies outside of the two.
    SIMD_INLINE Vector<T> split(Vector<T> value, Vector<T> before, Vector<T> other) const {
        const Vector<T> low = smaller<T>(before, other), high = larger<T>(before, other);
        return cost + larger<T>(larger<T>(low - value, value - high), Vector<T>{});
    }
    template <class X, class Z>
    SIMD_INLINE Vector<T> cell(Vector<T> diagonal, Vector<T> before, Vector<T> above, X x, Z z) const {
        return this->best(diagonal + magnitude<T>(x(0) - z(0)), before + split(z(0), z(1), x(0)),
                          above + split(x(0), x(1), z(0)));
    }
};

// Edit distance with real penalty. Channels: the values, their distance to the gap value, and the sum of these so far.
template <class T> struct RealPenalty : BestOfThree<T> {
    std::size_t channels;

    template <class Entry> SIMD_INLINE Vector<T> border_of(Entry x) const { return x(channels + 1); }
    template <class X, class Z>
    SIMD_INLINE Vector<T> cell(Vector<T> diagonal, Vector<T> before, Vector<T> above, X x, Z z) const {
        return this->best(diagonal + entry_distance<T>(x, z, 0, channels), before + z(channels), above + x(channels));
    }
};

// Time warp edit distance. Channels: the values, those before, the cost of leaving the entry out, and its time.
template <class T> struct TimeWarpEdit : BestOfThree<T> {
    std::size_t channels;
    T stiffness;

    template <class X, class Z>
    SIMD_INLINE Vector<T> cell(Vector<T> diagonal, Vector<T> before, Vector<T> above, X x, Z z) const {
        const std::size_t leaving = 2 * channels, time = leaving + 1;
        const Vector<T> match = entry_distance<T>(x, z, 0, channels) + entry_distance<T>(x, z, channels, channels);
        const Vector<T> apart = magnitude<T>(x(time) - z(time));
        return this->best(diagonal + (match + apart * stiffness), before + z(leaving), above + x(leaving));
    }
};

// Soft dynamic time warping: the soft minimum -gamma log(sum of exp(-cost / gamma)) in place of the minimum.
template <class T> struct SoftWarping {
    static constexpr T corner = 0;
    static constexpr T border = std::numeric_limits<T>::max() / 4; // infinity less infinity would be no number
    static constexpr std::size_t registers = 2, rescaled_every = 0;
    static constexpr bool of_entries = false;
    T gamma, inverse;

    SIMD_INLINE Vector<T> cell(Vector<T> diagonal, Vector<T> before, Vector<T> above, Vector<T> squares) const {
        const Vector<T> low = smaller<T>(before, above), high = larger<T>(before, above); // the same if swapped
        const Vector<T> least = smaller<T>(low, diagonal), middle = larger<T>(low, diagonal);
        const Vector<T> sum = exponential<T>((least - middle) * inverse) + exponential<T>((least - high) * inverse);
        return squares + (least - gamma * logarithm<T>(sum + T(1)));
    }
    static SIMD_INLINE Vector<T> gap(Vector<T> x, Vector<T> z) { return x - z; }
    SIMD_INLINE Vector<T> cell_of_gap(Vector<T> diagonal, Vector<T> before, Vector<T> above, Vector<T> gap) const {
        return cell(diagonal, before, above, gap * gap);
    }
    template <class Entry> SIMD_INLINE Vector<T> border_of(Entry) const { return all<T>(border); }
    template <std::size_t r> void rescale(Group<T, r> *, std::size_t, Group<T, r> &) const {}
};

// `p` is a cost, or the number of channels, or gamma; `q` is a stiffness.
template <class T>
void elastic(Matrix<T> out, Series<T> A, Series<T> B, const std::int64_t *order, Elastic kind, double p, double q,
             Band band, bool half) {
    auto take = [&](std::size_t i, std::size_t j, T cell, T) {
        out.row(i)[j] = cell;
        if (half)
            out.row(j)[i] = cell;
    };
    const auto channels = static_cast<std::size_t>(p);
    switch (kind) {
    case Elastic::move_split_merge:
        return align<T>(MoveSplitMerge<T>{{}, static_cast<T>(p)}, A, B, order, band, half, take);
    case Elastic::real_penalty:
        return align<T>(RealPenalty<T>{{}, channels}, A, B, order, band, half, take);
    case Elastic::time_warp_edit:
        return align<T>(TimeWarpEdit<T>{{}, channels, static_cast<T>(q)}, A, B, order, band, half, take);
    case Elastic::soft_warping:
        return align<T>(SoftWarping<T>{static_cast<T>(p), static_cast<T>(1 / p)}, A, B, order, band, half, take);
    }
}

} // namespace SIMD_NAMESPACE

// What a search for the nearest series needs: distances of some pairs, given up early, and bounds by envelopes.
#pragma once

#include "alignment.hpp"

namespace SIMD_NAMESPACE {

// Time warping that is given up when every path already costs more than a limit in every lane.
template <class T> struct LimitedWarping : TimeWarping<T> {
    const T *limits; // one for each lane

    template <std::size_t registers>
    SIMD_INLINE bool hopeless(const Group<T, registers> *column, std::size_t low, std::size_t high) const {
        bool all_above = low <= high; // an empty query has no cells
        for (std::size_t r = 0; all_above && r < registers; ++r) {
            Vector<T> least = column[low].at[r];
            for (std::size_t i = low + 1; i <= high; ++i)
                least = smaller<T>(least, column[i].at[r]);
            all_above = every<T>(least > load<T>(limits + r * lanes<T>));
        }
        return all_above;
    }
};

// Distances of the pairs (i, j), which come sorted by i and the length of series j; infinite where they are given up.
template <class T>
void dtw_pairs(T *out, Series<T> A, Series<T> B, const std::int64_t *i, const std::int64_t *j, const T *limits,
               std::size_t pairs, Band band) {
    constexpr std::size_t most = TimeWarping<T>::registers, widest = most * lanes<T>;
    const Buffer<T> room(longest_of(B) * B.channels * widest), column((longest_of(A) + 1) * widest), bounds(widest);
    for (std::size_t first = 0, count = 0; first < pairs; first += count) {
        const std::size_t query = static_cast<std::size_t>(i[first]), limit = fewer(widest, pairs - first);
        const std::size_t length = B.length(static_cast<std::size_t>(j[first]));
        count = 1;
        while (count < limit && i[first + count] == i[first] &&
               (!band.limits() || B.length(static_cast<std::size_t>(j[first + count])) == length))
            ++count;
        for (std::size_t lane = 0; lane < widest; ++lane)
            bounds[lane] = lane < count ? limits[first + lane] : -std::numeric_limits<T>::infinity();
        for (std::size_t lane = 0; lane < count; ++lane)
            out[first + lane] = std::numeric_limits<T>::infinity();
        with_registers<T, most>(count, [&](auto chosen) {
            constexpr std::size_t registers = decltype(chosen)::value;
            pack<T, registers>(B, j + first, count, room.begin());
            fill_table<T, registers, false>(
                LimitedWarping<T>{{}, bounds.begin()}, reinterpret_cast<Group<T, registers> *>(column.begin()),
                A.begin(query), A.length(query), room.begin(), B, j + first, count, band,
                [&](std::size_t lane, T cell, T) { out[first + lane] = cell; });
        });
    }
}

// Sums of squares by which the rows of A leave the ranges low to high.
template <class T>
void outside_ranges(Matrix<T> out, Matrix<const T> A, Matrix<const T> low, Matrix<const T> high) {
    for (std::size_t i = 0; i < A.rows; ++i)
        for (std::size_t j = 0; j < low.rows; ++j) {
            const T *x = A.row(i), *l = low.row(j), *h = high.row(j);
            Vector<T> sum{};
            for (std::size_t t = 0; t < A.columns; t += lanes<T>) {
                const std::size_t count = fewer(lanes<T>, A.columns - t);
                const bool whole = count == lanes<T>;
                const Vector<T> v = whole ? load<T>(x + t) : load<T>(x + t, count);
                const Vector<T> below = (whole ? load<T>(l + t) : load<T>(l + t, count)) - v;
                const Vector<T> above = v - (whole ? load<T>(h + t) : load<T>(h + t, count));
                const Vector<T> gap = larger<T>(larger<T>(below, above), Vector<T>{});
                sum += gap * gap;
            }
            T total = 0;
            for (std::size_t lane = 0; lane < lanes<T>; ++lane)
                total += sum[lane];
            out.row(i)[j] = total;
        }
}

} // namespace SIMD_NAMESPACE

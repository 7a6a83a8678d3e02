// What the elastic distances need of each entry of a series, as further channels.
#pragma once

#include <cmath>
#include <vector>

#include "table.hpp"

namespace { // names of this kind are common: they stay in the files that use them

template <class T> using Channels = std::vector<T>;

// Calls work(series, time) for each entry; the first time of a series is 0.
template <class T, class Work> void for_each_entry(const Series<T> &A, Work work) {
    for (std::size_t i = 0; i < A.count; ++i)
        for (std::size_t t = 0; t < A.length(i); ++t)
            work(A.begin(i) + t * A.channels, t);
}

// The values of one channel, and the value before each.
template <class T> Channels<T> msm_channels(const Series<T> &A, std::size_t channel) {
    Channels<T> found;
    for_each_entry(A, [&](const T *x, std::size_t t) {
        found.push_back(x[channel]);
        found.push_back(t == 0 ? T(0) : (x - A.channels)[channel]);
    });
    return found;
}

// The values, their distance to the gap value, and the sum of these distances up to each entry.
template <class T> Channels<T> erp_channels(const Series<T> &A, double gap) {
    Channels<T> found;
    double sum = 0;
    for_each_entry(A, [&](const T *x, std::size_t t) {
        double squares = 0;
        for (std::size_t c = 0; c < A.channels; ++c)
            squares += (static_cast<double>(x[c]) - gap) * (static_cast<double>(x[c]) - gap);
        sum = (t == 0 ? 0.0 : sum) + std::sqrt(squares);
        found.insert(found.end(), x, x + A.channels);
        found.push_back(static_cast<T>(std::sqrt(squares)));
        found.push_back(static_cast<T>(sum));
    });
    return found;
}

// The values, those before, the cost of leaving each entry out, and its time.
template <class T> Channels<T> twe_channels(const Series<T> &A, double stiffness, double penalty) {
    Channels<T> found;
    const std::vector<T> zeros(A.channels);
    for_each_entry(A, [&](const T *x, std::size_t t) {
        const T *before = t == 0 ? zeros.data() : x - A.channels;
        double squares = 0;
        for (std::size_t c = 0; c < A.channels; ++c) {
            const double step = static_cast<double>(x[c]) - static_cast<double>(before[c]);
            squares += step * step;
        }
        found.insert(found.end(), x, x + A.channels);
        found.insert(found.end(), before, before + A.channels);
        found.push_back(static_cast<T>(std::sqrt(squares) + (stiffness + penalty)));
        found.push_back(static_cast<T>(t));
    });
    return found;
}

} // namespace

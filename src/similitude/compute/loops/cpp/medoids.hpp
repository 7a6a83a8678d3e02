// Swaps of k-medoids clustering by FasterPAM (Schubert and Rousseeuw, 2021).
#pragma once

#include <cmath>
#include <limits>

#include "buffer.hpp"
#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

constexpr double smallest_gain = 1e-12; // of the loss: less is rounding

// The two nearest medoids of every object; entry o of row c of `far` is the distance of object o from candidate c.
template <class T> class NearestMedoids {
  public:
    NearestMedoids(Matrix<const T> distances, std::int64_t *chosen, std::size_t count)
        : far(distances), n(distances.columns), k(count), medoids(chosen), first(n), second(n), near(n), next(n),
          removal(k), change(k), is_medoid(n) {
        for (std::size_t o = 0; o < n; ++o)
            near[o] = next[o] = std::numeric_limits<T>::infinity();
        for (std::size_t m = 0; m < k; ++m) {
            is_medoid[static_cast<std::size_t>(medoids[m])] = 1;
            const T *row = row_of(m);
            for (std::size_t o = 0; o < n; ++o)
                offer(o, m, row[o]);
        }
        add_up();
    }

    // Replaces the medoid whose replacement lowers the loss most, if any does.
    bool try_swap(std::size_t candidate) {
        if (is_medoid[candidate])
            return false;
        const T *row = far.row(candidate);
        const double gain = changes(row);
        std::size_t leaving = 0;
        for (std::size_t m = 1; m < k; ++m)
            leaving = change[m] < change[leaving] ? m : leaving;
        if (!(gain + change[leaving] < -smallest_gain * std::fabs(loss)))
            return false;
        is_medoid[static_cast<std::size_t>(medoids[leaving])] = 0;
        is_medoid[candidate] = 1;
        medoids[leaving] = static_cast<std::int64_t>(candidate);
        for (std::size_t o = 0; o < n; ++o)
            replace(o, leaving, row[o]);
        add_up();
        return true;
    }

  private:
    Matrix<const T> far;
    std::size_t n, k;
    std::int64_t *medoids;
    Buffer<std::int32_t> first, second; // which of the medoids
    Buffer<T> near, next;               // how far they are
    Buffer<double> removal, change;     // of the loss if a medoid is removed, and if a candidate replaces it
    Buffer<std::uint8_t> is_medoid;
    double loss = 0;

    const T *row_of(std::size_t m) const { return far.row(static_cast<std::size_t>(medoids[m])); }

    void offer(std::size_t o, std::size_t m, T distance) {
        if (distance < near[o]) {
            second[o] = first[o];
            next[o] = near[o];
            first[o] = static_cast<std::int32_t>(m);
            near[o] = distance;
        } else if (distance < next[o]) {
            second[o] = static_cast<std::int32_t>(m);
            next[o] = distance;
        }
    }

    // Medoid m is another object now, at this distance from object o.
    void replace(std::size_t o, std::size_t m, T distance) {
        const bool was_first = first[o] == static_cast<std::int32_t>(m);
        const bool was_second = second[o] == static_cast<std::int32_t>(m);
        if (was_first && distance < next[o]) {
            near[o] = distance;
        } else if (was_first || (was_second && next[o] < distance)) {
            near[o] = next[o] = std::numeric_limits<T>::infinity();
            for (std::size_t other = 0; other < k; ++other)
                offer(o, other, row_of(other)[o]);
        } else if (was_second && !(distance < near[o])) {
            next[o] = distance;
        } else {
            offer(o, m, distance);
        }
    }

    void add_up() {
        loss = 0;
        for (std::size_t m = 0; m < k; ++m)
            removal[m] = 0;
        for (std::size_t o = 0; o < n; ++o) {
            loss += static_cast<double>(near[o]);
            removal[static_cast<std::size_t>(first[o])] += static_cast<double>(next[o]) - static_cast<double>(near[o]);
        }
    }

    // Returns the change of the loss by a candidate that is added, and sets those by each medoid that is then removed.
    double changes(const T *row) {
        for (std::size_t m = 0; m < k; ++m)
            change[m] = removal[m];
        double gain = 0;
        std::size_t o = 0;
        for (; o + lanes<T> <= n; o += lanes<T>)
            for (unsigned closer = where<T>(load<T>(row + o) < load<T>(next.begin() + o)); closer; closer &= closer - 1)
                gain += closer_to(row, o + static_cast<std::size_t>(__builtin_ctz(closer)));
        for (; o < n; ++o)
            if (row[o] < next[o])
                gain += closer_to(row, o);
        return gain;
    }

    // An object for which the candidate is nearer than the second medoid.
    SIMD_INLINE double closer_to(const T *row, std::size_t o) {
        const double distance = static_cast<double>(row[o]), nearest = static_cast<double>(near[o]);
        const double kept = distance < nearest ? nearest : distance;
        change[static_cast<std::size_t>(first[o])] += kept - static_cast<double>(next[o]);
        return distance < nearest ? distance - nearest : 0.0;
    }
};

// Tries candidates one after the other, from `start`, until `most` were tried or all in a row failed; returns how many
// failed since the last swap.
template <class T>
std::size_t swap_medoids(Matrix<const T> far, std::int64_t *medoids, std::size_t k, std::size_t start,
                         std::size_t most, std::size_t failed) {
    NearestMedoids<T> nearest(far, medoids, k);
    for (std::size_t tried = 0; tried < most && failed < far.columns; ++tried)
        failed = nearest.try_swap((start + tried) % far.columns) ? 0 : failed + 1;
    return failed;
}

} // namespace SIMD_NAMESPACE

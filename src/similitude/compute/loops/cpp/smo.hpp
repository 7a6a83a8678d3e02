// Sequential minimal optimization on a small dense problem, and sums of weighted rows.
#pragma once

#include <cmath>
#include <limits>

#include "buffer.hpp"
#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double smallest_curvature = 1e-12;

// At most a vector's worth of numbers of another precision as doubles; zeros beyond `count`.
template <class T> SIMD_INLINE Vector<double> widened(const T *from, std::size_t count) {
    Vector<double> v{};
    if (count >= lanes<double>)
        for (std::size_t lane = 0; lane < lanes<double>; ++lane)
            v[lane] = static_cast<double>(from[lane]);
    else
        for (std::size_t lane = 0; lane < count; ++lane)
            v[lane] = static_cast<double>(from[lane]);
    return v;
}

// The working set, padded to whole vectors: u - beta's residual, +-infinity where a variable cannot move that way.
struct Candidates {
    std::size_t count, padded;
    Buffer<double> u, cannot_rise, cannot_fall, diagonal;

    explicit Candidates(std::size_t n)
        : count(n), padded((n + lanes<double> - 1) / lanes<double> * lanes<double>), u(padded), cannot_rise(padded),
          cannot_fall(padded), diagonal(padded) {
        for (std::size_t t = 0; t < padded; ++t) {
            u[t] = 0;
            cannot_rise[t] = -infinity;
            cannot_fall[t] = infinity;
            diagonal[t] = 1;
        }
    }

    void mark(std::size_t t, double beta, double low, double high) {
        cannot_rise[t] = beta < high ? 0 : -infinity;
        cannot_fall[t] = beta > low ? 0 : infinity;
    }
};

// Where the residual is largest among variables that can rise.
inline std::size_t first_of_pair(const Candidates &c) {
    Vector<double> best = all<double>(-infinity);
    for (std::size_t t = 0; t < c.padded; t += lanes<double>)
        best = larger<double>(best, load<double>(c.u.begin() + t) + load<double>(c.cannot_rise.begin() + t));
    double top = best[0];
    for (std::size_t lane = 1; lane < lanes<double>; ++lane)
        top = best[lane] > top ? best[lane] : top;
    for (std::size_t t = 0; t < c.count; ++t)
        if (c.u[t] + c.cannot_rise[t] == top)
            return t;
    return c.count;
}

struct Second {
    std::size_t j;
    double gap; // between the first of the pair and the smallest residual of a variable that can fall
};

// The partner that gains most, by the second-order rule of Fan, Chen and Lin (2005).
template <class T> inline Second second_of_pair(const Candidates &c, std::size_t i, const T *row) {
    const double top = c.u[i];
    const Vector<double> ui = all<double>(top), kii = all<double>(c.diagonal[i]), zero{};
    Vector<double> best_gain{}, lowest = all<double>(infinity), where = all<double>(static_cast<double>(c.count)), here;
    for (std::size_t lane = 0; lane < lanes<double>; ++lane)
        here[lane] = static_cast<double>(lane);
    for (std::size_t t = 0; t < c.count; t += lanes<double>, here += static_cast<double>(lanes<double>)) {
        const Vector<double> u = load<double>(c.u.begin() + t) + load<double>(c.cannot_fall.begin() + t);
        const Vector<double> ktt = load<double>(c.diagonal.begin() + t), kit = widened<T>(row + t, c.count - t);
        const Vector<double> curvature = larger<double>(kii + ktt - 2.0 * kit, all<double>(smallest_curvature));
        const Vector<double> above = larger<double>(ui - u, zero), gain = above * above / curvature;
        lowest = smaller<double>(lowest, u);
        where = gain > best_gain ? here : where;
        best_gain = larger<double>(gain, best_gain);
    }
    std::size_t lane = 0;
    for (std::size_t other = 1; other < lanes<double>; ++other)
        if (best_gain[other] > best_gain[lane] || (best_gain[other] == best_gain[lane] && where[other] < where[lane]))
            lane = other;
    return {static_cast<std::size_t>(where[lane]), top - least<double>(lowest)};
}

// u -= step (K_i - K_j), or step K_i where there is no second row.
template <class T> inline void move(Candidates &c, double step, const T *first, const T *second) {
    double *u = c.u.begin();
    if (second != nullptr)
        for (std::size_t t = 0; t < c.count; ++t)
            u[t] -= step * (static_cast<double>(first[t]) - static_cast<double>(second[t]));
    else
        for (std::size_t t = 0; t < c.count; ++t)
            u[t] -= step * static_cast<double>(first[t]);
}

inline double least_of(double a, double b) { return a < b ? a : b; }
inline double most_of(double a, double b) { return a > b ? a : b; }

// One step on a pair whose sum stays as it is; false when no pair violates optimality by more than the tolerance.
template <class T>
inline bool step_on_pair(Candidates &c, Matrix<const T> K, double *beta, const double *low, const double *high,
                         double tolerance) {
    const std::size_t i = first_of_pair(c);
    if (i == c.count)
        return false;
    const Second second = second_of_pair<T>(c, i, K.row(i));
    const std::size_t j = second.j;
    if (j == c.count || !(second.gap > tolerance))
        return false;
    const double curved = c.diagonal[i] + c.diagonal[j] - 2.0 * static_cast<double>(K.row(i)[j]);
    double step = (c.u[i] - c.u[j]) / most_of(curved, smallest_curvature);
    const double room_i = high[i] - beta[i], room_j = beta[j] - low[j];
    step = least_of(step, least_of(room_i, room_j));
    beta[i] = step == room_i ? high[i] : beta[i] + step;
    beta[j] = step == room_j ? low[j] : beta[j] - step;
    c.mark(i, beta[i], low[i], high[i]);
    c.mark(j, beta[j], low[j], high[j]);
    move<T>(c, step, K.row(i), K.row(j));
    return true;
}

// One step on the single variable that gains most; false when none violates optimality by more than the tolerance.
template <class T>
inline bool step_on_one(Candidates &c, Matrix<const T> K, double *beta, const double *low, const double *high,
                        double tolerance) {
    std::size_t best = c.count;
    double best_gain = 0, best_step = 0, violation = 0;
    for (std::size_t t = 0; t < c.count; ++t) {
        const double u = c.u[t], curved = most_of(c.diagonal[t], smallest_curvature);
        const double step = most_of(low[t] - beta[t], least_of(high[t] - beta[t], u / curved));
        const double gain = step * (u - 0.5 * step * curved);
        violation = step != 0 ? most_of(violation, std::fabs(u)) : violation;
        if (gain > best_gain) {
            best_gain = gain;
            best_step = step;
            best = t;
        }
    }
    if (best == c.count || !(violation > tolerance))
        return false;
    beta[best] = least_of(high[best], most_of(low[best], beta[best] + best_step));
    move<T>(c, best_step, K.row(best), nullptr);
    return true;
}

template <class T>
std::size_t smo(Matrix<const T> K, double *u, double *beta, const double *low, const double *high, double tolerance,
                std::size_t most_steps, bool keep_sum) {
    Candidates c(K.rows);
    for (std::size_t t = 0; t < c.count; ++t) {
        c.u[t] = u[t];
        c.diagonal[t] = static_cast<double>(K.row(t)[t]);
        c.mark(t, beta[t], low[t], high[t]);
    }
    std::size_t steps = 0;
    while (steps < most_steps && (keep_sum ? step_on_pair<T>(c, K, beta, low, high, tolerance)
                                           : step_on_one<T>(c, K, beta, low, high, tolerance)))
        ++steps;
    for (std::size_t t = 0; t < c.count; ++t)
        u[t] = c.u[t];
    return steps;
}

// out += sum_k weights[k] rows.row(which[k]), a stretch of columns after another so that it stays in the cache.
template <class T>
void add_rows(Matrix<const T> rows, const std::int64_t *which, const double *weights, std::size_t count, double *out) {
    constexpr std::size_t stretch = 2048;
    for (std::size_t start = 0; start < rows.columns; start += stretch) {
        const std::size_t end = start + stretch < rows.columns ? start + stretch : rows.columns;
        for (std::size_t k = 0; k < count; ++k) {
            const T *row = rows.row(static_cast<std::size_t>(which[k]));
            const double weight = weights[k];
            for (std::size_t j = start; j < end; ++j)
                out[j] += weight * static_cast<double>(row[j]);
        }
    }
}

} // namespace SIMD_NAMESPACE

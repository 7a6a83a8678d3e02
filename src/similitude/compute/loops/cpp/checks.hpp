// What arguments must satisfy together before a loop runs: sizes that match, starts that cover the entries, indices
// inside, parameters in their range. Whatever would be read or written out of place is refused here by a ValueError.
#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>

#include "arguments.hpp"

inline void require(bool holds, const char *problem) {
    if (!holds)
        throw nb::value_error(problem);
}

inline void require(bool holds, const std::string &problem) { require(holds, problem.c_str()); }

inline void require_range(const char *name, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
        throw nb::value_error((std::string(name) + " must be from " + std::to_string(low) + " to " +
                               std::to_string(high) + ", got " + std::to_string(value))
                                  .c_str());
}

inline void require_finite(const char *name, double value) {
    if (!std::isfinite(value))
        throw nb::value_error((std::string(name) + " must be finite").c_str());
}

template <class Entries> void require_all_finite(const char *name, const Entries &entries) {
    if (!std::all_of(entries.begin(), entries.end(), [](auto x) { return std::isfinite(x); }))
        throw nb::value_error((std::string(name) + " must be finite").c_str());
}

// Integers from 0 to size - 1.
template <class Integers> void require_inside(const Integers &given, std::size_t size, const char *problem) {
    for (const auto index : given)
        if (index < 0 || static_cast<std::size_t>(index) >= size)
            throw nb::value_error(problem);
}

// Pieces that cover the entries up to `end`.
template <class Given> void require_starts(const char *name, const Given &starts, std::size_t end) {
    if (starts.size() == 0 || starts[0] != 0 || static_cast<std::size_t>(starts[starts.size() - 1]) != end)
        throw nb::value_error((std::string(name) + " must go from 0 to the end").c_str());
    if (!std::is_sorted(starts.begin(), starts.end()))
        throw nb::value_error((std::string(name) + " must not decrease").c_str());
}

// The values of each piece increase.
template <class Values, class Given> bool increase(const Values &values, const Given &starts) {
    for (std::size_t i = 0; i + 1 < starts.size(); ++i)
        for (auto p = starts[i] + 1; p < starts[i + 1]; ++p)
            if (values[static_cast<std::size_t>(p)] <= values[static_cast<std::size_t>(p - 1)])
                return false;
    return true;
}

// Whether two arrays hold the same values, missing ones included.
template <class Entries> bool same_values(const Entries &a, const Entries &b) {
    return a.size() == b.size() && (a.begin() == b.begin() || std::equal(a.begin(), a.end(), b.begin(), [](auto x, auto y) {
               return x == y || (x != x && y != y);
           }));
}

template <class T> void require_rows(const Matrix<T> &out, std::size_t rows, std::size_t columns) {
    require(out.rows == rows && out.columns == columns, "out needs one row for each row of A, one column for each row of B");
}

// The place of a name.
template <std::size_t n>
int number_of(const char *kind, const char *const (&names)[n], std::string_view name) {
    for (std::size_t i = 0; i < n; ++i)
        if (name == names[i])
            return static_cast<int>(i);
    throw nb::value_error(("unknown " + std::string(kind) + " '" + std::string(name) + "'").c_str());
}

inline Form form(std::string_view shape, double p, double q, std::int64_t degree) {
    static constexpr const char *shapes[] = {"identity", "root",    "gaussian",           "laplace",    "matern3",
                                             "matern5",  "rational_quadratic", "polynomial", "sigmoid"};
    const auto known = static_cast<Shape>(number_of("shape", shapes, shape));
    require_range("degree", degree, 0, std::int64_t(1) << 31);
    require(known != Shape::rational_quadratic || p >= 0, "p of rational_quadratic must be at least 0");
    return {known, p, q, static_cast<unsigned>(degree)};
}

inline Sum sum_of(std::string_view terms) {
    static constexpr const char *sums[] = {"squared_difference", "absolute_difference", "smaller"};
    return static_cast<Sum>(number_of("sum", sums, terms));
}

// The order of pieces by length: those of about one length are computed side by side.
inline std::vector<std::int64_t> by_length(const Starts &starts) {
    std::vector<std::int64_t> order(starts.size() - 1);
    std::iota(order.begin(), order.end(), std::int64_t(0));
    const auto length = [&](std::int64_t i) { return starts[static_cast<std::size_t>(i) + 1] - starts[static_cast<std::size_t>(i)]; };
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) { return length(i) < length(j); });
    return order;
}

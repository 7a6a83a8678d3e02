// Loops that agree with their twins in reference/ to the last bit: each expression keeps the order of operations,
// and this file is compiled without fused multiply-adds.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "exact.hpp"

constexpr double infinity = std::numeric_limits<double>::infinity();

static inline double determinant(double a, double b, double c) {
    return 1.0 + 2.0 * a * b * c - a * a - b * b - c * c;
}

// The smallest determinant over start <= k < n. Eight running minima, one per lane,
// let the compiler use vector instructions without reordering any operation.
static double smallest(double a, const double *row_i, const double *row_j, std::size_t start,
                       std::size_t n) {
    constexpr std::size_t lanes = 8;
    double least[lanes];
    std::fill(least, least + lanes, infinity);
    std::size_t k = start;
    for (; k + lanes <= n; k += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
            const double value = determinant(a, row_i[k + lane], row_j[k + lane]);
            least[lane] = value < least[lane] ? value : least[lane];
        }
    }
    for (; k < n; ++k)
        least[0] = std::min(least[0], determinant(a, row_i[k], row_j[k]));
    return *std::min_element(least, least + lanes);
}

Triple worst_triple(const double *K, std::size_t n) {
    Triple worst{0, 0, 0, infinity};
    for (std::size_t i = 0; i + 2 < n; ++i) {
        const double *row_i = K + i * n;
        for (std::size_t j = i + 1; j + 1 < n; ++j) {
            const double *row_j = K + j * n;
            const double a = row_i[j];
            const double value = smallest(a, row_i, row_j, j + 1, n);
            if (value < std::get<3>(worst)) {
                std::size_t k = j + 1;
                while (determinant(a, row_i[k], row_j[k]) != value)
                    ++k;
                worst = {i, j, k, value};
            }
        }
    }
    return worst;
}

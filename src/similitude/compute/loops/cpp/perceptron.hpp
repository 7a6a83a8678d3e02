// The sequential pass of the kernel perceptron over one chunk of examples.
#pragma once

#include "table.hpp"

namespace SIMD_NAMESPACE {

// An example that is wrong when its turn comes adds y_i K[i, j] to the scores of all later ones.
template <class T>
void perceptron_pass(Matrix<const T> K, const double *y, double *scores, double threshold, bool strict,
                     std::uint8_t *updated) {
    for (std::size_t i = 0; i < K.rows; ++i) {
        const double margin = y[i] * scores[i], sign = y[i];
        updated[i] = strict ? margin < threshold : margin <= threshold;
        if (!updated[i])
            continue;
        const T *row = K.row(i);
        for (std::size_t j = i + 1; j < K.columns; ++j)
            scores[j] += sign * static_cast<double>(row[j]); // the product is exact: y is 1 or -1
    }
}

} // namespace SIMD_NAMESPACE

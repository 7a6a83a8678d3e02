// Loops that agree with their twins in reference/ to the last bit.
#pragma once

#include <cstddef>
#include <tuple>

using Triple = std::tuple<std::size_t, std::size_t, std::size_t, double>;

// The three items of an n x n matrix whose 3 x 3 determinant is smallest.
Triple worst_triple(const double *K, std::size_t n);

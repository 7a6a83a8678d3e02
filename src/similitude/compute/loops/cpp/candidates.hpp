// Pairs of sets whose similarity may be large: bounds by rows of bits, in which several items may share a bit.
#pragma once

#include "bits.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

// The number of common items that a similarity of `floor` needs, times 1 - 1e-12 for rounding; see reference/sets.py.
template <SetBound bound> SIMD_INLINE Vector<double> needed(Vector<double> floor, Vector<double> a, Vector<double> b) {
    if constexpr (bound == SetBound::share_of_larger)
        return floor * larger<double>(a, b);
    else
        return floor * (a + b);
}

template <SetBound bound> SIMD_INLINE double bound_of(double common, double a, double b) {
    const double all_items = bound == SetBound::share_of_larger ? (a > b ? a : b) : a + b - common;
    return all_items > 0 ? common / all_items : 1.0;
}

// The pairs of a tile, in the order of its rows; returns their number.
template <SetBound bound>
std::size_t tile_candidates(SignedSets A, SignedSets B, const double *floors, double *common, Candidate *found) {
    const Matrix<double> counts{common, A.words.rows, B.words.rows, static_cast<std::ptrdiff_t>(B.words.rows)};
    common_bits<double>(counts, A.words, B.words);
    const std::size_t columns = counts.columns;
    Candidate *to = found;
    for (std::size_t i = 0; i < counts.rows; ++i) {
        double floor = floors[i] > 0 ? floors[i] : 0;
        floor = (bound == SetBound::share_of_all ? floor / (1 + floor) : floor) * (1 - 1e-12);
        double *row = counts.row(i);
        for (std::size_t j = 0; j < columns; j += lanes<double>) {
            const std::size_t count = fewer(lanes<double>, columns - j);
            const Vector<double> b = load<double>(B.sizes + j, count);
            const Vector<double> shared =
                load<double>(row + j, count) + smaller<double>(all<double>(A.spare[i]), load<double>(B.spare + j, count));
            const Mask<double> holds = shared >= needed<bound>(all<double>(floor), all<double>(A.sizes[i]), b);
            if (every<double>(~holds))
                continue;
            for (std::size_t lane = 0; lane < count; ++lane)
                if (holds[lane])
                    *to++ = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(j + lane),
                             bound_of<bound>(shared[lane], A.sizes[i], b[lane])};
        }
    }
    return static_cast<std::size_t>(to - found);
}

inline std::size_t candidates(SignedSets A, SignedSets B, const double *floors, SetBound bound, double *common,
                              Candidate *found) {
    return bound == SetBound::share_of_larger
               ? tile_candidates<SetBound::share_of_larger>(A, B, floors, common, found)
               : tile_candidates<SetBound::share_of_all>(A, B, floors, common, found);
}

} // namespace SIMD_NAMESPACE

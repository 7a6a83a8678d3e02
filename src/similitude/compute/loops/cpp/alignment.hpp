// Two recurrences over alignments of series: the best one (time warping), and the sum over all (global alignment).
#pragma once

#include <cmath>
#include <type_traits>

#include "dynamic.hpp"
#include "elementary.hpp"

namespace SIMD_NAMESPACE {

// Squared differences summed along the best path.
template <class T> struct TimeWarping {
    static constexpr T corner = 0;
    static constexpr T border = std::numeric_limits<T>::infinity();
    static constexpr std::size_t registers = 4, rescaled_every = 0;
    static constexpr bool of_entries = false;

    // `before` cells were known a column ago, `above` only one step ago: it comes last, to keep the chain short.
    SIMD_INLINE Vector<T> cell(Vector<T> diagonal, Vector<T> before, Vector<T> above, Vector<T> squares) const {
        return squares + smaller<T>(smaller<T>(diagonal, before), above);
    }
    static SIMD_INLINE Vector<T> gap(Vector<T> x, Vector<T> z) { return without<T>(x, z); }
    // The same from the difference of two entries.
    SIMD_INLINE Vector<T> cell_of_gap(Vector<T> diagonal, Vector<T> before, Vector<T> above, Vector<T> gap) const {
        return multiply_add<T>(gap, gap, smaller<T>(smaller<T>(diagonal, before), above));
    }
    template <class Entry> SIMD_INLINE Vector<T> border_of(Entry) const { return all<T>(border); }
    template <std::size_t r> void rescale(Group<T, r> *, std::size_t, Group<T, r> &) const {}
};

template <class T>
void dtw(Matrix<T> out, Series<T> A, Series<T> B, const std::int64_t *order, Band band, bool half) {
    align<T>(TimeWarping<T>{}, A, B, order, band, half, [&](std::size_t i, std::size_t j, T cell, T) {
        out.row(i)[j] = cell;
        if (half)
            out.row(j)[i] = cell;
    });
}

// 1 + sqrt(2): there are about (1 + sqrt(2))^(i + j) ways to cell (i, j).
constexpr double ways = 2.41421356237309504880;

// Products of local similarities k / (2 - k), k = exp(-scale * squares), summed over all paths. Cell (i, j) is kept
// divided by (1 + sqrt(2))^(i + j): it is then at most 1, and the cells near the diagonal are of one size. What the
// local similarities take away is given back every few columns, by a power of two for each lane.
template <class T> struct SumOfPaths {
    static constexpr T corner = 1, border = 0;
    static constexpr std::size_t registers = 2, rescaled_every = 8;
    static constexpr bool of_entries = false;
    T scale;

    SIMD_INLINE Vector<T> cell(Vector<T> diagonal, Vector<T> before, Vector<T> above, Vector<T> squares) const {
        constexpr T gauge = static_cast<T>(ways), inverse = static_cast<T>(1 / ways);
        const Vector<T> k = exponential<T>(squares * -scale);
        const Vector<T> local = k / (2 * gauge - k * gauge);
        return local * (diagonal * inverse + (before + above)); // the same bits if both series are swapped
    }
    static SIMD_INLINE Vector<T> gap(Vector<T> x, Vector<T> z) { return x - z; }
    SIMD_INLINE Vector<T> cell_of_gap(Vector<T> diagonal, Vector<T> before, Vector<T> above, Vector<T> gap) const {
        return cell(diagonal, before, above, gap * gap);
    }
    template <class Entry> SIMD_INLINE Vector<T> border_of(Entry) const { return all<T>(border); }

    // Multiplies each lane by the power of two that brings its largest cell into [1, 2).
    template <std::size_t r> void rescale(Group<T, r> *column, std::size_t n, Group<T, r> &powers) const {
        constexpr Integer<T> bias = (Integer<T>(1) << (8 * sizeof(T) - 2 - Constants<T>::mantissa)) - 1;
        for (std::size_t k = 0; k < r; ++k) {
            Vector<T> largest = all<T>(std::numeric_limits<T>::min());
            for (std::size_t i = 0; i <= n; ++i)
                largest = larger<T>(column[i].at[k], largest);
            const Mask<T> exponent = (bits<Mask<T>>(largest) >> Constants<T>::mantissa) - bias;
            const Vector<T> factor = bits<Vector<T>>((bias - exponent) << Constants<T>::mantissa);
            for (std::size_t i = 0; i <= n; ++i)
                column[i].at[k] *= factor;
            for (std::size_t lane = 0; lane < lanes<T>; ++lane)
                powers.at[k][lane] += static_cast<T>(exponent[lane]);
        }
    }
};

// While it lasts, numbers below the smallest normal one count as zero in this thread: they would only cost time.
class WithoutSubnormals {
  public:
#if defined(__x86_64__)
    WithoutSubnormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
    ~WithoutSubnormals() { _mm_setcsr(before_); }
    WithoutSubnormals(const WithoutSubnormals &) = delete;
    WithoutSubnormals &operator=(const WithoutSubnormals &) = delete;

  private:
    unsigned before_;
#endif
};

template <class T> SumOfPaths<T> sum_of_paths(double scale) {
    const auto greatest = static_cast<double>(std::numeric_limits<T>::max());
    return {static_cast<T>(scale < greatest ? scale : greatest)}; // infinity times zero would be no number
}

// The powers of two depend on which series is which; what the logarithm is taken of does not.
template <class T> double logarithm_of(T cell, T power, std::size_t times) {
    constexpr double ln2 = 0.693147180559945309417, ln_ways = 0.881373587019543025232;
    int more = 0;
    const double fraction = std::frexp(static_cast<double>(cell), &more);
    return std::log(fraction) + (static_cast<double>(power) + more) * ln2 + static_cast<double>(times) * ln_ways;
}

template <class T>
void global_alignment(Matrix<double> out, Series<T> A, Series<T> B, const std::int64_t *order, double scale,
                      bool half) {
    const WithoutSubnormals scope{};
    align<T>(sum_of_paths<T>(scale), A, B, order, Band{-1, -1.0}, half,
             [&](std::size_t i, std::size_t j, T cell, T power) {
                 out.row(i)[j] = logarithm_of(cell, power, A.length(i) + B.length(j));
                 if (half)
                     out.row(j)[i] = out.row(i)[j];
             });
}

template <class T> void self_alignment(double *out, Series<T> A, const std::int64_t *order, double scale) {
    const WithoutSubnormals scope{};
    align_with_itself<T>(sum_of_paths<T>(scale), A, order, [&](std::size_t i, T cell, T power) {
        out[i] = logarithm_of(cell, power, 2 * A.length(i));
    });
}

} // namespace SIMD_NAMESPACE

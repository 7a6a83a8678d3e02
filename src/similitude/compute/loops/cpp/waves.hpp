// Cosines and sines of angles in quarter turns: the nearest whole number is taken away without any error.
#pragma once

#include "elementary.hpp"
#include "table.hpp"

namespace SIMD_NAMESPACE {

template <class T> struct WaveTerms;

// On |r| <= 1/2 quarter turns, z = r^2: sin = r (pi/2 + z (first + ...)), cos = 1 + z (first + ...).
template <> struct WaveTerms<float> {
    static constexpr float sine[] = {-0.64596347748f, 0.079679671375f, -0.0046001982798f};
    static constexpr float cosine[] = {-1.2337005434f, 0.25366924403f, -0.020860288505f, 0.00090402166327f};
};

template <> struct WaveTerms<double> {
    static constexpr double sine[] = {-0.64596409750624368421,  0.079692626246005891749,  -0.0046817541317000786697,
                                      0.00016044114590049912637, -3.5986265838062280434e-6, 5.631753693459057601e-8};
    static constexpr double cosine[] = {-1.2337005501361698167,   0.25366950790104692736,     -0.020863480763315442529,
                                        0.00091926027422503358788, -0.000025202036991539343826, 4.7106156578249707553e-7,
                                        -6.3218924646824336028e-9};
};

template <class T> struct Wave {
    Vector<T> cosine, sine;
};

// Errors below 1 unit in the last place of 1, measured over the tests' grids. Where neighboring numbers are half a
// quarter turn apart or more, from 2^22 (float) or 2^51 (double) on, the result is in [-1, 1] and means nothing.
template <class T> SIMD_INLINE Wave<T> wave(Vector<T> turns) {
    constexpr unsigned to_sign = 8 * sizeof(T) - 2;
    const Vector<T> shifted = turns + Constants<T>::round;
    const Vector<T> rest = turns - (shifted - Constants<T>::round);
    const Vector<T> r = smaller<T>(all<T>(T(0.5)), larger<T>(all<T>(T(-0.5)), rest)), z = r * r;
    const Vector<T> sine = r * (polynomial<T>(z, WaveTerms<T>::sine) * z + T(1.570796326794896619231));
    const Vector<T> cosine = polynomial<T>(z, WaveTerms<T>::cosine) * z + T(1);
    const Mask<T> quarter = bits<Mask<T>>(shifted); // its last two binary digits are those of the whole number
    const Mask<T> odd = (quarter & 1) != 0;
    const Vector<T> c = odd ? sine : cosine, s = odd ? cosine : sine;
    return {bits<Vector<T>>(bits<Mask<T>>(c) ^ (((quarter + 1) & 2) << to_sign)),
            bits<Vector<T>>(bits<Mask<T>>(s) ^ ((quarter & 2) << to_sign))};
}

// Angles become their cosines, the sines go beside them; both times `scale`.
template <class T> void cos_sin(Matrix<T> turns, Matrix<T> sines, double scale) {
    const T factor = static_cast<T>(scale);
    for (std::size_t i = 0; i < turns.rows; ++i) {
        T *c = turns.row(i), *s = sines.row(i);
        std::size_t j = 0;
        for (; j + lanes<T> <= turns.columns; j += lanes<T>) {
            const Wave<T> w = wave<T>(load<T>(c + j));
            store<T>(c + j, w.cosine * factor);
            store<T>(s + j, w.sine * factor);
        }
        if (j < turns.columns) {
            const std::size_t left = turns.columns - j;
            const Wave<T> w = wave<T>(load<T>(c + j, left));
            store<T>(c + j, w.cosine * factor, left);
            store<T>(s + j, w.sine * factor, left);
        }
    }
}

} // namespace SIMD_NAMESPACE

// exp, log and tanh of whole vectors. Errors in units in the last place, measured over the tests' grids: exp at
// most 1 (float) and 2 (double); log and tanh at most 2 and 3.
#pragma once

#include <type_traits>

#include "vector.hpp"

namespace SIMD_NAMESPACE {

template <class T> struct Constants;

template <> struct Constants<float> {
    static constexpr float round = 12582912.0f;        // 1.5 * 2^23: adding it rounds to a whole number
    static constexpr float exponent = 12582912.0f + 127.0f;
    static constexpr int mantissa = 23;
    static constexpr float normal = 127.0f; // smaller powers of 2 are normal numbers
    static constexpr float lowest = -104.0f, highest = 89.0f;
    static constexpr float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    // (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2
    static constexpr float exp_terms[] = {0.5000000014f, 0.1666666668f,  0.0416664642f,
                                          0.008333310845f, 0.001393373072f, 0.0001989108046f};
    // (log((1+s)/(1-s)) / s - 2) / s^2 in s^2
    static constexpr float log_terms[] = {0.6666666655f, 0.4000012221f, 0.2855077863f, 0.2333161447f};
    // (tanh(x)/x - 1) / x^2 in x^2, |x| <= 5/8
    static constexpr float tanh_terms[] = {-0.3333333317f, 0.1333330356f,   -0.05395925958f,
                                           0.02176891865f, -0.008343945516f, 0.002292744816f};
};

template <> struct Constants<double> {
    static constexpr double round = 6755399441055744.0; // 1.5 * 2^52
    static constexpr double exponent = 6755399441055744.0 + 1023.0;
    static constexpr int mantissa = 52;
    static constexpr double normal = 1023.0;
    static constexpr double lowest = -746.0, highest = 710.0;
    static constexpr double ln2_high = 0.6931471803691238164901733, ln2_low = 1.908214929270587816144266e-10;
    static constexpr double exp_terms[] = {
        0.50000000000000010314, 0.1666666666666666746,   0.041666666666623820532, 0.0083333333333300381973,
        0.0013888888917367080562, 0.00019841269863171556026, 0.000024801521057868205199,
        2.7557268276905696187e-6, 2.7620201591031548792e-7,  2.5100472505694996003e-8};
    static constexpr double log_terms[] = {
        0.66666666666666666463, 0.40000000000000883236, 0.28571428570799785031, 0.22222222392581045097,
        0.18181795547521136235, 0.15386244737621666606, 0.13268638369266823879, 0.1308803485092755383};
    static constexpr double tanh_terms[] = {
        -0.33333333333333333319, 0.13333333333333320761, -0.053968253968235901344, 0.021869488535133222007,
        -0.0088632354998019925691, 0.0035921275075992522291, -0.0014558283998303245859,
        0.0005899818158388232071, -0.00023888944636751173895, 0.000096041091570262659879,
        -0.000037081069215442333853, 0.000012209921790162781662, -2.4388316314720878041e-6};
};

template <class T, std::size_t n> SIMD_INLINE Vector<T> polynomial(Vector<T> x, const T (&terms)[n]) {
    Vector<T> value = all<T>(terms[n - 1]);
    for (std::size_t k = n - 1; k-- > 0;)
        value = value * x + terms[k];
    return value;
}

// The same in two chains, for many terms: those of even and of odd degree do not wait for each other.
template <class T, std::size_t n>
SIMD_INLINE Vector<T> long_polynomial(Vector<T> x, Vector<T> square, const T (&terms)[n]) {
    Vector<T> last = all<T>(terms[n - 1]), before = all<T>(terms[n - 2]);
    for (std::size_t k = n - 2; k-- > 0;) {
        const Vector<T> next = last * square + terms[k];
        last = before;
        before = next;
    }
    return last * x + before;
}

// p * 2^n for whole numbers n, right also where the result is below the smallest normal number. With AVX-512 any n may
// be given, and is rounded down.
template <class T> SIMD_INLINE Vector<T> scaled(Vector<T> p, Vector<T> n);

#if defined(__AVX512F__)
template <> SIMD_INLINE Vector<float> scaled<float>(Vector<float> p, Vector<float> n) {
    return Vector<float>(_mm512_scalef_ps(__m512(p), __m512(n)));
}
template <> SIMD_INLINE Vector<double> scaled<double>(Vector<double> p, Vector<double> n) {
    return Vector<double>(_mm512_scalef_pd(__m512d(p), __m512d(n)));
}
#else
// 2^n for whole numbers n: their binary digits, moved into the exponent.
template <class T> SIMD_INLINE Vector<T> power_of_two(Vector<T> n) {
    return bits<Vector<T>>(bits<Mask<T>>(n + Constants<T>::exponent) << Constants<T>::mantissa);
}

template <class T> SIMD_INLINE Vector<T> scaled(Vector<T> p, Vector<T> n) {
    if (every<T>(magnitude<T>(n) < Constants<T>::normal))
        return p * power_of_two<T>(n);
    const Vector<T> half = (n * T(0.5) + Constants<T>::round) - Constants<T>::round;
    return (p * power_of_two<T>(half)) * power_of_two<T>(n - half);
}
#endif

template <class T> SIMD_INLINE Vector<T> exponential(Vector<T> x) {
    using C = Constants<T>;
    x = smaller<T>(all<T>(C::highest), larger<T>(all<T>(C::lowest), x)); // in this order NaN stays NaN
    const Vector<T> n = (x * T(1.442695040888963407359925) + C::round) - C::round;
    const Vector<T> r = (x - n * C::ln2_high) - n * C::ln2_low;
    const Vector<T> square = r * r;
    return scaled<T>(long_polynomial<T>(r, square, C::exp_terms) * square + r + T(1), n);
}

#if defined(__AVX512F__)
// 2^(j/16) for j = 0, ..., 15, in two registers.
SIMD_INLINE Vector<double> root_of_two(Vector<double> j) {
    const Vector<double> first{1.0, 1.0442737824274138, 1.0905077326652577, 1.1387886347566916,
                               1.189207115002721, 1.241857812073484, 1.2968395546510096, 1.3542555469368927};
    const Vector<double> second{1.4142135623730951, 1.4768261459394993, 1.5422108254079407, 1.6104903319492543,
                                1.681792830507429, 1.7562521603732995, 1.8340080864093424, 1.9152065613971474};
    return bits<Vector<double>>(_mm512_permutex2var_pd(__m512d(first), bits<__m512i>(j), __m512d(second)));
}

// exp(x) = 2^n exp(r) as above, but n is a multiple of 1/16: r is so small that few terms suffice.
template <> SIMD_INLINE Vector<double> exponential<double>(Vector<double> x) {
    using C = Constants<double>;
    constexpr double round = 422212465065984.0; // 1.5 * 2^48: adding it rounds to a multiple of 1/16
    // (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/32
    constexpr double terms[] = {0.50000000000000055511, 0.16666666664416968, 0.041666666659647446,
                                0.0083334719510519909, 0.0013889129138989289};
    x = smaller<double>(all<double>(C::highest), larger<double>(all<double>(C::lowest), x));
    const Vector<double> rounded = x * 1.442695040888963407359925 + round, n = rounded - round;
    const Vector<double> r = (x - n * C::ln2_high) - n * C::ln2_low;
    const Vector<double> power = root_of_two(rounded); // its last four bits are 16 (n - floor(n))
    return scaled<double>(power + power * (polynomial<double>(r, terms) * (r * r) + r), n);
}
#endif

// log of normal numbers > 0, of infinity and NaN; NaN below 0.
template <class T> SIMD_INLINE Vector<T> logarithm(Vector<T> x) {
    using C = Constants<T>;
    using Unsigned = Vector<std::make_unsigned_t<Integer<T>>>; // differences of negative numbers' digits may wrap around
    const Integer<T> root_half = bits<Integer<T>>(T(0.70710678118654752440));
    const Mask<T> shifted = bits<Mask<T>>(bits<Unsigned>(x) - static_cast<std::make_unsigned_t<Integer<T>>>(root_half));
    const Mask<T> exponent = shifted >> C::mantissa;
    const Vector<T> m = bits<Vector<T>>((shifted & ((Integer<T>(1) << C::mantissa) - 1)) + root_half);
    const Vector<T> n = bits<Vector<T>>(exponent + bits<Integer<T>>(C::round)) - C::round;
    const Vector<T> f = m - T(1), s = f / (f + T(2)), z = s * s;
    const Vector<T> value = n * C::ln2_high + (f - (s * (f - z * polynomial<T>(z, C::log_terms)) - n * C::ln2_low));
    const Vector<T> positive = x >= T(0) ? value : all<T>(std::numeric_limits<T>::quiet_NaN());
    return x <= std::numeric_limits<T>::max() ? positive : x;
}

template <class T> SIMD_INLINE Vector<T> hyperbolic_tangent(Vector<T> x) {
    const Vector<T> size = magnitude<T>(x), z = size * size;
    const Vector<T> near = size + size * z * polynomial<T>(z, Constants<T>::tanh_terms);
    const Vector<T> e = exponential<T>(size * T(-2));
    const Vector<T> far = (T(1) - e) / (T(1) + e);
    const Vector<T> value = size < T(0.625) ? near : far;
    return x < T(0) ? -value : value;
}

} // namespace SIMD_NAMESPACE

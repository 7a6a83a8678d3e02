// Vectors of the width of one instruction set, by the compiler's own vector types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define SIMD_BYTES 64
#elif defined(__AVX2__)
#define SIMD_BYTES 32
#else
#define SIMD_BYTES 16
#endif

// A vector that is passed to a function goes through memory, so these are part of their callers.
#define SIMD_INLINE inline __attribute__((always_inline))

namespace SIMD_NAMESPACE {

template <class T> struct Types;
template <> struct Types<float> { using Integer = std::int32_t; };
template <> struct Types<double> { using Integer = std::int64_t; };

template <class T> using Integer = typename Types<T>::Integer;
template <class T> constexpr std::size_t lanes = SIMD_BYTES / sizeof(T);

template <class T> struct VectorOf { typedef T type __attribute__((vector_size(SIMD_BYTES))); };
template <class T> using Vector = typename VectorOf<T>::type;
template <class T> using Mask = Vector<Integer<T>>;

template <class T> SIMD_INLINE Vector<T> load(const T *from) {
    Vector<T> v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

template <class T> SIMD_INLINE void store(T *to, Vector<T> v) { std::memcpy(to, &v, sizeof v); }

// Stores a vector that fills a line of the cache past the cache, for what is not needed soon. `to` must be aligned.
constexpr bool can_stream = SIMD_BYTES == 64;
template <class T> SIMD_INLINE void stream(T *to, Vector<T> v) {
#if defined(__AVX512F__)
    _mm512_stream_si512(reinterpret_cast<__m512i *>(to), reinterpret_cast<__m512i>(v));
#else
    store<T>(to, v);
#endif
}

// After this, what was streamed is seen by all threads.
SIMD_INLINE void end_streams() {
#if defined(__AVX512F__)
    _mm_sfence();
#endif
}

template <class T> SIMD_INLINE Vector<T> load(const T *from, std::size_t count) {
    Vector<T> v{};
    std::memcpy(&v, from, count * sizeof(T));
    return v;
}

template <class T> SIMD_INLINE void store(T *to, Vector<T> v, std::size_t count) {
    std::memcpy(to, &v, count * sizeof(T));
}

// x - 0 is x, also for x = -0, so that this is a plain broadcast.
template <class T> SIMD_INLINE Vector<T> all(T x) { return x - Vector<T>{}; }

template <class To, class From> SIMD_INLINE To bits(From v) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    std::memcpy(&to, &v, sizeof to);
    return to;
}

// The smaller and the larger of two; the second one where either is NaN.
#if defined(__x86_64__)
#if defined(__AVX512F__)
#define SIMD_INTRINSIC(name, type) _mm512_##name##_##type
#elif defined(__AVX2__)
#define SIMD_INTRINSIC(name, type) _mm256_##name##_##type
#else
#define SIMD_INTRINSIC(name, type) _mm_##name##_##type
#endif
template <class T> SIMD_INLINE Vector<T> smaller(Vector<T> a, Vector<T> b) {
    if constexpr (sizeof(T) == 4)
        return bits<Vector<T>>(SIMD_INTRINSIC(min, ps)(a, b));
    else
        return bits<Vector<T>>(SIMD_INTRINSIC(min, pd)(a, b));
}
template <class T> SIMD_INLINE Vector<T> larger(Vector<T> a, Vector<T> b) {
    if constexpr (sizeof(T) == 4)
        return bits<Vector<T>>(SIMD_INTRINSIC(max, ps)(a, b));
    else
        return bits<Vector<T>>(SIMD_INTRINSIC(max, pd)(a, b));
}
#else
template <class T> SIMD_INLINE Vector<T> smaller(Vector<T> a, Vector<T> b) { return a < b ? a : b; }
template <class T> SIMD_INLINE Vector<T> larger(Vector<T> a, Vector<T> b) { return a > b ? a : b; }
#endif

// x * y + z, rounded once where the processor can.
#if defined(__FMA__)
template <class T> SIMD_INLINE Vector<T> multiply_add(Vector<T> x, Vector<T> y, Vector<T> z) {
    if constexpr (sizeof(T) == 4)
        return bits<Vector<T>>(SIMD_INTRINSIC(fmadd, ps)(x, y, z));
    else
        return bits<Vector<T>>(SIMD_INTRINSIC(fmadd, pd)(x, y, z));
}

// 1, unknown to the compiler, which would not multiply by it.
template <class T> SIMD_INLINE Vector<T> hidden_one() {
    Vector<T> one = all<T>(1);
    asm("" : "+v"(one));
    return one;
}
#else
template <class T> SIMD_INLINE Vector<T> multiply_add(Vector<T> x, Vector<T> y, Vector<T> z) { return x * y + z; }
template <class T> SIMD_INLINE Vector<T> hidden_one() { return all<T>(1); }
#endif

// sum + x and x - y by an instruction that also multiplies: processors with units for sums alone keep those for others.
template <class T> SIMD_INLINE Vector<T> added(Vector<T> sum, Vector<T> x) {
    return multiply_add<T>(x, hidden_one<T>(), sum);
}
template <class T> SIMD_INLINE Vector<T> without(Vector<T> x, Vector<T> y) {
    return multiply_add<T>(x, hidden_one<T>(), -y);
}

template <class T> SIMD_INLINE Vector<T> magnitude(Vector<T> v) {
    return bits<Vector<T>>(bits<Mask<T>>(v) & std::numeric_limits<Integer<T>>::max());
}

template <class T> SIMD_INLINE T least(Vector<T> v) {
    T found = v[0];
    for (std::size_t lane = 1; lane < lanes<T>; ++lane)
        found = v[lane] < found ? v[lane] : found;
    return found;
}

// Whether a comparison holds in all lanes.
template <class T> SIMD_INLINE bool every(Mask<T> holds) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    return _mm256_testc_si256(bits<__m256i>(holds), bits<__m256i>(~Mask<T>{}));
#else
    Integer<T> all_hold = holds[0];
    for (std::size_t lane = 1; lane < lanes<T>; ++lane)
        all_hold &= holds[lane];
    return all_hold != 0;
#endif
}

// The lanes in which a comparison holds, as bits.
template <class T> SIMD_INLINE unsigned where(Mask<T> holds) {
#if defined(__AVX512F__)
    const __m512i all_bits = bits<__m512i>(holds);
    if constexpr (sizeof(T) == 4)
        return _mm512_test_epi32_mask(all_bits, all_bits);
    else
        return _mm512_test_epi64_mask(all_bits, all_bits);
#elif defined(__AVX2__)
    if constexpr (sizeof(T) == 4)
        return static_cast<unsigned>(_mm256_movemask_ps(bits<__m256>(holds)));
    else
        return static_cast<unsigned>(_mm256_movemask_pd(bits<__m256d>(holds)));
#elif defined(__x86_64__)
    if constexpr (sizeof(T) == 4)
        return static_cast<unsigned>(_mm_movemask_ps(bits<__m128>(holds)));
    else
        return static_cast<unsigned>(_mm_movemask_pd(bits<__m128d>(holds)));
#else
    unsigned found = 0;
    for (std::size_t lane = 0; lane < lanes<T>; ++lane)
        found |= holds[lane] ? 1u << lane : 0u;
    return found;
#endif
}

template <class T> SIMD_INLINE Vector<T> root(Vector<T> v) {
    for (std::size_t lane = 0; lane < lanes<T>; ++lane)
        v[lane] = __builtin_sqrt(v[lane]);
    return v;
}

} // namespace SIMD_NAMESPACE

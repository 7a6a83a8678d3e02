// Counting the bits that two rows of 64-bit words share.
#pragma once

#include "buffer.hpp"
#include "processor.hpp"
#include "table.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace SIMD_NAMESPACE {

inline std::int64_t count_word(std::uint64_t word) { return __builtin_popcountll(word); }

inline void count_bits(Matrix<const std::uint64_t> A, std::int64_t *out) {
    for (std::size_t i = 0; i < A.rows; ++i) {
        std::int64_t total = 0;
        for (std::size_t k = 0; k < A.columns; ++k)
            total += count_word(A.row(i)[k]);
        out[i] = total;
    }
}

// Two rows of A with two rows of B: each word that is loaded serves twice.
template <class Count>
inline void common_bits_by_words(Matrix<Count> out, Matrix<const std::uint64_t> A, Matrix<const std::uint64_t> B,
                                 std::size_t i, std::size_t j) {
    const std::size_t next_i = fewer(i + 1, A.rows - 1), next_j = fewer(j + 1, B.rows - 1);
    const std::uint64_t *a = A.row(i), *c = A.row(next_i), *b = B.row(j), *d = B.row(next_j);
    std::int64_t ab = 0, ad = 0, cb = 0, cd = 0;
    for (std::size_t k = 0; k < A.columns; ++k) {
        ab += count_word(a[k] & b[k]);
        ad += count_word(a[k] & d[k]);
        cb += count_word(c[k] & b[k]);
        cd += count_word(c[k] & d[k]);
    }
    out.row(i)[j] = static_cast<Count>(ab);
    out.row(i)[next_j] = static_cast<Count>(ad);
    out.row(next_i)[j] = static_cast<Count>(cb);
    out.row(next_i)[next_j] = static_cast<Count>(cd);
}

#if defined(__AVX512F__)
// Not every machine with this instruction set counts the bits of whole vectors: asked when called.
#define COUNTS_VECTORS __attribute__((target("avx512vpopcntdq")))
constexpr std::size_t words_at_once = 8, rows_at_once = 4;

// Four rows of A with eight rows of B, which come packed: word k of all eight, one after the other.
COUNTS_VECTORS inline void count_block(const std::uint64_t *const *a, const std::uint64_t *packed, std::size_t words,
                                       __m512i (&totals)[rows_at_once]) {
    for (auto &total : totals)
        total = _mm512_setzero_si512();
    for (std::size_t k = 0; k < words; ++k) {
        const __m512i b = _mm512_load_si512(packed + k * words_at_once);
#pragma GCC unroll 4
        for (std::size_t r = 0; r < rows_at_once; ++r) {
            const __m512i both = _mm512_and_si512(b, _mm512_set1_epi64(static_cast<long long>(a[r][k])));
            totals[r] = _mm512_add_epi64(totals[r], _mm512_popcnt_epi64(both));
        }
    }
}

// Some packs of eight rows of B stay in the cache while A passes by; each row of the result is written in longer
// stretches than eight counts, which would wait for one line of memory after the other.
template <class Count>
COUNTS_VECTORS void common_bits_by_vectors(Matrix<Count> out, Matrix<const std::uint64_t> A,
                                           Matrix<const std::uint64_t> B) {
    const std::size_t strip = (1 + fewer(15, 4096 / (words_at_once * A.columns + 1))) * words_at_once;
    const Buffer<std::uint64_t> packed(A.columns * strip);
    const std::uint64_t *a[rows_at_once];
    __m512i totals[rows_at_once];
    for (std::size_t first = 0; first < B.rows; first += strip) {
        const std::size_t columns = fewer(strip, B.rows - first);
        for (std::size_t c = 0; c < columns; ++c)
            for (std::size_t k = 0; k < A.columns; ++k)
                packed[(c / words_at_once * A.columns + k) * words_at_once + c % words_at_once] = B.row(first + c)[k];
        for (std::size_t i = 0; i < A.rows; i += rows_at_once) {
            for (std::size_t r = 0; r < rows_at_once; ++r)
                a[r] = A.row(fewer(i + r, A.rows - 1));
            for (std::size_t j = 0; j < columns; j += words_at_once) {
                count_block(a, packed.begin() + j * A.columns, A.columns, totals);
                for (std::size_t r = 0; r < rows_at_once && i + r < A.rows; ++r) {
                    std::int64_t counts[words_at_once];
                    _mm512_storeu_si512(counts, totals[r]);
                    for (std::size_t c = 0; c < fewer(words_at_once, columns - j); ++c)
                        out.row(i + r)[first + j + c] = static_cast<Count>(counts[c]);
                }
            }
        }
    }
}
#endif

template <class Count>
void common_bits(Matrix<Count> out, Matrix<const std::uint64_t> A, Matrix<const std::uint64_t> B) {
#if defined(__AVX512F__)
    if (processor().vpopcntdq)
        return common_bits_by_vectors<Count>(out, A, B);
#endif
    constexpr std::size_t strip = 64; // rows of B that stay in the cache while A passes by
    for (std::size_t first = 0; first < B.rows; first += strip)
        for (std::size_t i = 0; i < A.rows; i += 2)
            for (std::size_t j = first; j < fewer(first + strip, B.rows); j += 2)
                common_bits_by_words<Count>(out, A, B, i, j);
}

} // namespace SIMD_NAMESPACE

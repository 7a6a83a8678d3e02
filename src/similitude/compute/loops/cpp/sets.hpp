// What two sets share, as a value: the number of items, the share of all items, or whether there is any.
#pragma once

#include "bits.hpp"
#include "processor.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

// From the number c of shared items, and the numbers a and b of items of both sets.
struct CountOfShared {
    static SIMD_INLINE Vector<double> of(Vector<double> c, Vector<double>, Vector<double>) { return c; }
};

struct ShareOfAll {
    static SIMD_INLINE Vector<double> of(Vector<double> c, Vector<double> a, Vector<double> b) {
        const Vector<double> items = a + b - c, one = all<double>(1);
        const Vector<double> if_none = bits<Vector<double>>((items == 0) & bits<Mask<double>>(one));
        return (c + if_none) / (items + if_none);
    }
};

struct AnyShared {
    static SIMD_INLINE Vector<double> of(Vector<double> c, Vector<double>, Vector<double>) {
        return smaller<double>(c, all<double>(1));
    }
};

// Calls work with the class of a value.
template <class Work> inline void with_value(SetValue value, Work work) {
    switch (value) {
    case SetValue::count:
        return work(CountOfShared{});
    case SetValue::share:
        return work(ShareOfAll{});
    case SetValue::any:
        return work(AnyShared{});
    }
}

// Numbers of shared items become values, in place.
inline void of_shared(Matrix<double> out, const double *a, const double *b, SetValue value) {
    with_value(value, [&](auto of) {
        for (std::size_t i = 0; i < out.rows; ++i) {
            double *row = out.row(i);
            const Vector<double> size = all<double>(a[i]);
            std::size_t j = 0;
            for (; j + lanes<double> <= out.columns; j += lanes<double>)
                store<double>(row + j, of.of(load<double>(row + j), size, load<double>(b + j)));
            if (const std::size_t left = out.columns - j; left > 0)
                store<double>(row + j, of.of(load<double>(row + j, left), size, load<double>(b + j, left)), left);
        }
    });
}

#if defined(__AVX512F__)
// Counts become values while they are in registers.
template <class Value>
COUNTS_VECTORS void shared_bits_by_vectors(Matrix<double> out, Words A, Words B, const double *a, const double *b) {
    const Buffer<std::uint64_t> packed(A.columns * words_at_once);
    const std::uint64_t *rows[rows_at_once];
    __m512i totals[rows_at_once];
    for (std::size_t j = 0; j < B.rows; j += words_at_once) {
        const std::size_t columns = fewer(words_at_once, B.rows - j);
        for (std::size_t c = 0; c < columns; ++c)
            for (std::size_t k = 0; k < A.columns; ++k)
                packed[k * words_at_once + c] = B.row(j + c)[k];
        const Vector<double> sizes = load<double>(b + j, columns);
        for (std::size_t i = 0; i < A.rows; i += rows_at_once) {
            for (std::size_t r = 0; r < rows_at_once; ++r)
                rows[r] = A.row(fewer(i + r, A.rows - 1));
            count_block(rows, packed.begin(), A.columns, totals);
            for (std::size_t r = 0; r < rows_at_once && i + r < A.rows; ++r) {
                const Vector<double> counts = bits<Vector<double>>(_mm512_cvtepi64_pd(totals[r]));
                const Vector<double> values = Value::of(counts, all<double>(a[i + r]), sizes);
                if (columns == words_at_once)
                    store<double>(out.row(i + r) + j, values);
                else
                    store<double>(out.row(i + r) + j, values, columns);
            }
        }
    }
}
#endif

inline void shared_bits(Matrix<double> out, Words A, Words B, const double *a, const double *b, SetValue value) {
#if defined(__AVX512F__)
    if (processor().vpopcntdq)
        return with_value(value, [&](auto of) { shared_bits_by_vectors<decltype(of)>(out, A, B, a, b); });
#endif
    common_bits<double>(out, A, B);
    of_shared(out, a, b, value);
}

} // namespace SIMD_NAMESPACE

// What happens to one row of a matrix while it is in the cache.
#pragma once

#include "shapes.hpp"

namespace SIMD_NAMESPACE {

// Writes f of each entry; `to` may be `from`.
template <class T, class F> inline void apply_to_row(T *to, const T *from, std::size_t count, F f) {
    std::size_t j = 0;
    for (; j + lanes<T> <= count; j += lanes<T>)
        store<T>(to + j, f(load<T>(from + j)));
    if (j < count)
        store<T>(to + j, f(load<T>(from + j, count - j)), count - j);
}

template <class T, class F> inline void apply_to_row(T *row, std::size_t count, F f) {
    apply_to_row<T>(row, row, count, f);
}

// Pairs closer than this fraction of a + b lose half of the digits in a + b - 2 g.
template <class T> inline T closeness() {
    return T(64) * static_cast<T>(__builtin_sqrt(static_cast<double>(std::numeric_limits<T>::epsilon())));
}

// Entries g of a row become a + b + factor g. Returns whether one of them is below close * (a + b).
template <class T> bool combine_row(T *row, std::size_t count, T a, const T *b, T factor, T close) {
    Vector<T> worst = all<T>(0);
    std::size_t j = 0;
    for (; j + lanes<T> <= count; j += lanes<T>) {
        const Vector<T> both = load<T>(b + j) + a, D = both + load<T>(row + j) * factor;
        worst = smaller<T>(D - both * close, worst); // in this order a NaN is passed over
        store<T>(row + j, D);
    }
    if (j < count) {
        const Vector<T> both = load<T>(b + j, count - j) + a, D = both + load<T>(row + j, count - j) * factor;
        // Lanes past the end hold a alone, which is not below close * a.
        worst = smaller<T>(D - both * close, worst);
        store<T>(row + j, D, count - j);
    }
    return least<T>(worst) < 0;
}

// Calls work(j) for each entry of a row that is below close * (a + b); most stretches of a row have none.
template <class T, class Work>
inline void for_each_close(const T *row, std::size_t count, T a, const T *b, T close, Work work) {
    constexpr std::size_t stretch = 8 * lanes<T>;
    for (std::size_t j = 0; j < count; j += stretch) {
        const std::size_t end = j + stretch < count ? j + stretch : count;
        Vector<T> worst = all<T>(0);
        for (std::size_t k = j; j + stretch <= count && k < end; k += lanes<T>)
            worst = smaller<T>(load<T>(row + k) - (load<T>(b + k) + a) * close, worst);
        if (j + stretch <= count && !(least<T>(worst) < 0))
            continue;
        for (std::size_t k = j; k < end; ++k)
            if (row[k] < close * (a + b[k]))
                work(k);
    }
}

} // namespace SIMD_NAMESPACE

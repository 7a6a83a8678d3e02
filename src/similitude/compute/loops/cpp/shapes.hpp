// Functions of whole vectors of distances or dot products, chosen by their shape once per call.
#pragma once

#include "elementary.hpp"
#include "table.hpp"

namespace SIMD_NAMESPACE {

template <class T> SIMD_INLINE Vector<T> whole_power(Vector<T> x, unsigned n) {
    Vector<T> value = all<T>(1);
    for (;; x = x * x) {
        if (n & 1u)
            value = value * x;
        n >>= 1;
        if (n == 0)
            return value;
    }
}

// Calls work(function of a vector) with the function of this form.
template <class T, class Work> inline void with_function(Form form, Work work) {
    const T p = static_cast<T>(form.p), q = static_cast<T>(form.q);
    switch (form.shape) {
    case Shape::identity:
        return work([](Vector<T> x) { return x; });
    case Shape::root:
        return work([](Vector<T> x) { return root<T>(x); });
    case Shape::gaussian:
        return work([p](Vector<T> x) { return exponential<T>(x * p); });
    case Shape::laplace:
        return work([p](Vector<T> x) { return exponential<T>(root<T>(x) * p); });
    case Shape::matern3:
        return work([p](Vector<T> x) {
            const Vector<T> u = root<T>(x) * p;
            return (u + T(1)) * exponential<T>(-u);
        });
    case Shape::matern5:
        return work([p](Vector<T> x) {
            const Vector<T> u = root<T>(x) * p;
            return (u * u * T(1.0 / 3.0) + u + T(1)) * exponential<T>(-u);
        });
    case Shape::rational_quadratic:
        return work([p, q](Vector<T> x) { return exponential<T>(logarithm<T>(x * p + T(1)) * -q); });
    case Shape::polynomial:
        return work([p, q, n = form.degree](Vector<T> x) { return whole_power<T>(x * p + q, n); });
    case Shape::sigmoid:
        return work([p, q](Vector<T> x) { return hyperbolic_tangent<T>(x * p + q); });
    }
}

} // namespace SIMD_NAMESPACE

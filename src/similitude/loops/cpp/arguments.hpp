// Arrays as they come from Python, checked and turned into what the tables take.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "table.hpp"

namespace nb = nanobind;

// The chosen instruction set.
const Table &table();
template <class T> const Functions<T> &functions();
template <> const Functions<float> &functions<float>();
template <> const Functions<double> &functions<double>();

template <class T> using In = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T> using InRow = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T> using InView = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>; // of a larger matrix
template <class T> using Out = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
template <class T> using OutRow = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline void require(bool condition, const char *message) {
    if (!condition)
        throw nb::value_error(message);
}

template <class T> Matrix<const T> in(const In<T> &A) {
    return {A.data(), A.shape(0), A.shape(1), static_cast<std::ptrdiff_t>(A.shape(1))};
}

template <class T> Matrix<T> out(const Out<T> &A) {
    require(A.shape(1) <= 1 || A.stride(1) == 1, "the entries of each row must be neighbours");
    return {A.data(), A.shape(0), A.shape(1), A.stride(0)};
}

template <class T> Matrix<const T> view(const InView<T> &A) {
    require(A.shape(1) <= 1 || A.stride(1) == 1, "the entries of each row must be neighbours");
    return {A.data(), A.shape(0), A.shape(1), A.stride(0)};
}

inline Form form(int shape, double p, double q, unsigned degree) {
    require(shape >= 0 && shape <= static_cast<int>(Shape::sigmoid), "unknown shape");
    return {static_cast<Shape>(shape), p, q, degree};
}

inline Sum sum_of(int sum) {
    require(sum >= 0 && sum <= static_cast<int>(Sum::smaller), "unknown sum");
    return static_cast<Sum>(sum);
}

void define_sparse(nb::module_ &m);
void define_bits(nb::module_ &m);
void define_sequences(nb::module_ &m);
void define_series(nb::module_ &m);
void define_features(nb::module_ &m);
void define_solvers(nb::module_ &m);
void define_tables(nb::module_ &m);
void define_sets(nb::module_ &m);
void define_strings(nb::module_ &m);
void define_graphs(nb::module_ &m);

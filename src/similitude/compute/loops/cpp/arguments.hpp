// Arrays as they come from Python, turned into what the tables take. They are in the domain of their loop: domains/, in
// Python, has looked at their types, shapes, layouts and entries.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

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

// Rows one after the other: row i is entries starts[i] to starts[i + 1].
using Starts = InRow<std::int64_t>;

template <class T> using Owned = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// A vector as an array that owns it.
template <class T> Owned<T> owned(std::vector<T> &&values) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return Owned<T>(kept->data(), {kept->size()}, owner);
}

template <class T> Matrix<const T> in(const In<T> &A) {
    return {A.data(), A.shape(0), A.shape(1), static_cast<std::ptrdiff_t>(A.shape(1))};
}

template <class T> Matrix<T> out(const Out<T> &A) { return {A.data(), A.shape(0), A.shape(1), A.stride(0)}; }

template <class T> Matrix<const T> view(const InView<T> &A) { return {A.data(), A.shape(0), A.shape(1), A.stride(0)}; }

inline Form form(int shape, double p, double q, unsigned degree) { return {static_cast<Shape>(shape), p, q, degree}; }

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

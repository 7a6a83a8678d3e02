// Arrays as they come from Python, checked and turned into what the tables take.
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

inline void require(bool condition, const char *message) {
    if (!condition)
        throw nb::value_error(message);
}

using Starts = InRow<std::int64_t>;

// Rows one after the other: row i is entries starts[i] to starts[i + 1] of `end` ones.
inline void check_starts(const Starts &starts, std::size_t end) {
    const std::size_t count = starts.shape(0);
    require(count > 0 && starts.data()[0] == 0 && static_cast<std::size_t>(starts.data()[count - 1]) == end,
            "starts must go from 0 to the end");
    for (std::size_t i = 0; i + 1 < count; ++i)
        require(starts.data()[i] <= starts.data()[i + 1], "starts must not decrease");
}

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

/* Refuse rows with gaps between their entries. The strides of an array without entries mean nothing, and numpy sets them
   freely. */
template <class Array> void require_neighbors(const Array &A) {
    require(A.size() == 0 || A.shape(1) == 1 || A.stride(1) == 1, "the entries of each row must be neighbors");
}

template <class T> Matrix<T> out(const Out<T> &A) {
    require_neighbors(A);
    return {A.data(), A.shape(0), A.shape(1), A.stride(0)};
}

template <class T> Matrix<const T> view(const InView<T> &A) {
    require_neighbors(A);
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

// Arguments as they come from Python. The types below state what an array must be: of NumPy, its type and rank, and how
// its entries lie in memory; no array is converted. checks.hpp states what belongs together.
#pragma once

#include <cstring>
#include <memory>
#include <new>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include "table.hpp"

namespace nb = nanobind;
using namespace nb::literals;

// The chosen instruction set.
const Table &table();
template <class T> const Functions<T> &functions();
template <> const Functions<float> &functions<float>();
template <> const Functions<double> &functions<double>();

// Whether this is an array of NumPy, all of whose entries count: those of a masked array may be hidden.
bool is_plain_array(nb::handle given);

// Entries that begin anywhere in memory, as those that come over a network, are copied into `copy`.
template <class T>
bool align(const T *&entries, std::size_t rows, std::size_t columns, std::ptrdiff_t stride, std::shared_ptr<T[]> &copy) {
    if (reinterpret_cast<std::uintptr_t>(entries) % alignof(T) == 0)
        return true;
    copy.reset(new (std::nothrow) T[rows * columns]);
    for (std::size_t i = 0; copy && i < rows; ++i)
        std::memcpy(copy.get() + i * columns,
                    reinterpret_cast<const char *>(entries) +
                        static_cast<std::ptrdiff_t>(i) * stride * static_cast<std::ptrdiff_t>(sizeof(T)),
                    columns * sizeof(T));
    entries = copy.get();
    return entries != nullptr;
}

template <class Array> bool has_contiguous_rows(const Array &array) {
    return array.stride(1) == 1 || array.shape(1) == 1 || array.size() == 0;
}

// A row that is read.
template <class T> struct InRow {
    using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    static constexpr auto Name = nb::detail::make_caster<Array>::Name;

    const T *entries = nullptr;
    std::size_t count = 0;
    nb::handle given;
    std::shared_ptr<T[]> copy;

    bool take(nb::handle from, const Array &array) {
        given = from;
        entries = array.data();
        count = array.shape(0);
        return align(entries, 1, count, 0, copy);
    }
    const T *data() const { return entries; }
    const T *begin() const { return entries; }
    const T *end() const { return entries + count; }
    std::size_t size() const { return count; }
    T operator[](std::size_t i) const { return entries[i]; }
};

// A matrix that is read.
template <class T> struct In : Matrix<const T> {
    using Array = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    static constexpr auto Name = nb::detail::make_caster<Array>::Name;

    std::shared_ptr<T[]> copy;

    In() : Matrix<const T>{} {}
    bool take(nb::handle, const Array &array) {
        this->entries = array.data();
        this->rows = array.shape(0);
        this->columns = array.shape(1);
        this->stride = static_cast<std::ptrdiff_t>(this->columns);
        return align(this->entries, this->rows, this->columns, this->stride, copy);
    }
    std::size_t size() const { return this->rows * this->columns; }
    const T *begin() const { return this->entries; }
    const T *end() const { return this->entries + size(); }
};

// A matrix that is read and whose rows may be apart: a part of a larger one.
template <class T> struct InView : Matrix<const T> {
    using Array = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;
    static constexpr auto Name = nb::detail::make_caster<Array>::Name + nb::detail::const_name(" of contiguous rows");

    std::shared_ptr<T[]> copy;

    InView() : Matrix<const T>{} {}
    bool take(nb::handle, const Array &array) {
        this->entries = array.data();
        this->rows = array.shape(0);
        this->columns = array.shape(1);
        this->stride = array.stride(0);
        if (!has_contiguous_rows(array) || !align(this->entries, this->rows, this->columns, this->stride, copy))
            return false;
        if (copy)
            this->stride = static_cast<std::ptrdiff_t>(this->columns);
        return true;
    }
};

// A row that is written: it must be writable and aligned, because a copy would not do.
template <class T> struct OutRow {
    using Array = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
    static constexpr auto Name = nb::detail::make_caster<Array>::Name + nb::detail::const_name(" aligned");

    T *entries = nullptr;
    std::size_t count = 0;

    bool take(nb::handle, const Array &array) {
        entries = array.data();
        count = array.shape(0);
        return reinterpret_cast<std::uintptr_t>(entries) % alignof(T) == 0;
    }
    T *data() const { return entries; }
    std::size_t size() const { return count; }
};

// A matrix that is written; its rows may be apart.
template <class T> struct Out : Matrix<T> {
    using Array = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;
    static constexpr auto Name =
        nb::detail::make_caster<Array>::Name + nb::detail::const_name(" of contiguous rows, aligned");

    Out() : Matrix<T>{} {}
    bool take(nb::handle, const Array &array) {
        this->entries = array.data();
        this->rows = array.shape(0);
        this->columns = array.shape(1);
        this->stride = array.stride(0);
        return has_contiguous_rows(array) && reinterpret_cast<std::uintptr_t>(this->entries) % alignof(T) == 0;
    }
};

// A number as a function of C takes it, whatever type of Python or NumPy it has.
template <class T> struct Scalar {
    T value = 0;
    operator T() const { return value; }
};

using Number = Scalar<double>;
using Whole = Scalar<std::int64_t>;

namespace nanobind::detail {

template <class Made> struct array_caster {
    NB_TYPE_CASTER(Made, Made::Name)

    template <class Flags> bool from_python(handle given, Flags flags, cleanup_list *cleanup) noexcept {
        make_caster<typename Made::Array> array;
        const auto exact = static_cast<Flags>(flags & ~static_cast<Flags>(cast_flags::convert));
        return is_plain_array(given) && array.from_python(given, exact, cleanup) && value.take(given, array.value);
    }
};

template <class T> struct type_caster<InRow<T>> : array_caster<InRow<T>> {};
template <class T> struct type_caster<In<T>> : array_caster<In<T>> {};
template <class T> struct type_caster<InView<T>> : array_caster<InView<T>> {};
template <class T> struct type_caster<OutRow<T>> : array_caster<OutRow<T>> {};
template <class T> struct type_caster<Out<T>> : array_caster<Out<T>> {};

template <class T> struct type_caster<Scalar<T>> {
    NB_TYPE_CASTER(Scalar<T>, make_caster<T>::Name)

    template <class Flags> bool from_python(handle given, Flags flags, cleanup_list *cleanup) noexcept {
        make_caster<T> number;
        const auto converting = static_cast<Flags>(flags | static_cast<Flags>(cast_flags::convert));
        if (!number.from_python(given, converting, cleanup))
            return false;
        value.value = number.value;
        return true;
    }
};

} // namespace nanobind::detail

// Rows one after the other: row i is entries starts[i] to starts[i + 1].
using Starts = InRow<std::int64_t>;

// Integers of 32 or of 64 bits, as I. One that I cannot hold becomes -1, which no index is.
template <class I> struct Indices {
    std::vector<I> converted;
    InRow<I> row;

    const I *data() const { return converted.empty() ? row.data() : converted.data(); }
    const I *begin() const { return data(); }
    const I *end() const { return data() + size(); }
    std::size_t size() const { return converted.empty() ? row.size() : converted.size(); }
    I operator[](std::size_t i) const { return data()[i]; }
};

namespace nanobind::detail {

template <class I> struct type_caster<Indices<I>> {
    using Other = std::conditional_t<sizeof(I) == 4, std::int64_t, std::int32_t>;
    NB_TYPE_CASTER(Indices<I>, make_caster<InRow<I>>::Name + const_name(" | ") + make_caster<InRow<Other>>::Name)

    template <class Flags> bool from_python(handle given, Flags flags, cleanup_list *cleanup) noexcept {
        make_caster<InRow<I>> row;
        if (row.from_python(given, flags, cleanup)) {
            value.row = std::move(row.value);
            return true;
        }
        make_caster<InRow<Other>> other;
        if (!other.from_python(given, flags, cleanup))
            return false;
        value.converted.reserve(other.value.size());
        for (const Other index : other.value)
            value.converted.push_back(static_cast<Other>(static_cast<I>(index)) == index ? static_cast<I>(index) : I(-1));
        return true;
    }
};

} // namespace nanobind::detail

template <class T> using Owned = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

// A vector as an array that owns it.
template <class T> Owned<T> owned(std::vector<T> &&values) {
    auto *kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return Owned<T>(kept->data(), {kept->size()}, owner);
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

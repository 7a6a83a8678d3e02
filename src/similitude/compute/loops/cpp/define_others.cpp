// The Python face of the loops over bits, over sequences and for random features.
#include <type_traits>

#include "checks.hpp"

using Word = std::uint64_t;

template <class Count> static auto common_bits_of(const Table &table) {
    if constexpr (std::is_same_v<Count, double>)
        return table.common_bits_doubles;
    else if constexpr (sizeof(Count) == 4)
        return table.common_bits_32;
    else
        return table.common_bits_64;
}

template <class Count> static void common_bits(const Out<Count> &out, const In<Word> &A, const In<Word> &B) {
    require_rows(out, A.rows, B.rows);
    require(A.columns == B.columns, "A and B need the same number of columns");
    nb::gil_scoped_release release;
    common_bits_of<Count>(table())(out, A, B);
}

static Owned<std::int64_t> count_bits(const In<Word> &A) {
    std::vector<std::int64_t> counts(A.rows);
    {
        nb::gil_scoped_release release;
        table().count_bits(A, counts.data());
    }
    return owned(std::move(counts));
}

void define_bits(nb::module_ &m) {
    m.def("common_bits", &common_bits<double>, "out"_a, "A"_a, "B"_a);
    m.def("common_bits", &common_bits<std::int64_t>, "out"_a, "A"_a, "B"_a);
    m.def("common_bits", &common_bits<std::int32_t>, "out"_a, "A"_a, "B"_a);
    m.def("count_bits", &count_bits, "A"_a);
}

template <class T>
static Owned<bool> perceptron_pass(const In<T> &K, const InRow<double> &y, const OutRow<double> &scores,
                                   Number threshold, bool strict) {
    require(K.rows == K.columns, "K must be square");
    require(y.size() == K.rows && scores.size() == K.rows, "y and scores need one entry per example");
    require(std::all_of(y.begin(), y.end(), [](double sign) { return std::fabs(sign) == 1; }), "y must be 1 or -1");
    std::unique_ptr<bool[]> updated(new bool[K.rows + 1]());
    {
        nb::gil_scoped_release release;
        functions<T>().perceptron_pass(K, y.data(), scores.data(), threshold, strict,
                                       reinterpret_cast<std::uint8_t *>(updated.get()));
    }
    bool *entries = updated.get();
    nb::capsule owner(updated.release(), [](void *p) noexcept { delete[] static_cast<bool *>(p); });
    return Owned<bool>(entries, {K.rows}, owner);
}

template <class T> static void define(nb::module_ &m) {
    m.def("perceptron_pass", &perceptron_pass<T>, "K"_a, "y"_a, "scores"_a, "threshold"_a = 0.0, "strict"_a = false);
}

void define_sequences(nb::module_ &m) {
    define<double>(m);
    define<float>(m);
}

template <class T> static void hadamard(const Out<T> &values, const In<T> &signs, Whole size) {
    const auto step = static_cast<std::size_t>(size);
    require(size > 0 && (step & (step - 1)) == 0 && values.columns % step == 0,
            "size must be a power of two that divides the columns of values");
    require(signs.columns == values.columns, "signs need one entry per column of values");
    nb::gil_scoped_release release;
    functions<T>().hadamard(values, signs, step);
}

template <class T> static void cos_sin(const Out<T> &turns, const Out<T> &sines, Number scale) {
    require(sines.rows == turns.rows && sines.columns == turns.columns, "sines needs a place for the sine of each angle");
    nb::gil_scoped_release release;
    functions<T>().cos_sin(turns, sines, scale);
}

template <class T> static void define_features_of(nb::module_ &m) {
    m.def("hadamard", &hadamard<T>, "values"_a, "signs"_a, "size"_a);
    m.def("cos_sin", &cos_sin<T>, "turns"_a, "sines"_a, "scale"_a = 1.0);
}

void define_features(nb::module_ &m) {
    define_features_of<double>(m);
    define_features_of<float>(m);
}

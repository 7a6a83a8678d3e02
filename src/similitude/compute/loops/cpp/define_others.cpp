// The Python face of the loops over bits, over sequences and for random features.
#include <type_traits>

#include "arguments.hpp"

using Word = std::uint64_t;

template <class Count> static auto common_bits_of(const Table &table) {
    if constexpr (std::is_same_v<Count, double>)
        return table.common_bits_doubles;
    else if constexpr (sizeof(Count) == 4)
        return table.common_bits_32;
    else
        return table.common_bits_64;
}

template <class Count> static void common_bits(const Out<Count> &result, const In<Word> &A, const In<Word> &B) {
    const Matrix<Count> to = out<Count>(result);
    nb::gil_scoped_release release;
    common_bits_of<Count>(table())(to, in<Word>(A), in<Word>(B));
}

static void count_bits(const In<Word> &A, const OutRow<std::int64_t> &result) {
    nb::gil_scoped_release release;
    table().count_bits(in<Word>(A), result.data());
}

void define_bits(nb::module_ &m) {
    using nb::arg;
    m.def("common_bits", &common_bits<std::int32_t>, arg("out").noconvert(), arg("A").noconvert(),
          arg("B").noconvert());
    m.def("common_bits", &common_bits<std::int64_t>, arg("out").noconvert(), arg("A").noconvert(),
          arg("B").noconvert());
    m.def("common_bits", &common_bits<double>, arg("out").noconvert(), arg("A").noconvert(), arg("B").noconvert());
    m.def("count_bits", &count_bits, arg("A").noconvert(), arg("out").noconvert());
}

template <class T>
static void perceptron_pass(const In<T> &K, const InRow<double> &y, const OutRow<double> &scores, double threshold,
                     bool strict, const OutRow<std::uint8_t> &updated) {
    nb::gil_scoped_release release;
    functions<T>().perceptron_pass(in<T>(K), y.data(), scores.data(), threshold, strict, updated.data());
}

template <class T> static void define(nb::module_ &m) {
    using nb::arg;
    m.def("perceptron_pass", &perceptron_pass<T>, arg("K").noconvert(), arg("y").noconvert(),
          arg("scores").noconvert(), arg("threshold"), arg("strict"), arg("updated").noconvert());
}

void define_sequences(nb::module_ &m) {
    define<float>(m);
    define<double>(m);
}

template <class T> static void hadamard(const Out<T> &values, const In<T> &signs, std::size_t size) {
    const Matrix<T> to = out<T>(values);
    nb::gil_scoped_release release;
    functions<T>().hadamard(to, in<T>(signs), size);
}

template <class T> static void cos_sin(const Out<T> &turns, const Out<T> &sines, double scale) {
    const Matrix<T> cosines = out<T>(turns), beside = out<T>(sines);
    nb::gil_scoped_release release;
    functions<T>().cos_sin(cosines, beside, scale);
}

template <class T> static void define_features_of(nb::module_ &m) {
    using nb::arg;
    m.def("hadamard", &hadamard<T>, arg("values").noconvert(), arg("signs").noconvert(), arg("size"));
    m.def("cos_sin", &cos_sin<T>, arg("turns").noconvert(), arg("sines").noconvert(), arg("scale"));
}

void define_features(nb::module_ &m) {
    define_features_of<float>(m);
    define_features_of<double>(m);
}

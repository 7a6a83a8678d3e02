// The Python face of the loops over bits, over sequences and for random features.
#include <cmath>
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
    require(A.shape(0) == to.rows && B.shape(0) == to.columns, "one row of A and of B for each row and column of out");
    require(A.shape(1) == B.shape(1), "A and B need the same number of columns");
    nb::gil_scoped_release release;
    common_bits_of<Count>(table())(to, in<Word>(A), in<Word>(B));
}

static void count_bits(const In<Word> &A, const OutRow<std::int64_t> &result) {
    require(result.shape(0) == A.shape(0), "one result for each row");
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
    const std::size_t n = K.shape(0);
    require(K.shape(1) == n, "K must be square");
    require(y.shape(0) == n && scores.shape(0) == n && updated.shape(0) == n, "y and scores need one entry per example");
    for (std::size_t i = 0; i < n; ++i)
        require(std::fabs(y.data()[i]) == 1.0, "y must be 1 or -1");
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
    require(size > 0 && (size & (size - 1)) == 0, "size must be a power of two");
    require(to.columns % size == 0, "the number of columns must be a multiple of size");
    require(signs.shape(1) == to.columns, "signs need one entry per column");
    nb::gil_scoped_release release;
    functions<T>().hadamard(to, in<T>(signs), size);
}

template <class T> static void cos_sin(const Out<T> &turns, const Out<T> &sines, double scale) {
    const Matrix<T> cosines = out<T>(turns), beside = out<T>(sines);
    require(beside.rows == cosines.rows && beside.columns == cosines.columns, "one place for the sine of each angle");
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

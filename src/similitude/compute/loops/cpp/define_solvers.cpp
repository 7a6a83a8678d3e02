// The Python face of the loops that solve quadratic programmes, and of those that choose medoids.
#include "arguments.hpp"

template <class T>
static std::size_t smo(const In<T> &K, const OutRow<double> &u, const OutRow<double> &beta, const InRow<double> &low,
                       const InRow<double> &high, double tolerance, std::size_t most_steps, bool keep_sum) {
    nb::gil_scoped_release release;
    return functions<T>().smo(in<T>(K), u.data(), beta.data(), low.data(), high.data(), tolerance, most_steps, keep_sum);
}

template <class T>
static void add_rows(const In<T> &rows, const InRow<std::int64_t> &which, const InRow<double> &weights,
                     const OutRow<double> &result) {
    nb::gil_scoped_release release;
    functions<T>().add_rows(in<T>(rows), which.data(), weights.data(), which.shape(0), result.data());
}

template <class T>
static void pick(const In<T> &from, const InRow<std::int64_t> &which, const InRow<std::int64_t> &columns,
                 const Out<T> &result) {
    const Matrix<T> to = out<T>(result);
    const Matrix<const T> rows = in<T>(from);
    const std::int64_t *at = columns.data();
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < to.rows; ++i) {
        const T *row = rows.row(static_cast<std::size_t>(which.data()[i]));
        T *entries = to.row(i);
        for (std::size_t j = 0; j < to.columns; ++j)
            entries[j] = row[at[j]];
    }
}

template <class T>
static std::size_t swap_medoids(const In<T> &far, const OutRow<std::int64_t> &medoids, std::size_t start,
                                std::size_t most, std::size_t failed) {
    nb::gil_scoped_release release;
    return functions<T>().swap_medoids(in<T>(far), medoids.data(), medoids.shape(0), start, most, failed);
}

template <class T> static void define(nb::module_ &m) {
    using nb::arg;
    m.def("smo", &smo<T>, arg("K").noconvert(), arg("u").noconvert(), arg("beta").noconvert(), arg("low").noconvert(),
          arg("high").noconvert(), arg("tolerance"), arg("most_steps"), arg("keep_sum"));
    m.def("add_rows", &add_rows<T>, arg("rows").noconvert(), arg("which").noconvert(), arg("weights").noconvert(),
          arg("out").noconvert());
    m.def("pick", &pick<T>, arg("rows").noconvert(), arg("which").noconvert(), arg("columns").noconvert(),
          arg("out").noconvert());
    m.def("swap_medoids", &swap_medoids<T>, arg("far").noconvert(), arg("medoids").noconvert(), arg("start"),
          arg("most"), arg("failed"));
}

void define_solvers(nb::module_ &m) {
    define<float>(m);
    define<double>(m);
}

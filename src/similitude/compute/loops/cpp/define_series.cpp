// The Python face of the loops over time series.
#include "arguments.hpp"

template <class T> static Series<T> series(const In<T> &values, const Starts &starts) {
    check_starts(starts, values.shape(0));
    require(values.shape(1) >= 1, "series need at least one channel");
    return {values.data(), starts.data(), starts.shape(0) - 1, values.shape(1)};
}

template <class T> static void check_order(const Starts &order, const Series<T> &B) {
    const std::int64_t *o = order.data();
    require(order.shape(0) == B.count, "order needs one entry per series");
    for (std::size_t t = 0; t < B.count; ++t)
        require(o[t] >= 0 && static_cast<std::size_t>(o[t]) < B.count, "order names no series");
    for (std::size_t t = 1; t < B.count; ++t)
        require(B.length(o[t - 1]) <= B.length(o[t]), "order must sort by length");
}

template <class T, class Result>
static Matrix<Result> result(const Out<Result> &out_, const Series<T> &A, const Series<T> &B, bool half) {
    const Matrix<Result> to = out<Result>(out_);
    require(to.rows == A.count && to.columns == B.count, "one row of out for each series of A, one column for B");
    require(A.channels == B.channels, "A and B need the same number of channels");
    require(!half || A.count == B.count, "half needs A and B to be the same");
    return to;
}

template <class T>
static void dtw(const Out<T> &result_, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b,
                const Starts &order, std::int64_t radius, double fraction, bool half) {
    const Series<T> rows = series<T>(A, a), columns = series<T>(B, b);
    const Matrix<T> to = result<T, T>(result_, rows, columns, half);
    check_order(order, columns);
    require(radius < std::int64_t(1) << 62, "a radius that large overflows");
    nb::gil_scoped_release release;
    functions<T>().dtw(to, rows, columns, order.data(), {radius, fraction}, half);
}

template <class T>
static void global_alignment(const Out<double> &result_, const In<T> &A, const Starts &a, const In<T> &B,
                             const Starts &b, const Starts &order, double scale, bool half) {
    const Series<T> rows = series<T>(A, a), columns = series<T>(B, b);
    const Matrix<double> to = result<T, double>(result_, rows, columns, half);
    check_order(order, columns);
    nb::gil_scoped_release release;
    functions<T>().global_alignment(to, rows, columns, order.data(), scale, half);
}

template <class T>
static void self_alignment(const OutRow<double> &result_, const In<T> &A, const Starts &a, const Starts &order,
                           double scale) {
    const Series<T> rows = series<T>(A, a);
    require(result_.shape(0) == rows.count, "one result for each series");
    check_order(order, rows);
    nb::gil_scoped_release release;
    functions<T>().self_alignment(result_.data(), rows, order.data(), scale);
}

template <class T> static void define(nb::module_ &m) {
    using nb::arg;
    m.def("dtw", &dtw<T>, arg("out").noconvert(), arg("A").noconvert(), arg("a").noconvert(), arg("B").noconvert(),
          arg("b").noconvert(), arg("order").noconvert(), arg("radius"), arg("fraction"), arg("half"));
    m.def("global_alignment", &global_alignment<T>, arg("out").noconvert(), arg("A").noconvert(),
          arg("a").noconvert(), arg("B").noconvert(), arg("b").noconvert(), arg("order").noconvert(), arg("scale"),
          arg("half"));
    m.def("self_alignment", &self_alignment<T>, arg("out").noconvert(), arg("A").noconvert(), arg("a").noconvert(),
          arg("order").noconvert(), arg("scale"));
}

void define_series(nb::module_ &m) {
    define<float>(m);
    define<double>(m);
}

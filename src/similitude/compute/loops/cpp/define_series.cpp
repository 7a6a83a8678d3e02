// The Python face of the loops over time series; `order` sorts the second ones by length.
#include "arguments.hpp"

template <class T> static Series<T> series(const In<T> &values, const Starts &starts) {
    return {values.data(), starts.data(), starts.shape(0) - 1, values.shape(1)};
}

template <class T>
static void dtw(const Out<T> &result, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b,
                const Starts &order, std::int64_t radius, double fraction, bool half) {
    const Series<T> rows = series<T>(A, a), columns = series<T>(B, b);
    const Matrix<T> to = out<T>(result);
    nb::gil_scoped_release release;
    functions<T>().dtw(to, rows, columns, order.data(), {radius, fraction}, half);
}

template <class T>
static void global_alignment(const Out<double> &result, const In<T> &A, const Starts &a, const In<T> &B,
                             const Starts &b, const Starts &order, double scale, bool half) {
    const Series<T> rows = series<T>(A, a), columns = series<T>(B, b);
    const Matrix<double> to = out<double>(result);
    nb::gil_scoped_release release;
    functions<T>().global_alignment(to, rows, columns, order.data(), scale, half);
}

template <class T>
static void self_alignment(const OutRow<double> &result, const In<T> &A, const Starts &a, const Starts &order,
                           double scale) {
    const Series<T> rows = series<T>(A, a);
    nb::gil_scoped_release release;
    functions<T>().self_alignment(result.data(), rows, order.data(), scale);
}

template <class T>
static void elastic(const Out<T> &result, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b,
                    const Starts &order, int kind, double p, double q, std::int64_t radius, double fraction,
                    bool half) {
    const Series<T> rows = series<T>(A, a), columns = series<T>(B, b);
    const Matrix<T> to = out<T>(result);
    nb::gil_scoped_release release;
    functions<T>().elastic(to, rows, columns, order.data(), static_cast<Elastic>(kind), p, q, {radius, fraction},
                           half);
}

template <class T>
static void convolutions(const Out<T> &result, const In<T> &A, const Starts &a, const In<std::int64_t> &shapes,
                         const In<T> &mix, const InRow<T> &biases, const Starts &starts) {
    const Series<T> rows = series<T>(A, a);
    const Matrix<T> to = out<T>(result);
    const Filters<T> filters{shapes.data(), mix.data(), biases.data(), starts.data(), shapes.shape(0)};
    nb::gil_scoped_release release;
    functions<T>().convolutions(to, rows, filters);
}

template <class T>
static void signatures(const Out<T> &result, const In<T> &A, const Starts &a, const Starts &order, std::size_t level) {
    const Series<T> rows = series<T>(A, a);
    const Matrix<T> to = out<T>(result);
    nb::gil_scoped_release release;
    functions<T>().signatures(to, rows, order.data(), level);
}

template <class T>
static void dtw_pairs(const OutRow<T> &result, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b,
                      const Starts &i, const Starts &j, const InRow<T> &limits, std::int64_t radius, double fraction) {
    const Series<T> rows = series<T>(A, a), columns = series<T>(B, b);
    nb::gil_scoped_release release;
    functions<T>().dtw_pairs(result.data(), rows, columns, i.data(), j.data(), limits.data(), i.shape(0),
                             {radius, fraction});
}

template <class T>
static void outside_ranges(const Out<T> &result, const In<T> &A, const In<T> &low, const In<T> &high) {
    const Matrix<T> to = out<T>(result);
    nb::gil_scoped_release release;
    functions<T>().outside_ranges(to, in<T>(A), in<T>(low), in<T>(high));
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
    m.def("elastic", &elastic<T>, arg("out").noconvert(), arg("A").noconvert(), arg("a").noconvert(),
          arg("B").noconvert(), arg("b").noconvert(), arg("order").noconvert(), arg("kind"), arg("p"), arg("q"),
          arg("radius"), arg("fraction"), arg("half"));
    m.def("convolutions", &convolutions<T>, arg("out").noconvert(), arg("A").noconvert(), arg("a").noconvert(),
          arg("shapes").noconvert(), arg("mix").noconvert(), arg("biases").noconvert(), arg("starts").noconvert());
    m.def("dtw_pairs", &dtw_pairs<T>, arg("out").noconvert(), arg("A").noconvert(), arg("a").noconvert(),
          arg("B").noconvert(), arg("b").noconvert(), arg("i").noconvert(), arg("j").noconvert(),
          arg("limits").noconvert(), arg("radius"), arg("fraction"));
    m.def("outside_ranges", &outside_ranges<T>, arg("out").noconvert(), arg("A").noconvert(), arg("low").noconvert(),
          arg("high").noconvert());
    m.def("signatures", &signatures<T>, arg("out").noconvert(), arg("A").noconvert(), arg("a").noconvert(),
          arg("order").noconvert(), arg("level"));
}

void define_series(nb::module_ &m) {
    define<float>(m);
    define<double>(m);
}

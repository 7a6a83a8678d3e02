// The Python face of the loops over time series.
#include <limits>

#include "channels.hpp"
#include "checks.hpp"

template <class T> static Series<T> series(const In<T> &values, const Starts &starts) {
    require(values.columns >= 1, "series need at least one channel");
    require_starts("starts", starts, values.rows);
    return {values.entries, starts.data(), starts.size() - 1, values.columns};
}

// The series of A and those of B, a distance of each pair, and the window.
template <class T> struct Collections {
    Series<T> A, B;
    std::vector<std::int64_t> order; // the series of B by length
    Band band;
    bool half;
};

// A whole number of steps, a fraction of the shorter series, or None.
static Band band_of(nb::handle window, std::size_t longest) {
    if (window.is_none())
        return {-1, -1.0};
    if (PyIndex_Check(window.ptr())) {
        int overflow = 0;
        const nb::object steps = nb::steal(PyNumber_Index(window.ptr()));
        const std::int64_t radius = PyLong_AsLongLongAndOverflow(steps.ptr(), &overflow);
        require(overflow >= 0 && (radius >= 0 || overflow > 0), "window must be at least 0");
        const auto all = static_cast<std::int64_t>(longest); // no path is longer
        return {overflow > 0 ? all : std::min(radius, all), -1.0};
    }
    const double fraction = PyFloat_AsDouble(window.ptr());
    if (PyErr_Occurred()) {
        PyErr_Clear();
        throw nb::type_error("window must be an integer, a float or None");
    }
    require(fraction >= 0 && fraction <= 1, "a window that is a fraction must be from 0.0 to 1.0");
    return {-1, fraction};
}

template <class T, class To>
static Collections<T> collections(const Out<To> &out, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b,
                                  nb::handle window, bool half) {
    const Series<T> rows = series(A, a), columns = series(B, b);
    require(A.columns == B.columns, "A and B need the same number of channels");
    require(out.rows == rows.count && out.columns == columns.count,
            "one row of out for each series of A, one column for each of B");
    require(!half || (same_values(a, b) && same_values(A, B)), "half needs A and B to be the same");
    return {rows, columns, by_length(b), band_of(window, A.rows + B.rows), half};
}

template <class T>
static void dtw(const Out<T> &out, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b, nb::handle window,
                bool half) {
    const Collections<T> given = collections(out, A, a, B, b, window, half);
    nb::gil_scoped_release release;
    functions<T>().dtw(out, given.A, given.B, given.order.data(), given.band, half);
}

template <class T>
static void global_alignment(const Out<double> &out, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b,
                             Number scale, bool half) {
    const Collections<T> given = collections(out, A, a, B, b, nb::none(), half);
    require(scale >= 0, "scale must be at least 0");
    nb::gil_scoped_release release;
    functions<T>().global_alignment(out, given.A, given.B, given.order.data(), scale, half);
}

template <class T> static Owned<double> self_alignment(const In<T> &A, const Starts &a, Number scale) {
    const Series<T> rows = series(A, a);
    require(scale >= 0, "scale must be at least 0");
    const std::vector<std::int64_t> order = by_length(a);
    std::vector<double> found(rows.count);
    {
        nb::gil_scoped_release release;
        functions<T>().self_alignment(found.data(), rows, order.data(), scale);
    }
    return owned(std::move(found));
}

// The distances of series that were given further channels.
template <class T>
static void elastic(Matrix<T> out, const Collections<T> &given, const Channels<T> &A, const Channels<T> &B,
                    std::size_t channels, Elastic kind, double p, double q) {
    const Series<T> rows{A.data(), given.A.starts, given.A.count, channels};
    const Series<T> columns{B.data(), given.B.starts, given.B.count, channels};
    functions<T>().elastic(out, rows, columns, given.order.data(), kind, p, q, given.band, given.half);
}

static void require_parameter(const char *name, double value) {
    require_finite(name, value);
    require(value >= 0, std::string(name) + " must be at least 0");
}

template <class T>
static void msm(const Out<T> &out, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b, Number cost,
                nb::handle window, bool half) {
    const Collections<T> given = collections(out, A, a, B, b, window, half);
    require_parameter("cost", cost);
    nb::gil_scoped_release release;
    std::vector<T> more(A.columns > 1 ? out.rows * out.columns : 0);
    const Matrix<T> next{more.data(), out.rows, out.columns, static_cast<std::ptrdiff_t>(out.columns)};
    for (std::size_t c = 0; c < A.columns; ++c) {
        const Matrix<T> to = c == 0 ? static_cast<Matrix<T>>(out) : next;
        elastic(to, given, msm_channels(given.A, c), msm_channels(given.B, c), 2, Elastic::move_split_merge, cost, 0);
        for (std::size_t i = 0; c > 0 && i < out.rows; ++i)
            for (std::size_t j = 0; j < out.columns; ++j)
                out.row(i)[j] += next.row(i)[j];
    }
}

template <class T>
static void erp(const Out<T> &out, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b, Number gap,
                nb::handle window, bool half) {
    const Collections<T> given = collections(out, A, a, B, b, window, half);
    require_finite("gap", gap);
    nb::gil_scoped_release release;
    elastic<T>(out, given, erp_channels(given.A, gap), erp_channels(given.B, gap), A.columns + 2, Elastic::real_penalty,
               static_cast<double>(A.columns), 0);
}

template <class T>
static void twe(const Out<T> &out, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b, Number stiffness,
                Number penalty, nb::handle window, bool half) {
    const Collections<T> given = collections(out, A, a, B, b, window, half);
    require_parameter("stiffness", stiffness);
    require_parameter("penalty", penalty);
    nb::gil_scoped_release release;
    elastic<T>(out, given, twe_channels(given.A, stiffness, penalty), twe_channels(given.B, stiffness, penalty),
               2 * A.columns + 2, Elastic::time_warp_edit, static_cast<double>(A.columns), 2 * stiffness);
}

template <class T>
static void soft_dtw(const Out<T> &out, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b, Number gamma,
                     nb::handle window, bool half) {
    const Collections<T> given = collections(out, A, a, B, b, window, half);
    require_finite("gamma", gamma);
    require(gamma > 0, "gamma must be above 0");
    nb::gil_scoped_release release;
    functions<T>().elastic(out, given.A, given.B, given.order.data(), Elastic::soft_warping, gamma, 0, given.band, half);
    for (std::size_t i = 0; i < out.rows; ++i)
        for (std::size_t j = 0; j < out.columns; ++j)
            if (out.row(i)[j] > std::numeric_limits<T>::max() / 8) // of an empty series
                out.row(i)[j] = std::numeric_limits<T>::infinity();
}

template <class T>
static void convolutions(const Out<T> &out, const In<T> &A, const Starts &a, const In<std::int64_t> &shapes,
                         const In<T> &mix, const InRow<T> &biases, const Starts &starts) {
    const Series<T> rows = series(A, a);
    require_starts("starts", starts, biases.size());
    require(out.rows == rows.count && out.columns == biases.size(),
            "one row of out for each series, one column for each bias");
    require(shapes.columns == 3, "a row of shapes is a kernel, a dilation, and whether it is padded");
    require(mix.rows == shapes.rows && mix.columns == A.columns,
            "one row of mix for each shape, one column for each channel");
    require(starts.size() == shapes.rows + 1, "starts need the biases of each shape");
    const Filters<T> filters{shapes.entries, mix.entries, biases.data(), starts.data(), shapes.rows};
    for (std::size_t g = 0; g < shapes.rows; ++g) {
        require(filters.kernel(g) >= 0 && filters.kernel(g) < 84, "kernels in shapes are numbered from 0 to 83");
        require(filters.dilation(g) >= 1, "a dilation in shapes is at least 1");
    }
    nb::gil_scoped_release release;
    functions<T>().convolutions(out, rows, filters);
}

template <class T> static void signatures(const Out<T> &out, const In<T> &A, const Starts &a, Whole level) {
    const Series<T> rows = series(A, a);
    require_range("level", level, 1, 63);
    std::size_t width = 0, size = 1;
    for (std::int64_t m = 1; m <= level && width <= out.columns; ++m)
        width += size *= A.columns;
    require(out.rows == rows.count && out.columns == width,
            "one row of out for each series, one column for each tuple of channels");
    const std::vector<std::int64_t> order = by_length(a);
    nb::gil_scoped_release release;
    functions<T>().signatures(out, rows, order.data(), static_cast<std::size_t>(level));
}

template <class T>
static void dtw_pairs(const OutRow<T> &out, const In<T> &A, const Starts &a, const In<T> &B, const Starts &b,
                      const Starts &i, const Starts &j, const InRow<T> &limits, nb::handle window) {
    const Series<T> rows = series(A, a), columns = series(B, b);
    require(A.columns == B.columns, "A and B need the same number of channels");
    require_inside(i, rows.count, "i must number series");
    require_inside(j, columns.count, "j must number series");
    const std::size_t pairs = i.size();
    require(out.size() == pairs && j.size() == pairs && limits.size() == pairs,
            "one entry of out, i, j and limits for each pair");
    const Band band = band_of(window, A.rows + B.rows);
    nb::gil_scoped_release release;
    std::vector<std::size_t> order(pairs); // neighbors share a query, and waste no lanes
    std::iota(order.begin(), order.end(), std::size_t(0));
    const auto place = [&](std::size_t p) { return std::pair(i[p], columns.length(static_cast<std::size_t>(j[p]))); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t p, std::size_t q) { return place(p) < place(q); });
    std::vector<std::int64_t> queries(pairs), targets(pairs);
    std::vector<T> most(pairs), found(pairs);
    for (std::size_t p = 0; p < pairs; ++p) {
        queries[p] = i[order[p]];
        targets[p] = j[order[p]];
        most[p] = limits[order[p]];
    }
    functions<T>().dtw_pairs(found.data(), rows, columns, queries.data(), targets.data(), most.data(), pairs, band);
    for (std::size_t p = 0; p < pairs; ++p)
        out.data()[order[p]] = found[p];
}

template <class T>
static void outside_ranges(const Out<T> &out, const In<T> &A, const In<T> &low, const In<T> &high) {
    require(low.rows == high.rows && low.columns == high.columns, "low and high need the same shape");
    require(A.columns == low.columns, "A and the ranges need the same number of columns");
    require(out.rows == A.rows && out.columns == low.rows, "one row of out for each row of A, one column for each range");
    nb::gil_scoped_release release;
    functions<T>().outside_ranges(out, A, low, high);
}

template <class T> static void define(nb::module_ &m) {
    const auto window = "window"_a = nb::none();
    const auto half = "half"_a = false;
    m.def("dtw", &dtw<T>, "out"_a, "A"_a, "a"_a, "B"_a, "b"_a, window, half);
    m.def("global_alignment", &global_alignment<T>, "out"_a, "A"_a, "a"_a, "B"_a, "b"_a, "scale"_a, half);
    m.def("self_alignment", &self_alignment<T>, "A"_a, "a"_a, "scale"_a);
    m.def("msm", &msm<T>, "out"_a, "A"_a, "a"_a, "B"_a, "b"_a, "cost"_a, window, half);
    m.def("erp", &erp<T>, "out"_a, "A"_a, "a"_a, "B"_a, "b"_a, "gap"_a, window, half);
    m.def("twe", &twe<T>, "out"_a, "A"_a, "a"_a, "B"_a, "b"_a, "stiffness"_a, "penalty"_a, window, half);
    m.def("soft_dtw", &soft_dtw<T>, "out"_a, "A"_a, "a"_a, "B"_a, "b"_a, "gamma"_a, window, half);
    m.def("convolutions", &convolutions<T>, "out"_a, "A"_a, "a"_a, "shapes"_a, "mix"_a, "biases"_a, "starts"_a);
    m.def("dtw_pairs", &dtw_pairs<T>, "out"_a, "A"_a, "a"_a, "B"_a, "b"_a, "i"_a, "j"_a, "limits"_a, window);
    m.def("outside_ranges", &outside_ranges<T>, "out"_a, "A"_a, "low"_a, "high"_a);
    m.def("signatures", &signatures<T>, "out"_a, "A"_a, "a"_a, "level"_a);
}

void define_series(nb::module_ &m) {
    define<double>(m);
    define<float>(m);
}

// The Python face of the loops that solve quadratic programmes, and of those that choose medoids.
#include "checks.hpp"

using Integers = InRow<std::int64_t>;

constexpr std::int64_t most_of_anything = std::int64_t(1) << 62;

template <class T>
static std::size_t smo(const In<T> &K, const OutRow<double> &u, const OutRow<double> &beta, const InRow<double> &low,
                       const InRow<double> &high, Number tolerance, Whole most_steps, bool keep_sum) {
    const std::size_t n = K.rows;
    require(K.columns == n, "K must be square");
    require(u.size() == n && beta.size() == n && low.size() == n && high.size() == n,
            "u, beta, low and high need one entry per variable");
    require_range("most_steps", most_steps, 0, most_of_anything);
    nb::gil_scoped_release release;
    return functions<T>().smo(K, u.data(), beta.data(), low.data(), high.data(), tolerance,
                              static_cast<std::size_t>(most_steps), keep_sum);
}

template <class T>
static void add_rows(const In<T> &rows, const Integers &which, const InRow<double> &weights, const OutRow<double> &out) {
    require(weights.size() == which.size(), "weights need one weight per row");
    require(out.size() == rows.columns, "out needs one entry per column");
    require_inside(which, rows.rows, "which has no such row");
    nb::gil_scoped_release release;
    functions<T>().add_rows(rows, which.data(), weights.data(), which.size(), out.data());
}

template <class T>
static void pick(const In<T> &rows, const Integers &which, const Integers &columns, const Out<T> &out) {
    require(out.rows == which.size() && out.columns == columns.size(),
            "out needs one row for each of which, one column for each of columns");
    require_inside(which, rows.rows, "which has no such row");
    require_inside(columns, rows.columns, "columns has no such column");
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < out.rows; ++i) {
        const T *row = rows.row(static_cast<std::size_t>(which[i]));
        T *entries = out.row(i);
        for (std::size_t j = 0; j < out.columns; ++j)
            entries[j] = row[columns[j]];
    }
}

template <class T>
static std::size_t swap_medoids(const In<T> &far, const OutRow<std::int64_t> &medoids, Whole start, Whole most,
                                Whole failed) {
    require(far.rows == far.columns, "far must be square");
    std::vector<std::int64_t> sorted(medoids.data(), medoids.data() + medoids.size());
    require(sorted.size() >= 2 && sorted.size() < std::size_t(1) << 31, "medoids must be at least two medoids, below 2^31");
    require_inside(sorted, far.rows, "medoids has no such object");
    for (const std::int64_t medoid : sorted) {
        const T *row = far.row(static_cast<std::size_t>(medoid));
        require(std::all_of(row, row + far.columns, [](T x) { return std::isfinite(x); }), "distances in far must be finite");
    }
    std::sort(sorted.begin(), sorted.end());
    require(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "medoids must differ");
    require_range("start", start, 0, most_of_anything);
    require_range("most", most, 0, most_of_anything);
    require_range("failed", failed, 0, most_of_anything);
    nb::gil_scoped_release release;
    return functions<T>().swap_medoids(far, medoids.data(), medoids.size(), static_cast<std::size_t>(start),
                                       static_cast<std::size_t>(most), static_cast<std::size_t>(failed));
}

template <class T> static void define(nb::module_ &m) {
    m.def("smo", &smo<T>, "K"_a, "u"_a, "beta"_a, "low"_a, "high"_a, "tolerance"_a, "most_steps"_a, "keep_sum"_a);
    m.def("add_rows", &add_rows<T>, "rows"_a, "which"_a, "weights"_a, "out"_a);
    m.def("pick", &pick<T>, "rows"_a, "which"_a, "columns"_a, "out"_a);
    m.def("swap_medoids", &swap_medoids<T>, "far"_a, "medoids"_a, "start"_a, "most"_a, "failed"_a);
}

void define_solvers(nb::module_ &m) {
    define<double>(m);
    define<float>(m);
}

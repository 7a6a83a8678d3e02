// The Python face of the loops: arguments are checked, the GIL is released, the chosen table does the work.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "exact.hpp"

DECLARE_TABLE(baseline)
#ifdef SIMILITUDE_X86
DECLARE_TABLE(avx2)
DECLARE_TABLE(avx512)
#endif

// Instruction sets that this machine can run, the best one last.
static std::vector<const Table *> available() {
    std::vector<const Table *> found{&baseline::table};
#ifdef SIMILITUDE_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        found.push_back(&avx2::table);
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        found.push_back(&avx512::table);
#endif
    return found;
}

static const Table *chosen = available().back();

static std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const Table *table : available())
        names.emplace_back(table->name);
    return names;
}

static void choose(const std::string &name) {
    for (const Table *table : available())
        if (name == table->name) {
            chosen = table;
            return;
        }
    std::string names;
    for (const Table *table : available())
        names += std::string(names.empty() ? "" : ", ") + table->name;
    throw nb::value_error(("no instruction set " + name + " on this machine: choose one of " + names).c_str());
}

static std::string in_use() { return chosen->name; }

template <> const Functions<float> &functions<float>() { return chosen->singles; }
template <> const Functions<double> &functions<double>() { return chosen->doubles; }
const Table &table() { return *chosen; }

template <class T> void apply(const Out<T> &values, int shape, double p, double q, unsigned degree) {
    const Matrix<T> to = out<T>(values);
    const Form f = form(shape, p, q, degree);
    nb::gil_scoped_release release;
    functions<T>().apply(to, f);
}

template <class T>
void of_products(const Out<T> &products, const In<T> &A, const In<T> &B, const InRow<T> &a, const InRow<T> &b, int shape,
                 double p, double q, unsigned degree) {
    const Matrix<T> to = out<T>(products);
    const Form f = form(shape, p, q, degree);
    require(A.shape(0) == to.rows && a.shape(0) == to.rows, "one row of A and one entry of a for each row of products");
    require(B.shape(0) == to.columns && b.shape(0) == to.columns, "one row of B and one entry of b for each column");
    require(A.shape(1) == B.shape(1), "A and B need the same number of columns");
    nb::gil_scoped_release release;
    functions<T>().of_products(to, in<T>(A), in<T>(B), a.data(), b.data(), f);
}

template <class T>
void of_sums(const Out<T> &result, const In<T> &A, const In<T> &B, int sum, int shape, double p, double q,
             unsigned degree) {
    const Matrix<T> to = out<T>(result);
    const Form f = form(shape, p, q, degree);
    const Sum s = sum_of(sum);
    require(A.shape(0) == to.rows && B.shape(0) == to.columns, "one row of A and of B for each row and column of out");
    require(A.shape(1) == B.shape(1), "A and B need the same number of columns");
    nb::gil_scoped_release release;
    functions<T>().of_sums(to, in<T>(A), in<T>(B), s, f);
}

template <class T> void mirror(const Out<T> &result, const InView<T> &values) {
    const Matrix<T> to = out<T>(result);
    const Matrix<const T> from = view<T>(values);
    require(to.rows == from.columns && to.columns == from.rows, "one row of out for each column of values");
    nb::gil_scoped_release release;
    functions<T>().mirror(to, from);
}

static Triple checked_worst_triple(const In<double> &K) {
    const std::size_t n = K.shape(0);
    if (n < 3 || K.shape(1) != n) {
        const std::string shape = std::to_string(n) + ", " + std::to_string(K.shape(1));
        const std::string message = "worst_triple needs a square matrix with at least 3 rows, got shape (" + shape + ")";
        throw nb::value_error(message.c_str());
    }
    require(std::all_of(K.data(), K.data() + n * n, [](double x) { return std::isfinite(x); }),
            "worst_triple needs finite entries");
    nb::gil_scoped_release release;
    return worst_triple(K.data(), n);
}

template <class T> static void define(nb::module_ &m) {
    m.def("apply", &apply<T>, nb::arg("values").noconvert(), nb::arg("shape"), nb::arg("p"), nb::arg("q"),
          nb::arg("degree"));
    m.def("of_products", &of_products<T>, nb::arg("products").noconvert(), nb::arg("A").noconvert(),
          nb::arg("B").noconvert(), nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("shape"), nb::arg("p"),
          nb::arg("q"), nb::arg("degree"));
    m.def("of_sums", &of_sums<T>, nb::arg("out").noconvert(), nb::arg("A").noconvert(), nb::arg("B").noconvert(),
          nb::arg("sum"), nb::arg("shape"), nb::arg("p"), nb::arg("q"), nb::arg("degree"));
    m.def("mirror", &mirror<T>, nb::arg("out").noconvert(), nb::arg("values").noconvert());
}

NB_MODULE(_compiled, m) {
    m.def("instruction_sets", &instruction_sets);
    m.def("choose", &choose, nb::arg("name"));
    m.def("in_use", &in_use);
    m.def("worst_triple", &checked_worst_triple, nb::arg("K"));
    define<float>(m);
    define<double>(m);
    define_sparse(m);
    define_bits(m);
    define_sequences(m);
    define_series(m);
    define_features(m);
    define_solvers(m);
    define_tables(m);
    define_sets(m);
    define_strings(m);
    define_graphs(m);
}

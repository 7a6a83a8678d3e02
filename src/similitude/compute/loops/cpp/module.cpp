// The Python face of the loops: the GIL is released, the chosen table does the work.
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arguments.hpp"
#include "exact.hpp"
#include "processor.hpp"

DECLARE_TABLE(baseline)
#ifdef SIMILITUDE_X86
DECLARE_TABLE(avx2)
DECLARE_TABLE(avx512)
#endif

// Instruction sets that this machine can run, the best one last.
static std::vector<const Table *> available() {
    std::vector<const Table *> found{&baseline::table};
#ifdef SIMILITUDE_X86
    if (processor().avx2)
        found.push_back(&avx2::table);
    if (processor().avx512)
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
    nb::gil_scoped_release release;
    functions<T>().of_products(to, in<T>(A), in<T>(B), a.data(), b.data(), f);
}

template <class T>
void of_sums(const Out<T> &result, const In<T> &A, const In<T> &B, int sum, int shape, double p, double q,
             unsigned degree) {
    const Matrix<T> to = out<T>(result);
    const Form f = form(shape, p, q, degree);
    nb::gil_scoped_release release;
    functions<T>().of_sums(to, in<T>(A), in<T>(B), static_cast<Sum>(sum), f);
}

template <class T> void mirror(const Out<T> &result, const InView<T> &values) {
    const Matrix<T> to = out<T>(result);
    const Matrix<const T> from = view<T>(values);
    nb::gil_scoped_release release;
    functions<T>().mirror(to, from);
}

static Triple worst_triple_of(const In<double> &K) {
    nb::gil_scoped_release release;
    return worst_triple(K.data(), K.shape(0));
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
    m.def("worst_triple", &worst_triple_of, nb::arg("K").noconvert());
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

// The Python face of the loops: the GIL is released, the chosen table does the work.
#include <string>
#include <vector>

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "checks.hpp"
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

static nb::handle array_type; // numpy.ndarray

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

bool is_plain_array(nb::handle given) {
    if (reinterpret_cast<PyObject *>(Py_TYPE(given.ptr())) == array_type.ptr())
        return true;
    return PyObject_IsInstance(given.ptr(), array_type.ptr()) == 1 && !nb::hasattr(given, "mask");
}

template <class T>
static void apply(const Out<T> &values, std::string_view shape, Number p, Number q, Whole degree) {
    const Form f = form(shape, p, q, degree);
    nb::gil_scoped_release release;
    functions<T>().apply(values, f);
}

template <class T>
static void require_vectors(const Matrix<T> &out, const In<T> &A, const In<T> &B) {
    require_rows(out, A.rows, B.rows);
    require(A.columns == B.columns, "A and B need the same number of columns");
}

template <class T>
static void of_products(const Out<T> &products, const In<T> &A, const In<T> &B, const InRow<T> &a, const InRow<T> &b,
                        std::string_view shape, Number p, Number q, Whole degree) {
    require_vectors<T>(products, A, B);
    require(a.size() == A.rows && b.size() == B.rows, "a needs one entry of a row of A, b one of a row of B");
    const Form f = form(shape, p, q, degree);
    nb::gil_scoped_release release;
    functions<T>().of_products(products, A, B, a.data(), b.data(), f);
}

template <class T>
static void of_sums(const Out<T> &out, const In<T> &A, const In<T> &B, std::string_view terms, std::string_view shape,
                    Number p, Number q, Whole degree) {
    require_vectors<T>(out, A, B);
    const Sum sum = sum_of(terms);
    const Form f = form(shape, p, q, degree);
    nb::gil_scoped_release release;
    functions<T>().of_sums(out, A, B, sum, f);
}

template <class T> static void mirror(const Out<T> &out, const InView<T> &values) {
    require(out.rows == values.columns && out.columns == values.rows,
            "out needs one row for each column of values, one column for each row");
    nb::gil_scoped_release release;
    functions<T>().mirror(out, values);
}

static Triple worst_triple_of(const In<double> &K) {
    require(K.rows >= 3 && K.rows == K.columns, "K must be square with at least 3 rows");
    require_all_finite("K", K);
    nb::gil_scoped_release release;
    return worst_triple(K.entries, K.rows);
}

template <class T> static void define(nb::module_ &m) {
    m.def("apply", &apply<T>, "values"_a, "shape"_a = "identity", "p"_a = 0.0, "q"_a = 0.0, "degree"_a = 1);
    m.def("of_products", &of_products<T>, "products"_a, "A"_a, "B"_a, "a"_a, "b"_a, "shape"_a = "identity", "p"_a = 0.0,
          "q"_a = 0.0, "degree"_a = 1);
    m.def("of_sums", &of_sums<T>, "out"_a, "A"_a, "B"_a, "terms"_a, "shape"_a = "identity", "p"_a = 0.0, "q"_a = 0.0,
          "degree"_a = 1);
    m.def("mirror", &mirror<T>, "out"_a, "values"_a);
}

NB_MODULE(_compiled, m) {
    array_type = nb::object(nb::module_::import_("numpy").attr("ndarray")).release();
    m.def("instruction_sets", &instruction_sets);
    m.def("choose", &choose, "name"_a);
    m.def("in_use", &in_use);
    m.def("worst_triple", &worst_triple_of, "K"_a);
    define<double>(m);
    define<float>(m);
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

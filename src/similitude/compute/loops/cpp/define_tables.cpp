// The Python face of the loops over the rows of tables.
#include "checks.hpp"

// Numbers and keys.
using Columns = std::tuple<In<double>, In<std::int64_t>>;

static Mixed mixed(const Columns &columns, std::size_t rows, const char *problem) {
    const auto &[numbers, keys] = columns;
    require(numbers.rows == rows && keys.rows == rows, problem);
    return {numbers, keys};
}

static void gower(const Out<double> &out, const Columns &A, const Columns &B) {
    const Mixed a = mixed(A, out.rows, "numbers and keys of A need one row for each row of out");
    const Mixed b = mixed(B, out.columns, "numbers and keys of B need one row for each column of out");
    require(a.numbers.columns == b.numbers.columns && a.keys.columns == b.keys.columns,
            "A and B need the same number of columns");
    nb::gil_scoped_release release;
    table().gower(out, a, b);
}

void define_tables(nb::module_ &m) { m.def("gower", &gower, "out"_a, "A"_a, "B"_a); }

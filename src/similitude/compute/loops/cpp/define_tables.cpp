// The Python face of the loops over the rows of tables.
#include "arguments.hpp"

using Key = std::int64_t;

static void gower(const Out<double> &result, const In<double> &a_numbers, const In<Key> &a_keys,
                  const In<double> &b_numbers, const In<Key> &b_keys) {
    const Matrix<double> to = out<double>(result);
    nb::gil_scoped_release release;
    table().gower(to, {in<double>(a_numbers), in<Key>(a_keys)}, {in<double>(b_numbers), in<Key>(b_keys)});
}

void define_tables(nb::module_ &m) {
    using nb::arg;
    m.def("gower", &gower, arg("out").noconvert(), arg("a_numbers").noconvert(), arg("a_keys").noconvert(),
          arg("b_numbers").noconvert(), arg("b_keys").noconvert());
}

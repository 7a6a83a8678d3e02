// The Python face of the loops over sets.
#include "arguments.hpp"

static SetValue value_of(int value) {
    require(value >= 0 && value <= static_cast<int>(SetValue::any), "unknown value");
    return static_cast<SetValue>(value);
}

static void require_sizes(Matrix<double> to, const InRow<double> &a, const InRow<double> &b) {
    require(a.shape(0) == to.rows && b.shape(0) == to.columns, "one size for each row and column of out");
}

static void shared_bits(const Out<double> &result, const In<std::uint64_t> &A, const In<std::uint64_t> &B,
                        const InRow<double> &a, const InRow<double> &b, int value) {
    const Matrix<double> to = out<double>(result);
    const SetValue wanted = value_of(value);
    require(A.shape(0) == to.rows && B.shape(0) == to.columns, "one row of A and of B for each row and column of out");
    require(A.shape(1) == B.shape(1), "A and B need the same number of columns");
    require_sizes(to, a, b);
    nb::gil_scoped_release release;
    table().shared_bits(to, in<std::uint64_t>(A), in<std::uint64_t>(B), a.data(), b.data(), wanted);
}

static void of_shared(const Out<double> &result, const InRow<double> &a, const InRow<double> &b, int value) {
    const Matrix<double> to = out<double>(result);
    const SetValue wanted = value_of(value);
    require_sizes(to, a, b);
    nb::gil_scoped_release release;
    table().of_shared(to, a.data(), b.data(), wanted);
}

void define_sets(nb::module_ &m) {
    using nb::arg;
    m.def("shared_bits", &shared_bits, arg("out").noconvert(), arg("A").noconvert(), arg("B").noconvert(),
          arg("a").noconvert(), arg("b").noconvert(), arg("value"));
    m.def("of_shared", &of_shared, arg("out").noconvert(), arg("a").noconvert(), arg("b").noconvert(), arg("value"));
}

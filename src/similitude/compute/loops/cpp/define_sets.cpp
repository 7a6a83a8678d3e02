// The Python face of the loops over sets.
#include "arguments.hpp"

static void shared_bits(const Out<double> &result, const In<std::uint64_t> &A, const In<std::uint64_t> &B,
                        const InRow<double> &a, const InRow<double> &b, int value) {
    const Matrix<double> to = out<double>(result);
    const auto wanted = static_cast<SetValue>(value);
    nb::gil_scoped_release release;
    table().shared_bits(to, in<std::uint64_t>(A), in<std::uint64_t>(B), a.data(), b.data(), wanted);
}

static void of_shared(const Out<double> &result, const InRow<double> &a, const InRow<double> &b, int value) {
    const Matrix<double> to = out<double>(result);
    const auto wanted = static_cast<SetValue>(value);
    nb::gil_scoped_release release;
    table().of_shared(to, a.data(), b.data(), wanted);
}

void define_sets(nb::module_ &m) {
    using nb::arg;
    m.def("shared_bits", &shared_bits, arg("out").noconvert(), arg("A").noconvert(), arg("B").noconvert(),
          arg("a").noconvert(), arg("b").noconvert(), arg("value"));
    m.def("of_shared", &of_shared, arg("out").noconvert(), arg("a").noconvert(), arg("b").noconvert(), arg("value"));
}

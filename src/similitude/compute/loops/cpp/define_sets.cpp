// The Python face of the loops over sets.
#include <algorithm>
#include <tuple>

#include <nanobind/stl/tuple.h>

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

constexpr std::size_t rows_of_tile = 64, columns_of_tile = 256;

using Found = std::tuple<Owned<std::int64_t>, Owned<std::int64_t>, Owned<double>>;

static Found candidates(const In<std::uint64_t> &A, const InRow<double> &a, const InRow<double> &spare_a,
                        const In<std::uint64_t> &B, const InRow<double> &b, const InRow<double> &spare_b,
                        const InRow<double> &floors, int bound) {
    const SignedSets rows{in<std::uint64_t>(A), a.data(), spare_a.data()};
    const SignedSets columns{in<std::uint64_t>(B), b.data(), spare_b.data()};
    const auto wanted = static_cast<SetBound>(bound);
    std::vector<std::int64_t> i, j;
    std::vector<double> bounds;
    {
        nb::gil_scoped_release release;
        std::vector<double> common(rows_of_tile * columns_of_tile);
        std::vector<Candidate> found(common.size());
        for (std::size_t first = 0; first < A.shape(0); first += rows_of_tile)
            for (std::size_t left = 0; left < B.shape(0); left += columns_of_tile) {
                const SignedSets some = rows.piece(first, std::min(rows_of_tile, A.shape(0) - first));
                const SignedSets others = columns.piece(left, std::min(columns_of_tile, B.shape(0) - left));
                const std::size_t count = table().candidates(some, others, floors.data() + first, wanted,
                                                             common.data(), found.data());
                for (std::size_t k = 0; k < count; ++k) {
                    i.push_back(static_cast<std::int64_t>(first) + found[k].i);
                    j.push_back(static_cast<std::int64_t>(left) + found[k].j);
                    bounds.push_back(found[k].bound);
                }
            }
    }
    return {owned(std::move(i)), owned(std::move(j)), owned(std::move(bounds))};
}

void define_sets(nb::module_ &m) {
    using nb::arg;
    m.def("shared_bits", &shared_bits, arg("out").noconvert(), arg("A").noconvert(), arg("B").noconvert(),
          arg("a").noconvert(), arg("b").noconvert(), arg("value"));
    m.def("candidates", &candidates, arg("A").noconvert(), arg("a").noconvert(), arg("spare_a").noconvert(),
          arg("B").noconvert(), arg("b").noconvert(), arg("spare_b").noconvert(), arg("floors").noconvert(),
          arg("bound"));
    m.def("of_shared", &of_shared, arg("out").noconvert(), arg("a").noconvert(), arg("b").noconvert(), arg("value"));
}

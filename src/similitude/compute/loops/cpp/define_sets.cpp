// The Python face of the loops over sets.
#include "checks.hpp"

using Word = std::uint64_t;

static SetValue value_of(std::string_view value) {
    static constexpr const char *values[] = {"count", "share", "any"};
    return static_cast<SetValue>(number_of("value", values, value));
}

static void require_sizes(const Out<double> &out, const InRow<double> &a, const InRow<double> &b) {
    require(a.size() == out.rows && b.size() == out.columns, "a and b need one size for each row and column of out");
}

static void shared_bits(const Out<double> &out, const In<Word> &A, const In<Word> &B, const InRow<double> &a,
                        const InRow<double> &b, std::string_view value) {
    require_rows(out, A.rows, B.rows);
    require(A.columns == B.columns, "A and B need the same number of columns");
    require_sizes(out, a, b);
    const SetValue wanted = value_of(value);
    nb::gil_scoped_release release;
    table().shared_bits(out, A, B, a.data(), b.data(), wanted);
}

static void of_shared(const Out<double> &out, const InRow<double> &a, const InRow<double> &b, std::string_view value) {
    require_sizes(out, a, b);
    const SetValue wanted = value_of(value);
    nb::gil_scoped_release release;
    table().of_shared(out, a.data(), b.data(), wanted);
}

constexpr std::size_t rows_of_tile = 64, columns_of_tile = 256;

struct Pair {
    std::int64_t i, j;
    double bound;
};

static std::vector<Pair> pairs_of(const SignedSets &A, const SignedSets &B, const double *floors, SetBound bound) {
    std::vector<Pair> pairs;
    std::vector<double> common(rows_of_tile * columns_of_tile);
    std::vector<Candidate> found(common.size());
    for (std::size_t first = 0; first < A.words.rows; first += rows_of_tile)
        for (std::size_t left = 0; left < B.words.rows; left += columns_of_tile) {
            const SignedSets some = A.piece(first, std::min(rows_of_tile, A.words.rows - first));
            const SignedSets others = B.piece(left, std::min(columns_of_tile, B.words.rows - left));
            const std::size_t count =
                table().candidates(some, others, floors + first, bound, common.data(), found.data());
            for (std::size_t k = 0; k < count; ++k)
                pairs.push_back({static_cast<std::int64_t>(first) + found[k].i,
                                 static_cast<std::int64_t>(left) + found[k].j, found[k].bound});
        }
    std::sort(pairs.begin(), pairs.end(),
              [](const Pair &one, const Pair &other) { return std::tie(one.i, one.j) < std::tie(other.i, other.j); });
    return pairs;
}

static nb::tuple candidates(const In<Word> &A, const InRow<double> &a, const InRow<double> &spare_a, const In<Word> &B,
                            const InRow<double> &b, const InRow<double> &spare_b, const InRow<double> &floors,
                            std::string_view bound) {
    require(A.columns == B.columns, "A and B need the same number of columns");
    require(a.size() == A.rows, "one of a for each row of A");
    require(spare_a.size() == A.rows, "one of spare_a for each row of A");
    require(floors.size() == A.rows, "one of floors for each row of A");
    require(b.size() == B.rows, "one of b for each row of B");
    require(spare_b.size() == B.rows, "one of spare_b for each row of B");
    static constexpr const char *bounds[] = {"share_of_all", "share_of_larger"};
    const auto wanted = static_cast<SetBound>(number_of("bound", bounds, bound));
    std::vector<std::int64_t> i, j;
    std::vector<double> values;
    {
        nb::gil_scoped_release release;
        for (const Pair &pair :
             pairs_of({A, a.data(), spare_a.data()}, {B, b.data(), spare_b.data()}, floors.data(), wanted)) {
            i.push_back(pair.i);
            j.push_back(pair.j);
            values.push_back(pair.bound);
        }
    }
    return nb::make_tuple(owned(std::move(i)), owned(std::move(j)), owned(std::move(values)));
}

void define_sets(nb::module_ &m) {
    m.def("shared_bits", &shared_bits, "out"_a, "A"_a, "B"_a, "a"_a, "b"_a, "value"_a);
    m.def("candidates", &candidates, "A"_a, "a"_a, "spare_a"_a, "B"_a, "b"_a, "spare_b"_a, "floors"_a, "bound"_a);
    m.def("of_shared", &of_shared, "out"_a, "a"_a, "b"_a, "value"_a);
}

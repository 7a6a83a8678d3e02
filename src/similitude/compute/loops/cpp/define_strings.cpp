// The Python face of the loops over strings.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arguments.hpp"
#include "codes.hpp"

using nb::arg;
using Integers = InRow<std::int64_t>;
using Found = std::tuple<Owned<Code>, Owned<std::int64_t>, Owned<std::int64_t>, Owned<std::int64_t>>;

static Strings strings_of(const InRow<std::uint32_t> &text, const Integers &starts) {
    check_starts(starts, text.shape(0));
    return {text.data(), starts.data(), starts.shape(0) - 1};
}

static Patterns patterns_of(const Integers &positions, const Integers &starts, const Integers &spans) {
    check_starts(starts, positions.shape(0));
    require(starts.shape(0) == spans.shape(0) + 1, "one span for each pattern");
    for (std::size_t q = 0; q < spans.shape(0); ++q)
        for (std::int64_t t = starts.data()[q]; t < starts.data()[q + 1]; ++t)
            require(positions.data()[t] >= 0 && positions.data()[t] < spans.data()[q], "positions must lie in the span");
    return {positions.data(), starts.data(), spans.data(), spans.shape(0)};
}

static Found found(Bagged &&bagged) {
    return {owned(std::move(bagged.codes)), owned(std::move(bagged.counts)), owned(std::move(bagged.places)),
            owned(std::move(bagged.starts))};
}

static Found windows(const InRow<std::uint32_t> &text, const Integers &starts, const Integers &positions,
                     const Integers &pattern_starts, const Integers &spans) {
    const Strings strings = strings_of(text, starts);
    const Patterns patterns = patterns_of(positions, pattern_starts, spans);
    Bagged bagged;
    {
        nb::gil_scoped_release release;
        bagged = bag_windows(strings, patterns);
    }
    return found(std::move(bagged));
}

static Found neighbors(const InRow<std::uint32_t> &text, const Integers &starts, std::size_t letters,
                        std::size_t length, std::size_t most) {
    const Strings strings = strings_of(text, starts);
    Bagged bagged;
    {
        nb::gil_scoped_release release;
        bagged = bag_neighbors(strings, letters, length, most);
    }
    return found(std::move(bagged));
}

static Bags bags_of(const InRow<Code> &codes, const Integers &places, const Integers &starts,
                    const InRow<std::uint32_t> &text, const Integers &text_starts, const Patterns &patterns) {
    check_starts(starts, codes.shape(0));
    Strings strings{text.data(), text_starts.data(), starts.shape(0) - 1};
    bool looks = false;
    for (std::size_t f = 0; f < codes.shape(0); ++f)
        looks |= (codes.data()[f] & digested) != 0;
    if (looks) {
        strings = strings_of(text, text_starts);
        require(strings.count + 1 == starts.shape(0) && places.shape(0) == codes.shape(0), "digests need their windows");
        for (std::size_t i = 0; i < strings.count; ++i)
            for (std::int64_t f = starts.data()[i]; f < starts.data()[i + 1]; ++f) {
                if (!(codes.data()[f] & digested))
                    continue;
                const std::int64_t number = static_cast<std::int64_t>(patterns.count), place = places.data()[f];
                require(place >= 0 && place / number + patterns.spans[place % number] <= strings.length(i),
                        "a place lies outside its string");
            }
    }
    return {codes.data(), places.data(), starts.data(), starts.shape(0) - 1, strings};
}

static std::size_t shared(const InRow<Code> &codes_a, const Integers &places_a, const Integers &starts_a,
                          const InRow<std::uint32_t> &text_a, const Integers &text_starts_a,
                          const InRow<Code> &codes_b, const Integers &places_b, const Integers &starts_b,
                          const InRow<std::uint32_t> &text_b, const Integers &text_starts_b, const Integers &positions,
                          const Integers &pattern_starts, const Integers &spans, const OutRow<std::int32_t> &a,
                          const OutRow<std::int32_t> &b) {
    const Patterns patterns = patterns_of(positions, pattern_starts, spans);
    const Bags A = bags_of(codes_a, places_a, starts_a, text_a, text_starts_a, patterns);
    const Bags B = bags_of(codes_b, places_b, starts_b, text_b, text_starts_b, patterns);
    require(a.shape(0) == codes_a.shape(0) && b.shape(0) == codes_b.shape(0), "one number for each code");
    require(b.shape(0) < (std::size_t(1) << 31), "too many features in one block");
    nb::gil_scoped_release release;
    return number_shared(A, B, patterns, a.data(), b.data());
}

static void set_bits(const Out<std::uint64_t> &result, const InRow<std::int32_t> &numbers, const Integers &starts) {
    const Matrix<std::uint64_t> to = out<std::uint64_t>(result);
    check_starts(starts, numbers.shape(0));
    require(starts.shape(0) == to.rows + 1, "one row of out for each bag");
    for (std::size_t f = 0; f < numbers.shape(0); ++f)
        require(numbers.data()[f] < static_cast<std::int64_t>(64 * to.columns), "a number has no bit in out");
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < to.rows; ++i)
        for (std::int64_t f = starts.data()[i]; f < starts.data()[i + 1]; ++f)
            if (const std::int32_t number = numbers.data()[f]; number >= 0)
                to.row(i)[number / 64] |= std::uint64_t(1) << number % 64;
}

static Series<std::int32_t> letters_of(const InRow<std::int32_t> &text, const Integers &starts, std::size_t alphabet) {
    check_starts(starts, text.shape(0));
    for (std::size_t j = 0; j < text.shape(0); ++j)
        require(text.data()[j] >= 0 && static_cast<std::size_t>(text.data()[j]) < alphabet, "a letter outside the alphabet");
    return {text.data(), starts.data(), starts.shape(0) - 1, 1};
}

static void levenshtein(const Out<double> &result, const InRow<std::int32_t> &queries, const Integers &query_starts,
                        const InRow<std::int32_t> &targets, const Integers &target_starts, const Integers &order,
                        std::size_t alphabet, bool same) {
    const Matrix<double> to = out<double>(result);
    const Series<std::int32_t> A = letters_of(queries, query_starts, alphabet);
    const Series<std::int32_t> B = letters_of(targets, target_starts, alphabet);
    require(A.count == to.rows && B.count == to.columns, "one row and one column of out for each string");
    require(!same || A.count == B.count, "the same strings need as many rows as columns");
    require(order.shape(0) == B.count, "one place in the order for each target");
    for (std::size_t t = 0; t < B.count; ++t)
        require(order.data()[t] >= 0 && static_cast<std::size_t>(order.data()[t]) < B.count, "order names no target");
    nb::gil_scoped_release release;
    table().levenshtein(to, A, B, order.data(), alphabet, same);
}

void define_strings(nb::module_ &m) {
    m.def("windows", &windows, arg("text").noconvert(), arg("starts").noconvert(), arg("positions").noconvert(),
          arg("pattern_starts").noconvert(), arg("spans").noconvert());
    m.def("neighbors", &neighbors, arg("text").noconvert(), arg("starts").noconvert(), arg("letters"), arg("length"),
          arg("most"));
    m.def("shared", &shared);
    m.def("set_bits", &set_bits, arg("out").noconvert(), arg("numbers").noconvert(), arg("starts").noconvert());
    m.def("levenshtein", &levenshtein, arg("out").noconvert(), arg("queries").noconvert(), arg("query_starts").noconvert(),
          arg("targets").noconvert(), arg("target_starts").noconvert(), arg("order").noconvert(), arg("alphabet"),
          arg("same"));
}

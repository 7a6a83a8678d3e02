// The Python face of the loops over strings.
#include <nanobind/stl/tuple.h>

#include <tuple>

#include "arguments.hpp"
#include "codes.hpp"
#include "terms.hpp"

using nb::arg;
using Integers = InRow<std::int64_t>;
using Found = std::tuple<Owned<Code>, Owned<std::int64_t>, Owned<std::int64_t>, Owned<std::int64_t>>;

static Strings strings_of(const InRow<std::uint32_t> &text, const Integers &starts) {
    return {text.data(), starts.data(), starts.shape(0) - 1};
}

static Patterns patterns_of(const Integers &positions, const Integers &starts, const Integers &spans) {
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

using TermArrays =
    std::tuple<Owned<std::int64_t>, Owned<std::int32_t>, Owned<std::int64_t>, Owned<Code>, Owned<std::uint32_t>>;

static TermArrays terms(const InRow<std::uint32_t> &text, const Integers &starts, std::size_t words,
                        std::size_t shortest, std::size_t longest) {
    const Strings texts = strings_of(text, starts);
    TermBags bags;
    {
        nb::gil_scoped_release release;
        bags = bag_terms(texts, {words, shortest, longest});
    }
    return {owned(std::move(bags.starts)), owned(std::move(bags.columns)), owned(std::move(bags.counts)),
            owned(std::move(bags.keys)), owned(std::move(bags.names))};
}

static void term_keys(const InRow<std::uint32_t> &text, const Integers &starts, const OutRow<Code> &keys) {
    const Strings texts = strings_of(text, starts);
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < texts.count; ++i)
        keys.data()[i] = key_of(texts.begin(i), texts.begin(i) + texts.length(i));
}

// The strings are looked at where codes are digests only.
static Bags bags_of(const InRow<Code> &codes, const Integers &places, const Integers &starts,
                    const InRow<std::uint32_t> &text, const Integers &text_starts) {
    const std::size_t count = starts.shape(0) - 1;
    return {codes.data(), places.data(), starts.data(), count, {text.data(), text_starts.data(), count}};
}

static std::size_t shared(const InRow<Code> &codes_a, const Integers &places_a, const Integers &starts_a,
                          const InRow<std::uint32_t> &text_a, const Integers &text_starts_a,
                          const InRow<Code> &codes_b, const Integers &places_b, const Integers &starts_b,
                          const InRow<std::uint32_t> &text_b, const Integers &text_starts_b, const Integers &positions,
                          const Integers &pattern_starts, const Integers &spans, const OutRow<std::int32_t> &a,
                          const OutRow<std::int32_t> &b) {
    const Patterns patterns = patterns_of(positions, pattern_starts, spans);
    const Bags A = bags_of(codes_a, places_a, starts_a, text_a, text_starts_a);
    const Bags B = bags_of(codes_b, places_b, starts_b, text_b, text_starts_b);
    nb::gil_scoped_release release;
    return number_shared(A, B, patterns, a.data(), b.data());
}

static void set_bits(const Out<std::uint64_t> &result, const InRow<std::int32_t> &numbers, const Integers &starts) {
    const Matrix<std::uint64_t> to = out<std::uint64_t>(result);
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < to.rows; ++i)
        for (std::int64_t f = starts.data()[i]; f < starts.data()[i + 1]; ++f)
            if (const std::int32_t number = numbers.data()[f]; number >= 0)
                to.row(i)[number / 64] |= std::uint64_t(1) << number % 64;
}

static Series<std::int32_t> letters_of(const InRow<std::int32_t> &text, const Integers &starts) {
    return {text.data(), starts.data(), starts.shape(0) - 1, 1};
}

static void levenshtein(const Out<double> &result, const InRow<std::int32_t> &queries, const Integers &query_starts,
                        const InRow<std::int32_t> &targets, const Integers &target_starts, const Integers &order,
                        std::size_t alphabet, bool same) {
    const Matrix<double> to = out<double>(result);
    const Series<std::int32_t> A = letters_of(queries, query_starts), B = letters_of(targets, target_starts);
    nb::gil_scoped_release release;
    table().levenshtein(to, A, B, order.data(), alphabet, same);
}

static void levenshtein_pairs(const OutRow<double> &result, const InRow<std::int32_t> &queries,
                              const Integers &query_starts, const InRow<std::int32_t> &targets,
                              const Integers &target_starts, const Integers &i, const Integers &j,
                              std::size_t alphabet) {
    const Series<std::int32_t> A = letters_of(queries, query_starts), B = letters_of(targets, target_starts);
    nb::gil_scoped_release release;
    table().levenshtein_pairs(result.data(), A, B, i.data(), j.data(), i.shape(0), alphabet);
}

static void subsequences(const Out<double> &result, const InRow<std::int32_t> &queries, const Integers &query_starts,
                         const InRow<std::int32_t> &targets, const Integers &target_starts, const Integers &order,
                         std::size_t p, double decay, bool same) {
    const Matrix<double> to = out<double>(result);
    const Series<std::int32_t> A = letters_of(queries, query_starts), B = letters_of(targets, target_starts);
    nb::gil_scoped_release release;
    table().subsequences(to, A, B, order.data(), p, decay, same);
}

static void self_subsequences(const OutRow<double> &result, const InRow<std::int32_t> &text, const Integers &starts,
                              const Integers &order, std::size_t p, double decay) {
    const Series<std::int32_t> strings = letters_of(text, starts);
    nb::gil_scoped_release release;
    table().self_subsequences(result.data(), strings, order.data(), p, decay);
}

static void best_alignment(const Out<double> &result, const InRow<std::int32_t> &queries, const Integers &query_starts,
                           const InRow<std::int32_t> &targets, const Integers &target_starts, const Integers &order,
                           const In<double> &scores, double gap_open, double gap_extend, bool local, bool same) {
    const Matrix<double> to = out<double>(result);
    const Matrix<const double> of_pairs = in<double>(scores);
    const Series<std::int32_t> A = letters_of(queries, query_starts), B = letters_of(targets, target_starts);
    nb::gil_scoped_release release;
    table().best_alignment(to, A, B, order.data(), of_pairs, gap_open, gap_extend, local, same);
}

static void sum_alignments(const Out<double> &result, const InRow<std::int32_t> &queries, const Integers &query_starts,
                           const InRow<std::int32_t> &targets, const Integers &target_starts, const Integers &order,
                           const In<double> &factors, double gap_open, double gap_extend, bool same) {
    const Matrix<double> to = out<double>(result);
    const Matrix<const double> of_pairs = in<double>(factors);
    const Series<std::int32_t> A = letters_of(queries, query_starts), B = letters_of(targets, target_starts);
    nb::gil_scoped_release release;
    table().sum_alignments(to, A, B, order.data(), of_pairs, gap_open, gap_extend, same);
}

static void self_sum_alignments(const OutRow<double> &result, const InRow<std::int32_t> &text, const Integers &starts,
                                const Integers &order, const In<double> &factors, double gap_open, double gap_extend) {
    const Matrix<const double> of_pairs = in<double>(factors);
    const Series<std::int32_t> strings = letters_of(text, starts);
    nb::gil_scoped_release release;
    table().self_sum_alignments(result.data(), strings, order.data(), of_pairs, gap_open, gap_extend);
}

void define_strings(nb::module_ &m) {
    m.def("windows", &windows, arg("text").noconvert(), arg("starts").noconvert(), arg("positions").noconvert(),
          arg("pattern_starts").noconvert(), arg("spans").noconvert());
    m.def("neighbors", &neighbors, arg("text").noconvert(), arg("starts").noconvert(), arg("letters"), arg("length"),
          arg("most"));
    m.def("terms", &terms, arg("text").noconvert(), arg("starts").noconvert(), arg("words"), arg("shortest"),
          arg("longest"));
    m.def("term_keys", &term_keys, arg("text").noconvert(), arg("starts").noconvert(), arg("keys").noconvert());
    m.def("shared", &shared);
    m.def("set_bits", &set_bits, arg("out").noconvert(), arg("numbers").noconvert(), arg("starts").noconvert());
    m.def("levenshtein", &levenshtein, arg("out").noconvert(), arg("queries").noconvert(), arg("query_starts").noconvert(),
          arg("targets").noconvert(), arg("target_starts").noconvert(), arg("order").noconvert(), arg("alphabet"),
          arg("same"));
    m.def("levenshtein_pairs", &levenshtein_pairs, arg("out").noconvert(), arg("queries").noconvert(),
          arg("query_starts").noconvert(), arg("targets").noconvert(), arg("target_starts").noconvert(),
          arg("i").noconvert(), arg("j").noconvert(), arg("alphabet"));
    m.def("subsequences", &subsequences, arg("out").noconvert(), arg("queries").noconvert(),
          arg("query_starts").noconvert(), arg("targets").noconvert(), arg("target_starts").noconvert(),
          arg("order").noconvert(), arg("p"), arg("decay"), arg("same"));
    m.def("self_subsequences", &self_subsequences, arg("out").noconvert(), arg("text").noconvert(),
          arg("starts").noconvert(), arg("order").noconvert(), arg("p"), arg("decay"));
    m.def("best_alignment", &best_alignment, arg("out").noconvert(), arg("queries").noconvert(),
          arg("query_starts").noconvert(), arg("targets").noconvert(), arg("target_starts").noconvert(),
          arg("order").noconvert(), arg("scores").noconvert(), arg("gap_open"), arg("gap_extend"), arg("local"),
          arg("same"));
    m.def("sum_alignments", &sum_alignments, arg("out").noconvert(), arg("queries").noconvert(),
          arg("query_starts").noconvert(), arg("targets").noconvert(), arg("target_starts").noconvert(),
          arg("order").noconvert(), arg("factors").noconvert(), arg("gap_open"), arg("gap_extend"), arg("same"));
    m.def("self_sum_alignments", &self_sum_alignments, arg("out").noconvert(), arg("text").noconvert(),
          arg("starts").noconvert(), arg("order").noconvert(), arg("factors").noconvert(), arg("gap_open"),
          arg("gap_extend"));
}

// The Python face of the loops over strings.
#include "checks.hpp"
#include "codes.hpp"
#include "terms.hpp"

using Integers = InRow<std::int64_t>;
using Text = InRow<std::uint32_t>;
using PatternArrays = std::tuple<Integers, Integers, Integers>; // positions, starts, spans

constexpr std::int64_t most_letters = std::int64_t(1) << 31;
constexpr double most_neighbors = 100'000; // each of these words is a feature
constexpr std::int64_t longest_subsequence = 1'000; // the sums for all shorter ones are held at once
constexpr double smallest_factor = 1e-100, largest_factor = 1e100;

static Strings strings_of(const Text &text, const Integers &starts) {
    require_starts("starts", starts, text.size());
    return {text.data(), starts.data(), starts.size() - 1};
}

static Patterns patterns_of(const PatternArrays &given) {
    const auto &[positions, starts, spans] = given;
    require_starts("starts of patterns", starts, positions.size());
    require(starts.size() == spans.size() + 1, "spans need one span for each pattern");
    const Patterns patterns{positions.data(), starts.data(), spans.data(), spans.size()};
    for (std::size_t q = 0; q < patterns.count; ++q) {
        require(spans[q] >= 0 && spans[q] < std::int64_t(1) << 32, "spans must be from 0 to 2^32 - 1");
        for (std::size_t t = 0; t < patterns.size(q); ++t)
            require(patterns.of(q)[t] >= 0 && patterns.of(q)[t] < spans[q], "positions must lie in the span");
    }
    return patterns;
}

// An object of one of the record types that Python and C++ share.
template <class... Fields> static nb::object record(const char *type, Fields &&...fields) {
    return nb::module_::import_("similitude.compute.loops.arguments").attr(type)(std::forward<Fields>(fields)...);
}

static nb::object bag_arrays(Bagged &&bagged, const Text &text, const Integers &starts) {
    return record("BagArrays", owned(std::move(bagged.codes)), owned(std::move(bagged.counts)),
                  owned(std::move(bagged.places)), owned(std::move(bagged.starts)), text.given, starts.given);
}

static nb::object window_bags(const Text &text, const Integers &starts, const PatternArrays &given) {
    const Strings strings = strings_of(text, starts);
    const Patterns patterns = patterns_of(given);
    Bagged bagged;
    {
        nb::gil_scoped_release release;
        bagged = bag_windows(strings, patterns);
    }
    return bag_arrays(std::move(bagged), text, starts);
}

// The number of words that differ from one of this length at no more than `most` positions.
static double words_near(std::int64_t letters, std::int64_t length, std::int64_t most) {
    double sum = 1, term = 1;
    for (std::int64_t j = 1; letters > 1 && j <= std::min(most, length); ++j) {
        term *= static_cast<double>(length - j + 1) / static_cast<double>(j) * static_cast<double>(letters - 1);
        sum += std::round(term);
    }
    return sum;
}

static nb::object neighbor_bags(const Text &text, const Integers &starts, Whole letters, Whole length, Whole most) {
    const Strings strings = strings_of(text, starts);
    require_range("letters", letters, 0, std::int64_t(1) << 32);
    require_range("length", length, 1, 62); // with two letters or more, the codes of longer words have more than 63 bits
    require_range("most", most, 0, 62);
    std::int64_t words = 1;
    for (std::int64_t t = 0; t < length && letters > 0; ++t) {
        require(words <= std::numeric_limits<std::int64_t>::max() / letters, "there must be fewer than 2^63 words");
        words *= letters;
    }
    require(words_near(letters, length, most) <= most_neighbors, "too many words are near each window");
    Bagged bagged;
    {
        nb::gil_scoped_release release;
        bagged = bag_neighbors(strings, static_cast<std::size_t>(letters), static_cast<std::size_t>(length),
                               static_cast<std::size_t>(most));
    }
    return bag_arrays(std::move(bagged), text, starts);
}

static void require_code_points(const Text &text) {
    require(std::all_of(text.begin(), text.end(), [](std::uint32_t letter) { return letter < 0x110000; }),
            "text must be code points");
}

static nb::object term_bags(const Text &text, const Integers &starts, Whole words, Whole shortest, Whole longest) {
    const Strings texts = strings_of(text, starts);
    require_code_points(text);
    require(text.size() < static_cast<std::size_t>(most_letters), "text has too many letters for one block");
    require_range("words", words, 0, most_letters - 1);
    require_range("shortest", shortest, 1, most_letters - 1);
    require_range("longest", longest, 0, most_letters - 1);
    TermBags bags;
    {
        nb::gil_scoped_release release;
        bags = bag_terms(texts, {static_cast<std::size_t>(words), static_cast<std::size_t>(shortest),
                                 static_cast<std::size_t>(longest)});
    }
    return record("TermArrays", owned(std::move(bags.starts)), owned(std::move(bags.columns)),
                  owned(std::move(bags.counts)), owned(std::move(bags.keys)), owned(std::move(bags.names)));
}

static Owned<Code> term_keys(const Text &text, const Integers &starts) {
    const Strings texts = strings_of(text, starts);
    require_code_points(text);
    std::vector<Code> keys(texts.count);
    {
        nb::gil_scoped_release release;
        for (std::size_t i = 0; i < texts.count; ++i)
            keys[i] = key_of(texts.begin(i), texts.begin(i) + texts.length(i));
    }
    return owned(std::move(keys));
}

// Codes, counts, places, starts, text and its starts.
using BagArrays = std::tuple<InRow<Code>, nb::object, Integers, Integers, Text, Integers>;

// The windows of digests lie in their strings.
static void require_windows(const Bags &bags, const BagArrays &given, const Patterns &patterns) {
    const auto &[codes, counts, places, starts, text, text_starts] = given;
    const auto number = static_cast<std::int64_t>(patterns.count);
    bool checked = false;
    for (std::size_t i = 0; i < bags.count; ++i)
        for (std::int64_t f = starts[i]; f < starts[i + 1]; ++f) {
            if (codes[static_cast<std::size_t>(f)] < digested)
                continue;
            if (!checked) {
                require(number > 0 && text_starts.size() == starts.size() && places.size() == codes.size(),
                        "digests need their windows in places, text and text_starts");
                require_starts("text_starts", text_starts, text.size());
                checked = true;
            }
            const std::int64_t place = places[static_cast<std::size_t>(f)];
            const bool inside = place >= 0 && place / number <= bags.strings.length(i) - patterns.spans[place % number];
            require(inside, "a place lies outside of its string");
        }
}

// The strings are looked at where codes are digests only.
static Bags bags_of(const BagArrays &given, const Patterns &patterns) {
    const auto &[codes, counts, places, starts, text, text_starts] = given;
    require_starts("starts", starts, codes.size());
    const std::size_t count = starts.size() - 1;
    const Bags bags{codes.data(), places.data(), starts.data(), count, {text.data(), text_starts.data(), count}};
    require_windows(bags, given, patterns);
    return bags;
}

static nb::tuple shared_features(const BagArrays &A, const BagArrays &B, const PatternArrays &given) {
    const Patterns patterns = patterns_of(given);
    const Bags bags = bags_of(A, patterns), others = bags_of(B, patterns);
    require(std::get<0>(B).size() < std::size_t(1) << 31, "B has too many features for one block");
    std::vector<std::int32_t> a(std::get<0>(A).size()), b(std::get<0>(B).size());
    std::size_t count = 0;
    {
        nb::gil_scoped_release release;
        count = number_shared(bags, others, patterns, a.data(), b.data());
    }
    return nb::make_tuple(owned(std::move(a)), owned(std::move(b)), count);
}

static void set_bits(const Out<std::uint64_t> &out, const InRow<std::int32_t> &numbers, const Integers &starts) {
    require_starts("starts", starts, numbers.size());
    require(starts.size() == out.rows + 1, "one row of out for each bag");
    for (const std::int32_t number : numbers)
        require(number < 0 || static_cast<std::size_t>(number) / 64 < out.columns, "numbers has no bit in out");
    nb::gil_scoped_release release;
    for (std::size_t i = 0; i < out.rows; ++i)
        for (std::int64_t f = starts[i]; f < starts[i + 1]; ++f)
            if (const std::int32_t number = numbers[static_cast<std::size_t>(f)]; number >= 0)
                out.row(i)[number / 64] |= std::uint64_t(1) << number % 64;
}

using Letters = InRow<std::int32_t>;

static Series<std::int32_t> letters_of(const Letters &text, const Integers &starts) {
    require_starts("starts", starts, text.size());
    require(std::all_of(text.begin(), text.end(), [](std::int32_t letter) { return letter >= 0; }),
            "letters must be numbered from 0 on");
    return {text.data(), starts.data(), starts.size() - 1, 1};
}

// Strings of both sides; their pairs have places in `out`.
struct StringPairs {
    Series<std::int32_t> queries, targets;
    std::vector<std::int64_t> order; // the targets by length
};

static StringPairs pairs_of(const Out<double> &out, const Letters &queries, const Integers &query_starts,
                            const Letters &targets, const Integers &target_starts, bool same) {
    const Series<std::int32_t> A = letters_of(queries, query_starts), B = letters_of(targets, target_starts);
    require(out.rows == A.count && out.columns == B.count, "one row and column of out for each string");
    require(!same || (same_values(query_starts, target_starts) && same_values(queries, targets)),
            "same needs queries and targets to be the same");
    return {A, B, by_length(target_starts)};
}

// One more than the largest letter: tables have an entry for each, so there must be no large gaps.
static std::size_t alphabet_of(const Letters &queries, const Letters &targets) {
    std::int32_t largest = -1;
    for (const Letters *text : {&queries, &targets})
        for (const std::int32_t letter : *text)
            largest = std::max(largest, letter);
    const auto alphabet = static_cast<std::size_t>(largest + std::int64_t(1));
    require(alphabet <= queries.size() + targets.size() + 1, "letters must be numbered without large gaps");
    return alphabet;
}

static void levenshtein(const Out<double> &out, const Letters &queries, const Integers &query_starts,
                        const Letters &targets, const Integers &target_starts, bool same) {
    const std::size_t alphabet = alphabet_of(queries, targets);
    const StringPairs pairs = pairs_of(out, queries, query_starts, targets, target_starts, same);
    nb::gil_scoped_release release;
    table().levenshtein(out, pairs.queries, pairs.targets, pairs.order.data(), alphabet, same);
}

static void levenshtein_pairs(const OutRow<double> &out, const Letters &queries, const Integers &query_starts,
                              const Letters &targets, const Integers &target_starts, const Integers &i,
                              const Integers &j) {
    const Series<std::int32_t> A = letters_of(queries, query_starts), B = letters_of(targets, target_starts);
    require_inside(i, A.count, "i must number strings");
    require_inside(j, B.count, "j must number strings");
    require(out.size() == i.size() && j.size() == i.size(), "one entry of out, i and j for each pair");
    const std::size_t alphabet = alphabet_of(queries, targets);
    nb::gil_scoped_release release;
    table().levenshtein_pairs(out.data(), A, B, i.data(), j.data(), i.size(), alphabet);
}

static void require_decay(std::int64_t p, double decay) {
    require_range("p", p, 1, longest_subsequence);
    require(decay > 0 && decay <= 1, "decay must be above 0 and at most 1");
}

static void subsequences(const Out<double> &out, const Letters &queries, const Integers &query_starts,
                         const Letters &targets, const Integers &target_starts, Whole p, Number decay, bool same) {
    const StringPairs pairs = pairs_of(out, queries, query_starts, targets, target_starts, same);
    require_decay(p, decay);
    nb::gil_scoped_release release;
    table().subsequences(out, pairs.queries, pairs.targets, pairs.order.data(), static_cast<std::size_t>(p), decay, same);
}

static Owned<double> self_subsequences(const Letters &text, const Integers &starts, Whole p, Number decay) {
    const Series<std::int32_t> strings = letters_of(text, starts);
    require_decay(p, decay);
    const std::vector<std::int64_t> order = by_length(starts);
    std::vector<double> found(strings.count);
    {
        nb::gil_scoped_release release;
        table().self_subsequences(found.data(), strings, order.data(), static_cast<std::size_t>(p), decay);
    }
    return owned(std::move(found));
}

static void require_scores(const In<double> &scores, const Letters &text) {
    require(scores.rows == scores.columns, "scores need a row and a column for each letter");
    require_inside(text, scores.rows, "a letter has no row in the table of scores");
}

static void best_alignment(const Out<double> &out, const Letters &queries, const Integers &query_starts,
                           const Letters &targets, const Integers &target_starts, const In<double> &scores,
                           Number gap_open, Number gap_extend, bool local, bool same) {
    const StringPairs pairs = pairs_of(out, queries, query_starts, targets, target_starts, same);
    require_scores(scores, queries);
    require_scores(scores, targets);
    nb::gil_scoped_release release;
    table().best_alignment(out, pairs.queries, pairs.targets, pairs.order.data(), scores, gap_open, gap_extend, local,
                           same);
}

static void require_factors(const In<double> &factors, double gap_open, double gap_extend) {
    const auto held = [](double factor) { return factor >= smallest_factor && factor <= largest_factor; };
    require(std::all_of(factors.begin(), factors.end(), held), "factors must be from 1e-100 to 1e+100");
    require(held(gap_open) && gap_open <= 1 && held(gap_extend) && gap_extend <= 1, "gaps must be from 1e-100 to 1");
}

static void sum_alignments(const Out<double> &out, const Letters &queries, const Integers &query_starts,
                           const Letters &targets, const Integers &target_starts, const In<double> &factors,
                           Number gap_open, Number gap_extend, bool same) {
    const StringPairs pairs = pairs_of(out, queries, query_starts, targets, target_starts, same);
    require_scores(factors, queries);
    require_scores(factors, targets);
    require_factors(factors, gap_open, gap_extend);
    nb::gil_scoped_release release;
    table().sum_alignments(out, pairs.queries, pairs.targets, pairs.order.data(), factors, gap_open, gap_extend, same);
}

static Owned<double> self_sum_alignments(const Letters &text, const Integers &starts, const In<double> &factors,
                                         Number gap_open, Number gap_extend) {
    const Series<std::int32_t> strings = letters_of(text, starts);
    require_scores(factors, text);
    require_factors(factors, gap_open, gap_extend);
    const std::vector<std::int64_t> order = by_length(starts);
    std::vector<double> found(strings.count);
    {
        nb::gil_scoped_release release;
        table().self_sum_alignments(found.data(), strings, order.data(), factors, gap_open, gap_extend);
    }
    return owned(std::move(found));
}

void define_strings(nb::module_ &m) {
    const auto same = "same"_a = false;
    m.def("window_bags", &window_bags, "text"_a, "starts"_a, "patterns"_a);
    m.def("neighbor_bags", &neighbor_bags, "text"_a, "starts"_a, "letters"_a, "length"_a, "most"_a);
    m.def("term_bags", &term_bags, "text"_a, "starts"_a, "words"_a, "shortest"_a = 1, "longest"_a = 0);
    m.def("term_keys", &term_keys, "text"_a, "starts"_a);
    m.def("shared_features", &shared_features, "A"_a, "B"_a, "patterns"_a);
    m.def("set_bits", &set_bits, "out"_a, "numbers"_a, "starts"_a);
    m.def("levenshtein", &levenshtein, "out"_a, "queries"_a, "query_starts"_a, "targets"_a, "target_starts"_a, same);
    m.def("levenshtein_pairs", &levenshtein_pairs, "out"_a, "queries"_a, "query_starts"_a, "targets"_a,
          "target_starts"_a, "i"_a, "j"_a);
    m.def("subsequences", &subsequences, "out"_a, "queries"_a, "query_starts"_a, "targets"_a, "target_starts"_a, "p"_a,
          "decay"_a, same);
    m.def("self_subsequences", &self_subsequences, "text"_a, "starts"_a, "p"_a, "decay"_a);
    m.def("best_alignment", &best_alignment, "out"_a, "queries"_a, "query_starts"_a, "targets"_a, "target_starts"_a,
          "scores"_a, "gap_open"_a, "gap_extend"_a, "local"_a = false, same);
    m.def("sum_alignments", &sum_alignments, "out"_a, "queries"_a, "query_starts"_a, "targets"_a, "target_starts"_a,
          "factors"_a, "gap_open"_a, "gap_extend"_a, same);
    m.def("self_sum_alignments", &self_sum_alignments, "text"_a, "starts"_a, "factors"_a, "gap_open"_a, "gap_extend"_a);
}

// Runs the compiled loops without Python: on cases that tools/loop_cases.py wrote, with what the readable loops gave.
//
//     check_loops CASES [THREADS]
//
// With several threads, all of them run all cases at the same time, on the same inputs. Used under the thread sanitizer,
// and for processors that are emulated. SIMD_NAMESPACE is the instruction set.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "channels.hpp"
#include "codes.hpp"
#include "exact.hpp"
#include "graphlets.hpp"
#include "graphs.hpp"
#include "keyed.hpp"
#include "table.hpp"
#include "terms.hpp"
#include "walks.hpp"

DECLARE_TABLE(SIMD_NAMESPACE)
static const Table &table = SIMD_NAMESPACE::table;

// An array with its type: f float, d double, i int32, l int64, u uint32, w uint64.
struct Array {
    char type = 'd';
    std::vector<std::uint64_t> shape;
    std::vector<char> bytes;

    std::size_t size() const {
        std::size_t n = 1;
        for (const std::uint64_t length : shape)
            n *= length;
        return n;
    }
    template <class T> const T *as() const { return reinterpret_cast<const T *>(bytes.data()); }
    template <class T> T *as() { return reinterpret_cast<T *>(bytes.data()); }
    double number() const { return type == 'l' ? static_cast<double>(*as<std::int64_t>()) : *as<double>(); }
    std::int64_t whole() const { return type == 'l' ? *as<std::int64_t>() : static_cast<std::int64_t>(*as<double>()); }
};

template <class T> static Matrix<const T> in(const Array &a) {
    return {a.as<T>(), a.shape[0], a.shape[1], static_cast<std::ptrdiff_t>(a.shape[1])};
}
template <class T> static Matrix<T> out(Array &a) {
    return {a.as<T>(), a.shape[0], a.shape[1], static_cast<std::ptrdiff_t>(a.shape[1])};
}

template <class T> static Array array(char type, const std::vector<T> &values) {
    Array made{type, {values.size()}, std::vector<char>(values.size() * sizeof(T))};
    std::copy(values.begin(), values.end(), made.as<T>());
    return made;
}

using Arrays = std::vector<Array>;

struct Case {
    std::string loop;
    Arrays given, expected;
    double tolerance;
};

template <class T> static T read(std::ifstream &file) {
    T value;
    file.read(reinterpret_cast<char *>(&value), sizeof value);
    return value;
}

static Array read_array(std::ifstream &file) {
    Array made{read<char>(file), {}, {}};
    made.shape.resize(read<std::uint64_t>(file));
    for (std::uint64_t &length : made.shape)
        length = read<std::uint64_t>(file);
    made.bytes.resize(made.size() * (made.type == 'f' || made.type == 'i' || made.type == 'u' ? 4 : 8));
    file.read(made.bytes.data(), static_cast<std::streamsize>(made.bytes.size()));
    return made;
}

static std::vector<Case> read_cases(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<Case> cases(read<std::uint64_t>(file));
    for (Case &one : cases) {
        one.loop.resize(read<std::uint64_t>(file));
        file.read(one.loop.data(), static_cast<std::streamsize>(one.loop.size()));
        for (Arrays *arrays : {&one.given, &one.expected}) {
            arrays->resize(read<std::uint64_t>(file));
            for (Array &array : *arrays)
                array = read_array(file);
        }
        one.tolerance = read<double>(file);
    }
    if (!file || cases.empty()) {
        std::fprintf(stderr, "%s cannot be read\n", path);
        std::exit(2);
    }
    return cases;
}

// What the arguments of loops stand for.

template <class T> static const Functions<T> &functions();
template <> const Functions<float> &functions<float>() { return table.singles; }
template <> const Functions<double> &functions<double>() { return table.doubles; }

static Form form(const Arrays &a, std::size_t at) {
    return {static_cast<Shape>(a[at].whole()), a[at + 1].number(), a[at + 2].number(),
            static_cast<unsigned>(a[at + 3].whole())};
}
template <class T> static Sparse<T> sparse(const Arrays &a, std::size_t at) {
    return {a[at].as<T>(), a[at + 1].as<std::int32_t>(), a[at + 2].as<std::int64_t>(), a[at + 2].size() - 1};
}
template <class T> static Series<T> series(const Arrays &a, std::size_t at) {
    const std::size_t channels = a[at].shape.size() == 2 ? a[at].shape[1] : 1;
    return {a[at].as<T>(), a[at + 1].as<std::int64_t>(), a[at + 1].size() - 1, channels};
}
static Strings strings(const Arrays &a, std::size_t at) {
    return {a[at].as<std::uint32_t>(), a[at + 1].as<std::int64_t>(), a[at + 1].size() - 1};
}
static Patterns patterns(const Arrays &a, std::size_t at) {
    return {a[at].as<std::int64_t>(), a[at + 1].as<std::int64_t>(), a[at + 2].as<std::int64_t>(), a[at + 2].size()};
}
static Bags bags(const Arrays &a, std::size_t at) { // codes, counts, places, starts, text, starts of the text
    const std::size_t count = a[at + 3].size() - 1;
    return {a[at].as<Code>(), a[at + 2].as<std::int64_t>(), a[at + 3].as<std::int64_t>(), count,
            {a[at + 4].as<std::uint32_t>(), a[at + 5].as<std::int64_t>(), count}};
}
static Arrays bagged(Bagged &&b) {
    return {array('w', b.codes), array('l', b.counts), array('l', b.places), array('l', b.starts)};
}
static Graphs graphs(const Arrays &a) {
    return {a[0].as<std::int64_t>(), a[1].as<std::int64_t>(), a[2].as<std::int32_t>(), a[0].size() - 1};
}
static Arrays histograms(Histograms &&h) { return {array('l', h.starts), array('w', h.keys), array('d', h.counts)}; }
static Labeled labeled(const Arrays &a, std::size_t at) {
    return {{a[at].as<std::int64_t>(), a[at + 1].as<std::int64_t>(), a[at + 2].as<std::int32_t>(), a[at].size() - 1},
            a[at + 3].as<std::uint64_t>(),
            a[at + 4].as<std::uint64_t>(),
            a[at + 5].as<double>()};
}
static Keyed keyed(const Arrays &a, std::size_t at) {
    return {a[at].as<std::int64_t>(), a[at + 1].as<std::uint64_t>(), a[at + 2].as<double>(), a[at].size() - 1};
}

// Distances of series to themselves, which need further channels of each entry.
template <class T> static void elastic(const Functions<T> &f, const std::string &loop, Arrays &a) {
    const Series<T> A = series<T>(a, 1);
    const double p = a[4].number(), q = a[5].number(), channels = static_cast<double>(A.channels);
    const auto write = [&](const Channels<T> &entries, Elastic kind, double first, double second) {
        const Series<T> B{entries.data(), A.starts, A.count, entries.size() / a[1].shape[0]};
        f.elastic(out<T>(a[0]), B, B, a[3].as<std::int64_t>(), kind, first, second, {a[6].whole(), a[7].number()},
                  a[8].whole() != 0);
    };
    if (loop == "msm")
        write(msm_channels(A, 0), Elastic::move_split_merge, p, 0);
    else if (loop == "erp")
        write(erp_channels(A, p), Elastic::real_penalty, channels, 0);
    else if (loop == "twe")
        write(twe_channels(A, p, q), Elastic::time_warp_edit, channels, 2 * p);
    else
        write(Channels<T>(A.entries, A.entries + a[1].size()), Elastic::soft_warping, p, 0);
}

// Loops that take either precision; arguments come as the readable loops take them, names as numbers.
template <class T> static Arrays run_numbers(const std::string &loop, Arrays a) {
    const Functions<T> &f = functions<T>();
    if (loop == "apply")
        f.apply(out<T>(a[0]), form(a, 1));
    else if (loop == "of_products")
        f.of_products(out<T>(a[0]), in<T>(a[1]), in<T>(a[2]), a[3].as<T>(),
                      a[4].as<T>(), form(a, 5));
    else if (loop == "of_sums")
        f.of_sums(out<T>(a[0]), in<T>(a[1]), in<T>(a[2]),
                  static_cast<Sum>(a[3].whole()), form(a, 4));
    else if (loop == "sparse_products")
        f.sparse_products(out<T>(a[0]), sparse<T>(a, 1), sparse<T>(a, 4));
    else if (loop == "sparse_dense_products")
        f.sparse_dense_products(out<T>(a[0]), sparse<T>(a, 1), in<T>(a[4]));
    else if (loop == "of_sparse_sums")
        f.of_sparse_sums(out<T>(a[0]), sparse<T>(a, 1), sparse<T>(a, 4), sparse<T>(a, 7),
                         static_cast<Sum>(a[10].whole()), form(a, 11));
    else if (loop == "mirror")
        f.mirror(out<T>(a[0]), in<T>(a[1]));
    else if (loop == "hadamard")
        f.hadamard(out<T>(a[0]), in<T>(a[1]), static_cast<std::size_t>(a[2].whole()));
    else if (loop == "cos_sin") {
        f.cos_sin(out<T>(a[0]), out<T>(a[1]), a[2].number());
        return {a[0], a[1]};
    } else if (loop == "dtw")
        f.dtw(out<T>(a[0]), series<T>(a, 1), series<T>(a, 3), a[5].as<std::int64_t>(),
              {a[6].whole(), a[7].number()}, a[8].whole() != 0);
    else if (loop == "dtw_pairs")
        f.dtw_pairs(a[0].as<T>(), series<T>(a, 1), series<T>(a, 3), a[5].as<std::int64_t>(), a[6].as<std::int64_t>(),
                    a[7].as<T>(), a[5].size(), {a[8].whole(), a[9].number()});
    else if (loop == "outside_ranges")
        f.outside_ranges(out<T>(a[0]), in<T>(a[1]), in<T>(a[2]), in<T>(a[3]));
    else if (loop == "global_alignment")
        f.global_alignment(out<double>(a[0]), series<T>(a, 1), series<T>(a, 3), a[5].as<std::int64_t>(),
                           a[6].number(), a[7].whole() != 0);
    else if (loop == "self_alignment")
        f.self_alignment(a[0].as<double>(), series<T>(a, 1), a[3].as<std::int64_t>(), a[4].number());
    else if (loop == "msm" || loop == "erp" || loop == "twe" || loop == "soft_dtw")
        elastic<T>(f, loop, a);
    else if (loop == "convolutions")
        f.convolutions(out<T>(a[0]), series<T>(a, 1),
                       {a[3].as<std::int64_t>(), a[4].as<T>(), a[5].as<T>(), a[6].as<std::int64_t>(),
                        a[6].size() - 1});
    else if (loop == "signatures")
        f.signatures(out<T>(a[0]), series<T>(a, 1), a[3].as<std::int64_t>(), static_cast<std::size_t>(a[4].whole()));
    else if (loop == "smo") {
        f.smo(in<T>(a[0]), a[1].as<double>(), a[2].as<double>(), a[3].as<double>(),
              a[4].as<double>(), a[5].number(), static_cast<std::size_t>(a[6].whole()), a[7].whole() != 0);
        return {a[1], a[2]};
    } else if (loop == "perceptron_pass") {
        std::vector<std::uint8_t> updated(a[1].size());
        f.perceptron_pass(in<T>(a[0]), a[1].as<double>(), a[2].as<double>(), a[3].number(),
                          a[4].whole() != 0, updated.data());
        return {a[2], array('l', std::vector<std::int64_t>(updated.begin(), updated.end()))};
    } else if (loop == "swap_medoids") {
        const auto size = [&](std::size_t at) { return static_cast<std::size_t>(a[at].whole()); };
        const std::size_t failed =
            f.swap_medoids(in<T>(a[0]), a[1].as<std::int64_t>(), a[1].size(), size(2), size(3), size(4));
        return {a[1], array('l', std::vector<std::int64_t>{static_cast<std::int64_t>(failed)})};
    } else if (loop == "add_rows") {
        f.add_rows(in<T>(a[0]), a[1].as<std::int64_t>(), a[2].as<double>(), a[1].size(),
                   a[3].as<double>());
        return {a[3]};
    } else
        return {};
    return {a[0]};
}

static Arrays run_others(const std::string &loop, Arrays a) {
    if (loop == "worst_triple") {
        const auto [i, j, k, value] = worst_triple(a[0].as<double>(), a[0].shape[0]);
        return {array('d', std::vector<double>{double(i), double(j), double(k), value})};
    }
    if (loop == "window_bags")
        return bagged(bag_windows(strings(a, 0), patterns(a, 2)));
    if (loop == "term_bags") {
        const auto size = [&](std::size_t at) { return static_cast<std::size_t>(a[at].whole()); };
        const TermBags terms = bag_terms(strings(a, 0), {size(2), size(3), size(4)});
        return {array('l', terms.starts), array('i', terms.columns), array('l', terms.counts), array('w', terms.keys),
                array('u', terms.names)};
    }
    if (loop == "term_keys") {
        const Strings texts = strings(a, 0);
        std::vector<std::uint64_t> keys;
        for (std::size_t i = 0; i < texts.count; ++i)
            keys.push_back(key_of(texts.begin(i), texts.begin(i) + texts.length(i)));
        return {array('w', keys)};
    }
    if (loop == "candidates") {
        const SignedSets A{in<std::uint64_t>(a[0]), a[1].as<double>(), a[2].as<double>()};
        const SignedSets B{in<std::uint64_t>(a[3]), a[4].as<double>(), a[5].as<double>()};
        const std::size_t pairs = a[1].size() * a[4].size();
        std::vector<double> common(pairs), bounds;
        std::vector<Candidate> found(pairs);
        found.resize(table.candidates(A, B, a[6].as<double>(), static_cast<SetBound>(a[7].whole()), common.data(),
                                      found.data()));
        std::sort(found.begin(), found.end(), [](const Candidate &one, const Candidate &other) {
            return std::pair(one.i, one.j) < std::pair(other.i, other.j);
        });
        std::vector<std::int64_t> i, j;
        for (const Candidate &one : found) {
            i.push_back(one.i);
            j.push_back(one.j);
            bounds.push_back(one.bound);
        }
        return {array('l', i), array('l', j), array('d', bounds)};
    }
    if (loop == "neighbor_bags")
        return bagged(bag_neighbors(strings(a, 0), static_cast<std::size_t>(a[2].whole()),
                                    static_cast<std::size_t>(a[3].whole()), static_cast<std::size_t>(a[4].whole())));
    if (loop == "shared_features") {
        std::vector<std::int32_t> left(a[0].size()), right(a[6].size());
        number_shared(bags(a, 0), bags(a, 6), patterns(a, 12), left.data(), right.data());
        return {array('i', left), array('i', right)};
    }
    if (loop == "levenshtein")
        table.levenshtein(out<double>(a[0]), series<std::int32_t>(a, 1), series<std::int32_t>(a, 3),
                          a[5].as<std::int64_t>(), static_cast<std::size_t>(a[6].whole()), a[7].whole() != 0);
    else if (loop == "levenshtein_pairs")
        table.levenshtein_pairs(a[0].as<double>(), series<std::int32_t>(a, 1), series<std::int32_t>(a, 3),
                                a[5].as<std::int64_t>(), a[6].as<std::int64_t>(), a[5].size(),
                                static_cast<std::size_t>(a[7].whole()));
    else if (loop == "subsequences")
        table.subsequences(out<double>(a[0]), series<std::int32_t>(a, 1), series<std::int32_t>(a, 3),
                           a[5].as<std::int64_t>(), static_cast<std::size_t>(a[6].whole()), a[7].number(),
                           a[8].whole() != 0);
    else if (loop == "self_subsequences")
        table.self_subsequences(a[0].as<double>(), series<std::int32_t>(a, 1), a[3].as<std::int64_t>(),
                                static_cast<std::size_t>(a[4].whole()), a[5].number());
    else if (loop == "best_alignment")
        table.best_alignment(out<double>(a[0]), series<std::int32_t>(a, 1), series<std::int32_t>(a, 3),
                             a[5].as<std::int64_t>(), in<double>(a[6]), a[7].number(), a[8].number(),
                             a[9].whole() != 0, a[10].whole() != 0);
    else if (loop == "sum_alignments")
        table.sum_alignments(out<double>(a[0]), series<std::int32_t>(a, 1), series<std::int32_t>(a, 3),
                             a[5].as<std::int64_t>(), in<double>(a[6]), a[7].number(), a[8].number(),
                             a[9].whole() != 0);
    else if (loop == "self_sum_alignments")
        table.self_sum_alignments(a[0].as<double>(), series<std::int32_t>(a, 1), a[3].as<std::int64_t>(),
                                  in<double>(a[4]), a[5].number(), a[6].number());
    else if (loop == "weisfeiler_lehman")
        return histograms(weisfeiler_lehman(graphs(a), a[3].as<std::uint64_t>(), a[4].as<std::uint64_t>(),
                                            static_cast<std::size_t>(a[5].whole())));
    else if (loop == "shortest_paths")
        return histograms(shortest_paths(graphs(a), a[3].as<std::uint64_t>()));
    else if (loop == "graphlets") {
        graphlets(graphs(a), {a[4].as<std::int32_t>(), a[5].as<std::int64_t>(), static_cast<std::size_t>(a[3].whole()),
                              a[5].shape[0]},
                  a[6].as<double>());
        return {a[6]};
    } else if (loop == "labeled_walks")
        labeled_walks(out<double>(a[0]), labeled(a, 1), labeled(a, 7), a[13].number());
    else if (loop == "keyed_products") {
        const Keyed A = keyed(a, 1), B = keyed(a, 4);
        const Lists lists(B);
        const Rows rows(A, lists);
        table.doubles.sparse_products(out<double>(a[0]), rows.sparse(), lists.sparse());
    } else if (loop == "common_bits")
        table.common_bits_64(out<std::int64_t>(a[0]), in<std::uint64_t>(a[1]),
                             in<std::uint64_t>(a[2]));
    else if (loop == "count_bits")
        table.count_bits(in<std::uint64_t>(a[1]), a[0].as<std::int64_t>());
    else if (loop == "shared_bits")
        table.shared_bits(out<double>(a[0]), in<std::uint64_t>(a[1]),
                          in<std::uint64_t>(a[2]), a[3].as<double>(), a[4].as<double>(),
                          static_cast<SetValue>(a[5].whole()));
    else if (loop == "of_shared")
        table.of_shared(out<double>(a[0]), a[1].as<double>(), a[2].as<double>(),
                        static_cast<SetValue>(a[3].whole()));
    else if (loop == "gower")
        table.gower(out<double>(a[0]), {in<double>(a[1]), in<std::int64_t>(a[2])},
                    {in<double>(a[3]), in<std::int64_t>(a[4])});
    else
        return {};
    return {a[0]};
}

// Runs a case in its precision: that of the series, or of the first matrix.
static Arrays run(const Case &one) {
    const bool aligned = one.loop == "global_alignment" || one.loop == "self_alignment";
    std::size_t at = aligned ? 1 : 0;
    while (at + 1 < one.given.size() && one.given[at].shape.size() != 2)
        ++at;
    const Arrays found = one.given[at].type == 'f' ? run_numbers<float>(one.loop, one.given)
                                                   : run_numbers<double>(one.loop, one.given);
    return found.empty() ? run_others(one.loop, one.given) : found;
}

static double entry(const Array &array, std::size_t i) {
    switch (array.type) {
    case 'f':
        return static_cast<double>(array.as<float>()[i]);
    case 'd':
        return array.as<double>()[i];
    case 'i':
        return static_cast<double>(array.as<std::int32_t>()[i]);
    case 'u':
        return static_cast<double>(array.as<std::uint32_t>()[i]);
    case 'w':
        return static_cast<double>(array.as<std::uint64_t>()[i]);
    default:
        return static_cast<double>(array.as<std::int64_t>()[i]);
    }
}

static bool agree(const Array &got, const Array &expected, double tolerance) {
    if (got.size() != expected.size() || got.type != expected.type)
        return false;
    if (got.type != 'f' && got.type != 'd')
        return got.bytes == expected.bytes;
    for (std::size_t i = 0; i < got.size(); ++i) {
        const double a = entry(got, i), b = entry(expected, i);
        if (!(a == b || (std::isnan(a) && std::isnan(b)) || std::fabs(a - b) <= tolerance * (1 + std::fabs(b))))
            return false;
    }
    return true;
}

static std::size_t check(const std::vector<Case> &cases) {
    std::size_t wrong = 0;
    for (std::size_t at = 0; at < cases.size(); ++at) {
        const Case &one = cases[at];
        const Arrays found = run(one);
        bool right = !found.empty() && found.size() == one.expected.size();
        for (std::size_t i = 0; right && i < found.size(); ++i)
            right = agree(found[i], one.expected[i], one.tolerance);
        if (!right) {
            std::fprintf(stderr, "case %zu, %s: not what the readable loop gives\n", at, one.loop.c_str());
            ++wrong;
        }
    }
    return wrong;
}

int main(int count, char **arguments) {
    if (count < 2) {
        std::fprintf(stderr, "check_loops CASES [THREADS]\n");
        return 2;
    }
    const std::vector<Case> cases = read_cases(arguments[1]);
    const int threads = count > 2 ? std::atoi(arguments[2]) : 1;
    std::atomic<std::size_t> wrong{0};
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&] { wrong += check(cases); });
    for (std::thread &one : running)
        one.join();
    std::printf("%s: %zu cases in %d threads, %zu wrong\n", table.name, cases.size(), threads, wrong.load());
    return wrong == 0 ? 0 : 1;
}

#include "codes.hpp"

#include <algorithm>

#include "numbers.hpp"

namespace {

// The letters of a window themselves where they are below 256 and fit beside the number of the pattern, else a digest.
Code code_of(const std::uint32_t *window, const Patterns &patterns, std::size_t q) {
    const std::int64_t *positions = patterns.of(q);
    const std::size_t size = patterns.size(q);
    Code packed = q + 1;
    std::uint32_t all = 0;
    if (size <= 7 && (packed >> (63 - 8 * size)) == 0) {
        for (std::size_t t = 0; t < size; ++t) {
            const std::uint32_t letter = window[positions[t]];
            all |= letter;
            packed = packed << 8 | (letter & 255);
        }
        if (all < 256)
            return packed;
    }
    Code digest = q + 1;
    for (std::size_t t = 0; t < size; ++t)
        digest = mixed(digest + window[positions[t]]);
    return digest | digested;
}

bool same_windows(const std::uint32_t *a, const std::uint32_t *b, const Patterns &patterns, std::size_t q) {
    for (std::size_t t = 0; t < patterns.size(q); ++t)
        if (a[patterns.of(q)[t]] != b[patterns.of(q)[t]])
            return false;
    return true;
}

// One bag after the other is filled; equal features are counted.
class Bagging {
  public:
    explicit Bagging(Bagged &bagged) : bagged_(bagged) { bagged_.starts.push_back(0); }

    void begin() { numbers_.forget(); }
    template <class Same> void add(Code code, std::int64_t place, Same same) {
        const std::size_t first = bagged_.codes.size() - numbers_.count();
        const std::size_t before = numbers_.count();
        const auto number = static_cast<std::size_t>(
            numbers_.add(code, [&](std::size_t n) { return !(code & digested) || same(bagged_.places[first + n]); }));
        if (number < before) {
            ++bagged_.counts[first + number];
            return;
        }
        bagged_.codes.push_back(code);
        bagged_.places.push_back(place);
        bagged_.counts.push_back(1);
    }
    void end() { bagged_.starts.push_back(static_cast<std::int64_t>(bagged_.codes.size())); }

  private:
    Bagged &bagged_;
    Numbers numbers_;
};

} // namespace

static std::size_t windows_in(const Strings &strings, const Patterns &patterns) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < strings.count; ++i)
        for (std::size_t q = 0; q < patterns.count; ++q)
            total += std::max<std::int64_t>(0, strings.length(i) - patterns.spans[q] + 1);
    return static_cast<std::size_t>(total);
}

Bagged bag_windows(Strings strings, Patterns patterns) {
    Bagged bagged;
    Bagging bags(bagged);
    const auto number = static_cast<std::int64_t>(patterns.count);
    bagged.reserve(windows_in(strings, patterns)); // room that is not used is never touched
    for (std::size_t i = 0; i < strings.count; ++i) {
        const std::uint32_t *letters = strings.begin(i);
        bags.begin();
        for (std::size_t q = 0; q < patterns.count; ++q)
            for (std::int64_t at = 0; at + patterns.spans[q] <= strings.length(i); ++at)
                bags.add(code_of(letters + at, patterns, q), at * number + static_cast<std::int64_t>(q),
                         [&](std::int64_t other) {
                             return other % number == static_cast<std::int64_t>(q) &&
                                    same_windows(letters + other / number, letters + at, patterns, q);
                         });
        bags.end();
    }
    return bagged;
}

namespace {

// Walks through the neighbors of a window letter by letter.
struct Neighbors {
    std::size_t letters, length;
    Bagging &bags;

    void visit(const std::uint32_t *window, std::size_t at, Code word, std::size_t left) const {
        if (at == length)
            return bags.add(word, 0, [](std::int64_t) { return true; });
        if (left == 0) {
            for (; at < length; ++at) {
                if (window[at] >= letters)
                    return;
                word = word * letters + window[at];
            }
            return bags.add(word, 0, [](std::int64_t) { return true; });
        }
        for (std::size_t letter = 0; letter < letters; ++letter)
            visit(window, at + 1, word * letters + letter, left - (window[at] != letter));
    }
};

} // namespace

Bagged bag_neighbors(Strings strings, std::size_t letters, std::size_t length, std::size_t most) {
    Bagged bagged;
    Bagging bags(bagged);
    const Neighbors neighbors{letters, length, bags};
    for (std::size_t i = 0; i < strings.count; ++i) {
        bags.begin();
        for (std::int64_t at = 0; at + static_cast<std::int64_t>(length) <= strings.length(i); ++at)
            neighbors.visit(strings.begin(i) + at, 0, 0, most);
        bags.end();
    }
    return bagged;
}

std::size_t number_shared(const Bags &A, const Bags &B, Patterns patterns, std::int32_t *a, std::int32_t *b) {
    struct Window {
        const std::uint32_t *letters;
        std::size_t pattern;
    };
    const auto window = [&](const Bags &bags, std::size_t i, std::size_t f) -> Window {
        if (!(bags.codes[f] & digested))
            return {nullptr, 0};
        const auto place = static_cast<std::size_t>(bags.places[f]);
        return {bags.strings.begin(i) + place / patterns.count, place % patterns.count};
    };
    Numbers numbers;
    std::vector<Window> first;
    const auto each = [&](const Bags &bags, std::int32_t *out, bool add) {
        for (std::size_t i = 0; i < bags.count; ++i)
            for (auto f = static_cast<std::size_t>(bags.starts[i]); f < static_cast<std::size_t>(bags.starts[i + 1]); ++f) {
                const Window here = window(bags, i, f);
                const std::size_t before = numbers.count();
                const Code code = bags.codes[f];
                const auto same = [&](std::size_t number) {
                    const Window &there = first[number];
                    return !(code & digested) || (there.pattern == here.pattern &&
                                                  same_windows(there.letters, here.letters, patterns, here.pattern));
                };
                out[f] = static_cast<std::int32_t>(add ? numbers.add(code, same) : numbers.find(code, same));
                if (numbers.count() > before)
                    first.push_back(here);
            }
    };
    each(B, b, true);
    if (A.codes == B.codes && A.starts == B.starts)
        std::copy(b, b + B.starts[B.count], a);
    else
        each(A, a, false);
    std::vector<std::int32_t> renamed(numbers.count(), -1);
    for (std::int64_t f = 0; f < A.starts[A.count]; ++f)
        if (a[f] >= 0)
            renamed[static_cast<std::size_t>(a[f])] = 0;
    std::int32_t shared = 0;
    for (std::int32_t &name : renamed)
        if (name == 0)
            name = shared++;
    for (std::int64_t f = 0; f < A.starts[A.count]; ++f)
        a[f] = a[f] < 0 ? -1 : renamed[static_cast<std::size_t>(a[f])];
    for (std::int64_t f = 0; f < B.starts[B.count]; ++f)
        b[f] = renamed[static_cast<std::size_t>(b[f])];
    return static_cast<std::size_t>(shared);
}

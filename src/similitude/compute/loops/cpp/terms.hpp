// Texts as bags of terms: runs of words, and pieces of words.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "codes.hpp"
#include "numbers.hpp"

namespace { // names of this kind are common: they stay in the one file that uses them

constexpr std::uint32_t space = ' ', piece_mark = '~', end_of_name = '\n';

// Runs of 1 to `words` words, and pieces of `shortest` to `longest` letters; no pieces if `longest` is 0.
struct TermSizes {
    std::size_t words, shortest, longest;
};

// Texts as sparse rows: row i has counts[starts[i]] to counts[starts[i + 1]] in these columns, by increasing key. A
// column is a term; they are numbered as they come. Names are those of all columns, each with an end.
struct TermBags {
    std::vector<std::int64_t> starts{0}, counts;
    std::vector<std::int32_t> columns;
    std::vector<Code> keys;
    std::vector<std::uint32_t> names;
};

inline Code key_of(Code begun, const std::uint32_t *begin, const std::uint32_t *end) {
    for (; begin != end; ++begin)
        begun = mixed(begun + *begin);
    return begun;
}

inline Code key_of(const std::uint32_t *begin, const std::uint32_t *end) { return key_of(1, begin, end); }

class Terms {
  public:
    explicit Terms(TermSizes sizes) : sizes_(sizes), of_pieces_(key_of(&piece_mark, &piece_mark + 1)) {}

    void add(const std::uint32_t *begin, const std::uint32_t *end) {
        split(begin, end);
        found_.clear();
        for (std::size_t w = 0; w < words_.size(); ++w) {
            add_runs(w);
            if (sizes_.longest > 0)
                add_pieces(words_[w].begin - 1, words_[w].end + 1);
        }
        std::sort(found_.begin(), found_.end(), [](const Found &a, const Found &b) { return a.key < b.key; });
        count();
    }

    TermBags take() { return std::move(bags_); }

  private:
    struct Word {
        std::size_t begin, end;
    };
    struct Found {
        Code key;
        std::size_t begin, end;
        bool piece;
    };

    // The words with one space before and after each, so that a run of words and a piece are letters in a row.
    void split(const std::uint32_t *begin, const std::uint32_t *end) {
        letters_.assign(1, space);
        words_.clear();
        while ((begin = std::find_if(begin, end, [](std::uint32_t c) { return c != space; })) != end) {
            const std::uint32_t *const after = std::find(begin, end, space);
            words_.push_back({letters_.size(), letters_.size() + static_cast<std::size_t>(after - begin)});
            letters_.insert(letters_.end(), begin, after);
            letters_.push_back(space);
            begin = after;
        }
    }

    void add_runs(std::size_t w) {
        const std::size_t begin = words_[w].begin, most = std::min(words_.size() - w, sizes_.words);
        Code key = 1;
        for (std::size_t n = 0, known = begin; n < most; ++n) {
            const std::size_t end = words_[w + n].end;
            key = key_of(key, letters_.data() + known, letters_.data() + end);
            found_.push_back({key, begin, end, false});
            known = end;
        }
    }

    void add_pieces(std::size_t begin, std::size_t end) {
        if (end - begin < sizes_.shortest)
            found_.push_back({key_of(of_pieces_, letters_.data() + begin, letters_.data() + end), begin, end, true});
        for (; begin + sizes_.shortest <= end; ++begin) {
            Code key = key_of(of_pieces_, letters_.data() + begin, letters_.data() + begin + sizes_.shortest - 1);
            for (std::size_t n = sizes_.shortest; n <= sizes_.longest && begin + n <= end; ++n) {
                key = mixed(key + letters_[begin + n - 1]);
                found_.push_back({key, begin, begin + n, true});
            }
        }
    }

    // Adds a row with what was found, which is sorted.
    void count() {
        for (std::size_t f = 0; f < found_.size(); ++f) {
            if (f > 0 && found_[f].key == found_[f - 1].key) {
                ++bags_.counts.back();
                continue;
            }
            const std::size_t known = numbers_.count();
            bags_.columns.push_back(static_cast<std::int32_t>(numbers_.add(found_[f].key, [](std::size_t) { return true; })));
            bags_.counts.push_back(1);
            if (numbers_.count() > known)
                name(found_[f]);
        }
        bags_.starts.push_back(static_cast<std::int64_t>(bags_.counts.size()));
    }

    void name(const Found &found) {
        bags_.keys.push_back(found.key);
        if (found.piece)
            bags_.names.push_back(piece_mark);
        bags_.names.insert(bags_.names.end(), letters_.begin() + static_cast<std::ptrdiff_t>(found.begin),
                           letters_.begin() + static_cast<std::ptrdiff_t>(found.end));
        bags_.names.push_back(end_of_name);
    }

    TermSizes sizes_;
    Code of_pieces_;
    std::vector<std::uint32_t> letters_;
    std::vector<Word> words_;
    std::vector<Found> found_;
    Numbers numbers_;
    TermBags bags_;
};

inline TermBags bag_terms(Strings texts, TermSizes sizes) {
    Terms terms(sizes);
    for (std::size_t i = 0; i < texts.count; ++i)
        terms.add(texts.begin(i), texts.begin(i) + texts.length(i));
    return terms.take();
}

} // namespace

// Edit distances of one string to many, one target per lane: Myers' bit vectors in blocks of 64 letters.
//
// Bits of a lane stand for the letters of its target: Pv where a column of the table grows by one from one letter to the
// next, Mv where it falls. The query passes by letter by letter. Row 0 grows by one each time, so in the end a distance is
// the query's length plus the number of bits in Pv minus those in Mv. (Myers 1999; Hyyrö 2003.)
#pragma once

#include "bits.hpp"
#include "buffer.hpp"
#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

using Lane = std::uint64_t;
constexpr std::size_t lanes_of_words = lanes<Lane>;
// Several registers at once: their chains of dependent steps overlap.
constexpr std::size_t word_registers = 4;
constexpr std::size_t strings_at_once = word_registers * lanes_of_words;

// Most words of a table of the bits of all letters; larger alphabets have lists of places instead.
constexpr std::size_t most_table_words = std::size_t(1) << 21;

// Targets of a group.
struct TargetGroup {
    const std::int64_t *members; // their numbers
    std::size_t count, blocks;
};

// The bits of each letter in a table: letter c has words [c * blocks * width, (c + 1) * blocks * width).
class LetterTable {
  public:
    LetterTable(std::size_t alphabet, std::size_t most_blocks)
        : alphabet_(alphabet), bits_(alphabet * most_blocks * strings_at_once) {}

    void fill(Series<std::int32_t> targets, const TargetGroup &group) {
        words_ = group.blocks * strings_at_once;
        std::memset(bits_.begin(), 0, alphabet_ * words_ * sizeof(Lane));
        for (std::size_t lane = 0; lane < group.count; ++lane) {
            const auto t = static_cast<std::size_t>(group.members[lane]);
            for (std::size_t j = 0; j < targets.length(t); ++j)
                bits_[static_cast<std::size_t>(targets.begin(t)[j]) * words_ + j / 64 * strings_at_once + lane] |=
                    Lane(1) << j % 64;
        }
    }

    const Lane *operator()(std::int32_t letter) { return bits_.begin() + static_cast<std::size_t>(letter) * words_; }

  private:
    std::size_t alphabet_, words_ = 0;
    Buffer<Lane> bits_;
};

// The places of each letter in a list, and one row of bits that is filled in for the letter that is asked for.
class LetterPlaces {
  public:
    LetterPlaces(std::size_t alphabet, std::size_t most_blocks, std::size_t most_letters)
        : alphabet_(alphabet), ends_(alphabet + 1), places_(most_letters), bits_(most_blocks * strings_at_once) {}

    void fill(Series<std::int32_t> targets, const TargetGroup &group) {
        clear();
        current_ = 0;
        std::memset(ends_.begin(), 0, (alphabet_ + 1) * sizeof(std::size_t));
        for (std::size_t lane = 0; lane < group.count; ++lane) {
            const auto t = static_cast<std::size_t>(group.members[lane]);
            for (std::size_t j = 0; j < targets.length(t); ++j)
                ++ends_[static_cast<std::size_t>(targets.begin(t)[j]) + 1];
        }
        for (std::size_t c = 0; c < alphabet_; ++c) // the starts of the lists, which grow to their ends
            ends_[c + 1] += ends_[c];
        for (std::size_t lane = 0; lane < group.count; ++lane) {
            const auto t = static_cast<std::size_t>(group.members[lane]);
            for (std::size_t j = 0; j < targets.length(t); ++j)
                places_[ends_[static_cast<std::size_t>(targets.begin(t)[j])]++] =
                    (j / 64 * strings_at_once + lane) * 64 + j % 64;
        }
    }

    const Lane *operator()(std::int32_t letter) {
        clear();
        current_ = static_cast<std::size_t>(letter) + 1;
        for (std::size_t p = start(); p < ends_[current_ - 1]; ++p)
            bits_[places_[p] / 64] |= Lane(1) << places_[p] % 64;
        return bits_.begin();
    }

  private:
    std::size_t alphabet_, current_ = 0; // the letter whose bits are filled in, plus one
    Buffer<std::size_t> ends_, places_;
    Buffer<Lane> bits_;

    std::size_t start() const { return current_ > 1 ? ends_[current_ - 2] : 0; }

    void clear() {
        if (current_)
            for (std::size_t p = start(); p < ends_[current_ - 1]; ++p)
                bits_[places_[p] / 64] = 0;
    }
};

struct Columns {
    Vector<Lane> grows[word_registers], falls[word_registers];
};

// One letter of the query against one block of all targets; carries go in from the block before, and out to the next.
struct Carries {
    Vector<Lane> up[word_registers], down[word_registers];
};

SIMD_INLINE void advance(Columns &column, const Lane *equal, Carries &carry) {
#pragma GCC unroll 4
    for (std::size_t r = 0; r < word_registers; ++r) {
        const Vector<Lane> Pv = column.grows[r], Mv = column.falls[r], Eq = load<Lane>(equal + r * lanes_of_words);
        const Vector<Lane> Xv = Eq | Mv, at = Eq | carry.down[r];
        const Vector<Lane> Xh = (((at & Pv) + Pv) ^ Pv) | at;
        Vector<Lane> Ph = Mv | ~(Xh | Pv), Mh = Pv & Xh;
        const Vector<Lane> up = Ph >> 63, down = Mh >> 63;
        Ph = (Ph << 1) | carry.up[r];
        Mh = (Mh << 1) | carry.down[r];
        column.grows[r] = Mh | ~(Xv | Ph);
        column.falls[r] = Ph & Xv;
        carry.up[r] = up;
        carry.down[r] = down;
    }
}

SIMD_INLINE void begin_query(Columns *columns, std::size_t blocks) {
    for (std::size_t w = 0; w < blocks; ++w)
        for (std::size_t r = 0; r < word_registers; ++r) {
            columns[w].grows[r] = ~Vector<Lane>{};
            columns[w].falls[r] = Vector<Lane>{};
        }
}

// A fixed number of blocks stays in registers; 0 stands for any number.
template <std::size_t fixed, class Letters>
void pass(const std::int32_t *query, std::size_t n, std::size_t any_blocks, Letters &letters, Columns *columns) {
    const std::size_t blocks = fixed ? fixed : any_blocks;
    begin_query(columns, blocks);
    for (std::size_t i = 0; i < n; ++i) {
        const Lane *equal = letters(query[i]);
        Carries carry;
        for (std::size_t r = 0; r < word_registers; ++r) {
            carry.up[r] = Vector<Lane>{} + 1;
            carry.down[r] = Vector<Lane>{};
        }
#pragma GCC unroll 2
        for (std::size_t w = 0; w < blocks; ++w)
            advance(columns[w], equal + w * strings_at_once, carry);
    }
}

inline std::int64_t distance(const Columns *columns, std::size_t lane, std::size_t length, std::size_t n) {
    auto total = static_cast<std::int64_t>(n);
    const std::size_t r = lane / lanes_of_words, at = lane % lanes_of_words;
    for (std::size_t w = 0; w * 64 < length; ++w) {
        const std::size_t left = length - w * 64;
        const Lane mask = left >= 64 ? ~Lane(0) : (Lane(1) << left) - 1;
        total += count_word(columns[w].grows[r][at] & mask) - count_word(columns[w].falls[r][at] & mask);
    }
    return total;
}

template <class Letters>
void run(const std::int32_t *query, std::size_t n, std::size_t blocks, Letters &letters, Columns *columns) {
    if (blocks == 1)
        pass<1>(query, n, blocks, letters, columns);
    else if (blocks == 2)
        pass<2>(query, n, blocks, letters, columns);
    else
        pass<0>(query, n, blocks, letters, columns);
}

inline TargetGroup group_of(Series<std::int32_t> targets, const std::int64_t *members, std::size_t count) {
    std::size_t blocks = 1;
    for (std::size_t lane = 0; lane < count; ++lane) {
        const std::size_t needed = (targets.length(static_cast<std::size_t>(members[lane])) + 63) / 64;
        blocks = needed > blocks ? needed : blocks;
    }
    return {members, count, blocks};
}

template <class Letters>
void fill_distances(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                    const std::int64_t *order, std::size_t most_blocks, bool same, Letters &letters) {
    const Buffer<Columns> columns(most_blocks);
    for (std::size_t first = 0; first < targets.count; first += strings_at_once) {
        const std::size_t count = fewer(strings_at_once, targets.count - first);
        const TargetGroup group = group_of(targets, order + first, count);
        letters.fill(targets, group);
        for (std::size_t i = 0; i < (same ? first + count : queries.count); ++i) {
            const std::size_t q = same ? static_cast<std::size_t>(order[i]) : i, n = queries.length(q);
            run(queries.begin(q), n, group.blocks, letters, columns.begin());
            for (std::size_t lane = 0; lane < count; ++lane) {
                const auto t = static_cast<std::size_t>(group.members[lane]);
                out.row(q)[t] = static_cast<double>(distance(columns.begin(), lane, targets.length(t), n));
                if (same)
                    out.row(t)[q] = out.row(q)[t];
            }
        }
    }
}

// Queries and targets are letters numbered from 0 to alphabet - 1; targets are taken in the given order. Where queries
// and targets are the same strings, each pair is compared once.
inline void levenshtein(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                        const std::int64_t *order, std::size_t alphabet, bool same) {
    std::size_t longest = 1;
    for (std::size_t t = 0; t < targets.count; ++t)
        longest = targets.length(t) > longest ? targets.length(t) : longest;
    const std::size_t most_blocks = (longest + 63) / 64;
    if (alphabet * most_blocks * strings_at_once <= most_table_words) {
        LetterTable letters(alphabet, most_blocks);
        fill_distances(out, queries, targets, order, most_blocks, same, letters);
    } else {
        LetterPlaces letters(alphabet, most_blocks, strings_at_once * longest);
        fill_distances(out, queries, targets, order, most_blocks, same, letters);
    }
}

// One letter of the target against one block of 64 letters of the query, as `advance` does it for many.
struct ColumnBlock {
    std::uint64_t grows, falls;

    void advance(std::uint64_t equal, std::uint64_t &up, std::uint64_t &down) {
        const std::uint64_t Xv = equal | falls, at = equal | down;
        const std::uint64_t Xh = (((at & grows) + grows) ^ grows) | at;
        std::uint64_t Ph = falls | ~(Xh | grows), Mh = grows & Xh;
        const std::uint64_t carry_up = Ph >> 63, carry_down = Mh >> 63;
        Ph = (Ph << 1) | up;
        Mh = (Mh << 1) | down;
        grows = Mh | ~(Xv | Ph);
        falls = Ph & Xv;
        up = carry_up;
        down = carry_down;
    }
};

// Distances of the pairs (i, j) alone; neighbors with the same i share the table of its letters.
inline void levenshtein_pairs(double *out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                              const std::int64_t *i, const std::int64_t *j, std::size_t pairs, std::size_t alphabet) {
    std::size_t longest = 1;
    for (std::size_t q = 0; q < queries.count; ++q)
        longest = queries.length(q) > longest ? queries.length(q) : longest;
    const std::size_t stride = (longest + 63) / 64;
    const Buffer<std::uint64_t> equal(alphabet * stride);
    const Buffer<ColumnBlock> column(stride);
    for (std::size_t p = 0; p < pairs; ++p) {
        const auto q = static_cast<std::size_t>(i[p]), t = static_cast<std::size_t>(j[p]);
        const std::size_t n = queries.length(q), m = targets.length(t), blocks = (n + 63) / 64;
        const std::int32_t *query = queries.begin(q), *target = targets.begin(t);
        if (p == 0 || i[p] != i[p - 1])
            for (std::size_t k = 0; k < n; ++k)
                equal[static_cast<std::size_t>(query[k]) * stride + k / 64] |= std::uint64_t(1) << k % 64;
        for (std::size_t w = 0; w < blocks; ++w)
            column[w] = {~std::uint64_t(0), 0};
        for (std::size_t k = 0; k < m; ++k) {
            std::uint64_t up = 1, down = 0;
            for (std::size_t w = 0; w < blocks; ++w)
                column[w].advance(equal[static_cast<std::size_t>(target[k]) * stride + w], up, down);
        }
        auto total = static_cast<std::int64_t>(m);
        for (std::size_t w = 0; w < blocks; ++w) {
            const std::size_t left = n - w * 64;
            const std::uint64_t mask = left >= 64 ? ~std::uint64_t(0) : (std::uint64_t(1) << left) - 1;
            total += count_word(column[w].grows & mask) - count_word(column[w].falls & mask);
        }
        out[p] = static_cast<double>(total);
        if (p + 1 == pairs || i[p] != i[p + 1])
            for (std::size_t k = 0; k < n; ++k)
                equal[static_cast<std::size_t>(query[k]) * stride + k / 64] = 0;
    }
}

} // namespace SIMD_NAMESPACE

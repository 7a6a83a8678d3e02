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

// Targets of a group, with the bits of their letters: letter c has words [c * blocks * width, (c + 1) * blocks * width).
struct TargetGroup {
    const std::int64_t *members; // their numbers
    std::size_t count, blocks;
    const Lane *letters;
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
template <std::size_t fixed>
void pass(const std::int32_t *query, std::size_t n, const TargetGroup &group, Columns *columns) {
    const std::size_t blocks = fixed ? fixed : group.blocks;
    begin_query(columns, blocks);
    for (std::size_t i = 0; i < n; ++i) {
        const Lane *equal = group.letters + static_cast<std::size_t>(query[i]) * blocks * strings_at_once;
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

inline void run(const std::int32_t *query, std::size_t n, const TargetGroup &group, Columns *columns) {
    if (group.blocks == 1)
        pass<1>(query, n, group, columns);
    else if (group.blocks == 2)
        pass<2>(query, n, group, columns);
    else
        pass<0>(query, n, group, columns);
}

// Fills in the bits of the letters of a group, and returns it.
inline TargetGroup group_of(Series<std::int32_t> targets, const std::int64_t *members, std::size_t count,
                            std::size_t alphabet, const Buffer<Lane> &letters) {
    std::size_t blocks = 1;
    for (std::size_t lane = 0; lane < count; ++lane) {
        const std::size_t needed = (targets.length(static_cast<std::size_t>(members[lane])) + 63) / 64;
        blocks = needed > blocks ? needed : blocks;
    }
    std::memset(letters.begin(), 0, alphabet * blocks * strings_at_once * sizeof(Lane));
    for (std::size_t lane = 0; lane < count; ++lane) {
        const auto t = static_cast<std::size_t>(members[lane]);
        for (std::size_t j = 0; j < targets.length(t); ++j) {
            const auto letter = static_cast<std::size_t>(targets.begin(t)[j]);
            letters[(letter * blocks + j / 64) * strings_at_once + lane] |= Lane(1) << j % 64;
        }
    }
    return {members, count, blocks, letters.begin()};
}

// Queries and targets are letters numbered from 0 to alphabet - 1; targets are taken in the given order. Where queries
// and targets are the same strings, each pair is compared once.
inline void levenshtein(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                        const std::int64_t *order, std::size_t alphabet, bool same) {
    std::size_t longest = 1;
    for (std::size_t t = 0; t < targets.count; ++t)
        longest = targets.length(t) > longest ? targets.length(t) : longest;
    const std::size_t most = (longest + 63) / 64;
    const Buffer<Lane> letters(alphabet * most * strings_at_once);
    const Buffer<Columns> columns(most);
    for (std::size_t first = 0; first < targets.count; first += strings_at_once) {
        const std::size_t count = fewer(strings_at_once, targets.count - first);
        const TargetGroup group = group_of(targets, order + first, count, alphabet, letters);
        for (std::size_t i = 0; i < (same ? first + count : queries.count); ++i) {
            const std::size_t q = same ? static_cast<std::size_t>(order[i]) : i, n = queries.length(q);
            run(queries.begin(q), n, group, columns.begin());
            for (std::size_t lane = 0; lane < count; ++lane) {
                const auto t = static_cast<std::size_t>(group.members[lane]);
                out.row(q)[t] = static_cast<double>(distance(columns.begin(), lane, targets.length(t), n));
                if (same)
                    out.row(t)[q] = out.row(q)[t];
            }
        }
    }
}

} // namespace SIMD_NAMESPACE

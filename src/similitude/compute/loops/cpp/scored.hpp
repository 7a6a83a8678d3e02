// Alignments of letters with scores and affine gaps, one target per lane: the best one, and the sum over all local ones.
#pragma once

#include <cmath>

#include "subsequences.hpp"

namespace SIMD_NAMESPACE {

// A table of numbers for pairs of letters, and what the first and each further letter of a gap give.
struct Scores {
    const double *of_pairs;
    std::size_t letters;
    double gap_open, gap_extend;
};

// The column of numbers for the letters that targets have at one place: row c is for the letter c of a query.
inline void fill_profile(const Scores &scores, const std::int64_t *targets, double *profile) {
    for (std::size_t c = 0; c < scores.letters; ++c)
        for (std::size_t lane = 0; lane < strings_in_lanes; ++lane) {
            const std::int64_t letter = targets[lane] < 0 ? 0 : targets[lane];
            profile[c * strings_in_lanes + lane] = scores.of_pairs[c * scores.letters + static_cast<std::size_t>(letter)];
        }
}

// Columns of cells, and what is kept of the last cell of each.
template <class Recurrence> struct ScoredRoom {
    using Cell = typename Recurrence::Cell;
    ScoredRoom(std::size_t n, std::size_t m, std::size_t letters)
        : columns{Buffer<Cell>(n + 1), Buffer<Cell>(n + 1)}, bottom(m + 1), targets((m + 1) * strings_in_lanes),
          profile((letters + 1) * strings_in_lanes) {}
    Buffer<Cell> columns[2], bottom;
    Buffer<std::int64_t> targets;
    Buffer<double> profile;
};

// `score(i)` is the number for letter i of the query; `take(lane, column)` gets the column at the end of each target.
template <class Recurrence, class Score, class Take>
void pass_scored(Recurrence &step, ScoredRoom<Recurrence> &room, const Scores &scores, Score score, std::size_t n,
                 Series<std::int32_t> targets, const std::int64_t *members, std::size_t count, Take take) {
    using Cell = typename Recurrence::Cell;
    step.begin();
    for (std::size_t i = 0; i <= n; ++i)
        room.columns[0][i] = step.border(i, 0);
    const std::size_t longest = targets.length(static_cast<std::size_t>(members[count - 1]));
    std::size_t lane = 0;
    for (std::size_t j = 0; j <= longest; ++j) {
        Cell *now = room.columns[j % 2].begin();
        const Cell *old = room.columns[(j + 1) % 2].begin();
        if (j > 0) {
            fill_profile(scores, room.targets.begin() + (j - 1) * strings_in_lanes, room.profile.begin());
            now[0] = step.border(0, j);
            for (std::size_t i = 1; i <= n; ++i)
                now[i] = step.cell(old[i - 1], old[i], now[i - 1], score(i - 1));
            room.bottom[j] = now[n];
        }
        for (; lane < count && targets.length(static_cast<std::size_t>(members[lane])) == j; ++lane)
            take(lane, j, now);
    }
}

// All pairs, or each pair of the same strings once.
template <class Recurrence, class Value>
void fill_scored(Matrix<double> out, Recurrence step, Series<std::int32_t> queries, Series<std::int32_t> targets,
                 const std::int64_t *order, const Scores &scores, bool same, Value value) {
    ScoredRoom<Recurrence> room(longest_of(queries), longest_of(targets), scores.letters);
    for (std::size_t first = 0; first < targets.count; first += strings_in_lanes) {
        const std::size_t count = fewer(strings_in_lanes, targets.count - first);
        const std::int64_t *members = order + first;
        pack_letters(targets, members, count, targets.length(static_cast<std::size_t>(members[count - 1])),
                     room.targets.begin());
        for (std::size_t k = 0; k < (same ? first + count : queries.count); ++k) {
            const std::size_t q = same ? static_cast<std::size_t>(order[k]) : k, n = queries.length(q);
            const auto score = [&](std::size_t i) {
                return load<double>(room.profile.begin() +
                                    static_cast<std::size_t>(queries.begin(q)[i]) * strings_in_lanes);
            };
            pass_scored(step, room, scores, score, n, targets, members, count,
                        [&](std::size_t lane, std::size_t m, const auto *column) {
                            const auto t = static_cast<std::size_t>(members[lane]);
                            out.row(q)[t] = value(step, n, m, lane, column, room.bottom.begin());
                            if (same)
                                out.row(t)[q] = out.row(q)[t];
                        });
        }
    }
}

// The best alignment: `best` ends with a pair of letters or a gap, `down` and `across` with a gap in one of the strings.
template <bool local> struct BestAlignment {
    struct Cell {
        Vector<double> best, down, across;
    };
    double gap_open, gap_extend;
    Vector<double> highest{};

    void begin() { highest = Vector<double>{}; }

    SIMD_INLINE Cell border(std::size_t i, std::size_t j) const {
        const double none = -std::numeric_limits<double>::infinity(), k = static_cast<double>(i + j);
        const Vector<double> gap = all<double>(k > 0 && !local ? -gap_open - (k - 1) * gap_extend : 0.0);
        const bool down = i > 0 && !local, across = j > 0 && !local;
        return {gap, down ? gap : all<double>(none), across ? gap : all<double>(none)};
    }

    SIMD_INLINE Cell cell(const Cell &diagonal, const Cell &before, const Cell &above, Vector<double> score) {
        Cell c;
        c.down = larger<double>(above.best - gap_open, above.down - gap_extend);
        c.across = larger<double>(before.best - gap_open, before.across - gap_extend);
        c.best = larger<double>(diagonal.best + score, larger<double>(c.down, c.across));
        if constexpr (local) {
            c.best = larger<double>(c.best, Vector<double>{});
            highest = larger<double>(highest, c.best);
        }
        return c;
    }
};

template <bool local>
void write_best(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                const std::int64_t *order, const Scores &scores, bool same) {
    fill_scored(out, BestAlignment<local>{scores.gap_open, scores.gap_extend}, queries, targets, order, scores, same,
                [](const BestAlignment<local> &step, std::size_t n, std::size_t, std::size_t lane, const auto *column,
                   const auto *) { return local ? step.highest[lane] : column[n].best[lane]; });
}

inline void best_alignment(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                           const std::int64_t *order, Matrix<const double> scores, double gap_open, double gap_extend,
                           bool local, bool same) {
    const Scores all_scores{scores.entries, scores.rows, gap_open, gap_extend};
    if (local)
        write_best<true>(out, queries, targets, order, all_scores, same);
    else
        write_best<false>(out, queries, targets, order, all_scores, same);
}

SIMD_INLINE Mask<double> later(Mask<double> a, Mask<double> b) { return a > b ? a : b; }

// 2^k, or 0 far below the smallest number.
SIMD_INLINE Vector<double> power_of_two(Mask<double> k) {
    return bits<Vector<double>>((later(k, Mask<double>{} - 1023) + 1023) << 52);
}

// Products of numbers for pairs and gaps, summed over all local alignments (Vert, Saigo and Akutsu 2004): those that end
// with this pair, after it with a gap in one string, or in both. The last are summed in two ways, first down or first
// across, of which the mean is taken: the same bits if both strings are swapped. Every cell has a power of two of its
// own, by which its sums are to be multiplied, and so has the sum of pairs along a diagonal: nothing that counts is lost.
struct SumOfAlignments {
    struct Cell {
        Vector<double> pair, down, across, down_across, across_down;
        Mask<double> power;
        Vector<double> diagonal;
        Mask<double> diagonal_power;
    };
    double gap_open, gap_extend;

    void begin() const {}
    SIMD_INLINE Cell border(std::size_t, std::size_t) const { return Cell{}; }

    SIMD_INLINE Cell cell(const Cell &diagonal, const Cell &before, const Cell &above, Vector<double> score) const {
        const Mask<double> power = later(later(diagonal.power, later(before.power, above.power)), Mask<double>{});
        const Vector<double> d = power_of_two(diagonal.power - power), b = power_of_two(before.power - power);
        const Vector<double> a = power_of_two(above.power - power), one = power_of_two(-power);
        Cell c;
        c.pair = score * multiply_add<double>(d, total(diagonal), one);
        c.down = a * with_gap(above.pair, above.down);
        c.across = b * with_gap(before.pair, before.across);
        c.down_across = b * with_gap(before.down, before.down_across);
        c.across_down = a * with_gap(above.across, above.across_down);
        const Vector<double> size = larger<double>(total(c), all<double>(std::numeric_limits<double>::min()));
        const Mask<double> more = (bits<Mask<double>>(size) >> 52) - 1023;
        const Vector<double> factor = bits<Vector<double>>((1023 - more) << 52);
        c.pair *= factor;
        c.down *= factor;
        c.across *= factor;
        c.down_across *= factor;
        c.across_down *= factor;
        c.power = power + more;
        c.diagonal_power = later(diagonal.diagonal_power, c.power);
        c.diagonal = multiply_add<double>(diagonal.diagonal, power_of_two(diagonal.diagonal_power - c.diagonal_power),
                                          c.pair * power_of_two(c.power - c.diagonal_power));
        return c;
    }

  private:
    SIMD_INLINE Vector<double> with_gap(Vector<double> opened, Vector<double> extended) const {
        return multiply_add<double>(all<double>(gap_open), opened, gap_extend * extended);
    }
    static SIMD_INLINE Vector<double> total(const Cell &c) {
        return c.pair + multiply_add<double>(all<double>(0.5), c.down_across + c.across_down, c.down + c.across);
    }
};

// The logarithm of one plus all diagonals, which end in a column and in a row.
template <class Cell>
double logarithm_of_diagonals(std::size_t n, std::size_t m, std::size_t lane, const Cell *column, const Cell *bottom) {
    std::int64_t most = 0;
    for (std::size_t i = 1; i <= n && m > 0; ++i)
        most = column[i].diagonal_power[lane] > most ? column[i].diagonal_power[lane] : most;
    for (std::size_t j = 1; j <= m && n > 0; ++j)
        most = bottom[j].diagonal_power[lane] > most ? bottom[j].diagonal_power[lane] : most;
    const auto scaled = [&](const Cell &c) {
        const std::int64_t power = c.diagonal_power[lane] - most;
        return std::ldexp(c.diagonal[lane], static_cast<int>(power < -2000 ? -2000 : power));
    };
    const double total = sum_of_diagonals(
        n, m, [&](std::size_t i) { return scaled(column[i]); }, [&](std::size_t j) { return scaled(bottom[j]); });
    const double one = std::ldexp(1.0, static_cast<int>(most > 2000 ? -2000 : -most));
    constexpr double ln2 = 0.693147180559945309417;
    return std::log(one + total) + static_cast<double>(most) * ln2;
}

inline void sum_alignments(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                           const std::int64_t *order, Matrix<const double> scores, double gap_open, double gap_extend,
                           bool same) {
    const WithoutSubnormals scope{};
    fill_scored(out, SumOfAlignments{gap_open, gap_extend}, queries, targets, order,
                Scores{scores.entries, scores.rows, gap_open, gap_extend}, same,
                [](const SumOfAlignments &, std::size_t n, std::size_t m, std::size_t lane, const auto *column,
                   const auto *bottom) { return logarithm_of_diagonals(n, m, lane, column, bottom); });
}

// Each string with itself.
inline void self_sum_alignments(double *out, Series<std::int32_t> strings, const std::int64_t *order,
                                Matrix<const double> scores, double gap_open, double gap_extend) {
    const WithoutSubnormals scope{};
    const Scores table{scores.entries, scores.rows, gap_open, gap_extend};
    SumOfAlignments step{gap_open, gap_extend};
    const std::size_t longest = longest_of(strings);
    ScoredRoom<SumOfAlignments> room(longest, longest, table.letters);
    for (std::size_t first = 0; first < strings.count; first += strings_in_lanes) {
        const std::size_t count = fewer(strings_in_lanes, strings.count - first);
        const std::int64_t *members = order + first, *letters = room.targets.begin();
        const std::size_t n = strings.length(static_cast<std::size_t>(members[count - 1]));
        pack_letters(strings, members, count, n, room.targets.begin());
        const auto score = [&](std::size_t i) {
            Vector<double> found{};
            for (std::size_t lane = 0; lane < strings_in_lanes; ++lane) {
                const std::int64_t letter = letters[i * strings_in_lanes + lane];
                found[lane] = room.profile[static_cast<std::size_t>(letter < 0 ? 0 : letter) * strings_in_lanes + lane];
            }
            return found;
        };
        pass_scored(step, room, table, score, n, strings, members, count,
                    [&](std::size_t lane, std::size_t m, const auto *column) {
                        out[members[lane]] = logarithm_of_diagonals(m, m, lane, column, column);
                    });
    }
}

} // namespace SIMD_NAMESPACE

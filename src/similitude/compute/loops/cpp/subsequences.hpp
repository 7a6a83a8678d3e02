// Common subsequences of one string with many, one target per lane, each weighted by the letters that it spans.
//
// Level q of cell (i, j) sums over the pairs of equal subsequences of q letters within the first i and j letters, each
// times decay to the number of letters between its first letters and i and j that it skips (Lodhi et al. 2002). It is
//     [x_i = z_j] level q - 1 of (i - 1, j - 1) + decay (above + before) - decay^2 diagonal,
// the same bits if both strings are swapped. Matched letters are not weighted here, so that levels are of one size
// whatever the length of strings; the result is multiplied by decay^(2 p) in the end. The last level is summed along
// diagonals, and pairs of diagonals are then added: again the same bits for swapped strings.
#pragma once

#include "alignment.hpp"
#include "buffer.hpp"
#include "table.hpp"
#include "vector.hpp"

namespace SIMD_NAMESPACE {

using LetterLanes = Mask<double>;
constexpr std::size_t strings_in_lanes = lanes<double>;

// Letters of a group of strings, position by position; -1 behind the end of a string.
inline void pack_letters(Series<std::int32_t> strings, const std::int64_t *members, std::size_t count,
                         std::size_t longest, std::int64_t *packed) {
    for (std::size_t k = 0; k < longest * strings_in_lanes; ++k)
        packed[k] = -1;
    for (std::size_t lane = 0; lane < count; ++lane) {
        const auto t = static_cast<std::size_t>(members[lane]);
        for (std::size_t j = 0; j < strings.length(t); ++j)
            packed[j * strings_in_lanes + lane] = strings.begin(t)[j];
    }
}

// One letter of all targets against the query; `fixed` levels are known to the compiler, 0 stands for any number.
template <std::size_t fixed, class Query>
SIMD_INLINE void next_letters(const Vector<double> *old, Vector<double> *now, Query query, std::size_t n,
                              LetterLanes target, std::size_t any_levels, double decay) {
    const std::size_t levels = fixed ? fixed : any_levels;
    const double squared = decay * decay;
    Vector<double> known[fixed ? fixed : 1] = {}; // the cell above, in registers: each cell waits for it
    for (std::size_t i = 1; i <= n; ++i) {
        const LetterLanes equal = query(i - 1) == target;
        const Vector<double> *diagonal = old + (i - 1) * levels, *before = old + i * levels;
        const Vector<double> *above = fixed ? known : now + (i - 1) * levels;
        Vector<double> *cell = now + i * levels, shorter = all<double>(1.0);
#pragma GCC unroll 8
        for (std::size_t q = 0; q + 1 < levels; ++q) {
            const Vector<double> matched = bits<Vector<double>>(bits<LetterLanes>(shorter) & equal);
            shorter = diagonal[q];
            cell[q] = matched + (decay * (above[q] + before[q]) - squared * shorter);
            if constexpr (fixed > 0)
                known[q] = cell[q];
        }
        cell[levels - 1] = diagonal[levels - 1] + bits<Vector<double>>(bits<LetterLanes>(shorter) & equal);
    }
}

// Sums of diagonals: those that end at the last letter of the target, and those that end at the last of the query.
template <class Right, class Bottom>
double sum_of_diagonals(std::size_t n, std::size_t m, Right right, Bottom bottom) {
    double total = n > 0 && m > 0 ? right(n) : 0.0;
    for (std::size_t k = 1; k < n || k < m; ++k)
        total += (k < n ? right(n - k) : 0.0) + (k < m ? bottom(m - k) : 0.0);
    return total;
}

// The levels of two columns, and the sums of diagonals at the end of the query.
struct SubsequenceRoom {
    SubsequenceRoom(std::size_t n, std::size_t m, std::size_t p)
        : columns{Buffer<Vector<double>>((n + 1) * p), Buffer<Vector<double>>((n + 1) * p)}, bottom(m + 1),
          targets((m + 1) * strings_in_lanes) {}
    Buffer<Vector<double>> columns[2], bottom;
    Buffer<std::int64_t> targets;
};

template <std::size_t fixed, class Query, class Take>
void pass_subsequences(SubsequenceRoom &room, Query query, std::size_t n, Series<std::int32_t> targets,
                       const std::int64_t *members, std::size_t count, std::size_t p, double decay, Take take) {
    for (const auto &column : room.columns)
        std::memset(static_cast<void *>(column.begin()), 0, (n + 1) * p * sizeof(Vector<double>));
    const std::size_t longest = targets.length(static_cast<std::size_t>(members[count - 1]));
    std::size_t lane = 0;
    for (std::size_t j = 0; j <= longest; ++j) {
        Vector<double> *now = room.columns[j % 2].begin();
        if (j > 0) {
            const LetterLanes letters = load<std::int64_t>(room.targets.begin() + (j - 1) * strings_in_lanes);
            next_letters<fixed>(room.columns[(j + 1) % 2].begin(), now, query, n, letters, p, decay);
            room.bottom[j] = now[n * p + p - 1];
        }
        for (; lane < count && targets.length(static_cast<std::size_t>(members[lane])) == j; ++lane)
            take(lane, j, [&](std::size_t i) { return now[i * p + p - 1][lane]; },
                 [&](std::size_t k) { return room.bottom[k][lane]; });
    }
}

template <class Query, class Take>
void run_subsequences(SubsequenceRoom &room, Query query, std::size_t n, Series<std::int32_t> targets,
                      const std::int64_t *members, std::size_t count, std::size_t p, double decay, Take take) {
    const auto pass = [&](auto levels) {
        pass_subsequences<levels.value>(room, query, n, targets, members, count, p, decay, take);
    };
    switch (p) {
    case 2:
        return pass(std::integral_constant<std::size_t, 2>{});
    case 3:
        return pass(std::integral_constant<std::size_t, 3>{});
    case 4:
        return pass(std::integral_constant<std::size_t, 4>{});
    case 5:
        return pass(std::integral_constant<std::size_t, 5>{});
    case 6:
        return pass(std::integral_constant<std::size_t, 6>{});
    default:
        return pass(std::integral_constant<std::size_t, 0>{});
    }
}

inline void subsequences(Matrix<double> out, Series<std::int32_t> queries, Series<std::int32_t> targets,
                         const std::int64_t *order, std::size_t p, double decay, bool same) {
    const WithoutSubnormals scope{};
    const double spanned = std::pow(decay, 2.0 * static_cast<double>(p));
    SubsequenceRoom room(longest_of(queries), longest_of(targets), p);
    for (std::size_t first = 0; first < targets.count; first += strings_in_lanes) {
        const std::size_t count = fewer(strings_in_lanes, targets.count - first);
        const std::int64_t *members = order + first;
        pack_letters(targets, members, count, targets.length(static_cast<std::size_t>(members[count - 1])),
                     room.targets.begin());
        for (std::size_t k = 0; k < (same ? first + count : queries.count); ++k) {
            const std::size_t q = same ? static_cast<std::size_t>(order[k]) : k, n = queries.length(q);
            const auto letter = [&](std::size_t i) { return LetterLanes{} + std::int64_t(queries.begin(q)[i]); };
            run_subsequences(room, letter, n, targets, members, count, p, decay,
                             [&](std::size_t lane, std::size_t m, auto right, auto bottom) {
                                 const auto t = static_cast<std::size_t>(members[lane]);
                                 out.row(q)[t] = spanned * sum_of_diagonals(n, m, right, bottom);
                                 if (same)
                                     out.row(t)[q] = out.row(q)[t];
                             });
        }
    }
}

// Each string with itself: the sums of both kinds of diagonals are then equal.
inline void self_subsequences(double *out, Series<std::int32_t> strings, const std::int64_t *order, std::size_t p,
                              double decay) {
    const WithoutSubnormals scope{};
    const double spanned = std::pow(decay, 2.0 * static_cast<double>(p));
    const std::size_t longest = longest_of(strings);
    SubsequenceRoom room(longest, longest, p);
    for (std::size_t first = 0; first < strings.count; first += strings_in_lanes) {
        const std::size_t count = fewer(strings_in_lanes, strings.count - first);
        const std::int64_t *members = order + first, *letters = room.targets.begin();
        const std::size_t n = strings.length(static_cast<std::size_t>(members[count - 1]));
        pack_letters(strings, members, count, n, room.targets.begin());
        run_subsequences(room, [&](std::size_t i) { return load<std::int64_t>(letters + i * strings_in_lanes); }, n,
                         strings, members, count, p, decay,
                         [&](std::size_t lane, std::size_t m, auto right, auto) {
                             out[members[lane]] = spanned * sum_of_diagonals(m, m, right, right);
                         });
    }
}

} // namespace SIMD_NAMESPACE

// Dynamic programming of series against series, one target per lane.
//
// A recurrence gives the borders of the table and the value of a cell from its three neighbors and the squared
// difference of the two entries. The table is filled target position by target position, and only the current column
// is kept. Lanes whose target has ended go on with zeros; their results were taken when they ended.
#pragma once

#include "buffer.hpp"
#include "vector.hpp"
#include "table.hpp"

namespace SIMD_NAMESPACE {

// Several registers at once: their chains of dependent steps overlap.
template <class T, std::size_t registers> struct Group {
    Vector<T> at[registers];
};

template <class T, std::size_t registers> SIMD_INLINE Group<T, registers> everywhere(T value) {
    Group<T, registers> group;
    for (auto &v : group.at)
        v = all<T>(value);
    return group;
}

// Cells `low` to `high` of the next column; column[i] is the cell after i entries of the query, and column[low - 1]
// becomes `above`. The query is one for all lanes or, if paired, packed like the targets.
template <class T, std::size_t registers, bool paired, class Recurrence>
inline void next_column(const Recurrence step, Group<T, registers> *column, const T *query, std::size_t channels,
                        std::size_t low, std::size_t high, const T *targets, Group<T, registers> above) {
    constexpr std::size_t width = registers * lanes<T>, entry = paired ? width : 1;
    Group<T, registers> target, diagonal = column[low - 1];
    for (std::size_t r = 0; r < registers; ++r)
        target.at[r] = load<T>(targets + r * lanes<T>);
    column[low - 1] = above;
    for (std::size_t i = low; i <= high; ++i) {
        const T *x = query + (i - 1) * channels * entry;
        Vector<T> squares[registers];
        auto gap = [&](std::size_t c, std::size_t r, Vector<T> z) {
            return (paired ? load<T>(x + c * width + r * lanes<T>) : all<T>(x[c])) - z;
        };
#pragma GCC unroll 4
        for (std::size_t r = 0; r < registers; ++r) {
            const Vector<T> g = gap(0, r, target.at[r]);
            squares[r] = g * g;
        }
        for (std::size_t c = 1; c < channels; ++c)
#pragma GCC unroll 4
            for (std::size_t r = 0; r < registers; ++r) {
                const Vector<T> g = gap(c, r, load<T>(targets + c * width + r * lanes<T>));
                squares[r] += g * g;
            }
#pragma GCC unroll 4
        for (std::size_t r = 0; r < registers; ++r) {
            const Vector<T> before = column[i].at[r];
            above.at[r] = step.cell(diagonal.at[r], before, above.at[r], squares[r]);
            diagonal.at[r] = before;
            column[i].at[r] = above.at[r];
        }
    }
}

// Fills packed[(j * channels + c) * width + lane] with entry j of the target in that lane; returns the greatest length.
template <class T, std::size_t registers>
std::size_t pack(Series<T> targets, const std::int64_t *order, std::size_t count, T *packed) {
    constexpr std::size_t width = registers * lanes<T>;
    const std::size_t channels = targets.channels, longest = targets.length(order[count - 1]);
    std::memset(static_cast<void *>(packed), 0, longest * channels * width * sizeof(T));
    for (std::size_t lane = 0; lane < count; ++lane) {
        const std::size_t size = targets.length(order[lane]) * channels;
        for (std::size_t k = 0; k < size; ++k)
            packed[k * width + lane] = targets.begin(order[lane])[k];
    }
    return longest;
}

struct Cells {
    std::size_t low, high;
};

// The cells of column j that the band allows, counted from 1: all n of them if it does not limit.
inline Cells allowed_cells(Band band, std::size_t n, std::size_t longest, std::size_t j) {
    if (!band.limits())
        return {1, n};
    const auto rows = static_cast<std::int64_t>(n), columns = static_cast<std::int64_t>(longest);
    const std::int64_t steps = band.steps(rows, columns), at = static_cast<std::int64_t>(j);
    const std::int64_t first = at - steps + (rows < columns ? rows - columns : 0);
    const std::int64_t last = at + steps + (rows > columns ? rows - columns : 0);
    return {first > 1 ? static_cast<std::size_t>(first) : 1, last < rows ? static_cast<std::size_t>(last) : n};
}

// One column after the other, of one query with a group of targets, or of each target with itself. `take` gets the
// last cell of each lane, and by which power of two it is to be multiplied.
template <class T, std::size_t registers, bool paired, class Recurrence, class Take>
void fill_table(Recurrence step, Group<T, registers> *column, const T *query, std::size_t n, const T *packed,
                Series<T> targets, const std::int64_t *order, std::size_t count, Band band, Take take) {
    constexpr std::size_t width = registers * lanes<T>;
    for (std::size_t i = 0; i <= n; ++i)
        for (auto &v : column[i].at)
            v = all<T>(i == 0 ? Recurrence::corner : Recurrence::border);
    Group<T, registers> powers{};
    const std::size_t longest = targets.length(order[count - 1]);
    std::size_t lane = 0;
    for (std::size_t j = 0; j <= longest; ++j) {
        if (j > 0) {
            const Cells cells = allowed_cells(band, n, longest, j); // with a band all targets have one length
            next_column<T, registers, paired>(step, column, query, targets.channels, cells.low, cells.high,
                                              packed + (j - 1) * targets.channels * width,
                                              everywhere<T, registers>(Recurrence::border));
            if (Recurrence::rescaled_every != 0 && j % Recurrence::rescaled_every == 0)
                step.template rescale<registers>(column, n, powers);
        }
        for (; lane < count && targets.length(order[lane]) == j; ++lane) {
            const std::size_t r = lane / lanes<T>, l = lane % lanes<T>;
            take(lane, column[paired ? j : n].at[r][l], powers.at[r][l]);
        }
    }
}

// The cells of a stripe of the query: they stay in the fastest cache from column to column.
constexpr std::size_t stripe_bytes = 3 << 13;

// The same for a long query, a stripe of its entries after the other; edge[j] is the cell of column j above the stripe.
template <class T, std::size_t registers, class Recurrence, class Take>
void fill_stripes(Recurrence step, Group<T, registers> *column, Group<T, registers> *edge, const T *query,
                  std::size_t n, const T *packed, Series<T> targets, const std::int64_t *order, std::size_t count,
                  Band band, Take take) {
    constexpr std::size_t width = registers * lanes<T>, stripe = stripe_bytes / sizeof(Group<T, registers>);
    const Group<T, registers> border = everywhere<T, registers>(Recurrence::border);
    const std::size_t longest = targets.length(order[count - 1]), channels = targets.channels;
    edge[0] = everywhere<T, registers>(Recurrence::corner);
    for (std::size_t j = 1; j <= longest; ++j)
        edge[j] = border;
    for (std::size_t start = 0; start < n; start += stripe) {
        const std::size_t rows = fewer(stripe, n - start), last = start + rows;
        column[0] = edge[0];
        for (std::size_t i = 1; i <= rows; ++i)
            column[i] = border;
        edge[0] = border;
        std::size_t lane = 0;
        for (std::size_t j = 0; j <= longest; ++j) {
            if (j > 0) {
                const Cells cells = allowed_cells(band, n, longest, j);
                const Group<T, registers> above = edge[j];
                const std::size_t low = cells.low > start ? cells.low - start : 1;
                if (low <= rows && cells.high > start)
                    next_column<T, registers, false>(step, column, query + start * channels, channels, low,
                                                     fewer(cells.high, last) - start,
                                                     packed + (j - 1) * channels * width, low == 1 ? above : border);
                if (low > 1 || cells.high <= start)
                    column[0] = above;
                edge[j] = cells.high >= last && low <= rows ? column[rows] : border;
            }
            for (; last == n && lane < count && targets.length(order[lane]) == j; ++lane)
                take(lane, column[rows].at[lane / lanes<T>][lane % lanes<T>], T(0));
        }
    }
}

// How many targets from `first` on make a group: at most `most`, and of one length where a band limits the paths.
template <class T>
std::size_t group_size(Series<T> targets, const std::int64_t *order, std::size_t first, std::size_t most, Band band) {
    const std::size_t limit = fewer(most, targets.count - first);
    std::size_t count = 1;
    while (count < limit && (!band.limits() || targets.length(order[first + count]) == targets.length(order[first])))
        ++count;
    return count;
}

template <class T> std::size_t longest_of(Series<T> series) {
    std::size_t longest = 0;
    for (std::size_t t = 0; t < series.count; ++t)
        longest = series.length(t) > longest ? series.length(t) : longest;
    return longest;
}

// Calls f with a whole number that is known to the compiler: the fewest registers, up to `most`, that hold `count`.
template <class T, std::size_t most, class F> SIMD_INLINE void with_registers(std::size_t count, F f) {
    if constexpr (most > 1)
        if (count <= most / 2 * lanes<T>)
            return with_registers<T, most / 2>(count, f);
    f(std::integral_constant<std::size_t, most>{});
}

// All pairs of A with B; if half, A is B and each pair is computed once. `order` sorts B by length: neighbors of equal
// length waste no lanes. `take(i, j, cell, power)` gets the results.
template <class T, class Recurrence, class Take>
void align(Recurrence step, Series<T> A, Series<T> B, const std::int64_t *order, Band band, bool half, Take take) {
    constexpr std::size_t most = Recurrence::registers, widest = most * lanes<T>;
    const Buffer<T> packed(longest_of(B) * B.channels * widest), column((longest_of(A) + 1) * widest);
    const Buffer<T> edge((longest_of(B) + 1) * widest);
    for (std::size_t first = 0, count = 0; first < B.count; first += count) {
        count = group_size(B, order, first, widest, band);
        with_registers<T, most>(count, [&](auto chosen) {
            constexpr std::size_t registers = decltype(chosen)::value;
            pack<T, registers>(B, order + first, count, packed.begin());
            for (std::size_t p = 0; p < (half ? first + count : A.count); ++p) {
                const std::size_t i = half ? static_cast<std::size_t>(order[p]) : p;
                auto take_lane = [&](std::size_t lane, T cell, T power) {
                    if (!half || first + lane >= p)
                        take(i, static_cast<std::size_t>(order[first + lane]), cell, power);
                };
                auto *cells = reinterpret_cast<Group<T, registers> *>(column.begin());
                if (Recurrence::rescaled_every == 0 && A.length(i) * sizeof(Group<T, registers>) > stripe_bytes)
                    fill_stripes<T, registers>(step, cells, reinterpret_cast<Group<T, registers> *>(edge.begin()),
                                               A.begin(i), A.length(i), packed.begin(), B, order + first, count, band,
                                               take_lane);
                else
                    fill_table<T, registers, false>(step, cells, A.begin(i), A.length(i), packed.begin(), B,
                                                    order + first, count, band, take_lane);
            }
        });
    }
}

// Each series with itself.
template <class T, class Recurrence, class Take>
void align_with_itself(Recurrence step, Series<T> A, const std::int64_t *order, Take take) {
    constexpr std::size_t registers = Recurrence::registers, width = registers * lanes<T>;
    const std::size_t longest = longest_of(A);
    const Buffer<T> packed(longest * A.channels * width), column((longest + 1) * width);
    for (std::size_t first = 0; first < A.count; first += width) {
        const std::size_t count = fewer(width, A.count - first);
        const std::size_t n = pack<T, registers>(A, order + first, count, packed.begin());
        fill_table<T, registers, true>(step, reinterpret_cast<Group<T, registers> *>(column.begin()), packed.begin(),
                                       n, packed.begin(), A, order + first, count, Band{-1, -1.0},
                                       [&](std::size_t lane, T cell, T power) {
                                           take(static_cast<std::size_t>(order[first + lane]), cell, power);
                                       });
    }
}

} // namespace SIMD_NAMESPACE

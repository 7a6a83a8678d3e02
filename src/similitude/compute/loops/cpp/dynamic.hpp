// Dynamic programming of series against series, one target per lane.
//
// A recurrence gives the borders of the table and the value of a cell from its three neighbors, and the squared
// difference of the two entries or, if it is `of_entries`, the entries. The table is filled target position by target position, and only the current column
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

// After so many columns, a recurrence that may be `hopeless` is asked whether to give up.
constexpr std::size_t checked_every = 8;

// Cells `low` to `high` of the next column; column[i] is the cell after i entries of the query. The query is one for
// all lanes or, if paired, packed like the targets.
template <class T, std::size_t registers, bool paired, class Recurrence>
inline void next_column(const Recurrence step, Group<T, registers> *column, const T *query, std::size_t channels,
                        std::size_t low, std::size_t high, const T *targets) {
    constexpr std::size_t width = registers * lanes<T>, entry = paired ? width : 1;
    Group<T, registers> target, diagonal = column[low - 1];
    auto of_target = [&](std::size_t r) {
        return [=](std::size_t c) { return load<T>(targets + c * width + r * lanes<T>); };
    };
    auto of_query = [&](std::size_t i, std::size_t r) {
        const T *x = query + (i - 1) * channels * entry;
        return [=](std::size_t c) { return paired ? load<T>(x + c * width + r * lanes<T>) : all<T>(x[c]); };
    };
    for (std::size_t r = 0; r < registers; ++r) {
        target.at[r] = load<T>(targets + r * lanes<T>);
        column[low - 1].at[r] = low == 1 ? step.border_of(of_target(r)) : all<T>(Recurrence::border);
    }
    Group<T, registers> above = column[low - 1];
    auto write = [&](std::size_t i, std::size_t r, Vector<T> cell) {
        diagonal.at[r] = column[i].at[r];
        column[i].at[r] = above.at[r] = cell;
    };
    if constexpr (Recurrence::of_entries) {
        for (std::size_t i = low; i <= high; ++i)
#pragma GCC unroll 4
            for (std::size_t r = 0; r < registers; ++r)
                write(i, r,
                      step.cell(diagonal.at[r], column[i].at[r], above.at[r], of_query(i, r), of_target(r)));
    } else if (channels == 1) {
#pragma GCC unroll 2
        for (std::size_t i = low; i <= high; ++i)
#pragma GCC unroll 4
            for (std::size_t r = 0; r < registers; ++r)
                write(i, r,
                      step.cell_of_gap(diagonal.at[r], column[i].at[r], above.at[r],
                                       Recurrence::gap(of_query(i, r)(0), target.at[r])));
    } else {
        for (std::size_t i = low; i <= high; ++i) {
            Vector<T> squares[registers]{};
            for (std::size_t c = 0; c < channels; ++c)
#pragma GCC unroll 4
                for (std::size_t r = 0; r < registers; ++r) {
                    const Vector<T> g = Recurrence::gap(of_query(i, r)(c), of_target(r)(c));
                    squares[r] += g * g;
                }
#pragma GCC unroll 4
            for (std::size_t r = 0; r < registers; ++r)
                write(i, r, step.cell(diagonal.at[r], column[i].at[r], above.at[r], squares[r]));
        }
    }
}

// The first column, of no entry of the targets: what it costs to leave out the query up to each of its entries.
template <class T, std::size_t registers, bool paired, class Recurrence>
inline void first_column(const Recurrence step, Group<T, registers> *column, const T *query, std::size_t n,
                         std::size_t channels) {
    constexpr std::size_t width = registers * lanes<T>, entry = paired ? width : 1;
    for (std::size_t r = 0; r < registers; ++r) {
        column[0].at[r] = all<T>(Recurrence::corner);
        for (std::size_t i = 1; i <= n; ++i) {
            const T *x = query + (i - 1) * channels * entry;
            column[i].at[r] = step.border_of(
                [=](std::size_t c) { return paired ? load<T>(x + c * width + r * lanes<T>) : all<T>(x[c]); });
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

// One column after the other, of one query with a group of targets, or of a query of its length with each target. `take`
// gets the last cell of each lane, and by which power of two it is to be multiplied.
template <class T, std::size_t registers, bool paired, class Recurrence, class Take>
void fill_table(Recurrence step, Group<T, registers> *column, const T *query, std::size_t n, const T *packed,
                Series<T> targets, const std::int64_t *order, std::size_t count, Band band, Take take) {
    constexpr std::size_t width = registers * lanes<T>;
    first_column<T, registers, paired>(step, column, query, n, targets.channels);
    Group<T, registers> powers{};
    const std::size_t longest = targets.length(order[count - 1]);
    std::size_t lane = 0;
    for (std::size_t j = 0; j <= longest; ++j) {
        if (j > 0) {
            std::size_t low = 1, high = n;
            if (band.limits()) { // all targets have one length then
                const auto rows = static_cast<std::int64_t>(n), columns = static_cast<std::int64_t>(longest);
                const std::int64_t steps = band.steps(rows, columns), at = static_cast<std::int64_t>(j);
                const std::int64_t first = at - steps + (rows < columns ? rows - columns : 0);
                const std::int64_t last = at + steps + (rows > columns ? rows - columns : 0);
                low = first > 1 ? static_cast<std::size_t>(first) : 1;
                high = last < rows ? static_cast<std::size_t>(last) : n;
            }
            next_column<T, registers, paired>(step, column, query, targets.channels, low, high,
                                              packed + (j - 1) * targets.channels * width);
            if (high < n) // no path leads through the cells below the band
                for (auto &v : column[high + 1].at)
                    v = all<T>(Recurrence::border);
            if constexpr (requires { step.template hopeless<registers>(column, low, high); })
                if (j % checked_every == 0 && j < longest && step.template hopeless<registers>(column, low, high))
                    return;
            if (Recurrence::rescaled_every != 0 && j % Recurrence::rescaled_every == 0)
                step.template rescale<registers>(column, n, powers);
        }
        for (; lane < count && targets.length(order[lane]) == j; ++lane) {
            const std::size_t r = lane / lanes<T>, l = lane % lanes<T>;
            take(lane, column[paired ? j : n].at[r][l], powers.at[r][l]);
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

// All pairs of a group of series of one length, each pair once and in a lane of its own. `room` holds two groups.
template <class T, std::size_t registers, class Recurrence, class Take>
void align_within(Recurrence step, Group<T, registers> *column, T *room, Series<T> A, const std::int64_t *order,
                  std::size_t count, Band band, Take take) {
    constexpr std::size_t width = registers * lanes<T>;
    const std::size_t n = A.length(order[0]);
    T *queries = room, *targets = room + n * A.channels * width;
    std::int64_t left[width], right[width];
    std::size_t filled = 0;
    for (std::size_t q = 0; q < count; ++q)
        for (std::size_t p = 0; p <= q; ++p) {
            left[filled] = order[p];
            right[filled++] = order[q];
            if (filled < width && p + q + 2 < 2 * count)
                continue;
            pack<T, registers>(A, left, filled, queries);
            pack<T, registers>(A, right, filled, targets);
            fill_table<T, registers, true>(step, column, queries, n, targets, A, right, filled, band,
                                           [&](std::size_t lane, T cell, T power) {
                                               take(static_cast<std::size_t>(left[lane]),
                                                    static_cast<std::size_t>(right[lane]), cell, power);
                                           });
            filled = 0;
        }
}

// All pairs of A with B; if half, A is B and each pair is computed once. `order` sorts B by length: neighbors of equal
// length waste no lanes. `take(i, j, cell, power)` gets the results.
template <class T, class Recurrence, class Take>
void align(Recurrence step, Series<T> A, Series<T> B, const std::int64_t *order, Band band, bool half, Take take) {
    constexpr std::size_t most = Recurrence::registers, widest = most * lanes<T>;
    const Buffer<T> room(2 * longest_of(B) * B.channels * widest), column((longest_of(A) + 1) * widest);
    for (std::size_t first = 0, count = 0; first < B.count; first += count) {
        count = group_size(B, order, first, widest, band);
        const bool alike = B.length(order[first]) == B.length(order[first + count - 1]);
        with_registers<T, most>(count, [&](auto chosen) {
            constexpr std::size_t registers = decltype(chosen)::value;
            auto *cells = reinterpret_cast<Group<T, registers> *>(column.begin());
            pack<T, registers>(B, order + first, count, room.begin());
            const std::size_t end = !half ? A.count : alike ? first : first + count;
            for (std::size_t p = 0; p < end; ++p) {
                const std::size_t i = half ? static_cast<std::size_t>(order[p]) : p;
                fill_table<T, registers, false>(
                    step, cells, A.begin(i), A.length(i), room.begin(), B, order + first, count, band,
                    [&](std::size_t lane, T cell, T power) {
                        if (!half || first + lane >= p)
                            take(i, static_cast<std::size_t>(order[first + lane]), cell, power);
                    });
            }
            if (half && alike)
                align_within<T, registers>(step, cells, room.begin(), B, order + first, count, band, take);
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

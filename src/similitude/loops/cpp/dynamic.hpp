// Dynamic programming of one query against many targets, one target per lane.
//
// A recurrence gives the borders of the table and the value of a cell from its three neighbours. The table is filled
// target position by target position, and only the current column is kept. Lanes whose target has ended go on with
// zeros; their results were taken when they ended.
#pragma once

#include "buffer.hpp"
#include "vector.hpp"
#include "table.hpp"

namespace SIMD_NAMESPACE {

// Squared differences summed along the best path.
template <class T> struct TimeWarping {
    static constexpr T corner = 0;
    static constexpr T border = std::numeric_limits<T>::infinity();

    // `before` cells were known a column ago, `above` only one step ago: it comes last, to keep the chain short.
    static Vector<T> cell(Vector<T> diagonal, Vector<T> before, Vector<T> above, Vector<T> query, Vector<T> target) {
        const Vector<T> gap = query - target;
        return gap * gap + smaller<T>(smaller<T>(diagonal, before), above);
    }
};

// Several registers at once: their chains of dependent steps overlap.
constexpr std::size_t registers = 4;
template <class T> constexpr std::size_t targets_at_once = registers * lanes<T>;

template <class T> struct Group {
    Vector<T> at[registers];
};

// One position of all targets of a group; column[i] is the cell after i entries of the query.
template <class T, class Recurrence>
inline void next_column(Group<T> *column, const T *query, std::size_t n, const T *targets) {
    Group<T> target, diagonal = column[0];
    for (std::size_t r = 0; r < registers; ++r) {
        target.at[r] = load<T>(targets + r * lanes<T>);
        column[0].at[r] = all<T>(Recurrence::border);
    }
    Group<T> above = column[0];
    for (std::size_t i = 1; i <= n; ++i) {
        const Vector<T> x = all<T>(query[i - 1]);
#pragma GCC unroll 4
        for (std::size_t r = 0; r < registers; ++r) {
            const Vector<T> before = column[i].at[r];
            above.at[r] = Recurrence::cell(diagonal.at[r], before, above.at[r], x, target.at[r]);
            diagonal.at[r] = before;
            column[i].at[r] = above.at[r];
        }
    }
}

template <class T> inline void take_results(const Group<T> &last, std::size_t length, Series<T> targets,
                                            const std::int64_t *order, std::size_t count, T *out) {
    for (std::size_t lane = 0; lane < count; ++lane)
        if (targets.length(order[lane]) == length)
            out[order[lane]] = last.at[lane / lanes<T>][lane % lanes<T>];
}

// Fills packed[j * width + lane] with entry j of the target in that lane; returns the greatest length.
template <class T>
std::size_t pack_targets(Series<T> targets, const std::int64_t *order, std::size_t count, Buffer<T> &packed,
                         std::size_t room) {
    constexpr std::size_t width = targets_at_once<T>;
    std::memset(packed.begin(), 0, room * width * sizeof(T));
    std::size_t longest = 0;
    for (std::size_t lane = 0; lane < count; ++lane) {
        const std::size_t length = targets.length(order[lane]);
        longest = length > longest ? length : longest;
        for (std::size_t j = 0; j < length; ++j)
            packed[j * width + lane] = targets.begin(order[lane])[j];
    }
    return longest;
}

// Targets are taken in the given order: neighbours of equal length waste no lanes.
template <class T, class Recurrence>
void align(const T *query, std::size_t n, Series<T> targets, const std::int64_t *order, T *out) {
    constexpr std::size_t width = targets_at_once<T>;
    std::size_t room = 0;
    for (std::size_t t = 0; t < targets.count; ++t)
        room = targets.length(t) > room ? targets.length(t) : room;
    Buffer<T> packed(room * width);
    const Buffer<Group<T>> column(n + 1);
    for (std::size_t first = 0; first < targets.count; first += width) {
        const std::size_t count = fewer(width, targets.count - first);
        const std::size_t longest = pack_targets<T>(targets, order + first, count, packed, room);
        for (std::size_t i = 0; i <= n; ++i)
            for (auto &v : column[i].at)
                v = all<T>(i == 0 ? Recurrence::corner : Recurrence::border);
        take_results<T>(column[n], 0, targets, order + first, count, out);
        for (std::size_t j = 0; j < longest; ++j) {
            next_column<T, Recurrence>(column.begin(), query, n, packed.begin() + j * width);
            take_results<T>(column[n], j + 1, targets, order + first, count, out);
        }
    }
}

template <class T> void dtw(const T *query, std::size_t n, Series<T> targets, const std::int64_t *order, T *out) {
    align<T, TimeWarping<T>>(query, n, targets, order, out);
}

} // namespace SIMD_NAMESPACE

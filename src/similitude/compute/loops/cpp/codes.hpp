// Strings as bags of features: 64-bit codes with counts, and which features two blocks of bags share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

using Code = std::uint64_t;

// A code with this bit is only a digest: whether two of them mean the same is seen by looking at the windows.
constexpr Code digested = Code(1) << 63;

// A number all of whose bits depend on all bits of x; different for different x.
inline Code mixed(Code x) {
    x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u;
    return x ^ (x >> 32);
}

// Strings one after the other: string i is letters starts[i] to starts[i + 1].
struct Strings {
    const std::uint32_t *letters;
    const std::int64_t *starts;
    std::size_t count;

    const std::uint32_t *begin(std::size_t i) const { return letters + starts[i]; }
    std::int64_t length(std::size_t i) const { return starts[i + 1] - starts[i]; }
};

// Positions of a window that are looked at: pattern q takes positions[starts[q]] to positions[starts[q + 1] - 1] of
// spans[q] letters.
struct Patterns {
    const std::int64_t *positions, *starts, *spans;
    std::size_t count;

    std::size_t size(std::size_t q) const { return static_cast<std::size_t>(starts[q + 1] - starts[q]); }
    const std::int64_t *of(std::size_t q) const { return positions + starts[q]; }
};

// Bags one after the other. A feature's place is (position in its string) * (number of patterns) + pattern.
struct Bags {
    const Code *codes;
    const std::int64_t *places, *starts;
    std::size_t count;
    Strings strings;
};

struct Bagged {
    std::vector<Code> codes;
    std::vector<std::int64_t> places, counts, starts;

    void reserve(std::size_t features) {
        codes.reserve(features);
        places.reserve(features);
        counts.reserve(features);
    }
};

Bagged bag_windows(Strings strings, Patterns patterns);

// Every word over `letters` letters that differs from a window of `length` at `most` places at most. Letters of the
// strings are numbers below `letters`; any other number agrees with none of them.
Bagged bag_neighbors(Strings strings, std::size_t letters, std::size_t length, std::size_t most);

// Numbers the features that occur in both A and B from 0 on, in the order in which B has them; -1 for all others.
// Returns how many there are.
std::size_t number_shared(const Bags &A, const Bags &B, Patterns patterns, std::int32_t *a, std::int32_t *b);

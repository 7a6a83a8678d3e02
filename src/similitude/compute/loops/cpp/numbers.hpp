// Numbers for keys of 64 bits, given in the order in which keys come.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

// An open hash table, at most half full.
class Numbers {
  public:
    explicit Numbers(std::size_t expected = 0) {
        while ((std::size_t(1) << bits_) < 2 * expected + 2)
            ++bits_;
        slots_.resize(std::size_t(1) << bits_);
    }

    std::size_t count() const { return count_; }

    // Starts anew, with the room it has.
    void forget() {
        count_ = 0;
        if (++round_ == 0) { // the counter of rounds came round
            std::fill(slots_.begin(), slots_.end(), Slot{});
            round_ = 1;
        }
    }

    // Returns the number of a key, `count()` before the call for a new one. Two equal keys are one if same(number of the
    // first) says so.
    template <class Same> std::int64_t add(std::uint64_t key, Same same) {
        const std::size_t at = place(key, same);
        if (slots_[at].round == round_)
            return slots_[at].number;
        const auto number = static_cast<std::uint32_t>(count_++);
        slots_[at] = {key, number, round_};
        if (count_ * 2 > slots_.size())
            grow();
        return number;
    }

    // Returns the number of a key, -1 if it has none.
    template <class Same> std::int64_t find(std::uint64_t key, Same same) const {
        const Slot &slot = slots_[place(key, same)];
        return slot.round == round_ ? static_cast<std::int64_t>(slot.number) : -1;
    }

  private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t number = 0, round = 0; // in use if its round is the current one
    };

    template <class Same> std::size_t place(std::uint64_t key, Same same) const {
        std::size_t at = static_cast<std::size_t>((key * 0x9e3779b97f4a7c15u) >> (64 - bits_));
        while (slots_[at].round == round_ && !(slots_[at].key == key && same(slots_[at].number)))
            at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void grow() {
        bits_ += 2;
        std::vector<Slot> old(std::size_t(1) << bits_);
        old.swap(slots_);
        for (const Slot &slot : old)
            if (slot.round == round_)
                slots_[place(slot.key, [](std::size_t) { return false; })] = slot;
    }

    unsigned bits_ = 10;
    std::uint32_t round_ = 1;
    std::size_t count_ = 0;
    std::vector<Slot> slots_;
};

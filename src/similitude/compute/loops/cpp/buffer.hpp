// Room for intermediate numbers. Defined here, in the namespace of the instruction set, because the linker keeps only
// one copy of what the standard library instantiates, and that copy may use instructions the machine lacks.
#pragma once

#include <cstddef>
#include <cstring>
#include <new>

namespace SIMD_NAMESPACE {

// `count` entries of zero bytes, aligned for vectors; entries are numbers, pointers or vectors.
template <class T> class Buffer {
  public:
    explicit Buffer(std::size_t count) : entries_(static_cast<T *>(::operator new(count * sizeof(T) + 64, alignment))) {
        std::memset(static_cast<void *>(entries_), 0, count * sizeof(T));
    }
    ~Buffer() { ::operator delete(entries_, alignment); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    T *begin() const { return entries_; }
    T &operator[](std::size_t i) const { return entries_[i]; }

  private:
    static constexpr std::align_val_t alignment{64};
    T *entries_;
};

constexpr std::size_t fewer(std::size_t a, std::size_t b) { return a < b ? a : b; }

} // namespace SIMD_NAMESPACE

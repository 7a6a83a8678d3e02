#include "processor.hpp"

#include <initializer_list>

#if defined(__x86_64__)
#include <cpuid.h>

namespace {

bool all(unsigned word, std::initializer_list<int> bits) {
    for (const int bit : bits)
        if (!(word >> bit & 1))
            return false;
    return true;
}

// The parts of the processor's state that the system saves when it switches between programs.
unsigned saved_state() {
    unsigned low, high;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

Processor asked() {
    unsigned a, b, basic, d, wide, counting, more = 0;
    if (!__get_cpuid(1, &a, &b, &basic, &d) || !all(basic, {12, 22, 27, 28, 29})) // FMA, MOVBE, OSXSAVE, AVX, F16C
        return {};
    if (!__get_cpuid_count(7, 0, &a, &wide, &counting, &d) || !__get_cpuid(0x80000001, &a, &b, &more, &d))
        return {};
    const unsigned saved = saved_state();
    Processor found;
    found.avx2 = all(saved, {1, 2}) && all(wide, {3, 5, 8}) && all(more, {5}); // BMI1, AVX2, BMI2; LZCNT
    found.avx512 = found.avx2 && all(saved, {5, 6, 7}) && all(wide, {16, 17, 28, 30, 31}); // F, DQ, CD, BW, VL
    found.vpopcntdq = found.avx512 && all(counting, {14});
    return found;
}

} // namespace

const Processor &processor() {
    static const Processor found = asked();
    return found;
}
#else
const Processor &processor() {
    static const Processor found;
    return found;
}
#endif

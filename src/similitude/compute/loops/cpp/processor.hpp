// What the processor can do, and the system lets programs use.
#pragma once

// Asked of the processor itself: not every compiler brings a library behind __builtin_cpu_supports.
struct Processor {
    bool avx2 = false;       // with everything of x86-64-v3
    bool avx512 = false;     // with everything of x86-64-v4
    bool vpopcntdq = false;  // counts bits in vectors of 512 bits
};

const Processor &processor();

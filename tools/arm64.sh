#!/bin/sh
# Builds the loops for arm64 and runs their C++ tests on an emulated processor: tools/arm64.sh PYTHON
#
# The cases and what the readable loops make of them are written by this machine's Python; the harness, tests/cpp, computes
# them with NEON instructions. On arm64 the loops are compiled once, as "baseline": the vectors of vector.hpp are those of
# the compiler, 16 bytes wide, and become NEON instructions; there are no intrinsics of arm64. The Python module itself is
# not run. Needs aarch64-linux-gnu-g++ and qemu (Debian: g++-aarch64-linux-gnu, qemu-user-static).
set -eu
python=$1
build=build/arm64
compiler=aarch64-linux-gnu-g++
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64 || true)
if [ -z "$emulator" ] || ! command -v $compiler >/dev/null; then
    echo "missing: $compiler or qemu-aarch64 (Debian: apt-get install g++-aarch64-linux-gnu qemu-user-static)"
    exit 1
fi
mkdir -p $build
"$python" tools/loop_cases.py $build/cases.bin
echo "Compiling the loops for arm64 (about a minute) ..."
sh tools/build_harness.sh $build/check_loops $compiler baseline -O3 -static
neon=$(aarch64-linux-gnu-objdump -d --no-show-raw-insn $build/check_loops | grep -cE '\sf(mla|mul|add|sub|sqrt)\s+v[0-9]+\.(4s|2d)')
echo "$neon NEON instructions on vectors of numbers"
[ "$neon" -gt 1000 ]
for threads in 1 4; do
    "$emulator" $build/check_loops $build/cases.bin $threads
done

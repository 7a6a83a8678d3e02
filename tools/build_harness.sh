#!/bin/sh
# Compiles the C++ harness of the loops: tools/build_harness.sh OUT COMPILER INSTRUCTION_SET [FLAGS...]
# The flags are those of CMakeLists.txt, but for the ones given: two files alone see the instruction set, as there.
set -eu
out=$1 compiler=$2 set=$3
shift 3
cpp=src/similitude/compute/loops/cpp
common="-std=c++20 -fno-math-errno -fno-trapping-math -I$cpp -DSIMD_NAMESPACE=$set"
mkdir -p "$(dirname "$out")"
case $set in
avx2) arch=-march=x86-64-v3 ;;
avx512) arch="-march=x86-64-v4 -mprefer-vector-width=512" ;;
*) case $($compiler -dumpmachine) in x86_64*) arch=-march=x86-64-v2 ;; *) arch= ;; esac ;;
esac
# shellcheck disable=SC2086
{
    $compiler $common -Wno-psabi $arch "$@" -c $cpp/simd.cpp -o "$out.simd.o"
    $compiler $common -ffp-contract=off "$@" -c $cpp/exact.cpp -o "$out.exact.o"
    $compiler $common "$@" -c $cpp/codes.cpp -o "$out.codes.o"
    $compiler $common "$@" -c $cpp/processor.cpp -o "$out.processor.o"
    $compiler $common "$@" -c tests/cpp/check_loops.cpp -o "$out.main.o"
    $compiler "$@" "$out.simd.o" "$out.exact.o" "$out.codes.o" "$out.processor.o" "$out.main.o" -pthread -o "$out"
}
rm -f "$out".*.o

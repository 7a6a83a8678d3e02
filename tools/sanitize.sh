#!/bin/sh
# Runs the loops under sanitizers: tools/sanitize.sh PYTHON [short]
#
# 1. A module compiled with the sanitizers of addresses and of undefined behavior, in build/sanitize, takes the place of the
#    installed one in all tests of the loops. First it must report two known errors.
# 2. The C++ harness of the loops runs its cases in four threads at once under the sanitizer of threads.
#
# "short" runs the tests of the domains alone, and the second part. Needs GCC, CMake and ninja; leaks are not looked for,
# because the interpreter and its libraries keep what they allocated until the end.
set -eu
python=$1 short=${2:-}
build=build/sanitize
module=similitude.compute.loops._compiled
flags="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer -g1"

mkdir -p "${build%/*}"
echo "Compiling the loops with sanitizers into $build ..."
PATH=$("$python" -c 'import ninja; print(ninja.BIN_DIR)'):$PATH # CMake and ninja are among what the tests need
nanobind=$("$python" -m nanobind --cmake_dir)
"$python" -m cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=None -DSIMILITUDE_OPTIMIZATION=-O1 -DCMAKE_CXX_FLAGS="$flags" \
    -DCMAKE_MODULE_LINKER_FLAGS="$flags" -Dnanobind_DIR="$nanobind" \
    -DPython_EXECUTABLE="$("$python" -c 'import sys; print(sys.executable)')" >"$build.log" 2>&1 || { cat "$build.log"; exit 1; }
"$python" -m cmake --build "$build" >>"$build.log" 2>&1 || { tail -50 "$build.log"; exit 1; }

# Python reads sitecustomize when it starts, in every process of the tests.
mkdir -p "$build/preload"
cat >"$build/preload/sitecustomize.py" <<END
import importlib.util, sys
spec = importlib.util.spec_from_file_location("$module", "$PWD/$(find "$build" -maxdepth 1 -name '_compiled*.so')")
sys.modules["$module"] = made = importlib.util.module_from_spec(spec)
spec.loader.exec_module(made)
END

sanitized() {
    env LD_PRELOAD="$(g++ -print-file-name=libasan.so) $(g++ -print-file-name=libstdc++.so)" \
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1 \
        PYTHONPATH="$PWD/$build/preload" PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 "$python" "$@"
}

must_report() { # what is reported, and a call with an array that claims more memory than it has
    if sanitized -c "import sys, numpy as np; strided = np.lib.stride_tricks.as_strided; loops = sys.modules['$module']; $2" >"$build/known.log" 2>&1 || ! grep -q "$1" "$build/known.log"; then
        cat "$build/known.log"
        echo "The sanitizers did not report a known error: $1"
        exit 1
    fi
}

echo "Known errors are reported ..."
must_report AddressSanitizer "loops.apply(strided(np.ones(2), (9000, 1), (8, 8)))"
must_report "runtime error" "loops.apply(strided(np.ones(2), (20, 0), (2**62, 8)))"

echo "Tests of the loops, with the sanitizers of addresses and of undefined behavior ..."
if [ -n "$short" ]; then tests=tests/test_loops_domains.py; else tests=$(ls tests/test_loops*.py); fi
# shellcheck disable=SC2086
sanitized -m pytest -q -n 0 -p no:cacheprovider $tests
[ -n "$short" ] || sanitized -m pytest -q -n 0 -p no:cacheprovider -m deep tests/test_loops_domains.py

echo "The C++ harness in four threads, with the sanitizer of threads ..."
"$python" tools/loop_cases.py "$build/cases.bin"
sets=$("$python" -c "import $module as loops; print(*[s for s in loops.instruction_sets() if s != 'avx512'])")
[ -z "$short" ] || sets=${sets##* }
for set in $sets; do
    sh tools/build_harness.sh "$build/threads-$set" g++ "$set" -O1 -g1 -fsanitize=thread
    # Addresses are not randomized: older versions of the sanitizer do not know the newest layouts of memory.
    TSAN_OPTIONS=halt_on_error=1 setarch "$(uname -m)" -R "$build/threads-$set" "$build/cases.bin" 4
done
echo "No sanitizer had anything to report."

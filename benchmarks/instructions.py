"""A gate that no other load disturbs: the instructions of each hot loop, counted by valgrind.

``python -m benchmarks.instructions`` counts and compares with ``instructions.json``; ``--update`` rewrites that file.
All loops are counted in one child under ``valgrind --tool=callgrind``. Before and after a loop the child calls a C
function that nobody else calls, where callgrind writes down what it has counted so far; a loop is run N times and then
2 N times, and the difference is N runs of the loop without what goes on around it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import header, line
from similitude.compute import loops

BASELINE = Path(__file__).with_name("instructions.json")
SIMD = "avx2"  # valgrind knows no AVX-512
TOLERANCE = 0.03
MARK = "getsid"  # called by os.getsid
ITERATIONS = 2


def matrix(rows: int, columns: int, dtype: str) -> np.ndarray:
    """Return entries between 0 and 1, the same ones whatever was made before."""
    return np.random.default_rng(rows).random((rows, columns)).astype(dtype)


def apply(dtype: str) -> Callable[[], Any]:
    """Count 64 x 1001 values: the last few of a row fill no vector."""
    values = matrix(64, 1001, dtype)
    return lambda: loops.apply(values, "gaussian", -0.5)


def of_products(dtype: str) -> Callable[[], Any]:
    """Count a tile of 64 x 1001 distances, none of them close."""
    A, B = matrix(64, 40, dtype), 10 + matrix(1001, 40, dtype)
    a, b = (A * A).sum(1), (B * B).sum(1)
    products = A @ B.T
    fresh = np.empty_like(products)

    def run() -> None:
        fresh[...] = products
        loops.of_products(fresh, A, B, a, b, "gaussian", -1e-3)

    return run


def of_sums(terms: str, dtype: str) -> Callable[[], Any]:
    """Count a block of 64 x 301 pairs with 30 features."""
    A, B = matrix(64, 30, dtype), matrix(301, 30, dtype)
    out = np.empty((64, 301), dtype)
    return lambda: loops.of_sums(out, A, B, terms)


def mirror() -> Callable[[], Any]:
    """Count the transpose of 201 x 301 values."""
    out, values = np.empty((301, 201)), matrix(201, 301, "float64")
    return lambda: loops.mirror(out, values)


def worst_triple() -> Callable[[], Any]:
    """Count 90 objects: 117,480 triples."""
    K = matrix(90, 90, "float64")
    K = (K + K.T) / 2
    np.fill_diagonal(K, 1.0)
    return lambda: loops.worst_triple(K)


def sparse_products() -> Callable[[], Any]:
    """Count 200 x 300 rows of 60 columns, a tenth of them filled."""
    A, B = (np.where(matrix(rows, 60, "float64") < 0.1, 1.0, 0.0) for rows in (200, 300))
    out = np.empty((200, 300))
    return lambda: loops.sparse_products(out, csr(A), csr(B.T))


def csr(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries, their columns, and where each row begins."""
    rows, columns = np.nonzero(dense)
    begins = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(dense)))])
    return dense[rows, columns], columns.astype(np.int64), begins.astype(np.int64)


def common_bits() -> Callable[[], Any]:
    """Count 64 x 101 pairs of sets of 1,024 bits."""
    A, B = ((2.0**63 * matrix(rows, 16, "float64")).astype(np.uint64) for rows in (64, 101))
    out = np.empty((64, 101), np.int64)
    return lambda: loops.common_bits(out, A, B)


def shared_bits() -> Callable[[], Any]:
    """Count Jaccard's index of 64 x 101 pairs of sets of 1,024 bits."""
    A, B = ((2.0**63 * matrix(rows, 16, "float64")).astype(np.uint64) for rows in (64, 101))
    a, b = (loops.count_bits(one).astype(float) for one in (A, B))
    out = np.empty((64, 101))
    return lambda: loops.shared_bits(out, A, B, a, b, "share")


def gower() -> Callable[[], Any]:
    """Count 64 x 101 pairs of rows of six numbers and six categories, a tenth of them missing."""
    numbers = [matrix(rows, 6, "float64") for rows in (64, 101)]
    keys = [np.where(one < 0.1, 0, np.ceil(4 * one)).astype(np.int64) for one in numbers]
    A, B = ((np.where(one < 0.1, np.nan, one), key) for one, key in zip(numbers, keys, strict=True))
    out = np.empty((64, 101))
    return lambda: loops.gower(out, A, B)


def perceptron_pass() -> Callable[[], Any]:
    """Count 300 examples, about half of which are learned from."""
    K, y = matrix(300, 300, "float64") - 0.5, np.where(np.arange(300) % 2, 1.0, -1.0)
    return lambda: loops.perceptron_pass(K, y, np.zeros(300))


def dtw() -> Callable[[], Any]:
    """Count one series of 100 numbers against 32 others."""
    query, targets, out = matrix(100, 1, "float64"), matrix(3200, 1, "float64"), np.empty((1, 32))
    starts = np.arange(33) * 100
    return lambda: loops.dtw(out, query, starts[:2], targets, starts)


def global_alignment() -> Callable[[], Any]:
    """Count one series of 100 numbers against 32 others, all alignments."""
    query, targets, out = matrix(100, 1, "float64"), matrix(3200, 1, "float64"), np.empty((1, 32))
    starts = np.arange(33) * 100
    return lambda: loops.global_alignment(out, query, starts[:2], targets, starts, 0.5)


def hadamard() -> Callable[[], Any]:
    """Count the transform of 50 rows of 512 numbers."""
    values, signs = matrix(50, 512, "float64"), np.sign(matrix(3, 512, "float64") - 0.5)
    return lambda: loops.hadamard(values.copy(), signs, 512)


def cos_sin() -> Callable[[], Any]:
    """Count 20,000 angles."""
    turns = matrix(100, 200, "float64")
    return lambda: loops.cos_sin(turns.copy(), np.empty_like(turns))


def smo() -> Callable[[], Any]:
    """Count 200 steps on 256 variables."""
    Z, y = matrix(256, 8, "float64"), np.where(np.arange(256) % 2, 1.0, -1.0)
    K, low, high = Z @ Z.T, np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
    return lambda: loops.smo(K, y.copy(), np.zeros(256), low, high, 1e-9, 200, True)


def add_rows() -> Callable[[], Any]:
    """Count 100 rows of 1,000 numbers."""
    rows, weights = matrix(100, 1000, "float32"), matrix(1, 100, "float64")[0]
    return lambda: loops.add_rows(rows, np.arange(100), weights, np.zeros(1000))


def pick() -> Callable[[], Any]:
    """Count 100 x 300 entries of scattered rows and columns."""
    rows, out = matrix(400, 1000, "float32"), np.empty((100, 300), "float32")
    return lambda: loops.pick(rows, np.arange(0, 400, 4), np.arange(0, 900, 3), out)


# To count another loop, add a line: its name, and what makes a call of it on fixed input.
LOOPS: dict[str, Callable[[], Callable[[], Any]]] = {
    "apply gaussian float32": partial(apply, "float32"),
    "apply gaussian float64": partial(apply, "float64"),
    "of_products gaussian float32": partial(of_products, "float32"),
    "of_products gaussian float64": partial(of_products, "float64"),
    "of_sums squared_difference float32": partial(of_sums, "squared_difference", "float32"),
    "of_sums squared_difference float64": partial(of_sums, "squared_difference", "float64"),
    "of_sums absolute_difference float32": partial(of_sums, "absolute_difference", "float32"),
    "of_sums absolute_difference float64": partial(of_sums, "absolute_difference", "float64"),
    "of_sums smaller float32": partial(of_sums, "smaller", "float32"),
    "of_sums smaller float64": partial(of_sums, "smaller", "float64"),
    "mirror float64": mirror,
    "sparse_products": sparse_products,
    "common_bits": common_bits,
    "shared_bits": shared_bits,
    "gower": gower,
    "perceptron_pass": perceptron_pass,
    "dtw": dtw,
    "global_alignment": global_alignment,
    "hadamard": hadamard,
    "cos_sin": cos_sin,
    "smo": smo,
    "add_rows": add_rows,
    "pick": pick,
    "worst_triple": worst_triple,
}


def run_all() -> None:
    """Run every loop between marks: this is the child."""
    for name, prepare in LOOPS.items():
        call = prepare()
        call()
        for times in (ITERATIONS, 2 * ITERATIONS):
            os.getsid(0)
            for _ in range(times):
                call()
            os.getsid(0)
        print(name, flush=True)


def counted(directory: Path) -> list[int]:
    """Return the instructions between marks, in order."""
    parts = sorted(directory.glob("callgrind.out.*"), key=lambda path: int(path.name.rsplit(".", 1)[1]))
    found = (re.search(r"^(?:totals|summary): (\d+)", path.read_text(), re.MULTILINE) for path in parts)
    return [int(match[1]) for match in found if match]


def count() -> dict[str, int]:
    """Return the instructions of one call of each loop."""
    with tempfile.TemporaryDirectory() as directory:
        valgrind = ["valgrind", "--quiet", "--tool=callgrind", f"--dump-before={MARK}"]
        valgrind.append(f"--callgrind-out-file={directory}/callgrind.out")
        child = [sys.executable, "-m", "benchmarks.instructions", "--child"]
        fixed = {"SIMILITUDE_SIMD": SIMD, "PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        subprocess.run([*valgrind, *child], env={**os.environ, **fixed}, check=True, stdout=subprocess.DEVNULL)
        parts = counted(Path(directory))
    # Each mark ends a part: the import or what lies between loops, N runs, next to nothing, 2 N runs.
    if len(parts) < 4 * len(LOOPS):
        raise SystemExit(f"callgrind wrote {len(parts)} parts, expected {4 * len(LOOPS)}: was {MARK} not found?")
    once, twice = parts[1::4], parts[3::4]
    return {name: round((b - a) / ITERATIONS) for name, a, b in zip(LOOPS, once, twice, strict=False)}


def compiler() -> str:
    """Return what compiled the loops, as the compiler signed the module."""
    from similitude.compute.loops import _compiled

    signed = re.search(rb"GCC: \([^\0]*|clang version [^\0]*", Path(_compiled.__file__).read_bytes())
    return signed[0].decode() if signed else "unknown"


def skipped() -> str:
    """Return why nothing can be counted; nothing if it can."""
    if shutil.which("valgrind") is None:
        return "valgrind is not installed"
    if not loops.COMPILED:
        return f"the loops are not compiled: {loops.IN_USE}"
    from similitude.compute.loops import _compiled

    if SIMD not in _compiled.instruction_sets():
        return f"this machine has no {SIMD}"
    return ""


def compare(found: dict[str, int], baseline: dict[str, int]) -> list[str]:
    """Print a table; return the loops that got worse."""
    worse = []
    print(header(["loop", "instructions", "baseline", "change", "verdict"]))
    for name, instructions in found.items():
        before = baseline.get(name)
        change = instructions / before - 1 if before else 0.0
        verdict = "WORSE" if change > TOLERANCE else "better" if change < -TOLERANCE else "same" if before else "new"
        if verdict == "WORSE":
            worse.append(name)
        print(line([name, f"{instructions:,}", f"{before:,}" if before else "-", f"{change:+.1%}", verdict]))
    return worse


def main() -> None:
    """Count, compare, and exit with 1 where a loop got worse."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions")
    parser.add_argument("--update", action="store_true", help="make what is counted now the baseline")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        return run_all()
    if skipped():
        return print(f"skipped: instruction counts: {skipped()}")
    found, by = count(), compiler()
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {"compiler": by, "loops": {}}
    worse = compare(found, baseline["loops"])
    if chosen.update:
        BASELINE.write_text(json.dumps({"compiler": by, "instruction_set": SIMD, "loops": found}, indent=2) + "\n")
    elif baseline["compiler"] != by:
        print(f"skipped: the verdict: the baseline was compiled by {baseline['compiler']}, these loops by {by}")
    elif worse:
        raise SystemExit(f"more than {TOLERANCE:.0%} worse: {', '.join(worse)}; if that is meant, use --update")


if __name__ == "__main__":
    main()

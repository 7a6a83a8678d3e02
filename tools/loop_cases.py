"""Write cases for the C++ harness of the loops: arguments, and what the readable loops make of them.

    python tools/loop_cases.py CASES

The harness, tests/cpp/check_loops.cpp, runs where Python does not: under the thread sanitizer, or on a processor that
is emulated. It takes arguments as the C++ functions do, so that names are numbers and orders are computed here.
"""

from __future__ import annotations

import copy
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from similitude.compute.loops import Patterns, reference
from similitude.compute.loops.arguments import PAIR_FUNCTIONS, TERMS
from similitude.kernels.graphs.graphlet_types import graphlet_types

SHAPES, SUMS = list(PAIR_FUNCTIONS), list(TERMS)
TYPES = {"float32": "f", "float64": "d", "int32": "i", "int64": "l", "uint32": "u", "uint64": "w", "bool": "l"}
SIZES = [(0, 3), (1, 1), (2, 7), (5, 17), (9, 33), (35, 70)]
PARAMETERS = {"gaussian": (-0.7, 0.0, 1), "laplace": (-0.7, 0.0, 1), "matern3": (0.6, 0.0, 1), "matern5": (0.6, 0.0, 1)}
PARAMETERS |= {"rational_quadratic": (0.4, 1.3, 1), "polynomial": (0.5, -0.2, 3), "sigmoid": (0.5, -0.2, 1)}

Case = tuple[str, list[Any], list[Any], float]


def starts(lengths: Any) -> np.ndarray:
    """Return where pieces of these lengths begin, and the end."""
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def csr(dense: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the entries of a matrix that are not zero, their columns, and where rows begin."""
    rows, columns = np.nonzero(dense)
    return dense[rows, columns], columns.astype(np.int32), starts(np.bincount(rows, minlength=len(dense)))


def by_length(begins: np.ndarray) -> np.ndarray:
    """Return the order of pieces by length."""
    return np.argsort(np.diff(begins), kind="stable").astype(np.int64)


def after(loop: str, arguments: list[Any], *places: int) -> list[Any]:
    """Return what the readable loop leaves at these places of its arguments, and what it returns."""
    own = copy.deepcopy(arguments)
    with np.errstate(all="ignore"):
        result = getattr(reference, loop)(*own)
    left = [own[place] for place in places]
    return left if result is None else [*left, *(result if isinstance(result, tuple) else [result])]


def numbers(rng: np.random.Generator) -> Iterator[Case]:
    """Yield cases of loops over vectors and matrices."""
    for n, m in SIZES:
        for dtype in (np.float32, np.float64):
            close = 1e-4 if dtype == np.float32 else 1e-11
            A, B = (rng.normal(size=(rows, 13)).astype(dtype) for rows in (n, m))
            out = np.zeros((n, m), dtype)
            for shape in SHAPES:
                form = (shape, *PARAMETERS.get(shape, (0.0, 0.0, 1)))
                codes = [SHAPES.index(shape), *form[1:]]
                values = (3 * rng.random((n, m))).astype(dtype)
                yield "apply", [values, *codes], after("apply", [values, *form], 0), close
                for sums in SUMS if shape in ("identity", "gaussian") else ():
                    given = [out, A, B, sums, *form]
                    yield "of_sums", [out, A, B, SUMS.index(sums), *codes], after("of_sums", given, 0), close
                    a, b, bt = (csr(np.where(M > 0.3, M, 0).astype(dtype)) for M in (A, B, B.T))
                    expected = after("of_sparse_sums", [out, a, b, bt, sums, *form], 0)
                    yield "of_sparse_sums", [out, *a, *b, *bt, SUMS.index(sums), *codes], expected, close
            products = [A @ B.T, A, B, (A * A).sum(1), (B * B).sum(1)]
            root = [SHAPES.index("root"), 0.0, 0.0, 1]
            yield "of_products", [*products, *root], after("of_products", [*products, "root"], 0), 100 * close
            a, bt = csr(np.where(A > 0, A, 0).astype(dtype)), csr(np.where(B.T > 0, B.T, 0).astype(dtype))
            yield "sparse_products", [out, *a, *bt], after("sparse_products", [out, a, bt], 0), close
            dense = np.ascontiguousarray(B.T)
            yield "sparse_dense_products", [out, *a, dense], after("sparse_dense_products", [out, a, dense], 0), close
            yield "mirror", [out.T.copy(), A @ B.T], after("mirror", [out.T.copy(), A @ B.T], 0), 0.0
            turns = (50 * rng.normal(size=(n, m))).astype(dtype)
            yield "cos_sin", [turns, out, 2.0], after("cos_sin", [turns, out, 2.0], 0, 1), 10 * close
            wide, signs = rng.normal(size=(n, 64)).astype(dtype), np.sign(rng.normal(size=(3, 64))).astype(dtype)
            yield "hadamard", [wide, signs, 32], after("hadamard", [wide, signs, 32], 0), 100 * close


def solvers(rng: np.random.Generator) -> Iterator[Case]:
    """Yield cases of the loops of solvers."""
    for n in (1, 2, 7, 33):
        for dtype in (np.float32, np.float64):
            Z = rng.normal(size=(n, 5))
            K, y = (Z @ Z.T + np.eye(n)).astype(dtype), np.where(rng.random(n) < 0.5, -1.0, 1.0)
            low, high = np.where(y > 0, 0.0, -1.0), np.where(y > 0, 1.0, 0.0)
            for keep_sum in (True, False):
                given = [K, y.copy(), np.zeros(n), low, high, 1e-9, 1000, keep_sum]
                yield "smo", given, after("smo", given, 1, 2)[:2], 1e-4
            given = [K, y, np.zeros(n), 0.0, False]
            yield "perceptron_pass", given, after("perceptron_pass", given, 2), 1e-9
            given = [K, rng.integers(0, n, 9), rng.normal(size=9), np.zeros(n)]
            yield "add_rows", given, after("add_rows", given, 3), 1e-9
            if n > 1:
                given = [rng.random((n, n)).astype(dtype), rng.choice(n, 2, replace=False), 0, 1000, 0]
                yield "swap_medoids", given, after("swap_medoids", given, 1), 0.0
    K = np.clip(rng.normal(size=(30, 30)), -1, 1)
    yield "worst_triple", [K], [np.array(reference.worst_triple(K), float)], 0.0


def alignments(rng: np.random.Generator, letters: np.ndarray, begins: np.ndarray) -> Iterator[Case]:
    """Yield cases of the loops over subsequences and scored alignments of strings."""
    size, long = int(letters.max()) + 1, starts([0, 1, 63, 64, 72])
    half = rng.normal(size=(size, size))
    scores = half + half.T
    for same, (queries, a) in enumerate([(letters, long), (letters, begins)]):
        strings = [np.zeros((len(a) - 1, len(begins) - 1)), queries, a, letters, begins]
        for p in (1, 3, 8):
            expected = after("subsequences", [*strings, p, 0.7, bool(same)], 0)
            yield "subsequences", [*strings, by_length(begins), p, 0.7, same], expected, 1e-12
        for local in (0, 1):
            expected = after("best_alignment", [*strings, scores, 2.0, 0.5, bool(local), bool(same)], 0)
            given = [*strings, by_length(begins), scores, 2.0, 0.5, local, same]
            yield "best_alignment", given, expected, 1e-12
        expected = after("sum_alignments", [*strings, np.exp(scores), 0.1, 0.6, bool(same)], 0)
        given = [*strings, by_length(begins), np.exp(scores), 0.1, 0.6, same]
        yield "sum_alignments", given, expected, 1e-12
    out = np.zeros(len(begins) - 1)
    expected = [reference.self_subsequences(letters, begins, 3, 0.7)]
    yield "self_subsequences", [out, letters, begins, by_length(begins), 3, 0.7], expected, 1e-12
    expected = [reference.self_sum_alignments(letters, begins, np.exp(scores), 0.1, 0.6)]
    given = [out, letters, begins, by_length(begins), np.exp(scores), 0.1, 0.6]
    yield "self_sum_alignments", given, expected, 1e-12


def objects(rng: np.random.Generator) -> Iterator[Case]:
    """Yield cases of loops over strings and graphs."""
    text = rng.integers(0, 4, 200).astype(np.uint32) + np.uint32(300) * (rng.random(200) < 0.1).astype(np.uint32)
    begins = starts(np.bincount(rng.integers(0, 12, 200), minlength=12))
    patterns = Patterns(np.array([0, 1, 0, 1, 2]), np.array([0, 2, 5]), np.array([2, 3]))
    bags = reference.window_bags(text, begins, patterns)
    yield "window_bags", [text, begins, *patterns], list(bags[:4]), 0.0
    spaced = np.where(text == 3, np.uint32(ord(" ")), text)
    yield "term_bags", [spaced, begins, 2, 2, 3], list(reference.term_bags(spaced, begins, 2, 2, 3)), 0.0
    yield "term_keys", [spaced, begins], [reference.term_keys(spaced, begins)], 0.0
    given = [*bags, *bags, *patterns]
    yield "shared_features", given, list(reference.shared_features(bags, bags, patterns)[:2]), 0.0
    few = np.minimum(text, 4).astype(np.uint32)
    yield "neighbor_bags", [few, begins, 4, 3, 1], list(reference.neighbor_bags(few, begins, 4, 3, 1)[:4]), 0.0
    letters = np.unique(text, return_inverse=True)[1].astype(np.int32).reshape(-1)
    long = starts([0, 1, 63, 64, 72])
    for same, (queries, a) in enumerate([(letters, long), (letters, begins)]):
        out = np.zeros((len(a) - 1, len(begins) - 1))
        expected = after("levenshtein", [out, queries, a, letters, begins, bool(same)], 0)
        more = [by_length(begins), int(letters.max()) + 1, same]
        yield "levenshtein", [out, queries, a, letters, begins, *more], expected, 0.0
    i, j = rng.integers(0, len(long) - 1, 40), rng.integers(0, len(begins) - 1, 40)
    pairs = [np.zeros(40), letters, long, letters, begins, i, j]
    yield "levenshtein_pairs", [*pairs, int(letters.max()) + 1], after("levenshtein_pairs", pairs, 0), 0.0
    many = rng.permutation(8000).astype(np.int32)  # more kinds of letters than a table of them may have
    texts, out = starts([1500, 2500, 0, 4000]), np.zeros((4, 4))
    expected = after("levenshtein", [out, many, texts, many, texts, True], 0)
    yield "levenshtein", [out, many, texts, many, texts, by_length(texts), 8000, True], expected, 0.0
    yield from alignments(rng, letters, begins)
    structure, labels, edges = random_graphs(rng)
    given = [structure, labels, edges, 3]
    yield "weisfeiler_lehman", [*structure, labels, edges, 3], after("weisfeiler_lehman", given), 0.0
    histograms = reference.shortest_paths(structure, labels)
    yield "shortest_paths", [*structure, labels], list(histograms), 0.0
    for p in (2, 3, 4, 5):
        types = graphlet_types(p)
        expected = reference.graphlets(structure, p, types.of_code, types.contains)
        yield "graphlets", [*structure, p, types.of_code, types.contains, np.zeros_like(expected)], [expected], 0.0
    walked, out = (*structure, labels, edges, np.full(6, 4.0)), np.zeros((6, 6))
    expected = after("labeled_walks", [out, walked, walked, 0.01], 0)
    yield "labeled_walks", [out, *walked, *walked, 0.01], expected, 1e-12
    out = np.zeros((6, 6))
    expected = after("keyed_products", [out, histograms, histograms], 0)
    yield "keyed_products", [out, *histograms, *histograms], expected, 1e-12


def random_graphs(rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return six random graphs, with labels of nodes and of edges."""
    sizes, lists = [0, 1, 5, 8, 9, 12], []
    for n in sizes:
        upper = np.triu(rng.random((n, n)) < 0.4, 1)
        lists += [np.flatnonzero(row) for row in upper | upper.T]
    neighbors = np.concatenate(lists).astype(np.int32)
    labels = rng.integers(0, 3, sum(sizes)).astype(np.uint64)
    return (starts(sizes), starts([len(one) for one in lists]), neighbors), labels, np.zeros(len(neighbors), np.uint64)


def series_and_sets(rng: np.random.Generator) -> Iterator[Case]:
    """Yield cases of loops over series, sets and tables."""
    for dtype in (np.float32, np.float64):
        for channels in (1, 3):
            b = starts([4] * 20 + [0, 1, 2, 7, 9, 12])
            B = rng.normal(size=(b[-1], channels)).astype(dtype)
            order, out = by_length(b), np.zeros((len(b) - 1, len(b) - 1), dtype)
            for window, radius, fraction in ((None, -1, -1.0), (2, 2, -1.0), (0.3, -1, 0.3)):
                for half in (False, True):
                    expected = after("dtw", [out, B, b, B, b, window, half], 0)
                    yield "dtw", [out, B, b, B, b, order, radius, fraction, half], expected, 1e-5
            i, j = rng.integers(0, 20, 60), rng.integers(21, 26, 60)
            pairs, limits = [np.zeros(60, dtype), B, b, B, b, i, j], np.full(60, 5.0, dtype)
            expected = after("dtw_pairs", [*pairs, limits, 2], 0)
            yield "dtw_pairs", [*pairs, limits, 2, -1.0], expected, 1e-5
            low = rng.normal(size=(7, 9)).astype(dtype)
            given = [np.zeros((5, 7), dtype), rng.normal(size=(5, 9)).astype(dtype), low, low + dtype(0.5)]
            yield "outside_ranges", given, after("outside_ranges", given, 0), 1e-5
            for half in (False, True):
                yield from elastic_distances(out, B, b, half)
            shapes, mix = (
                np.array([[0, 1, 1], [40, 1, 0], [83, 3, 1]]),
                (np.arange(3 * channels) % 2 == 0).astype(dtype),
            )
            filters = [shapes, mix.reshape(3, channels), rng.normal(size=9).astype(dtype), starts([5, 0, 4])]
            given = [np.zeros((len(b) - 1, 9), dtype), B, b, *filters]
            yield "convolutions", given, after("convolutions", given, 0), 1e-5
            for level in (1, 2, 4):
                given = [np.zeros((len(b) - 1, sum(channels**m for m in range(1, level + 1))), dtype), B, b]
                yield "signatures", [*given, order, level], after("signatures", [*given, level], 0), 1e-4
            logs = np.zeros(out.shape)
            expected = after("global_alignment", [logs, B, b, B, b, 0.3], 0)
            yield "global_alignment", [logs, B, b, B, b, order, 0.3, False], expected, 1e-4
            yield "self_alignment", [np.zeros(len(b) - 1), B, b, order, 0.3], after("self_alignment", [B, b, 0.3]), 1e-4
    for n, m in SIZES:
        A, B = (rng.integers(0, 2**63, (rows, 3)).astype(np.uint64) for rows in (n, m))
        a, b = (reference.count_bits(one).astype(float) for one in (A, B))
        yield "count_bits", [np.zeros(n, np.int64), A], [reference.count_bits(A)], 0.0
        counts = np.zeros((n, m), np.int64)
        yield "common_bits", [counts, A, B], after("common_bits", [counts, A, B], 0), 0.0
        for code, value in enumerate(["count", "share", "any"]):
            out, common = np.zeros((n, m)), after("common_bits", [np.zeros((n, m)), A, B], 0)[0]
            yield "shared_bits", [out, A, B, a, b, code], after("shared_bits", [out, A, B, a, b, value], 0), 1e-14
            yield "of_shared", [common, a, b, code], after("of_shared", [common, a, b, value], 0), 1e-14
        spare = [np.full(rows, 2.0) for rows in (n, m)]
        for code, bound in enumerate(["share_of_all", "share_of_larger"]):
            given = [A, a, spare[0], B, b, spare[1], np.full(n, 0.3)]
            yield "candidates", [*given, code], after("candidates", [*given, bound]), 1e-14
        pairs = []
        for rows in (n, m):
            table = rng.random((rows, 4))
            pairs.append((np.where(table < 0.2, np.nan, table), rng.integers(0, 3, (rows, 2))))
        out = np.zeros((n, m))
        yield "gower", [out, *pairs[0], *pairs[1]], after("gower", [out, *pairs], 0), 1e-12


def elastic_distances(out: np.ndarray, B: np.ndarray, b: np.ndarray, half: bool) -> Iterator[Case]:
    """Yield cases of the elastic distances of series with each other, within two steps of the diagonal."""
    for name, series, given in (
        ("msm", np.ascontiguousarray(B[:, :1]), [0.3]),
        ("erp", B, [0.2]),
        ("twe", B, [0.5, 1.0]),
        ("soft_dtw", B, [0.7]),
    ):
        expected = after(name, [out, series, b, series, b, *given, 2, half], 0)
        expected[0][np.isinf(expected[0]) & (name == "soft_dtw")] = np.finfo(out.dtype).max / 4
        yield name, [out, series, b, by_length(b), *[*given, 0.0][:2], 2, -1.0, half], expected, 1e-4


def packed(value: Any) -> bytes:
    """Return an array, or a number, as the harness reads it."""
    array = np.asarray(value)
    array = array.astype(np.int64) if array.dtype == bool else np.ascontiguousarray(array).reshape(array.shape)
    shape = struct.pack(f"<{array.ndim + 1}Q", array.ndim, *array.shape)
    return TYPES[str(array.dtype)].encode() + shape + array.tobytes()


def main() -> None:
    """Write the cases."""
    rng = np.random.default_rng(0)
    cases = [*numbers(rng), *solvers(rng), *objects(rng), *series_and_sets(rng)]
    covered = {loop for loop, *_ in cases}
    missing = set(reference.LOOPS) - covered - {"pick", "set_bits"}  # these two are loops of the module, not of C++
    if missing:
        raise SystemExit(f"no case of {', '.join(sorted(missing))}")
    with Path(sys.argv[1]).open("wb") as file:
        file.write(struct.pack("<Q", len(cases)))
        for loop, given, expected, tolerance in cases:
            file.write(struct.pack("<Q", len(loop)) + loop.encode())
            for arrays in (given, expected):
                file.write(struct.pack("<Q", len(arrays)) + b"".join(map(packed, arrays)))
            file.write(struct.pack("<d", tolerance))
    print(f"{len(cases)} cases of {len(covered)} loops")


if __name__ == "__main__":
    main()

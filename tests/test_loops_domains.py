"""The domains of the loops: every version takes what is inside, and the compiled ones refuse what is outside."""

import copy
import inspect
import re

import numpy as np
import pytest
from test_loops import SETS, chosen

from similitude.compute import loops
from similitude.compute.loops import BagArrays, reference
from similitude.kernels.graphs.graphlet_types import graphlet_types

rng = np.random.default_rng(0)


def numbers(*shape):
    return rng.normal(size=shape)


def words(*shape):
    return rng.integers(0, 2**63, shape).astype(np.uint64)


def starts(*lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def sparse(dense):
    rows, columns = np.nonzero(dense)
    return dense[rows, columns], columns.astype(np.int32), starts(*np.bincount(rows, minlength=len(dense)))


A, B = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]]), np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 4.0]])
PAIRS = (np.array([0, 1]), np.array([0, 2]), np.array([2]))
TEXT = np.array([0, 1, 300, 0, 1, 2], np.uint32), starts(4, 2)
BAGS = reference.window_bags(*TEXT, PAIRS)
PATH = np.array([0, 3, 5]), np.array([0, 1, 3, 4, 5, 6]), np.array([1, 0, 2, 1, 1, 0], np.int32)
LABELS = np.arange(5, dtype=np.uint64)
TYPES = graphlet_types(3)
WALKED = *PATH, LABELS, np.zeros(6, np.uint64), np.full(2, 2.0)
LETTERS = np.array([0, 1, 2, 1], np.int32), starts(3, 1)
PAIR_SCORES = np.array([[2.0, -1.0, 0.0, 0.5], [-1.0, 1.0, 0.5, 0.0], [0.0, 0.5, 3.0, -2.0], [0.5, 0.0, -2.0, 1.0]])
HISTOGRAMS = starts(2, 1), np.array([3, 5, 3], np.uint64), np.array([1.0, 2.0, 4.0])
SERIES = numbers(5, 1), starts(3, 2)

INSIDE = {
    "apply": [np.abs(numbers(2, 3)), "rational_quadratic", 0.5, 2.5],
    "of_products": [A @ B.T, A, B, (A * A).sum(1), (B * B).sum(1), "root"],
    "of_sums": [np.zeros((2, 2)), A, B, "absolute_difference", "gaussian", -0.5],
    "sparse_products": [np.zeros((2, 2)), sparse(A), sparse(B.T)],
    "sparse_dense_products": [np.zeros((2, 2)), sparse(A), np.ascontiguousarray(B.T)],
    "of_sparse_sums": [np.zeros((2, 2)), sparse(A), sparse(B), sparse(B.T), "squared_difference"],
    "mirror": [np.zeros((3, 2)), A],
    "hadamard": [numbers(2, 8), np.sign(numbers(3, 8)), 4],
    "cos_sin": [numbers(2, 3), np.zeros((2, 3))],
    "worst_triple": [np.clip(numbers(4, 4), -1, 1)],
    "smo": [np.eye(3), numbers(3), np.zeros(3), -np.ones(3), np.ones(3), 1e-3, 50, True],
    "perceptron_pass": [numbers(3, 3), np.array([1.0, -1.0, 1.0]), np.zeros(3)],
    "add_rows": [A, np.array([1, 0, 1]), numbers(3), np.zeros(3)],
    "swap_medoids": [np.abs(numbers(4, 4)), np.array([2, 0]), 1, 9, 0],
    "pick": [A, np.array([1, 0]), np.array([2, 0, 1]), np.zeros((2, 3))],
    "window_bags": [*TEXT, PAIRS],
    "term_bags": [*TEXT, 2, 2, 3],
    "term_keys": [*TEXT],
    "neighbor_bags": [np.array([0, 1, 2, 1], np.uint32), starts(3, 1), 2, 2, 1],
    "shared_features": [BAGS, BAGS, PAIRS],
    "set_bits": [np.zeros((2, 2), np.uint64), np.array([0, -1, 127], np.int32), starts(2, 1)],
    "levenshtein": [np.zeros((2, 2)), *LETTERS, *LETTERS, True],
    "levenshtein_pairs": [np.zeros(3), *LETTERS, *LETTERS, np.array([0, 0, 1]), np.array([1, 0, 1])],
    "subsequences": [np.zeros((2, 2)), *LETTERS, *LETTERS, 2, 0.5, True],
    "self_subsequences": [*LETTERS, 2, 0.5],
    "best_alignment": [np.zeros((2, 2)), *LETTERS, *LETTERS, PAIR_SCORES, 1.0, 0.5],
    "sum_alignments": [np.zeros((2, 2)), *LETTERS, *LETTERS, np.exp(PAIR_SCORES), 0.5, 0.5],
    "self_sum_alignments": [*LETTERS, np.exp(PAIR_SCORES), 0.5, 0.5],
    "weisfeiler_lehman": [PATH, LABELS, np.zeros(6, np.uint64), 2],
    "shortest_paths": [PATH, LABELS],
    "graphlets": [PATH, 3, TYPES.of_code, TYPES.contains],
    "keyed_products": [np.zeros((2, 2)), HISTOGRAMS, HISTOGRAMS],
    "labeled_walks": [np.zeros((2, 2)), WALKED, WALKED, 0.1],
    "dtw": [np.zeros((2, 2)), *SERIES, *SERIES, 0.5, True],
    "dtw_pairs": [np.zeros(2), *SERIES, *SERIES, np.array([0, 1]), np.array([1, 1]), np.full(2, np.inf), 0.5],
    "outside_ranges": [np.zeros((2, 2)), A, np.minimum(A, B), np.maximum(A, B)],
    "msm": [np.zeros((2, 2)), *SERIES, *SERIES, 0.5, 0.5, True],
    "erp": [np.zeros((2, 2)), *SERIES, *SERIES, 0.5],
    "twe": [np.zeros((2, 2)), *SERIES, *SERIES, 0.5, 1.0, 1],
    "soft_dtw": [np.zeros((2, 2)), *SERIES, *SERIES, 0.5],
    "convolutions": [
        np.zeros((2, 3)),
        *SERIES,
        np.array([[0, 1, 1], [83, 9, 0]]),
        np.ones((2, 1)),
        numbers(3),
        starts(2, 1),
    ],
    "signatures": [np.zeros((2, 3)), *SERIES, 3],
    "global_alignment": [np.zeros((2, 2)), *SERIES, *SERIES, 0.5],
    "self_alignment": [*SERIES, 0.5],
    "common_bits": [np.zeros((2, 3), np.int64), words(2, 2), words(3, 2)],
    "count_bits": [words(2, 3)],
    "shared_bits": [np.zeros((2, 3)), words(2, 2), words(3, 2), np.full(2, 90.0), np.full(3, 90.0), "share"],
    "candidates": [
        *(words(2, 2), np.full(2, 90.0), np.full(2, 20.0), words(3, 2), np.full(3, 90.0), np.full(3, 30.0)),
        *(np.array([0.0, 0.6]), "share_of_all"),
    ],
    "of_shared": [np.ones((2, 3)), np.full(2, 9.0), np.full(3, 9.0), "share"],
    "gower": [np.zeros((2, 2)), (A, np.ones((2, 1), np.int64)), (B, np.ones((2, 1), np.int64))],
}
"""Arguments of every loop that lie in its domain."""

short, longer = np.array([0, 1]), np.array([0, 1, 2, 3])
inf, nan = float("inf"), float("nan")


def read_only(array):
    array = array.copy()
    array.setflags(write=False)
    return array


def unaligned(array):
    """Return a copy that begins one byte off."""
    room = np.zeros(array.nbytes + 1, np.uint8)
    made = room[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def bags(**changed):
    return BAGS._replace(**changed)


def csr(data=None, indices=None, indptr=None):
    return tuple(old if new is None else new for old, new in zip(sparse(A), (data, indices, indptr), strict=True))


WRONG_TYPE = "incompatible function arguments"

OUTSIDE = [
    ("levenshtein_pairs", 5, np.array([0, 0, 2]), "i must number strings"),
    ("levenshtein_pairs", 6, np.array([0, -1, 1]), "j must number strings"),
    ("levenshtein_pairs", 0, np.zeros(2), "one entry of out"),
    ("dtw_pairs", 5, np.array([0, 2]), "i must number series"),
    ("dtw_pairs", 7, np.zeros(3), "one entry of out"),
    ("dtw_pairs", 8, 1.5, "must be from 0.0 to 1.0"),
    ("outside_ranges", 2, np.zeros((1, 3)), "the same shape"),
    ("outside_ranges", 1, np.zeros((2, 2)), "the same number of columns"),
    ("candidates", 3, words(3, 3), "the same number of columns"),
    ("candidates", 6, np.zeros(3), "one of floors for each row of A"),
    ("candidates", 5, np.zeros(2), "one of spare_b for each row of B"),
    ("candidates", 7, "most", "unknown bound 'most'"),
    ("apply", 0, read_only(A), WRONG_TYPE),
    ("apply", 0, A.astype(int), WRONG_TYPE),
    ("apply", 0, A.astype(np.float16), WRONG_TYPE),
    ("apply", 0, A.astype(">f8"), WRONG_TYPE),
    ("apply", 0, np.ones((4, 4))[:, ::2], WRONG_TYPE),
    ("apply", 0, unaligned(A), WRONG_TYPE),
    ("apply", 0, np.ones(4), WRONG_TYPE),
    ("apply", 0, [[1.0]], WRONG_TYPE),
    ("apply", 1, "triangle", "unknown shape 'triangle'"),
    ("apply", 2, -0.5, "p of rational_quadratic must be at least 0"),
    ("of_products", 1, np.ones((3, 3)), "out needs one row for each row of A"),
    ("of_products", 2, np.ones((2, 4)), "the same number of columns"),
    ("of_products", 3, np.ones(3), "one entry of a"),
    ("of_products", 1, A.astype(np.float32), WRONG_TYPE),
    ("of_sums", 2, np.ones((3, 3)), "out needs one row for each row of A"),
    ("of_sums", 1, np.ones((2, 6))[:, ::2], WRONG_TYPE),
    ("of_sums", 3, "larger", "unknown sum 'larger'"),
    ("sparse_products", 0, np.zeros((3, 2)), "one entry more"),
    ("sparse_products", 0, np.zeros((2, 1)), "outside of the matrix"),
    ("sparse_products", 0, np.zeros((2, 2), np.float32), WRONG_TYPE),
    ("sparse_products", 1, csr(indices=np.array([0, 1, 3])), "outside of the matrix"),
    ("sparse_products", 1, csr(indices=np.array([0, 1, 2**32])), "outside of the matrix"),
    ("sparse_products", 1, csr(indices=np.array([0, 1, -1])), "outside of the matrix"),
    ("sparse_products", 1, csr(indices=np.array([0, 1])), "the same length"),
    ("sparse_products", 1, csr(indptr=np.array([0, 4, 3])), "must not decrease"),
    ("sparse_products", 1, csr(indptr=np.array([0, 1, 2])), "from 0 to the end"),
    ("sparse_products", 1, csr(data=np.array([1.0, inf, 1.0])), "must be finite"),
    ("sparse_products", 2, (*sparse(B.T)[:2], np.array([], int)), "one entry more"),
    ("sparse_dense_products", 2, np.ones((3, 3)), "one column for each column"),
    ("sparse_dense_products", 2, np.ones((2, 2)), "outside of the matrix"),
    ("of_sparse_sums", 1, csr(indices=np.array([2, 0, 1], np.int32)), "must increase"),
    ("of_sparse_sums", 3, sparse(np.ones((3, 2))), "B transposed"),
    ("mirror", 0, np.zeros((2, 3)), "out needs one row for each column"),
    ("mirror", 1, A.astype(np.float32), WRONG_TYPE),
    ("hadamard", 2, 3, "power of two"),
    ("hadamard", 2, 0, "power of two"),
    ("hadamard", 2, 16, "power of two that divides"),
    ("hadamard", 1, np.ones((3, 4)), "one entry per column"),
    ("cos_sin", 1, np.zeros((3, 2)), "the sine of each angle"),
    ("worst_triple", 0, np.eye(2), "at least 3 rows"),
    ("worst_triple", 0, np.ones((3, 4)), "must be square"),
    ("worst_triple", 0, np.full((3, 3), nan), "must be finite"),
    ("smo", 0, np.ones((3, 2)), "must be square"),
    ("smo", 1, np.zeros(2), "one entry per variable"),
    ("smo", 2, read_only(np.zeros(3)), WRONG_TYPE),
    ("add_rows", 1, np.ma.array([1, 10**14, 1], mask=[0, 1, 0]), WRONG_TYPE),
    ("mirror", 1, np.ma.array(A, mask=A > 2), WRONG_TYPE),
    ("smo", 6, -1, "most_steps must be from 0"),
    ("perceptron_pass", 0, np.ones((2, 3)), "must be square"),
    ("perceptron_pass", 1, np.array([0.0, 1.0, 1.0]), "1 or -1"),
    ("perceptron_pass", 2, np.zeros(4), "one entry per example"),
    ("perceptron_pass", 2, np.zeros(3, np.float32), WRONG_TYPE),
    ("swap_medoids", 0, np.ones((3, 2)), "must be square"),
    ("swap_medoids", 0, np.full((4, 4), np.nan), "must be finite"),
    ("swap_medoids", 1, np.array([1, 4]), "no such object"),
    ("swap_medoids", 1, np.array([1, 1]), "must differ"),
    ("swap_medoids", 1, np.array([1]), "at least two medoids"),
    ("swap_medoids", 2, -1, "start must be from 0"),
    ("add_rows", 1, np.array([2, 0, 0]), "no such row"),
    ("add_rows", 1, np.array([-1, 0, 0]), "no such row"),
    ("add_rows", 2, numbers(2), "one weight per row"),
    ("pick", 1, np.array([2, 0]), "no such row"),
    ("pick", 2, np.array([0, 1, 3]), "no such column"),
    ("pick", 3, np.zeros((3, 3)), "out needs one row"),
    ("window_bags", 1, np.array([0, 2, 1, 6]), "must not decrease"),
    ("window_bags", 1, np.array([], np.int64), "from 0 to the end"),
    ("window_bags", 2, (*PAIRS[:2], np.array([1])), "positions must lie"),
    ("term_bags", 1, np.array([0, 2, 1, 6]), "must not decrease"),
    ("term_bags", 2, -1, "words must be from 0"),
    ("term_bags", 3, 0, "shortest must be from 1"),
    ("term_keys", 0, np.zeros(6), WRONG_TYPE),
    ("window_bags", 2, (*PAIRS[:2], np.array([-1])), "spans must be"),
    ("window_bags", 2, (*PAIRS[:2], np.array([2**62])), "spans must be"),
    ("window_bags", 2, (*PAIRS[:2], np.array([2, 2])), "one span for each"),
    ("neighbor_bags", 2, 2**32, "fewer than 2\\^63 words"),
    ("neighbor_bags", 2, 1_000_000, "words are near each window"),
    ("neighbor_bags", 3, 63, "length must be from 1 to 62"),
    ("neighbor_bags", 3, 0, "length must be from 1 to 62"),
    ("neighbor_bags", 4, -1, "most must be from 0"),
    ("shared_features", 0, bags(places=BAGS.places + 7), "a place lies outside"),
    ("shared_features", 0, bags(places=BAGS.places - 7), "a place lies outside"),
    ("shared_features", 0, bags(places=BAGS.places[:0]), "need their windows"),
    ("shared_features", 2, (short[:0], np.array([0]), short[:0]), "need their windows"),
    ("shared_features", 1, bags(starts=starts(1, 1)), "from 0 to the end"),
    ("set_bits", 1, np.array([0, -1, 128], np.int32), "has no bit"),
    ("set_bits", 2, starts(3), "one row of out"),
    ("levenshtein", 1, np.array([0, 1, 2, 2**31 - 1], np.int32), "without large gaps"),
    ("levenshtein", 3, np.array([0, 1, 2, -1], np.int32), "numbered from 0"),
    ("levenshtein", 4, starts(2, 2), "to be the same"),
    ("levenshtein", 0, np.zeros((2, 3)), "one row and column"),
    ("subsequences", 0, np.zeros((2, 3)), "one row and column"),
    ("subsequences", 1, np.array([0, 1, 2, -1], np.int32), "numbered from 0"),
    ("subsequences", 3, np.array([0, 1, 2, 0], np.int32), "to be the same"),
    ("subsequences", 5, 0, "p must be from 1 to 1000"),
    ("subsequences", 6, 1.5, "decay must be above 0 and at most 1"),
    ("self_subsequences", 3, nan, "decay must be above 0 and at most 1"),
    ("best_alignment", 1, np.array([0, 1, 2, 4], np.int32), "no row in the table"),
    ("best_alignment", 5, PAIR_SCORES[:3].copy(), "a row and a column for each letter"),
    ("best_alignment", 6, "1", WRONG_TYPE),
    ("sum_alignments", 5, 0 * PAIR_SCORES, "factors must be from 1e-100"),
    ("sum_alignments", 6, 2.0, "gaps must be from 1e-100 to 1"),
    ("self_sum_alignments", 0, np.array([0, 1, 2, 4], np.int32), "no row in the table"),
    ("self_sum_alignments", 4, 0.0, "gaps must be from 1e-100 to 1"),
    ("weisfeiler_lehman", 0, (*PATH[:2], np.array([1, 0, 3, 1, 1, 0], np.int32)), "outside of its graph"),
    ("weisfeiler_lehman", 0, (*PATH[:2], np.array([1, 2, 0, 1, 1, 0], np.int32)), "must increase"),
    ("weisfeiler_lehman", 1, LABELS[:4], "one label per node"),
    ("weisfeiler_lehman", 2, LABELS, "one edge label"),
    ("weisfeiler_lehman", 3, 10**9, "iterations must be from 0"),
    ("shortest_paths", 0, (np.array([0, 3, 6]), *PATH[1:]), "from 0 to the end"),
    ("shortest_paths", 0, (PATH[0], np.array([0, 3, 1, 4, 5, 6]), PATH[2]), "not decrease"),
    ("graphlets", 1, 4, "one type per code"),
    ("graphlets", 1, 6, "p must be from 2 to 5"),
    ("graphlets", 2, TYPES.of_code + np.int32(9), "no such type"),
    ("graphlets", 3, TYPES.contains[:, 1:].copy(), "per type"),
    ("labeled_walks", 3, 0.25, "below 1"),
    ("labeled_walks", 3, -0.1, "below 1"),
    ("labeled_walks", 1, (*WALKED[:5], np.full(1, 2.0)), "one radius for each graph"),
    ("labeled_walks", 2, (*WALKED[:4], LABELS, WALKED[5]), "one edge label"),
    ("keyed_products", 1, (starts(3), *HISTOGRAMS[1:]), "one entry more"),
    ("keyed_products", 2, (*HISTOGRAMS[:2], np.ones(2)), "one count per key"),
    ("dtw", 5, inf, "from 0.0 to 1.0"),
    ("dtw", 5, nan, "from 0.0 to 1.0"),
    ("dtw", 5, 1e300, "from 0.0 to 1.0"),
    ("dtw", 5, -0.5, "from 0.0 to 1.0"),
    ("dtw", 5, -1, "window must be at least 0"),
    ("dtw", 5, "wide", "window must be an integer"),
    ("msm", 5, -0.5, "cost must be at least 0"),
    ("msm", 6, 1.5, "from 0.0 to 1.0"),
    ("erp", 5, nan, "gap must be finite"),
    ("erp", 5, "zero", WRONG_TYPE),
    ("twe", 6, inf, "penalty must be finite"),
    ("twe", 4, starts(2, 2), "starts must go"),
    ("soft_dtw", 5, 0.0, "gamma must be above 0"),
    ("soft_dtw", 0, np.zeros((2, 3)), "one row of out"),
    ("convolutions", 0, np.zeros((2, 2)), "one row of out"),
    ("convolutions", 0, np.zeros((2, 3), np.float32), WRONG_TYPE),
    ("convolutions", 3, np.array([[84, 1, 0], [0, 1, 0]]), "from 0 to 83"),
    ("convolutions", 3, np.array([[-1, 1, 0], [0, 1, 0]]), "from 0 to 83"),
    ("convolutions", 3, np.array([[0, 0, 0], [0, 1, 0]]), "at least 1"),
    ("convolutions", 3, np.zeros((2, 2), int), "a kernel, a dilation"),
    ("convolutions", 4, np.ones((2, 2)), "one row of mix"),
    ("convolutions", 6, starts(1, 1, 1), "the biases of each"),
    ("signatures", 0, np.zeros((2, 4)), "one row of out"),
    ("signatures", 0, np.zeros((2, 3), np.float32), WRONG_TYPE),
    ("signatures", 2, starts(2, 2), "starts must go"),
    ("signatures", 3, 0, "level must be from 1 to 63"),
    ("signatures", 3, 2.0, WRONG_TYPE),
    ("dtw", 4, starts(1, 4), "to be the same"),
    ("dtw", 3, numbers(5, 1), "to be the same"),
    ("dtw", 2, np.array([0, 4, 3]), "starts must"),
    ("dtw", 1, numbers(5, 0), "at least one channel"),
    ("dtw", 1, numbers(5, 2), "the same number of channels"),
    ("dtw", 1, SERIES[0].astype(np.float32), WRONG_TYPE),
    ("dtw", 0, np.zeros((2, 3)), "one row of out"),
    ("dtw", 0, np.zeros((2, 2), np.float32), WRONG_TYPE),
    ("global_alignment", 5, -1.0, "scale must be at least 0"),
    ("global_alignment", 5, nan, "scale must be at least 0"),
    ("self_alignment", 2, nan, "scale must be at least 0"),
    ("self_alignment", 0, np.ones((5, 1), int), WRONG_TYPE),
    ("common_bits", 1, words(3, 2), "out needs one row for each row of A"),
    ("common_bits", 1, words(2, 3), "the same number of columns"),
    ("common_bits", 1, np.ones((2, 2), np.int64), WRONG_TYPE),
    ("common_bits", 0, np.zeros((2, 3), np.float32), WRONG_TYPE),
    ("count_bits", 0, words(2, 4)[:, ::2], WRONG_TYPE),
    ("shared_bits", 3, np.ones(3), "one size"),
    ("shared_bits", 1, words(2, 3), "the same number of columns"),
    ("shared_bits", 5, "most", "unknown value 'most'"),
    ("of_shared", 1, np.ones(3), "one size"),
    ("gower", 0, np.zeros((3, 2)), "of A need one row"),
    ("gower", 0, np.zeros((2, 3)), "of B need one row"),
    ("gower", 1, (A[:, :2].copy(), np.ones((2, 1), np.int64)), "the same number of columns"),
    ("gower", 2, (B, np.ones((2, 2), np.int64)), "the same number of columns"),
]
"""A loop, the place of an argument, another value of it that is outside of the domain, and what the error says."""

every_version = pytest.mark.parametrize("version", [*SETS, "reference"])
compiled = pytest.mark.parametrize("version", SETS)


def same(got, expected):
    """Tell whether two results, or two lists of arguments, are equal up to rounding."""
    if isinstance(got, (list, tuple)):
        return len(got) == len(expected) and all(map(same, got, expected))
    if isinstance(got, (str, bool, type(None))):
        return got == expected
    return np.allclose(np.asarray(got, float), np.asarray(expected, float), equal_nan=True)


def test_every_loop_is_in_both_lists():
    assert set(reference.LOOPS) == set(INSIDE) == {loop for loop, *_ in OUTSIDE}


@pytest.mark.parametrize("loop", INSIDE)
def test_a_compiled_loop_has_the_parameters_of_its_twin(loop):
    with chosen(SETS[0]) as module:
        stated = re.findall(r"(\w+): ", getattr(module, loop).__doc__.splitlines()[0])
    names = list(inspect.signature(getattr(reference, loop)).parameters)
    form = ["shape", "p", "q", "degree"]
    assert stated == (names if names[-1] != "form" else [*names[:-1], *form])


@every_version
@pytest.mark.parametrize("loop", INSIDE)
def test_what_is_inside_is_computed(version, loop):
    given, twins = copy.deepcopy(INSIDE[loop]), copy.deepcopy(INSIDE[loop])
    expected = getattr(reference, loop)(*twins)
    with chosen(version) as module:
        found = getattr(module, loop)(*given)
    assert same(found, expected) and same(given, twins)


def unaligned_parts(value):
    """Return arrays, wherever they are in an argument, that begin one byte off."""
    if isinstance(value, np.ndarray):
        return unaligned(value)
    if isinstance(value, tuple):
        parts = [unaligned_parts(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


@every_version
@pytest.mark.parametrize("loop", ["shared_features", "dtw", "count_bits", "of_sparse_sums", "keyed_products"])
def test_arrays_that_begin_anywhere_in_memory_are_copied(version, loop):
    given, twins = copy.deepcopy(INSIDE[loop]), copy.deepcopy(INSIDE[loop])
    n = len(given) - 1 if isinstance(given[-1], np.ndarray) else len(given)  # the last one may be written into
    names = list(inspect.signature(getattr(reference, loop)).parameters)
    for i in range(n):
        if names[i] != "out":
            given[i] = unaligned_parts(given[i])
    expected = getattr(reference, loop)(*twins)
    with chosen(version) as module:
        assert same(getattr(module, loop)(*given), expected)


@compiled
@pytest.mark.parametrize(("loop", "place", "value", "says"), OUTSIDE)
def test_what_is_outside_is_refused_and_nothing_is_written(version, loop, place, value, says):
    given = copy.deepcopy(INSIDE[loop])
    given[place] = value
    before = copy.deepcopy(given)
    with chosen(version) as module, pytest.raises((TypeError, ValueError), match=says):
        getattr(module, loop)(*given)
    assert same(given, before) or isinstance(value, list)


def leaves(given, path=()):
    """Yield the path of every array and number in a list of arguments."""
    for i, one in enumerate(given):
        if isinstance(one, (list, tuple)):
            yield from leaves(one, (*path, i))
        elif not isinstance(one, (str, bool)):
            yield (*path, i)


def replaced(given, path, value):
    """Return a list of arguments with another value at a path."""
    if not path:
        return value
    parts = [replaced(one, path[1:], value) if i == path[0] else one for i, one in enumerate(given)]
    return type(given)(*parts) if isinstance(given, BagArrays) else type(given)(parts)


def disturbed(array, rng):
    """Return an array with an entry changed, entries missing or doubled, or of another type or layout."""
    way = rng.integers(7)
    if way == 0 and array.size:
        extremes = [nan, inf, -1e300] if array.dtype.kind == "f" else [0, 1, np.iinfo(array.dtype).max]
        extremes += [] if array.dtype.kind == "f" else [np.iinfo(array.dtype).min]
        array = array.copy()
        array.flat[rng.integers(array.size)] = extremes[rng.integers(len(extremes))]
        return array
    ways = [lambda: array[:-1], lambda: np.concatenate([array, array[-1:]]), lambda: array[::-1].copy()]
    ways += [lambda: array.astype(np.float32), lambda: np.sort(array, axis=None).reshape(array.shape)]
    ways += [lambda: array[:0]]
    return ways[way - 1]() if way else array


def value_at(given, path):
    for i in path:
        given = given[i]
    return given


@pytest.mark.parametrize("repeat", [0, *(pytest.param(i, marks=pytest.mark.deep) for i in range(1, 30))])
@pytest.mark.parametrize("loop", INSIDE)
def test_disturbed_arguments_are_refused_for_every_instruction_set_or_taken_by_the_twin(loop, repeat):
    rng = np.random.default_rng([repeat, *map(ord, loop)])
    paths = list(leaves(INSIDE[loop]))
    for _ in range(40):
        path = paths[rng.integers(len(paths))]
        value = value_at(INSIDE[loop], path)
        numbers = [-1, 0, 1, 7, 0.5, -0.5, 2**31, 2**63, inf, nan, None]
        numbers = numbers if loop != "smo" else numbers[:6]
        value = disturbed(value, rng) if isinstance(value, np.ndarray) else numbers[rng.integers(len(numbers))]
        given = replaced(INSIDE[loop], path, value)
        answers = [answer(version, loop, given) for version in SETS if loops.COMPILED]
        assert all(one[0] == answers[0][0] for one in answers), (loop, path, value, [one[0] for one in answers])
        if answers and not answers[0][0]:
            assert not answer("reference", loop, given)[0], (loop, path, value)


def answer(version, loop, given):
    """Return the error of a loop, or nothing, and what it returns."""
    with chosen(version) as module, np.errstate(all="ignore"):
        try:
            return "", getattr(module, loop)(*copy.deepcopy(given))
        except (TypeError, ValueError, OverflowError) as error:
            return f"{type(error).__name__}: {error}", None


@compiled
def test_a_whole_number_that_no_float_holds_is_refused(version):
    with chosen(version) as module, pytest.raises(TypeError, match="decay: float"):
        module.labeled_walks(*copy.deepcopy(INSIDE["labeled_walks"][:3]), 10**400)


INDEX = "no such (row|column|object|type)|must number|no row in the table"
PAST_THE_END = [case[:3] for case in OUTSIDE if re.search(INDEX, case[3]) and np.min(case[2]) >= 0]


@pytest.mark.parametrize(("loop", "place", "value"), PAST_THE_END)
def test_a_readable_loop_reads_nothing_past_the_end(loop, place, value):
    given = copy.deepcopy(INSIDE[loop])
    given[place] = value
    with pytest.raises(IndexError):
        getattr(reference, loop)(*given)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@every_version
def test_a_power_of_a_negative_number_is_not_a_number(version, dtype):
    values = np.array([[-3.0, -1e30, -1.5, 1.0] * 5], dtype)
    with chosen(version) as module:
        module.apply(values, "rational_quadratic", 1.0, 1.3)
    assert np.isnan(values.reshape(5, 4)[:, :3]).all() and np.allclose(values[0, 3], 2**-1.3)

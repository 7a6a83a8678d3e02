"""The loops over strings: each compiled one, for every instruction set of this machine, against its readable twin."""

import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_loops import chosen

from similitude.compute import loops
from similitude.compute.loops.reference import bags as reference_bags
from similitude.compute.loops.reference import strings as reference_strings

SETS = (
    loops._compiled.instruction_sets() if loops.COMPILED else ["the compiled module similitude.compute.loops._compiled"]
)
compiled_only = pytest.mark.skipif(
    not loops.COMPILED, reason="missing: the compiled module similitude.compute.loops._compiled"
)
letters = st.integers(0, 3) | st.sampled_from([255, 256, 0x10FFFF])
texts = st.lists(st.lists(letters, max_size=14), min_size=1, max_size=5)


def joined(texts, dtype=np.uint32):
    """Return letters one after the other, and where each text starts."""
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return np.array([letter for text in texts for letter in text], dtype), starts


def patterns(*of):
    positions, starts = joined([chosen for chosen, _ in of], np.int64)
    return (positions, starts, np.array([span for _, span in of], np.int64))


PATTERNS = [
    patterns(((0,), 1)),
    patterns(((0, 1), 2)),
    patterns(((0,), 1), ((0, 1), 2), ((0, 1, 2), 3)),
    patterns(((0, 2), 3), ((0, 1), 3), ((1, 2), 3)),
    patterns((tuple(range(7)), 7)),
    patterns((tuple(range(8)), 8)),
    patterns(((0, 1, 2, 3, 4, 5, 6), 8), ((1, 2, 3, 4, 5, 6, 7), 8)),
    patterns(*((((q + t) % 4,), 4) for q in range(60) for t in range(5))),
]


@compiled_only
@given(
    st.lists(st.text(alphabet="ab  é", max_size=14), min_size=1, max_size=5),
    st.integers(0, 3),
    st.sampled_from([(1, 0), (1, 1), (2, 4), (5, 6)]),
)
def test_terms(texts, words, sizes):
    text, starts = joined([list(map(ord, one)) for one in texts])
    found, twin = (one(text, starts, words, *sizes) for one in (loops.term_bags, reference_bags.term_bags))
    for one, other in zip(found, twin, strict=True):
        np.testing.assert_array_equal(one, other)
    names = "".join(map(chr, found.names.tolist())).split("\n")[:-1]
    spelled = joined([list(map(ord, one)) for one in names])
    np.testing.assert_array_equal(loops.term_keys(*spelled), found.keys)
    np.testing.assert_array_equal(reference_bags.term_keys(*spelled), found.keys)


@compiled_only
@given(texts, texts, st.sampled_from(PATTERNS))
def test_windows_and_what_is_shared(A, B, patterns):
    bags = []
    for text in (A, B):
        found = loops.window_bags(*joined(text), patterns)
        twin = reference_bags.window_bags(*joined(text), patterns)
        for one, other in zip(found, twin, strict=True):
            np.testing.assert_array_equal(one, other)
        bags.append(found)
    for one, other in zip(
        loops.shared_features(*bags, patterns), reference_bags.shared_features(*bags, patterns), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@compiled_only
def test_equal_digests_of_different_windows():
    """Codes are made equal by hand: only windows with the same letters under the same pattern are one feature."""
    long = patterns((tuple(range(8)), 8), (tuple(range(8)), 8))
    text, starts = joined([range(9), range(1, 9), range(8)])
    bags = reference_bags.window_bags(text, starts, long)
    same = bags._replace(codes=np.full_like(bags.codes, 2**63 + 1))
    a, b, count = loops.shared_features(same, same, long)
    np.testing.assert_array_equal(a, [0, 1, 2, 3, 1, 3, 0, 2])
    np.testing.assert_array_equal(b, a)
    assert count == 4


@compiled_only
@given(texts, st.integers(1, 3), st.integers(1, 4), st.integers(0, 4))
def test_neighbors(texts, size, length, most):
    found = loops.neighbor_bags(*joined(texts), size, length, most)
    twin = reference_bags.neighbor_bags(*joined(texts), size, length, most)
    for one, other in zip(found, twin, strict=True):
        np.testing.assert_array_equal(one, other)


@compiled_only
def test_many_features_in_a_row():
    """Tables grow, and are used again for the next string."""
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 50, n) for n in (5000, 3, 0, 9000, 5000)]
    pair = patterns(((0, 1), 2))
    for one, other in zip(
        loops.window_bags(*joined(texts), pair), reference_bags.window_bags(*joined(texts), pair), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@compiled_only
def test_bits():
    numbers, starts = joined([[0, 5, -1, 63], [], [64, 127, -1]], np.int32)
    out, twin = np.zeros((3, 2), np.uint64), np.zeros((3, 2), np.uint64)
    loops.set_bits(out, numbers, starts)
    reference_bags.set_bits(twin, numbers, starts)
    np.testing.assert_array_equal(out, twin)


TWINS = {}  # what the readable loops find takes long, and is the same for every instruction set


@pytest.mark.parametrize("name", SETS)
def test_edit_distances(name):
    rng = np.random.default_rng(0)
    lengths = [0, 1, 2, 63, 64, 65, 127, 128, 129, 200, 3, 300, *rng.integers(0, 140, 10).tolist()]
    for size in (1, 2, 4, 30):
        A = joined([rng.integers(0, size, n) for n in lengths[4:10]], np.int32)
        B = joined([rng.integers(0, size, n) for n in lengths], np.int32)
        out = np.full((6, len(lengths)), -1.0)
        if size not in TWINS:
            TWINS[size] = np.empty_like(out)
            reference_strings.levenshtein(TWINS[size], *A, *B)
        with chosen(name) as these:
            these.levenshtein(out, *A, *B)
            np.testing.assert_array_equal(out, TWINS[size])
            full, half = np.full((2, len(lengths), len(lengths)), -1.0)
            these.levenshtein(full, *B, *B)
            these.levenshtein(half, *B, *B, same=True)
            np.testing.assert_array_equal(half, full)


@pytest.mark.parametrize("name", SETS)
def test_edit_distances_of_strings_with_many_different_letters(name):
    rng = np.random.default_rng(3)
    few = rng.permutation(40_000)[:40]  # those that strings share
    lengths = (0, 1, 5, 64, 130, 3, 0, 70, 6_000, 1, 200, *range(60))  # a table of bits of all letters would be large
    strings = [np.where(rng.random(n) < 0.5, rng.choice(few, n), rng.integers(0, 40_000, n)) for n in lengths]
    numbered = np.split(np.unique(np.concatenate(strings), return_inverse=True)[1], np.cumsum(lengths)[:-1])
    A, B = joined(numbered[:5], np.int32), joined(numbered[5:], np.int32)
    out, expected = np.full((2, 5, 66), -1.0)
    reference_strings.levenshtein(expected, *A, *B)
    with chosen(name) as these:
        these.levenshtein(out, *A, *B)
        np.testing.assert_array_equal(out, expected)
        full, half = np.full((2, 66, 66), -1.0)
        these.levenshtein(full, *B, *B)
        these.levenshtein(half, *B, *B, same=True)
        np.testing.assert_array_equal(half, full)


@compiled_only
@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the peak of memory")
def test_edit_distances_of_long_strings_take_little_memory():
    program = """
        import numpy as np
        from similitude.kernels import Edit
        rng = np.random.default_rng(0)
        words = ["".join(map(chr, rng.integers(0x4E00, 0x9E00, 20_000))) for _ in range(4)]
        peak = lambda: int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
        before = peak()
        Edit().distances(words)
        print(peak() - before)
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True)
    assert int(done.stdout) < 64 * 1024  # KiB; a table of the bits of all letters takes 800 MiB


@pytest.mark.parametrize("name", SETS)
def test_edit_distances_of_nothing(name):
    nothing = np.zeros(0, np.int32), np.array([0, 0, 0])
    with chosen(name) as these:
        out = np.full((2, 2), -1.0)
        these.levenshtein(out, *nothing, *nothing)
        assert not out.any()
        these.levenshtein(out[:, :0], *nothing, np.zeros(0, np.int32), np.array([0]))
        with pytest.raises(ValueError, match="starts"):
            these.levenshtein(out, np.zeros(0, np.int32), np.array([0, 0, 1]), *nothing)


STRINGS = [0, 1, 2, 3, 7, 8, 9, 30, 30, 31, 5, 4]


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize(("p", "decay"), [(1, 0.5), (2, 1.0), (3, 0.7), (5, 0.1), (7, 0.9)])
def test_subsequences(name, p, decay):
    rng = np.random.default_rng(p)
    A, B = (joined([rng.integers(0, 3, n) for n in lengths], np.int32) for lengths in (STRINGS[2:9], STRINGS))
    expected, out = np.empty((7, 12)), np.full((7, 12), -1.0)
    reference_strings.subsequences(expected, *A, *B, p, decay)
    full, half, turned = np.full((12, 12), -1.0), np.full((12, 12), -1.0), np.full((12, 7), -1.0)
    with chosen(name) as these:
        these.subsequences(out, *A, *B, p, decay)
        these.subsequences(turned, *B, *A, p, decay)
        these.subsequences(full, *B, *B, p, decay)
        these.subsequences(half, *B, *B, p, decay, same=True)
        own = these.self_subsequences(*B, p, decay)
    np.testing.assert_allclose(out, expected, rtol=1e-12)
    np.testing.assert_array_equal(turned, out.T)
    np.testing.assert_array_equal(half, full)
    np.testing.assert_array_equal(full, full.T)
    np.testing.assert_array_equal(own, np.diag(full))


def scores_of(letters):
    half = np.random.default_rng(letters).normal(size=(letters, letters))
    return half + half.T


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("local", [False, True])
def test_best_alignments(name, local):
    rng, scores = np.random.default_rng(0), scores_of(4)
    A, B = (joined([rng.integers(0, 4, n) for n in lengths], np.int32) for lengths in (STRINGS[:9], STRINGS))
    expected, out, turned = np.empty((9, 12)), np.full((9, 12), -1.0), np.full((12, 9), -1.0)
    reference_strings.best_alignment(expected, *A, *B, scores, 1.5, 0.25, local)
    full, half = np.full((2, 12, 12), -1.0)
    with chosen(name) as these:
        these.best_alignment(out, *A, *B, scores, 1.5, 0.25, local)
        these.best_alignment(turned, *B, *A, scores, 1.5, 0.25, local)
        these.best_alignment(full, *B, *B, scores, 1.5, 0.25, local)
        these.best_alignment(half, *B, *B, scores, 1.5, 0.25, local, same=True)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(turned, out.T)
    np.testing.assert_array_equal(half, full)


@pytest.mark.parametrize("name", SETS)
def test_sums_of_alignments(name):
    rng, factors = np.random.default_rng(1), np.exp(scores_of(4))
    A, B = (joined([rng.integers(0, 4, n) for n in lengths], np.int32) for lengths in (STRINGS[:9], STRINGS))
    expected, out, turned = np.empty((9, 12)), np.full((9, 12), -1.0), np.full((12, 9), -1.0)
    reference_strings.sum_alignments(expected, *A, *B, factors, 0.2, 0.6)
    full, half = np.full((2, 12, 12), -1.0)
    with chosen(name) as these:
        these.sum_alignments(out, *A, *B, factors, 0.2, 0.6)
        these.sum_alignments(turned, *B, *A, factors, 0.2, 0.6)
        these.sum_alignments(full, *B, *B, factors, 0.2, 0.6)
        these.sum_alignments(half, *B, *B, factors, 0.2, 0.6, same=True)
        own = these.self_sum_alignments(*B, factors, 0.2, 0.6)
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(turned, out.T)
    np.testing.assert_array_equal(half, full)
    np.testing.assert_array_equal(own, np.diag(full))


@compiled_only
def test_sums_of_alignments_of_long_strings_lose_nothing():
    """Two domains in the other order: the sum holds both, though each alone is larger than the largest float64."""
    x, z = np.zeros(600, np.int32), np.ones(600, np.int32)
    factors, starts = np.array([[9.0, 1e-90], [1e-90, 9.0]]), np.array([0, 1200])
    one, both = np.empty((1, 1)), np.empty((1, 1))
    apart = np.array([0, 600])
    loops.sum_alignments(one, x, apart, x, apart, factors, 1e-9, 1e-9)
    there, back = np.concatenate([x, z]), np.concatenate([z, x])
    loops.sum_alignments(both, there, starts, back, starts, factors, 1e-9, 1e-9)
    assert one[0, 0] > 1300
    np.testing.assert_allclose(both, one + np.log(2), rtol=1e-9)

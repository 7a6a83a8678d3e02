"""Alignment: the sources' figures, a naive formula, invariances, bad input; its estimates for the distribution."""

import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from similitude.goodness import alignment
from similitude.goodness.alignments import estimated_alignments

K3 = np.array([[1.0, 0.8, 0.1], [0.8, 1.0, 0.2], [0.1, 0.2, 1.0]])
Y3 = np.array([1, 1, -1])


def naive(K, T, centered):
    """The cosine by sums over all pairs, one after the other."""
    n = len(K)
    if centered:
        H = np.eye(n) - np.ones((n, n)) / n
        K, T = H @ K @ H, H @ T @ H
    pairs = list(itertools.product(range(n), repeat=2))
    product = math.fsum(K[p] * T[p] for p in pairs)
    return product / math.sqrt(math.fsum(K[p] ** 2 for p in pairs) * math.fsum(T[p] ** 2 for p in pairs))


def test_three_objects():
    assert alignment(K3, Y3, centered=False) == pytest.approx(0.637091, abs=1e-6)
    assert alignment(K3, Y3) == pytest.approx(0.980102, abs=1e-6)


def test_footnote_7():
    """On the line, 75 % of each class on its side: alignment 1/4, half the gap 1/2."""
    x, labels = np.repeat([1, -1, 1, -1], [3, 1, 1, 3]), np.repeat([1, 1, -1, -1], [3, 1, 1, 3])
    assert alignment(np.outer(x, x), labels, centered=False) == pytest.approx(0.25)
    assert alignment(np.outer(x, x), labels) == pytest.approx(0.25)


def test_a_constant_similarity_of_unbalanced_labels():
    y = [1] * 95 + [-1] * 5
    assert alignment(np.full((100, 100), 0.3), y, centered=False) == pytest.approx(0.81)
    with pytest.warns(UserWarning, match="K is zero after centering: the alignment is 0 / 0"):
        assert alignment(np.full((100, 100), 0.3), y) == 0.0
    rows = np.add.outer(np.arange(100.0), np.sqrt(np.arange(100.0)))  # what rows and columns add is no more than that
    with pytest.warns(UserWarning, match="K is zero after centering"):
        assert alignment(rows, y) == 0.0


def test_nothing_to_compare_with():
    with pytest.warns(UserWarning, match="K is zero: "):
        assert alignment(np.zeros((3, 3)), Y3, centered=False) == 0.0
    with pytest.warns(UserWarning, match="the target is zero after centering"):
        assert alignment(K3, [1, 1, 1]) == 0.0
    with pytest.warns(UserWarning, match="the target is zero"):
        assert alignment(K3, np.zeros((3, 3)), centered=False) == 0.0


@given(st.integers(2, 8), st.integers(1, 4), st.booleans(), st.integers(0, 10**6))
def test_labels_are_a_matrix(n, k, centered, seed):
    rng = np.random.default_rng(seed)
    K, y = rng.standard_normal((n, n)), rng.integers(k, size=n)
    k = len(set(y.tolist()))
    T = np.where(y[:, None] == y, 1.0, -1 / (k - 1) if k > 1 else 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = alignment(K, np.array(list("abcd"))[y], centered=centered)
        assert found == pytest.approx(alignment(K, T, centered=centered))
    if not (centered and k == 1):
        assert found == pytest.approx(naive(K, T, centered))
    assert -1 <= found <= 1


@given(st.integers(0, 10**6))
def test_invariances(seed):
    rng = np.random.default_rng(seed)
    K, y = rng.standard_normal((9, 9)), np.arange(9) % 3
    order = rng.permutation(9)
    found = alignment(K, y)
    assert alignment(1e200 * K, y) == pytest.approx(found)
    assert alignment(1e-200 * K, y) == pytest.approx(found)
    assert alignment(-K, y) == pytest.approx(-found)
    assert alignment(K[np.ix_(order, order)], y[order]) == pytest.approx(found)
    assert alignment(K.T, y) == pytest.approx(found)
    assert alignment(K + rng.standard_normal(9) + rng.standard_normal((9, 1)), y) == pytest.approx(found)
    assert alignment(K, np.array(["x", "z", "y"])[y]) == pytest.approx(found)
    assert alignment(K, K) == pytest.approx(1.0)


def test_forms_of_input():
    assert alignment(K3.tolist(), ["a", "a", "b"]) == pytest.approx(0.980102, abs=1e-6)
    assert alignment(K3.astype(np.float32), [[1], [1], [0]]) == pytest.approx(0.980102, abs=1e-6)
    assert alignment(sparse.csr_array(K3), np.array([True, True, False])) == pytest.approx(0.980102, abs=1e-6)
    assert alignment(K3, sparse.csr_array(np.outer(Y3, Y3))) == pytest.approx(0.980102, abs=1e-6)
    assert isinstance(alignment(K3, Y3), float)


# The estimates of assess: means over tuples of different examples.


def by_tuples(K, T, centered):
    """Mean of K T over different examples, or of its centered form over four different ones."""
    n = len(K)
    if not centered:
        return np.mean([K[i, j] * T[i, j] for i, j in itertools.permutations(range(n), 2)])
    terms = [K[i, j] * (T[i, j] - T[i, k] - T[k, j] + T[k, m]) for i, j, k, m in itertools.permutations(range(n), 4)]
    return np.mean(terms)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("classes", [2, 3])
def test_estimates_are_means_over_different_examples(centered, classes):
    rng = np.random.default_rng(1)
    y = np.arange(7) % classes
    K = rng.standard_normal((7, 7)) + (y[:, None] == y)
    T = np.where(y[:, None] == y, 1.0, -1 / (classes - 1))

    def ratio(K, T):
        lengths = by_tuples(K, K, centered) * by_tuples(T, T, centered)
        return by_tuples(K, T, centered) / math.sqrt(lengths)

    found = estimated_alignments(K, y)[int(centered)]
    assert found.value == pytest.approx(ratio(K, T))
    without = [np.delete(np.delete(M, i, 0), i, 1) for i in range(7) for M in (K, T)]
    left_out = np.array([ratio(*pair) for pair in zip(without[::2], without[1::2], strict=True)])
    from scipy.stats import t

    size = 1 / np.mean(1 / np.bincount(y))
    radius = (1 + 5 / size) * t.ppf(0.975, size - 1) * math.sqrt(6 / 7 * ((left_out - left_out.mean()) ** 2).sum())
    assert found.low == pytest.approx(max(found.value - radius, -1.0))
    assert found.high == pytest.approx(min(found.value + radius, 1.0))


def test_the_diagonal_does_not_count():
    rng = np.random.default_rng(2)
    y = np.arange(30) % 2
    K = rng.standard_normal((30, 30)) + (y[:, None] == y)
    for one, other in zip(estimated_alignments(K, y), estimated_alignments(K + 100 * np.eye(30), y), strict=True):
        assert one.to_dict() == pytest.approx(other.to_dict())


def test_what_cannot_be_known():
    for K in (np.ones((20, 20)), np.eye(20), np.zeros((20, 20)), np.subtract.outer(np.arange(20.0), np.arange(20.0))):
        centered = estimated_alignments(K, np.arange(20) % 2)[1]
        assert (centered.value, centered.low, centered.high) == (0.0, -1.0, 1.0)
    for few in (estimated_alignments(K3, np.array([0, 0, 1])), estimated_alignments(np.eye(4), np.arange(4) % 2)):
        assert (few[1].low, few[1].high) == (-1.0, 1.0)

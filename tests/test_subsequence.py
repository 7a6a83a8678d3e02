"""The subsequence kernel: all subsequences one by one, published values, long strings and bad input."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from similitude import as_similarity, check_kernel, use_engine
from similitude.compute import loops
from similitude.engines import LocalEngine
from similitude.kernels import Spectrum, Subsequence

fast = pytest.mark.skipif(not loops.COMPILED, reason="missing: the compiled module similitude.compute.loops._compiled")
strings = st.lists(st.text(alphabet="ab\0日", max_size=8), min_size=1, max_size=5)


def weights(s, p, decay):
    """Sum decay to the span over all choices of p positions, for each word that they spell."""
    found = {}
    for chosen in itertools.combinations(range(len(s)), p):
        word = "".join(s[i] for i in chosen)
        found[word] = found.get(word, 0.0) + decay ** (chosen[-1] - chosen[0] + 1)
    return found


def brute_force(X, Z, p, decay):
    left, right = ([weights(s, p, decay) for s in strings] for strings in (X, Z))
    return [[sum(value * b.get(word, 0.0) for word, value in a.items()) for b in right] for a in left]


@given(strings, strings, st.integers(1, 5), st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_brute_force(X, Z, p, decay):
    k = Subsequence(p, decay)
    np.testing.assert_allclose(k.cross(X, Z), brute_force(X, Z, p, decay), rtol=1e-12)
    np.testing.assert_allclose(k.diag(X), np.diag(brute_force(X, X, p, decay)), rtol=1e-12)


def test_published_values():
    """Lodhi et al. 2002, section 2: of cat and car, and of two sentences."""
    for decay in (0.3, 0.5, 0.8):
        assert Subsequence(2, decay)("cat", "car") == pytest.approx(decay**4)
        assert Subsequence(2, decay)("cat", "cat") == pytest.approx(2 * decay**4 + decay**6)
        assert Subsequence(2, decay).normalized()("cat", "car") == pytest.approx(1 / (2 + decay**2))
    s, t = "science is organized knowledge", "wisdom is organized life"
    published = [0.580, 0.478, 0.439, 0.406, 0.370]  # for 2 to 6 letters, decay 1/2
    found = [Subsequence(p, 0.5).normalized()(s, t) for p in range(2, 7)]
    np.testing.assert_allclose(found, published, atol=1e-3)


def test_limits():
    s, t = "abracadabra", "barbarabra"
    assert Subsequence(1, 1.0)(s, t) == Spectrum(1, counts=True)(s, t)
    shared = Spectrum(3, counts=True)(s, t)
    assert Subsequence(3, 1e-6)(s, t) / 1e-36 == pytest.approx(shared, rel=1e-4)
    assert Subsequence(3)("ab", "abc") == 0.0 and Subsequence(3)("", "") == 0.0
    assert Subsequence(4, 1.0)("a" * 30, "a" * 20) == pytest.approx(math.comb(30, 4) * math.comb(20, 4))
    assert Subsequence(2)(b"\xe9t\xe9", "été") == Subsequence(2)("été", "été")


@fast
def test_long_strings_neither_underflow_nor_overflow():
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("acgt"), n)) for n in (2_000, 1_500)]
    K = Subsequence(4, 0.5).normalized().gram(X)
    assert 0.5 < K[0, 1] < 1.0
    far = "ab" + "x" * 1_500, "ab" + "y" * 900, "a" + "z" * 2_000 + "b"
    assert Subsequence(2)(far[0], far[1]) == 0.5**4, "what follows the last match costs nothing"
    assert Subsequence(2)(far[0], far[2]) == 0.0, "0.5^2004 is below the smallest number"


@fast
def test_the_same_bits_in_any_order_and_in_tiles():
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("acgt"), n)) for n in rng.integers(0, 40, 90)]
    for k in (Subsequence(3, 0.7), Subsequence(8, 0.7)):
        K = k.gram(X)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(k.cross(X[50:], X), K[50:])
        np.testing.assert_array_equal(k.diag(X), np.diag(K))
        with use_engine(LocalEngine(threads=2, memory="256KiB")):
            np.testing.assert_array_equal(k.gram(X), K)


def test_is_a_kernel_by_proof_and_by_name():
    assert as_similarity("subsequence(p=3)") == Subsequence(3)
    assert check_kernel(Subsequence()).verdict == "VALID"


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (Subsequence(0), "p must be an integer >= 1"),
        (Subsequence(2_000, 1.0), "p must be at most 1,000"),
        (Subsequence(3, 0.0), "decay must be"),
        (Subsequence(3, 1.5), "decay must be at most 1"),
        (Subsequence(100, 0.01), "where numbers end"),
    ],
)
def test_bad_parameters(k, message):
    with pytest.raises(ValueError, match=message):
        k.gram(["abc"])

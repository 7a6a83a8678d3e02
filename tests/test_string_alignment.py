"""Alignments of strings: all of them one by one, tables of scores, kernels and what is none, and bad input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from similitude import SimilarityClassifier, as_similarity, check_kernel, load, save, use_engine
from similitude.compute import loops
from similitude.engines import LocalEngine
from similitude.kernels import Aligned, LocalAlignment
from similitude.kernels.strings.alignment import as_substitution

fast = pytest.mark.skipif(not loops.COMPILED, reason="missing: the compiled module similitude.compute.loops._compiled")
TABLES = [(1.0, -1.0), {"aa": 2.0, "ab": -1.0, "bb": 1.5}, ("ab", [[2.0, 0.5], [0.5, 1.0]])]
strings = st.lists(st.text(alphabet="ab", max_size=6), min_size=1, max_size=4)


def score(table, x, z):
    if isinstance(table, dict):
        return table.get(x + z, table.get(z + x))
    if isinstance(table[0], str):
        return table[1][table[0].index(x)][table[0].index(z)]
    return table[0] if x == z else table[1]


def gap(n, opened, extended):
    return opened + extended * (n - 1) if n else 0.0


def sum_of_alignments(s, t, table, opened, extended, beta):
    """Add up exp(beta score) over all sequences of pairs, by the next pair after each."""

    def from_pair(i, j):
        rest = sum(
            math.exp(-beta * (gap(k - i - 1, opened, extended) + gap(m - j - 1, opened, extended))) * from_pair(k, m)
            for k in range(i + 1, len(s))
            for m in range(j + 1, len(t))
        )
        return math.exp(beta * score(table, s[i], t[j])) * (1 + rest)

    return 1 + sum(from_pair(i, j) for i in range(len(s)) for j in range(len(t)))


def best_alignment(s, t, table, opened, extended, local):
    """Take the best of all sequences of pairs."""
    n, m = len(s), len(t)

    def end(i, j):
        return 0.0 if local else -gap(n - i - 1, opened, extended) - gap(m - j - 1, opened, extended)

    def from_pair(i, j):
        rest = [
            from_pair(k, q) - gap(k - i - 1, opened, extended) - gap(q - j - 1, opened, extended)
            for k in range(i + 1, n)
            for q in range(j + 1, m)
        ]
        return score(table, s[i], t[j]) + max([end(i, j), *rest])

    pairs = [(i, j) for i in range(n) for j in range(m)]
    start = [
        from_pair(i, j) - (0.0 if local else gap(i, opened, extended) + gap(j, opened, extended)) for i, j in pairs
    ]
    return max([end(-1, -1), *start])


@given(strings, strings, st.sampled_from(TABLES), st.sampled_from([(2.0, 0.5), (1.0, 1.0), (0.0, 0.0)]))
def test_brute_force(X, Z, table, gaps):
    for local in (True, False):
        found = [[best_alignment(x, z, table, *gaps, local) for z in Z] for x in X]
        np.testing.assert_allclose(Aligned(table, *gaps, local=local).cross(X, Z), found, atol=1e-12)
    k = [[sum_of_alignments(x, z, table, *gaps, 0.7) for z in Z] for x in X]
    left, right = ([sum_of_alignments(x, x, table, *gaps, 0.7) for x in strings] for strings in (X, Z))
    values = np.array(k) / np.sqrt(np.outer(left, right))
    np.testing.assert_allclose(LocalAlignment(table, *gaps, beta=0.7).cross(X, Z), values, rtol=1e-10)


def test_known_values():
    assert Aligned()("HEAGAWGHEE", "PAWHEAE") == 17.0  # HEA beside HEA: 8 + 5 + 4
    assert Aligned(local=False)("", "WW") == -12.0 and Aligned()("", "WW") == 0.0
    assert Aligned().normalized()("WCW", "WCW") == pytest.approx(1.0)
    table = as_substitution("blosum62")
    letters = "".join(map(chr, table.letters.tolist()))
    assert letters == "ARNDCQEGHILKMFPSTWYVBZX*" and (table.scores == table.scores.T).all()
    assert np.trace(table.scores[:20, :20]) == 116 and table.scores[:20, :20].sum() == -426
    assert LocalAlignment()("", "") == 1.0
    assert LocalAlignment(beta=1.0)("W", "") == pytest.approx(1 / math.sqrt(1 + math.exp(11)))


def test_agrees_with_biopython():
    align = pytest.importorskip("Bio.Align", reason="missing: biopython")
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("ARNDCQEGHILKMFPSTWYV"), n)) for n in (30, 25, 40, 1)]
    theirs = align.PairwiseAligner(substitution_matrix=align.substitution_matrices.load("BLOSUM62"))
    theirs.open_gap_score, theirs.extend_gap_score = -11, -1
    for mode in ("local", "global"):
        theirs.mode = mode
        expected = [[theirs.score(x, z) for z in X] for x in X]
        np.testing.assert_array_equal(Aligned(local=mode == "local").gram(X), expected)


@fast
def test_long_strings_have_finite_values():
    rng = np.random.default_rng(0)
    x = "".join(rng.choice(list("ARNDCQEGHILKMFPSTWYV"), 3_000))
    K = LocalAlignment(beta=1.0).gram([x, x[1_500:] + x[:1_500], x[:2_990]])
    assert np.isfinite(K).all() and (np.diag(K) == 1).all()
    assert 0.0 < K[0, 2] < 1e-5, "10 letters less of a score of about 50"


@fast
@pytest.mark.parametrize("k", [LocalAlignment(beta=0.3), Aligned((1.1, -0.7), 1.7, 0.3)], ids=repr)
def test_the_same_bits_in_any_order_and_in_tiles(k):
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("ARND"), n)) for n in rng.integers(0, 30, 70)]
    K = k.gram(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(k.cross(X[40:], X), K[40:])
    np.testing.assert_array_equal(k.diag(X), np.diag(K))
    with use_engine(LocalEngine(threads=2, memory="256KiB")):
        np.testing.assert_array_equal(k.gram(X), K)


def test_a_kernel_where_the_letters_have_one():
    assert LocalAlignment().proven and LocalAlignment((1, -1)).proven
    rng = np.random.default_rng(2)
    X = ["".join(rng.choice(list("ARND"), n)) for n in rng.integers(0, 6, 40)]
    assert np.linalg.eigvalsh(LocalAlignment(beta=0.3).gram(X))[0] > -1e-12
    for k in (LocalAlignment((-1, 1)), LocalAlignment({"aa": 0, "ab": 1, "bb": 0}), LocalAlignment(beta=0.1)):
        assert "PSD" not in k.claims and not k.proven and "negative eigenvalue" in str(k.proof())
    assert check_kernel(LocalAlignment((-1, 1)), ["a", "b"]).verdict == "INVALID"


def test_the_logarithm_is_no_kernel():
    X, gaps = ["baa", "aabb", "aa", "b"], (2.0, 1.0)
    logs = [[math.log(sum_of_alignments(x, z, (1, -1), *gaps, 1.0)) for z in X] for x in X]
    assert np.linalg.eigvalsh(logs)[0] < -0.1


@pytest.mark.parametrize(
    "k",
    [
        Aligned(),
        Aligned(local=False),
        Aligned((1, -1), 1, 1),
        Aligned((1, -1), 1, 1, local=False),
        Aligned({"aa": 1, "ab": 0, "bb": 1}, 0, 0),
    ],
    ids=repr,
)
def test_the_best_alignment_is_no_kernel(k):
    assert k.claims == {"SYMMETRIC"} and check_kernel(k).verdict == "INVALID"


def test_names_saving_and_learning(tmp_path):
    assert as_similarity("aligned(substitution=(1, -1), gap_open=2)") == Aligned((1, -1), 2)
    assert as_similarity("local_alignment(beta=1)") == LocalAlignment(beta=1)
    X, y = ["HEAG", "HEAW", "HEAGAW", "PPKL", "PKL", "PKLV"], list("aaabbb")
    for k in (Aligned(), LocalAlignment(("ACDEFGHIKLMNPQRSTVWY", np.eye(20) * 3 - 1), beta=0.1)):
        model = SimilarityClassifier(k, random_state=0).fit(X, y)
        save(model, tmp_path / "model")
        np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("kind", [Aligned, LocalAlignment])
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"substitution": "pam250"}, ValueError, "substitution must be 'blosum62'"),
        ({"substitution": 3}, TypeError, "substitution must be 'blosum62'"),
        ({"substitution": (1, float("nan"))}, TypeError, "substitution must be"),
        (
            {"substitution": {"aa": 1, "ab": 0, "ba": 1, "bb": 1}},
            ValueError,
            "not symmetric: 'ab' has 0 and 'ba' has 1",
        ),
        ({"substitution": ("ab", [[1, 0], [2, 1]])}, ValueError, "not symmetric"),
        ({"substitution": ("ab", [[1, 0]])}, ValueError, "as many rows and columns"),
        ({"substitution": ("aa", [[1, 0], [0, 1]])}, ValueError, "once each"),
        ({"substitution": {"aa": 1, "bb": 1}}, ValueError, "no score of 'ab'"),
        ({"substitution": {"a": 1}}, ValueError, "keys of two letters"),
        ({"substitution": ("ab", [[1, 0], [0, math.inf]])}, ValueError, "finite"),
        ({"gap_open": -1}, ValueError, "gap_open must be"),
    ],
)
def test_bad_parameters(kind, options, error, message):
    with pytest.raises(error, match=message):
        kind(**options).gram(["ab", "a"])


def test_bad_numbers_and_letters():
    with pytest.raises(ValueError, match="must be at most gap_open"):
        Aligned(gap_open=1, gap_extend=2).gram(["A"])
    with pytest.raises(ValueError, match="beta = 50 times the largest score"):
        LocalAlignment(beta=50).gram(["A"])
    with pytest.raises(ValueError, match=r"X: object 1 has 'j' at position 2, which has no scores"):
        Aligned().gram(["WW", "AAj"])
    with pytest.raises(ValueError, match=r"Z: object 0 has 'J' at position 0"):
        LocalAlignment().cross(["WW"], ["J"])
    with pytest.raises(ValueError, match=r"2,401 different letters|2,400 different letters"):
        Aligned((1, -1)).gram(["".join(map(chr, range(1000, 3400)))])

"""Kernels of strings: the examples of the lecture, brute force, peers, unusual strings and bad input."""

import itertools
import pickle
import subprocess
import sys
import tracemalloc
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import substrings
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import LinearSVC

from similitude import as_similarity, check_kernel, use_engine
from similitude.compute.encodings import keys, rows
from similitude.datasets import promoters
from similitude.engines import LocalEngine
from similitude.errors import UnresolvedError
from similitude.kernels import Edit, Gapped, Mismatch, Spectrum, explicit_map
from similitude.kernels.strings import bags
from similitude.learners import KernelSVC
from similitude.maps import LandmarkMap

UNUSUAL = [
    "",
    "a",
    "ab",
    "aA",
    "naïve",
    "naïve ",
    "ñandú",
    "日本語日本",
    "😀😁😀😁",
    "a\0b\0a\0b",
    "\ud800a",
    "aaaaaaaaaaaaaaaa",
]
strings = st.lists(st.text(alphabet="ab\0é日😀", max_size=12), min_size=1, max_size=6)


def brute_force(X, lengths, counts):
    """Sum products of counts (or of presence) over all substrings."""
    bags_of = [[substrings(x, p) for p in lengths] for x in X]
    if not counts:
        bags_of = [[dict.fromkeys(bag, 1) for bag in each] for each in bags_of]
    return np.array(
        [[sum(a.get(u, 0) * b[u] for a, b in zip(s, t, strict=True) for u in b) for t in bags_of] for s in bags_of],
        float,
    )


@pytest.mark.parametrize(
    ("s", "t", "presence", "counts"),
    [
        ("asdf", "gpsd", [2, 1, 0], [2, 1, 0]),
        ("banana", "bandana", [3, 3, 2, 0], [14, 7, 3, 0]),
        ("aab", "ab", [2], [3]),
        ("aaa", "aaa", [1, 1, 1], [9, 4, 1]),
        ("ab", "abc", [2, 1, 0], [2, 1, 0]),
    ],
)
def test_known_values(s, t, presence, counts):
    for p, (expected, counted) in enumerate(zip(presence, counts, strict=True), 1):
        assert Spectrum(p)(s, t) == Spectrum(p)(t, s) == expected
        assert Spectrum(p, counts=True)(s, t) == counted
    assert Spectrum(len(presence), blended=True)(s, t) == sum(presence)
    assert Spectrum(len(counts), counts=True, blended=True)(s, t) == sum(counts)


@given(strings, st.integers(1, 9), st.booleans(), st.booleans())
def test_brute_force(X, p, counts, blended):
    lengths = range(1, p + 1) if blended else [p]
    K = Spectrum(p, counts, blended).gram(X)
    np.testing.assert_array_equal(K, brute_force(X, lengths, counts))
    assert K.dtype == np.float64


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("p", [2, 9])
def test_frequent_and_rare_features_give_the_same(monkeypatch, share, counts, p):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abé"), rng.integers(0, 90))) for _ in range(40)]
    expected = Spectrum(p, counts).gram(X)

    def some(pairs, a, b, width, counted):
        return np.append(rng.permutation(width), -1).astype(np.int32), int(share * width)

    monkeypatch.setattr(bags, "_by_frequency", some)
    np.testing.assert_array_equal(Spectrum(p, counts).gram(X), expected)
    np.testing.assert_array_equal(expected, brute_force(X, [p], counts))


def test_large_counts_are_exact():
    X = ["a" * 70_000, "a" * 69_999 + "b"]
    expected = [[69_999.0**2, 69_999.0 * 69_998], [69_999.0 * 69_998, 69_998.0**2 + 1]]
    np.testing.assert_array_equal(Spectrum(2, counts=True).gram(X), expected)


@pytest.mark.parametrize("p", [1, 3, 8])
@pytest.mark.parametrize("counts", [False, True])
def test_agrees_with_count_vectorizer(p, counts):
    X = promoters().objects
    M = CountVectorizer(analyzer="char", ngram_range=(p, p), binary=not counts, lowercase=False).fit_transform(X)
    np.testing.assert_array_equal(Spectrum(p, counts).gram(X), (M @ M.T).toarray())


def test_orders_are_not_summed_in_secret():
    """One library's spectrum kernel of order p silently sums the orders 1 to p: here that is asked for by name."""
    assert Spectrum(3)("abab", "baba") == 2
    assert Spectrum(3, blended=True)("abab", "baba") == 2 + 2 + 2


@pytest.mark.parametrize("k", [Spectrum(2), Spectrum(3, counts=True), Spectrum(9), Spectrum(3, blended=True)])
def test_unusual_strings(k):
    K = k.gram(UNUSUAL)
    assert not K[0].any(), "an empty string shares nothing"
    assert (np.diag(K) == k.diag(UNUSUAL)).all()
    assert k("aA", "AA") == k("AA", "aA"), "case is kept on both sides"


def test_bytes_are_letters_by_value():
    assert Spectrum(2)(b"banana", b"bandana") == 3
    assert Spectrum(1)("é", "é".encode("latin-1")) == 1
    assert Spectrum(1)("é", "é".encode()) == 0
    np.testing.assert_array_equal(Spectrum(2).gram([b"ab", "ab", bytearray(b"b")]), [[1, 1, 0], [1, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(Spectrum(1).gram(np.array(["ab", "b"])), [[2, 1], [1, 1]])


def test_shorter_than_p_is_zero_also_when_normalized():
    K = Spectrum(3).normalized().gram(["ab", "abc", "abcd"])
    np.testing.assert_allclose(K, [[0, 0, 0], [0, 1, 0.5**0.5], [0, 0.5**0.5, 1]])


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "3", None])
def test_bad_length(bad):
    with pytest.raises(ValueError, match="p must be an integer >= 1"):
        Spectrum(bad).gram(["ab"])


@pytest.mark.parametrize("bad", [None, 3, ["a"], float("nan")])
def test_what_is_no_string_is_named(bad):
    with pytest.raises(TypeError, match=r"X: object 1 is .*string kernels need str or bytes"):
        Spectrum().gram(["ab", bad])
    with pytest.raises(TypeError, match="Z: object 0 is"):
        Spectrum().cross(["ab"], [bad])
    with pytest.raises(TypeError, match="is one string"):
        Spectrum().gram("ab")


def test_digests_that_collide_are_told_apart(monkeypatch):
    """Two windows with one digest: the bags hold both, and only equal ones meet."""
    from similitude.compute import loops
    from similitude.compute.loops.reference import bags as reference_bags

    if loops.COMPILED:  # the compiled loops compare in the same way, see test_loops_strings
        for name in ("window_bags", "shared_features"):
            monkeypatch.setattr(loops, name, getattr(reference_bags, name))
    monkeypatch.setattr(reference_bags, "_mixed", lambda x: 5)
    X = ["abcdefghij", "bcdefghijk", "cdefghijkl日本"]
    np.testing.assert_array_equal(Spectrum(9).gram(X), brute_force(X, [9], False))


def test_encoding_is_of_each_string_alone():
    k, X = Spectrum(2), [*UNUSUAL, "ab", "日本語日本"]
    A = k.encode(X)
    found = keys(A)
    assert found[2] == found[12] and found[7] == found[13] and len(set(found.tolist())) == 11
    for which in (slice(3, 9), slice(5, 2), slice(None, None, 3), np.array([8, 7, 7, 0])):
        chosen = np.arange(14)[which]
        np.testing.assert_array_equal(k.block(rows(A, which), A), k.gram(X)[chosen])
    assert (keys(k.encode(X[7:8])) == found[7]).all()
    again = pickle.loads(pickle.dumps(A))
    np.testing.assert_array_equal(k.block(again, A), k.gram(X))


def test_threads_give_the_same():
    rng = np.random.default_rng(1)
    X = ["".join(rng.choice(list("acgt"), 30)) for _ in range(120)]
    with use_engine(LocalEngine(threads=1)):
        expected = Spectrum(3).gram(X)
    with use_engine(LocalEngine(threads=3, memory="256KiB")):  # in several tiles
        np.testing.assert_array_equal(Spectrum(3).gram(X), expected)
        np.testing.assert_array_equal(Spectrum(3).cross(X, X[:50]), expected[:, :50])


def test_is_a_kernel_by_proof_and_by_name():
    assert as_similarity("spectrum") == Spectrum()
    X, y = promoters()
    assert check_kernel(Spectrum(4), X).verdict == "VALID"
    assert "substring" in str(Spectrum().proof())
    model = KernelSVC(Spectrum(4).normalized()).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.7
    assert LandmarkMap(Spectrum(3), n_components=5, random_state=0).fit_transform(X).shape == (106, 5)


def edits(s, t):
    """The distance by its recurrence."""
    row = list(range(len(t) + 1))
    for i, x in enumerate(s, 1):
        before, row[0] = row[0], i
        for j, z in enumerate(t, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != z))
    return row[-1]


@given(strings, strings)
def test_edit_brute_force(X, Z):
    expected = [[edits(x, z) for z in Z] for x in X]
    np.testing.assert_array_equal(Edit().distances(X, Z), expected)
    np.testing.assert_array_equal(Edit().distances(X), [[edits(x, z) for z in X] for x in X])
    shares = [[1 - edits(x, z) / max(len(x), len(z), 1) for z in Z] for x in X]
    np.testing.assert_allclose(Edit().cross(X, Z), shares, rtol=1e-15)


def test_edit_known_values():
    assert Edit()("kitten", "sitting") == 1 - 3 / 7
    assert Edit()("", "") == 1 and Edit()("", "a") == 0 and Edit()("ab", "AB") == 0
    assert Edit()(b"flaw", b"lawn") == 0.5
    np.testing.assert_array_equal(Edit().distances(["saturday", ""], ["sunday"]), [[3], [6]])


def cost_of_edits(s, t, insertion, deletion, substitution):
    """The smallest cost by its recurrence."""
    row = [j * insertion for j in range(len(t) + 1)]
    for i, x in enumerate(s, 1):
        before, row[0] = row[0], i * deletion
        for j, z in enumerate(t, 1):
            replaced = before + substitution * (x != z)
            before, row[j] = row[j], min(row[j] + deletion, row[j - 1] + insertion, replaced)
    return row[-1]


@given(strings, strings, st.sampled_from([(1, 1, 2), (2, 2, 1), (1, 3, 2), (0.5, 2, 1.5), (2, 2, 2), (3, 1, 9)]))
def test_edit_costs_brute_force(X, Z, costs):
    k = Edit(costs)
    expected = np.array([[cost_of_edits(x, z, *costs) for z in Z] for x in X])
    np.testing.assert_allclose(k.distances(X, Z), expected, atol=1e-12)
    insertion, deletion, substitution = costs
    a, b = (np.array([len(s) for s in strings]) for strings in (X, Z))
    shorter, more = np.minimum.outer(a, b), np.subtract.outer(a, b)
    largest = min(substitution, insertion + deletion) * shorter + np.where(more > 0, deletion * more, -insertion * more)
    K = k.cross(X, Z)
    np.testing.assert_allclose(K, 1 - expected / np.maximum(largest, 1e-9), atol=1e-12)
    assert K.min() >= -1e-12 and K.max() <= 1 and (k.diag(X) == 1).all()


def test_edit_costs():
    assert Edit((1, 1, 1)).gram(UNUSUAL).tolist() == Edit().gram(UNUSUAL).tolist()
    assert Edit((1, 1, 9))("ab", "cd") == 0.0, (
        "two deletions and two insertions are cheaper, and the most that it can be"
    )
    assert repr(Edit()) == "Edit()" and as_similarity("edit(costs=(1, 2, 1.5))") == Edit((1, 2, 1.5))
    assert "SYMMETRIC" in Edit((2, 2, 1)).claims and "SYMMETRIC" not in Edit((1, 2, 1)).claims
    for costs in ((2, 2, 3), (1, 2, 1), (1, 2, 1.5)):
        assert check_kernel(Edit(costs)).verdict == "INVALID"


@pytest.mark.parametrize("costs", [(1, 1), 3, (1, 1, 0), (1, -1, 1), (1, 1, float("inf")), ("1", 1, 1)])
def test_bad_edit_costs(costs):
    for call in (Edit(costs).gram, Edit(costs).distances):
        with pytest.raises((TypeError, ValueError), match=r"costs? (must be|of)"):
            call(["ab", "a"])


def test_edit_agrees_with_rapidfuzz():
    process = pytest.importorskip("rapidfuzz.process", reason="missing: rapidfuzz")
    from rapidfuzz.distance import Levenshtein

    rng = np.random.default_rng(0)
    for letters in ("ab", "acgt", "abcdefghijklmnopqrstuvwxyz", "é日本語😀"):
        X = ["".join(rng.choice(list(letters), n)) for n in (*range(0, 270, 9), 64, 128, 129, 700)]
        expected = process.cdist(X, X, scorer=Levenshtein.distance)
        np.testing.assert_array_equal(Edit().distances(X), expected)
        np.testing.assert_array_equal(Edit().distances(X[:7], X), expected[:7])


def test_edit_is_no_kernel_and_says_so():
    assert "PSD" not in Edit().claims
    found = check_kernel(Edit(), ["ab", "ba", "aba", "bab"])
    assert found.verdict == "INVALID"
    assert found.witness.value < 0
    X, y = promoters()
    with pytest.raises(ValueError, match=r"no kernel|not a kernel|not PSD|not positive"):
        KernelSVC(Edit()).fit(X, y)
    scores = LandmarkMap(Edit(), n_components=20, random_state=0).fit_transform(X)
    assert scores.min() >= 0 and scores.max() == 1


def test_edit_refuses_what_is_no_string():
    with pytest.raises(TypeError, match="X: object 1 is None: string kernels need str or bytes"):
        Edit().gram(["a", None])


def test_edit_on_threads_and_in_tiles():
    rng = np.random.default_rng(2)
    X = ["".join(rng.choice(list("ab"), rng.integers(0, 12))) for _ in range(120)]
    with use_engine(LocalEngine(threads=2, memory="256KiB")):  # in several tiles
        K = Edit().gram(X)
    assert (K == K.T).all() and (np.diag(K) == 1).all()
    np.testing.assert_array_equal(K[::15], Edit().cross(X[::15], X))


@given(strings, st.integers(1, 5), st.integers(0, 4))
def test_gapped_brute_force(X, g, m):
    m = min(m, g - 1)
    K = np.zeros((len(X), len(X)))
    for i, s in enumerate(X):
        for j, t in enumerate(X):
            for a in range(len(s) - g + 1):
                for b in range(len(t) - g + 1):
                    differ = sum(x != z for x, z in zip(s[a : a + g], t[b : b + g], strict=True))
                    K[i, j] += comb(g - differ, m - differ) if differ <= m else 0
    np.testing.assert_array_equal(Gapped(g, m).gram(X), K)


def test_gapped_known_values():
    assert Gapped(3, 0)("banana", "bandana") == Spectrum(3, counts=True)("banana", "bandana") == 3
    assert Gapped(4, 2)("abcd", "abxy") == 1
    assert Gapped(4, 2)("abcd", "abcd") == 6
    assert Gapped(4, 2)("abc", "abcd") == 0
    assert Gapped(12, 4).diag(["acgtacgtacgtt"])[0] == 2 * comb(12, 4)


@given(strings, st.integers(1, 3), st.integers(0, 3), st.sampled_from(["ab", "abé", "b日", "a", ""]))
def test_mismatch_brute_force(X, p, m, alphabet):
    m = min(m, p)
    words = ["".join(word) for word in itertools.product(alphabet, repeat=p)]
    near = np.array(
        [
            [
                sum(sum(a != b for a, b in zip(u, x[i : i + p], strict=True)) <= m for i in range(len(x) - p + 1))
                for u in words
            ]
            for x in X
        ],
        float,
    ).reshape(len(X), len(words))
    np.testing.assert_array_equal(Mismatch(p, m, alphabet).gram(X), near @ near.T)
    if m == 0 and set("".join(X)) <= set(alphabet):
        np.testing.assert_array_equal(Mismatch(p, m, alphabet).gram(X), Spectrum(p, counts=True).gram(X))


def test_mismatch_takes_its_alphabet_from_data():
    X = ["acgt", "ttga", b"ccc"]
    k = Mismatch(2, 1)
    assert k.unresolved() == ["alphabet"]
    assert k.resolve(X) == Mismatch(2, 1, alphabet="acgt")
    assert k.resolve(X).unresolved() == []
    np.testing.assert_array_equal(k.gram(X), Mismatch(2, 1, list("tgca")).gram(X))
    np.testing.assert_array_equal(k.gram(X), Mismatch(2, 1, b"acgt").gram(X))
    with pytest.raises(UnresolvedError, match="alphabet"):
        k.cross(X, X)
    assert Mismatch(1, 1).gram(["", ""]).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    ("k", "message"),
    [
        (Gapped(0), "g must be an integer >= 1"),
        (Gapped(3, 3), "m must be below g = 3"),
        (Gapped(3, -1), "m must be an integer >= 0"),
        (Gapped(20, 10), "more than 5,000 sets of positions"),
        (Mismatch(0), "p must be an integer >= 1"),
        (Mismatch(2, 3), "m must be at most p = 2"),
        (Mismatch(40, 1, "acgt"), "smaller p or m"),
        (Mismatch(9, 5, "abcdefghij"), "smaller p or m"),
        (Mismatch(2, 1, "aba"), "each of them once"),
        (Mismatch(2, 1, ["ab", "c"]), "single letters"),
        (Mismatch(2, 1, ["ab", ""]), "single letters"),
    ],
)
def test_bad_parameters(k, message):
    with pytest.raises(ValueError, match=message):
        k.gram(["abc"])


@pytest.mark.parametrize("k", [Gapped(4, 2), Mismatch(3, 1), Gapped(9, 1)])
def test_they_are_kernels(k):
    X, y = promoters()
    assert check_kernel(k, X).verdict == "VALID"
    assert KernelSVC(k.normalized()).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.7


EXPLICIT = [
    Spectrum(2),
    Spectrum(3, counts=True, blended=True),
    Spectrum(9),
    Gapped(3, 1),
    Mismatch(2, 1, alphabet="abé"),
    Spectrum(1).normalized(),
    (Spectrum(1) + 2.0 * Gapped(2, 1)) ** 2,
    (Spectrum(2) * Spectrum(1)).normalized() + 1.0,
    Spectrum(2).pullback(str.lower),
]


@pytest.mark.parametrize("k", EXPLICIT, ids=repr)
def test_explicit_features_give_the_kernel(k):
    known, new = [*UNUSUAL, "banana"], ["", "Ananas", "\u65e5\u672c\u8a9e", "xyz", *UNUSUAL[::-1]]
    F, G = explicit_map(k, known), explicit_map(k, new, like=known)
    assert F.format == "csr" and F.shape[1] == G.shape[1]
    np.testing.assert_allclose((F @ F.T).toarray(), k.gram(known), atol=1e-12)
    np.testing.assert_allclose((G @ F.T).toarray(), k.cross(new, known), atol=1e-12)
    np.testing.assert_allclose((G * G).sum(axis=1), k.diag(new), atol=1e-12)


def test_explicit_features_of_strings_that_share_none():
    F = explicit_map(Spectrum(2), ["ab", "cd"], like=["xy", ""])
    np.testing.assert_array_equal(F.toarray(), [[0, 1], [0, 1]])
    assert explicit_map(Spectrum(3), ["", "a"]).shape == (2, 1)
    with pytest.raises(TypeError, match="has no finite feature map"):
        explicit_map(Edit(), ["a"])
    with pytest.raises(UnresolvedError, match="alphabet"):
        explicit_map(Mismatch(), ["a"])


def test_a_linear_learner_on_explicit_features():
    X, y = promoters()
    k = Spectrum(4).normalized()
    svm = LinearSVC(C=10.0, random_state=0).fit(explicit_map(k, X[::2]), y[::2])
    assert svm.score(explicit_map(k, X[1::2], like=X[::2]), y[1::2]) > 0.7


@pytest.mark.skipif(sys.platform == "win32", reason="missing: limits of memory")
def test_lengths_without_end_are_refused_before_anything_is_allocated():
    code = """
import resource
from similitude.kernels import Gapped, Mismatch, Spectrum

resource.setrlimit(resource.RLIMIT_AS, (2 * 2**30, 2 * 2**30))
for kernel in (Spectrum(10**9), Spectrum(10**9, blended=True), Gapped(10**9, 0), Mismatch(10**9, 1, "a")):
    try:
        kernel("ab", "abc")
    except ValueError as error:
        print(error)
"""
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said = answer.stdout.splitlines()
    assert len(said) == 4
    assert "p = 1,000,000,000 is too large" in said[0] and "1,000,000;" in said[0]
    assert "all lengths up to p is about 1,414" in said[1]
    assert "more than 1,000,000 positions" in said[2] and "take a smaller g" in said[2]
    assert "fewer than 2^63 words" in said[3]
    assert Spectrum(1_000_000)("ab", "abc") == 0.0 and Spectrum(1_000, blended=True)("ab", "ab") == 3.0


@pytest.mark.parametrize("kernel", [Spectrum(2, counts=True), Spectrum(9), Gapped(4, 1), Mismatch(3, 1, "abc")])
def test_strings_are_encoded_in_parts_as_at_once(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("abc"), n)) for n in rng.integers(0, 30, 40)] + ["abc\u0416" * 4, b"abcab"]
    whole = kernel.gram(strings)
    monkeypatch.setattr("similitude.kernels.strings.letters.LETTERS_AT_ONCE", 50)
    assert np.array_equal(kernel.gram(strings), whole)
    with pytest.raises(TypeError, match="object 42 is 7"):
        kernel.encode([*strings, 7])


def test_the_letters_of_long_strings_are_not_all_in_memory():
    strings = ["abcd" * 5000] * 500
    tracemalloc.start()
    try:
        Spectrum(3).encode(strings)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000  # the letters would take 40 MB
    finally:
        tracemalloc.stop()

"""Similarities of sets: on Python sets, rows of bits and sparse rows."""

import enum
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.base import clone

from similitude import as_similarity, check_kernel, datasets, use_engine
from similitude.compute.encodings import rows
from similitude.engines import LocalEngine
from similitude.kernels import Intersection, Jaccard, SharesAny, explicit_map
from similitude.kernels.ragged import item_keys
from similitude.learners import KernelSVC
from similitude.maps import LandmarkMap

items = st.one_of(
    st.integers(-3, 3), st.sampled_from(["a", "b", "c", ""]), st.booleans(), st.none(), st.binary(max_size=1)
)
some_sets = st.lists(st.frozensets(items, max_size=6), min_size=1, max_size=8)
DOCUMENTS = [{"ann", "svm"}, {"svm", "pac"}, {"pac", "bob"}]
BITS = np.random.default_rng(0).random((40, 130)) < np.linspace(0, 0.6, 40)[:, None]


def jaccard(x, z):
    return len(x & z) / len(x | z) if x | z else 1.0


BRUTE = [
    (Intersection(), lambda x, z: len(x & z)),
    (Jaccard(), jaccard),
    (SharesAny(), lambda x, z: float(bool(x & z))),
]
every_kernel = pytest.mark.parametrize(("k", "brute"), BRUTE, ids=lambda one: type(one).__name__)


@every_kernel
@given(X=some_sets, Z=some_sets)
def test_against_python_sets(k, brute, X, Z):
    np.testing.assert_array_equal(k.cross(X, Z), [[brute(x, z) for z in Z] for x in X])
    np.testing.assert_array_equal(k.gram(X), [[brute(x, z) for z in X] for x in X])
    np.testing.assert_array_equal(k.diag(X), [brute(x, x) for x in X])


@every_kernel
@given(data=st.data(), width=st.sampled_from([1, 3, 63, 64, 65, 130]))
def test_bits_sparse_rows_and_sets_agree(k, brute, data, width):
    seed = data.draw(st.integers(0, 2**31))
    bits = np.random.default_rng(seed).random((5, width)) < 0.4
    as_items = [set(np.flatnonzero(row).tolist()) for row in bits]
    expected = [[brute(x, z) for z in as_items] for x in as_items]
    forms = [bits, bits.astype(np.int8), bits.astype(float), sp.csr_array(bits.astype(float)), list(bits)]
    forms += [sp.coo_matrix(bits.astype(int)), [sp.csr_array(row[None].astype(int)) for row in bits]]
    for form in forms:
        np.testing.assert_array_equal(k.gram(form), expected)
        np.testing.assert_array_equal(k.cross(form, bits), expected)
    np.testing.assert_array_equal(k.gram(as_items), expected)


def test_agrees_with_scipy():
    np.testing.assert_allclose(Jaccard().gram(BITS[1:]), 1 - cdist(BITS[1:], BITS[1:], "jaccard"), atol=1e-15)


def test_documents_of_balcan_and_blum():
    shares, counts = SharesAny().gram(DOCUMENTS), Intersection().gram(DOCUMENTS)
    np.testing.assert_array_equal(shares, [[1, 1, 0], [1, 1, 1], [0, 1, 1]])
    np.testing.assert_allclose(np.linalg.eigvalsh(shares), [1 - np.sqrt(2), 1, 1 + np.sqrt(2)])
    assert round(np.linalg.eigvalsh(counts)[0], 4) == 0.5858
    found = check_kernel(SharesAny(), DOCUMENTS)
    assert found.verdict == "INVALID" and found.witness.value == pytest.approx(2 - 2 * np.sqrt(2))


def test_papers():
    both = [paper.authors | paper.keywords for paper in datasets.papers().objects]
    assert check_kernel(SharesAny(), both).verdict == "INVALID"
    for k in (Jaccard(), Intersection()):
        assert check_kernel(k, both).verdict == "VALID"
        assert np.linalg.eigvalsh(k.gram(both))[0] > -1e-12


def test_claims_and_proofs():
    assert Jaccard().claims == {"SYMMETRIC", "PSD", "UNIT_DIAGONAL", "BOUNDED"}
    assert Jaccard().proof().holds and Intersection().proof().holds
    assert not SharesAny().proof().holds and SharesAny().claims == {"SYMMETRIC", "BOUNDED"}


@given(X=some_sets)
def test_jaccard_is_psd_with_empty_sets(X):
    assert np.linalg.eigvalsh(Jaccard().gram([*X, set(), set()]))[0] > -1e-12


def test_empty_sets():
    assert Jaccard()(set(), set()) == 1.0 and Jaccard()(set(), {1}) == 0.0
    assert SharesAny()(set(), set()) == 0.0 and Intersection()([], []) == 0.0
    np.testing.assert_array_equal(Jaccard().gram(np.zeros((2, 5))), np.ones((2, 2)))
    np.testing.assert_array_equal(SharesAny().gram(sp.csr_array((2, 5))), np.zeros((2, 2)))
    np.testing.assert_array_equal(Jaccard().gram(np.zeros((2, 0), bool)), np.ones((2, 2)))


class Color(str, enum.Enum):
    RED = "red"


def test_equal_items_are_one_item_whatever_their_type():
    assert Jaccard()({1, "red"}, {1.0, np.str_("red")}) == 1.0
    assert Jaccard()({Color.RED, True}, {"red", np.int64(1)}) == 1.0
    assert Jaccard()([1, 1, 2], (2, 1)) == 1.0  # a list may repeat itself
    assert Jaccard()({"1"}, {1}) == 0.0
    assert Intersection()({2**60, 2**60 + 1}, {2**60 + 1}) == 1.0
    assert Intersection()({b"a"}, {"a"}) == 0.0


@pytest.mark.parametrize("k", [Intersection(), Intersection().normalized(), (Intersection() + 1.0) ** 2], ids=repr)
def test_explicit_features(k):
    known, new = [{"a", "b"}, {"b", 3}, set()], [{"b", "z", "y"}, set(), {"q"}, {3, "b"}]
    for X, Z in ((known, new), (BITS[:9], BITS[::5]), (sp.csr_array(BITS[:9] * 2.0), BITS[3:7])):
        F, G = explicit_map(k, X), explicit_map(k, Z, like=X)
        assert F.format == "csr" and F.shape[1] == G.shape[1]
        np.testing.assert_allclose((F @ F.T).toarray(), k.gram(X), atol=1e-12)
        np.testing.assert_allclose((G @ F.T).toarray(), k.cross(Z, X), atol=1e-12)
        np.testing.assert_allclose((G * G).sum(axis=1), k.diag(Z), atol=1e-12)
    with pytest.raises(ValueError, match="cannot share items"):
        explicit_map(Intersection(), known, like=BITS)
    with pytest.raises(TypeError, match="has no finite feature map"):
        explicit_map(Jaccard(), known)


def test_items_that_hold_others():
    """How items are nested is part of what they are."""
    assert Intersection()({(("a",), "b")}, {(("a", "b"),)}) == 0.0
    assert Intersection()({frozenset({frozenset({1.0, 12.0})})}, {frozenset({frozenset({1.01, 2.0})})}) == 0.0
    assert Intersection()({(1, ("a",))}, {(1.0, ("a",))}) == 1.0


def test_numbers_of_any_size_and_type():
    large, third = 10**400, Fraction(1, 3)
    assert Jaccard()({large, 2**60 + 1, third}, {large, np.int64(2**60 + 1), Fraction(2, 6)}) == 1.0
    assert Jaccard()({large}, {large + 1}) == 0.0
    assert Jaccard()({Decimal("0.10"), Decimal(2)}, {Decimal("0.1"), 2}) == 1.0
    assert Jaccard()({Decimal("0.1")}, {0.1}) == 0.0  # as Python has it


def test_keys_are_the_same_everywhere():
    assert item_keys(["kernel"])[0] == 10602011364023404654
    assert item_keys(["kernel", 1, None]).dtype == np.uint64


def test_columns_of_sets():
    X = [{"a", "b"}, {"b"}, set()]
    expected = Jaccard().gram(X)
    np.testing.assert_array_equal(Jaccard().gram(pd.Series(X)), expected)
    np.testing.assert_array_equal(Jaccard().gram(pd.DataFrame({"tags": X})), expected)
    lists = pl.DataFrame({"tags": [["a", "b"], ["b", "b"], []]})
    np.testing.assert_array_equal(Jaccard().gram(lists), expected)
    np.testing.assert_array_equal(Jaccard().gram(lists["tags"]), expected)
    np.testing.assert_array_equal(Jaccard().gram(np.array([*X, 0], object)[:3]), expected)
    bits = pd.DataFrame({"a": [True, False], "b": [True, True]})
    np.testing.assert_array_equal(Jaccard().gram(bits), [[1, 0.5], [0.5, 1]])


@pytest.mark.parametrize(
    ("X", "error", "says"),
    [
        ([{1}, "abc"], TypeError, r"object 1 is 'abc'.*set\(text\)"),
        ([{1}, None], TypeError, r"object 1 is None.*set\(\)"),
        ([{1}, 3], TypeError, "object 1 is 3"),
        ([{1}, {"a": 1}], TypeError, "object 1 is"),
        ([{1}, [[1], [2]]], TypeError, "object 1 holds an item that cannot be in a set.*unhashable"),
        ([{1}, [float("nan")]], ValueError, "object 1 holds NaN"),
        ([{1}, [pd.NA]], ValueError, "object 1 holds NaN or NA"),
        ([{1}, np.ones((2, 2))], TypeError, "object 1 is"),
        (pd.DataFrame({"a": [True, False], "b": pd.array([1, None], "Int8")}), ValueError, "row 1, column 1 is <NA>"),
        (pl.DataFrame({"a": [True, False], "b": [True, None]}), ValueError, "row 1, column 1 is None"),
        (np.array([[0, 1], [2, 0]]), ValueError, "row 1, column 0 is 2.*0 and 1"),
        (np.array([[0, np.nan]]), ValueError, "row 0, column 1 is nan"),
        (sp.csr_array([[0, np.nan]]), ValueError, "row 0, column 1 is nan"),
        ([np.array([True]), np.array([True, False])], ValueError, "object 1 has shape"),
        ([], ValueError, "no objects"),
    ],
)
def test_bad_sets(X, error, says):
    with pytest.raises(error, match=says):
        Jaccard().gram(X)


def test_sets_of_different_kinds_do_not_meet():
    with pytest.raises(ValueError, match="X holds rows of 3 bits or sparse entries and Z holds sets of items"):
        Jaccard().cross(np.eye(3), [{1}])
    with pytest.raises(ValueError, match=r"rows of 3 bits.*rows of 4 bits"):
        Jaccard().cross(np.eye(3), np.eye(4))


@every_kernel
@pytest.mark.parametrize("form", ["bits", "sparse", "items"])
def test_threads_tiles_and_pickles(k, brute, form):
    bits = np.repeat(BITS, 30, axis=0)
    X = {
        "bits": bits,
        "sparse": sp.csr_array(bits.astype(float)),
        "items": [set(np.flatnonzero(b).tolist()) for b in bits],
    }
    with use_engine(LocalEngine(threads=1)):
        one = k.gram(X[form])
    with use_engine(LocalEngine(threads=2)):
        np.testing.assert_array_equal(k.gram(X[form]), one)
    A = pickle.loads(pickle.dumps(k.encode(X[form])))
    some, out = np.array([3, 1199, 77]), np.empty((3, 5))
    np.testing.assert_array_equal(k.block(rows(A, some), rows(A, slice(0, 1200, 250)), out=out), one[some][:, ::250])


def test_maps_learners_and_clones():
    X = [paper.authors | paper.keywords for paper in datasets.papers().objects]
    y = np.array(["theory" in one for one in X])
    assert KernelSVC(Jaccard()).fit(X, y).score(X, y) > 0.9
    features = LandmarkMap("shares_any", n_components=5, random_state=0).fit_transform(X)
    assert features.shape == (len(X), 5)
    assert clone(KernelSVC(Jaccard())).kernel == Jaccard() == as_similarity("jaccard")
    with pytest.raises(ValueError, match="not a kernel"):
        KernelSVC(SharesAny()).fit(X, y)

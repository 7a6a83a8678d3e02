"""Objects as people have them: tables with odd columns, rows of tables, encodings that lose objects."""

import weakref

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from similitude import FromPairs, Similarity
from similitude.checks import check_similarity
from similitude.errors import PrecisionWarning
from similitude.kernels import DTW, Gaussian, Gower, Linear
from similitude.learners import KernelRidge
from similitude.support.fingerprints import digest

TABLE = pd.DataFrame({"a": [1.0, 2.0, 0.5], "b": [3, 4, 5]}, index=["x", "y", "z"])


def test_scikit_learn_symmetrizes_an_asymmetric_function_and_we_do_not():
    from sklearn.metrics.pairwise import pairwise_kernels

    def f(x, z):
        return float(x[0] - 2 * z[0])

    X = np.array([[1.0], [2.0], [5.0]])
    expected = np.array([[f(x, z) for z in X] for x in X])
    assert not np.allclose(pairwise_kernels(X, metric=f), expected)
    np.testing.assert_array_equal(FromPairs(f).gram(X), expected)
    np.testing.assert_array_equal(FromPairs(f).cross(X, X), expected)


def test_an_encoding_that_loses_objects_is_refused():
    with pytest.raises(ValueError, match="encoded 3 objects as 2"):
        Linear().pullback(lambda X: np.ones((2, 2)), batched=True).gram([1, 2, 3])


def test_a_subclass_of_a_data_frame_is_a_table():
    class Frame(pd.DataFrame):
        pass

    assert FromPairs(lambda x, z: x["a"] * z["b"]).gram(Frame(TABLE)).shape == (3, 3)


@pytest.mark.parametrize("similarity", [Linear(), FromPairs(lambda x, z: 1.0)], ids=["vectors", "pairs"])
def test_a_column_that_occurs_twice_is_named(similarity):
    with pytest.raises(ValueError, match="'a' occurs twice"):
        similarity.gram(pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"]))


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"a": ["1", "2"]}),
        pl.DataFrame({"a": ["1", "2"]}),
        pd.DataFrame({"a": [1j, 2j]}),
        pd.DataFrame({"a": pd.to_datetime(["2020-01-01", "2020-01-02"])}),
        pd.DataFrame({"a": pd.Categorical(["u", "v"])}),
    ],
    ids=["strings", "polars strings", "complex", "dates", "categories"],
)
def test_columns_that_hold_no_numbers_are_named(table):
    with pytest.raises(TypeError, match="column 'a'"):
        Linear().gram(table)


@pytest.mark.parametrize("values", [pd.array([1, None], dtype="Int64"), [1.0, None], [np.nan, 1.0]])
def test_missing_values_are_named(values):
    with pytest.raises(ValueError, match=r"column 'a' holds .* in row"):
        Linear().gram(pd.DataFrame({"a": values}))


def test_columns_in_another_order_are_not_multiplied():
    with pytest.raises(ValueError, match="same order"):
        Linear().cross(TABLE[["a", "b"]], TABLE[["b", "a"]])
    assert Linear().cross(TABLE, TABLE.iloc[:2]).shape == (3, 2)


def test_half_precision_columns_and_arrays_agree():
    halves = TABLE.astype(np.float16)
    assert Linear().gram(halves).dtype == Linear().gram(halves.to_numpy()).dtype == np.float32


def test_rows_of_tables_are_vectors():
    assert Linear()(TABLE.iloc[0], TABLE.iloc[1]) == 14.0
    np.testing.assert_array_equal(Linear().gram([TABLE.iloc[0], TABLE.iloc[1]]), Linear().gram(TABLE.iloc[:2]))


def test_claims_may_be_written_as_any_collection():
    class Listed(Linear):
        claims = ["SYMMETRIC", "PSD"]  # noqa: RUF012 (what is tested)

    assert (Listed() + 1.0).claims == {"SYMMETRIC", "PSD"}
    assert FromPairs(max, claims=iter(["SYMMETRIC"])).claims == {"SYMMETRIC"}
    with pytest.raises(ValueError, match="unknown claim"):

        class Misspelt(Linear):
            claims = ("PDS",)


class GrowsVocabulary(Similarity):
    def encode(self, words):
        self.known = getattr(self, "known", {})
        return np.array([self.known.setdefault(word, len(self.known)) for word in words], float)

    def block(self, A, B):
        return np.exp(-abs(A[:, None] - B))


class WrongKind(Linear):
    objects = "arrows"


@pytest.mark.parametrize(
    ("k", "objects", "found"),
    [
        (GrowsVocabulary(), list("abca"), "gave the similarity the new attribute known|differ"),
        (WrongKind(), [[1.0], [2.0]], "objects is 'arrows', expected one of"),
    ],
)
def test_the_kit_notices_state_and_unknown_kinds(k, objects, found):
    with pytest.raises(AssertionError, match=found):
        check_similarity(k, objects)


def test_parts_are_set_without_touching_their_owner():
    g = Gaussian(1.0)
    s = g + g
    s.set_params(k1__sigma=5.0)
    assert (g.sigma, s.get_params()["k2__sigma"]) == (1.0, 1.0)
    s.set_params(k2__sigma=3.0, k2=Gaussian(9.0))
    assert s.get_params()["k2__sigma"] == 3.0


@pytest.mark.parametrize("sigma", [1e-170, 1e200])
def test_scales_out_of_range_are_refused(sigma):
    with pytest.raises(ValueError, match="too small or too large"):
        Gaussian(sigma).gram([[0.0], [1.0]])


def test_a_huge_whole_number_names_its_pair():
    with pytest.raises(ValueError, match=r"pair \(0, 0\)"):
        FromPairs(lambda x, z: 10**400).gram([1])


def test_few_weighted_rows_of_many():
    X = np.random.default_rng(0).standard_normal((2000, 2))
    weight = np.zeros(2000)
    weight[:10] = 1.0
    assert Gaussian().resolve(X, sample_weight=weight) == Gaussian().resolve(X[:10])


def test_a_digest_does_not_follow_weak_references():
    class Holder:
        pass

    one, other = Holder(), Holder()
    one.back, other.back = weakref.ref(one), weakref.ref(one)
    assert digest(one) == digest(other)


LARGE = [[2**62], [2**62 + 1], [2**62 + 2]]


@pytest.mark.parametrize(
    "X",
    [
        LARGE,
        np.array(LARGE),
        np.array(LARGE, dtype=np.uint64),
        np.array([[10**20], [10**20 + 1], [2]], dtype=object),
        csr_array(np.array(LARGE)),
        pd.DataFrame({"a": [2**62, 2**62 + 1, 3]}),
    ],
    ids=["list", "array", "unsigned", "objects", "sparse", "table"],
)
def test_integers_that_no_float_holds_are_rounded_with_a_warning(X):
    with pytest.warns(PrecisionWarning, match=r"integers beyond 2\^53 such as .*close ones become equal"):
        assert Linear().gram(X).shape == (3, 3)
    with pytest.warns(PrecisionWarning, match=r"integers beyond 2\^53"):
        KernelRidge("linear").fit(X, [0.0, 1.0, 2.0])


def test_large_integers_of_targets_columns_and_series_are_rounded_with_a_warning():
    with pytest.warns(PrecisionWarning, match="y holds integers"):
        KernelRidge("linear").fit([[1.0], [2.0]], np.array([2**62, 2**62 + 1]))
    with pytest.warns(PrecisionWarning, match="column 'id' holds integers"):
        Gower().gram(pd.DataFrame({"id": [2**62, 2**62 + 1], "b": ["u", "v"]}))
    with pytest.warns(PrecisionWarning, match="series 0 holds integers"):
        DTW().gram([np.array([2**62, 1]), np.array([1, 2, 3])])
    Linear().gram(np.array([[2**53], [-(2**53)], [1]]))  # no warning: these are exact

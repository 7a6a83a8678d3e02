"""A similarity per column: data frames, lists of dicts, missing values, columns that change."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from similitude import Similarity, as_similarity, check_kernel, datasets, use_engine
from similitude.engines import LocalEngine
from similitude.errors import UnresolvedError
from similitude.kernels import Columns, Equal, Gaussian, Jaccard, Linear, Ordinal, OrMissing, SharesAny
from similitude.kernels.tables.cells import Cells, column_names, is_missing, missing_cells
from similitude.learners import KernelSVC
from similitude.maps import LandmarkMap

rng = np.random.default_rng(0)
N = 30
ROWS = [
    {
        "age": float(rng.integers(18, 80)),
        "job": str(rng.choice(["cook", "pilot", "judge"])),
        "size": str(rng.choice(["S", "M", "L"])),
        "tags": sorted({str(one) for one in rng.choice(list("abcde"), 2)}),
        "unused": i,
    }
    for i in range(N)
]
SIZES = ["S", "M", "L"]
PANDAS = pd.DataFrame(ROWS).assign(size=lambda X: pd.Categorical(X["size"], SIZES, ordered=True))
POLARS = pl.DataFrame(ROWS).with_columns(pl.col("size").cast(pl.Enum(SIZES)))
CHOSEN = {"age": Gaussian(9.0), "job": Equal(), "size": Ordinal(SIZES), "tags": Jaccard()}


def values_of(name, part, X=ROWS):
    return part.gram([row[name] for row in X])


@pytest.mark.parametrize("X", [ROWS, PANDAS, POLARS], ids=["dicts", "pandas", "polars"])
@pytest.mark.parametrize(
    ("how", "combine"), [("mean", np.mean), ("sum", np.sum), ("product", np.prod), ("max", np.max), ("min", np.min)]
)
def test_columns_are_combined(X, how, combine):
    expected = combine([values_of(name, part) for name, part in CHOSEN.items()], axis=0)
    k = Columns(CHOSEN, how=how)
    np.testing.assert_allclose(k.gram(X), expected, rtol=1e-13)
    np.testing.assert_allclose(k.cross(X[3:8], X), expected[3:8], rtol=1e-13)
    np.testing.assert_allclose(k.diag(X), expected.diagonal(), rtol=1e-13)


def test_names_functions_and_medians():
    k = Columns({"age": "gaussian", "job": lambda s, t: float(s[0] == t[0]), "size": "ordinal"})
    ages = PANDAS["age"].to_numpy()
    fixed = k.resolve(PANDAS)
    assert k.unresolved() == ["columns__age__sigma", "columns__size__order"] and not fixed.unresolved()
    assert fixed.columns["age"] == Gaussian().resolve(ages) and fixed.columns["size"] == Ordinal(SIZES)
    np.testing.assert_allclose(k.resolve(POLARS).gram(POLARS), fixed.gram(PANDAS), rtol=1e-13)
    with pytest.raises(UnresolvedError, match="columns__age__sigma"):
        k.cross(PANDAS, PANDAS)


def test_claims_follow_the_columns():
    kernels = {"age": Gaussian(1.0), "job": Equal()}
    assert Columns(kernels).claims == {"SYMMETRIC", "PSD", "UNIT_DIAGONAL", "BOUNDED"}
    assert Columns(kernels, how="sum").claims == {"SYMMETRIC", "PSD"}
    assert "PSD" in Columns(kernels, how="product").claims and "PSD" not in Columns(kernels, how="max").claims
    assert Columns({**kernels, "tags": SharesAny()}).claims == {"SYMMETRIC", "BOUNDED"}
    assert Columns({**kernels, "tags": lambda s, t: 1.0}).claims == frozenset()
    assert Columns(kernels).proof().holds and "column" in str(Columns(kernels).proof())
    assert check_kernel(Columns(CHOSEN), PANDAS).verdict == "VALID"
    assert check_kernel(Columns(CHOSEN, how="min"), PANDAS).verdict == "UNKNOWN"
    grid = pd.DataFrame({"a": np.repeat([0.0, 1.0, 2.0], 3), "b": np.tile([0.0, 1.0, 2.0], 3)})
    assert check_kernel(Columns({"a": Gaussian(1.0), "b": Gaussian(1.0)}, how="min"), grid).verdict == "INVALID"


def test_papers_that_share_an_author_or_a_keyword():
    papers = datasets.papers().objects
    k = Columns({"authors": SharesAny(), "keywords": SharesAny()}, how="max")
    expected = [[float(bool(p.authors & q.authors or p.keywords & q.keywords)) for q in papers] for p in papers]
    np.testing.assert_array_equal(k.gram(papers), expected)
    assert check_kernel(k, papers).verdict == "INVALID"


def test_extra_columns_are_ignored_and_order_does_not_matter():
    k = Columns({"age": Gaussian(9.0), "job": Equal()})
    np.testing.assert_array_equal(k.gram(PANDAS), k.gram(PANDAS[["job", "age"]]))
    np.testing.assert_array_equal(k.cross(PANDAS, ROWS), k.gram(PANDAS))


def test_missing_values_need_a_meaning():
    X = PANDAS.copy()
    X.loc[4, "age"] = np.nan
    with pytest.raises(ValueError, match=r"column 'age' has no value in row 4.*OrMissing\(Gaussian"):
        Columns({"age": Gaussian()}).gram(X)
    with pytest.raises(ValueError, match="column 'job' has no value in row 1"):
        Columns({"job": "equal"}).gram([{"job": "cook"}, {"job": None}])
    k = Columns({"age": OrMissing(Gaussian()), "job": "equal"}).resolve(X)
    assert k.columns["age"].k == Gaussian().resolve(X["age"].dropna().to_numpy())
    K = k.gram(X)
    job = Equal().gram(X["job"])
    np.testing.assert_array_equal(K[4], job[4] / 2)
    frame = pl.DataFrame({"age": X["age"].to_list(), "job": X["job"].to_list()})
    np.testing.assert_allclose(k.gram(frame), K)
    np.testing.assert_allclose(k.gram(frame.with_columns(pl.col("age").fill_nan(None))), K)


class Guesses(Similarity):
    takes_missing = True

    def block(self, A, B):
        return np.array([[float(x is None) + float(z is None) for z in B] for x in A])


def test_a_similarity_may_take_missing_values_itself():
    np.testing.assert_array_equal(Columns({"a": Guesses()}).gram([{"a": 1}, {"a": None}]), [[0, 1], [1, 2]])
    k = Columns({"a": 2.0 * OrMissing(Linear()) + 1.0})
    np.testing.assert_array_equal(k.gram([{"a": 3.0}, {"a": None}]), [[19, 1], [1, 1]])


def test_or_missing():
    X = [1.0, None, 2.0, float("nan"), pd.NA]
    known = Gaussian(1.0).gram([1.0, 2.0])
    for alike in (0.0, 1.0):
        K = OrMissing(Gaussian(1.0), alike).gram(X)
        np.testing.assert_array_equal(K[np.ix_([0, 2], [0, 2])], known)
        assert (K[np.ix_([1, 3, 4], [1, 3, 4])] == alike).all() and (K[np.ix_([0, 2], [1, 3, 4])] == 0).all()
    assert OrMissing(Equal()).claims == {"SYMMETRIC", "PSD", "BOUNDED"}
    assert "UNIT_DIAGONAL" in OrMissing(Equal(), 1.0).claims
    assert "PSD" not in OrMissing(Equal(), -1.0).claims and not OrMissing(Equal(), -1.0).proof().holds
    np.testing.assert_array_equal(OrMissing(Equal()).gram([None, None]), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="every value is missing: nothing to fix sigma from"):
        OrMissing(Gaussian()).gram([None, None])
    with pytest.raises(TypeError, match="must be a similarity"):
        OrMissing("gaussian").gram([1.0])
    with pytest.raises(ValueError, match="alike must be a finite number"):
        OrMissing(Equal(), np.inf).gram([1.0])


def test_equal():
    np.testing.assert_array_equal(Equal().cross(["a", 1, 2.5], ["a", 1.0, "new"]), [[1, 0, 0], [0, 1, 0], [0, 0, 0]])
    for form in (pd.Series, pl.Series, list, np.array):
        np.testing.assert_array_equal(Equal().gram(form(["x", "y", "x"])), Equal().gram(["x", "y", "x"]))
        np.testing.assert_array_equal(Equal().cross(form([1, 2, 1]), [1.0, 2.0]), [[1, 0], [0, 1], [1, 0]])
    category = pd.Series(["x", "y", "x"], dtype="category")
    np.testing.assert_array_equal(Equal().cross(category, ["y", "x"]), [[0, 1], [1, 0], [0, 1]])
    with pytest.raises(ValueError, match="object 1 is missing"):
        Equal().gram(["a", None])


def test_ordinal():
    with pytest.raises(ValueError, match="give Ordinal"):
        Ordinal().gram(["S", "M"])
    with pytest.raises(ValueError, match=r"object 1 is 'XL', which is not in the order \['S', 'M', 'L'\]"):
        Ordinal(SIZES).gram(["S", "XL"])
    with pytest.raises(ValueError, match="twice"):
        Ordinal(["S", "S"]).gram(["S"])
    with pytest.raises(ValueError, match="list of categories"):
        Ordinal("SML").gram(["S"])
    with pytest.raises(ValueError, match="object 0 is missing"):
        Ordinal(SIZES).gram([None])
    assert Ordinal(["only"])("only", "only") == 1.0


def test_a_column_that_vanished_or_changed():
    k = Columns({"age": Gaussian(), "job": "equal"}).resolve(PANDAS)
    with pytest.raises(ValueError, match=r"no column 'job': the table has \['age'\]"):
        k.gram(PANDAS[["age"]])
    with pytest.raises(ValueError, match="row 1 has no column 'job'"):
        k.gram([ROWS[0], {"age": 3.0}])
    with pytest.raises(TypeError, match=r"column 'job' holds number, for instance .*: it held text when it was"):
        k.gram(PANDAS.assign(job=np.arange(N)))
    with pytest.raises(TypeError, match=r"column 'age' holds text, for instance 'x': it held number"):
        k.gram(PANDAS.assign(age="x"))
    with pytest.raises(TypeError, match="column 'job' holds mixed"):
        k.gram(PANDAS.assign(job=["a", 1] * (N // 2)))
    with pytest.raises(TypeError, match=r"column 'age'.*vector kernels need"):
        Columns({"age": Gaussian(1.0)}).gram(PANDAS.assign(age="x"))
    with pytest.raises(TypeError, match="row 0 is"):
        k.gram(np.ones((3, 2)))
    with pytest.raises(ValueError, match="occurs twice"):
        k.gram(pd.concat([PANDAS, PANDAS], axis=1))
    with pytest.raises(ValueError, match="column 'size': object 2 is 'XL'"):
        Columns({"size": Ordinal(SIZES)}).gram([{"size": size} for size in ("S", "M", "XL")])


def test_the_model_notices_a_changed_column():
    y = (PANDAS["age"] > 50).to_numpy()
    model = KernelSVC(Columns({"age": "gaussian", "job": "equal"}), C=100.0).fit(PANDAS, y)
    assert model.score(PANDAS, y) > 0.9
    with pytest.raises(TypeError, match="it held text when it was resolved"):
        model.predict(PANDAS.assign(job=1.0))
    assert (model.predict(PANDAS.assign(job="never seen")) == y).mean() > 0.8


@pytest.mark.parametrize(
    ("k", "error", "says"),
    [
        (Columns({}), TypeError, "columns must be a dict"),
        (Columns(["age"]), TypeError, "columns must be a dict"),
        (Columns({"age": Gaussian()}, how="median"), ValueError, "how must be one of 'mean', 'sum', 'product'"),
        (Columns({"age": "gaussia"}), ValueError, "column 'age'.*did you mean 'gaussian'"),
        (Columns({"age": 3}), TypeError, "column 'age'.*a similarity is"),
        (Columns({"age": Gaussian(-1.0)}), ValueError, "column 'age'.*sigma must be a positive number"),
    ],
)
def test_bad_parameters(k, error, says):
    with pytest.raises(error, match=says):
        k.gram(PANDAS)


def test_parameters_of_columns():
    k = Columns({"age": "gaussian", "job": Equal(), "a__b": Gaussian(2.0)})
    assert k.get_params()["columns__age__sigma"] == "median" and k.get_params()["columns__a__b__sigma"] == 2.0
    changed = clone(k).set_params(columns__age__sigma=3.0, columns__a__b__sigma=4.0, how="sum")
    assert changed.columns == {"age": Gaussian(3.0), "job": Equal(), "a__b": Gaussian(4.0)} and changed.how == "sum"
    assert k.columns["age"] == "gaussian" and k.columns["a__b"] == Gaussian(2.0)
    assert k.set_params(columns__job="jaccard").columns["job"] == "jaccard"
    with pytest.raises(ValueError, match="no column 'size'"):
        k.set_params(columns__size__order=[])
    assert repr(Columns({"age": Gaussian(1.0)})) == "Columns({'age': Gaussian(sigma=1.0)}, how='mean')"


def test_grid_search_map_pickle_threads():
    y = (PANDAS["age"] > 50).astype(int).to_numpy()
    pipe = make_pipeline(
        LandmarkMap(Columns({"age": "gaussian", "job": "equal"}), n_components=12, random_state=0), RidgeClassifier()
    )
    search = GridSearchCV(pipe, {"landmarkmap__similarity__columns__age__sigma": [0.1, 5.0]}, cv=2).fit(PANDAS, y)
    assert search.best_score_ > 0.7
    k = Columns({"age": lambda s, t: s * t, "job": Equal()}).resolve(PANDAS)
    again = pickle.loads(pickle.dumps(k))
    np.testing.assert_array_equal(again.gram(PANDAS), k.gram(PANDAS))
    big = pd.concat([PANDAS] * 50, ignore_index=True)
    k = Columns(CHOSEN)
    with use_engine(LocalEngine(threads=1)):
        one = k.gram(big)
    with use_engine(LocalEngine(threads=2)):
        np.testing.assert_array_equal(k.gram(big), one)


def test_cells():
    assert [is_missing(one) for one in (pd.NaT, pd.NA, np.datetime64("NaT", "ns"), float("inf"), [], "")] == [
        True
    ] * 3 + [False] * 3
    frame = pd.DataFrame({"i": pd.array([1, None], "Int64"), "b": pd.array([True, None], "boolean"), "s": ["x", None]})
    for name in frame:
        np.testing.assert_array_equal(missing_cells(frame[name]), [False, True])
    kinds = [Cells(frame[name]).kind for name in frame]
    assert kinds == ["number", "number", "text"]
    found = [Cells(pd.Series([one])).kind for one in (b"a", {1}, pd.Timestamp("2020"), np.ones(3))]
    assert found == ["bytes", "items", "time", "items"]
    assert column_names(ROWS) == column_names(PANDAS) == column_names(POLARS)
    with pytest.raises(TypeError, match="row 0 is 3"):
        column_names([3])
    assert as_similarity("ordinal") == Ordinal() and as_similarity("equal") == Equal()


def test_weights_of_columns_are_factors_of_a_sum():
    X = [{"age": 20.0, "job": "cook"}, {"age": 30.0, "job": "cook"}, {"age": 30.0, "job": "pilot"}]
    parts = {"age": Gaussian(10.0), "job": "equal"}
    age, job = (Columns({name: part}).gram(X) for name, part in parts.items())
    np.testing.assert_allclose(Columns(parts, weights={"age": 3.0}).gram(X), (3 * age + job) / 4)
    np.testing.assert_allclose(Columns(parts, how="sum", weights={"age": 3.0}).gram(X), 3 * age + job)
    np.testing.assert_allclose(Columns(parts, weights={"age": 3.0}).diag(X), 1.0)
    assert check_kernel(Columns(parts, weights={"age": 3.0})).verdict == "VALID"
    with pytest.raises(ValueError, match="not of how='product'"):
        Columns(parts, how="product", weights={"age": 3.0}).gram(X)
    with pytest.raises(ValueError, match="the weight of column 'age' must be"):
        Columns(parts, weights={"age": -3.0}).gram(X)

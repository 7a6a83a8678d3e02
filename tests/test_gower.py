"""Gower's coefficient: numbers, categories, ranks, missing values, and the errors of others."""

import math
import pickle
from datetime import date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from similitude import as_similarity, check_kernel, datasets, use_engine
from similitude.engines import LocalEngine
from similitude.errors import UnresolvedError
from similitude.kernels import Gower
from similitude.learners import KernelSVC
from similitude.maps import LandmarkMap

SIZES = ["S", "M", "L"]
ROWS = [
    {"age": 20, "wage": 1.5, "job": "cook", "owner": True, "size": "S"},
    {"age": 60, "wage": None, "job": "pilot", "owner": False, "size": "L"},
    {"age": 30, "wage": 3.5, "job": None, "owner": True, "size": "M"},
    {"age": None, "wage": 2.5, "job": "cook", "owner": None, "size": "S"},
]
PANDAS = pd.DataFrame(ROWS).assign(size=lambda X: pd.Categorical(X["size"], SIZES, ordered=True))
POLARS = pl.DataFrame(ROWS).with_columns(pl.col("size").cast(pl.Enum(SIZES)))
RANGES = {"age": (20.0, 60.0), "wage": (1.5, 3.5), "job": "equal text", "owner": "equal number", "size": SIZES}


def by_definition(x, z, ranges):
    """Return Gower's coefficient of two rows, in plain Python."""
    terms = []
    for name, span in ranges.items():
        if any(row[name] is None or row[name] != row[name] for row in (x, z)):
            continue
        if isinstance(span, str) or span[0] == span[-1]:
            terms.append(float(x[name] == z[name]))
        elif isinstance(span, list):
            terms.append(1 - abs(span.index(x[name]) - span.index(z[name])) / (len(span) - 1))
        else:
            terms.append(1 - abs(x[name] - z[name]) / (span[1] - span[0]))
    return sum(terms) / len(terms) if terms else 0.0


@pytest.mark.parametrize("X", [PANDAS, POLARS], ids=["pandas", "polars"])
def test_by_hand(X):
    k = Gower().resolve(X)
    assert k.ranges == RANGES
    K = k.gram(X)
    np.testing.assert_allclose(K, [[by_definition(x, z, RANGES) for z in ROWS] for x in ROWS], rtol=1e-15)
    assert K[0, 2] == pytest.approx((0.75 + 0 + 1 + 0.5) / 4) and K[1, 3] == 0
    np.testing.assert_array_equal(k.cross(ROWS, X), K)
    np.testing.assert_array_equal(Gower().gram(X), K)


cells = {
    "n": st.one_of(st.none(), st.floats(-2, 2)),
    "i": st.one_of(st.none(), st.integers(-3, 3)),
    "t": st.one_of(st.none(), st.sampled_from(["a", "b", ""])),
    "b": st.one_of(st.none(), st.booleans()),
    "o": st.one_of(st.none(), st.sampled_from(SIZES)),
}


@given(rows=st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=8), new=st.fixed_dictionaries(cells))
def test_against_the_definition(rows, new):
    ranges = {"n": (-1.0, 0.5), "i": (-3.0, 3.0), "t": "equal text", "b": "equal number", "o": SIZES}
    k = Gower(ranges)
    expected = [[by_definition(x, z, ranges) for z in rows] for x in [*rows, new]]
    np.testing.assert_allclose(k.cross([*rows, new], rows), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(k.diag(rows), k.gram(rows).diagonal(), rtol=1e-15)


def test_missing_values_drop_their_column():
    k = Gower({"a": (0.0, 1.0), "b": "equal"})
    nan = float("nan")
    assert k({"a": 0.25, "b": "x"}, {"a": nan, "b": "x"}) == 1.0
    assert k({"a": 0.25, "b": None}, {"a": None, "b": "x"}) == 0.0  # nothing in common
    np.testing.assert_array_equal(k.gram([{"a": None, "b": None}] * 2), np.zeros((2, 2)))
    np.testing.assert_array_equal(k.diag([{"a": None, "b": None}, {"a": 1, "b": None}]), [0, 1])


def test_unseen_categories_and_numbers_outside():
    k = Gower().resolve(PANDAS)
    new = {"age": 100, "wage": None, "job": "judge", "owner": None, "size": None}
    assert k(new, new) == 1.0
    assert k(new, ROWS[0]) == pytest.approx((1 - 80 / 40 + 0) / 2)  # negative: nothing is clipped
    with pytest.raises(ValueError, match=r"row 1 of column 'size' is 'XL', which is not in the order"):
        k.gram([ROWS[0], {**ROWS[0], "size": "XL"}])
    with pytest.raises(ValueError, match="too far outside"):
        Gower({"a": (0.0, 1e-300)}).gram([{"a": 1e300}])


def test_a_column_of_one_value():
    X = pd.DataFrame({"a": [3.0, 3.0], "b": [0.0, 1.0]})
    k = Gower().resolve(X)
    np.testing.assert_array_equal(k.gram(X), [[1, 0.5], [0.5, 1]])
    assert k({"a": 3, "b": 0.0}, {"a": 4, "b": 0.0}) == 0.5
    one = Gower({"size": ["S"], "b": "equal"})
    assert one({"size": "S", "b": 1}, {"size": "S", "b": 2}) == 0.5


def test_strict_is_a_kernel():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.random(80), "b": rng.choice(list("xyz"), 80), "c": rng.integers(0, 5, 80)})
    k = Gower(strict=True)
    assert k.claims == {"SYMMETRIC", "PSD", "UNIT_DIAGONAL", "BOUNDED"} and k.proof().holds
    assert check_kernel(k, X).verdict == "VALID"
    assert np.linalg.eigvalsh(k.gram(X))[0] > -1e-12
    flowers, species = datasets.iris()
    assert np.linalg.eigvalsh(k.gram(pd.DataFrame(flowers).assign(species=species)))[0] > -1e-12
    fixed = k.resolve(X)
    with pytest.raises(ValueError, match=r"column 'a' is 7.0 in row 0, outside its range"):
        fixed.gram(X.assign(a=7.0))
    with pytest.raises(ValueError, match="column 'b' has no value in row 3, and strict=True"):
        fixed.gram(X.assign(b=X["b"].where(X.index != 3)))


def test_missing_values_make_it_no_kernel():
    X = [{"a": "x", "b": "y", "c": None}, {"a": "y", "b": None, "c": "x"}, {"a": "y", "b": "y", "c": "x"}]
    assert np.linalg.eigvalsh(Gower().gram(X))[0] == pytest.approx(1 - math.sqrt(5) / 2)
    assert Gower().claims == {"SYMMETRIC"} and not Gower().proof().holds
    assert check_kernel(Gower(), X).verdict == "INVALID"


def test_numbers_far_outside_make_it_no_kernel():
    k = Gower({"a": (0.0, 1.0)})
    assert k({"a": 0.0}, {"a": 3.0}) == -2.0  # below -1, with ones on the diagonal
    within = k.gram([{"a": a} for a in np.linspace(-0.5, 1.5, 30)])  # an interval of twice the range
    assert np.linalg.eigvalsh(within)[0] > -1e-12


def test_columns_that_vanish_change_or_come_on_top():
    k = Gower().resolve(PANDAS)
    np.testing.assert_array_equal(k.gram(PANDAS.assign(extra="x")), k.gram(PANDAS))
    with pytest.raises(ValueError, match="no column 'job'"):
        k.gram(PANDAS.drop(columns="job"))
    with pytest.raises(ValueError, match="row 1 has no column 'wage'"):
        k.gram([ROWS[0], {"age": 1}])
    with pytest.raises(TypeError, match="column 'age' holds text, for instance 'x'"):
        k.gram(PANDAS.assign(age="x"))
    with pytest.raises(TypeError, match="column 'job' holds number, for instance 1: it held text before"):
        k.gram(PANDAS.assign(job=1))
    k.gram(PANDAS.assign(job=None, wage=np.nan))  # nothing known is not another kind
    k.gram(PANDAS.assign(job=PANDAS["job"].astype("category"), age=[20, 30, 40, 50]))


def test_times_are_numbers_of_seconds_however_they_are_stored():
    days = [date(2001, 1, 1), None, date(2001, 1, 11), date(2001, 1, 5)]
    frame = pd.DataFrame({"day": pd.to_datetime(days), "kind": list("aabb")})
    k = Gower().resolve(frame)
    assert k.ranges["day"] == "time 2001-01-01T00:00:00 2001-01-11T00:00:00"
    expected = Gower().gram(pd.DataFrame({"day": [0.0, np.nan, 10.0, 4.0], "kind": list("aabb")}))
    aware = [day and datetime(day.year, day.month, day.day, 2, tzinfo=timezone(timedelta(hours=2))) for day in days]
    tables = [
        frame,
        frame.assign(day=frame["day"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")),
        frame.assign(day=frame["day"].astype("datetime64[s]")),
        pl.DataFrame({"day": days, "kind": list("aabb")}),
        pl.DataFrame({"day": days, "kind": list("aabb")}).with_columns(pl.col("day").cast(pl.Datetime("ns"))),
        [{"day": day, "kind": kind} for day, kind in zip(aware, "aabb", strict=True)],
        [{"day": day and np.datetime64(day), "kind": kind} for day, kind in zip(days, "aabb", strict=True)],
    ]
    for table in tables:
        np.testing.assert_allclose(k.gram(table), expected, rtol=1e-12)
        np.testing.assert_allclose(Gower().gram(table), expected, rtol=1e-12)
    with pytest.raises(TypeError, match=r"column 'day' holds number, for instance 1.*its range is that of times"):
        k.gram(frame.assign(day=1.5))
    late = frame.assign(day=pd.Timestamp("2002-02-02"))
    with pytest.raises(ValueError, match="column 'day' is 2002-02-02T00:00:00 in row 0, outside its range from 2001"):
        Gower(k.ranges, strict=True).gram(late)
    same = Gower().resolve(late)
    assert np.array_equal(same.gram(late)[0], [1.0, 1.0, 0.5, 0.5]) and same.gram(frame)[0, 0] == 1.0


@pytest.mark.parametrize(
    ("X", "error", "says"),
    [
        (pd.DataFrame({"a": [None, None]}), ValueError, "column 'a' holds no value at all"),
        (pd.DataFrame({"a": [1.0, np.inf]}), ValueError, "column 'a' is inf in row 1"),
        (pd.DataFrame({"a": pd.to_timedelta([1, 2], unit="D")}), TypeError, "column 'a' holds duration.*Columns"),
        (pd.DataFrame({"a": [{1}, {2}]}), TypeError, "column 'a' holds items"),
        (np.ones((3, 2)), TypeError, "row 0 is.*1"),
        ([], ValueError, "no objects"),
    ],
)
def test_bad_tables(X, error, says):
    with pytest.raises(error, match=says):
        Gower().gram(X)


@pytest.mark.parametrize(
    ("ranges", "error", "says"),
    [
        ({}, TypeError, "ranges must be a dict"),
        ({"a": (2.0, 1.0)}, ValueError, "column 'a' must be two finite numbers, low <= high"),
        ({"a": (0.0, np.inf)}, ValueError, "column 'a' must be two finite numbers"),
        ({"a": "other"}, ValueError, "column 'a' must be"),
        ({"a": "time 2001 soon"}, ValueError, "column 'a' must be two times, as in"),
        ({"a": "time 2002 2001"}, ValueError, "column 'a' must be two times, as in"),
        ({"a": "time 2002"}, ValueError, "column 'a' must be two times, as in"),
        ({"a": 3.0}, ValueError, "column 'a' must be"),
        ({"a": ["S", "S"]}, ValueError, "column 'a' names a category twice"),
    ],
)
def test_bad_ranges(ranges, error, says):
    with pytest.raises(error, match=says):
        Gower(ranges).gram([{"a": 1.0}])


def test_two_ordered_categories_that_are_numbers():
    """A list is an order, a tuple is a range: categories 2 < 1 are not a range that falls."""
    X = pd.DataFrame({"a": pd.Categorical([2, 1, 2], categories=[2, 1], ordered=True), "b": [0.0, 1.0, 0.5]})
    k = Gower().resolve(X)
    assert k.ranges["a"] == [2, 1]
    np.testing.assert_array_equal(k.cross(X, X), [[1, 0, 0.75], [0, 1, 0.25], [0.75, 0.25, 1]])
    with pytest.raises(ValueError, match="row 0 of column 'a' is 3, which is not in the order"):
        k.cross([{"a": 3, "b": 0.0}], X)


def test_a_range_that_overflows_is_refused():
    with pytest.raises(ValueError, match="column 'a' must be two finite numbers"):
        Gower().gram([{"a": 1e308}, {"a": -1e308}])


@pytest.mark.parametrize(
    "table", [lambda a: pd.DataFrame({"a": pd.Series(a, dtype="Int64")}), lambda a: pl.DataFrame({"a": a})]
)
def test_missing_values_do_not_round_whole_numbers(table):
    X = table([2**60, 2**60 + 1, None, 2**60])
    expected = [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 1]]
    np.testing.assert_array_equal(Gower({"a": "equal"}).gram(X), expected)


def test_unresolved():
    with pytest.raises(UnresolvedError, match="ranges"):
        Gower()(ROWS[0], ROWS[1])
    assert clone(Gower()).ranges is None and as_similarity("gower") == Gower()


def test_rows_of_weight_zero_do_not_count():
    assert Gower().resolve(PANDAS, sample_weight=[1, 0, 1, 0]).ranges["age"] == (20.0, 30.0)


def test_types_of_columns():
    X = pd.DataFrame(
        {
            "Int64": pd.array([1, None, 3], "Int64"),
            "boolean": pd.array([True, None, False], "boolean"),
            "category": pd.Categorical(["a", None, "b"]),
            "codes": pd.Categorical([1, 2, 1]),
            "mixed": ["a", 1, None],
        }
    )
    k = Gower().resolve(X)
    kinds = ["equal number", "equal text", "equal number", "equal mixed"]
    assert list(k.ranges.values()) == [(1.0, 3.0), *kinds]
    assert k.gram(X)[0, 2] == pytest.approx((0 + 0 + 0 + 1) / 4)
    texts = pl.DataFrame({"a": pl.Series(["x", "y", None], dtype=pl.Categorical), "b": ["x", None, "y"]})
    assert Gower().resolve(texts).ranges == {"a": "equal text", "b": "equal text"}
    numbers = pl.DataFrame({"a": [1, None, 3], "b": [True, False, None]})
    assert Gower().resolve(numbers).ranges == {"a": (1.0, 3.0), "b": "equal number"}
    np.testing.assert_array_equal(Gower().gram(numbers), [[1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_threads_pickle_learners_and_maps():
    rng = np.random.default_rng(0)
    n = 1500
    X = pd.DataFrame({"a": rng.random(n), "b": rng.choice(list("xyz"), n), "c": rng.random(n)})
    X.loc[rng.random(n) < 0.1, "c"] = np.nan
    y = X["a"] + 0.4 * (X["b"] == "x") > 0.6
    k = pickle.loads(pickle.dumps(Gower().resolve(X)))
    with use_engine(LocalEngine(threads=1)):
        one = k.gram(X)
    with use_engine(LocalEngine(threads=2)):
        np.testing.assert_array_equal(k.gram(X), one)
    pipe = make_pipeline(LandmarkMap("gower", n_components=200, random_state=0), RidgeClassifier(0.1))
    assert pipe.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.9
    complete = X[["a", "b"]]
    assert KernelSVC(Gower(strict=True)).fit(complete[:300], y[:300]).score(complete[:300], y[:300]) > 0.9


def test_where_the_package_gower_fails():
    package = pytest.importorskip("gower")
    X = pd.DataFrame({"a": [0.0, 1.0, np.nan, 0.5], "b": [1.0, 0.0, 1.0, 0.5], "s": ["x", "y", "x", "y"]})
    with pytest.raises(TypeError, match="Cannot interpret"):  # columns of strings
        package.gower_matrix(X)
    spread = 1 - package.gower_matrix(X[["a", "b"]].to_numpy())  # one NaN: a whole row and column
    assert np.isnan(spread[2]).all() and np.isnan(spread[:, 2]).all()
    ours = Gower().gram(X[["a", "b"]])
    assert np.isfinite(ours).all() and ours[2, 0] == 1.0
    complete = X.dropna().reset_index(drop=True)
    theirs = 1 - package.gower_matrix(complete.to_numpy(), cat_features=[False, False, True])
    np.testing.assert_allclose(Gower().gram(complete), theirs, atol=1e-6)


def test_weights_count_as_repetition():
    """A column of weight 2 counts as two equal columns, and one of weight 0 as none."""
    twice = [{**row, "job again": row["job"]} for row in ROWS]
    del_age = [{name: value for name, value in row.items() if name != "age"} for row in ROWS]
    ranges = {**RANGES, "size": SIZES}
    np.testing.assert_allclose(
        Gower(ranges, weights={"job": 2.0}).gram(ROWS), Gower({**ranges, "job again": "equal text"}).gram(twice)
    )
    without = {name: given for name, given in ranges.items() if name != "age"}
    np.testing.assert_allclose(Gower(ranges, weights={"age": 0}).gram(del_age), Gower(without).gram(ROWS))
    np.testing.assert_allclose(Gower(ranges, weights={"age": 1.0}).gram(ROWS), Gower(ranges).gram(ROWS))
    assert check_kernel(Gower({"job": "equal", "size": SIZES}, strict=True, weights={"job": 3})).verdict == "VALID"
    assert (
        repr(Gower({"job": "equal"}, weights={"job": 3}))
        == "Gower(ranges={'job': 'equal'}, strict=False, weights={'job': 3})"
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"job": -1.0}, "the weight of column 'job' must be"),
        ({"job": math.nan}, "the weight of column 'job' must be"),
        ({"jobs": 1.0}, "weights name a column 'jobs' that does not exist"),
        (dict.fromkeys(RANGES, 0.0), "every column has weight 0"),
    ],
)
def test_weights_that_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        Gower(weights=weights).gram(PANDAS)

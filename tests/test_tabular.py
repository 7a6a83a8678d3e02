"""Kernels of vectors on the rows of tables: standardized numbers, ranks, missing values, categories, times."""

import datetime
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest

from similitude import check_kernel, load, save
from similitude.kernels import Gaussian, Linear, Matern, Spectrum, Tabular
from similitude.support import outlying_rows

FRAME = pd.DataFrame(
    {
        "age": [20.0, 30.0, np.nan, 40.0, 25.0, 31.0],
        "job": ["cook", "pilot", "cook", None, "pilot", "judge"],
        "since": pd.to_datetime(["2001-01-01", "2002-01-01", "2003-01-01", "2004-01-01", "2005-01-01", "2006-01-01"]),
        "owner": [True, False, True, False, True, True],
    }
)


def test_numbers_are_standardized_and_missing_ones_are_the_median_with_a_mark():
    k = Tabular(Linear()).resolve(FRAME[["age"]])
    F, known = k.features(FRAME), FRAME["age"].dropna().to_numpy()
    expected = (FRAME["age"].fillna(30.0) - known.mean()) / known.std()
    np.testing.assert_allclose(F, np.column_stack([expected, FRAME["age"].isna()]))
    new = k.features(pd.DataFrame({"age": [20.0, None]}))
    np.testing.assert_allclose(new, F[[0, 2]])


def test_categories_are_indicators_of_levels_that_occur_twice():
    k = Tabular(Linear()).resolve(FRAME[["job"]])
    np.testing.assert_array_equal(k.features(FRAME), [[1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 0]])
    np.testing.assert_array_equal(k.features(pd.DataFrame({"job": ["never seen"]})), [[0, 0, 0]])


def test_ranks_follow_the_normal_distribution_whatever_the_scale():
    x = np.exp(np.random.default_rng(0).standard_normal(500) * 3)
    k = Tabular(Linear(), ranks=True)
    F = k.resolve(x[:, None]).features(x[:, None])
    assert F.shape == (500, 2) and abs(F[:, 1].std() - 1) < 0.05 and abs(F[:, 1].mean()) < 0.01
    np.testing.assert_array_equal(np.argsort(F[:, 1], kind="stable"), np.argsort(x, kind="stable"))
    other = k.resolve(x[:, None] ** 3).features(x[:, None] ** 3)
    assert np.quantile(abs(other[:, 1] - F[:, 1]), 0.98) < 0.02  # quantiles are interpolated
    assert k.resolve(np.arange(5.0)[:, None]).features(np.arange(5.0)[:, None]).shape == (5, 1)  # few values


@pytest.mark.parametrize("convert", [lambda X: X, pl.from_pandas, lambda X: X.to_dict("records")])
def test_every_form_of_a_table_gives_the_same_kernel(convert):
    expected = Tabular(Gaussian(2.0)).resolve(FRAME).gram(FRAME)
    X = convert(FRAME)
    if isinstance(X, list):
        X = [{**row, "since": row["since"].to_pydatetime()} for row in X]
    np.testing.assert_allclose(Tabular(Gaussian(2.0)).resolve(X).gram(X), expected)


def test_the_width_is_that_of_the_features_and_the_kernel_is_proven():
    k = Tabular(Matern()).resolve(FRAME)
    assert not k.unresolved() and repr(k).endswith("columns=<4 columns>)")
    assert k.k == Matern().resolve(k.features(FRAME))
    assert check_kernel(k).verdict == "VALID"
    assert not Tabular(Gaussian() - 1.0).proven


def test_arrays_have_columns_by_position():
    X = np.random.default_rng(0).standard_normal((20, 3)) * [1, 10, 100]
    k = Tabular(Gaussian(1.0)).resolve(X)
    np.testing.assert_allclose(k.gram(X), Gaussian(1.0).gram((X - X.mean(0)) / X.std(0)))
    assert k.objects == "vectors" and Tabular(Gaussian()).objects == "table"
    with pytest.raises(ValueError, match="the vectors have 2 columns, and it was resolved on 3"):
        k.gram(X[:, :2])


def test_it_can_be_stored(tmp_path):
    k = Tabular(Gaussian(1.0, metric=np.ones(7)), ranks=True).resolve(FRAME)
    save(k, tmp_path / "k.sim")
    for other in (load(tmp_path / "k.sim"), pickle.loads(pickle.dumps(k))):
        assert other == k
        np.testing.assert_array_equal(other.gram(FRAME), k.gram(FRAME))


def test_odd_columns():
    n = 30
    X = pd.DataFrame(
        {"one level a row": [f"row {i}" for i in range(n)], "constant": 1.0, "empty": [None] * n, "x": range(n)}
    )
    k = Tabular(Gaussian()).resolve(X)
    assert k.features(X).shape == (n, 2)
    with pytest.raises(ValueError, match="there is nothing to compare rows by"):
        Tabular(Gaussian()).resolve(X[["one level a row"]])
    many = pd.DataFrame({"level": [f"level {i // 2}" for i in range(200)]})
    assert Tabular(Gaussian()).resolve(many).features(many).shape == (200, 40)


@pytest.mark.parametrize(
    ("X", "new", "error", "message"),
    [
        (FRAME[["age"]], pd.DataFrame({"age": ["old"]}), TypeError, "column 'age' holds text"),
        (FRAME[["age"]], pd.DataFrame({"wage": [1.0]}), ValueError, "there is no column 'age'"),
        (pd.DataFrame({"x": [1.0, np.inf]}), None, ValueError, "column 'x' is inf in row 1"),
        (pd.DataFrame({"x": [{1}, {2}]}), None, TypeError, "column 'x' holds items"),
        (pd.DataFrame({"x": [datetime.timedelta(1)] * 2}), None, TypeError, "column 'x' holds duration"),
    ],
)
def test_what_is_refused(X, new, error, message):
    k = Tabular(Gaussian(1.0))
    with pytest.raises(error, match=message):
        k.resolve(X).gram(new)


def test_it_takes_a_kernel_of_vectors():
    with pytest.raises(TypeError, match="Tabular takes a kernel of vectors"):
        Tabular(Spectrum()).gram(FRAME)


def test_a_few_outliers_are_moved_to_a_limit():
    """Cells far beyond all others do not change how the others are standardized, and are farther out than these."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 1))
    spoiled = x.copy()
    spoiled[:3] = 1e9
    plain, limited = (Tabular(Gaussian(1.0)).resolve(one).features(one)[:, 0] for one in (x, spoiled))
    assert 3 < limited[:3].max() < 30 and limited[:3].max() > limited[3:].max()
    assert 0.3 < limited[3:].std() / plain[3:].std() < 1.1
    assert len(outlying_rows(spoiled)) and not len(outlying_rows(x))
    assert not len(outlying_rows((np.arange(200)[:, None] == 7).astype(float)))  # a rare mark is no outlier

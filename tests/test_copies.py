"""Equal rows: copies stay together, and coincidences of independent draws are split at random."""

import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.stats import binom

from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.engines import LocalEngine
from similitude.evaluation import copies, equal_rows
from similitude.kernels import Equal, Gaussian

ONE = LocalEngine(threads=1)
rng = np.random.default_rng(0)

MEASURED = rng.normal(size=(200, 3))
WORDS = ["".join(rng.choice(list("ACGT"), 8)) for _ in range(300)]


def n_copies(X):
    found = copies(X, equal_rows(X))
    return len(found) - len(np.unique(found))


@pytest.mark.parametrize(
    ("X", "n"),
    [
        (MEASURED, 0),
        (np.r_[MEASURED, MEASURED[:1]], 1),
        (np.r_[MEASURED, MEASURED], 200),
        (np.repeat(MEASURED, 3, axis=0), 400),
        (np.r_[MEASURED, MEASURED[:120]], 120),
        (np.r_[MEASURED, MEASURED[np.arange(150) % 20]], 150),  # a rare class, drawn again
        (rng.integers(5, size=(200, 3)), 0),
        (MEASURED[:30][rng.integers(30, size=400)], 0),  # draws from thirty possible rows
        (np.c_[rng.integers(2, size=300), np.where(rng.random(300) < 0.9, 0.0, rng.random(300))], 0),  # mostly 0
        (rng.integers(30, size=(400, 1)), 0),
        (np.where(np.arange(400)[:, None] % 2, np.nan, rng.integers(3, size=(400, 2))), 0),
        (WORDS, 0),
        (WORDS + WORDS[:10], 10),
        (list(rng.choice(["a", "b", "c"], 100)), 0),
        ([{"a": i % 100, "b": 0.1 * i**0.5} for i in range(300)], 0),
        ([{"a": i % 100 % 7, "b": 0.1 * (i % 100) ** 0.5} for i in range(110)], 10),
    ],
)
def test_number_of_copies(X, n):
    assert n_copies(X) == n


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_copies_in_tables(frame):
    known = {"age": rng.integers(18, 80, 300), "sex": rng.choice(["m", "f"], 300), "income": rng.lognormal(size=300)}
    known = {name: np.r_[values, values[:20]] for name, values in known.items()}
    assert n_copies(frame(known)) == 20
    del known["income"]
    assert n_copies(frame(known)) == 0
    assert n_copies(pd.DataFrame({"tags": [["a"], ["b", "c"]] * 30, "size": np.arange(60) * 0.1})) == 0


def test_objects_without_fingerprints_count_as_different():
    assert equal_rows([threading.Lock(), threading.Lock()]).tolist() == [0, 1]


def test_zeros_of_both_signs_are_equal():
    assert equal_rows(np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])).tolist() == [0, 0, 1]


def test_error_of_draws_from_few_objects_with_fixed_labels_is_zero():
    labels, drawn = rng.integers(2, size=30), rng.integers(30, size=400)
    for X in (list(map(str, drawn)), drawn[:, None].astype(float)):
        error = SimilarityClassifier(Equal(), random_state=0, engine=ONE).fit(X, labels[drawn]).held_out_error_
        assert error.value == 0.0 and error.high < 0.02


@pytest.mark.parametrize(("n", "different"), [(6, None), (8, None), (10, None), (20, 2), (40, 5), (40, 9), (40, None)])
def test_errors_of_coin_labels_are_covered(n, different):
    problems, missed = 60, 0
    for seed in range(problems):
        draws = np.random.default_rng(seed)
        X = draws.normal(size=(n, 2)) if different is None else draws.integers(different, size=(n, 1)) * 1.0
        y = np.r_[0, 1, draws.integers(2, size=n - 2)]
        error = SimilarityClassifier(Gaussian("median"), random_state=seed, engine=ONE).fit(X, y).held_out_error_
        missed += not error.low <= 0.5 <= error.high
    assert binom.sf(missed - 1, problems, 0.05) > 1e-3


def test_copies_do_not_improve_the_error():
    X = rng.normal(size=(150, 4))
    y = X[:, 0] + rng.normal(size=150)
    model = SimilarityRegressor(Gaussian(), random_state=0, engine=ONE)
    once, twice = model.fit(X, y).held_out_error_, model.fit(np.r_[X, X], np.r_[y, y]).held_out_error_
    assert 0.7 * once.value < twice.value < 1.5 * once.value
    assert "150 rows repeat others and stay with these" in str(model.plan_)


def test_fewer_than_ten_rows_say_nothing_about_new_ones():
    model = SimilarityClassifier(engine=ONE).fit(MEASURED[:8], [0, 1] * 4)
    assert (model.held_out_error_.low, model.held_out_error_.high) == (0.0, 1.0)
    assert "too few to bound the error" in str(model.plan_.evaluation)

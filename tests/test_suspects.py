"""Labels that look wrong: rarely where labels are noise, and mostly rightly where they were flipped."""

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import make_blobs, make_moons

from similitude import SimilarityClassifier, assess
from similitude.engines import LocalEngine
from similitude.evaluation import suspicious_labels
from similitude.kernels import Gaussian
from similitude.report import investigate

MODEL = SimilarityClassifier("gaussian", random_state=0, engine=LocalEngine(threads=1))


def coins(n, share, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    y[:2] = False, True
    return rng.normal(size=(n, 4)), y


def moons(seed):
    return make_moons(300, noise=0.15, random_state=seed)


def blobs(seed):
    return make_blobs([240, 60], centers=[[0, 0], [4, 0]], random_state=seed)


def flipped(X, y, seed):
    wrong = np.random.default_rng(seed).random(len(y)) < 0.05
    return X, np.where(wrong, 1 - y, y), wrong


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_labels_of_coins_look_right_and_are_not_predicted(share):
    named, praised, fits = [], 0, 20
    for seed in range(fits):
        model = MODEL.fit(*coins(120, share, seed))
        named.append(len(model.suspects_) / 120)
        praised += model.verdict().startswith("similar objects share")
    assert np.mean(named) <= 0.01
    assert binom.sf(praised - 1, fits, 0.05) > 1e-3


@pytest.mark.parametrize("problem", [moons, blobs])
def test_flipped_labels_look_wrong(problem):
    found, right, planted = 0, 0, 0
    for seed in range(5):
        X, y, wrong = flipped(*problem(seed), seed)
        suspects = MODEL.fit(X, y).suspects_
        found += len(suspects)
        right += wrong[suspects].sum()
        planted += wrong.sum()
    assert right >= 0.8 * found and right >= 0.5 * planted


def test_report_and_fit_use_one_rule():
    X, y, wrong = flipped(*moons(0), 0)
    found = investigate(Gaussian(), X, y, random_state=0)
    assert wrong[found.doubted].mean() >= 0.8 and wrong[found.doubted].sum() >= 0.5 * wrong.sum()
    assert not len(investigate(Gaussian(), *coins(100, 0.5, 0), random_state=0).doubted)


def test_nothing_looks_wrong_to_a_model_that_knows_nothing():
    chances = np.tile([[0.95, 0.05]], (100, 1))
    assert not len(suspicious_labels(chances, (np.arange(100) < 5).astype(int), np.ones(100)))


def test_assess_does_not_depend_on_the_unit():
    X, y = moons(0)
    once, tiny = (assess(k, X[:80], y[:80], random_state=0) for k in (Gaussian(0.5), 1e-170 * Gaussian(0.5)))
    assert once.p_value.value == tiny.p_value.value == 0.001
    assert once.suspects.tolist() == tiny.suspects.tolist()
    assert once.centered_alignment.value == pytest.approx(tiny.centered_alignment.value)


def test_assess_names_no_labels_beside_a_fit_by_chance():
    X, y = coins(200, 0.3, 1)
    found = assess(Gaussian(0.1), X, y, random_state=0)
    assert found.p_value.value > 0.05 and not len(found.suspects)

"""A constructor that is called with a parameter it does not have says which it has, and what scikit-learn's is here."""

import inspect
import pickle

import numpy as np
import pytest
from learners import CLASSIFIERS
from sklearn import kernel_ridge
from sklearn.base import clone
from sklearn.metrics import pairwise

from similitude import SimilarityClassifier, SimilarityRegressor, as_similarity
from similitude.engines import LocalEngine
from similitude.kernels import Gaussian, Laplace, Matern, Polynomial, Sigmoid, Spectrum
from similitude.learners import KernelRidge, KernelSGDSVC, KernelSVC, SeparatorLP
from similitude.support.validation import parameter_hint

X = np.random.default_rng(0).normal(size=(8, 3))

UNKNOWN = [
    (Gaussian, {"gamma": 0.5}, r"it has: sigma, metric; .*Gaussian\.from_gamma\(gamma\).* sigma = 1/sqrt\(2 gamma\)"),
    (Gaussian, {"sgima": 1.0}, "did you mean 'sigma'"),
    (Matern, {"length_scale": 1.0}, "length = length_scale"),
    (Polynomial, {"gamma": 1.0}, "scale = gamma"),
    (Spectrum, {"zzz": 3}, "it has: p, counts, blended, weights, default_weight$"),
    (KernelSVC, {"gamma": 1.0}, r"kernel, C, lam.*parameter of the kernel.*Gaussian\.from_gamma"),
    (KernelSVC, {"degree": 3}, "Polynomial"),
    (KernelSVC, {"similarity": "linear"}, "did you mean 'kernel'"),
    (KernelRidge, {"alpha": 1.0}, "lam = alpha"),
    (KernelSGDSVC, {"C": 1.0}, r"lam = 1/\(2 C n\)"),
    (SimilarityClassifier, {"C": 1.0}, "chosen from the data"),
    (SimilarityRegressor, {"kernel": "linear"}, "did you mean 'similarity'"),
    (SimilarityRegressor, {"n_jobs": 2}, r"LocalEngine\(threads=n_jobs\)"),
    (LocalEngine, {"n_jobs": 2}, "threads = n_jobs"),
    (SeparatorLP, {"C": 1.0}, "it has: fit_intercept$"),
]


@pytest.mark.parametrize(("cls", "given", "pattern"), UNKNOWN, ids=[f"{c.__name__}({n})" for c, n, _ in UNKNOWN])
def test_an_unknown_parameter_is_answered_by_those_that_exist(cls, given, pattern):
    with pytest.raises(TypeError, match=f"{cls.__name__} has no parameter '{next(iter(given))}'.*{pattern}"):
        cls(**given)


def test_texts_and_set_params_say_the_same():
    with pytest.raises(ValueError, match=r"Gaussian\.from_gamma"):
        as_similarity("gaussian(gamma=0.5)")
    with pytest.raises(ValueError, match=r"Gaussian\.from_gamma"):
        Gaussian().set_params(gamma=0.5)
    with pytest.raises(ValueError, match=r"Invalid parameter 'gamma'.*Gaussian\.from_gamma"):
        KernelSVC().set_params(gamma=0.5)


def test_arguments_without_a_name_beyond_those_that_take_none():
    with pytest.raises(TypeError, match="KernelRidge takes 1 without a name, got 2: give lam, fit_intercept"):
        KernelRidge("linear", 1.0)


def test_what_is_said_of_scikit_learn_holds():
    gamma = 0.3
    np.testing.assert_allclose(Gaussian(1 / np.sqrt(2 * gamma)).gram(X), pairwise.rbf_kernel(X, gamma=gamma))
    here = Laplace(1 / gamma, norm=1, squared_scale=False).gram(X)
    np.testing.assert_allclose(here, pairwise.laplacian_kernel(X, gamma=gamma))
    np.testing.assert_allclose(Polynomial(2, 0.7, gamma).gram(X), pairwise.polynomial_kernel(X, None, 2, gamma, 0.7))
    np.testing.assert_allclose(Sigmoid(gamma, 0.2).gram(X), pairwise.sigmoid_kernel(X, None, gamma, 0.2))
    there = kernel_ridge.KernelRidge(alpha=0.4, kernel="linear").fit(X, X[:, 0]).predict(X)
    np.testing.assert_allclose(KernelRidge("linear", lam=0.4, fit_intercept=False).fit(X, X[:, 0]).predict(X), there)


@pytest.mark.parametrize("made", [Gaussian(2.0), KernelSVC(Gaussian(1.0), C=3.0), LocalEngine(threads=1)], ids=repr)
def test_signatures_copies_and_other_errors_stay(made):
    cls = type(made)
    assert "args" not in inspect.signature(cls).parameters
    assert inspect.signature(cls.__init__).parameters.keys() >= inspect.signature(cls).parameters.keys()
    assert repr(pickle.loads(pickle.dumps(made))) == repr(made)
    if not isinstance(made, LocalEngine):
        assert repr(clone(made)) == repr(made)
    with pytest.raises(TypeError, match="progress must be"):
        LocalEngine(progress="yes")


def test_a_class_of_the_user_keeps_its_own_constructor():
    class Wider(Gaussian):
        def __init__(self, factor=1.0):
            super().__init__(factor)
            self.factor = factor

    assert not hasattr(Wider.__init__, "__wrapped__")
    with pytest.raises(TypeError, match="unexpected keyword"):
        Wider(gamma=1.0)


def test_probabilities_are_promised_only_where_there_are_some():
    promised = [one for one in CLASSIFIERS if "predict_proba" in parameter_hint(type(one), "probability", ())]
    assert promised and all(hasattr(one, "predict_proba") for one in promised)

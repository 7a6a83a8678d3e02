"""Every learner keeps the contract on every kind of object, and the kit notices the ones that do not."""

import numpy as np
import pytest
from learners import (
    CLASSIFIERS,
    CLUSTERERS,
    DETECTORS,
    INDEXES,
    NEGATIVE,
    OF_VECTORS,
    REGRESSORS,
    SKIPPED,
    with_similarity,
)
from market import KINDS, NUMBERS, SAMPLE, THREE, TWO
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_regressor
from sklearn.utils.validation import check_is_fitted

import similitude
from similitude import learners
from similitude.checks import check_learner
from similitude.checks.estimators import LEARNER_CHECKS

TARGETS = [(CLASSIFIERS, TWO), (REGRESSORS, NUMBERS), (CLUSTERERS, None), (DETECTORS, None)]


def named(value):
    return type(value).__name__ if isinstance(value, BaseEstimator) else None


def keeps_the_contract(learner, X, y):
    """Run the kit, without the checks that this learner cannot pass."""
    if type(learner) not in SKIPPED:
        check_learner(learner, X, y)
        return
    for check in LEARNER_CHECKS:
        if check not in SKIPPED[type(learner)]:
            check(clone(learner), X, y)


def test_every_learner_is_in_the_list():
    listed = {type(one) for one in [*CLASSIFIERS, *REGRESSORS, *CLUSTERERS, *DETECTORS, *INDEXES, *OF_VECTORS]}
    public = [getattr(learners, name) for name in learners.__all__] + [
        similitude.SimilarityClassifier,
        similitude.SimilarityOrdinalClassifier,
        similitude.SimilarityRegressor,
    ]
    assert listed == {one for one in public if isinstance(one, type) and issubclass(one, BaseEstimator)}


LIKE_ANOTHER = (
    similitude.SimilarityOrdinalClassifier,
    learners.MarginPerceptron,
    learners.KreinSVC,
    learners.AlignmentVote,
    learners.WeakSimilarityVote,
    learners.SimilarityDensityClusters,
    learners.SimilarityLinkage,
    learners.SpectralClusters,
)


def marks(learner, kind):
    """Mark the quick cells, and those of learners that take objects as another of their family does: as deep.

    Every regressor has a classifier of its family, from which it differs in its targets only.
    """
    alike = is_regressor(learner) or isinstance(learner, LIKE_ANOTHER)
    if alike and kind not in ("vectors", "strings", "pandas"):
        return pytest.mark.deep
    return pytest.mark.quick if kind == "vectors" else ()


@pytest.mark.parametrize(
    ("learner", "y", "kind"),
    [
        pytest.param(one, y, kind, marks=marks(one, kind))
        for kind in KINDS
        for ones, y in TARGETS
        for one in ones
        if not (isinstance(one, learners.SpectralClusters) and kind in NEGATIVE)
    ],
    ids=named,
)
def test_learners_take(learner, y, kind):
    similarity, X = KINDS[kind]
    keeps_the_contract(with_similarity(learner, similarity), X, y)


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=named)
def test_classifiers_know_several_classes(learner):
    keeps_the_contract(learner, SAMPLE, THREE)


@pytest.mark.parametrize("labels", [[True, False], [3, -1], ["x", "y"], np.array(["x", "y"], object)], ids=str)
def test_classifiers_answer_in_the_labels_that_they_were_given(labels):
    y = np.resize(labels, len(SAMPLE))
    for learner in CLASSIFIERS:
        answers = clone(learner).fit(SAMPLE, y).predict(SAMPLE)
        assert set(answers.tolist()) <= set(y.tolist()) and answers.dtype == y.dtype, learner


def test_a_separator_takes_features():
    check_learner(OF_VECTORS[0], np.vstack([SAMPLE, SAMPLE + 20]), np.repeat(["a", "b"], len(SAMPLE)))


class Careless(ClassifierMixin, BaseEstimator):
    """Breaks one rule of the contract."""

    classes_ = np.array(["a", "b"])

    def __init__(self, how="nothing"):
        self.how = how

    def fit(self, X, y=None):
        if self.how == "failure" or len(X) == len(y):
            self.fitted_ = True
        if len(X) != len(y):
            raise ValueError("lengths")
        if self.how == "parameter":
            self.how = "changed"
        return self if self.how != "self" else None

    def decision_function(self, X):
        if self.how != "unfitted":
            check_is_fitted(self)
        X = np.asarray(X)
        if self.how == "objects":
            X += 1
        return X[:, 0] - (10 if self.how == "rows" and len(X) > 10 else 0)

    def predict(self, X):
        scores = self.decision_function(X)
        if self.how == "labels":
            return np.where(scores >= 0, "x", "z")
        return self.classes_[(scores >= 0).astype(int) if self.how != "scores" else (scores < 0).astype(int)]

    def predict_proba(self, X):
        share = 1 / (1 + np.exp(-self.decision_function(X)))
        share = 1 - share if self.how == "probabilities" else share
        return np.stack([1 - share, share], axis=1)


FAULTS = {
    "rows": "predict of some objects and of all differ",
    "self": "fit must return the estimator itself",
    "parameter": "fit changed a parameter",
    "objects": "changed the objects",
    "labels": "predict gave a label that is not in y",
    "scores": "predictions and the classes with the largest scores differ",
    "probabilities": "predictions and the classes with the largest probabilities differ",
    "failure": "predict after a fit that failed must raise NotFittedError",
    "unfitted": "predict before fit must raise NotFittedError",
}


@pytest.mark.parametrize("how", FAULTS)
def test_the_kit_notices(how):
    with pytest.raises(AssertionError, match=FAULTS[how]):
        check_learner(Careless(how), SAMPLE.copy(), TWO)


def test_the_kit_is_content_with_the_rest():
    check_learner(Careless(), SAMPLE.copy(), TWO)

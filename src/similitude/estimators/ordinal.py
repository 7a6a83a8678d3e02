"""SimilarityOrdinalClassifier: classes that have an order, such as grades."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from similitude.compute.engines import Engine
from similitude.estimators.binary_columns import BinaryColumns
from similitude.estimators.classifier import labels_of
from similitude.estimators.explanation import Explanations
from similitude.fitting import ClassTargets
from similitude.scikit import check_labels, check_weights, class_weights, tensors_for_tensors
from similitude.support import brief, written


class SimilarityOrdinalClassifier(BinaryColumns):
    """Predict grades: classes that have an order, where a wrong neighbor is a smaller error than a far class.

    For each grade but the highest, one score says whether an object is above it (Frank and Hall, "A simple approach to
    ordinal classification", 2001), all by the same landmarks. Probabilities of being above are made to fall from grade
    to grade, and the median of the grades is predicted, which is best for the absolute error in grades. (For the
    theory of ordinal regression by similarities see Kar and Jain, "Supervised learning with similarity functions",
    2012.)

    Parameters
    ----------
    similarity, landmarks, landmark_indices, n_landmarks, penalty, side, unlabeled, max_calls, random_state, engine
        See :class:`SimilarityClassifier`.
    order : sequence of labels, optional
        All labels from the lowest to the highest. None: that of an ordered categorical of pandas, otherwise sorted,
        as numbers are.
    loss : {"auto", "squared"}
        Least squares on the codes -1 and +1.
    certify : None
        There is no certificate.

    Attributes
    ----------
    similarity_, landmarks_, landmark_indices_, landmark_weights_, penalty_, representation_, guarantee_, \
landmark_curve_, learned_, lam_, intercept_, n_similarity_calls_, calls_
        See :class:`SimilarityClassifier`.
    classes_ : array
        The grades in y, from the lowest to the highest.
    held_out_error_ : Estimate
        By how many grades predictions for new rows are wrong on average, estimated as in
        :class:`SimilarityClassifier`.
    constant_error_ : float
        That of always predicting the median.
    temperature_, shift_ : array of shape (classes - 1,)
        The scale of each score, and the part of ``intercept_`` that makes probabilities agree with rows left out.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import SimilarityOrdinalClassifier
    >>> X = np.linspace(0, 3, 120)[:, None]
    >>> sizes = np.array(["small", "medium", "large"])[X[:, 0].astype(int).clip(0, 2)]
    >>> model = SimilarityOrdinalClassifier(order=["small", "medium", "large"], random_state=0).fit(X, sizes)
    >>> model.predict([[0.5], [1.5], [2.5]]).tolist()
    ['small', 'medium', 'large']
    """

    _targets_are = "threshold"

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        order: Any = None,
        landmarks: Any = "auto",
        landmark_indices: Any = None,
        n_landmarks: int | str = "auto",
        loss: str = "auto",
        penalty: str = "l2",
        side: str = "auto",
        unlabeled: Any = None,
        certify: float | None = None,
        max_calls: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        super().__init__(
            similarity,
            landmarks=landmarks,
            landmark_indices=landmark_indices,
            n_landmarks=n_landmarks,
            loss=loss,
            penalty=penalty,
            side=side,
            unlabeled=unlabeled,
            certify=certify,
            max_calls=max_calls,
            random_state=random_state,
            engine=engine,
        )
        self.order = order

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, None]:
        found, numbers = check_labels(self, X, y)
        weights = check_weights(sample_weight, len(numbers))
        counted = np.bincount(numbers, weights > 0) > 0
        if not counted.all():
            lost = found[~counted].tolist()[0]
            raise ValueError(f"class {lost!r} has examples of weight zero only: leave it out")
        places = _places(found, _given_order(self.order, y))
        self.classes_ = found[np.argsort(places)]
        return above_codes(places[numbers], len(found)), weights, None

    def _targets(self) -> OrdinalTargets:
        return OrdinalTargets(type(self).__name__, _given_order(self.order, None))

    def _learn_targets(self, targets: Any) -> None:
        self.classes_ = targets.grades

    def _losses_of(self, scores: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return by how many grades each row is wrong."""
        return np.abs(self._ranks(scores) - Y.sum(axis=1))

    def _above(self, scores: np.ndarray) -> np.ndarray:
        """Return chances of being above each grade: half way from the smallest so far to the largest to come."""
        chances = self._chances(scores)
        so_far = np.minimum.accumulate(chances, axis=1)
        to_come = np.maximum.accumulate(chances[:, ::-1], axis=1)[:, ::-1]
        return (so_far + to_come) / 2

    def _ranks(self, scores: np.ndarray) -> np.ndarray:
        """Return the number of grades that each row is rather above than not."""
        return np.asarray((self._above(scores) > 0.5).sum(axis=1))

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the grade of every object: the median, given the probabilities.

        Parameters
        ----------
        X : sequence of objects
        """
        return self._predictions(X, "predict", lambda scores: labels_of(self.classes_, self._ranks(scores)))

    @tensors_for_tensors
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each grade, from the lowest to the highest.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, classes)
        """
        return self._predictions(X, "predict_proba", lambda scores: -np.diff(self._above(scores), prepend=1, append=0))

    def explain(self, X: Any, above: Any, *, by: str = "auto") -> Explanations:
        """Return for every object which training examples decided whether it is above a grade.

        See :meth:`SimilarityClassifier.explain`.

        Parameters
        ----------
        X : sequence of objects
        above : label
            One of ``classes_`` but the highest.
        by : {"auto", "examples", "landmarks"}

        Returns
        -------
        Explanations
            The labels of examples are 1 and -1, and those of groups are means of these.
        """
        check_is_fitted(self)
        lower = self.classes_[:-1]
        found = np.flatnonzero(lower == above)
        if not len(found):
            raise ValueError(f"above must be one of the classes {lower.tolist()}, got {brief(above)}")
        return self._explain_column(X, int(found[0]), by)

    def verdict(self) -> str:
        """Say in one sentence by how many grades new rows are wrong."""
        return self._said("grades wrong")


class OrdinalTargets(ClassTargets):
    """Grades of objects that are read in batches, in the given order if there is one."""

    def __init__(self, name: str, order: list[Any] | None) -> None:
        super().__init__(name, functools.partial(class_weights, None))
        self.order = order
        self.grades = self.places = np.empty(0)

    def close(self) -> None:
        """Settle what depends on all labels."""
        super().close()
        assert self.classes is not None
        self.places = _places(self.classes, self.order)
        self.grades = self.classes[np.argsort(self.places)]

    def numbers(self, y: np.ndarray) -> None:
        """Return class numbers, if there are classes."""
        return None

    def read(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return targets as columns, and the weights."""
        return above_codes(self.places[self.class_numbers(y)], len(self.grades)), weights


def above_codes(ranks: np.ndarray, n_grades: int) -> np.ndarray:
    """Return +1 for each grade that a row is above, -1 for each other one but the highest.

    >>> above_codes(np.array([0, 1, 2]), 3)
    array([[-1, -1],
           [ 1, -1],
           [ 1,  1]], dtype=int8)
    """
    return 2 * (ranks[:, None] > np.arange(n_grades - 1)).astype(np.int8) - 1


def _given_order(order: Any, y: Any) -> list[Any] | None:
    """Return the order of labels that was asked for, or that y brings along."""
    if order is not None:
        return list(order)
    categories = getattr(y, "cat", y)  # of a series, or a categorical itself
    if getattr(categories, "ordered", False):
        return categories.categories.tolist()
    return None


def _places(found: np.ndarray, order: list[Any] | None) -> np.ndarray:
    """Return the rank of each label."""
    if order is None:
        return np.arange(len(found))
    missing = [label for label in found.tolist() if label not in order]
    if missing or len(set(order)) < len(order):
        what = "holds a label twice"
        if missing:
            what = f"lacks {written(missing[0])}"
        raise ValueError(f"order must name every label once, from the lowest to the highest: it {what}")
    places = np.array([order.index(label) for label in found.tolist()])
    return np.argsort(np.argsort(places))

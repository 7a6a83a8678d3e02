"""SimilarityMultilabelClassifier: any number of labels for each object."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted

from similitude.estimators.binary_columns import BinaryColumns
from similitude.estimators.explanation import Explanations
from similitude.fitting import Targets
from similitude.scikit import check_weights, tensors_for_tensors
from similitude.support import written


class SimilarityMultilabelClassifier(BinaryColumns):
    """Tell which of several labels each object has, by landmark features and a linear model.

    As :class:`SimilarityClassifier`, with a score for each label, zero or more of which an object may have. Landmarks,
    similarities and the penalty are those that are best for all labels together, so that many labels cost little more
    than one.

    Parameters
    ----------
    similarity, landmarks, landmark_indices, n_landmarks, penalty, side, unlabeled, max_calls, random_state, engine
        See :class:`SimilarityClassifier`.
    loss : {"auto", "squared"}
        Least squares on the codes -1 and +1.
    certify : None
        There is no certificate.

    Attributes
    ----------
    similarity_, landmarks_, landmark_indices_, landmark_weights_, penalty_, representation_, guarantee_, \
landmark_curve_, learned_, lam_, intercept_, n_similarity_calls_, calls_
        See :class:`SimilarityClassifier`.
    classes_ : array of int
        The numbers of the labels: the columns of Y.
    held_out_error_ : Estimate
        The share of labels that are wrong on new rows (the Hamming loss), estimated as in
        :class:`SimilarityClassifier`.
    constant_error_ : float
        That of predicting a label for all rows or none, whichever is right more often.
    temperature_, shift_ : array of shape (labels,)
        The scale of the scores of each label, and the part of ``intercept_`` that makes probabilities agree with rows
        left out.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import SimilarityMultilabelClassifier
    >>> X = np.random.default_rng(0).uniform(-1, 1, size=(200, 2))
    >>> Y = (X > 0).astype(int)  # two labels: to the right, above
    >>> model = SimilarityMultilabelClassifier(random_state=0).fit(X, Y)
    >>> model.predict([[0.5, -0.5], [0.5, 0.5]]).tolist()
    [[1, 0], [1, 1]]
    """

    _targets_are = "label"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.target_tags.two_d_labels = True
        tags.target_tags.multi_output = True
        return tags

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, None]:
        Y = indicators(type(self).__name__, X, y)
        self.classes_ = np.arange(Y.shape[1])
        return 2 * Y.astype(np.int8) - 1, check_weights(sample_weight, len(Y)), None

    def _targets(self) -> IndicatorTargets:
        return IndicatorTargets(type(self).__name__)

    def _learn_targets(self, targets: Any) -> None:
        self.classes_ = np.arange(targets.n_labels)

    def _losses_of(self, scores: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the share of wrong labels of each row."""
        return np.asarray(((scores >= 0) != Y).mean(axis=1))

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of every object for each label.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, labels)
        """
        return self._predictions(X, "decision_function", lambda scores: scores)

    def predict(self, X: Any) -> np.ndarray:
        """Return 1 for each label that an object has, else 0.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, labels)
        """
        return self._predictions(X, "predict", lambda scores: 1 * (scores >= 0))

    @tensors_for_tensors
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each label; a label is predicted where it is at least one half.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, labels)
        """
        return self._predictions(X, "predict_proba", self._chances)

    def explain(self, X: Any, label: int = 0, *, by: str = "auto") -> Explanations:
        """Return for every object which training examples decided on a label; see :meth:`SimilarityClassifier.explain`.

        Parameters
        ----------
        X : sequence of objects
        label : int
            The column of Y.
        by : {"auto", "examples", "landmarks"}

        Returns
        -------
        Explanations
            The labels of examples are 1 and -1, and those of groups are means of these.
        """
        check_is_fitted(self)
        if not 0 <= label < len(self.classes_):
            raise ValueError(f"label must be from 0 to {len(self.classes_) - 1}, got {written(label)}")
        return self._explain_column(X, label, by)

    def verdict(self) -> str:
        """Say in one sentence how many labels of new rows are wrong."""
        return self._said("of the labels are wrong")


class IndicatorTargets(Targets):
    """Labels of objects that are read in batches."""

    n_labels = 0

    def see(self, X: Any, y: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Look at a batch in the first pass; return its labels, and which rows have a weight."""
        Y = indicators(self.name, X, y)
        self.n_labels = Y.shape[1]
        return Y, weights > 0

    def absorb(self, other: Any) -> None:
        """Add what another saw of further batches."""
        self.n_labels = max(self.n_labels, other.n_labels)

    def read(self, y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return targets as columns, and the weights."""
        return 2 * np.asarray(y).astype(np.int8) - 1, weights


def indicators(name: str, X: Any, y: Any) -> np.ndarray:
    """Return the labels of some objects as a matrix, true where one has a label; all but zeros and ones is refused.

    >>> indicators("", ["an oak", "an elm"], [[0, 1], [1, 1]]).tolist()
    [[False, True], [True, True]]
    """
    hint = "one row per object, one column per label, of 0 and 1 (sklearn.preprocessing.MultiLabelBinarizer makes it)"
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    try:
        Y = check_array(y, accept_sparse="csr", dtype=None, input_name="y")
    except ValueError as error:
        raise ValueError(f"y must be a matrix of labels, {hint}: {error}") from None
    Y = Y.toarray() if hasattr(Y, "toarray") else Y
    if not np.isin(Y, (0, 1)).all():
        raise ValueError(f"y must be a matrix of labels, {hint}; it holds {written(Y[~np.isin(Y, (0, 1))][0])}")
    check_consistent_length(X, Y)
    return np.asarray(Y).astype(bool)

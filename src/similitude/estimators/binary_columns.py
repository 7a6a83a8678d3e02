"""Several questions about each object, answered by one model: which labels it has, or which grades it is above."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from similitude.estimators.base import LandmarkEstimator
from similitude.estimators.explanation import Asked, Explanations
from similitude.evaluation import dealt_folds, error_of_numbers
from similitude.fitting import ScoredRows, SpreadFit, probabilities, scale_and_shift
from similitude.support import number_of

SCORED_PARTS = 5
"""Parts of the rows that evaluate a model, if one model scored all: each is shifted by what suits the others."""


class BinaryColumns(ClassifierMixin, LandmarkEstimator):
    """Least squares on columns of -1 and +1, with one similarity, one set of landmarks and one penalty for all.

    A subclass reads the columns, and says what the scores mean. Scores of each column are scaled and shifted such that
    their logistic function is the probability of +1, as far as rows left out show (Platt, 1999).
    """

    _losses = ("squared",)
    _takes_tensors = False
    temperature_: np.ndarray
    shift_: np.ndarray

    def _check_params(self) -> None:
        super()._check_params()
        if self.certify is not None:
            raise ValueError(f"{type(self).__name__} has no certificate: try the model on rows of your own")

    def _calibrate(self, rows: ScoredRows, at: np.ndarray | None = None, sized: SpreadFit | None = None) -> None:
        """Keep the scale and the shift of each column that rows left out ask for."""
        self.temperature_, self.shift_ = scales_and_shifts(rows.trial.scores, rows.Y > 0, rows.weights)
        self.intercept_ = self.intercept_ + self.shift_

    def _evaluate(self, scored: ScoredRows) -> None:
        """Keep the loss of rows under models of others, and that of the best constant."""
        weights = scored.weights
        Y = scored.Y > 0
        scores = scored.trial.scores.copy()
        parts = np.arange(len(Y)) % SCORED_PARTS if scored.folds is None else scored.folds
        if scored.folds is None and scored.groups is not None:
            parts = dealt_folds(scored.groups, SCORED_PARTS)
        for part in np.unique(parts):  # each is shifted as the others ask for, so that no row shifts its own scores
            mine = parts == part
            others = (parts != part) & (weights > 0)
            if others.any():
                scores[mine] += scales_and_shifts(scored.trial.scores[others], Y[others], weights[others])[1]
        losses = self._losses_of(scores, Y)
        self.held_out_error_ = error_of_numbers(losses, weights, scored.groups)
        usual = np.broadcast_to(weights @ Y * 2 - weights.sum(), Y.shape)
        self.constant_error_ = float(np.average(self._losses_of(usual, Y), weights=weights))

    def _losses_of(self, scores: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the loss of each row, given the scores of the columns and which are true; a subclass writes it."""
        raise NotImplementedError

    def _chances(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of each column."""
        each = zip(scores.T, self.temperature_.tolist(), strict=True)
        return np.stack([probabilities(one, scale)[:, 1] for one, scale in each], axis=1)

    def _explain_column(self, X: Any, column: int, by: str) -> Explanations:
        """Explain the scores of a column; the labels of examples are its codes, and those of groups their means."""
        check_is_fitted(self)
        scores = self._scores(X)
        directions = np.zeros_like(scores)
        directions[:, column] = 1.0
        asked = Asked((scores[:, column] >= 0) * 1, scores, directions, [None] * len(scores), self.shift_)
        return self._explain(X, by, asked)

    def _said(self, what: str) -> str:
        """Return a sentence on the error, which is counted in `what`."""
        check_is_fitted(self)
        error = self.held_out_error_
        most = self.constant_error_
        return (
            f"{error.value:.3g} {what} on new rows, by comparing with "
            f"{number_of(self.n_similarity_calls_, 'landmark')} (a constant: {most:.3g})"
        )


def scales_and_shifts(scores: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each column a scale of its scores, and what to add before, such that they give probabilities."""
    found = [scale_and_shift(scores[:, j], Y[:, j] * 1, weights) for j in range(Y.shape[1])]
    return np.array([scale for scale, _ in found]), np.array([shift[0] for _, shift in found])

"""SimilarityNovelty: objects that are unlike the training objects, under any similarity, with a false alarm rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import beta

from similitude.compute import Encoding, as_numpy, check_fits, check_objects, rows, take
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import ScoreOutliers
from similitude.scikit import SimilarityEstimator, all_or_nothing, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support import (
    INDEPENDENT_ROWS,
    Guarantee,
    check_integer,
    check_number,
    generator,
    number_of,
    rounded_up,
)

CONFORMAL = (
    "the exchangeability of a new row with those set apart (Bates, Candès, Lei, Romano and Sesia, "
    "'Testing for outliers with conformal p-values', 2023, section 2)"
)


class SimilarityNovelty(ScoreOutliers, SimilarityEstimator):
    r"""Find objects unlike the training objects, for any similarity, with a rate of false alarms on new objects.

    The score of x is the mean similarity to its k most similar landmarks, minus the mean of the same figure of these
    landmarks themselves (without their similarity to themselves): how much less densely x is surrounded than its
    neighbors are, as in the local outlier factor of Breunig et al. (2000). It only needs values that are
    larger for objects more alike, positive semi-definite or not, symmetric or not (x is the first argument); n rows are
    compared with a fixed number of landmarks. A quarter of the objects is set apart before anything is fitted; a new
    object is an outlier if its score is below almost all of theirs, so that at most the share `level` of objects that
    are no outliers raises an alarm.

    Parameters
    ----------
    similarity : Similarity, str or callable
        Larger for objects more alike.
    level : float
        The rate of false alarms, in (0, 1).
    n_neighbors : int
        The number of most similar landmarks, k; fewer if there are fewer.
    n_landmarks : int, optional
        Drawn uniformly from the objects that are not set apart. Default: at most 1,000.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    offset_ : float
        Objects with a lower score are outliers.
    guarantee_ : Guarantee
        The rate of false alarms: on average over rows set apart, and of this model with 95 % confidence.
    calibration_scores_ : array
        The scores of the objects that were set apart, from the lowest on.
    calibration_indices_, landmark_indices_, support_objects_
        Positions in X of the objects set apart and of the landmarks, and the landmarks themselves.
    similarity_, notes_
        The similarity with data-dependent parameters resolved on objects that are not set apart, and remarks.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.learners import SimilarityNovelty
    >>> X = np.random.default_rng(0).standard_normal((400, 2))
    >>> model = SimilarityNovelty(level=0.05, random_state=0).fit(X)
    >>> model.predict([[0.0, 0.0], [6.0, 6.0]])
    array([ 1, -1])
    >>> model.guarantee_.grade, model.guarantee_.numbers["rate"] <= 0.05
    ('PROVEN', True)
    """

    def __init__(
        self,
        similarity: Any = "auto",
        *,
        level: float = 0.05,
        n_neighbors: int = 10,
        n_landmarks: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.level = level
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None) -> SimilarityNovelty:
        """Learn from objects, most of which should be no outliers.

        Parameters
        ----------
        X : sequence of objects
        y : ignored
        """
        X = self._checked(X, reset=True)
        n = check_objects(X)
        n_landmarks = self._check_params(n)
        order = generator(self.random_state).permutation(n)
        apart, fitted = np.split(order, [n - _fitted_rows(n)])
        self.calibration_indices_ = np.sort(apart)
        chosen = np.sort(fitted[:n_landmarks])
        k, A, L = self._encoded(X, chosen, np.sort(fitted))
        self.landmark_indices_ = chosen
        self.support_objects_ = chosen
        if not self._precomputed:
            self.support_objects_ = take(X, chosen)
        self._support = L
        self._own: np.ndarray = self._nearest(k, L, among_themselves=True)[0]
        self.calibration_scores_ = np.sort(self._scores(k, A))
        self._set_threshold()
        return self

    def _check_params(self, n: int) -> int:
        """Validate parameters before the first call of the similarity; return the number of landmarks."""
        check_number("level", self.level, "(0, 1)")
        check_integer("n_neighbors", self.n_neighbors)
        if n < 3:
            raise ValueError(f"two landmarks and an object that is set apart are needed, got n_samples = {n}")
        wanted = min(1000, _fitted_rows(n))
        if self.n_landmarks is not None:
            wanted = check_integer("n_landmarks", self.n_landmarks, otherwise="None")
            if not 2 <= wanted <= _fitted_rows(n):
                raise ValueError(
                    f"n_landmarks must be between 2 and {_fitted_rows(n):,}, the number of objects that are not set "
                    f"apart (n_samples = {n}), got {wanted}"
                )
        check_fits(wanted, wanted, 8, self._engine)
        return wanted

    def _encoded(self, X: Any, chosen: np.ndarray, fitted: np.ndarray) -> tuple[Similarity, Encoding, Encoding]:
        """Return the similarity, resolved on fitted rows, and the encodings of rows set apart and of landmarks."""
        if self._precomputed:
            k, _, A = self._start(X)
            return k, rows(A, self.calibration_indices_), rows(A, chosen)
        k, _, A = self._start(take(X, fitted), self.random_state)
        return k, k.encode(take(X, self.calibration_indices_)), rows(A, np.searchsorted(fitted, chosen))

    def _nearest(self, k: Similarity, A: Encoding, among_themselves: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean similarity of each object to its nearest landmarks, and which these are."""
        means = []
        nearest = []
        number = min(self.n_neighbors, len(self.landmark_indices_) - 1)
        for strip, block in k.blocks(A, self._support, self._engine).rows():
            values = as_numpy(block).astype(np.float64)
            if among_themselves:
                values[np.arange(len(values)), np.arange(strip.start, strip.stop)] = -np.inf
            largest = np.argpartition(-values, number - 1, axis=1)[:, :number]
            means.append(np.take_along_axis(values, largest, axis=1).mean(axis=1))
            nearest.append(largest)
        return np.concatenate(means), np.concatenate(nearest)

    def _scores(self, k: Similarity, A: Encoding) -> np.ndarray:
        means, nearest = self._nearest(k, A, among_themselves=False)
        return means - self._own[nearest].mean(axis=1)

    def _set_threshold(self) -> None:
        """Set the threshold, and state the rate of false alarms that it has."""
        m = len(self.calibration_scores_)
        allowed = int(np.floor(self.level * (m + 1) * (1 + 1e-12)))
        if not allowed:
            allowed = 1
            self.notes_.append(
                f"level = {self.level:g} needs {int(np.ceil(1 / self.level)) - 1:,} objects set apart, and "
                f"{number_of(m, 'object')} could be: the rate of false alarms is up to 1/{m + 1}"
            )
        self.offset_ = float(self.calibration_scores_[allowed - 1])
        rate = allowed / (m + 1)
        confidence = 0.95
        high = float(beta.ppf(confidence, allowed, m + 1 - allowed))
        self.guarantee_ = Guarantee.under(
            [INDEPENDENT_ROWS],
            f"a new object that is no outlier raises an alarm with probability at most {rounded_up(rate)}, on average "
            f"over the {m:,} objects set apart; with confidence {confidence:g}, at most {rounded_up(high)} for these",
            CONFORMAL,
            {"level": float(self.level), "rate": rate, "rate_high": high, "set_apart": float(m)},
        )

    @tensors_for_tensors
    def score_samples(self, X: Any) -> np.ndarray:
        """Return the score of each object: the lower, the more unlike the training objects."""
        return self._scores(*self._ask(X))

    @tensors_for_tensors
    def p_values(self, X: Any) -> np.ndarray:
        """Return the conformal p-value of each object: for one that is no outlier, it is at most t with probability t.

        It is (1 + the number of objects set apart with no larger score) / (1 + their number).
        """
        scores = as_numpy(self.score_samples(X))
        below = np.searchsorted(self.calibration_scores_, scores, side="right")
        return (1 + below) / (1 + len(self.calibration_scores_))


def _fitted_rows(n: int) -> int:
    """Return how many of n objects are not set apart."""
    return n - max(1, int(0.25 * n))

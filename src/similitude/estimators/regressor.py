"""SimilarityRegressor: numbers from similarities to landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin

from similitude.compute.engines import Engine
from similitude.estimators.base import LandmarkEstimator
from similitude.estimators.distributed import lazily
from similitude.estimators.explanation import Explanation
from similitude.estimators.online import next_batch
from similitude.estimators.targets import Numbers
from similitude.learners.kernel_learner import check_targets, check_weights
from similitude.linear import Linear, Trial, fit_numbers
from similitude.scikit.estimator import all_or_nothing, tensors_for_tensors
from similitude.support.results import ESTIMATE, Estimate


class SimilarityRegressor(RegressorMixin, LandmarkEstimator):
    """Predict numbers from the similarities of objects of any kind to landmarks.

    As :class:`SimilarityClassifier`, with the squared error: landmarks are chosen, objects are described by their
    similarities to them, and a linear function of these is learned, on the projection representation for kernels and on the
    landmark representation for everything else.

    Parameters
    ----------
    similarity : Similarity, str, callable, or a list of these
        Anything that says how alike two objects are. ``"precomputed"``: X is the matrix K(train, train) in ``fit``
        and K(new, train) afterwards. Several: their features stand side by side, each divided by its root mean square
        length (Balcan and Blum, Theorem 3). A scale that was left open (``sigma="median"``) is chosen among a quarter,
        a half, one, two and four times the median.
    landmarks : str or sequence of objects
        A rule (``uniform stratified kmeans++ rpcholesky leverage diverse``) or the objects themselves. ``"auto"``:
        uniform.
    landmark_indices : sequence of int, optional
        Positions in X to use as landmarks.
    n_landmarks : int or "auto"
        ``"auto"``: from 100, twice as many as long as held-out examples gain more than one standard error by it,
        up to 2,400, up to half of the examples where these are many, and as memory allows.
    loss : {"auto", "squared"}
        The loss of the linear model; with ``penalty="l2"`` least squares takes one pass over the similarities.
    penalty : {"l2", "l1"}
        ``"l2"``: the squared length of the weights. ``"l1"``: the sum over landmarks of the length of their weights,
        so that few landmarks are kept.
    side : {"auto", "left", "right", "both"}
        Which similarities: K(x, l), K(l, x) or both. ``"auto"``: both where they differ; with ``penalty="l1"`` K(x, l).
    unlabeled : sequence of objects, optional
        Draw landmarks from these instead of X: they need no labels.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    similarity_ : Similarity
        With what data had to fix; a list where several were given.
    landmarks_, landmark_indices_
        The landmarks that have a weight, and their positions in X (None for objects that are not of X); a list of
        these where several similarities were given.
    loss_, penalty_ : str
    representation_ : Representation
        ``projection`` or ``landmarks``, and why; a tuple where several similarities were given.
    guarantee_ : Guarantee
        What theory promises of the features, under which assumption.
    landmark_curve_ : LandmarkCurve
        The held-out loss by the number of landmarks, and why there are not more.
    held_out_error_ : Estimate
        The mean squared error (summed over outputs) on examples that the model was not fitted to. Scale, landmarks and
        penalty were chosen on the same examples, so it is an estimate, not a certificate.
    constant_error_ : float
        The mean squared error on the same examples of always giving their mean; 1 - `held_out_error_` / this is R².
    lam_ : float
        The penalty, chosen by exact leave-one-out up to 5,000 examples and on a held-out part beyond.
    intercept_ : array
    n_similarity_calls_ : int
        The number of landmarks with a weight: what one prediction costs.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import SimilarityRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = SimilarityRegressor().fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict([[1.0]])[0] - np.sin(1.0)) < 0.01)
    True
    """

    _losses = ("squared",)

    def __init__(
        self,
        similarity: Any = "gaussian",
        *,
        landmarks: Any = "auto",
        landmark_indices: Any = None,
        n_landmarks: int | str = "auto",
        loss: str = "auto",
        penalty: str = "l2",
        side: str = "auto",
        unlabeled: Any = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.similarity = similarity
        self.landmarks = landmarks
        self.landmark_indices = landmark_indices
        self.n_landmarks = n_landmarks
        self.loss = loss
        self.penalty = penalty
        self.side = side
        self.unlabeled = unlabeled
        self.random_state = random_state
        self.engine = engine

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SimilarityRegressor:
        """Learn from objects and their targets.

        Parameters
        ----------
        X : sequence of objects, or source
            A source (see :class:`similitude.sources.Source`: a memory map, a path, a dataset, a function of batches) is
            read twice: once to count and to draw a sample of 20,000 rows, on which all is chosen that has to be chosen,
            and once to compare. A dask array, dataframe or bag stays on its workers (see
            :class:`similitude.engines.DaskEngine`); predictions of one come back as a lazy array.
        y : array of shape (n,) or (n, outputs)
            Of a source also the name of a column; none where the source brings them.
        sample_weight : sequence of float, optional
            What the loss of each example is multiplied by.
        """
        self._check_params()
        self._forget_batches()
        fitted = self._fit_apart(X, y, sample_weight)
        if fitted is None:
            X = self._checked(X, reset=True)
            Y = self._targets(X, y, first=True)
            weights = check_weights(sample_weight, len(Y))
            fitted = self._train(X, Y, weights, sample_weight, None)
        self._judge(fitted.trial, *fitted.judged)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> SimilarityRegressor:
        """Learn from a further batch of a stream.

        The first batch decides scale and landmarks; what follows adds to the moments of the features. Of each batch a
        fifth is held out, up to 5,000 in all, and the penalty that is best for these is taken. What `fit` learned
        before the first batch is forgotten.

        Parameters
        ----------
        X : sequence of objects
        y : array of shape (n,) or (n, outputs)
        sample_weight : sequence of float, optional
        """
        self._check_params()
        first = not hasattr(self, "_so_far")
        X = self._checked(X, reset=first)
        Y = self._targets(X, y, first)
        weights = check_weights(sample_weight, len(Y))
        trial, judged = next_batch(self, X, Y, weights, sample_weight, None)
        self._judge(trial, judged, np.ones(len(judged)))
        return self

    def _targets(self, X: Any, y: Any, first: bool) -> np.ndarray:
        """Return the targets as columns."""
        y = check_targets(self, X, y)
        if first:
            self._one_output = y.ndim == 1
        elif self._one_output != (y.ndim == 1) or (y.ndim == 2 and y.shape[1] != len(self.intercept_)):
            raise ValueError(f"y has shape {y.shape}, earlier batches had {len(self.intercept_)} outputs")
        return y[:, None] if y.ndim == 1 else y

    def _reading(self) -> Numbers:
        return Numbers(self)

    def _fit_all(
        self, loss: str, penalty: str, F: Any, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[Linear, Trial, np.ndarray]:
        return fit_numbers(F, Y, weights, self.random_state)

    def _judge(self, trial: Trial, Y: np.ndarray, weights: np.ndarray) -> None:
        """Keep what held-out examples tell: the mean squared error, and that of their mean."""
        spread = 1.96 * trial.deviation
        squares = ((Y - np.average(Y, axis=0, weights=weights)) ** 2).sum(axis=1)
        self.constant_error_ = float(np.average(squares, weights=weights))
        self.held_out_error_ = Estimate(trial.loss, max(0.0, trial.loss - spread), trial.loss + spread, 0.95, ESTIMATE)

    @lazily
    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for every object.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n,) or (n, outputs)
        """
        scores = self._scores(X)
        return scores[:, 0] if self._one_output else scores

    def explain(self, X: Any, output: int = 0) -> list[Explanation]:
        """Return for every object the landmarks that drove its prediction, with what each added.

        Parameters
        ----------
        X : sequence of objects
        output : int
            Which output, where there are several.

        Returns
        -------
        list of Explanation
        """
        scores = self._scores(X)
        if not 0 <= output < scores.shape[1]:
            raise ValueError(f"output must be from 0 to {scores.shape[1] - 1}, got {output!r}")
        return self._explain(X, scores[:, output], np.full(len(scores), output))

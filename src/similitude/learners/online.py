"""OnlineKernelClassifier and OnlineKernelRegressor: streams of any length, with a bounded number of kept objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import RegressorMixin
from sklearn.utils.validation import column_or_1d

from similitude.compute import Encoding, count, rows, take
from similitude.compute.engines import Engine
from similitude.learners.kernel_learner import StreamClassifier, StreamLearner, leads
from similitude.scikit import all_or_nothing, check_targets, tensors_for_tensors
from similitude.similarity import Similarity
from similitude.support import PairError, check_choice, check_integer, check_nonnegative, check_positive

ONLINE_LOSSES = ("logistic", "hinge", "perceptron")


class OnlineLearner(StreamLearner):
    """Stochastic gradient steps on a kernel, each of which is projected onto the span of a few kept objects.

    A subclass writes `_step`: what an object with given scores adds to the weights, for each output.
    """

    kernel: Any
    budget: int
    novelty: float
    lam: float
    n_seen_: int

    def _check_params(self) -> None:
        check_integer("budget", self.budget)
        check_nonnegative("novelty", self.novelty)
        check_nonnegative("lam", self.lam)

    def _begin_stream(self, X: Any) -> tuple[Similarity, Any, Encoding]:
        k, X, A = super()._begin_stream(X)
        self.dual_coef_ = np.zeros((0, len(getattr(self, "classes_", [None]))))
        self._inverse = np.zeros((0, 0))
        self.n_updates_ = 0
        return k, X, A

    def _learn_batch(self, k: Similarity, X: Any, A: Encoding, targets: Any) -> None:
        for i in range(count(A)):
            self._learn_encoded(k, take(X, np.array([i])), rows(A, np.array([i])), targets[i])

    def _learn_encoded(self, k: Similarity, x: Any, a: Encoding, target: Any) -> None:
        near = self._near(a)
        scores = near @ self.dual_coef_
        own = float(np.asarray(k.diagonal(a))[0])
        if not own >= 0 or not np.isfinite(own):
            raise PairError(self.n_seen_, self.n_seen_, f"K(x, x) = {own!r}: a kernel has finite values >= 0 there")
        rate = 1.0 / (own or 1.0)
        decay = 1.0 + self.lam * rate * self.n_seen_
        step = self._step(scores, target, rate / decay)
        if getattr(self, "loss", "squared") != "perceptron":
            self.dual_coef_ *= 1.0 - self.lam * rate / decay
        if step.any():
            self._add(k, x, a, near, own, step)
            self.n_updates_ += 1
        self.n_seen_ += 1

    def _add(self, k: Similarity, x: Any, a: Encoding, near: np.ndarray, own: float, step: np.ndarray) -> None:
        """Add a step in the direction of an object, which is kept if it is new and there is room, or projected."""
        inside = self._inverse @ near
        outside = own - float(near @ inside)
        full = len(self.support_) >= self.budget
        if full or outside <= max(self.novelty, 1e-10) * own:
            self.dual_coef_ += np.outer(inside, step)
            return
        self._keep_more(k, x, a, np.array([self.n_seen_]))
        self.dual_coef_ = np.vstack([self.dual_coef_, step])
        corner = np.append(-inside, 1.0)
        self._inverse = np.pad(self._inverse, (0, 1)) + np.outer(corner, corner) / outside


class OnlineKernelClassifier(StreamClassifier, OnlineLearner):
    r"""Classify objects of a stream of any length, with a bounded number of kept objects.

    Every object is compared with the kept ones only, and takes a gradient step of the loss. The step is projected
    onto their span unless the object itself is kept, so that nothing learned is forgotten. (Orabona, Keshet and Caputo,
    "The Projectron", 2008; Wang, Crammer and Vucetic, "Breaking the Curse of Kernelization", 2012.)

    Parameters
    ----------
    kernel : Similarity, str or callable
        Must be PSD. Data-dependent parameters are resolved on the first batch.
    loss : {"logistic", "hinge", "perceptron"}
        ``"logistic"``: the scores are log odds, up to a constant. ``"hinge"``: a step if the class is not ahead of all
        others by 1. ``"perceptron"``: a step of length 1 on each mistake, without a penalty; this is the Projectron.
    budget : int
        The largest number of kept objects. A prediction takes as many calls of the kernel at most.
    novelty : float
        The share of :math:`|\phi(x)|^2` that must lie outside of the span of the kept objects for x to be kept.
    lam : float
        Strength of the penalty :math:`\lambda / 2 |w|^2`. The rate of step t is :math:`r / (1 + \lambda r t)` with
        :math:`r = 1 / K(x, x)`.
    engine : Engine, optional

    Attributes
    ----------
    classes_ : array
    support_, support_objects_, dual_coef_
        Positions in the stream of the kept objects, these, and their weights for each class.
    n_seen_, n_updates_ : int
        The number of objects so far, and of those that changed the model.
    kernel_, validity_
        The kernel with data-dependent parameters resolved; whether it is known to be PSD.

    Examples
    --------
    >>> from similitude.kernels import Gaussian
    >>> from similitude.learners import OnlineKernelClassifier
    >>> model = OnlineKernelClassifier(Gaussian(1.0), budget=10)
    >>> for x, y in [([0.0, 0.0], False), ([1.0, 0.0], True), ([0.0, 1.0], True), ([1.0, 1.0], False)] * 20:
    ...     model = model.learn_one(x, y)
    >>> model.predict_one([0.1, 0.9]), len(model.support_)
    (True, 4)
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        loss: str = "logistic",
        budget: int = 200,
        novelty: float = 0.01,
        lam: float = 1e-4,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.loss = loss
        self.budget = budget
        self.novelty = novelty
        self.lam = lam
        self.engine = engine

    def _check_params(self) -> None:
        super()._check_params()
        check_choice("loss", self.loss, ONLINE_LOSSES)

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> OnlineKernelClassifier:
        """Learn from objects in their order, once, and forget what was learned before.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        """
        self._check_params()
        self._refuse_precomputed("fit")
        X, codes = self._labeled(X, y)
        self._learn_batch(*self._begin_stream(X), codes)
        return self

    def _step(self, scores: np.ndarray, target: Any, rate: float) -> np.ndarray:
        own = np.zeros(len(scores))
        own[target] = 1.0
        if self.loss == "logistic":
            return rate * (own - softmax(scores))
        others = np.where(own > 0, -np.inf, scores)
        other = int(others.argmax())
        lead = scores[target] - others[other]
        own[other] = -1.0
        if self.loss == "perceptron":
            return own * (lead <= 0)
        return rate * own * (lead < 1)

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object: the lead of the second of two classes, or one score for each of several.

        Parameters
        ----------
        X : sequence of objects
        """
        return leads(self._weighted(X))

    def _scores_of_one(self, A: Encoding) -> Any:
        return leads(self._near(A)[None] @ self.dual_coef_)[0]


class OnlineKernelRegressor(RegressorMixin, OnlineLearner):
    """Predict numbers for objects of a stream of any length, with a bounded number of kept objects.

    As :class:`OnlineKernelClassifier`, with steps of the squared loss on what the running mean of the targets leaves.

    Parameters
    ----------
    kernel, budget, novelty, lam, engine
        See :class:`OnlineKernelClassifier`.
    rate : float
        What the rate of the first step is multiplied by.

    Attributes
    ----------
    mean_ : float
        The mean of the targets so far.
    support_, support_objects_, dual_coef_, n_seen_, n_updates_, kernel_, validity_
        See :class:`OnlineKernelClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Gaussian
    >>> from similitude.learners import OnlineKernelRegressor
    >>> model, rng = OnlineKernelRegressor(Gaussian(1.0), budget=20), np.random.default_rng(0)
    >>> for x in rng.uniform(0, 6, 2000):
    ...     model = model.learn_one([x], np.sin(x))
    >>> bool(abs(model.predict_one([1.0]) - np.sin(1.0)) < 0.02)
    True
    """

    def __init__(
        self,
        kernel: Any = "auto",
        *,
        budget: int = 200,
        novelty: float = 0.01,
        lam: float = 1e-4,
        rate: float = 0.5,
        engine: Engine | None = None,
    ) -> None:
        self.kernel = kernel
        self.budget = budget
        self.novelty = novelty
        self.lam = lam
        self.rate = rate
        self.engine = engine

    def _check_params(self) -> None:
        super()._check_params()
        check_positive("rate", self.rate)

    @all_or_nothing
    def fit(self, X: Any, y: Any) -> OnlineKernelRegressor:
        """Learn from objects in their order, once, and forget what was learned before.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of float
        """
        self.__dict__.pop("n_seen_", None)
        return self.partial_fit(X, y)

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any) -> OnlineKernelRegressor:
        """Learn from the next objects of a stream.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of float
        """
        X = self._next_batch(X)
        targets = column_or_1d(check_targets(self, X, y), warn=True)
        if not hasattr(self, "n_seen_"):
            self.mean_ = 0.0
        self._learn_batch(*self._encoded_batch(X), targets)
        return self

    @all_or_nothing
    def learn_one(self, x: Any, y: float) -> OnlineKernelRegressor:
        """Learn from the next object of a stream.

        Parameters
        ----------
        x : object
        y : float
        """
        if not hasattr(self, "n_seen_"):
            return self.partial_fit(self._first_batch(x), [y])
        X, A = self._encode_one(x)
        self._learn_encoded(self.kernel_, X, A, check_targets(self, X, [y])[0])
        return self

    def _step(self, scores: np.ndarray, target: Any, rate: float) -> np.ndarray:
        self.mean_ += (target - self.mean_) / (self.n_seen_ + 1)
        return self.rate * rate * (target - self.mean_ - scores)

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the prediction for every object.

        Parameters
        ----------
        X : sequence of objects
        """
        return self._weighted(X)[:, 0] + self.mean_

    def predict_one(self, x: Any) -> float | None:
        """Return the prediction for one object, or None before any training."""
        if not hasattr(self, "n_seen_"):
            return None
        return float((self._near(self._encode_one(x)[1]) @ self.dual_coef_)[0] + self.mean_)

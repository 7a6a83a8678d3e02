"""SimilarityClassifier: classes from similarities to landmarks."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import check_consistent_length, column_or_1d

from similitude.compute.encodings import as_numpy, is_tensor
from similitude.compute.engines import Engine
from similitude.estimators.base import LandmarkEstimator
from similitude.estimators.distributed import lazily
from similitude.estimators.explanation import Explanation
from similitude.estimators.online import next_batch
from similitude.estimators.targets import Classes, codes
from similitude.learners.calibration import probabilities, temperature
from similitude.learners.kernel_learner import check_labels, check_weights
from similitude.linear import Linear, Trial, fit_classes
from similitude.scikit.estimator import all_or_nothing, tensors_for_tensors
from similitude.support.results import ESTIMATE, Estimate
from similitude.theory.intervals import clopper_pearson


class SimilarityClassifier(ClassifierMixin, LandmarkEstimator):
    """Classify objects of any kind by their similarities to landmarks.

    Landmarks are chosen, every object is described by its similarities to them, and a linear function of these is
    learned; the model keeps the landmarks and never the training set. Two representations lead there. A similarity that is a
    kernel (proven, or positive semi-definite on the landmarks) is projected: the features are coordinates in the span
    of the landmarks (Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional Mappings", Theorem 1). Any
    other, PSD or not, symmetric or not, goes in as it is: the features are the similarities themselves (Balcan and
    Blum, "On a Theory of Learning with Similarity Functions", Theorem 2). ``representation_`` says which and why.

    Parameters
    ----------
    similarity : Similarity, str, callable, or a list of these
        Anything that says how alike two objects are. ``"precomputed"``: X is the matrix K(train, train) in ``fit``
        and K(new, train) afterwards. Several: their features stand side by side, each divided by its root mean square
        length (Balcan and Blum, Theorem 3). A scale that was left open (``sigma="median"``) is chosen among a quarter,
        a half, one, two and four times the median.
    landmarks : str or sequence of objects
        A rule (``uniform stratified kmeans++ rpcholesky leverage diverse``) or the objects themselves. ``"auto"``:
        uniform for proven kernels, otherwise from each class its share.
    landmark_indices : sequence of int, optional
        Positions in X to use as landmarks.
    n_landmarks : int or "auto"
        ``"auto"``: from 100 (20 for each class if that is more), twice as many as long as held-out examples gain more
        than one standard error by it, up to 2,400, up to half of the examples where these are many, and as memory
        allows.
    loss : {"auto", "squared", "logistic", "squared_hinge"}
        The loss of the linear model. ``"squared"``: least squares on the codes -1 and +1, in one pass over the
        similarities. ``"auto"``: squared, or squared hinge with ``penalty="l1"``.
    penalty : {"l2", "l1"}
        ``"l2"``: the squared length of the weights. ``"l1"``: the sum over landmarks of the length of their weights,
        so that few landmarks are kept, each of which serves all classes (Balcan, Blum and Srebro, "Improved guarantees
        for learning via similarity functions"); its loss is squared hinge or squared.
    side : {"auto", "left", "right", "both"}
        Which similarities: K(x, l), K(l, x) or both. ``"auto"``: both where they differ; with ``penalty="l1"`` K(x, l).
    unlabeled : sequence of objects, optional
        Draw landmarks from these instead of X: they need no labels.
    class_weight : dict or "balanced", optional
        Multiplies the weights of the examples of a class; balanced: each class weighs the same.
    random_state : int, optional
    engine : Engine, optional

    Attributes
    ----------
    classes_ : array
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
        The error on examples that the model was not fitted to, with an exact interval. Scale, landmarks and penalty
        were chosen on the same examples, so it is an estimate, not a certificate.
    lam_ : float
        The penalty, chosen by exact leave-one-out up to 5,000 examples and on a held-out part beyond.
    intercept_ : array
    n_similarity_calls_ : int
        The number of landmarks with a weight: what one prediction costs.

    Examples
    --------
    >>> from similitude import SimilarityClassifier
    >>> from similitude.data.datasets import iris
    >>> X, y = iris()
    >>> model = SimilarityClassifier().fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    >>> print(model.representation_.name)
    projection
    >>> words, kinds = ["kernel", "kerning", "kernels", "margin", "margins", "marginal"], ["k", "k", "k", "m", "m", "m"]
    >>> shared = SimilarityClassifier(lambda s, t: len(set(s) & set(t))).fit(words, kinds)
    >>> shared.predict(["kern", "margin."]).tolist()
    ['k', 'm']
    """

    _losses = ("squared", "logistic", "squared_hinge")

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
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.random_state = random_state
        self.engine = engine

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SimilarityClassifier:
        """Learn from labeled objects.

        Parameters
        ----------
        X : sequence of objects, or source
            A source (see :class:`similitude.sources.Source`: a memory map, a path, a dataset, a function of batches) is
            read twice: once to count and to draw a sample of 20,000 rows, on which all is chosen that has to be chosen,
            and once to compare. A dask array, dataframe or bag stays on its workers (see
            :class:`similitude.engines.DaskEngine`); predictions of one come back as a lazy array.
        y : sequence of labels
            Of a source also the name of a column; none where the source brings them.
        sample_weight : sequence of float, optional
            What the loss of each example is multiplied by.
        """
        self._check_params()
        self._forget_batches()
        fitted = self._fit_apart(X, y, sample_weight)
        if fitted is None:
            X = self._checked(X, reset=True)
            self.classes_, numbers = check_labels(self, X, y)
            weights = self._weights(numbers, sample_weight)
            fitted = self._train(X, codes(numbers, len(self.classes_)), weights, sample_weight, numbers)
        told, weights = fitted.judged
        self._judge(fitted.trial, self._numbered(told), weights)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> SimilarityClassifier:
        """Learn from a further batch of a stream.

        The first batch decides scale and landmarks; what follows adds to the moments of the features. Of each batch a
        fifth is held out, up to 5,000 in all, and the penalty that is best for these is taken. What `fit` learned
        before the first batch is forgotten.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        classes : sequence of labels, optional
            All that may occur; needed in the first call unless the first batch holds them all.
        sample_weight : sequence of float, optional
        """
        self._check_params()
        if isinstance(self.class_weight, str):
            raise ValueError("class_weight='balanced' needs all labels at once: give a dict of weights to partial_fit")
        first = not hasattr(self, "_so_far")
        X = self._checked(X, reset=first)
        if first:
            self.classes_ = np.unique(np.asarray(y if classes is None else classes))
            if len(self.classes_) < 2:
                raise ValueError("the first batch holds one class only: give all of them by classes=")
        elif classes is not None and not np.array_equal(self.classes_, np.unique(np.asarray(classes))):
            raise ValueError(f"classes were {self.classes_.tolist()} in the first batch: leave them out, or start anew")
        numbers = self._known(X, y)
        weights = self._weights(numbers, sample_weight)
        trial, judged = next_batch(self, X, codes(numbers, len(self.classes_)), weights, sample_weight, numbers)
        self._judge(trial, self._numbered(judged), np.ones(len(judged)))
        return self

    def _known(self, X: Any, y: Any) -> np.ndarray:
        """Return the class number of each label; refuse one that was not announced."""
        y = column_or_1d(as_numpy(y) if is_tensor(y) else y, warn=True)
        check_consistent_length(X, y)
        places = {label: number for number, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in y.tolist() if label not in places]
        if unknown:
            raise ValueError(f"label {unknown[0]!r} is not one of the classes {self.classes_.tolist()}")
        return np.array([places[label] for label in y.tolist()], dtype=np.intp)

    def _weights(self, numbers: np.ndarray, sample_weight: Any) -> np.ndarray:
        """Return the weight of each example, times that of its class."""
        weights = check_weights(sample_weight, len(numbers))
        weights = weights * self._class_weights(np.bincount(numbers, weights, minlength=len(self.classes_)))[numbers]
        missing = np.bincount(numbers, weights > 0, minlength=len(self.classes_)) == 0
        if missing.any() and not hasattr(self, "_so_far") and len(np.unique(numbers)) == len(self.classes_):
            name = self.classes_[missing].tolist()[0]
            raise ValueError(f"class {name!r} has examples of weight zero only: leave it out")
        return weights

    def _class_weights(self, totals: np.ndarray) -> np.ndarray:
        """Return what the weights of each class are multiplied by, given their sums."""
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            each = np.divide(totals.sum(), len(totals) * totals, out=np.zeros(len(totals)), where=totals > 0)
        else:
            each = compute_class_weight(self.class_weight, classes=self.classes_, y=self.classes_)
        if (each < 0).any():
            raise ValueError(f"class_weight holds {each.min()}: weights must not be negative")
        return np.asarray(each)

    def _reading(self) -> Classes:
        return Classes(self)

    def _numbered(self, coded: np.ndarray) -> np.ndarray:
        """Return the class numbers that codes stand for."""
        return self._decided(coded[:, 0] if coded.shape[1] == 1 else coded)

    def _fit_all(
        self, loss: str, penalty: str, F: Any, Y: np.ndarray, weights: np.ndarray
    ) -> tuple[Linear, Trial, np.ndarray]:
        return fit_classes(loss, penalty, F, self._numbered(Y), len(self.classes_), weights, self.random_state)

    def _judge(self, trial: Trial, numbers: np.ndarray, weights: np.ndarray) -> None:
        """Keep what held-out examples tell: the scale of probabilities, and the error."""
        scores = trial.scores[:, 0] if trial.scores.shape[1] == 1 else trial.scores
        counted = weights > 0
        self._temperature = 1.0 if self.loss_ == "logistic" else temperature(scores, numbers, weights)
        wrong = int((self._decided(scores) != numbers)[counted].sum())
        low, high = clopper_pearson(wrong, int(counted.sum()))
        self.held_out_error_ = Estimate(wrong / max(1, int(counted.sum())), float(low), float(high), 0.95, ESTIMATE)

    @staticmethod
    def _decided(scores: np.ndarray) -> np.ndarray:
        return (scores >= 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)

    @lazily
    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of every object: one number for two classes, one per class for several.

        Parameters
        ----------
        X : sequence of objects
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @lazily
    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return the class of every object.

        Parameters
        ----------
        X : sequence of objects
        """
        decided = self._decided(as_numpy(self.decision_function(X)))
        return self.classes_[decided]

    @lazily
    @tensors_for_tensors
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; the largest belongs to the predicted class.

        The scores under the logistic loss are log odds; those of the others are multiplied by one number, the best for
        examples that the model was not fitted to.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n, classes)
        """
        return probabilities(as_numpy(self.decision_function(X)), self._temperature)

    def explain(self, X: Any) -> list[Explanation]:
        """Return for every object the landmarks that drove its prediction, with what each added to the score.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        list of Explanation
            For two classes the score of ``classes_[1]``, for several that of the predicted class.
        """
        scores = as_numpy(self.decision_function(X))
        decided = self._decided(scores)
        columns = np.zeros(len(decided), dtype=np.intp) if scores.ndim == 1 else decided
        return self._explain(X, self.classes_[decided], columns)

"""Base classes of learners whose model is a weighted sum of similarities to training objects, and their Gram matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_consistent_length, column_or_1d

from similitude.compute import (
    BlockTask,
    Encoding,
    as_numpy,
    as_objects,
    check_fits,
    check_objects,
    count,
    in_precision,
    is_sparse,
    is_table,
    itemsize,
    join,
    namespace,
    rows,
    take,
)
from similitude.compute.engines import Engine
from similitude.scikit import (
    CHECKED_OBJECTS,
    ScoreClassifier,
    SimilarityEstimator,
    all_or_nothing,
    check_labels,
    class_codes,
    demand_valid,
    proven,
    refuse_known,
    tensors_for_tensors,
    whole_gram,
)
from similitude.similarity import Similarity, as_similarity
from similitude.support import UnresolvedError, brief, check_integer, generator, pairs_at
from similitude.validity import Validity, check_gram


class KernelLearner(SimilarityEstimator):
    """A learner whose model is a weighted sum of similarities to the training objects with a nonzero coefficient."""

    classes_: np.ndarray

    def _labeled(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return validated objects and their class numbers; set ``classes_``."""
        X = self._checked(X, reset=True)
        self.classes_, codes = check_labels(self, X, y)
        return X, codes

    def _signs(self, codes: np.ndarray) -> np.ndarray:
        """Return -1.0 and +1.0: one column for two classes, one column per class for several."""
        return class_codes(codes, len(self.classes_)).astype(np.float64)

    def _keep(self, X: Any, A: Encoding, coefficients: np.ndarray) -> None:
        """Keep the objects with a nonzero coefficient, given coefficients of shape (n,) or (n, outputs)."""
        self.support_ = np.unique(np.nonzero(coefficients)[0])
        self.support_objects_ = take(X, self.support_)
        self.dual_coef_ = coefficients[self.support_]
        self._support = rows(A, self.support_)

    def _weighted(self, X: Any) -> np.ndarray:
        """Return sum_j a_j K(x, x_j) over the kept objects in float64, computed in tiles."""
        return self._sums(*self._ask(X))

    def _sums(self, k: Similarity, A: Encoding) -> np.ndarray:
        if not len(self.support_):
            return np.zeros((count(A), *self.dual_coef_.shape[1:]))
        products = k.blocks(A, self._support, self._engine).times(self.dual_coef_)
        return as_numpy(products).astype(np.float64, copy=False)


class ScoreOutliers(OutlierMixin):
    """A detector of outliers by ``score_samples`` below ``offset_``."""

    score_samples: Callable[[Any], Any]
    offset_: float

    @tensors_for_tensors
    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score minus ``offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    @tensors_for_tensors
    def predict(self, X: Any) -> np.ndarray:
        """Return -1 for outliers, whose decision function is negative, and 1 for others."""
        return np.where(as_numpy(self.decision_function(X)) >= 0, 1, -1)


class StreamLearner(KernelLearner):
    """A learner whose model grows with a stream of objects.

    A subclass writes `_check_params`, `_learn_batch` (encoded objects and their targets or class numbers) and
    `_learn_encoded` (one of them).
    """

    kernel_: Any
    n_seen_: int

    def _refuse_precomputed(self, method: str) -> None:
        if self._precomputed:
            raise ValueError(
                f"{method} needs the objects of a stream, a precomputed matrix has none: use the kernel "
                f"Precomputed(M), with row numbers as objects"
            )

    def _as_batch(self, x: Any) -> Any:
        if self._kind() != "vectors":
            return [x]
        if is_sparse(x):
            return x
        return np.atleast_1d(np.asarray(x))[None]

    def _encode_one(self, x: Any) -> tuple[Any, Encoding]:
        self._refuse_precomputed("one object at a time")
        X = self._as_batch(x)
        if self._kind() == "vectors" and X.shape != (1, self.n_features_in_):
            raise ValueError(f"x has shape {X.shape[1:]}, expected one vector of {self.n_features_in_} features")
        return X, self.kernel_.encode(X)

    def _near(self, a: Encoding) -> np.ndarray:
        """Return the similarities of one encoded object to the kept ones, without the machinery of a batch."""
        if not len(self.support_):
            return np.zeros(0)
        with pairs_at(np.array([self.n_seen_]), self.support_):
            return np.asarray(BlockTask(self.kernel_)(a, self._support), np.float64)[0]

    def _first_batch(self, x: Any) -> Any:
        """Return the first object of a stream as a batch; refuse a kernel with parameters to resolve on data."""
        self._refuse_precomputed("learn_one")
        waiting = as_similarity(self.kernel).unresolved()
        if waiting:
            raise UnresolvedError(
                f"{', '.join(waiting)} of {self.kernel!r} cannot be resolved from one object: give a number, or begin "
                f"with partial_fit on a first batch"
            )
        return self._as_batch(x)

    def _next_batch(self, X: Any) -> Any:
        self._check_params()
        self._refuse_precomputed("partial_fit")
        return self._checked(X, reset=not hasattr(self, "n_seen_"))

    def _encoded_batch(self, X: Any) -> tuple[Similarity, Any, Encoding]:
        """Return the kernel, a validated batch and its encoding; the first batch begins the stream."""
        if hasattr(self, "n_seen_"):
            return self.kernel_, X, self.kernel_.encode(X)
        return self._begin_stream(X)

    def _begin_stream(self, X: Any) -> tuple[Similarity, Any, Encoding]:
        """Resolve the kernel on a first batch, and start with no kept objects."""
        k, X, A = self._start(X, kernel=True)
        self.support_ = np.empty(0, np.intp)
        self.support_objects_ = take(X, self.support_)  # shows how objects are stored
        self._support = rows(A, self.support_)
        self.n_seen_ = 0
        return k, X, A

    def _keep_more(self, k: Similarity, X: Any, A: Encoding, positions: np.ndarray) -> None:
        self.support_objects_ = _appended(self.support_objects_, X)
        self._support = _appended(self._support, A) if _can_grow(A) else k.encode(self.support_objects_)
        self.support_ = np.concatenate([self.support_, positions])


Classifier = TypeVar("Classifier", bound="StreamClassifier")


class StreamClassifier(ScoreClassifier, StreamLearner):
    """A classifier whose model grows with a stream; `_scores_of_one` is ``decision_function`` of an encoded object."""

    @all_or_nothing
    def partial_fit(self: Classifier, X: Any, y: Any, classes: Any = None) -> Classifier:
        """Learn from the next objects of a stream, once.

        Data-dependent parameters of the kernel, such as ``sigma="median"``, are resolved on the first batch.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        classes : sequence of labels
            All classes of the stream; required in the first call.
        """
        X = self._next_batch(X)
        if classes is None and not hasattr(self, "classes_"):
            raise ValueError("classes must be passed on the first call to partial_fit: all labels that may ever come")
        if classes is not None:
            self._declare(classes)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        unknown = np.flatnonzero(~np.isin(y, self.classes_))
        if len(unknown):
            raise ValueError(f"y holds {brief(y[unknown[0]])}, which is none of the classes {brief(self.classes_)}")
        self._learn_batch(*self._encoded_batch(X), np.searchsorted(self.classes_, y))
        return self

    @all_or_nothing
    def learn_one(self: Classifier, x: Any, y: Any, classes: Any = None) -> Classifier:
        """Learn from the next object of a stream.

        Parameters
        ----------
        x : object
            One vector, string, graph, ….
        y : label
        classes : sequence of labels
            All classes of the stream; required in the first call unless `y` is True or False.
        """
        if not hasattr(self, "n_seen_"):
            if classes is None and isinstance(y, (bool, np.bool_)):
                classes = [False, True]
            return self.partial_fit(self._first_batch(x), [y], classes)
        if classes is not None:
            self._declare(classes)
        known = self.classes_.tolist()
        if y not in known:
            raise ValueError(f"y is {brief(y)}, which is none of the classes {brief(self.classes_)}")
        X, A = self._encode_one(x)
        self._learn_encoded(self.kernel_, X, A, known.index(y))
        return self

    def predict_one(self, x: Any) -> Any:
        """Return the class of one object, or None before any training."""
        if not hasattr(self, "n_seen_"):
            return None
        score = self._scores_of_one(self._encode_one(x)[1])
        which = score.argmax()
        if score.ndim == 0:
            which = score >= 0
        return self.classes_.tolist()[int(which)]

    def _declare(self, classes: Any) -> None:
        given = np.unique(column_or_1d(classes))
        if len(given) < 2:
            raise ValueError(f"{type(self).__name__} needs at least two classes, got {brief(classes)}")
        if hasattr(self, "classes_") and not np.array_equal(given, self.classes_):
            raise ValueError(f"classes are {brief(given)}, but earlier calls had {brief(self.classes_)}")
        self.classes_ = given


def _appended(objects: Any, more: Any) -> Any:
    """Return objects or encodings followed by more; objects that come in another container become a list."""
    if isinstance(objects, tuple):
        return tuple(map(_appended, objects, more))
    if isinstance(objects, np.ndarray):
        more = more.toarray() if is_sparse(more) else np.array(more)  # a copy, which later changes of x leave alone
    if not count(objects):
        return more
    if type(objects) is type(more) or is_sparse(objects):
        return join(objects, more)
    return [*as_objects(objects), *as_objects(more)]


def _can_grow(encoding: Encoding) -> bool:
    """Whether two encodings of this kind can be joined: a user's own class cannot."""
    if isinstance(encoding, tuple):
        return all(map(_can_grow, encoding))
    return isinstance(encoding, list) or hasattr(encoding, "shape") or is_table(encoding)


@dataclass(frozen=True)
class Objects:
    """Some of the training objects, with a resolved kernel."""

    kernel: Similarity
    objects: Any  # all training objects
    encoding: Encoding  # of all of them
    used: np.ndarray  # positions of the objects in the Gram matrix
    engine: Engine

    def gram(self) -> tuple[Any, float, Validity]:
        """Return the Gram matrix in float64, the machine epsilon of its values, and the verdict on the kernel.

        It is a tensor if the engine computes on a device with room for it and a copy. A kernel without a proof is
        checked on the values themselves, for at most 500 objects and for the worst pair of all, so that a user's
        function is called once per pair.
        """
        k = self.kernel
        n = len(self.used)
        refuse_known(k)
        check_fits(n, n, 8, self.engine)
        A = self.encoding
        if n < check_objects(self.objects):
            A = rows(A, self.used)
        size = itemsize(A)
        if k.hints.on_tensors:
            A = self.engine.to_device(A, reserve=16 * n * n)
        values = k.blocks(A, engine=self.engine).whole()
        eps = rounding_error(min(itemsize(values), size))
        validity = proven(k)
        if validity is not None:
            values = in_precision(values, namespace(values).float64)
            return self.engine.to_device(values, reserve=8 * n * n), eps, validity
        values = as_numpy(values)
        K = values.astype(np.float64, copy=False)
        some = np.sort(generator(0).permutation(n)[:CHECKED_OBJECTS])
        validity = self._demand(values[np.ix_(some, some)], self.used[some])
        lengths = np.sqrt(np.maximum(K.diagonal(), 0.0))
        for suspicion in (np.abs(K - K.T), np.abs(K) - lengths[:, None] * lengths):
            pair = np.unique(np.unravel_index(suspicion.argmax(), suspicion.shape))
            self._demand(values[np.ix_(pair, pair)], self.used[pair])
        return self.engine.to_device(0.5 * K + 0.5 * K.T, reserve=8 * n * n), eps, validity

    def refuse_negative(self, direction: np.ndarray) -> None:
        """Raise NotAKernelError if there is a witness among the objects with the largest entries of an eigenvector."""
        if not proven(self.kernel):
            some = self.used[np.sort(np.argsort(-np.abs(direction.astype(float)), kind="stable")[:200])]
            few = rows(self.encoding, some)
            self._demand(as_numpy(whole_gram(self.kernel, few, self.engine)), some)

    def _demand(self, values: np.ndarray, positions: np.ndarray) -> Validity:
        """Return the verdict by the Gram matrix of objects at some positions; raise NotAKernelError at a witness."""
        n = check_objects(self.objects)
        with np.errstate(over="ignore"):  # sums of values near the largest number
            return demand_valid(check_gram(self.kernel, values, take(self.objects, positions), positions, n))


def rounding_error(size: int) -> float:
    """Return the machine epsilon of numbers of 4 or 8 bytes."""
    return float(np.finfo(f"float{8 * size}").eps)


def check_at_most(name: str, value: Any, n: int, otherwise: str = "", *, without_itself: bool = False) -> int:
    """Validate a number of objects, clusters or landmarks among n objects."""
    value = check_integer(name, value, otherwise=otherwise)
    if value > n - without_itself:
        besides = " besides the object itself" * without_itself
        raise ValueError(f"{name} = {value} is more than there are objects{besides} (n_samples = {n})")
    return value


def without_single_column(values: np.ndarray) -> np.ndarray:
    """Return a matrix, or a vector if it has one column."""
    if values.shape[1] == 1:
        return values[:, 0]
    return values


def leads(scores: np.ndarray) -> np.ndarray:
    """Return the scores of several classes, or of two how far the second is ahead."""
    if scores.shape[1] == 2:
        return scores[:, 1] - scores[:, 0]
    return scores


def scalar_or_array(values: Sequence[Any]) -> Any:
    """Return a figure of each binary problem: the only value, or an array of several."""
    if len(values) == 1:
        return values[0]
    return np.array(values)

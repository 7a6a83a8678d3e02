"""StreamLearner, the base class of learners that take one object after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_consistent_length, column_or_1d

from similitude.compute import Encoding, as_objects, count, is_sparse, is_table, join
from similitude.learners.kernel_learner import KernelLearner
from similitude.similarity import as_similarity
from similitude.support import UnresolvedError, brief


class StreamLearner(KernelLearner):
    """A learner whose model grows with a stream of objects."""

    classes_: np.ndarray

    def _codes(self, X: Any, y: Any, classes: Any) -> np.ndarray:
        """Return the class numbers of labels in a stream; the first call declares the classes."""
        if classes is None and not hasattr(self, "classes_"):
            raise ValueError("classes must be passed on the first call to partial_fit: all labels that may ever come")
        if classes is not None:
            self._declare(classes)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        unknown = np.flatnonzero(~np.isin(y, self.classes_))
        if len(unknown):
            raise ValueError(f"y holds {brief(y[unknown[0]])}, which is none of the classes {brief(self.classes_)}")
        return np.searchsorted(self.classes_, y)

    def _declare(self, classes: Any) -> None:
        given = np.unique(column_or_1d(classes))
        if len(given) < 2:
            raise ValueError(f"{type(self).__name__} needs at least two classes, got {brief(classes)}")
        if hasattr(self, "classes_") and not np.array_equal(given, self.classes_):
            raise ValueError(f"classes are {brief(given)}, but earlier calls had {brief(self.classes_)}")
        self.classes_ = given

    def _refuse_precomputed(self, method: str) -> None:
        if self._precomputed:
            raise ValueError(
                f"{method} needs the objects of a stream, a precomputed matrix has none: use the kernel "
                f"Precomputed(M), with row numbers as objects"
            )

    def _as_batch(self, x: Any) -> Any:
        """Return one object as a batch of one."""
        if self._kind() != "vectors":
            return [x]
        return x if is_sparse(x) else np.atleast_1d(np.asarray(x))[None]

    def _encode_one(self, x: Any) -> tuple[Any, Encoding]:
        self._refuse_precomputed("one object at a time")
        X = self._as_batch(x)
        if self._kind() == "vectors" and X.shape != (1, self.n_features_in_):
            raise ValueError(f"x has shape {X.shape[1:]}, expected one vector of {self.n_features_in_} features")
        return X, self.kernel_.encode(X)

    def _demand_resolved(self) -> None:
        """Refuse to begin with one object if the kernel has a parameter that depends on the data."""
        waiting = as_similarity(self.kernel).unresolved()
        if waiting:
            raise UnresolvedError(
                f"{', '.join(waiting)} of {self.kernel!r} cannot be resolved from one object: give a number, or begin "
                f"with partial_fit on a first batch"
            )


def appended(objects: Any, more: Any) -> Any:
    """Return objects or encodings followed by more; objects that come in another container become a list."""
    if isinstance(objects, tuple):
        return tuple(map(appended, objects, more))
    if isinstance(objects, np.ndarray):
        more = more.toarray() if is_sparse(more) else np.array(more)  # a copy, which later changes of x leave alone
    if not count(objects):
        return more
    if type(objects) is type(more) or is_sparse(objects):
        return join(objects, more)
    return [*as_objects(objects), *as_objects(more)]


def can_grow(encoding: Encoding) -> bool:
    """Tell whether two encodings of this kind can be joined: a user's own class cannot."""
    if isinstance(encoding, tuple):
        return all(map(can_grow, encoding))
    return isinstance(encoding, list) or hasattr(encoding, "shape") or is_table(encoding)

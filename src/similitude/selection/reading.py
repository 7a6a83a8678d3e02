"""What the user brings: several similarities, objects, and targets that say whether classes or numbers are learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import as_matrix
from similitude.estimators.targets import class_codes
from similitude.scikit import read_labels
from similitude.similarity import Similarity, as_similarity
from similitude.support.errors import ExpressionError, NotAKernelError, PairError, brief

CLASSIFICATION, REGRESSION = "classification", "regression"


@dataclass(frozen=True, eq=False)
class Named:
    """A similarity and what it is called."""

    name: str
    similarity: Similarity

    def resolved(self, X: Any, random_state: Any) -> Named:
        """Return it with what data had to fix; one that was not named by its user is called by what it is then."""
        if not self.similarity.unresolved():
            return self
        with speaking_of(self.name):
            k = self.similarity.resolve(objects_for(self.similarity, X), random_state)
        return Named(repr(k) if self.name == repr(self.similarity) else self.name, k)


def read_similarities(given: Any, what: str) -> list[Named]:
    """Return several similarities with their names, checked; `what` is what the user calls them."""
    several = isinstance(given, (Sequence, Mapping)) and not isinstance(given, (str, bytes))
    if not several:
        raise TypeError(f"{what} must be a list of similarities, or a dict of them by name, got {brief(given)}")
    if not given:
        raise ValueError(f"{what} is empty: give one similarity at least")
    pairs = list(given.items()) if isinstance(given, Mapping) else [(None, one) for one in given]
    found = []
    for place, (name, one) in enumerate(pairs):
        with speaking_of(f"number {place}" if name is None else str(name)):
            if isinstance(one, str) and one == "precomputed":
                raise ValueError("'precomputed' stands alone: use Precomputed(M), with indices as objects")
            k = as_similarity(one)
            k.check_params()
            found.append(Named(repr(k) if name is None else str(name), k))
    _refuse_different_kinds(found, what)
    return found


def _refuse_different_kinds(found: Sequence[Named], what: str) -> None:
    first: dict[str, Named] = {}
    for one in found:
        if one.similarity.objects != "any":
            first.setdefault(one.similarity.objects, one)
    if len(first) > 1:
        listed = " and ".join(f"{one.name} takes {kind}" for kind, one in list(first.items())[:2])
        raise ValueError(f"{what} must all take the same kind of objects, but {listed}")


def distinct(named: Sequence[Named]) -> list[Named]:
    """Number those that bear the name of an earlier one.

    >>> from similitude.kernels import Linear
    >>> [one.name for one in distinct([Named("a", Linear()), Named("a", Linear())])]
    ['a', 'a (2)']
    """
    seen: dict[str, int] = {}
    answer = []
    for one in named:
        seen[one.name] = seen.get(one.name, 0) + 1
        answer.append(one if seen[one.name] == 1 else replace(one, name=f"{one.name} ({seen[one.name]})"))
    return answer


@contextmanager
def speaking_of(name: str) -> Iterator[None]:
    """Let an error say which similarity it is about."""
    try:
        yield
    except PairError as error:
        raise PairError(error.i, error.j, f"similarity {name}: {error.problem}") from error.__cause__
    except NotAKernelError as error:
        raise NotAKernelError(f"similarity {name}: {error.problem}", error.witness) from error.__cause__
    except (TypeError, ValueError, IndexError) as error:
        if type(error) not in (TypeError, ValueError, IndexError, ExpressionError):
            raise
        raise type(error)(f"similarity {name}: {error}") from error


def objects_for(k: Similarity, X: Any) -> Any:
    """Return X as an estimator would give it to a similarity: as a matrix where it takes vectors."""
    return as_matrix(X) if k.objects == "vectors" else X


@dataclass(frozen=True, eq=False)
class Targets:
    """What is to be predicted.

    Attributes
    ----------
    task : {"classification", "regression"}
    values : array
        Labels or numbers as given.
    Y : array of shape (n, k)
        What is fitted: -1 and +1, one column for two classes and one per class for several; or the numbers.
    classes : array or None
    numbers : array of int, or None
        The class of each example.
    """

    task: str
    values: np.ndarray
    Y: np.ndarray
    classes: np.ndarray | None = None
    numbers: np.ndarray | None = None

    @classmethod
    def of(cls, y: Any, n: int, task: str | None = None) -> Targets:
        """Read the targets of n examples; without a task, scikit-learn's ``type_of_target`` decides what they are."""
        values = _values(y, n)
        kind = _kind(values) if task is None else _kind_for(values, task)
        if kind in ("continuous", "continuous-multioutput"):
            return cls(REGRESSION, values, (values[:, None] if values.ndim == 1 else values).astype(np.float64))
        if kind not in ("binary", "multiclass"):
            raise ValueError(f"y must be classes or numbers, one for each example; this is {kind}: {brief(values)}")
        try:
            classes, numbers = np.unique(values, return_inverse=True)
        except TypeError as error:
            raise TypeError(f"the labels y are of kinds that cannot be put in order: {error}") from error
        if len(classes) < 2:
            raise ValueError(f"two classes at least are needed, y holds one: {brief(classes[0].item())}")
        return cls(CLASSIFICATION, values, class_codes(numbers, len(classes)), classes, numbers)

    def __len__(self) -> int:
        return len(self.Y)

    def only(self, which: np.ndarray) -> Targets:
        """Return those of some examples."""
        numbers = None if self.numbers is None else self.numbers[which]
        return replace(self, values=self.values[which], Y=self.Y[which], numbers=numbers)

    def errors(self, scores: np.ndarray, which: np.ndarray) -> np.ndarray:
        """Return what scores get wrong of some examples: 0 or 1, or the squared error."""
        if self.numbers is None:
            squared: np.ndarray = ((scores - self.Y[which]) ** 2).sum(axis=1)
            return squared
        decided = scores[:, 0] >= 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return (decided != self.numbers[which]).astype(np.float64)


def _values(y: Any, n: int) -> np.ndarray:
    """Return the targets as an array, one row for each of n examples; refuse missing ones."""
    if y is None:
        raise ValueError("y is None: a label or a number for each example is needed")
    values = np.asarray(y)
    if values.ndim < 2 or values.shape[1] == 1:
        labels = read_labels(values, n)
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            i = int(np.flatnonzero(~np.isfinite(labels))[0])
            raise ValueError(f"y holds {labels[i]} at example {i}: numbers must be finite")
        return np.array(labels.tolist()) if labels.dtype == object and _are_numbers(labels) else labels
    if len(values) != n:
        raise ValueError(f"X holds {n} examples and y {len(values)}: one row for each example is needed")
    if values.ndim == 2 and values.dtype.kind == "f" and not np.isfinite(values).all():
        i, j = (int(place) for place in np.argwhere(~np.isfinite(values))[0])
        raise ValueError(f"y holds {values[i, j]} at example {i}, column {j}: numbers must be finite")
    return values


def _are_numbers(labels: np.ndarray) -> bool:
    return all(isinstance(label, (bool, int, float, np.generic)) for label in labels)


def _kind_for(values: np.ndarray, task: str) -> str:
    """Return what such targets are for a task, or refuse them."""
    if task not in (CLASSIFICATION, REGRESSION):
        raise ValueError(f"task must be {CLASSIFICATION!r}, {REGRESSION!r} or None, got {task!r}")
    if task == REGRESSION and values.dtype.kind not in "fiub":
        raise ValueError(f"y holds {brief(values[0])}: regression needs numbers")
    if task == CLASSIFICATION and values.ndim > 1:
        raise ValueError("y has several columns: classification needs one label for each example")
    return "continuous" if task == REGRESSION else "multiclass"


def _kind(values: np.ndarray) -> str:
    """Return what scikit-learn calls such targets; Python objects of other kinds are labels."""
    from sklearn.utils.multiclass import type_of_target

    return "multiclass" if values.dtype == object and values.ndim == 1 else str(type_of_target(values, input_name="y"))

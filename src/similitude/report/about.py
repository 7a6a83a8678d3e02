"""What the data is: objects, labels, and what was taken for granted about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute.encodings import as_objects, check_columns, check_objects, is_table, take
from similitude.goodness import stratified
from similitude.scikit import read_labels
from similitude.similarity import Similarity
from similitude.similarity.adapters import Precomputed, as_similarity
from similitude.support.errors import brief
from similitude.support.randomness import generator
from similitude.support.results import Result

CLASSIFICATION, REGRESSION = "classification", "regression"

MANY_CLASSES = 100
"""Different whole numbers up to which they are taken for classes, if there are two examples of each on average."""

SHOWN = 6
"""Examples shown at the beginning."""


@dataclass(frozen=True)
class ClassCounts(Result):
    """The classes and how many examples each has.

    Attributes
    ----------
    classes : tuple
        The labels in order.
    counts : tuple of int
    """

    classes: tuple[Any, ...]
    counts: tuple[int, ...]

    def __str__(self) -> str:
        pairs = sorted(zip(self.classes, self.counts, strict=True), key=lambda pair: -pair[1])
        named = ", ".join(f"{label} ({count:,})" for label, count in pairs[:8])
        return f"{len(pairs)} classes: {named}" + (f" and {len(pairs) - 8} more" if len(pairs) > 8 else "")


@dataclass(frozen=True)
class NumberSummary(Result):
    """Numbers to be predicted, in short.

    Attributes
    ----------
    smallest, lower_quartile, median, upper_quartile, largest : float
    mean, deviation : float
    """

    smallest: float
    lower_quartile: float
    median: float
    upper_quartile: float
    largest: float
    mean: float
    deviation: float

    def __str__(self) -> str:
        return (
            f"numbers from {self.smallest:.4g} to {self.largest:.4g}, median {self.median:.4g}, "
            f"mean {self.mean:.4g}, standard deviation {self.deviation:.4g}"
        )


@dataclass(frozen=True)
class Item(Result):
    """One example.

    Attributes
    ----------
    index : int
        Its position in X.
    object : object
    label : label or float
    """

    index: int
    object: Any
    label: Any

    def __str__(self) -> str:
        return f"X[{self.index}] = {brief(self.object)} ({self.label})"


@dataclass(frozen=True)
class About(Result):
    """What the data is.

    Attributes
    ----------
    title : str
    kind : str
        What the objects are: vectors, strings, graphs, series, sets, table, indices (of a matrix) or any.
    n : int
        How many there are.
    task : str
        classification or regression.
    labels : ClassCounts or NumberSummary
    similarity : str
        As it was given.
    names : tuple of str or None
        Of the columns of a table, or of the components of vectors.
    said : tuple of str
        What was inferred, sampled, held out or left out.
    examples : tuple of Item
        A few of the examples, of each class its share.
    """

    title: str
    kind: str
    n: int
    task: str
    labels: ClassCounts | NumberSummary
    similarity: str
    names: tuple[str, ...] | None
    said: tuple[str, ...]
    examples: tuple[Item, ...]

    def __str__(self) -> str:
        kind = {"any": "objects", "table": "rows of a table", "indices": "rows of a matrix"}.get(self.kind, self.kind)
        return f"{self.n:,} {kind}, {self.labels}"


@dataclass(frozen=True, eq=False)
class Subject:
    """What is investigated, read and checked.

    Attributes
    ----------
    similarity : Similarity
        As it was given.
    X : sequence of objects
    y : array
        Labels, or numbers in float64.
    task : str
    classes : array
        Empty for regression.
    codes : array of int
        The class of each example; zeros for regression.
    seed : int
    said : tuple of str
        What was inferred.
    """

    similarity: Similarity
    X: Any
    y: np.ndarray
    task: str
    classes: np.ndarray
    codes: np.ndarray
    seed: int
    said: tuple[str, ...]

    @property
    def n(self) -> int:
        """How many examples there are."""
        return len(self.y)

    @cached_property
    def resolved(self) -> Similarity:
        """The similarity with what data had to fix."""
        return self.similarity.resolve(self.X, self.seed) if self.similarity.unresolved() else self.similarity

    def rng(self) -> np.random.Generator:
        """Return a generator that draws the same every time."""
        return generator(self.seed)

    def sample(self, size: int) -> np.ndarray:
        """Return the positions of at most so many examples, of each class its share, in order."""
        if self.n <= size:
            return np.arange(self.n)
        return stratified(self.codes, size, self.rng(), least=1)

    def item(self, index: int) -> Item:
        """Return one example."""
        label = self.y[index]
        one = as_objects(take(self.X, np.array([index])))[0]
        return Item(int(index), one, plain_label(label))


def read(similarity: Any, X: Any, y: Any, task: str | None, random_state: Any) -> Subject:
    """Read what is to be investigated; everything that can be refused without computing a similarity is."""
    if isinstance(similarity, str) and similarity == "precomputed":
        if getattr(X, "ndim", 0) != 2 or X.shape[0] != X.shape[1]:
            raise ValueError("similarity='precomputed' needs X to be the square matrix of all pairs")
        similarity, X = Precomputed(X), np.arange(X.shape[0])
    k = as_similarity(similarity)
    k.check_params()
    n = check_objects(X)
    labels = read_labels(y, n)
    task, why = _task(labels, task)
    seed = _seed(random_state)
    if task == REGRESSION:
        numbers = _numbers(labels)
        return Subject(k, X, numbers, task, np.empty(0), np.zeros(n, int), seed, why)
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        labels = labels.astype(str)  # estimators take numbers with fractions for numbers to predict
    classes, codes = _classes(labels)
    return Subject(k, X, labels, task, classes, codes, seed, why)


def _seed(random_state: Any) -> int:
    """Return a whole number that gives the same again: None means 0, a generator is asked for one."""
    if random_state is None or isinstance(random_state, (int, np.integer)):
        return int(random_state or 0)
    return int(generator(random_state).integers(2**31))


def _task(labels: np.ndarray, asked: str | None) -> tuple[str, tuple[str, ...]]:
    """Return what is to be predicted, and how it was inferred."""
    if asked is not None:
        if asked not in (CLASSIFICATION, REGRESSION):
            raise ValueError(f"task must be {CLASSIFICATION!r} or {REGRESSION!r}, got {asked!r}")
        return asked, ()
    if labels.dtype.kind not in "fiu":
        return CLASSIFICATION, ()
    different = len(np.unique(labels))
    whole = bool(np.isfinite(labels).all() and (labels == np.floor(labels)).all())
    if whole and different <= min(MANY_CLASSES, max(len(labels) // 2, 2)):
        return CLASSIFICATION, (f"the {different} different whole numbers in y were taken for classes",)
    return REGRESSION, (f"the {different:,} different numbers in y were taken for numbers to predict, not classes",)


def _numbers(labels: np.ndarray) -> np.ndarray:
    try:
        numbers: np.ndarray = labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"task='regression' needs numbers, y holds {brief(labels.tolist())}") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(f"the number to predict of example {bad[0]} is {numbers[bad[0]]}: leave such examples out")
    if len(numbers) < 4:
        raise ValueError(f"four examples at least are needed, there are {len(numbers)}")
    if (numbers == numbers[0]).all():
        raise ValueError(f"all numbers to predict are {numbers[0]:g}: there is nothing to learn")
    return numbers


def _classes(labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    try:
        classes, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise TypeError(f"the labels y are of kinds that cannot be put in order: {error}") from error
    if len(classes) < 2:
        raise ValueError(f"two classes are needed, all {len(labels):,} labels are {brief(classes.tolist()[0])}")
    if (sizes >= 2).sum() < 2:
        raise ValueError("two classes with two examples each are needed: nothing can be held out of a single example")
    return classes, codes


def plain_label(label: Any) -> Any:
    """Return a label as a Python value."""
    return label.item() if isinstance(label, np.generic) else label


def called(similarity: Similarity) -> str:
    """Return what to call a similarity in a title: a user's function by its name.

    >>> from similitude import FromPairs
    >>> from similitude.kernels import Linear
    >>> called(FromPairs(max)), called(Linear())
    ('max', 'Linear()')
    """
    name = getattr(getattr(similarity, "f", None), "__name__", None)
    return name if name and name.isidentifier() else brief(similarity)


def describe(subject: Subject, title: str | None, names: Sequence[str] | None, said: tuple[str, ...]) -> About:
    """Return what there is to say of the data."""
    few = stratified(subject.codes, min(SHOWN, subject.n), subject.rng(), least=1)
    kind = kind_of(subject.similarity, subject.X)
    return About(
        title=title or f"Is {called(subject.similarity)} a good similarity for these labels?",
        kind=kind,
        n=subject.n,
        task=subject.task,
        labels=_summary(subject),
        similarity=repr(subject.similarity),
        names=_names(subject.X, names),
        said=said,
        examples=tuple(subject.item(i) for i in few),
    )


def kind_of(similarity: Similarity, X: Any) -> str:
    """Return what the objects are: as the similarity says, or as they look where it takes any."""
    if similarity.objects != "any":
        return similarity.objects
    if is_table(X):
        return "table" if len(check_columns(X)) > 1 else "any"
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        return "vectors"
    first = as_objects(take(X, np.array([0])))[0]
    kinds = {str: "strings", set: "sets", frozenset: "sets", dict: "table"}
    return next((kind for cls, kind in kinds.items() if isinstance(first, cls)), "any")


def _summary(subject: Subject) -> ClassCounts | NumberSummary:
    if subject.task == CLASSIFICATION:
        return ClassCounts(tuple(subject.classes.tolist()), tuple(np.bincount(subject.codes).tolist()))
    y = subject.y
    smallest, lower, median, upper, largest = (float(value) for value in np.quantile(y, [0.0, 0.25, 0.5, 0.75, 1.0]))
    return NumberSummary(smallest, lower, median, upper, largest, float(y.mean()), float(y.std()))


def _names(X: Any, names: Sequence[str] | None) -> tuple[str, ...] | None:
    known = tuple(str(name) for name in X.columns) if is_table(X) else None
    if names is None:
        return known
    width = X.shape[1] if getattr(X, "ndim", 0) == 2 else len(names)
    if width != len(names):
        raise ValueError(f"names holds {len(names)} names, X has {width} columns")
    return tuple(str(name) for name in names)

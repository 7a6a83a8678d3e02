"""A summary of the data: kind of objects, number of examples, labels, and a few examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import as_objects, check_columns, is_sparse, is_table, take
from similitude.goodness import stratified
from similitude.report.findings.inputs import Inputs, Item
from similitude.similarity import Similarity
from similitude.support import Result, brief


@dataclass(frozen=True)
class ClassCounts(Result):
    """The sorted classes and the number of examples of each."""

    classes: tuple[Any, ...]
    counts: tuple[int, ...]

    def largest_first(self) -> list[tuple[Any, int]]:
        """Return classes and counts, the largest class first."""
        return sorted(zip(self.classes, self.counts, strict=True), key=lambda pair: -pair[1])

    def __str__(self) -> str:
        pairs = self.largest_first()
        named = ", ".join(f"{label} ({count:,})" for label, count in pairs[:8])
        return f"{len(pairs)} classes: {named}" + (f" and {len(pairs) - 8} more" if len(pairs) > 8 else "")


@dataclass(frozen=True)
class NumberSummary(Result):
    """Summary statistics of the numbers to predict."""

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
class About(Result):
    """A summary of the data.

    Attributes
    ----------
    title : str
    kind : str
        The kind of objects: vectors, strings, graphs, series, sets, table, indices (of a matrix) or any.
    n : int
        The number of examples.
    task : {"classification", "regression"}
    labels : ClassCounts or NumberSummary
    similarity : str
        As given.
    names : tuple of str or None
        Column names of a table, or names of the components of vectors.
    notes : tuple of str
        What was inferred, sampled, held out or left out.
    examples : tuple of Item
        A few examples, stratified by class.
    image_shape : (int, int) or None
        Rows and columns of the images that vectors look like, or are said to be.
    """

    title: str
    kind: str
    n: int
    task: str
    labels: ClassCounts | NumberSummary
    similarity: str
    names: tuple[str, ...] | None
    notes: tuple[str, ...]
    examples: tuple[Item, ...]
    image_shape: tuple[int, int] | None = None

    def __str__(self) -> str:
        kind = {"any": "objects", "table": "rows of a table", "indices": "rows of a matrix"}.get(self.kind, self.kind)
        return f"{self.n:,} {kind}, {self.labels}"


def summarize(
    inputs: Inputs, title: str | None, names: Sequence[str] | None, image_shape: tuple[int, int] | None
) -> About:
    """Summarize the data; the notes are added at the end of an investigation."""
    kind = kind_of(inputs.similarity, inputs.X)
    few = stratified(inputs.codes, min(6, inputs.n), inputs.rng(), least=1)
    return About(
        title=title or _title(inputs, kind),
        kind=kind,
        n=inputs.n,
        task=inputs.task,
        labels=_labels(inputs),
        similarity="auto" if inputs.automatic else repr(inputs.similarity),
        names=_names(inputs.X, names),
        notes=(),
        examples=tuple(inputs.item(i) for i in few),
        image_shape=image_shape or (guess_image_shape(inputs.X, names) if kind == "vectors" else None),
    )


def _title(inputs: Inputs, kind: str) -> str:
    """Return a title that says what is predicted, and by which similarity."""
    objects = {"any": "objects", "table": "rows", "indices": "objects"}.get(kind, kind)
    what = inputs.label or (f"{len(inputs.classes)} classes" if inputs.of_classes else "a number")
    by = "a learned similarity" if inputs.automatic else short_name(inputs.similarity)
    return f"Predicting {what} of {inputs.n:,} {objects} by {by}"


def short_name(similarity: Similarity) -> str:
    """Return the name of a similarity for a title: that of the user's function, or a short repr.

    >>> from similitude import FromPairs
    >>> from similitude.kernels import Linear
    >>> short_name(FromPairs(max)), short_name(Linear())
    ('max', 'Linear()')
    """
    name = getattr(getattr(similarity, "f", None), "__name__", None)
    return name if name and name.isidentifier() else brief(similarity)


def kind_of(similarity: Similarity, X: Any) -> str:
    """Return the kind of the objects: the one the similarity takes or, if it takes any, the one of the first object."""
    if similarity.objects != "any":
        return similarity.objects
    if is_table(X):
        return "table" if len(check_columns(X)) > 1 else "any"
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "fiub":
        return "vectors"
    first = as_objects(take(X, np.array([0])))[0]
    kinds = {str: "strings", set: "sets", frozenset: "sets", dict: "table"}
    return next((kind for cls, kind in kinds.items() if isinstance(first, cls)), "any")


def _labels(inputs: Inputs) -> ClassCounts | NumberSummary:
    if inputs.of_classes:
        return ClassCounts(tuple(inputs.classes.tolist()), tuple(np.bincount(inputs.codes).tolist()))
    smallest, lower, median, upper, largest = np.quantile(inputs.y, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist()
    return NumberSummary(smallest, lower, median, upper, largest, float(inputs.y.mean()), float(inputs.y.std()))


def _names(X: Any, names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return tuple(str(name) for name in X.columns) if is_table(X) else None
    width = X.shape[1] if getattr(X, "ndim", 0) == 2 else len(names)
    if width != len(names):
        raise ValueError(f"names holds {len(names)} names, X has {width} columns")
    return tuple(str(name) for name in names)


def guess_image_shape(X: Any, names: Sequence[str] | None) -> tuple[int, int] | None:
    """Return the shape of square images if vectors look like some; None for vectors with names and any other objects.

    Rows of pixels make neighbors of components that are far apart in the vector: if both these and components that
    follow each other are correlated, more than any two are, the vectors are images; not if components half a row apart
    are correlated more than those a row apart, as in smooth curves.

    >>> from sklearn.datasets import load_digits
    >>> guess_image_shape(load_digits().data, None)
    (8, 8)
    >>> guess_image_shape(np.random.default_rng(0).normal(size=(100, 64)), None) is None
    True
    """
    if names is not None or is_sparse(X) or not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
        return None
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or not 6 <= side <= 64:
        return None
    some = X[:: -(-len(X) // 200)].astype(np.float64)
    if len(some) < 3 or not np.isfinite(some).all():
        return None
    spread = some.std(axis=0)
    varied = spread > 0
    scaled = np.where(varied, (some - some.mean(axis=0)) / np.where(varied, spread, 1.0), 0.0)
    pictures = scaled.reshape(-1, side, side)
    used = varied.reshape(side, side)
    across = _correlation(pictures[:, :, 1:], pictures[:, :, :-1], used[:, 1:] & used[:, :-1])
    down = _correlation(pictures[:, 1:], pictures[:, :-1], used[1:] & used[:-1])
    mixed = np.random.default_rng(0).permutation(X.shape[1])
    any_two = _correlation(scaled, scaled[:, mixed], varied & varied[mixed])
    half = side // 2
    half_a_row = _correlation(scaled[:, half:], scaled[:, :-half], varied[half:] & varied[:-half])
    return (side, side) if min(across, down) > max(0.2, any_two + 0.15) and down > half_a_row else None


def _correlation(A: np.ndarray, B: np.ndarray, used: np.ndarray) -> float:
    """Return the mean correlation of components, those that vary."""
    return float((A * B).mean(axis=0)[used].mean()) if used.any() else 0.0

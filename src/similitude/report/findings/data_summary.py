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
        return f"{len(pairs)} classes: {named}" + f" and {len(pairs) - 8} more" * (len(pairs) > 8)


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
    """A summary of the data."""

    title: str
    kind: str  # of objects: vectors, strings, graphs, series, sets, table, indices (of a matrix) or any
    n: int
    task: str
    labels: ClassCounts | NumberSummary
    similarity: str  # as given
    names: tuple[str, ...] | None  # column names of a table, or names of the components of vectors
    notes: tuple[str, ...]  # what was inferred, sampled, held out or left out
    examples: tuple[Item, ...]  # a few, stratified by class
    image_shape: tuple[int, int] | None = None  # rows and columns of the images that vectors look like

    def __str__(self) -> str:
        kind = {"any": "objects", "table": "rows of a table", "indices": "rows of a matrix"}.get(self.kind, self.kind)
        return f"{self.n:,} {kind}, {self.labels}"


def summarize(
    inputs: Inputs, title: str | None, names: Sequence[str] | None, image_shape: tuple[int, int] | None
) -> About:
    """Summarize the data; the notes are added at the end of an investigation."""
    kind = kind_of(inputs.similarity, inputs.X)
    objects = {"any": "objects", "table": "rows", "indices": "objects"}.get(kind, kind)
    labels: ClassCounts | NumberSummary
    if inputs.of_classes:
        labels = ClassCounts(tuple(inputs.classes.tolist()), tuple(np.bincount(inputs.codes).tolist()))
        what = f"{len(inputs.classes)} classes"
    else:
        quartiles = np.quantile(inputs.y, [0.0, 0.25, 0.5, 0.75, 1.0])
        labels = NumberSummary(*np.append(quartiles, (inputs.y.mean(), inputs.y.std())).tolist())
        what = "a number"
    by = short_name(inputs.similarity)
    similarity = repr(inputs.similarity)
    if inputs.automatic:
        by = "a learned similarity"
        similarity = "auto"
    if kind == "vectors" and image_shape is None:
        image_shape = guess_image_shape(inputs.X, names)
    return About(
        title=title or f"Predicting {inputs.label or what} of {inputs.n:,} {objects} by {by}",
        kind=kind,
        n=inputs.n,
        task=inputs.task,
        labels=labels,
        similarity=similarity,
        names=_names(inputs.X, names),
        notes=(),
        examples=tuple(map(inputs.item, stratified(inputs.codes, min(6, inputs.n), inputs.rng(), least=1))),
        image_shape=image_shape,
    )


def short_name(similarity: Similarity) -> str:
    """Return the name of a similarity for a title: that of the user's function, or a short repr."""
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


def _names(X: Any, names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None and is_table(X):
        return tuple(map(str, X.columns))
    if names is None:
        return None
    width = X.shape[1] if getattr(X, "ndim", 0) == 2 else len(names)
    if width != len(names):
        raise ValueError(f"names holds {len(names)} names, X has {width} columns")
    return tuple(map(str, names))


def guess_image_shape(X: Any, names: Sequence[str] | None) -> tuple[int, int] | None:
    """Return the shape of square images if vectors look like some; None for vectors with names and any other objects.

    Rows of pixels make neighbors of components that are far apart in the vector: if both these and components that
    follow each other are correlated, more than any two are, the vectors are images; not if components half a row apart
    are correlated more than those a row apart, as in smooth curves.
    """
    if names is not None or is_sparse(X) or not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "fiu":
        return None
    side = math.isqrt(X.shape[1])
    if side * side != X.shape[1] or not 6 <= side <= 64:
        return None
    some = X[:: -(-len(X) // 200)].astype(np.float64)
    if len(some) < 3 or not np.isfinite(some).all():
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = (some - some.mean(axis=0)) / some.std(axis=0)  # NaN where a component is constant
    places = np.arange(X.shape[1])
    grid = places.reshape(side, side)

    def correlation(these: np.ndarray, those: np.ndarray) -> float:
        """Return the mean correlation of components that vary."""
        products = (scaled[:, these.ravel()] * scaled[:, those.ravel()]).mean(axis=0)
        return float(np.nanmean(products)) if np.isfinite(products).any() else 0.0

    across = correlation(grid[:, 1:], grid[:, :-1])
    down = correlation(grid[1:], grid[:-1])
    any_two = correlation(places, np.random.default_rng(0).permutation(places))
    half_a_row = correlation(places[side // 2 :], places[: -(side // 2)])
    return (side, side) if min(across, down) > max(0.2, any_two + 0.15) and down > half_a_row else None

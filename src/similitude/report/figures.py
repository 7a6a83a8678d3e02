"""The figures of a report for Matplotlib.

They draw the charts of the HTML page. Each function takes findings, or the part of them that it draws, and the axes to
draw on (default: those of a new figure), and returns the axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from similitude.goodness import Goodness
from similitude.report.findings import (
    About,
    Calibration,
    ClassCounts,
    Eigenvalues,
    Findings,
    GramSample,
    LandmarkFinding,
    LearningCurve,
    ModelFindings,
    ObjectMap,
)
from similitude.report.render import charts
from similitude.report.render.gram_image import GramImage
from similitude.report.render.matplotlib_axes import draw, literal, new_axes, set_title
from similitude.support import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "calibration",
    "confusion",
    "errors",
    "gaps",
    "goodness_curve",
    "gram",
    "labels",
    "landmarks",
    "learning_curve",
    "object_map",
    "recall",
    "residuals",
    "spectrum",
]

MAX_NUMBERS = 12
"""Largest number of classes for which a confusion matrix shows numbers."""


def _part(found: Any, name: str, *kinds: type) -> Any:
    """Return the part of findings that a figure draws."""
    part = getattr(found, name) if isinstance(found, Findings) else found
    if not isinstance(part, kinds):
        wanted = " or ".join(kind.__name__ for kind in kinds)
        if part is None:
            raise TypeError(f"these findings hold no {wanted}: {found.no_goodness}")
        raise TypeError(f"expected Findings or {wanted}, got {type(part).__name__}")
    return part


def labels(found: Findings | About, ax: Axes | None = None) -> Axes:
    """Draw the number of examples of each class."""
    about = _part(found, "about", About)
    if not isinstance(about.labels, ClassCounts):
        raise TypeError("this figure draws classes, and the labels are numbers: see residuals")
    return draw(charts.class_counts(about.labels), ax)


def spectrum(found: Findings | Eigenvalues, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of the Gram matrix of a sample; a kernel has no negative ones."""
    return draw(charts.spectrum(_part(found, "spectrum", Eigenvalues)), ax)


def gaps(found: Findings | Goodness, ax: Axes | None = None) -> Axes:
    """Draw how much more similar examples are to their own class than to any other; only findings know the classes."""
    values = _part(found, "goodness", Goodness).strong.gaps
    classes = found.gap_labels if isinstance(found, Findings) else ["all examples"] * len(values)
    return draw(charts.gaps(values, classes), ax)


def goodness_curve(found: Findings | Goodness, ax: Axes | None = None) -> Axes:
    """Draw the gap that all but a share of the examples reach, with equal and with learned weights of the objects."""
    return draw(charts.goodness_curve(_part(found, "goodness", Goodness), weighted=True), ax)


def gram(found: Findings | GramSample, ax: Axes | None = None) -> Axes:
    """Draw the similarities of all pairs of a sample, sorted by class."""
    part = _part(found, "gram", GramSample)
    ax = new_axes(6.0, 5.0) if ax is None else ax
    from matplotlib.colors import ListedColormap

    look = GramImage.of(part)
    colors = ListedColormap((look.colors / 255).tolist())
    image = ax.imshow(part.matrix, cmap=colors, vmin=look.low, vmax=look.high, interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="similarity")
    for edge in part.boundaries[1:-1]:
        ax.axhline(edge - 0.5, color="white", linewidth=0.8)
        ax.axvline(edge - 0.5, color="white", linewidth=0.8)
    middles, step = (part.boundaries[:-1] + part.boundaries[1:] - 1) / 2, -(-len(part.classes) // MAX_NUMBERS) or 1
    names = [literal(str(name)) for name in part.classes[::step]]
    ax.set_yticks(middles[::step] if names else [], names)
    by = "class" if names else "the number to predict, smallest first"
    ax.set_xticks([])
    ax.set(xlabel="examples", ylabel=f"examples by {by}")
    set_title(ax, f"Similarities of {len(part.matrix)} examples")
    return ax


def learning_curve(found: Findings | LearningCurve, ax: Axes | None = None) -> Axes:
    """Draw the held-out error by the number of landmarks, and the numbers that theorems ask for."""
    return draw(charts.learning_curve(_part(found, "landmark_curve", LearningCurve)), ax)


def confusion(found: Findings | ModelFindings, ax: Axes | None = None) -> Axes:
    """Draw the number of held-out examples by true and predicted class; colors show shares of the true class."""
    part = _part(found, "model", ModelFindings)
    if part.confusion is None:
        raise TypeError("this figure draws classes, and the model predicts numbers: see residuals")
    return draw(charts.confusion(part, numbers=len(part.classes) <= MAX_NUMBERS), ax)


def residuals(found: Findings | ModelFindings, ax: Axes | None = None) -> Axes:
    """Draw predicted against true numbers of held-out examples."""
    part = _part(found, "model", ModelFindings)
    if part.residuals is None:
        raise TypeError("this figure draws numbers, and the model predicts classes: see confusion")
    return draw(charts.residuals(part), ax)


def errors(found: Findings | ModelFindings, ax: Axes | None = None) -> Axes:
    """Draw predicted minus true numbers of held-out examples by the predicted number."""
    part = _part(found, "model", ModelFindings)
    if part.residuals is None:
        raise TypeError("this figure draws numbers, and the model predicts classes: see confusion")
    return draw(charts.errors(part), ax)


def recall(found: Findings | ModelFindings, ax: Axes | None = None) -> Axes:
    """Draw the share of each class that is predicted correctly, with exact intervals."""
    part = _part(found, "model", ModelFindings)
    if not part.by_class:
        raise TypeError("this figure draws classes, and the model predicts numbers: see errors")
    return draw(charts.recall(part), ax)


def object_map(found: Findings, color: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw all objects in the plane, colored by the label or, with `color`, by the error or a column."""
    placed = _part(found, "map", ObjectMap)
    ways = {one.name: one for one in placed.colorings}
    check_choice("color", color if color is not None else next(iter(ways)), tuple(ways))
    way = ways[color] if color is not None else placed.colorings[0]
    ax = new_axes(6.0, 5.0) if ax is None else ax
    for level, name in enumerate(way.names):
        own = way.levels == level
        if own.any():
            shade = {"color": f"C{level}"} if not way.ordered else {"c": [level] * int(own.sum()), "vmin": 0, "vmax": 7}
            ax.scatter(placed.x[own], placed.y[own], s=12, label=literal(name), **shade)
    ax.legend(title=literal(way.name), fontsize="small")
    ax.set(xticks=[], yticks=[], xlabel="first coordinate", ylabel="second coordinate")
    set_title(ax, str(placed))
    return ax


def calibration(found: Findings | ModelFindings | Calibration, ax: Axes | None = None) -> Axes:
    """Draw how often predicted events happened, by their predicted probability."""
    part = _part(found, "model", ModelFindings, Calibration)
    curve = part.calibration if isinstance(part, ModelFindings) else part
    if curve is None:
        raise TypeError("this figure draws probabilities, and the model predicts numbers: see residuals")
    return draw(charts.calibration(curve), ax)


def landmarks(found: Findings | Sequence[LandmarkFinding], ax: Axes | None = None) -> Axes:
    """Draw the importance of the most important landmarks."""
    return draw(charts.landmarks(found.landmarks if isinstance(found, Findings) else tuple(found)), ax)

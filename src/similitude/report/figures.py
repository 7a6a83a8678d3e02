"""The figures of the report for Matplotlib.

Each function takes findings, or the part of them that it draws, and an axes to draw on; it returns the axes. Without
one it makes a figure of its own. Colors are told apart by everybody (Okabe and Ito, 2008).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from similitude.goodness import Goodness
from similitude.report.about import About, ClassCounts
from similitude.report.axes import (
    BLUE,
    CLASSES,
    GRAY,
    GREEN,
    NAMED,
    ORANGE,
    axes_of,
    band,
    cut,
    name_ticks,
    part_of,
    plain,
)
from similitude.report.curves import Calibration, LearningCurve
from similitude.report.findings import Findings
from similitude.report.landmarks import LandmarkFinding
from similitude.report.matrix import GramSample, Spectrum
from similitude.report.model import ModelFindings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "calibration",
    "confusion",
    "gaps",
    "goodness_curve",
    "gram",
    "labels",
    "landmarks",
    "learning_curve",
    "residuals",
    "spectrum",
]

FAR = 100
"""A theorem's size beyond so many times the largest number tried is named, not drawn."""

BARS = 15
"""Landmarks drawn."""


def labels(found: Findings | About, ax: Axes | None = None) -> Axes:
    """Draw how many examples each class has, or how the numbers are spread.

    Parameters
    ----------
    found : Findings or About
    ax : Axes, optional
    """
    about = part_of(found, "about", About)
    if not isinstance(about.labels, ClassCounts):
        raise TypeError("this figure draws classes, and the labels are numbers: see residuals")
    ax = axes_of(ax)
    order = np.argsort(about.labels.counts, kind="stable")[::-1]
    names = [str(about.labels.classes[i]) for i in order]
    ax.bar(np.arange(len(order)), np.array(about.labels.counts)[order], color=BLUE)
    name_ticks(ax, "x", names)
    ax.set(xlabel="class", ylabel="examples", title=f"{about.n:,} examples")
    return ax


def spectrum(found: Findings | Spectrum, ax: Axes | None = None) -> Axes:
    """Draw the eigenvalues of the Gram matrix of a sample; those of a kernel are not negative.

    Parameters
    ----------
    found : Findings or Spectrum
    ax : Axes, optional
    """
    part = part_of(found, "spectrum", Spectrum)
    ax = axes_of(ax)
    rank = np.arange(1, len(part.values) + 1)
    negative = part.values < -part.rounding
    ax.axhline(0, color=GRAY, linewidth=0.8)
    ax.scatter(rank[~negative], part.values[~negative], s=12, color=BLUE, label="not negative beyond rounding")
    if negative.any():
        seen = f"negative: {100 * part.negative_share:.2g} % of the absolute sum"
        ax.scatter(rank[negative], part.values[negative], s=18, color=ORANGE, marker="v", label=seen)
    largest = float(np.abs(part.values).max())
    ax.set_yscale("symlog", linthresh=max(1e-4 * largest, part.rounding, 1e-300))
    ax.set(xlabel="rank", ylabel="eigenvalue", title=f"Eigenvalues of the Gram matrix of {len(rank)} examples")
    ax.legend()
    return ax


def gaps(found: Findings | Goodness, ax: Axes | None = None) -> Axes:
    """Draw by how much examples are more similar to their own class than to any other.

    Parameters
    ----------
    found : Findings or Goodness
        Findings know the labels, and each class gets a color; goodness alone does not.
    ax : Axes, optional
    """
    part = part_of(found, "goodness", Goodness)
    ax = axes_of(ax)
    values = part.strong.gaps
    whose = _by_class(values, found.gap_labels) if isinstance(found, Findings) else [("all examples", values, BLUE)]
    edges = np.histogram_bin_edges(values, bins=min(40, max(5, len(values) // 10))).tolist()
    for name, some, color in whose:
        ax.hist(some, edges, histtype="stepfilled", alpha=0.35, color=color)
        ax.hist(some, edges, histtype="step", color=color, label=f"{plain(name)} ({len(some):,})")
    ax.axvline(0, color=GRAY, linewidth=1.2)
    ax.set(xlabel="mean similarity to the own class less that to the nearest other", ylabel="examples")
    ax.set_title(f"{100 * (values > 0).mean():.0f} % of {len(values):,} examples are closest to their own class")
    ax.legend()
    return ax


def _by_class(values: np.ndarray, y: np.ndarray) -> list[tuple[str, np.ndarray, str]]:
    """Return the values of each class with a color; small ones together where there are many."""
    classes, counts = np.unique(y, return_counts=True)
    large = classes[np.argsort(-counts, kind="stable")]
    shown = large if len(large) <= len(CLASSES) else large[: len(CLASSES) - 1]
    groups = [(f"class {c}", values[y == c], color) for c, color in zip(shown.tolist(), CLASSES, strict=False)]
    rest = ~np.isin(y, shown)
    return [(f"{len(large) - len(shown)} other classes", values[rest], GRAY), *groups] if rest.any() else groups


def goodness_curve(found: Findings | Goodness, ax: Axes | None = None) -> Axes:
    """Draw the gap that all but a share of the examples reach, with all objects alike and by weight.

    Parameters
    ----------
    found : Findings or Goodness
    ax : Axes, optional
    """
    part = part_of(found, "goodness", Goodness)
    ax = axes_of(ax)
    band(ax, part.strong, BLUE, "o", f"all objects alike ({part.strong.grade})")
    if part.weighted is not None:
        band(ax, part.weighted, ORANGE, "s", f"by weight, on others ({part.weighted.grade})")
    ax.axhline(0, color=GRAY, linewidth=0.8)
    ax.set(xlabel="share of examples that may fall short, epsilon", ylabel="gap, gamma")
    ax.set_title(f"How good the similarity is ({100 * part.strong.level:g} % intervals)")
    bound = 1.2 * float(np.abs(np.concatenate([part.strong.low, part.strong.high])).max())
    ys = [part.strong.y] + ([part.weighted.y] if part.weighted is not None else [])
    reach = max(bound, 1.2 * float(np.abs(np.concatenate(ys)).max()), 1e-12)
    ax.set_ylim(-reach, reach)
    ax.legend()
    return ax


def gram(found: Findings | GramSample, ax: Axes | None = None) -> Axes:
    """Draw the similarities of all pairs of a sample, sorted by class.

    Parameters
    ----------
    found : Findings or GramSample
    ax : Axes, optional
    """
    part = part_of(found, "gram", GramSample)
    ax = axes_of(ax, 6.0, 5.0)
    image = ax.imshow(part.matrix, cmap="cividis", interpolation="nearest")
    ax.figure.colorbar(image, ax=ax, label="similarity")
    for edge in part.boundaries[1:-1]:
        ax.axhline(edge - 0.5, color="white", linewidth=0.8)
        ax.axvline(edge - 0.5, color="white", linewidth=0.8)
    if part.classes:
        middles = (part.boundaries[:-1] + part.boundaries[1:] - 1) / 2
        name_ticks(ax, "y", [str(name) for name in part.classes], middles)
    else:
        ax.set_yticks([])
    by = "class" if part.classes else "the number to predict, smallest first"
    ax.set_xticks([])
    ax.set(xlabel="examples", ylabel=f"examples by {by}", title=f"Similarities of {len(part.matrix)} examples")
    return ax


def learning_curve(found: Findings | LearningCurve, ax: Axes | None = None) -> Axes:
    """Draw the held-out error by the number of landmarks, and the numbers that theorems ask for.

    Parameters
    ----------
    found : Findings or LearningCurve
    ax : Axes, optional
    """
    part = part_of(found, "growth", LearningCurve)
    ax = axes_of(ax)
    band(ax, part.error, BLUE, "o", f"held-out examples ({100 * part.error.level:g} %, {part.error.grade})")
    ax.axvline(part.chosen, color=GREEN, label=f"chosen: {part.chosen:,}")
    far = []
    for size, style in zip(part.theorem_sizes, ("--", ":", "-."), strict=False):
        if size.size > FAR * part.landmarks[-1]:
            far.append(size)
        else:
            ax.axvline(size.size, color=ORANGE, linestyle=style, label=f"{size.name}: {size.size:,} ({size.grade})")
    for size in far:
        ax.plot([], [], " ", label=f"{size.name}: {size.size:,} ({size.grade}), too far to draw")
    ax.set_xscale("log")
    ax.set_xticks(part.landmarks, [f"{n:,}" for n in part.landmarks])
    ax.minorticks_off()
    ax.set_ylim(bottom=0)
    ax.set(xlabel="landmarks", ylabel=part.measure, title="How many landmarks are enough")
    ax.legend(fontsize="small")
    return ax


def confusion(found: Findings | ModelFindings, ax: Axes | None = None) -> Axes:
    """Draw which classes were taken for which, as shares of each class; color and, for few classes, numbers.

    Parameters
    ----------
    found : Findings or ModelFindings
    ax : Axes, optional
    """
    part = part_of(found, "model", ModelFindings)
    if part.confusion is None:
        raise TypeError("this figure draws classes, and the model predicts numbers: see residuals")
    ax = axes_of(ax, 6.0, 5.0)
    totals = np.maximum(part.confusion.sum(axis=1, keepdims=True), 1e-300)
    shares = part.confusion / totals
    image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    ax.figure.colorbar(image, ax=ax, label="share of the class")
    names = [str(name) for name in part.classes]
    if len(names) <= NAMED:
        for i, j in np.ndindex(*shares.shape):
            color = "white" if shares[i, j] > 0.5 else "black"
            ax.text(j, i, f"{part.confusion[i, j]:.3g}", ha="center", va="center", color=color)
    name_ticks(ax, "x", names)
    name_ticks(ax, "y", names)
    ax.set(
        xlabel="predicted", ylabel="true", title=f"{part.n_tested:,} held-out examples\n{part.measure} {_short(part)}"
    )
    return ax


def _short(part: ModelFindings) -> str:
    held = part.held_out
    return f"{held.value:.3g} [{held.low:.3g}, {held.high:.3g}]"


def residuals(found: Findings | ModelFindings, ax: Axes | None = None) -> Axes:
    """Draw predicted against true numbers of held-out examples.

    Parameters
    ----------
    found : Findings or ModelFindings
    ax : Axes, optional
    """
    part = part_of(found, "model", ModelFindings)
    if part.residuals is None:
        raise TypeError("this figure draws numbers, and the model predicts classes: see confusion")
    ax = axes_of(ax, 5.0, 5.0)
    truth, predicted = part.residuals.labels, part.residuals.predicted
    ends = [min(truth.min(), predicted.min()), max(truth.max(), predicted.max())]
    ax.plot(ends, ends, color=GRAY, linewidth=1, label="as it should be")
    ax.scatter(truth, predicted, s=14, color=BLUE, alpha=0.6, label="held-out examples")
    ax.set(xlabel="true number", ylabel="predicted number", title=f"{part.measure} {_short(part)}")
    ax.legend()
    return ax


def calibration(found: Findings | ModelFindings | Calibration, ax: Axes | None = None) -> Axes:
    """Draw how often what was said with a probability came true.

    Parameters
    ----------
    found : Findings, ModelFindings or Calibration
    ax : Axes, optional
    """
    part = part_of(found, "model", ModelFindings, Calibration)
    curve = part.calibration if isinstance(part, ModelFindings) else part
    if curve is None:
        raise TypeError("this figure draws probabilities, and the model predicts numbers: see residuals")
    ax = axes_of(ax, 5.0, 5.0)
    ax.plot([0, 1], [0, 1], color=GRAY, linewidth=1)
    reach = np.stack([curve.y - curve.low, curve.high - curve.y])
    ax.errorbar(curve.x, curve.y, reach, fmt="o", color=BLUE, capsize=3)
    for x, y, n in zip(curve.x, curve.high, curve.counts, strict=True):
        ax.annotate(f"{n:,}", (x, y), (0, 3), textcoords="offset points", ha="center", fontsize="small", color=GRAY)
    ax.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.08))
    ax.set(xlabel=plain(f"probability that {curve.event}"), ylabel="share that came true")
    ax.set_title(f"Do probabilities come true? ({100 * curve.level:g} %, {curve.grade})\ngray: as it should be")
    return ax


def landmarks(found: Findings | Sequence[LandmarkFinding], ax: Axes | None = None) -> Axes:
    """Draw the importance of the landmarks that matter most.

    Parameters
    ----------
    found : Findings or sequence of LandmarkFinding
    ax : Axes, optional
    """
    part = found.landmarks if isinstance(found, Findings) else tuple(found)
    ax = axes_of(ax)
    shown = [one for one in part if one.rank <= BARS]
    directions = sorted({one.direction for one in shown})
    few = len(directions) <= len(CLASSES)
    for direction, color in zip(directions, CLASSES if few else (BLUE,) * len(directions), strict=False):
        own = {at: one.importance for at, one in enumerate(shown) if one.direction == direction}
        ax.barh(list(own), list(own.values()), color=color, label=f"for {plain(direction)}")
    ax.set_yticks(np.arange(len(shown)), [plain(f"X[{one.index}] ({cut(one.label)})") for one in shown])
    ax.invert_yaxis()
    ax.ticklabel_format(axis="x", scilimits=(-3, 4))
    ax.set(xlabel="importance, in units of scores", title="Landmarks that matter most")
    if directions and few:
        ax.legend()
    return ax

"""What the figures share: colors, axes, names on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.report.findings import Findings
from similitude.support.errors import missing_extra
from similitude.support.results import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BLUE, ORANGE, GREEN, PURPLE, GRAY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#767676"
CLASSES = (BLUE, ORANGE, GREEN, PURPLE, "#E69F00", "#56B4E9", "#000000")
"""Colors of classes; of more classes, the largest have one and the others share gray."""

NAMED = 12
"""Classes up to which each is named on an axis, and cells of a confusion matrix hold their number."""


def axes_of(ax: Any, width: float = 6.0, height: float = 4.0) -> Axes:
    """Return the axes given, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise missing_extra("report", "a figure") from error
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def part_of(found: Any, name: str, *kinds: type) -> Any:
    """Return the part of findings that a figure draws; refuse what is not there."""
    part = getattr(found, name) if isinstance(found, Findings) else found
    if not isinstance(part, kinds):
        why = f": {found.no_goodness}" if isinstance(found, Findings) and name == "goodness" else ""
        wanted = " or ".join(kind.__name__ for kind in kinds)
        none = f"there is no {wanted} in these findings{why}"
        raise TypeError(none if part is None else f"expected Findings or {wanted}, got {type(part).__name__}")
    return part


def band(ax: Axes, curve: Curve, color: str, marker: str, label: str) -> None:
    """Draw a curve and its intervals."""
    ax.fill_between(curve.x, curve.low, curve.high, color=color, alpha=0.18, linewidth=0)
    ax.plot(curve.x, curve.y, color=color, marker=marker, label=label)


def name_ticks(ax: Axes, which: str, names: list[str], places: np.ndarray | None = None) -> None:
    """Name the classes on an axis; of many, some of them."""
    step = -(-len(names) // NAMED)
    places = np.arange(len(names)) if places is None else places
    texts = [plain(cut(name)) for name in names[::step]]
    if which == "y":
        ax.set_yticks(places[::step], texts)
    elif len(names) <= 3:
        ax.set_xticks(places[::step], texts)
    else:
        ax.set_xticks(places[::step], texts, rotation=45, ha="right")


def cut(label: Any) -> str:
    """Write a label in a few letters."""
    text = f"{label:.4g}" if isinstance(label, float) else str(label)
    return text if len(text) <= 16 else f"{text[:15]}…"


def plain(text: str) -> str:
    """Keep Matplotlib from reading formulas into a user's text."""
    return text.replace("$", r"\$")

"""The matrix of similarities as an image: one point per pair, one color per value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.report.drawings.png import BLUE_RED, VIRIDIS, data_uri, palette
from similitude.report.matrix import GramSample

STOPS = 11
"""Colors of the scale beside the image."""


@dataclass(frozen=True)
class Band:
    """The rows of one class.

    Attributes
    ----------
    label : str
    rows : int
        How many.
    share : float
        Of all rows.
    """

    label: str
    rows: int
    share: float


@dataclass(frozen=True)
class HeatMap:
    """An image of a matrix.

    Attributes
    ----------
    image : str
        The address that holds it.
    low, high : float
        What the first and the last color mean.
    stops : str
        The colors in between, as a style sheet names them.
    bands : list of Band
        Classes from the top; none where numbers are predicted.
    pairs : dict
        What hovering tells: colors, ends, positions in X, and labels.
    n : int
    """

    image: str
    low: float
    high: float
    stops: str
    bands: list[Band]
    pairs: dict[str, Any]
    n: int


def heat_map(gram: GramSample) -> HeatMap:
    """Return the image: dark to light, or blue to red around zero where there are negative values."""
    low, high = float(gram.matrix.min()), float(gram.matrix.max())
    if low < 0:
        low, high = -max(-low, high), max(-low, high)
        colors = palette(BLUE_RED)
    else:
        colors = palette(VIRIDIS)
    share = (gram.matrix - low) / ((high - low) or 1.0)
    counts = np.diff(gram.boundaries).tolist() if len(gram.classes) else []
    bands = [Band(str(name), n, n / len(share)) for name, n in zip(gram.classes, counts, strict=False) if n]
    steps = colors[np.linspace(0, 255, STOPS).astype(int)].tolist()
    return HeatMap(
        image=data_uri(share, colors),
        low=low,
        high=high,
        stops=", ".join(f"rgb({r} {g} {b})" for r, g, b in steps),
        bands=bands,
        pairs={
            "colors": ["".join(f"{part:02x}" for part in color) for color in colors.tolist()],
            "low": low,
            "high": high,
            "indices": gram.indices.tolist(),
            "labels": [_label(label) for label in gram.labels.tolist()],
        },
        n=len(share),
    )


def _label(label: Any) -> str:
    return f"{label:.4g}" if isinstance(label, float) else str(label)

"""The map of objects as data for the page's script: coordinates, labels and colors, in few characters."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.report.findings import Findings
from similitude.report.render.drawings.png import VIRIDIS, palette

RESOLUTION = 999
"""Coordinates are integers up to this, with three digits each."""

NO_LEVEL = "-"
"""Stands for the level of objects whose value is not known."""


def plane_data(found: Findings, drawn: dict[int, int]) -> dict[str, Any]:
    """Return what the script needs to draw the map; `drawn` holds the numbers of drawings by positions in X.

    Coordinates and levels are strings of three and one characters per object; predictions are known for some objects.
    """
    placed, classes = found.map, [str(name) for name in found.model.classes]
    codes = {name: code for code, name in enumerate(classes)}

    def plain(label: Any) -> Any:
        return codes.get(str(label)) if classes else float(f"{label:.4g}")

    return {
        "x": _digits(placed.x),
        "y": _digits(-placed.y),
        "indices": None if len(placed.indices) == found.about.n else placed.indices.tolist(),
        "classes": classes,
        "labels": [plain(label) for label in placed.labels],
        "predicted": {i: plain(label) for i, label in enumerate(placed.predicted) if label is not None},
        "colorings": [
            {"levels": "".join(map(_level, one.levels)), "names": list(one.names), "ordered": one.ordered}
            for one in placed.colorings
        ],
        "shades": ["#" + bytes(color).hex() for color in palette(VIRIDIS)[::-1][::32]],
        "drawings": drawn,
    }


def _level(level: int) -> str:
    return NO_LEVEL if level < 0 else str(level)


def _digits(values: np.ndarray) -> str:
    span = float(np.ptp(values)) or 1.0
    return "".join(f"{round(value):03}" for value in (values - values.min()) / span * RESOLUTION)

"""The map of objects as data for the page's script: coordinates, labels and colors."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.report.findings import Findings
from similitude.report.render.drawings.png import VIRIDIS, palette

RESOLUTION = 1000
"""Coordinates are integers up to this."""

NO_LEVEL = "-"
"""Stands for the level of objects whose value is not known."""


def plane_data(found: Findings, drawn: dict[int, int]) -> dict[str, Any]:
    """Return what the script needs to draw the map; `drawn` holds the numbers of drawings by positions in X."""
    placed, classes = found.map, [str(name) for name in found.model.classes]
    codes = {name: code for code, name in enumerate(classes)}

    def plain(label: Any) -> Any:
        if label is None:
            return None
        return codes.get(str(label)) if classes else float(f"{label:.4g}")

    return {
        "x": _integers(placed.x),
        "y": _integers(-placed.y),
        "indices": placed.indices.tolist(),
        "classes": classes,
        "labels": [plain(label) for label in placed.labels],
        "predicted": [plain(label) for label in placed.predicted],
        "colorings": [
            {"levels": "".join(_digit(level) for level in one.levels), "names": list(one.names), "ordered": one.ordered}
            for one in placed.colorings
        ],
        "shades": ["#" + bytes(color).hex() for color in palette(VIRIDIS)[::-1][::32]],
        "drawings": [drawn.get(index, -1) for index in placed.indices.tolist()],
    }


def _digit(level: int) -> str:
    return NO_LEVEL if level < 0 else str(level)


def _integers(values: np.ndarray) -> list[int]:
    span = float(np.ptp(values)) or 1.0
    found: list[int] = np.rint((values - values.min()) / span * RESOLUTION).astype(int).tolist()
    return found

"""What the page draws with its own script and style: the map of objects, and what decided a prediction."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.report.findings import DecidingExample, Decision, Findings
from similitude.report.render.images import shades
from similitude.report.render.sentences import counted, label_text


def plane_data(found: Findings, drawn: dict[int, int]) -> dict[str, Any]:
    """Return what the script needs to draw the map; `drawn` holds the numbers of drawings by positions in X.

    Coordinates and levels are strings of three and one characters per object; predictions are known for some objects.
    """
    placed = found.map
    classes = [str(name) for name in found.model.classes]
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
            {
                "levels": "".join("-" if level < 0 else str(level) for level in one.levels),
                "names": list(one.names),
                "ordered": one.ordered,
            }
            for one in placed.colorings
        ],
        "shades": shades(),
        "drawings": drawn,
    }


def _digits(values: np.ndarray) -> str:
    span = float(np.ptp(values)) or 1.0
    return "".join(f"{round(value):03}" for value in (values - values.min()) / span * 999)


def steps(why: Decision) -> list[dict[str, Any]]:
    """Return the bars of a waterfall: the base, the deciding examples, the others together, and the score.

    Each has a name, its left end and width in per cent, a text, and a kind: ``base``, ``for``, ``against`` or
    ``total``. If zero is far from all numbers, the bars of base and score begin a little left of the smallest.
    """
    of_numbers = isinstance(why.prediction, float)
    parts = [(_rows_of(one, of_numbers), one.influence) for one in why.deciding]
    if why.n_others:
        parts.append((counted(why.n_others, "other row"), why.others))
    stops = np.cumsum([why.base, *(influence for _, influence in parts)])
    ends = np.array([*stops, why.score])
    spread = float(np.ptp(ends))
    origin = 0.0
    if of_numbers and np.abs(ends).min() > spread:
        origin = float(ends.min()) - 0.1 * spread
    low = min(float(ends.min()), origin)
    span = (max(float(ends.max()), origin) - low) or 1.0

    def bar(name: str, kind: str, start: float, stop: float, text: str) -> dict[str, Any]:
        left = 100 * (min(start, stop) - low) / span
        return {"name": name, "left": left, "width": 100 * abs(stop - start) / span, "text": text, "kind": kind}

    base = f"base: the mean of all training {'numbers' if of_numbers else 'labels'}"
    bars = [bar(base, "base", origin, why.base, _size(why.base))]
    for (name, influence), start, stop in zip(parts, stops[:-1], stops[1:], strict=True):
        kind = "for" if influence >= 0 else "against"
        bars.append(bar(name, kind, start, stop, _size(influence, "+")))
    total = "predicted number" if of_numbers else "score"
    return [*bars, bar(total, "total", origin, why.score, _size(why.score))]


def _rows_of(one: DecidingExample, of_numbers: bool) -> str:
    mean = "mean " if of_numbers and one.count > 1 else ""
    who = "" if one.index is None else f", example {one.index}"
    rows = f" and {counted(one.count - 1, 'other row')}" if one.count > 1 else ""
    return f"{mean}{label_text(one.label)}{who}{rows}"


def _size(value: float, sign: str = "") -> str:
    """Return a number with three digits, or with those before the point."""
    return f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"

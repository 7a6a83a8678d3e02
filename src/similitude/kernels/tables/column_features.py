"""Columns of a table as numbers: standardized, with ranks and marks of missing cells, or an indicator per category."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from similitude.compute import warn_if_rounded
from similitude.kernels.tables.cells import (
    check_kind,
    is_categorical,
    kind_of_values,
    known_of,
    missing_cells,
    plain_numbers,
    seconds,
)
from similitude.support import brief, outlier_limits


def learn_column(name: Any, values: Any, ranks: bool) -> dict[str, Any]:
    """Return how a column becomes numbers, as a dict that `column_features` takes.

    Numbers and times have limits if there are outliers, the mean and the standard deviation of known cells, the median
    for missing ones, and with `ranks` the quantiles at which normal scores are interpolated. Other values have their
    categories.
    """
    missing = missing_cells(values)
    kind = kind_of_values(values, missing)
    if kind in ("number", "time") and not is_categorical(values):
        numbers = _numbers(name, values, missing, kind)
        known = numbers[~missing]
        low, high = outlier_limits(known)
        limits = (float(low), float(high)) if known.min() < low or known.max() > high else None
        center, deviation = _mean_and_deviation(known if limits is None else np.clip(known, *limits))
        spec = {"kind": kind, "center": center, "scale": 1.0 / deviation if deviation > 0 else 0.0}
        spec |= {"fill": float(np.median(known)), "missing": bool(missing.any()), "limits": limits}
        return spec | {"knots": _knots(known) if ranks and deviation > 0 else None}
    if kind not in ("number", "text", "bytes", "mixed", "missing", "bool"):
        raise TypeError(
            f"column {name!r} holds {kind}: Tabular takes numbers, times and categories. Leave it out, or say how "
            f"it is compared with Columns"
        )
    counts = Counter(known_of(values, missing))
    common = sorted((-times, str(level), i) for i, (level, times) in enumerate(counts.items()) if times > 1)
    levels = list(counts)
    return {
        "kind": "category",
        "levels": [levels[i] for *_, i in common[:40]],
        "missing": bool(missing.any()) and not missing.all(),
    }


def column_features(name: Any, spec: dict[str, Any], values: Any) -> np.ndarray:
    """Return the numbers of a column, one row per cell; there may be none, of a column without repeated categories."""
    missing = missing_cells(values)
    marks = [missing.astype(float)] if spec["missing"] else []
    if spec["kind"] == "category":
        cells = [None if gone else cell for cell, gone in zip(values, missing, strict=True)]
        indicators = [np.array([cell == level for cell in cells], dtype=float) for level in spec["levels"]]
        return np.column_stack([np.empty((len(missing), 0)), *indicators, *marks])
    check_kind(name, values, missing, spec["kind"], f"it held {spec['kind']} before")
    numbers = np.where(missing, spec["fill"], _numbers(name, values, missing, spec["kind"]))
    limits = spec.get("limits")
    limited = numbers if limits is None else np.clip(numbers, *limits)
    found = [(limited - spec["center"]) * spec["scale"]]
    if spec["knots"] is not None:
        found.append(np.interp(numbers, *spec["knots"]))
    return np.column_stack([*found, *marks])


def _numbers(name: Any, values: Any, missing: np.ndarray, kind: str) -> np.ndarray:
    """Return a column as floats, NaN where missing."""
    if kind == "time":
        return seconds(values, missing)
    stored = plain_numbers(values)
    if stored is None:
        stored = np.array([np.nan if gone else one for one, gone in zip(values, missing, strict=True)], dtype=float)
    warn_if_rounded(stored, f"column {name!r}")
    numbers = np.where(missing, np.nan, stored.astype(float))
    if np.isinf(numbers).any():
        i = int(np.flatnonzero(np.isinf(numbers))[0])
        raise ValueError(f"column {name!r} is {brief(float(numbers[i]))} in row {i}: numbers must be finite")
    return numbers


def _mean_and_deviation(known: np.ndarray) -> tuple[float, float]:
    """Return the mean and the standard deviation, 0 for equal numbers; huge numbers do not overflow."""
    size = float(np.abs(known).max()) or 1.0
    relative = known / size
    deviation = float(relative.std())
    return float(relative.mean()) * size, deviation * size if deviation > 1e-12 else 0.0


def _knots(known: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return quantiles of a column and their normal scores; None if there are few different values."""
    from scipy.special import ndtri

    values, counts = np.unique(known, return_counts=True)
    if len(values) <= 10:  # then ranks say nothing more
        return None
    middle = (np.cumsum(counts) - counts / 2) / len(known)
    some = np.unique(np.linspace(0, len(values) - 1, 200).round().astype(int))
    return values[some], ndtri(middle[some])

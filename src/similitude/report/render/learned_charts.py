"""The charts of what an automatic similarity learned: losses before and after, and the importance of columns."""

from __future__ import annotations

from similitude.kernel_learning import LearnedSummary
from similitude.report.render.chart import SOFT_INK, Axis, Chart, Marks, line_at, table_rows
from similitude.report.render.sentences import percent, what_learning_gained

MAX_LEARNED_COLUMNS = 15
"""Largest number of columns whose importance is drawn."""


def learning_steps(found: LearnedSummary) -> Chart:
    """Return the held-out losses of the kernel to start with, and of what was learned."""
    names = [one.name for one in found.steps]
    values = [one.loss for one in found.steps]
    reach = [1.96 * one.standard_error for one in found.steps]
    low, high = ([max(v + sign * r, 0.0) for v, r in zip(values, reach, strict=True)] for sign in (-1, 1))
    dots = {"x": values, "y": names, "low": low, "high": high}
    hover = {"y": "kernel", "x": "squared error", "low": "interval from", "high": "interval to"}
    marks = [Marks("rule", {"x": low, "x2": high, "y": names}, SOFT_INK, width=2), Marks("point", dots, hover=hover)]
    if max(high) > 0.8:
        marks.append(line_at(x=1.0))
    x, y = Axis("squared error on pilot rows; 1: that of the mean"), Axis(names=names)
    columns = ("kernel", "squared error", "low", "high")
    rows = table_rows(names, values, low, high)
    return Chart("learning-steps", what_learning_gained(found), x, y, marks, columns, rows, max(80, 34 * len(names)))


def learned_importance(found: LearnedSummary) -> Chart:
    """Return the importance of columns with intervals, the largest first."""
    one = found.importance
    order = one.order()[:MAX_LEARNED_COLUMNS]
    names = [one.names[i] for i in order]
    values, low, high = ([float(array[i]) for i in order] for array in (one.values, one.low, one.high))
    bars = {"x": [0.0] * len(names), "x2": values, "y": names, "low": low, "high": high}
    hover = {"y": "column", "x2": "importance", "low": "interval from", "high": "interval to"}
    marks = [Marks("bar", bars, hover=hover), Marks("rule", {"x": low, "x2": high, "y": names}, SOFT_INK, width=2)]
    finding = f"{names[0]} has {percent(values[0])} of the importance, {one.in_short()}."
    if len(one.names) > len(names):
        finding += f" The first {len(names)} of {len(one.names):,} columns are drawn."
    x, y = Axis("share of the squared gradient of the predictions", percent=True), Axis(names=names)
    rows = table_rows(names, values, low, high)
    columns = ("column", "importance", "low", "high")
    return Chart("learned-importance", finding, x, y, marks, columns, rows, max(80, 24 * len(names)))

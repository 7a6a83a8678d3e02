"""How good the model is, as Vega-Lite charts, each with a sentence and its numbers."""

from __future__ import annotations

import numpy as np

from similitude.report.chart import (
    BAD,
    GOOD,
    MARKED,
    QUIET,
    Chart,
    banded,
    field,
    interval_tip,
    intervals,
    layer,
    layered,
    records,
    short,
    tip,
)
from similitude.report.curves import Calibration, LearningCurve
from similitude.report.model import ModelFindings, Residuals
from similitude.report.words import figure

POINTS = 600
"""Points of a cloud that are drawn."""

FAR = 100
"""A theorem's size beyond so many times the largest number tried is named but not drawn."""


def learning_curve(growth: LearningCurve) -> Chart:
    """Return the error by the number of landmarks; sizes that theorems ask for are marked by letters."""
    curve = growth.error
    rows = records(x=curve.x, y=curve.y, low=curve.low, high=curve.high)
    share = growth.measure == "share of errors"
    near = [
        (chr(ord("A") + i), size) for i, size in enumerate(growth.theorem_sizes) if size.size <= FAR * growth.chosen
    ]
    end = max([growth.chosen, *[size.size for _, size in near]])
    x = field(
        "x",
        "landmarks",
        scale={"type": "log", "base": 2, "domain": [float(curve.x.min()), 1.15 * end]},
        axis={"tickCount": 6, "format": ",d"},
    )
    y = field("y", f"{growth.measure}, held out", axis={"format": ".0%"} if share else {})
    tooltip = interval_tip("landmarks", growth.measure)
    marks = [
        {
            "data": {"values": [{"at": size.size, "letter": letter, "name": size.name} for letter, size in near]},
            "layer": [
                layer(
                    {"type": "rule", "color": MARKED, "strokeDash": [5, 3], "strokeWidth": 1.5},
                    x=field("at", "landmarks"),
                    tooltip=tip(name="size", at="landmarks"),
                ),
                layer(
                    {"type": "text", "align": "right", "dx": -4, "baseline": "top", "y": 2, "fontWeight": 600},
                    x=field("at", "landmarks"),
                    text={"field": "letter"},
                ),
            ],
        }
    ]
    spec = banded(rows, x, y, tooltip, height=260, layers=marks if near else [])
    finding = (
        f"With {growth.landmarks[0]:,} landmarks the {growth.measure} is {figure(curve.y[0], growth.measure)}, with "
        f"the {growth.chosen:,} that the model has it is {figure(curve.y[-1], growth.measure)}."
    )
    return Chart("growth", finding, spec, ("landmarks", growth.measure, "low", "high"), intervals(curve))


def error_beside_guessing(model: ModelFindings) -> Chart:
    """Return the held-out error with its interval, beside that of always giving the same answer."""
    held, share = model.held_out, model.measure == "share of errors"
    rows = [
        {"who": "this model", **{name: short(getattr(held, name)) for name in ("value", "low", "high")}},
        {"who": "one answer for all", "value": short(model.baseline)},
    ]
    axis = {"format": ".0%", "tickCount": 6} if share else {"tickCount": 6}
    y = {"field": "who", "type": "nominal", "sort": None, "title": None}
    color = {
        "field": "who",
        "type": "nominal",
        "sort": None,
        "legend": None,
        "scale": {"domain": [row["who"] for row in rows], "range": [GOOD, QUIET]},
    }
    tooltip = tip(who="who", value=model.measure, low="low", high="high")
    x = field("value", f"{model.measure}, held out", axis=axis, scale={"zero": True})
    layers = [
        layer({"type": "bar", "height": 16, "cornerRadiusEnd": 3}, y=y, x=x, color=color, tooltip=tooltip),
        layer(
            {"type": "rule", "strokeWidth": 2, "color": "var(--ink)"},
            y=y,
            x={**x, "field": "low"},
            x2={"field": "high"},
        ),
    ]
    better = "smaller than" if held.value < model.baseline else "not smaller than"
    finding = f"The {model.measure} is {better} that of always giving the same answer."
    table = [(row["who"], row["value"], row.get("low", ""), row.get("high", "")) for row in rows]
    return Chart("error", finding, layered(rows, layers, height=76), ("who", model.measure, "low", "high"), table)


def confusion(model: ModelFindings) -> Chart | None:
    """Return which of many classes are taken for which: a point for each pair that occurs."""
    counts = model.confusion
    if counts is None:
        return None
    names = [str(name) for name in model.classes]
    pairs = [(int(a), int(b)) for a, b in zip(*np.nonzero(counts), strict=True)]
    rows = [{"label": names[a], "predicted": names[b], "count": short(counts[a, b]), "right": a == b} for a, b in pairs]
    axis = {"labels": len(names) <= 40, "ticks": False, "labelFontSize": 10}
    y = {"field": "label", "type": "nominal", "title": "true class", "scale": {"domain": names}, "axis": axis}
    x = {
        "field": "predicted",
        "type": "nominal",
        "title": "predicted class",
        "scale": {"domain": names},
        "axis": {**axis, "labelAngle": -60, "orient": "top"},
    }
    cells = layer(
        {"type": "rect"},
        x=x,
        y=y,
        color={
            "field": "right",
            "type": "nominal",
            "legend": None,
            "scale": {"domain": [True, False], "range": [GOOD, BAD]},
        },
        opacity=field("count", None, legend=None, scale={"range": [0.35, 1.0]}),
        tooltip=tip(label="true class", predicted="predicted class", count="examples"),
    )
    wrong = [(a, b) for a, b in pairs if a != b]
    few = f"{len(wrong):,}" if wrong else "None"
    finding = (
        f"{few} of {len(names) * (len(names) - 1):,} pairs of classes {'was' if len(wrong) < 2 else 'were'} confused."
    )
    order = sorted(pairs, key=lambda pair: (pair[0] == pair[1], -counts[pair]))
    table = [(names[a], names[b], short(counts[a, b])) for a, b in order]
    return Chart(
        "confusion", finding, layered(rows, [cells], height=420), ("true class", "predicted class", "examples"), table
    )


def calibration(curve: Calibration) -> Chart:
    """Return how often what was said with a probability came true."""
    rows = records(x=curve.x, y=curve.y, low=curve.low, high=curve.high, count=curve.counts)
    percent = {"format": ".0%", "tickCount": 5}
    x = field("x", "probability that the model gave", axis=percent, scale={"domain": [0, 1]})
    y = field("y", "share that came true", axis=percent, scale={"domain": [0, 1]})
    tooltip = [*interval_tip("said", "came true"), *tip(count="examples")]
    layers = [
        {
            "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
            **layer({"type": "line", "color": "var(--soft-ink)", "strokeDash": [4, 3], "strokeWidth": 1}, x=x, y=y),
        },
        layer({"type": "rule", "color": GOOD, "strokeWidth": 2}, x=x, y={**y, "field": "low"}, y2={"field": "high"}),
        layer(
            {"type": "point", "filled": True, "color": GOOD, "opacity": 1},
            x=x,
            y=y,
            size=field("count", None, legend=None, scale={"range": [40, 260], "zero": True}),
            tooltip=tooltip,
        ),
    ]
    covered = int(((curve.low <= curve.x) & (curve.x <= curve.high)).sum())
    finding = (
        f"In {covered} of {len(curve.x)} groups of similar probabilities, what was said lies within the interval of "
        f"what came true."
    )
    table = [(*row, n) for row, n in zip(intervals(curve), curve.counts.tolist(), strict=True)]
    return Chart(
        "calibration",
        finding,
        layered(rows, layers, height=280),
        ("said", "came true", "low", "high", "examples"),
        table,
    )


def residuals(found: Residuals) -> Chart:
    """Return predicted beside true numbers; of many examples, some at equal steps."""
    step = max(1, -(-len(found.labels) // POINTS))
    rows = records(index=found.indices[::step], label=found.labels[::step], predicted=found.predicted[::step])
    ends = [
        short(float(min(found.labels.min(), found.predicted.min()))),
        short(float(max(found.labels.max(), found.predicted.max()))),
    ]
    x = field("label", "true number", scale={"zero": False, "domain": ends})
    y = field("predicted", "predicted number", scale={"zero": False, "domain": ends})
    diagonal = {
        "data": {"values": [{"label": end, "predicted": end} for end in ends]},
        **layer({"type": "line", "color": "var(--soft-ink)", "strokeDash": [4, 3], "strokeWidth": 1}, x=x, y=y),
    }
    points = layer(
        {"type": "point", "filled": True, "color": GOOD, "opacity": 0.6},
        x=x,
        y=y,
        tooltip=tip(index="example", label="true", predicted="predicted"),
    )
    low, high = (float(end) for end in np.quantile(np.abs(found.values), [0.5, 0.9]))
    finding = (
        f"Half of the {len(found.labels):,} predictions are within {low:.3g} of the truth, nine in ten within "
        f"{high:.3g}."
    )
    if step > 1:
        finding += f" Every {step}th is drawn."
    table = [(row["index"], row["label"], row["predicted"]) for row in rows]
    return Chart(
        "residuals", finding, layered(rows, [diagonal, points], height=320), ("example", "true", "predicted"), table
    )

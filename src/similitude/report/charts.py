"""What the data and the similarity are like, as Vega-Lite charts, each with a sentence and its numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.report.about import ClassCounts
from similitude.report.chart import (
    BAD,
    GOOD,
    Chart,
    banded,
    field,
    interval_tip,
    intervals,
    layer,
    layered,
    line_at,
    records,
    short,
    tip,
)
from similitude.report.matrix import Spectrum
from similitude.report.words import percent
from similitude.support.results import Curve

ROWS = 15
"""Classes that have a row of their own where all would not fit."""

COLORED = 8
"""Classes up to which each has a color."""

BARS = 200
"""Eigenvalues that are drawn."""

BINS = 30


def class_counts(labels: ClassCounts) -> Chart:
    """Return how many examples each class has, the largest classes first."""
    order = sorted(range(len(labels.counts)), key=lambda i: -labels.counts[i])
    rows = [(str(labels.classes[i]), labels.counts[i]) for i in order]
    shown = rows[:ROWS]
    values = [{"label": label, "count": count} for label, count in shown]
    rest = f" The {ROWS} largest of {len(rows)} classes are drawn." if len(rows) > ROWS else ""
    y = {"field": "label", "type": "nominal", "sort": None, "title": None}
    bars = layer(
        {"type": "bar", "color": GOOD, "cornerRadiusEnd": 3},
        y=y,
        x=field("count", "examples", axis={"tickMinStep": 1, "tickCount": 6}),
        tooltip=tip(label="class", count="examples"),
    )
    numbers = layer(
        {"type": "text", "align": "left", "dx": 5}, y=y, x=field("count", "examples"), text={"field": "count"}
    )
    largest, smallest = rows[0], rows[-1]
    finding = (
        f"The largest class, {largest[0]}, has {largest[1]:,} examples, the smallest, {smallest[0]}, {smallest[1]:,}."
        if largest[1] > smallest[1]
        else f"Each of the {len(rows)} classes has {largest[1]:,} examples."
    )
    spec = layered(values, [bars, numbers], height=max(60, 26 * len(shown)))
    return Chart("class-counts", finding + rest, spec, ("class", "examples"), rows)


def spectrum(found: Spectrum) -> Chart:
    """Return the eigenvalues, those below zero in another color; of many, the two ends."""
    values, n = found.values, len(found.values)
    head = min(n, BARS * 3 // 4)
    drawn = np.arange(n) if n <= BARS else np.concatenate([np.arange(head), np.arange(n - (BARS - head), n)])
    negative = values < -found.rounding
    sides = np.where(negative, "negative", "not negative")
    rows = records(place=np.arange(len(drawn)), rank=drawn + 1, value=values[drawn], side=sides[drawn])
    constant = max(float(np.abs(values).max()) * 1e-3, 1e-300)
    bars = layer(
        {"type": "bar", "binSpacing": 0.5},
        x=field(
            "place",
            f"{len(drawn)} eigenvalues, the largest first",
            bin={"binned": True, "step": 1},
            scale={"domain": [0, len(drawn)], "nice": False},
            axis={"labels": False, "ticks": False, "grid": False},
        ),
        y=field(
            "value", "eigenvalue", scale={"type": "symlog", "constant": constant, "nice": False}, axis=_powers(values)
        ),
        color={
            "field": "side",
            "type": "nominal",
            "scale": {"domain": ["not negative", "negative"], "range": [GOOD, BAD]},
            "legend": None if not negative.any() else {},
        },
        tooltip=tip(rank="number", value="eigenvalue"),
    )
    count = found.n_negative
    few, are = (f"{count:,}", "are") if count > 1 else ("One" if count else "None", "is")
    finding = f"{few} of the {n:,} eigenvalues {are} below zero beyond rounding, the lowest is {values[-1]:.3g}."
    if n > BARS:
        finding += f" The {head} largest and the {BARS - head} smallest are drawn."
    table = [(i + 1, short(value)) for i, value in enumerate(values.tolist())]
    return Chart(
        "spectrum", finding, layered(rows, [bars, line_at("y", 0)], height=240), ("number", "eigenvalue"), table
    )


def _powers(values: np.ndarray) -> dict[str, Any]:
    """Return the marks of a scale that is stretched around zero: powers of ten on both sides."""
    top = int(np.floor(np.log10(max(float(np.abs(values).max()), 1e-300))))
    sizes = [float(f"1e{power}") for power in range(top - 2, top + 1)]
    below = [-size for size in sizes if size <= -float(values.min())]
    return {"values": [*below, 0.0, *sizes], "labelExpr": "toString(datum.value)", "labelOverlap": False}


def gaps(values: np.ndarray, labels: np.ndarray) -> Chart:
    """Return the distribution of the gaps in each class: stacked bars, or a row for each of many classes."""
    classes, codes = np.unique(labels, return_inverse=True)
    groups = {str(name): values[codes == i] for i, name in enumerate(classes.tolist())}
    table = [
        (name, len(mine), short(float(np.median(mine))), short(float(mine.min())), percent(float((mine <= 0).mean())))
        for name, mine in groups.items()
    ]
    below = float((values <= 0).mean())
    finding = (
        f"{percent(1 - below)} of the {len(values):,} examples are to the right of zero: more like their own class "
        f"than like any other, on average."
    )
    many = len(groups) > COLORED
    spec = _gap_rows(groups) if many else _gap_bars(groups)
    if len(groups) > ROWS:
        finding += f" The {ROWS} classes with the lowest median are drawn."
    return Chart("gaps", finding, spec, ("class", "examples", "median gap", "lowest gap", "not above zero"), table)


def _gap_bars(groups: dict[str, np.ndarray]) -> dict[str, Any]:
    every = np.concatenate(list(groups.values()))
    low, high = float(min(every.min(), 0.0)), float(max(every.max(), 0.0))
    step = (high - low) / BINS or 1.0
    first = np.floor(low / step)  # zero is the edge of a bin
    edges = step * np.arange(first, np.ceil(high / step) + 2)
    rows = []
    for name, mine in groups.items():
        counts = np.histogram(mine, edges)[0]
        bins = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        rows += [{"from": short(a), "to": short(b), "count": n, "label": name} for a, b, n in bins if n]
    bars = layer(
        {"type": "bar"},
        x=field("from", "gap", bin={"binned": True}),
        x2={"field": "to"},
        y=field("count", "examples", stack="zero", axis={"tickMinStep": 1}),
        color={"field": "label", "type": "nominal", "sort": None, "scale": {"domain": list(groups)}},
        tooltip=tip(label="class", count="examples", **{"from": "gap from", "to": "gap to"}),
    )
    return layered(rows, [bars, line_at("x", 0, strokeDash=[4, 3])], height=240)


def _gap_rows(groups: dict[str, np.ndarray]) -> dict[str, Any]:
    worst = sorted(groups, key=lambda name: float(np.median(groups[name])))[:ROWS]
    quantiles = {name: np.quantile(groups[name], [0.05, 0.25, 0.5, 0.75, 0.95]) for name in worst}
    names = ("low", "lower", "middle", "upper", "high")
    rows = [{"label": name, **dict(zip(names, map(short, quantiles[name]), strict=True))} for name in worst]
    y = {"field": "label", "type": "nominal", "sort": None, "title": None}
    title = "gap"
    tooltip = tip(label="class", middle="median", lower="a quarter below", upper="a quarter above")
    layers = [
        layer({"type": "rule"}, y=y, x=field("low", title), x2={"field": "high"}),
        layer(
            {"type": "bar", "color": GOOD, "height": 10},
            y=y,
            x=field("lower", title),
            x2={"field": "upper"},
            tooltip=tooltip,
        ),
        layer({"type": "tick", "color": "var(--ink)", "thickness": 2, "height": 14}, y=y, x=field("middle", title)),
        line_at("x", 0, strokeDash=[4, 3]),
    ]
    return layered(rows, layers, height=24 * len(rows))


def goodness_curve(curve: Curve) -> Chart:
    """Return gamma(epsilon): the gap that all but a share of the examples reach."""
    rows = records(x=curve.x, y=curve.y, low=curve.low, high=curve.high)
    x = field("x", "share of examples that may fall short", axis={"format": ".0%", "tickCount": 6})
    y = field("y", "gap that the others reach")
    spec = banded(
        rows, x, y, interval_tip("may fall short", "gap"), height=240, layers=[line_at("y", 0, strokeDash=[4, 3])]
    )
    positive = np.flatnonzero(curve.y > 0)
    if len(positive):
        at = int(positive[0])
        finding = f"All but {percent(curve.x[at])} of the examples have a positive gap, of {curve.y[at]:.3g} or more."
    else:
        finding = f"Even if {percent(curve.x[-1])} of the examples may fall short, the gap is not positive."
    return Chart("goodness", finding, spec, ("may fall short", "gap", "low", "high"), intervals(curve))

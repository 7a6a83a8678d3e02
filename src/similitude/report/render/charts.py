"""The charts of a report, made from findings: data, marks and a sentence each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.goodness import Goodness
from similitude.report.findings import (
    Calibration,
    ClassCounts,
    Eigenvalues,
    LandmarkFinding,
    LearningCurve,
    ModelFindings,
)
from similitude.report.render.chart import (
    BLUE,
    INK,
    ORANGE,
    PURPLE,
    QUIET,
    SOFT_INK,
    Axis,
    Chart,
    Marks,
    curve_marks,
    diagonal,
    line_at,
    rounded,
    table_rows,
)
from similitude.report.render.sentences import counted, error_text, held_out_error, is_rate, percent

MAX_ROWS = 15
"""Largest number of classes or landmarks that have a row of their own."""

MAX_COLORS = 8
"""Largest number of classes that have a color of their own."""

BINS = 30

MAX_POINTS = 600
"""Largest number of points of a scatter plot."""

THEOREM_MARKS = "ABCDEFGHIJ"
"""The marks of the sizes that theorems ask for."""

INTERVAL = 0.9
"""Probability with which intervals around predicted numbers cover new ones."""

FAR = 100
"""A theorem's size is drawn up to this many times the model's number of landmarks."""


def class_counts(labels: ClassCounts) -> Chart:
    """Return the number of examples of each class, the largest class first."""
    order = sorted(range(len(labels.counts)), key=lambda i: -labels.counts[i])
    rows = [(str(labels.classes[i]), labels.counts[i]) for i in order]
    (largest, most), (smallest, fewest) = rows[0], rows[-1]
    finding = f"Each of the {len(rows)} classes has {counted(most, 'example')}."
    if most > fewest:
        finding = (
            f"The largest class, {largest}, has {counted(most, 'example')}, the smallest, {smallest}, has {fewest:,}."
        )
    if len(rows) > MAX_ROWS:
        finding += f" The {MAX_ROWS} largest of {len(rows)} classes are drawn."
    names, counts = zip(*rows[:MAX_ROWS], strict=True)
    bars = {"x": [0] * len(names), "x2": counts, "y": names}
    marks = [
        Marks("bar", bars, hover={"y": "class", "x2": "examples"}),
        Marks("text", {"x": counts, "y": names, "text": [f"{count:,}" for count in counts]}, INK),
    ]
    x, y = Axis("examples", integers=True), Axis(names=names)
    return Chart("class-counts", finding, x, y, marks, ("class", "examples"), rows, max(60, 26 * len(names)))


def spectrum(found: Eigenvalues) -> Chart:
    """Return the eigenvalues in decreasing order, the negative ones in another color."""
    values, n, count = found.values, len(found.values), found.n_negative
    marks = [Marks("rule", {"y": [0.0]}, SOFT_INK)]
    sides = {"not negative": (values >= -found.rounding, BLUE), "negative": (values < -found.rounding, ORANGE)}
    for name, (side, color) in sides.items():
        at = np.flatnonzero(side)
        bars = {"x": at, "x2": at + 1, "y": np.zeros(len(at)), "y2": values[at], "rank": at + 1}
        legend = name if count else None
        if len(at):
            marks.append(Marks("rect", bars, color, legend, {"rank": "rank", "y2": "eigenvalue"}))
    few, are = (f"{count:,}", "are") if count > 1 else ("One" if count else "None", "is")
    finding = (
        f"{few} of the {n:,} eigenvalues {are} negative beyond rounding"
        + (f" ({percent(found.negative_share)} of the absolute sum)" if count else "")
        + f", the smallest is {values[-1]:.3g}."
    )
    largest = max(float(np.abs(values).max()), 1e-300)
    top = int(np.floor(np.log10(largest)))
    powers = [float(f"1e{power}") for power in range(top - 2, top + 1)]
    ticks = [*(-size for size in powers if size <= -float(values.min())), 0.0, *powers]
    x = Axis(f"{n} eigenvalues in decreasing order", ends=(0, n), ticks=())
    y = Axis("eigenvalue", scale="symlog", linear_below=max(largest * 1e-3, 1e-300), ticks=ticks)
    return Chart("spectrum", finding, x, y, marks, ("rank", "eigenvalue"), table_rows(np.arange(1, n + 1), values))


def gaps(values: np.ndarray, labels: Sequence[Any] | np.ndarray) -> Chart:
    """Return the distribution of the gaps by class: a stacked histogram, or a box for each of many classes."""
    classes, codes = np.unique(labels, return_inverse=True)
    groups = {str(name): values[codes == i] for i, name in enumerate(classes.tolist())}
    finding = (
        f"{percent(float((values > 0).mean()))} of the {len(values):,} examples are to the right of zero: more similar "
        f"to their own class than to any other, on average."
    )
    if len(groups) > MAX_ROWS:
        finding += f" The {MAX_ROWS} classes with the lowest median are drawn."
    marks, y, height = _gap_histogram(groups) if len(groups) <= MAX_COLORS else _gap_boxes(groups)
    columns = ("class", "examples", "median gap", "lowest gap", "not above zero")
    rows = [
        (name, len(own), rounded(float(np.median(own))), rounded(float(own.min())), percent(float((own <= 0).mean())))
        for name, own in groups.items()
    ]
    x = Axis("gap: mean similarity to the own class minus that to the nearest other")
    return Chart("gaps", finding, x, y, [*marks, line_at(x=0.0)], columns, rows, height)


def _gap_histogram(groups: dict[str, np.ndarray]) -> tuple[list[Marks], Axis, int]:
    everything = np.concatenate(list(groups.values()))
    low, high = float(min(everything.min(), 0.0)), float(max(everything.max(), 0.0))
    step = (high - low) / BINS or 1.0
    edges = step * np.arange(np.floor(low / step), np.ceil(high / step) + 2)  # zero is the edge of a bin
    marks, below = [], np.zeros(len(edges) - 1, int)
    for color, (name, own) in reversed(list(enumerate(groups.items()))):
        counts = np.histogram(own, edges)[0]
        at = np.flatnonzero(counts)
        bars = {"x": edges[at], "x2": edges[at + 1], "y": below[at], "y2": (below + counts)[at], "count": counts[at]}
        hover = {"count": f"examples of {name}", "x": "gap from", "x2": "gap to"}
        marks.append(Marks("rect", bars, color, name, hover))
        below = below + counts
    return marks[::-1], Axis("examples", ends=(0.0, float(below.max())), integers=True), 240


def _gap_boxes(groups: dict[str, np.ndarray]) -> tuple[list[Marks], Axis, int]:
    names = sorted(groups, key=lambda name: float(np.median(groups[name])))[:MAX_ROWS]
    quantiles = np.array([np.quantile(groups[name], [0.05, 0.25, 0.5, 0.75, 0.95]) for name in names])
    low, lower, middle, upper, high = quantiles.T
    box = {"x": lower, "x2": upper, "y": names, "middle": middle}
    hover = {"y": "class", "middle": "median", "x": "lower quartile", "x2": "upper quartile"}
    marks = [
        Marks("rule", {"x": low, "x2": high, "y": names}, SOFT_INK),
        Marks("bar", box, hover=hover, width=10),
        Marks("tick", {"x": middle, "y": names}, INK),
    ]
    return marks, Axis(names=names), 24 * len(names)


def goodness_curve(goodness: Goodness, weighted: bool = False) -> Chart:
    """Return the gap that all but a share of the examples reach; also with weighted landmarks, if asked for."""
    strong = goodness.strong
    name = f"all objects weighted equally ({strong.grade})" if weighted else None
    hover = ("may fall short", "gap")
    marks, rows = curve_marks(strong, *hover, name=name)
    reach = [strong.low, strong.high, strong.y]
    if weighted and goodness.weighted is not None:
        curve = goodness.weighted
        marks += curve_marks(curve, *hover, ORANGE, f"weighted, on other examples ({curve.grade})")[0]
        reach.append(curve.y)
    positive = np.flatnonzero(strong.y > 0)
    if len(positive):
        share, gap = percent(float(strong.x[positive[0]])), f"{strong.y[positive[0]]:.3g}"
        finding = f"All but {share} of the examples have a positive gap, of {gap} or more."
    else:
        finding = f"Even if {percent(float(strong.x[-1]))} of the examples may fall short, the gap is not positive."
    largest = 1.2 * max(float(np.abs(np.concatenate(reach)).max()), 1e-12)
    x = Axis("share of examples that may fall short", percent=True)
    y = Axis("gap that the others reach", ends=(-largest, largest) if weighted else None)
    columns = ("may fall short", "gap", "low", "high")
    return Chart("goodness", finding, x, y, [line_at(y=0.0), *marks], columns, rows)


def learning_curve(found: LearningCurve) -> Chart:
    """Return the error by the number of landmarks; lines with letters mark the sizes that theorems ask for."""
    measure = found.measure
    marks, rows = curve_marks(found.error, "landmarks", measure)
    end, asked = found.chosen, []
    for letter, size in zip(THEOREM_MARKS, found.theorem_sizes, strict=False):
        far = size.size > FAR * found.chosen
        asked.append(f"{letter} {size.name}, {size.size:,} ({size.grade}{', too far to draw' if far else ''})")
        if not far:
            end = max(end, size.size)
            data = {"x": [size.size], "text": [letter], "name": [size.name]}
            rule = Marks("rule", data, PURPLE, hover={"name": "size", "x": "landmarks"}, dashed=True, width=1.5)
            marks += [rule, Marks("text", data, INK)]
    finding = (
        f"With {found.landmarks[0]:,} landmarks the {measure} is {error_text(found.error.y[0], measure)}, with the "
        f"model's {found.chosen:,} it is {error_text(found.error.y[-1], measure)}."
        + (f" Theory asks for {'; '.join(asked)}." if asked else "")
    )
    x = Axis("landmarks", scale="log", ends=(float(found.error.x.min()), 1.15 * end), ticks=found.landmarks.tolist())
    y = Axis(f"{measure}, held out", percent=is_rate(measure), ends=(0.0, max(float(found.error.high.max()), 1e-12)))
    return Chart("learning-curve", finding, x, y, marks, ("landmarks", measure, "low", "high"), rows, 260)


def recall(model: ModelFindings) -> Chart:
    """Return the recall of each class with its interval; of many classes, those with the lowest."""
    shown = sorted(model.by_class, key=lambda one: one.recall.value)[:MAX_ROWS]
    names = [_short(one.label) for one in shown]
    values, low, high = ([getattr(one.recall, part) for one in shown] for part in ("value", "low", "high"))
    dots = {"x": values, "y": names, "low": low, "high": high, "n": [one.n for one in shown]}
    hover = {"y": "class", "x": "recall", "low": "interval from", "high": "interval to", "n": "examples"}
    marks = [
        Marks("rule", {"x": low, "x2": high, "y": names}, SOFT_INK, width=2),
        Marks("point", dots, hover=hover),
    ]
    worst = f"The class that is recognized least is {_short(shown[0].label)}: {percent(values[0])} of it."
    few = f" The {MAX_ROWS} classes with the lowest recall are drawn." if len(model.by_class) > MAX_ROWS else ""
    x, y = (
        Axis("recall: share of the class that is predicted correctly", percent=True, ends=(0.0, 1.0)),
        Axis(names=names),
    )
    rows = table_rows([str(one.label) for one in shown], [one.n for one in shown], values, low, high)
    columns = ("class", "examples", "recall", "low", "high")
    return Chart("recall", worst + few, x, y, marks, columns, rows, max(60, 22 * len(names)))


def confusion(model: ModelFindings, numbers: bool = False) -> Chart:
    """Return the number of examples by true and predicted class: a cell for each pair that occurs."""
    counts, names = np.asarray(model.confusion), [str(name) for name in model.classes]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    hover = {"y": "true class", "x": "predicted class", "count": "examples"}
    rows, marks = [], []
    for color, right in ((ORANGE, False), (BLUE, True)):
        a, b = np.nonzero(counts * (np.eye(len(names), dtype=bool) == right))
        order = np.argsort(-counts[a, b], kind="stable")
        a, b = a[order], b[order]
        y, x, count = [names[i] for i in a], [names[i] for i in b], counts[a, b]
        rows += table_rows(y, x, count)
        cells = {"y": y, "x": x, "count": count, "opacity": 0.2 + 0.6 * shares[a, b]}
        if len(a):
            marks.append(Marks("rect", cells, color, hover=hover))
        if numbers:
            marks.append(Marks("text", {"y": y, "x": x, "text": [f"{value:.3g}" for value in count]}, INK))
    wrong = int(np.count_nonzero(counts) - np.count_nonzero(counts.diagonal()))
    pairs = len(names) * (len(names) - 1)
    few = f"{wrong:,}" if wrong else "None"
    finding = (
        f"{few} of {pairs:,} pairs of classes {'was' if wrong < 2 else 'were'} confused; the {model.measure} on "
        f"{model.n_tested:,} held-out examples is {held_out_error(model)}."
    )
    columns = ("true class", "predicted class", "examples")
    x_axis, y_axis = Axis("predicted class", names=names), Axis("true class", names=names)
    return Chart("confusion", finding, x_axis, y_axis, marks, columns, rows, 420, square=True)


def calibration(curve: Calibration) -> Chart:
    """Return how often predicted events happened, by their predicted probability."""
    columns = (curve.x, curve.y, curve.low, curve.high, curve.counts)
    points = dict(zip(("x", "y", "low", "high", "size"), columns, strict=True))
    hover = {"x": "predicted", "y": "happened", "low": "interval from", "high": "interval to", "size": "examples"}
    marks = [
        diagonal(0.0, 1.0),
        Marks("rule", {"x": curve.x, "y": curve.low, "y2": curve.high}, width=2),
        Marks("point", points, hover=hover),
    ]
    covered = int(((curve.low <= curve.x) & (curve.x <= curve.high)).sum())
    finding = (
        f"In {covered} of {len(curve.x)} groups of similar probabilities, the predicted probability lies within the "
        f"interval of what happened."
    )
    x = Axis(f"predicted probability that {curve.event}", percent=True, ends=(0.0, 1.0))
    y = Axis("share that happened", percent=True, ends=(0.0, 1.0))
    titles = ("predicted", "happened", "low", "high", "examples")
    return Chart("calibration", finding, x, y, marks, titles, table_rows(*columns), 240, square=True)


def residuals(model: ModelFindings) -> Chart:
    """Return predicted against true numbers; of many examples, every k-th."""
    found = model.residuals
    assert found is not None
    step = -(-len(found.labels) // MAX_POINTS)
    data = {"x": found.labels[::step], "y": found.predicted[::step], "index": found.indices[::step]}
    both = np.concatenate([found.labels, found.predicted])
    ends = (float(both.min()), float(both.max()))
    half, most = np.quantile(np.abs(found.values), [0.5, 0.9])
    finding = (
        f"Half of the {len(found.labels):,} predictions are within {half:.3g} of the truth, nine in ten within "
        f"{most:.3g}; the {model.measure} is {held_out_error(model)}."
        + (f" Every {step}th is drawn." if step > 1 else "")
    )
    points = Marks("point", data, hover={"index": "example", "x": "true", "y": "predicted"}, opacity=0.6)
    reach = found.reach(INTERVAL)
    if reach is not None:
        line = np.array(ends)
        band = {"x": line, "y": line - reach, "y2": line + reach}
        points_and_band = [Marks("area", band, QUIET, opacity=0.18), diagonal(*ends), points]
        finding += (
            f" A new number lies within {reach:.3g} of its prediction (the gray band) with probability "
            f"{'about ' if model.folds > 1 else ''}{percent(INTERVAL)}, if new examples come from the same source."
        )
    else:
        points_and_band = [diagonal(*ends), points]
    x, y = Axis("true number", ends=ends), Axis("predicted number", ends=ends)
    rows = table_rows(data["index"], data["x"], data["y"])
    columns = ("example", "true", "predicted")
    return Chart("residuals", finding, x, y, points_and_band, columns, rows, 320, square=True)


def errors(model: ModelFindings) -> Chart:
    """Return predicted minus true numbers by the predicted number, with their trend in equal groups."""
    found = model.residuals
    assert found is not None
    step = -(-len(found.labels) // MAX_POINTS)
    data = {"x": found.predicted[::step], "y": found.values[::step], "index": found.indices[::step]}
    order = np.argsort(found.predicted, kind="stable")
    groups = [part for part in np.array_split(order, min(8, max(1, len(order) // 5))) if len(part)]
    trend = {"x": [found.predicted[g].mean() for g in groups], "y": [found.values[g].mean() for g in groups]}
    bias = float(found.values.mean())
    noise = float(found.values.std()) / max(1.0, len(found.values) ** 0.5)
    lean = (
        "no lean to one side"
        if abs(bias) < 2 * noise
        else f"too {'high' if bias > 0 else 'low'} by {abs(bias):.3g} on average"
    )
    finding = f"Predictions show {lean}." if lean.startswith("no") else f"Predictions are {lean}."
    finding += " The line is the mean error of similar predictions: away from zero, the model errs in one direction."
    marks = [
        line_at(y=0.0),
        Marks("point", data, hover={"index": "example", "x": "predicted", "y": "predicted minus true"}, opacity=0.6),
        Marks("line", trend, ORANGE, width=2.5),
    ]
    x, y = Axis("predicted number"), Axis("predicted minus true")
    rows = table_rows(data["index"], data["x"], data["y"])
    return Chart("errors", finding, x, y, marks, ("example", "predicted", "error"), rows, 320, square=True)


def landmarks(found: Sequence[LandmarkFinding]) -> Chart:
    """Return the importance of the most important landmarks, colored by direction."""
    shown = [one for one in found if one.rank <= MAX_ROWS]
    names = {one.index: f"X[{one.index}] ({_short(one.label)})" for one in shown}
    directions = sorted({one.direction for one in shown})
    few = len(directions) <= MAX_COLORS
    marks = []
    for color, direction in enumerate(directions):
        own = [one for one in shown if one.direction == direction]
        bars = {"x": [0.0] * len(own), "x2": [one.importance for one in own], "y": [names[one.index] for one in own]}
        marks.append(Marks("bar", bars, color if few else BLUE, f"for {direction}" if few else None))
    first = next(iter(names.values()), None)
    finding = "There is no landmark." if first is None else f"The most important landmark is {first}."
    rows = [(names[one.index], one.direction, rounded(one.importance)) for one in shown]
    x, y = Axis("importance, in units of scores"), Axis(names=list(names.values()))
    return Chart("landmarks", finding, x, y, marks, ("landmark", "direction", "importance"), rows, 24 * len(rows))


def _short(label: Any) -> str:
    text = f"{label:.4g}" if isinstance(label, float) else str(label)
    return text if len(text) <= 16 else f"{text[:15]}…"

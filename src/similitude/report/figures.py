"""The charts of a report, each as a Vega-Lite specification with a sentence and a table of its numbers.

The HTML page draws them. Each function takes findings, or the part of them that it draws, and returns a
:class:`~similitude.report.render.chart.Chart`, which notebooks show and ``save`` writes as SVG, PNG or JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from similitude.estimators import CostCurve
from similitude.goodness import Goodness
from similitude.kernel_learning import LearnedSummary
from similitude.report.findings import (
    ERROR_RATE,
    About,
    Calibration,
    ClassCounts,
    Eigenvalues,
    Findings,
    GramSample,
    LandmarkFinding,
    LearningCurve,
    ModelFindings,
    ObjectMap,
)
from similitude.report.limits import MANY_CLASSES, MOST_BARS, MOST_COLORS, MOST_POINTS, TOO_FAR
from similitude.report.render.chart import (
    BLUE,
    INK,
    ORANGE,
    PURPLE,
    QUIET,
    SOFT_INK,
    Chart,
    axis,
    chart,
    curve_marks,
    diagonal,
    line_at,
    marks,
    names_axis,
)
from similitude.report.render.images import GramImage, shades
from similitude.report.render.sentences import (
    held_out_error,
    percent,
    score_text,
    short_label,
    what_learning_gained,
)
from similitude.support import check_choice, number_of

__all__ = [
    "calibration",
    "confusion",
    "cost_curve",
    "errors",
    "gaps",
    "goodness_curve",
    "gram",
    "labels",
    "landmarks",
    "learned_importance",
    "learning_curve",
    "learning_steps",
    "object_map",
    "recall",
    "residuals",
    "spectrum",
]

LETTERS = "ABCDEFGHIJ"
"""The marks of the sizes that theorems ask for."""

CLASS_COLORS = [f"var(--c{place})" for place in range(10)]
"""The colors of classes."""


def _part(found: Any, name: str, *kinds: type) -> Any:
    """Return the part of findings that a figure draws."""
    part = getattr(found, name) if isinstance(found, Findings) else found
    if isinstance(part, kinds):
        return part
    wanted = " or ".join(kind.__name__ for kind in kinds)
    if part is None:
        reason = f": {found.no_goodness}" if name == "goodness" else ""
        raise TypeError(f"these findings hold no {wanted}{reason}")
    raise TypeError(f"expected Findings or {wanted}, got {type(part).__name__}")


def labels(found: Findings | About) -> Chart:
    """Draw the number of examples of each class, the largest class first."""
    counted_labels = _part(found, "about", About).labels
    if not isinstance(counted_labels, ClassCounts):
        raise TypeError("this figure draws classes, and the labels are numbers: see residuals")
    pairs = counted_labels.largest_first()
    table: dict[str, Any] = {"class": [str(label) for label, _ in pairs], "examples": [count for _, count in pairs]}
    names = table["class"][:MOST_BARS]
    counts = table["examples"][:MOST_BARS]
    most = number_of(counts[0], "example")
    fewest = pairs[-1][1]
    finding = f"Each of the {len(pairs)} classes has {most}."
    if counts[0] > fewest:
        finding = f"The largest class, {names[0]}, has {most}, the smallest, {table['class'][-1]}, has {fewest:,}."
    if len(pairs) > MOST_BARS:
        finding += f" The {MOST_BARS} largest of {len(pairs)} classes are drawn."
    bars = {"x": [0] * len(names), "x2": counts, "y": names}
    layers = [
        marks("bar", bars, hover={"y": "class", "x2": "examples"}),
        marks("text", {"x": counts, "y": names, "text": [f"{count:,}" for count in counts]}, INK),
    ]
    x = axis("examples", integers=True)
    return chart("class-counts", finding, x, names_axis(names), layers, table, max(60, 26 * len(names)))


def spectrum(found: Findings | Eigenvalues) -> Chart:
    """Draw the eigenvalues of the Gram matrix of a sample; a kernel has no negative ones."""
    part = _part(found, "spectrum", Eigenvalues)
    values = part.values
    n = len(values)
    ranks = np.arange(1, n + 1)
    negative = values < -part.rounding
    layers = [marks("rule", {"y": [0.0]}, SOFT_INK)]
    sides: list[Any] = [("not negative", ~negative, BLUE), ("negative", negative, ORANGE)]
    few = f"{part.n_negative:,} of the {n:,} eigenvalues are"
    share = f" ({percent(part.negative_share)} of the absolute sum)"
    if part.n_negative == 1:
        few = f"One of the {n:,} eigenvalues is"
    elif part.n_negative == 0:
        sides = [(None, ~negative, BLUE)]
        few = f"None of the {n:,} eigenvalues is"
        share = ""
    for name, side, color in sides:
        bars = {"x": ranks[side] - 1, "x2": ranks[side], "y": np.zeros(side.sum()), "y2": values[side]}
        layers.append(marks("rect", bars, color, name, {"x2": "rank", "y2": "eigenvalue"}))
    finding = f"{few} negative beyond rounding{share}, the smallest is {values[-1]:.3g}."
    largest = max(float(np.abs(values).max()), 1e-300)
    top = int(np.floor(np.log10(largest)))
    powers = [float(f"1e{power}") for power in range(top - 2, top + 1)]
    ticks = [*(-size for size in powers if size <= -float(values.min())), 0.0, *powers]
    x = axis(f"{n} eigenvalues in decreasing order", ends=(0, n), ticks=())
    y = axis("eigenvalue", ticks=ticks, type="symlog", constant=max(largest * 1e-3, 1e-300))
    return chart("spectrum", finding, x, y, layers, {"rank": ranks, "eigenvalue": values})


def gaps(found: Findings | Goodness) -> Chart:
    """Draw how much more similar examples are to their own class than to any other; only findings know the classes.

    Few classes are a stacked histogram; of many, each is a box.
    """
    values = _part(found, "goodness", Goodness).strong.gaps
    given = found.gap_labels if isinstance(found, Findings) else ["all examples"] * len(values)
    classes, codes = np.unique(given, return_inverse=True)
    groups = {str(name): values[codes == i] for i, name in enumerate(classes.tolist())}
    finding = (
        f"{percent(float((values > 0).mean()))} of the {len(values):,} examples are to the right of zero: more similar "
        f"to their own class than to any other, on average."
    )
    if len(groups) > MOST_BARS:
        finding += f" The {MOST_BARS} classes with the lowest median are drawn."
    each = groups.values()
    table: dict[str, Any] = {
        "class": list(groups),
        "examples": list(map(len, each)),
        "median gap": list(map(np.median, each)),
        "lowest gap": list(map(np.min, each)),
        "not above zero": [percent(float((own <= 0).mean())) for own in each],
    }
    x = axis("gap: mean similarity to the own class minus that to the nearest other")
    if len(groups) <= MOST_COLORS:
        layers, highest = _stacked(groups)
        y = axis("examples", ends=(0.0, highest), integers=True)
        return chart("gaps", finding, x, y, [*layers, line_at(x=0.0)], table)
    names = sorted(groups, key=lambda name: float(np.median(groups[name])))[:MOST_BARS]
    low, lower, middle, upper, high = np.transpose(
        [np.quantile(groups[n], [0.05, 0.25, 0.5, 0.75, 0.95]) for n in names]
    )
    box = {"x": lower, "x2": upper, "y": names, "middle": middle}
    hover = {"y": "class", "middle": "median", "x": "lower quartile", "x2": "upper quartile"}
    layers = [
        marks("rule", {"x": low, "x2": high, "y": names}, SOFT_INK),
        marks("bar", box, hover=hover, height=10),
        marks("tick", {"x": middle, "y": names}, INK),
        line_at(x=0.0),
    ]
    return chart("gaps", finding, x, names_axis(names), layers, table, 24 * len(names))


def _stacked(groups: dict[str, np.ndarray]) -> tuple[list[dict[str, Any]], float]:
    """Return the layers of a stacked histogram of thirty bins, of which zero is an edge, and its height."""
    everything = np.concatenate([*groups.values(), [0.0]])
    low, high = float(everything.min()), float(everything.max())
    step = (high - low) / 30 or 1.0
    edges = step * np.arange(np.floor(low / step), np.ceil(high / step) + 2)
    below = np.zeros(len(edges) - 1, int)
    layers = []
    for place, name in reversed(list(enumerate(groups))):
        counts = np.histogram(groups[name], edges)[0]
        at = np.flatnonzero(counts)
        bars = {"x": edges[at], "x2": edges[at + 1], "y": below[at], "y2": (below + counts)[at], "count": counts[at]}
        hover = {"count": f"examples of {name}", "x": "gap from", "x2": "gap to"}
        layers.append(marks("rect", bars, CLASS_COLORS[place], name, hover))
        below += counts
    return layers[::-1], float(below.max())


def goodness_curve(found: Findings | Goodness, *, weighted: bool = True) -> Chart:
    """Draw the gap that all but a share of the examples reach, with equal weights and by default also learned ones."""
    goodness = _part(found, "goodness", Goodness)
    strong = goodness.strong
    hover = ("may fall short", "gap")
    name = f"equal weights ({strong.grade})" if weighted else None
    layers = [line_at(y=0.0), *curve_marks(strong, *hover, name=name)]
    reach = np.concatenate([strong.low, strong.high, strong.y])
    if weighted and goodness.weighted is not None:
        curve = goodness.weighted
        layers += curve_marks(curve, *hover, ORANGE, f"learned weights ({curve.grade})")
        reach = np.concatenate([reach, curve.y])
    ends = None
    if weighted:
        largest = 1.2 * max(float(np.abs(reach).max()), 1e-12)
        ends = (-largest, largest)
    positive = np.flatnonzero(strong.y > 0)
    finding = f"Even if {percent(float(strong.x[-1]))} of the examples may fall short, the gap is not positive."
    if len(positive):
        share = percent(float(strong.x[positive[0]]))
        finding = f"All but {share} of the examples have a positive gap, of {strong.y[positive[0]]:.3g} or more."
    x = axis("share of examples that may fall short", percent=True)
    y = axis("gap that the others reach", ends=ends)
    table = {"may fall short": strong.x, "gap": strong.y, "low": strong.low, "high": strong.high}
    return chart("goodness", finding, x, y, layers, table)


def gram(found: Findings | GramSample) -> Chart:
    """Draw the similarities of all pairs of a sample, sorted by class."""
    part = _part(found, "gram", GramSample)
    look = GramImage(part)
    n = len(part.matrix)
    names = [str(name) for name in part.classes]
    edges = part.boundaries
    scale = {"domain": [look.low, look.high], "range": look.stops}
    ends = marks("point", {"x": [0, 0], "y": [0, 0], "value": [look.low, look.high]}, opacity=0)
    ends["encoding"]["fill"] = {
        "field": "value",
        "type": "quantitative",
        "scale": scale,
        "legend": {"title": "similarity", "orient": "right", "type": "gradient"},
    }
    picture = marks("image", {"x": [n / 2], "y": [n / 2], "url": [look.image]}, width=360, height=360, smooth=False)
    lines = {"x": [0, *edges[1:-1]], "x2": [n] * (len(edges) - 1), "y": [0, *edges[1:-1]]}
    layers = [ends, picture]
    for side in (lines, {"y": lines["x"], "y2": lines["x2"], "x": lines["y"]}):
        layers.append(marks("rule", {key: values[1:] for key, values in side.items()}, "white", strokeWidth=0.8))
    middles = ((edges[:-1] + edges[1:]) / 2).tolist()
    by = "class" if names else "the number to predict, smallest first"
    y = axis(f"examples by {by}", ends=(0, n), ticks=middles if names else (), reverse=True)
    if names:
        at = [f"datum.value == {middle} ? {json.dumps(name)} : " for middle, name in zip(middles, names, strict=True)]
        y["axis"] |= {"labelExpr": "".join(at) + "''", "labelOverlap": True, "grid": False, "ticks": False}
    finding = f"Similarities of {n} examples, from {look.low:.3g} to {look.high:.3g} beside the diagonal."
    x = axis("examples", ends=(0, n), ticks=())
    return chart("gram", finding, x, y, layers, {"class": names, "examples": np.diff(edges)[: len(names)]}, 360, True)


def learning_curve(found: Findings | LearningCurve) -> Chart:
    """Draw the held-out error by the number of landmarks; lines with letters mark the sizes that theorems ask for."""
    part = _part(found, "landmark_curve", LearningCurve)
    measure = part.measure
    error = part.error
    layers = curve_marks(error, "landmarks", measure)
    end = part.chosen
    asked = []
    for letter, size in zip(LETTERS, part.theorem_sizes, strict=False):
        far = size.size > TOO_FAR * part.chosen
        asked.append(f"{letter} {size.name}, {size.size:,} ({size.grade}{', too far to draw' if far else ''})")
        if not far:
            end = max(end, size.size)
            hover = {"name": "size", "x": "landmarks"}
            rule = {"x": [size.size], "name": [size.name]}
            layers.append(marks("rule", rule, PURPLE, hover=hover, strokeDash=[4, 3], strokeWidth=1.5))
            text = {"x": [size.size], "text": [letter]}
            layers.append(marks("text", text, INK, y=2, baseline="top", fontWeight=600))
    finding = (
        f"With {part.landmarks[0]:,} landmarks the {measure} is {score_text(measure, error.y[0])}, with the "
        f"model's {part.chosen:,} it is {score_text(measure, error.y[-1])}."
    )
    if asked:
        finding += f" Theory asks for {'; '.join(asked)}."
    ends = (float(error.x.min()), 1.15 * end)
    x = axis("landmarks", ends=ends, ticks=part.landmarks.tolist(), type="log", base=2)
    highest = max(float(error.high.max()), 1e-12)
    y = axis(f"{measure}, held out", percent=measure == ERROR_RATE, ends=(0.0, highest))
    table = {"landmarks": error.x, measure: error.y, "low": error.low, "high": error.high}
    return chart("learning-curve", finding, x, y, layers, table, 260)


def cost_curve(found: CostCurve) -> Chart:
    """Draw the accuracy on held-out rows by the calls that a fit makes."""
    finding = (
        f"With {found.x[-1]:,.0f} calls, {percent(float(found.y[-1]))} of the held-out rows are classified correctly; "
        f"always predicting the most frequent class would be right for {percent(found.majority)}."
    )
    layers = [
        line_at(y=found.majority),
        marks("text", {"x": [float(found.x[0])], "y": [found.majority], "text": ["most frequent class"]}, INK, dy=-8),
        *curve_marks(found, "calls to fit", "accuracy"),
    ]
    x = axis("calls to fit", ends=(0.0, float(found.x[-1])))
    y = axis("accuracy on held-out rows", percent=True)
    table: dict[str, Any] = {
        "calls to fit": found.x,
        "accuracy": found.y,
        "low": found.low,
        "high": found.high,
        "landmarks": found.landmarks,
        "calls of a prediction": found.per_prediction,
    }
    return chart("cost-curve", finding, x, y, layers, table, 260)


def _intervals(
    names: Sequence[str], values: Any, low: Any, high: Any, hover: dict[str, str], **more: Any
) -> list[dict[str, Any]]:
    """Return a point with an interval for each name; `more` are columns that hovering shows, too."""
    hover = {**hover, "low": "interval from", "high": "interval to", **{name: name for name in more}}
    return [
        marks("rule", {"x": low, "x2": high, "y": names}, SOFT_INK, strokeWidth=2),
        marks("point", {"x": values, "y": names, "low": low, "high": high, **more}, hover=hover),
    ]


def recall(found: Findings | ModelFindings) -> Chart:
    """Draw the share of each class that is predicted correctly, with its interval, the lowest first."""
    part = _part(found, "model", ModelFindings)
    if not part.by_class:
        raise TypeError("this figure draws classes, and the model predicts numbers: see errors")
    shown = sorted(part.by_class, key=lambda one: one.recall.value)[:MOST_BARS]
    names = [short_label(one.label) for one in shown]
    table: dict[str, Any] = {
        "class": [str(one.label) for one in shown],
        "examples": [one.n for one in shown],
        "recall": [one.recall.value for one in shown],
        "low": [one.recall.low for one in shown],
        "high": [one.recall.high for one in shown],
    }
    hover = {"y": "class", "x": "recall"}
    layers = _intervals(names, table["recall"], table["low"], table["high"], hover, examples=table["examples"])
    finding = f"The class that is recognized least is {names[0]}: {percent(shown[0].recall.value)} of it."
    if len(part.by_class) > MOST_BARS:
        finding += f" The {MOST_BARS} classes with the lowest recall are drawn."
    x = axis("recall: share of the class that is predicted correctly", percent=True, ends=(0.0, 1.0))
    return chart("recall", finding, x, names_axis(names), layers, table, max(60, 22 * len(names)))


def confusion(found: Findings | ModelFindings) -> Chart:
    """Draw the number of held-out examples by true and predicted class; colors show shares of the true class."""
    model = _part(found, "model", ModelFindings)
    if model.confusion is None:
        raise TypeError("this figure draws classes, and the model predicts numbers: see residuals")
    counts = np.asarray(model.confusion)
    names = [str(name) for name in model.classes]
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
    hover = {"y": "true class", "x": "predicted class", "count": "examples"}
    table: dict[str, list[Any]] = {"true class": [], "predicted class": [], "examples": []}
    layers = []
    right = np.eye(len(names), dtype=bool)
    for color, cells in ((ORANGE, counts * ~right), (BLUE, counts * right)):
        a, b = np.nonzero(cells)
        order = np.argsort(-cells[a, b], kind="stable")
        y = [names[i] for i in a[order]]
        x = [names[i] for i in b[order]]
        count = cells[a, b][order]
        table["true class"] += y
        table["predicted class"] += x
        table["examples"] += count.tolist()
        opacity = 0.2 + 0.6 * shares[a, b][order]
        layers.append(marks("rect", {"y": y, "x": x, "count": count, "opacity": opacity}, color, hover=hover))
        if len(names) <= MANY_CLASSES:
            text = {"y": y, "x": x, "text": [f"{value:.3g}" for value in count]}
            layers.append(marks("text", text, INK, align="center", dx=0))
    wrong = int(np.count_nonzero(counts) - np.count_nonzero(counts.diagonal()))
    finding = (
        f"{f'{wrong:,}' if wrong else 'None'} of {len(names) * (len(names) - 1):,} pairs of classes "
        f"{'was' if wrong < 2 else 'were'} confused; the {model.measure} on "
        f"{model.n_tested:,} held-out examples is {held_out_error(model)}."
    )
    x_axis = names_axis(names, "predicted class", orient="top", labelAngle=-60, labelFontSize=10)
    y_axis = names_axis(names, "true class")
    return chart("confusion", finding, x_axis, y_axis, layers, table, 420, square=True)


def calibration(found: Findings | ModelFindings | Calibration) -> Chart:
    """Draw how often predicted events happened, by their predicted probability."""
    part = _part(found, "model", ModelFindings, Calibration)
    curve = part.calibration if isinstance(part, ModelFindings) else part
    if curve is None:
        raise TypeError("this figure draws probabilities, and the model predicts numbers: see residuals")
    points = {"x": curve.x, "y": curve.y, "low": curve.low, "high": curve.high, "size": curve.counts}
    hover = {"x": "predicted", "y": "happened", "low": "interval from", "high": "interval to", "size": "examples"}
    layers = [
        diagonal(0.0, 1.0),
        marks("rule", {"x": curve.x, "y": curve.low, "y2": curve.high}, strokeWidth=2),
        marks("point", points, hover=hover),
    ]
    covered = int(((curve.low <= curve.x) & (curve.x <= curve.high)).sum())
    finding = (
        f"In {covered} of {len(curve.x)} groups of similar probabilities, the predicted probability lies within the "
        f"interval of what happened."
    )
    x = axis(f"predicted probability that {curve.event}", percent=True, ends=(0.0, 1.0))
    y = axis("share that happened", percent=True, ends=(0.0, 1.0))
    titles = ("predicted", "happened", "low", "high", "examples")
    return chart("calibration", finding, x, y, layers, dict(zip(titles, points.values(), strict=True)), square=True)


def _of_numbers(found: Findings | ModelFindings) -> ModelFindings:
    part: ModelFindings = _part(found, "model", ModelFindings)
    if part.residuals is None:
        raise TypeError("this figure draws numbers, and the model predicts classes: see confusion")
    return part


def residuals(found: Findings | ModelFindings) -> Chart:
    """Draw predicted against true numbers of held-out examples; of many, every k-th."""
    model = _of_numbers(found)
    part = model.residuals
    assert part is not None
    step = -(-len(part.labels) // MOST_POINTS)
    data = {"index": part.indices[::step], "x": part.labels[::step], "y": part.predicted[::step]}
    both = np.concatenate([part.labels, part.predicted])
    ends = (float(both.min()), float(both.max()))
    half, most = np.quantile(np.abs(part.values), [0.5, 0.9])
    layers = [
        diagonal(*ends),
        marks("point", data, hover={"index": "example", "x": "true", "y": "predicted"}, opacity=0.6),
    ]
    finding = (
        f"Half of the {len(part.labels):,} predictions are within {half:.3g} of the truth, nine in ten within "
        f"{most:.3g}; the {model.measure} is {held_out_error(model)}."
    )
    if step > 1:
        finding += f" Every {step}th is drawn."
    reach = part.reach(0.9)
    if reach is not None:
        line = np.array(ends)
        layers.insert(
            0, marks("area", {"x": line, "y": line - reach, "y2": line + reach}, QUIET, opacity=0.18, clip=True)
        )
        finding += (
            f" A new number lies within {reach:.3g} of its prediction (the gray band) with probability "
            f"{'about ' if model.folds > 1 else ''}{percent(0.9)}, if new examples come from the same source."
        )
    table = {"example": data["index"], "true": data["x"], "predicted": data["y"]}
    x = axis("true number", ends=ends)
    y = axis("predicted number", ends=ends)
    return chart("residuals", finding, x, y, layers, table, 320, square=True)


def errors(found: Findings | ModelFindings) -> Chart:
    """Draw predicted minus true numbers by the predicted number, with their trend in equal groups."""
    part = _of_numbers(found).residuals
    assert part is not None
    step = -(-len(part.labels) // MOST_POINTS)
    data = {"index": part.indices[::step], "x": part.predicted[::step], "y": part.values[::step]}
    order = np.argsort(part.predicted, kind="stable")
    groups = [group for group in np.array_split(order, min(8, max(1, len(order) // 5))) if len(group)]
    trend = {"x": [part.predicted[g].mean() for g in groups], "y": [part.values[g].mean() for g in groups]}
    bias = float(part.values.mean())
    finding = f"Predictions are too {'high' if bias > 0 else 'low'} by {abs(bias):.3g} on average."
    if abs(bias) * len(part.values) ** 0.5 < 2 * float(part.values.std()):
        finding = "Predictions show no lean to one side."
    finding += " The line is the mean error of similar predictions: away from zero, the model errs in one direction."
    hover = {"index": "example", "x": "predicted", "y": "predicted minus true"}
    layers = [
        line_at(y=0.0),
        marks("point", data, hover=hover, opacity=0.6),
        marks("line", trend, ORANGE, strokeWidth=2.5),
    ]
    x = axis("predicted number")
    y = axis("predicted minus true")
    table = {"example": data["index"], "predicted": data["x"], "error": data["y"]}
    return chart("errors", finding, x, y, layers, table, 320, square=True)


def object_map(found: Findings | ObjectMap, color: str | None = None) -> Chart:
    """Draw all objects in the plane, colored by the label or, with `color`, by the error or a column."""
    placed = _part(found, "map", ObjectMap)
    color = color or placed.colorings[0][0]
    check_choice("color", color, [name for name, *_ in placed.colorings])
    _, levels, names, ordered = next(one for one in placed.colorings if one[0] == color)
    looks = [("unknown", QUIET), *zip(names, shades() if ordered else CLASS_COLORS, strict=False)]
    layers = []
    for level, (name, shade) in enumerate(looks, -1):
        own = levels == level
        if own.any():
            data = {"index": placed.indices[own], "x": placed.x[own], "y": placed.y[own]}
            layers.append(marks("point", data, shade, name, {"index": "example"}))
    order = np.argsort(levels, kind="stable")
    table: dict[str, Any] = {
        color: [looks[level + 1][0] for level in levels[order]],
        "example": placed.indices[order],
        "x": placed.x[order],
        "y": placed.y[order],
    }
    x = axis("first coordinate", ticks=())
    y = axis("second coordinate", ticks=())
    return chart("map", f"{placed}, colored by {color}.", x, y, layers, table, 360, square=True)


def landmarks(found: Findings | Sequence[LandmarkFinding]) -> Chart:
    """Draw the importance of the most important landmarks, colored by direction."""
    given = found.landmarks if isinstance(found, Findings) else found
    shown = [one for one in given if one.rank <= MOST_BARS]
    table: dict[str, Any] = {
        "landmark": [f"X[{one.index}] ({short_label(one.label)})" for one in shown],
        "direction": [one.direction for one in shown],
        "importance": [one.importance for one in shown],
    }
    names = table["landmark"]
    directions: dict[str, Any] = {one: f"for {one}" for one in sorted(set(table["direction"]))}
    colors = CLASS_COLORS
    if len(directions) > MOST_COLORS:
        directions = dict.fromkeys(directions)
        colors = [BLUE] * len(directions)
    layers = []
    for (direction, name), color in zip(directions.items(), colors, strict=False):
        own = [place for place, one in enumerate(shown) if one.direction == direction]
        bars = {"x": [0.0] * len(own), "x2": [shown[i].importance for i in own], "y": [names[i] for i in own]}
        layers.append(marks("bar", bars, color, name))
    finding = f"The most important landmark is {names[0]}." if names else "There is no landmark."
    x = axis("importance, in units of scores")
    return chart("landmarks", finding, x, names_axis(names), layers, table, 24 * len(names))


def learning_steps(found: Findings | LearnedSummary) -> Chart:
    """Draw the held-out losses of the kernel to start with, and of what ``similarity="auto"`` learned."""
    part = _part(found, "learned", LearnedSummary)
    losses = np.array([one.loss for one in part.steps])
    reach = 1.96 * np.array([one.standard_error for one in part.steps])
    names = [one.name for one in part.steps]
    low = np.maximum(losses - reach, 0.0)
    high = losses + reach
    layers = _intervals(names, losses, low, high, {"y": "kernel", "x": "squared error"})
    if high.max() > 0.8:
        layers.append(line_at(x=1.0))
    x = axis("squared error on pilot rows; 1: that of the mean")
    table = {"kernel": names, "squared error": losses, "low": low, "high": high}
    height = max(80, 34 * len(names))
    return chart("learning-steps", what_learning_gained(part), x, names_axis(names), layers, table, height)


def learned_importance(found: Findings | LearnedSummary) -> Chart:
    """Draw the importance of columns for the learned similarity with intervals, the largest first."""
    one = _part(found, "learned", LearnedSummary).importance
    order = one.order()[:MOST_BARS]
    names = [one.names[i] for i in order]
    values, low, high = (np.asarray(array)[order] for array in (one.values, one.low, one.high))
    bars = {"x": np.zeros(len(names)), "x2": values, "y": names, "low": low, "high": high}
    hover = {"y": "column", "x2": "importance", "low": "interval from", "high": "interval to"}
    layers = [
        marks("bar", bars, hover=hover),
        marks("rule", {"x": low, "x2": high, "y": names}, SOFT_INK, strokeWidth=2),
    ]
    finding = f"{names[0]} has {percent(float(values[0]))} of the importance, {one.in_short()}."
    if len(one.names) > len(names):
        finding += f" The first {len(names)} of {len(one.names):,} columns are drawn."
    x = axis("share of the squared gradient of the predictions", percent=True)
    table = {"column": names, "importance": values, "low": low, "high": high}
    return chart("learned-importance", finding, x, names_axis(names), layers, table, max(80, 24 * len(names)))

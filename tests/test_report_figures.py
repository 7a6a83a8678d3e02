"""Figures: what is drawn, not how it looks; and the files that they are saved to."""

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from similitude import cost_curve, datasets
from similitude.report import figures, investigate, limits

vl_convert = pytest.importorskip("vl_convert")

pytestmark = pytest.mark.usefixtures("quick_reports")


@cache
def found(name):
    rng = np.random.default_rng(0)
    if name == "adult":
        X, y = datasets.adult()
        return investigate("gower", X.iloc[:50, :6], y[:50])
    X = rng.normal(size=(120 if name == "many" else 60, 3))
    if name == "numbers":
        return investigate("gaussian", X, X[:, 0] ** 2)
    if name == "calls":
        return cost_curve(lambda a, b: float(a @ b), X, X[:, 0] > 0, random_state=0)
    if name == "learned":
        return investigate("auto", X, np.where(X[:, 0] > 0, "up", "down"))
    if name == "many":
        codes = np.arange(120) % 30
        return investigate("gaussian", X + 4 * rng.normal(size=(30, 3))[codes], codes, task="classification")
    return investigate("linear", X, np.where(X[:, 0] > 0, "$b$", "_a"))


def layers(chart, kind):
    return [one for one in chart.spec["layer"] if one["mark"]["type"] == kind]


def column(layer, name):
    return [row[name] for row in layer["data"]["values"]]


def values(chart, kind, name):
    """Return a column of all marks of a kind."""
    return [value for layer in layers(chart, kind) for value in column(layer, name)]


def legend(chart):
    colors = [one["encoding"]["color"] for one in chart.spec["layer"] if "color" in one["encoding"]]
    assert all(color["scale"] == colors[0]["scale"] for color in colors)
    return colors[0]["scale"]["domain"] if colors else None


def axis(chart, name):
    return next(one["encoding"][name] for one in chart.spec["layer"] if name in one["encoding"])


@pytest.mark.deep
def test_labels_are_bars_the_largest_class_on_top():
    chart = figures.labels(found("adult"))
    assert values(chart, "bar", "x2") == sorted(found("adult").about.labels.counts, reverse=True)
    assert axis(chart, "y")["scale"]["domain"] == ["<=50K", ">50K"]
    assert axis(chart, "x")["title"] == "examples" and "<=50K" in chart.finding


def test_spectrum_draws_each_eigenvalue_once_negative_ones_in_another_color():
    part = found("adult").spectrum
    chart = figures.spectrum(part)
    np.testing.assert_allclose(values(chart, "rect", "y2"), part.values, rtol=1e-3)
    many = figures.spectrum(replace(part, values=np.linspace(5.0, -1.0, 400)))
    assert len(values(many, "rect", "y2")) == len(many.rows) == 400
    assert len(column(layers(chart, "rect")[-1], "x")) == part.n_negative > 0
    assert axis(chart, "y")["title"] == "eigenvalue" and legend(chart) == ["not negative", "negative"]
    assert legend(figures.spectrum(found("linear"))) is None


@pytest.mark.deep
def test_gaps_are_a_stacked_histogram_of_the_classes():
    one = found("adult")
    chart = figures.gaps(one)
    assert legend(chart) == ["<=50K", ">50K"]
    assert sum(values(chart, "rect", "count")) == len(one.gap_labels)
    assert values(chart, "rule", "x") == [0.0]
    assert legend(figures.gaps(one.goodness)) == ["all examples"]
    heights = np.bincount(np.unique(values(chart, "rect", "x"), return_inverse=True)[1], values(chart, "rect", "count"))
    assert max(values(chart, "rect", "y2")) == heights.max()
    boxes = figures.gaps(found("many"))
    assert len(values(boxes, "bar", "x")) == len(axis(boxes, "y")["scale"]["domain"]) == limits.MOST_BARS


def test_goodness_curve_draws_both_definitions_with_bands():
    part = found("adult").goodness
    chart = figures.goodness_curve(part)
    for layer, curve in zip(layers(chart, "line"), (part.strong, part.weighted), strict=True):
        np.testing.assert_allclose(column(layer, "x"), curve.x, rtol=1e-3)
        np.testing.assert_allclose(column(layer, "y"), curve.y, rtol=1e-3)
    assert "ESTIMATE" in legend(chart)[0] and "HELD-OUT" in legend(chart)[1]
    low, high = axis(chart, "y")["scale"]["domain"]
    assert high == -low > np.abs(part.weighted.y).max()
    assert legend(figures.goodness_curve(part, weighted=False)) is None


def test_gram_is_an_image_with_lines_between_classes():
    chart = figures.gram(found("many"))
    assert values(chart, "image", "url")[0].startswith("data:image/png;base64,")
    assert len(values(chart, "rule", "x")) == 2 * 29
    assert chart.rows == [(str(name), 4) for name in range(30)]
    assert not values(figures.gram(found("numbers")), "rule", "x")


def test_learning_curve_marks_what_theorems_ask_for():
    part = found("linear").landmark_curve
    chart = figures.learning_curve(part)
    np.testing.assert_allclose(values(chart, "line", "x"), part.landmarks)
    np.testing.assert_allclose(values(chart, "line", "y"), part.error.y, rtol=1e-3)
    assert all(f"{size.size:,} ({size.grade}" in chart.finding for size in part.theorem_sizes)
    near = [size.size for size in part.theorem_sizes if size.size <= limits.TOO_FAR * part.chosen]
    assert values(chart, "rule", "x") == near
    assert axis(chart, "x")["scale"]["type"] == "log" and axis(chart, "y")["title"] == "error rate, held out"


def test_confusion_writes_numbers_for_few_classes():
    part = found("adult").model
    rows = [row for layer in layers(figures.confusion(part), "text") for row in layer["data"]["values"]]
    seen = {(row["y"], row["x"]): float(row["text"]) for row in rows}
    names = [str(name) for name in part.classes]
    assert seen == {(names[i], names[j]): value for (i, j), value in np.ndenumerate(part.confusion) if value}
    many = figures.confusion(found("many"))
    assert not layers(many, "text")
    assert sum(values(many, "rect", "count")) == pytest.approx(found("many").model.confusion.sum(), rel=1e-3)


def test_residuals_errors_and_recalls_are_points_with_the_numbers_of_the_findings():
    part = found("numbers").model.residuals
    beside = figures.residuals(found("numbers"))
    np.testing.assert_allclose(values(beside, "point", "x"), part.labels, rtol=1e-3)
    np.testing.assert_allclose(values(beside, "point", "y"), part.predicted, rtol=1e-3)
    np.testing.assert_allclose(values(figures.errors(found("numbers")), "point", "y"), part.values, rtol=1e-3)
    recalls = [one.recall.value for one in found("adult").model.by_class]
    np.testing.assert_allclose(values(figures.recall(found("adult")), "point", "x"), sorted(recalls), rtol=1e-3)


def test_calibration_has_an_interval_for_each_bin():
    part = found("adult").model.calibration
    chart = figures.calibration(part)
    np.testing.assert_allclose(values(chart, "point", "y"), part.y, rtol=1e-3)
    np.testing.assert_array_equal(values(chart, "point", "size"), part.counts)
    np.testing.assert_allclose(
        values(chart, "rule", "y") + values(chart, "rule", "y2"), [*part.low, *part.high], rtol=1e-3
    )


def test_landmarks_are_bars_the_most_important_on_top():
    one = found("linear")
    chart = figures.landmarks(one)
    lengths = dict(zip(values(chart, "bar", "y"), values(chart, "bar", "x2"), strict=True))
    top = [mark.importance for mark in one.landmarks[: limits.MOST_BARS]]
    np.testing.assert_allclose([lengths[name] for name in axis(chart, "y")["scale"]["domain"]], top, rtol=1e-3)
    assert legend(figures.landmarks(found("many"))) is None


def test_the_map_has_a_point_for_each_object_and_a_color_for_each_class():
    one = found("adult")
    assert legend(figures.object_map(one)) == ["<=50K", ">50K"]
    for color in (None, "age"):
        assert len(values(figures.object_map(one, color), "point", "x")) == len(one.map.x)
    with pytest.raises(ValueError, match="color"):
        figures.object_map(one, "no such column")


def test_what_was_learned_is_drawn():
    one = found("learned")
    assert values(figures.learning_steps(one), "point", "y") == [step.name for step in one.learned.steps]
    assert values(figures.learned_importance(one), "bar", "y")[0] == one.learned.importance.names[0]


OF = {"errors": "numbers", "residuals": "numbers", "cost_curve": "calls"}
OF |= {"learning_steps": "learned", "learned_importance": "learned"}


@pytest.mark.parametrize("name", figures.__all__)
def test_every_figure_is_saved_with_all_of_it_inside(name, tmp_path):
    chart = getattr(figures, name)(found(OF.get(name, "linear")))
    for suffix in ("svg", "png", "json"):
        chart.save(tmp_path / f"a.{suffix}")
    drawn = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(drawn).tag.endswith("svg") and "var(--" not in drawn
    assert chart.finding.split()[0] in drawn and chart._repr_svg_().startswith("<svg")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == chart.to_dict()
    assert chart.finding.endswith(".") and all(len(row) == len(chart.columns) for row in chart.rows)


def test_dark_figures_have_the_dark_colors_of_the_page(tmp_path):
    chart = figures.spectrum(found("linear"))
    chart.save(tmp_path / "dark.svg", dark=True)
    dark = (tmp_path / "dark.svg").read_text(encoding="utf-8")
    light = chart._repr_svg_()
    assert "#1a1e26" in dark and "#6aa9f4" in dark and "#2563a8" in light and "#6aa9f4" not in light
    with pytest.raises(ValueError, match="suffix"):
        chart.save(tmp_path / "chart.bmp")


def test_labels_of_users_are_drawn_as_they_are():
    one = found("linear")
    for draw in (figures.labels, figures.gaps, figures.gram, figures.confusion, figures.landmarks):
        assert all(label in draw(one)._repr_svg_() for label in ("$b$", "_a"))


@pytest.mark.parametrize(
    ("name", "of", "message"),
    [
        ("gaps", "numbers", "goodness is defined for classes"),
        ("goodness_curve", "numbers", "goodness is defined for classes"),
        ("confusion", "numbers", "see residuals"),
        ("calibration", "numbers", "see residuals"),
        ("labels", "numbers", "see residuals"),
        ("recall", "numbers", "see errors"),
        ("residuals", "adult", "see confusion"),
        ("errors", "adult", "see confusion"),
        ("learning_steps", "adult", "hold no LearnedSummary"),
    ],
)
def test_what_is_not_there_is_not_drawn(name, of, message):
    with pytest.raises(TypeError, match=message):
        getattr(figures, name)(found(of))
    with pytest.raises(TypeError, match=r"expected Findings or \w+.*, got str"):
        getattr(figures, name)("something else")


@pytest.mark.deep
def test_charts_are_made_without_the_converter_and_saving_names_the_extra(tmp_path):
    code = (
        "import sys; sys.modules['vl_convert'] = None\n"
        "from similitude.report import figures\n"
        "chart = figures.landmarks([])\n"
        f"chart.save({str(tmp_path / 'a.json')!r})\n"
        "try:\n    chart.save('a.svg')\nexcept ImportError as error:\n    print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "a chart as SVG or PNG needs an optional dependency: pip install 'similitude[report]'\n"

"""Figures: what is drawn, not how it looks."""

import io
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

from similitude import datasets
from similitude.report import investigate

matplotlib = pytest.importorskip("matplotlib")

from matplotlib.figure import Figure  # noqa: E402

from similitude.report import figures  # noqa: E402
from similitude.report.render import charts  # noqa: E402

pytestmark = pytest.mark.usefixtures("quick_reports")


def axes():
    return Figure(figsize=(5, 4)).add_subplot()


@cache
def found(name):
    rng = np.random.default_rng(0)
    if name == "adult":
        X, y = datasets.adult()
        return investigate("gower", X.iloc[:50, :6], y[:50])
    X = rng.normal(size=(120 if name == "many" else 60, 3))
    if name == "numbers":
        return investigate("gaussian", X, X[:, 0] ** 2)
    if name == "many":
        codes = np.arange(120) % 30
        return investigate("gaussian", X + 4 * rng.normal(size=(30, 3))[codes], codes, task="classification")
    return investigate("linear", X, np.where(X[:, 0] > 0, "$b$", "_a"))


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.deep
def test_labels_are_bars_the_largest_class_on_top():
    ax = figures.labels(found("adult"), ax=axes())
    counts = found("adult").about.labels.counts
    assert [bar.get_width() for bar in ax.patches] == sorted(counts, reverse=True)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["<=50K", ">50K"] and ax.yaxis_inverted()
    assert ax.get_xlabel() == "examples" and "<=50K" in ax.get_title(loc="left")


def test_spectrum_draws_each_eigenvalue_once_negative_ones_in_another_color():
    part = found("adult").spectrum
    ax = figures.spectrum(part, ax=axes())
    np.testing.assert_allclose([bar.get_height() for bar in ax.patches], part.values)
    colors = [bar.get_facecolor() for bar in ax.patches]
    assert colors.count(colors[-1]) == part.n_negative > 0
    assert ax.get_ylabel() == "eigenvalue" and legend(ax) == ["not negative", "negative"]
    assert figures.spectrum(found("linear"), ax=axes()).get_legend() is None


@pytest.mark.deep
def test_gaps_are_a_stacked_histogram_of_the_classes():
    one = found("adult")
    ax = figures.gaps(one, ax=axes())
    assert legend(ax) == ["<=50K", ">50K"]
    assert sum(bar.get_height() for bar in ax.patches) == len(one.gap_labels)
    assert ax.lines[-1].get_xdata() == [0, 0]
    assert legend(figures.gaps(one.goodness, ax=axes())) == ["all examples"]
    assert len(figures.gaps(found("many"), ax=axes()).patches) == charts.MAX_ROWS


def test_goodness_curve_draws_both_definitions_with_bands():
    part = found("adult").goodness
    ax = figures.goodness_curve(part, ax=axes())
    for line, curve in zip(ax.lines[1:], (part.strong, part.weighted), strict=True):
        np.testing.assert_allclose(line.get_xydata(), np.stack([curve.x, curve.y], axis=1))
    assert "ESTIMATE" in legend(ax)[0] and "HELD-OUT" in legend(ax)[1]
    low, high = ax.get_ylim()
    assert high == -low > np.abs(part.weighted.y).max()


def test_gram_is_an_image_with_lines_between_classes():
    part = found("many").gram
    ax = figures.gram(part, ax=axes())
    np.testing.assert_array_equal(ax.images[0].get_array(), part.matrix)
    assert len(ax.lines) == 2 * 29 and 0 < len(ax.get_yticks()) <= 12
    assert not figures.gram(found("numbers"), ax=axes()).lines


def test_learning_curve_marks_what_theorems_ask_for():
    part = found("linear").landmark_curve
    ax = figures.learning_curve(part, ax=axes())
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.stack([part.landmarks, part.error.y], axis=1))
    title = " ".join(ax.get_title(loc="left").split())
    assert all(f"{size.size:,} ({size.grade}" in title for size in part.theorem_sizes)
    near = [size.size for size in part.theorem_sizes if size.size <= charts.FAR * part.chosen]
    assert [line.get_xdata()[0] for line in ax.lines[1:]] == near
    assert ax.get_xscale() == "log" and ax.get_ylabel() == "error rate, held out"


def test_confusion_writes_numbers_for_few_classes():
    part = found("adult").model
    ax = figures.confusion(part, ax=axes())
    seen = {text.xy: float(text.get_text()) for text in ax.texts}
    assert seen == {(j, i): value for (i, j), value in np.ndenumerate(part.confusion) if value}
    assert not figures.confusion(found("many"), ax=axes()).texts


def test_residuals_are_points_beside_the_diagonal():
    part = found("numbers").model.residuals
    ax = figures.residuals(found("numbers"), ax=axes())
    np.testing.assert_allclose(ax.collections[-1].get_offsets().data, np.stack([part.labels, part.predicted], axis=1))


def test_calibration_has_an_interval_for_each_bin():
    part = found("adult").model.calibration
    ax = figures.calibration(part, ax=axes())
    intervals, points = ax.collections
    np.testing.assert_allclose(points.get_offsets().data, np.stack([part.x, part.y], axis=1))
    ends = np.array(intervals.get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, np.stack([part.low, part.high], axis=1))
    assert points.get_sizes().argmax() == part.counts.argmax()


def test_landmarks_are_bars_the_most_important_on_top():
    one = found("linear")
    ax = figures.landmarks(one, ax=axes())
    widths = {round(bar.get_y() + bar.get_height() / 2): bar.get_width() for bar in ax.patches}
    assert [widths[at] for at in range(len(widths))] == [mark.importance for mark in one.landmarks[: len(widths)]]
    assert ax.yaxis_inverted() and len(widths) <= charts.MAX_ROWS
    assert figures.landmarks(found("many"), ax=axes()).get_legend() is None


def test_labels_of_users_are_no_formulas_and_do_not_vanish():
    one = found("linear")
    for draw in (figures.labels, figures.gaps, figures.gram, figures.confusion, figures.calibration, figures.landmarks):
        ax = draw(one, ax=axes())
        with matplotlib.rc_context({"svg.fonttype": "none"}):
            ax.figure.savefig(drawn := io.StringIO(), format="svg")
        assert "$b$" in drawn.getvalue() or draw is figures.calibration
    assert sum("_a" in text for text in legend(figures.gaps(one, ax=axes()))) == 1


@pytest.mark.parametrize("name", figures.__all__)
def test_without_axes_a_figure_is_made_and_nothing_global_changes(name):
    import matplotlib.pyplot as plt

    one = found("numbers" if name in ("errors", "residuals") else "adult")
    before = dict(matplotlib.rcParams)
    ax = getattr(figures, name)(one)
    assert ax.get_xlabel() and plt.fignum_exists(ax.figure.number)
    assert dict(matplotlib.rcParams) == before
    plt.close(ax.figure)


@pytest.mark.parametrize(
    ("name", "of", "message"),
    [
        ("gaps", "numbers", "goodness is defined for classes"),
        ("goodness_curve", "numbers", "goodness is defined for classes"),
        ("confusion", "numbers", "see residuals"),
        ("calibration", "numbers", "see residuals"),
        ("labels", "numbers", "see residuals"),
        ("residuals", "adult", "see confusion"),
    ],
)
def test_what_is_not_there_is_not_drawn(name, of, message):
    with pytest.raises(TypeError, match=message):
        getattr(figures, name)(found(of), ax=axes())


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="expected Findings or Eigenvalues, got list"):
        figures.spectrum([1, 2, 3])


TOLD = "a figure needs an optional dependency: pip install 'similitude[report]'"


def test_missing_matplotlib_is_one_line_with_the_command(monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError) as caught:
        figures.landmarks([])
    assert str(caught.value) == TOLD


@pytest.mark.deep
def test_figures_are_imported_without_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None; sys.modules['matplotlib.pyplot'] = None\n"
        "from similitude.report import figures\n"
        "try:\n    figures.landmarks([])\nexcept ImportError as error:\n    print(error)\n"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told == TOLD + "\n"


def test_the_map_has_a_point_for_each_object_and_a_color_for_each_class():
    ax = figures.object_map(found("adult"), ax=axes())
    assert sum(len(one.get_offsets()) for one in ax.collections) == len(found("adult").map.x)
    assert len(ax.collections) == 2
    figures.object_map(found("adult"), "age", ax=axes())
    with pytest.raises(ValueError, match="color"):
        figures.object_map(found("adult"), "no such column", ax=axes())


def test_recall_and_errors_are_those_of_the_findings():
    part = found("adult").model
    drawn = figures.recall(part, ax=axes()).collections[-1].get_offsets().data[:, 0]
    np.testing.assert_allclose(sorted(drawn), sorted(one.recall.value for one in part.by_class))
    numbers = found("numbers").model
    points = figures.errors(numbers, ax=axes()).collections[-1].get_offsets().data
    np.testing.assert_allclose(points[:, 1], numbers.residuals.values)
    for figure, name in ((figures.recall, "numbers"), (figures.errors, "adult")):
        with pytest.raises(TypeError):
            figure(found(name))

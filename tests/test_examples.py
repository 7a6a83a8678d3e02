"""Each example of the gallery runs in its short form, draws what it promises, and finds what its text says."""

import runpy
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
PAGES = sorted(EXAMPLES.glob("*.py"))
SLOW = {
    "plot_molecules",
    "plot_million_rows",
    "plot_online",
    "plot_vowels",
    "plot_no_map_without_data",
    "plot_messages",
    "plot_own_function",
    "own_similarity",
    "costly_judge",
    "plot_spam_filter",
    "plot_duplicates",
    "plot_drift",
    "plot_table",
}
"""Pages that take seconds: `make docs` runs them, `make deep` also compares what they find with what they say."""


def check_promoters(found):
    assert found["goodness"].p_value.value < 0.01
    assert found["accuracies"]["substrings of up to 6"] > 0.9
    assert found["accuracy"] > 0.9


def check_kernels_in_the_plane(found):
    linear, polynomial, gaussian = found["accuracies"]
    assert linear < 0.7 and polynomial == gaussian == 1.0
    assert found["found"].value > 0 and len(found["found"].support) == 3


def check_vowels(found):
    assert min(found["accuracies"].values()) > 0.9


def check_molecules(found):
    assert found["accuracies"]["shapes only"] < 0.8 < found["accuracies"]["neighborhoods"]
    assert found["accuracy"] > 0.85 and found["why"].prediction == found["labels"][found["asked"]]


def check_network(found):
    right = found["accuracies"]
    assert right["mean of both"] < 0.6 < min(right["left"], right["right"]) and right["both"] > 0.9


def check_messages(found):
    assert min(found["found"].values()) > 0.7 and found["lost"] < 0.02
    assert found["why"].influences.sum() + found["why"].base == pytest.approx(found["why"].score)


def check_table(found):
    assert min(found["accuracies"].values()) > 0.8
    assert np.abs(found["said"] - found["seen"]).max() < 0.15
    assert found["first"][-1] < np.mean(found["y_test"] == "<=50K") <= found["again"][-1] + 0.02


def check_spam_filter(found):
    assert found["caught"] > 0.7 and found["lost"] < 0.02 and found["same"]
    assert found["wrong"].mean() < 0.05 and found["undecided"].mean() < 0.1


def check_duplicates(found):
    last = found["last"]
    assert found["recall"][last] > 0.9 and found["precision"][last] > 0.85 and found["together"] > 170
    assert found["shares"]["edit"][1][-1] == 1.0


def check_drift(found):
    assert found["found"].drifted == (5, 6, 7, 8) and found["by_values"].drifted == ()


def check_own_function(found):
    first, second, third = found["validity"].witness.indices
    K = found["K"]
    assert K[first, second] == K[second, third] == 1 and K[first, third] == 0
    assert found["accuracies"]["share, as it is"] > 0.7


def check_million_rows(found):
    assert found["accuracy"] > 0.9
    assert found["megabytes"][-1] < 2 * found["megabytes"][1]
    assert not Path(found["folder"].name).exists()


def check_online(found):
    for (_, features), wrong in found["late_errors"].items():
        assert wrong < 0.02 if features == "x and similarities" else wrong > 0.5


def check_no_map_without_data(found):
    assert found["accuracies"]["anywhere"][3] < 0.6 and min(found["accuracies"]["from the data"]) > 0.95


def check_own_similarity(found):
    assert found["AgeLike"](years=10.0)({"age": 30}, {"age": 40}) == pytest.approx(np.exp(-1.0))


def check_costly_judge(found):
    assert found["model"].calls_.spent <= 6_000 and found["again"].calls_.spent == 0
    assert found["curve"].y[-1] > 0.8


def check_person_in_the_loop(found):
    assert found["model"].calls_.spent <= 60
    assert found["sorted_into"] == {"fix the door": "home", "send the invoice": "work"}


FIGURES = {
    "costly_judge": 1,
    "drift": 1,
    "duplicates": 1,
    "spam_filter": 1,
    "kernels_in_the_plane": 3,
    "messages": 2,
    "million_rows": 1,
    "molecules": 1,
    "network": 2,
    "no_map_without_data": 1,
    "online": 1,
    "own_function": 1,
    "promoters": 2,
    "table": 3,
    "vowels": 2,
}


@pytest.fixture
def pyplot(monkeypatch):
    """Draw to memory, show nothing, and forget the figures afterwards."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "show", lambda: None)
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.deep] if page.stem in SLOW else [], id=page.stem) for page in PAGES],
)
def test_example(page, pyplot, monkeypatch, capsys):
    """It prints little, labels the axes it draws, and its figures can be drawn without a warning."""
    monkeypatch.setenv("SIMILITUDE_SHORT", "1")
    found = runpy.run_path(str(page), run_name="__main__")
    name = page.stem.removeprefix("plot_")
    globals()[f"check_{name}"](found)
    assert 0 < len(capsys.readouterr().out.splitlines()) <= 20
    assert len(pyplot.get_fignums()) == FIGURES.get(name, 0)
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        figure.canvas.draw()
        assert any(axes.get_xlabel() or not axes.axison for axes in figure.axes)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_a_title(page):
    first, title, line, empty, *_ = page.read_text(encoding="utf-8").splitlines()
    assert first == '"""' and title and line == "=" * len(title) and not empty

"""The command line on a terminal: progress, help and formulas at any width; and the comparison with baselines."""

import inspect
import io
import json
import re
import sys
import time

import numpy as np
import pytest
from cli_runs import run, write_csv

from similitude import SimilarityRegressor, datasets
from similitude.cli.baselines import baselines, judged, verdict
from similitude.cli.kernels import readable
from similitude.cli.output import Output, Terminal
from similitude.cli.status_line import StatusLine
from similitude.kernels import Gaussian
from similitude.similarity import phases_reported_to
from similitude.similarity.expressions import NAMES
from similitude.support import in_letters

COMMANDS = (
    "demo",
    "check",
    "assess",
    "compare",
    "report",
    "fit",
    "predict",
    "explain",
    "duplicates",
    "drift",
    "info",
    "export",
    "kernels",
)
ALL = [(), *((one,) for one in COMMANDS), ("cache",), *(("cache", one) for one in ("info", "merge", "export", "prune"))]


class Screen(io.StringIO):
    """A terminal of the test."""

    encoding = "utf-8"

    def isatty(self):
        return True


# Progress.


def wait_for(screen, text):
    for _ in range(500):
        if text in screen.getvalue():
            return
        time.sleep(0.01)
    raise AssertionError(f"{text!r} is not in {screen.getvalue()!r}")


def test_a_line_says_what_is_done_and_is_gone_afterwards(monkeypatch):
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("similitude.cli.status_line.REDRAW_SECONDS", 0.01)

    def work():
        with StatusLine(screen, "fitting") as line:
            wait_for(screen, "similitude: fitting, 0 s")
            sys.stderr.write("\rsimilitude:  40% of 12 tiles \033[K")  # as engines do
            wait_for(screen, "s (40% of 12 tiles)")
            print("a note", file=sys.stderr)
            line.say("saving")
            wait_for(screen, "saving")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert sys.stderr is screen and screen.getvalue().endswith("\r\033[K")
    assert "\r\033[Ka note\n" in screen.getvalue()


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr("similitude.cli.status_line.REDRAW_SECONDS", 0.0)
    with Output().working("reading"):
        time.sleep(0.02)
    assert stream.getvalue() == ""


def test_notes_are_wrapped_at_words_on_terminals_only(monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setenv("TERM", "xterm")
    sentence = "note: " + " ".join(["similarity"] * 12)
    screen, stream = Screen(), io.StringIO()
    Terminal(screen).say(sentence)
    Terminal(stream).say(sentence)
    assert stream.getvalue() == f"{sentence}\n"
    lines = screen.getvalue().splitlines()
    assert len(lines) > 4 and all(len(line) <= 30 for line in lines)
    assert {word for line in lines for word in line.split()} == {"note:", "similarity"}


# Help and formulas.


@pytest.mark.parametrize("width", [50, 80])
def test_help_fits_the_terminal_and_names_no_types(monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    for command in ALL:
        code, out, err = run(*command, "--help")
        assert code == 0 and not err
        assert not re.search(r"<\w|\{|x>=|INTEGER|BOOLEAN|TEXT RANGE", out), out
        assert all(len(line) <= width for line in out.splitlines()), out


@pytest.mark.parametrize("name", sorted(NAMES))
def test_formulas_are_readable_in_a_terminal(name):
    text = inspect.cleandoc(NAMES[name].__doc__ or "").partition("Examples\n--------")[0]
    for ascii_only in (False, True):
        found = readable(text, 60, ascii_only)
        assert not re.search(r"\\[a-zA-Z]{2,}|:math:|\.\. math|[_^]\{", found), found
        assert all(len(line) <= 60 or " " not in line.strip() for line in found.splitlines())


def test_formulas_in_ascii():
    assert in_letters(r"\frac{2^{1-\nu}}{\Gamma(\nu)} \le \langle x, z\rangle^2", True) == (
        "(2^(1-nu))/Gamma(nu) <= <x, z>^2"
    )


# Baselines.


class Guess:
    """Predicts the label of a row by its own number."""

    def __init__(self, column):
        self.column = column

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.where(np.asarray(X)[:, self.column] > 0, "a", "b")


def test_the_verdict_on_models_whose_errors_are_known():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    X[:, 1] = np.where(rng.random(400) < 0.02, -X[:, 0], X[:, 0])  # about 2 % of labels are missed
    y = np.where(X[:, 0] > 0, "a", "b")
    said = []

    def found(*columns):
        guesses = {str(column): Guess(column) for column in columns}
        models, folds = judged(guesses, X, y, True, 0, said.append)
        assert folds == "5 folds, stratified, seed 0"
        return models, verdict(models, True)

    (first, second), sentence = found(0, 2)
    assert first.error == 0 and 0.4 < second.error < 0.6 and sentence.startswith("0 is better than 2")
    assert second.difference == -second.error and second.difference_error == second.standard_error
    assert found(2, 0)[1].startswith("2 is worse than 0: ")
    assert found(1, 0)[1].startswith("1 is worse than 0: ")
    assert said[0] == "fold 1 of 5: 0"


def test_what_chance_explains_is_no_better():
    X, y = np.random.default_rng(0).standard_normal((300, 2)), np.array(["a", "b"] * 150)
    models, _ = judged({"one": Guess(0), "other": Guess(1)}, X, y, True, 0, lambda text: None)
    assert re.match("one is (no better|not shown to be better) than other: ", verdict(models, True))


@pytest.mark.parametrize(
    ("kind", "X"),
    [
        ("vectors", np.random.default_rng(0).standard_normal((24, 2))),
        ("strings", ["a cat", "the dog"] * 12),
        ("series", [np.arange(5.0) * (i % 2) for i in range(24)]),
        ("sets", [frozenset("ab" if i % 2 else "c") for i in range(24)]),
        ("graphs", [([[0, 1]], ["C", "O"]) if i % 2 else ([[0, 1], [1, 2]], 3) for i in range(24)]),
    ],
)
@pytest.mark.parametrize("classes", [True, False])
def test_baselines_of_every_kind(kind, X, classes):
    y = np.array(["odd" if i % 2 else "even" for i in range(24)]) if classes else np.arange(24) % 2 * 1.0
    models, _ = judged(baselines(kind, X, classes, 0), X, y, classes, 0, lambda text: None)
    assert len(models) >= 2 and models[0].name.startswith("always")
    if kind != "vectors":  # where the label shows
        assert min(one.error for one in models) < 0.1 < models[0].error


def test_compare_with_baselines(tmp_path, monkeypatch):
    monkeypatch.setattr("similitude.cli.baselines.COMPARED_FOLDS", 2)
    X, y = datasets.iris()
    some = slice(0, 100, 4)
    columns = {f"x{i}": column for i, column in enumerate(np.asarray(X)[some].T.tolist())}
    columns["color"] = ["red", "blue", "red", "blue", "green"] * 5
    path = write_csv(tmp_path / "flowers.csv", {**columns, "species": list(y)[some]})
    ask = ("compare", path, "--label", "species", "-s", "gower")
    code, out, _ = run(*ask)
    found = json.loads(run(*ask, "--json").out)
    models, words = found["models"], " ".join(out.split())
    assert code == 0 and [one["name"] for one in models][1:] == [
        "always the most frequent class",
        "logistic regression, one-hot",
        "gradient boosting",
    ]
    assert all(f"{100 * one['error']:.1f} ± {100 * one['standard_error']:.1f} %" in words for one in models)
    assert models[0]["name"] == "gower" and found["verdict"].startswith("gower is ") and found["verdict"][1:] in words
    assert models[1]["difference"] < -2 * models[1]["difference_error"]


# Narrow terminals.


def test_tables_of_narrow_terminals_keep_every_cell(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    columns, rows = {"": "left", "similarity": "fold", "error": "left"}, [("*", "edit", "20.2 % [10.4, 33.5]")]
    for width, expected in (
        (60, "- *\n  similarity: edit\n  error: 20.2 % [10.4, 33.5]\n"),
        (80, "similarity   error"),
    ):
        monkeypatch.setenv("COLUMNS", str(width))
        screen = Screen()
        Terminal(screen).table(columns, rows)
        assert expected in re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())


def test_a_caret_stays_below_the_error(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    screen = Screen()
    Terminal(screen).say("similitude: unknown\n  gaussian(gamma=2)\n           ^")
    assert screen.getvalue().split("\n")[1:3] == ["  gaussian(gamma=2)", "           ^"]


# Phases of a fit.


def test_a_fit_tells_its_phases_in_order_and_those_of_evaluation_are_one():
    told, X = [], np.random.default_rng(0).normal(size=(30, 2))
    with phases_reported_to(told.append):
        SimilarityRegressor(Gaussian(), n_landmarks=5, random_state=0).fit(X, X[:, 0])
    solving = "computing similarities to landmarks, and solving"
    places = [told.index(words) for words in ("choosing landmarks", "choosing the scale", solving)]
    assert places == sorted(places) and "evaluating" in told[-1] and len(told) == len(set(told))
    SimilarityRegressor(Gaussian(), n_landmarks=5, random_state=0).fit(X, X[:, 0])
    assert "evaluating" in told[-1] and len(told) == len(set(told))


def test_the_line_shows_the_phase_until_something_else_is_done():
    line = StatusLine(sys.stderr, "fitting")
    line.begin("choosing landmarks")
    assert line.text(2.0) == "similitude: fitting, 2 s: choosing landmarks"
    line.say("saving")
    assert line.text(3.0) == "similitude: saving, 3 s"

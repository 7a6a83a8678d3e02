"""How reports and the command line write numbers, labels and objects."""

import sys

import numpy as np
import pytest

from similitude import FromPairs
from similitude.cli.app import _ending
from similitude.cli.baselines import ComparedModel, _graph_parts, verdict
from similitude.cli.errors import _of_typer
from similitude.cli.explain import in_short
from similitude.cli.inputs import image_shape_of
from similitude.cli.options import option
from similitude.cli.output import _wrapped, in_options, with_interval
from similitude.cli.report import command_line
from similitude.cli.status_line import StatusLine
from similitude.kernels import Linear
from similitude.report.findings.columns import is_missing
from similitude.report.findings.data_summary import short_name
from similitude.report.findings.examples import margins
from similitude.report.findings.held_out import bootstrap_counts
from similitude.report.findings.model_quality import Residuals
from similitude.report.findings.reproduction import _quoted
from similitude.report.render.chart import rounded, table_rows
from similitude.report.render.drawings import _shortened
from similitude.report.render.page import as_json
from similitude.report.render.sentences import _and, label_text, percent, score_text
from similitude.report.render.text import short
from similitude.results import Estimate

SHARE = Estimate(0.1523, 0.1486, 0.16, 0.95, "ESTIMATE")
NUMBER = Estimate(0.75801, 0.68661, 0.8293, 0.95, "ESTIMATE")
MODELS = [ComparedModel("a", 0.1, 0.01, 0.0, 0.0, 1.0), ComparedModel("b", 0.12, 0.01, -0.02, 0.015, 1.0)]

WRITTEN = [
    (percent(0.25), "25 %"),
    (percent(0.034), "3.4 %"),
    (percent(0.95), "95 %"),
    (percent(0.999), "99.9 %"),
    (percent(0.0), "0 %"),
    (score_text("accuracy", 0.5), "50 %"),
    (score_text("AUC", 0.912), "0.912"),
    (score_text("R²", float("nan")), "unknown"),
    (label_text("spam"), "spam"),
    (label_text("+"), "“+”"),
    (_and(["a", "b", "c"]), "a, b and c"),
    (short(np.array([0.123456, 2.0])), "(0.123, 2)"),
    (short(0.123456), "0.1235"),
    (short("kernel"), "'kernel'"),
    (_shortened("abcdef", 3), "abc… (6 characters)"),
    (_shortened("abc", 3), "abc"),
    (short_name(FromPairs(max)), "max"),
    (short_name(Linear()), "Linear()"),
    (_quoted("Gaussian(sigma='median')"), "\"Gaussian(sigma='median')\""),
    (as_json({"label": "</script>"}), '{"label":"\\u003c/script\\u003e"}'),
    (with_interval(SHARE, share=True), "15.2 % (95 % interval: 14.9 % to 16.0 %)"),
    (with_interval(NUMBER), "0.758 (95 % interval: 0.687 to 0.829)"),
    (in_options("as vectors; kind='series' takes them as series"), "as vectors; --kind 'series' takes them as series"),
    (in_options("choose it with object=, one of"), "choose it with --object, one of"),
    (_wrapped("  rows 1, 2, 3", 10), "  rows 1,\n  2, 3"),
    (_of_typer("'--seed': Input should be greater than or equal to 0"), "'--seed': it must be at least 0"),
    (in_short({"age": 30, "job": "cook"}, unlike={"age": 40, "job": "cook"}), "age 30"),
    (in_short({"age": float("nan"), "job": "cook"}), "age missing, job cook"),
    (in_short(frozenset({"b", "a"})), "{'a', 'b'}"),
    (in_short(([[0, 1], [1, 2]], ["C", "C", "O"])), "3 nodes, edges 0-1, 1-2, labels ['C', 'C', 'O']"),
    (
        _ending("Example: similitude check -s 'edit() + linear()' genes.csv", 40),
        "Example:\n  similitude check -s \\\n    'edit() + linear()' genes.csv",
    ),
    (
        command_line("my genes.csv", {"label": "class", "object": None, "max_calls": 9, "keep": ["a"], "trust": True}),
        "similitude report 'my genes.csv' --label class --max-calls 9 --keep a --trust",
    ),
    (
        verdict(MODELS, classes=True),
        "a is not shown to be better than b: 10.0 % error and 12.0 %, a difference of 2.0 % with a standard error of "
        "1.5 %",
    ),
]


@pytest.mark.parametrize(("written", "expected"), WRITTEN, ids=[expected[:40] for _, expected in WRITTEN])
def test_words(written, expected):
    assert written.replace("\N{NO-BREAK SPACE}", " ") == expected


def test_status_line():
    line = StatusLine(sys.stderr, "fitting")
    line.begin("choosing landmarks")
    line.detail = "40% of 12 tiles"
    assert line.text(61.5) == "similitude: fitting, 61 s: choosing landmarks (40% of 12 tiles)"


def test_values():
    assert image_shape_of("8x8") == (8, 8)
    assert [is_missing(one) for one in (None, float("nan"), "", 0)] == [True, True, False, False]
    assert margins(np.array([[0.2, 0.5, 0.1]]), np.array([0])) == pytest.approx([-0.3])
    assert table_rows([1, 2], np.array([0.5, 0.25])) == [(1, 0.5), (2, 0.25)]
    assert [rounded(one) for one in (0.123456789, np.float64("nan"), "a")] == [0.1235, None, "a"]
    assert Residuals(np.arange(9), np.zeros(9), np.arange(9.0)).reach() == 8
    counts = bootstrap_counts(5, 0)
    assert counts.shape == (5, 401) and (counts[:, 0] == 1).all() and (counts.sum(axis=0) == 5).all()
    parts = {"nodes": 3, "edges": 2, "label C": 2, "label O": 1, "degree 1": 2, "degree 2": 1}
    assert _graph_parts(([[0, 1], [1, 2]], ["C", "C", "O"])) == parts
    one = option("Model --landmarks NUMBER>=1: The number of landmarks.")
    assert (one.rich_help_panel, one.metavar, one.min, one.help) == ("Model", "NUMBER", 1, "The number of landmarks.")

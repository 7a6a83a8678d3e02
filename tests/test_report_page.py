"""The page: self-contained, escaped, readable for machines and for people who do not see it."""

import base64
import functools
import gzip
import hashlib
import importlib
import json
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest
import vl_convert
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from similitude.datasets import iris, molecules, papers, promoters
from similitude.kernels import Gower, Spectrum, WeisfeilerLehman
from similitude.report import figures, investigate, limits, write_report
from similitude.report.render import sentences
from similitude.report.render.images import GramImage
from similitude.report.render.page import as_html, as_json, charts_of

pytestmark = pytest.mark.usefixtures("quick_reports")

ATTACK = "\"'></script><img src=x onerror=window.__pwned=1><svg onload=window.__pwned=1>{{7*7}}<!--\u2028\u202e"

TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that turn the direction of text."""

LIMIT = 2_000_000


class Thing:
    """An object whose repr is markup and which says of itself that it is safe."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"Thing({self.name}{ATTACK})"

    __html__ = __repr__


def shares_any(one, other):
    return float(bool(one.authors & other.authors) or bool(one.keywords & other.keywords))


def length_ratio(one, other):
    return len(one) / (len(one) + 2 * len(other))


def hostile_strings():
    strings = [letter * (i % 5 + 2) + ATTACK for letter in "ab" for i in range(8)]
    return Spectrum(p=2), strings, [f"{letter}{ATTACK}" for letter in "ab" for _ in range(8)]


def hostile_table():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({f"column {ATTACK}": [f"{i % 3}{ATTACK}" for i in range(16)], "n": np.arange(16.0)})
    return Gower(), table, [f"label {i // 8}" for i in range(16)]


def hostile_function():
    def similarity(one, other):
        return float(one.name[0] == other.name[0])

    similarity.__name__ = similarity.__qualname__ = f"f{ATTACK}"
    objects = [Thing(f"{'xy'[i % 2]}{i}") for i in range(16)]
    return similarity, objects, ["a" + ATTACK, "b" + ATTACK] * 8


def many_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(20), 3)
    return "gaussian", rng.standard_normal((20, 6))[y] + 0.2 * rng.standard_normal((60, 6)), y


def regression():
    X = np.random.default_rng(1).uniform(-2, 2, (60, 2))
    return "gaussian", X, X[:, 0] ** 2 + X[:, 1]


def few_rows():
    return "gaussian", np.arange(10.0)[:, None], ["a"] * 5 + ["b"] * 5


CASES = {
    "strings": hostile_strings,
    "table": hostile_table,
    "function": hostile_function,
    "classes": many_classes,
    "regression": regression,
    "ten": few_rows,
    "vectors": lambda: ("gaussian", *iris()),
    "promoters": lambda: (Spectrum(p=3).normalized(), *(part[::2] for part in promoters())),
    "graphs": lambda: (WeisfeilerLehman().normalized(), *(part[::5] for part in molecules())),
    "papers": lambda: (shares_any, *papers()),
    "matrix": lambda: (
        "precomputed",
        np.eye(20) + 0.2 * (np.arange(20) % 2 == np.arange(20)[:, None] % 2),
        ["a", "b"] * 10,
    ),
    "asymmetric": lambda: (length_ratio, ["a" * (1 + i % 7) for i in range(24)], ["odd", "even"] * 12),
}

found_before, pages_before = {}, {}


def found(name):
    if name not in found_before:
        found_before[name] = investigate(*CASES[name](), title=f"Report {ATTACK}", random_state=0)
    return found_before[name]


def page(name):
    if name not in pages_before:
        pages_before[name] = as_html(found(name))
    return pages_before[name]


every_case = pytest.mark.parametrize("name", CASES)


class Outline(HTMLParser):
    """What a browser sees of a page, as far as the tests ask."""

    VOID = ("meta", "img", "input", "col", "line", "polyline", "circle", "rect", "br")

    def __init__(self, source):
        super().__init__()
        self.elements, self.headings, self.scripts, self.open = [], [], [], []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), [one for one, _ in self.open]))
        if tag in ("h1", "h2", "h3") and "dialog" not in [one for one, _ in self.open]:
            self.headings.append(int(tag[1]))
        if tag == "script":
            self.scripts.append((dict(attributes), ""))
        if tag not in self.VOID:
            self.open.append((tag, dict(attributes)))

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes), [one for one, _ in self.open]))

    def handle_endtag(self, tag):
        assert self.open.pop()[0] == tag

    def handle_data(self, data):
        if self.open and self.open[-1][0] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = attributes, text + data

    def all(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]


@functools.cache
def outline_of(name):
    return Outline(page(name))


@every_case
def test_a_page_is_small_whole_and_fetches_nothing(name):
    source = page(name)
    assert len(source.encode()) < LIMIT
    outline = outline_of(name)
    assert outline.open == [] and source.startswith("<!doctype html>")
    assert not outline.all("link") and not outline.all("iframe") and not outline.all("base")
    for _, attributes, _ in outline.elements:
        assert not attributes.get("src", "data:").startswith(("http", "//", "file"))
        assert attributes.get("href", "#").startswith("#")
    style = source.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style


@every_case
def test_nothing_from_users_is_markup(name):
    outline = outline_of(name)
    data = [one for one, _ in outline.scripts if one.get("type") == "application/json"]
    assert len(outline.scripts) == len(data) + 2  # one that runs, and the packed library
    assert all(attributes.get("alt") is not None for attributes in outline.all("img"))
    for _, attributes, _ in outline.elements:
        assert not any(key.startswith("on") or key == "srcdoc" for key in attributes)
    if name in ("strings", "function"):
        assert "{{7*7}}" in sentences.what_data(found(name))  # no template was filled in twice
    data = [text for attributes, text in outline.scripts if attributes.get("type") == "application/json"]
    for text in data:
        json.loads(text)
        assert not set("<>&\u2028\u2029") & set(text)


@pytest.mark.parametrize("name", ["strings", "table", "function"])
def test_attacks_are_shown_as_text(name):
    source = page(name)
    assert "&lt;img src=x onerror=" in source
    assert "<img src=x" not in source and "<svg onload" not in source
    assert re.search(r"<title>Report &#34;&#39;&gt;&lt;/script&gt;", source)


@pytest.mark.parametrize("name", ["strings", "table", "function"])
def test_marks_that_turn_text_around_are_shown(name):
    source = page(name)
    assert not TURNING.search(source) and "\\u202e" in source
    data = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', source, re.DOTALL)
    assert data and not any(TURNING.search(text) for one in data for text in strings_in(json.loads(one)))
    assert not TURNING.search(str(found(name)))


def strings_in(value):
    """Return every text in a JSON document."""
    if isinstance(value, str):
        return [value]
    parts = [*value.keys(), *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else []
    return [text for part in parts for text in strings_in(part)]


def test_labels_that_say_that_they_are_html_are_not_believed():
    before = found("strings")
    examples = [replace(one, label=Markup("<i>x</i>"), predicted=Markup("<b>y</b>")) for one in before.examples]
    model = replace(before.model, classes=(Markup("<i>x</i>"), Markup("<b>y</b>")))
    source = as_html(replace(before, examples=tuple(examples), model=model))
    assert "<i>x" not in source and "<b>y" not in source and "&lt;b&gt;y" in source


@every_case
def test_only_the_scripts_of_the_page_may_run(name):
    outline = outline_of(name)
    policy = next(one["content"] for one in outline.all("meta") if one.get("http-equiv"))
    allowed = re.search(r"script-src ([^;]*);", policy).group(1)
    assert "unsafe" not in allowed and policy.startswith("default-src 'none'")
    run = [text for attributes, text in outline.scripts if "type" not in attributes]
    packed = next(text for attributes, text in outline.scripts if attributes.get("id") == "library")
    run = [gzip.decompress(base64.b64decode(packed)).decode(), *run]
    hashes = ["'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'" for text in run]
    assert allowed.split() == hashes


@every_case
def test_the_page_can_be_read_without_seeing_it(name):
    outline = outline_of(name)
    assert outline.headings[0] == 1 and outline.headings.count(1) == 1
    assert all(b - a <= 1 for a, b in zip(outline.headings, outline.headings[1:], strict=False))
    names = [one["id"] for _, one, _ in outline.elements if "id" in one]
    assert len(names) == len(set(names))
    for _, one, _ in outline.elements:
        for key in ("aria-labelledby", "for"):
            assert one.get(key, names[0]) in names
        assert one.get("href", f"#{names[0]}")[1:] in names
        if "data-open" in one:
            assert one["data-open"] in names
        if "data-drawing" in one:
            assert f"drawing-{one['data-drawing']}" in names
    for tag in ("header", "nav", "main", "dialog"):
        assert len(outline.all(tag)) == 1
    assert outline.all("html")[0]["lang"] == "en" and outline.all("a")[0]["class"] == "skip"
    assert all(one.get("type") == "button" for one in outline.all("button"))
    for tag in ("input", "select"):
        assert all("label" in above for name, _, above in outline.elements if name == tag)
    svgs = [one for one in outline.all("svg") if "drawing" in one.get("class", "")]
    assert all(one["role"] == "img" and one["aria-label"] for one in svgs)


@every_case
def test_every_chart_compiles_and_has_a_sentence_and_its_numbers(name):
    source = page(name)
    for one in charts_of(found(name)).values():
        vl_convert.vegalite_to_vega(one.spec, vl_version="6.4")
        assert one.finding.endswith(".") and len(one.finding) > 20
        assert one.rows and all(len(row) == len(one.columns) for row in one.rows)
        assert source.count(f'data-chart="{one.name}"') == 1
        json.dumps(one.spec, allow_nan=False)
    assert source.count("data-chart=") == source.count("<figcaption>") == len(charts_of(found(name)))


def test_sections_answer_their_questions_first():
    for name in CASES:
        parts = page(name).split("<section")[2:]
        assert len(parts) == 11
        for part in parts:
            after = part.split("</h2>")[1].lstrip()
            assert after.startswith('<p class="answer">')


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda some: st.lists(some) | st.dictionaries(st.text(), some),
        max_leaves=10,
    )
)
@settings(max_examples=60)
def test_json_within_scripts_is_safe_and_says_the_same(value):
    text = as_json(value)
    assert strings_in(json.loads(text)) == [
        TURNING.sub(lambda mark: mark[0].encode("unicode_escape").decode(), one) for one in strings_in(value)
    ]
    assert TURNING.search("".join(strings_in(value))) or json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_when_drawings_grow_too_large_objects_are_named_and_the_page_says_so(monkeypatch):
    assert "written in a line" not in page("graphs")
    monkeypatch.setattr("similitude.report.render.page_drawings.BUDGET", 20_000)
    monkeypatch.setattr("similitude.report.render.page_drawings.EXTRA", 0)
    short = as_html(found("graphs"))
    assert "written in a line instead of drawn" in short and "<circle" in short
    assert short.count("<circle") < page("graphs").count("<circle") / 2


def test_a_class_with_halves_of_surrogates_can_be_written(tmp_path):
    labels = ["a\ud800"] * 6 + ["b"] * 6
    write_report("gaussian", np.arange(12.0)[:, None], labels, tmp_path / "report.html")
    assert "a\\ud800" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_without_the_template_library_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.delitem(sys.modules, "similitude.report.render.page")
    with pytest.raises(ImportError, match=r"pip install 'similitude\[report\]'"):
        importlib.import_module("similitude.report.render.page")


def test_summary_has_three_answers_with_sections_that_exist():
    for name in CASES:
        _, _, tones, answers, named = zip(*sentences.summary(found(name)), strict=True)
        assert named == ("good", "examples", "kernel")
        assert all(one.endswith(".") for one in answers) and set(tones) <= {"good", "bad", "open"}


@pytest.mark.parametrize(
    ("name", "start"), [("vectors", "Yes"), ("papers", "No"), ("asymmetric", "No"), ("function", "Unknown")]
)
def test_the_first_answer_is_the_verdict(name, start):
    assert sentences.is_kernel(found(name).validity).startswith(start)


def test_asymmetry_is_shown_by_two_objects_and_both_values():
    witness = found("asymmetric").validity.witness
    assert "not even symmetric" in sentences.is_kernel(found("asymmetric").validity)
    assert f"<strong>{witness.gram[0, 1]:.4g}</strong>" in page("asymmetric")


def test_the_counterexample_is_shown_with_its_weights():
    witness = found("papers").validity.witness
    for weight in witness.coefficients:
        assert f'<span class="weight">{weight:.3g}</span>' in page("papers")


def test_chance_is_called_chance():
    rng = np.random.default_rng(3)
    nothing = investigate("gaussian", rng.standard_normal((60, 3)), rng.permuted([0, 1] * 30))
    assert sentences.is_good(nothing).startswith("No evidence of it")
    assert nothing.goodness.p_value.value > 0.05 and "chance explains" in sentences.is_good(nothing)


def test_details_say_why_rows_are_taken_together():
    rng = np.random.default_rng(0)
    found = investigate("gaussian", rng.standard_normal((80, 3)), rng.integers(0, 2, 80), random_state=0)
    notes = {one.decision.note for one in found.examples} - {""}
    assert notes
    page = as_html(found)
    assert all(f"A note: {note}." in page for note in notes)


def test_regression_says_why_there_is_no_goodness():
    assert "This cannot be assessed" in page("regression") and "residuals" in charts_of(found("regression"))


def test_the_matrix_is_an_image_and_its_colors_give_values_back():
    gram = found("vectors").gram
    heat = GramImage(gram)
    assert len(heat.image) < 60_000 and heat.pairs["indices"] == gram.indices.tolist()
    assert sum(rows for _, rows in heat.bands) == len(gram.matrix) == 150
    assert heat.low == gram.matrix.min() and heat.high == gram.matrix.max()


def test_a_matrix_with_negative_values_is_centered_on_zero():
    X = np.random.default_rng(0).standard_normal((20, 2))
    heat = GramImage(investigate("linear", X, np.arange(20) % 2).gram)
    assert heat.low == -heat.high


def drawn(chart, kind):
    """The rows of data of all marks of one kind."""
    return [row for one in chart.spec["layer"] if one["mark"]["type"] == kind for row in one["data"]["values"]]


def test_a_size_too_far_from_the_chart_is_listed_and_not_drawn():
    curve = found("promoters").landmark_curve
    far = [size for size in curve.theorem_sizes if size.size > limits.TOO_FAR * curve.chosen]
    chart = figures.learning_curve(curve)
    assert len(drawn(chart, "rule")) == len(curve.theorem_sizes) - len(far)
    assert chart.finding.count("too far to draw") == len(far)
    for size in curve.theorem_sizes:
        assert f"{size.size:,} ({size.grade}" in chart.finding and f"{size.size:,} landmarks" in page("promoters")


def test_files_of_the_page_belong_to_the_package():
    for name in ("page.html", "page.css", "page.js"):
        assert resources.files("similitude.report.render").joinpath("templates", name).is_file()


def luminance(color):
    parts = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


def contrast(one, other):
    light, dark = sorted([luminance(one), luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def long(color):
    return color if len(color) == 7 else "#" + "".join(2 * letter for letter in color[1:])


def test_colors_can_be_told_apart_by_day_and_by_night():
    style = resources.files("similitude.report.render").joinpath("templates", "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--([\w-]+): light-dark\((#\w+), (#\w+)\)", style)
    for theme in (1, 2):
        color = {entry[0]: long(entry[theme]) for entry in found}
        for ink in ("ink", "soft-ink", "link", "good", "bad", "open"):
            for paper in ("paper", "card", "raised"):
                assert contrast(color[ink], color[paper]) >= 4.5, (theme, ink, paper)
        for tone in ("good", "open"):
            assert contrast(color[tone], color[f"{tone}-paper"]) >= 4.5
        assert contrast(color["ink"], color["mark"]) >= 4.5
        for i in range(10):
            assert contrast(color[f"c{i}"], color["card"]) >= 3, (theme, i)
        assert contrast(color["quiet"], color["card"]) >= 3
    for fill in re.findall(r"\.fill-\d \{ fill: (#\w+);", style):
        assert contrast(fill, "#ffffff") >= 4.5

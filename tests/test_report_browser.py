"""The page in a real browser: it works with mouse, finger and keyboard, and asks nobody for anything."""

import json
import re
import shutil
from itertools import pairwise

import numpy as np
import pytest

from similitude.datasets import iris, molecules
from similitude.kernels import Gaussian, Gower, Spectrum, WeisfeilerLehman
from similitude.report import write_report

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed"),
    pytest.mark.usefixtures("quick_reports"),
]

ATTACK = "\"'></script><img src=x onerror=window.__pwned=1><svg onload=window.__pwned=1>"


def confused():
    """Return strings of two classes, some of them under the wrong label, all of them hostile."""
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list(letters), 12)) + ATTACK for letters in ("aab", "bba") for _ in range(30)]
    return Spectrum(p=2), strings, [f"{label}{ATTACK}" for label in ("first", "second") for _ in range(30)]


def hostile_table():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({f"column {ATTACK}": [f"{i % 3}{ATTACK}" for i in range(20)], "n": np.arange(20.0)})
    return Gower(), table, [f"{i // 10}" for i in range(20)]


def thirty_columns(n=120):
    """Return a table with numbers, categories, an identifier, free text, dates and missing cells."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    columns = {"customer": [f"C{1000 + i}" for i in range(n)]}
    for j in range(15):
        columns[f"number {j}"] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + y * (j < 4))
    columns |= {f"color {j}": rng.choice(["red", "green", "blue", None], n) for j in range(12)}
    columns["comment"] = [" ".join(rng.choice(["late", "good", "never", "again"], 8)) for _ in range(n)]
    columns["since"] = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 900, n), "D")
    return Gower(), pandas.DataFrame(columns), np.where(y, "churned", "stayed")


class Thing:
    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return f"Thing{ATTACK}"


def hostile_function():
    def similarity(one, other):
        return 1 / (1 + abs(one.value - 2 * other.value))

    similarity.__qualname__ = similarity.__name__ = f"f{ATTACK}"
    return similarity, [Thing(i) for i in range(16)], np.linspace(0.0, 1.0, 16)


CASES = {
    "strings": confused,
    "table": hostile_table,
    "function": hostile_function,
    "columns": thirty_columns,
    "vectors": lambda: ("gaussian", *(part[::3] for part in iris())),
    "graphs": lambda: (WeisfeilerLehman().normalized(), *(part[::8] for part in molecules())),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def address(folder):
    def address_of(name):
        path = folder / f"{name}.html"
        if not path.exists():
            write_report(*CASES[name](), path, title=f"Report {ATTACK}", random_state=0)
        return path.as_uri()

    return address_of


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        one = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield one
        one.close()


class Visits:
    """Opens pages, and notes what goes wrong in them and what they ask of the network."""

    def __init__(self, browser, address):
        self.browser, self.address = browser, address
        self.contexts, self.troubles = [], []

    def go(self, name, width=1280, height=800, **options):
        context = self.browser.new_context(viewport={"width": width, "height": height}, **options)
        self.contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: self.troubles.append(f"console {message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.troubles.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.troubles.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: None if _local(request.url) else self.troubles.append(request.url))
        page.goto(self.address(name))
        page.wait_for_selector("body[data-charts=drawn]")
        return page

    def check(self):
        pwned = [page.evaluate("window.__pwned") for context in self.contexts for page in context.pages]
        assert self.troubles == [] and not any(pwned)

    def close(self):
        for context in self.contexts:
            context.close()


@pytest.fixture
def visit(browser, address):
    """Open a page; at the end nothing may have gone wrong in it, and nothing been asked of the network."""
    visits = Visits(browser, address)
    yield visits.go
    visits.check()
    visits.close()


@pytest.fixture(scope="module")
def open_pages(browser, address):
    visits = Visits(browser, address)
    yield visits, {}
    visits.close()


@pytest.fixture
def share(open_pages):
    """Open a page of usual size once for all tests, which leave it as they found it but for what they look at."""
    visits, pages = open_pages

    def go(name):
        if name not in pages:
            pages[name] = visits.go(name)
        pages[name].evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        return pages[name]

    yield go
    visits.check()


def _local(url):
    return url.startswith(("file:", "data:", "blob:"))


def unfold(page):
    for details in page.locator("main details").all():
        details.evaluate("one => { one.open = true; }")


def overflow(page):
    return page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")


def visible_rows(page):
    return page.locator("#example-rows tr:not([hidden])")


@pytest.mark.parametrize(
    ("name", "width"),
    [
        ("table", 360),
        *[pytest.param(*one, marks=pytest.mark.deep) for one in (("strings", 360), ("strings", 1280), ("table", 1280))],
        *[pytest.param(name, 360, marks=pytest.mark.deep) for name in ("function", "graphs")],
    ],
)
def test_every_chart_is_drawn_and_nothing_hangs_over(visit, share, name, width):
    page = share(name) if width == 1280 else visit(name, width)
    assert overflow(page) <= 0
    unfold(page)
    assert overflow(page) <= 0
    charts = page.locator("[data-chart]")
    assert charts.count() >= 4
    for i in range(charts.count()):
        charts.nth(i).locator("svg").wait_for()
        assert charts.nth(i).bounding_box()["height"] > 50


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.deep), 360])
@pytest.mark.deep
def test_details_open_and_close_by_click_and_by_key_and_give_the_focus_back(visit, width):
    page = visit("strings", width)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    button = visible_rows(page).first.locator("button[data-open]")
    button.click()
    dialog = page.locator("#detail")
    assert dialog.is_visible() and overflow(page) <= 0
    assert dialog.locator("li.card").count() >= 1  # what decided
    assert dialog.locator("code.sequence span[style*=color-mix]").count() >= 10  # what in it mattered
    assert dialog.locator(".drawing").count() == 2 + dialog.locator("li.card").count()
    _waterfall(dialog)
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    assert button.evaluate("one => one === document.activeElement")

    _keyboard(page)


def _waterfall(dialog):
    """Check that the influences add up to the score, and that each bar begins where the one before it ends."""
    rows = dialog.locator(".waterfall tbody tr").all()
    values = [float(row.locator("td").last.inner_text()) for row in rows]
    assert sum(values[:-1]) == pytest.approx(values[-1], abs=0.02)
    kinds = [row.get_attribute("class") for row in rows]
    assert kinds[0] == "base" and kinds[-1] == "total" and set(kinds[1:-1]) <= {"for", "against"}
    ends = [row.locator("i").bounding_box() for row in rows[1:-1]]
    sides = [(box["x"], box["x"] + box["width"]) for box in ends]
    runs = [side if kind == "for" else side[::-1] for side, kind in zip(sides, kinds[1:-1], strict=True)]
    assert all(abs(a[1] - b[0]) < 4 for a, b in pairwise(runs))


def _keyboard(page):
    visible_rows(page).first.locator("button[data-open]").focus()
    page.keyboard.press("Enter")
    assert page.locator("#detail").is_visible()
    assert page.evaluate("document.activeElement.hasAttribute('data-close')")
    page.keyboard.press("Enter")
    assert not page.locator("#detail").is_visible()
    page.locator("[data-sort=score]").focus()
    page.keyboard.press("Space")
    assert page.locator("th[aria-sort=ascending]").count() == 1


@pytest.mark.parametrize("width", [1280, pytest.param(360, marks=pytest.mark.deep)])
def test_examples_are_sorted_and_filtered(visit, share, width):
    page = share("strings") if width == 1280 else visit("strings", width)
    scores = "[...document.querySelectorAll('[data-key=score]')].map(one => Number(one.dataset.value))"
    page.click("[data-sort=score]")
    up = page.evaluate(scores)
    page.click("[data-sort=score]")
    down = page.evaluate(scores)
    assert up == sorted(up) and down == sorted(down, reverse=True) and len(set(up)) > 1
    page.click("[data-sort=predicted]")
    names = page.evaluate("[...document.querySelectorAll('[data-key=predicted]')].map(one => one.dataset.value)")
    assert names == sorted(names)
    _filters(page)


def _filters(page):
    first = visible_rows(page).count()
    page.click("#all-rows")
    every = visible_rows(page).count()
    assert every > first and not page.locator("#all-rows").is_visible()
    page.check("#only-wrong")
    wrong = visible_rows(page).count()
    assert 0 < wrong < every and page.locator("#example-rows tr.wrong").count() == wrong
    assert page.inner_text("#shown") == f"{wrong} of {every} examples shown"
    page.uncheck("#only-wrong")
    page.select_option("#of-class", index=1)
    of_class = visible_rows(page).count()
    assert 0 < of_class < every
    page.select_option("#of-class", index=0)
    first = visible_rows(page).first.get_attribute("data-text").split("<")[0]
    page.fill("#with-text", first)
    assert visible_rows(page).count() >= 1
    page.fill("#with-text", "no such words")
    assert visible_rows(page).count() == 0 and page.inner_text("#shown").startswith("0 of")
    page.fill("#with-text", "")


def test_hovering_tells_numbers_as_text(share):
    page = share("strings")
    unfold(page)
    page.locator("[data-chart=class-counts] svg .mark-rect path").first.hover()
    tooltip = page.locator("#vg-tooltip-element.visible")
    tooltip.wait_for()
    assert "<img src=x" in tooltip.inner_text()
    image = page.locator("#matrix-image")
    image.hover(position={"x": 20, "y": 30})
    assert "Similarity of example" in page.inner_text("#pair") and "about" in page.inner_text("#pair")


def test_the_matrix_tells_the_value_of_the_pair_it_names(share):
    page = share("vectors")
    image = page.locator("#matrix-image")
    box = image.bounding_box()
    image.hover(position={"x": box["width"] / 2, "y": box["height"] / 2})  # on the diagonal
    assert page.inner_text("#pair").endswith("the example itself")
    image.hover(position={"x": box["width"] / 2, "y": box["height"] / 4})
    about = float(page.inner_text("#pair").split("about ")[1])
    found = iris_values(page.inner_text("#pair"))
    assert abs(about - found) < 0.02
    image.click(position={"x": box["width"] / 2, "y": box["height"] / 4})
    assert page.locator("#pair-objects .card").count() == 2 and page.locator("#pair-objects .drawing").count() == 2


def iris_values(words):
    """Return the similarity of the pair of examples that is named."""
    i, j = (int(number) for number in re.findall(r"example (\d+)", words))
    X = iris().objects[::3]
    return float(Gaussian().resolve(X, 0).cross(X[i : i + 1], X[j : j + 1])[0, 0])


def test_the_map_shows_objects_and_colors_them(share):
    page = share("vectors")
    legend = page.locator("#map-legend li")
    assert legend.count() == 3 and page.locator("#map-chart svg path").count() == 3
    page.select_option("#map-color", "1")
    assert page.inner_text("#map-legend").startswith("right")
    page.select_option("#map-color", "3")  # a column of numbers
    assert 5 <= legend.count() <= 8
    svg = page.locator("#map-chart svg")
    data = json.loads(page.locator("#map-data").text_content())
    x, y, index = int(data["x"][21:24]), int(data["y"][21:24]), 7
    scale = svg.bounding_box()["width"] / 1060
    at = {"x": (x + 30) * scale, "y": (y + 30) * scale}
    svg.hover(position=at)
    assert page.inner_text("#map-object").startswith(f"Example {index}:")
    assert page.locator("#map-object .drawing").count() == 1
    svg.click(position=at)
    assert page.locator("#detail").is_visible() and f"xample {index}" in page.inner_text("#detail-title")
    page.keyboard.press("Escape")


def test_the_threshold_moves_recall_and_precision(share):
    page = share("strings")
    facts = page.locator("#threshold-facts")
    half = facts.inner_text()
    page.locator("#threshold-at").fill("0")
    assert "100.0 %: 30 of 30, 0 missed" in facts.inner_text() and facts.inner_text() != half
    page.locator("#threshold-at").fill("100")
    assert page.inner_text("#threshold-value") == "100 %"


def test_contents_follow_the_reader(share):
    page = share("vectors")
    page.locator("nav.contents a[aria-current][href='#summary']").wait_for()
    page.evaluate("document.getElementById('matrix').scrollIntoView({ behavior: 'instant' })")
    page.locator("nav.contents a[aria-current][href='#matrix']").wait_for()
    page.evaluate("scrollTo({ top: 1e6, behavior: 'instant' })")
    page.locator("nav.contents a[aria-current][href='#reproduce']").wait_for()


def test_figures_are_saved_as_svg_and_png(share, tmp_path):
    page = share("vectors")
    for figure, kinds in {"figure:has([data-chart=calibration])": 2, "figure.plane": 2, "figure.pixels": 1}.items():
        assert page.locator(f"{figure} [data-save]").count() == kinds
    for figure in ("figure:has([data-chart=calibration])", "figure.plane"):
        with page.expect_download() as download:
            page.click(f"{figure} [data-save=svg]")
        download.value.save_as(tmp_path / "one.svg")
        svg = (tmp_path / "one.svg").read_text(encoding="utf-8")
        assert (svg.startswith("<svg") and "var(--" not in svg.replace("style=", "")) or "rgb(" in svg
    for figure in ("figure:has([data-chart=calibration])", "figure.pixels"):
        with page.expect_download() as download:
            page.click(f"{figure} [data-save=png]")
        download.value.save_as(tmp_path / "one.png")
        assert (tmp_path / "one.png").read_bytes()[1:4] == b"PNG" and (tmp_path / "one.png").stat().st_size > 2000


@pytest.mark.deep
def test_a_table_of_thirty_columns_takes_less_than_eight_screens(visit, folder):
    page = visit("columns", height=900)
    assert page.evaluate("document.documentElement.scrollHeight") < 8 * 900
    assert page.locator(".columns-table tbody tr").count() == 30
    assert page.locator(".columns-table .flag").count() == 2  # the identifier and the comments
    assert (folder / "columns.html").stat().st_size < 2_000_000


@pytest.mark.deep
def test_colors_follow_the_system_and_the_switch(visit):
    paper = "getComputedStyle(document.body).backgroundColor"
    axis = "getComputedStyle(document.querySelector('[data-chart=calibration] .role-axis-title text')).fill"
    light, dark = visit("vectors", color_scheme="light"), visit("vectors", color_scheme="dark")
    assert light.evaluate(paper) != dark.evaluate(paper) and light.evaluate(axis) != dark.evaluate(axis)
    seen = dark.evaluate(paper), dark.evaluate(axis)
    light.click("#theme")
    assert (light.evaluate(paper), light.evaluate(axis)) == seen
    assert light.inner_text("#theme") == "Light colors"
    light.reload()
    light.wait_for_selector("body[data-charts=drawn]")
    assert light.evaluate(paper) == seen[0]  # remembered


def test_on_paper_charts_are_there_and_switches_are_not(visit):
    page = visit("vectors", color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("[data-chart=calibration] svg").is_visible()
    for gone in ("#theme", "#examples .filters", "nav.contents"):
        assert not page.locator(gone).is_visible()
    ink = "getComputedStyle(document.querySelector('[data-chart=calibration] .role-axis-title text')).fill"
    assert max(int(part) for part in page.evaluate(ink).removeprefix("rgb(").removesuffix(")").split(", ")) < 80


def test_narrowing_the_window_narrows_the_charts(share):
    page = share("vectors")
    page.set_viewport_size({"width": 360, "height": 700})
    page.wait_for_function("document.querySelector('[data-chart=calibration] svg').getBoundingClientRect().width < 340")
    assert overflow(page) <= 0
    page.set_viewport_size({"width": 1280, "height": 800})


def test_without_scripts_the_words_numbers_and_objects_are_there(browser, address):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(address("graphs"))
    assert page.locator(".scores").is_visible() and page.locator("#model figcaption").first.is_visible()
    assert page.locator("#example-rows svg.graph").first.is_visible()
    context.close()

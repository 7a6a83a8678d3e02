"""What notebooks show: results and similarities in one style, reports in a frame, and a bar for progress."""

import sys
import types
from html.parser import HTMLParser

import numpy as np
import pytest
from market import SIMILARITIES

import similitude.report
from similitude import (
    FromPairs,
    Similarity,
    SimilarityClassifier,
    SimilarityMultilabelClassifier,
    SimilarityRegressor,
    check_kernel,
    choose_kernel,
    drift_test,
    error_at_margin,
    margin,
    two_sample_test,
    use_engine,
)
from similitude.compute.engines import progress, with_progress
from similitude.engines import LocalEngine
from similitude.kernels import Edit, Gaussian, Linear, Spectrum
from similitude.learners import KernelPerceptron, KernelSVC, RepresenterClassifier
from similitude.relevance import attribution, importance
from similitude.report import investigate
from similitude.results import Curve, Estimate, Guarantee, Premise
from similitude.similarity.display import meaning_of
from similitude.support import Result, brief, written

HOSTILE = "</script><b onmouseover=x>\N{RIGHT-TO-LEFT OVERRIDE}"
VOID = {"br", "meta", "link", "input", "img", "hr"}


class Tags(HTMLParser):
    """Checks that tags are closed in order, and collects their names, attributes and texts."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.names, self.attributes, self.text = [], set(), {}, ""
        self.feed(page)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        self.attributes.setdefault(tag, []).append(dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data


def checked(shown):
    """Return the parsed HTML of something, which is well-formed, without scripts, and names the heads of its tables."""
    page = shown._repr_html_()
    found = Tags(page)
    assert not found.names & {"script", "link", "b"} and "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert all(dict(one).get("scope") for one in found.attributes.get("th", []))
    assert not any(name.startswith("on") for one in found.attributes.values() for attrs in one for name in attrs)
    assert page.count("<table") == page.count('<div class="s-scroll"><table') and "max-width:100%" in page
    return found


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    y = np.array(["a", HOSTILE])[np.arange(40) % 2]
    X = rng.standard_normal((40, 2)) + 2.0 * (y == "a")[:, None]
    return X, y


@pytest.fixture(scope="module")
def results(classes, quick_reports):
    """Results of nearly every class, made from arrays of NumPy and their scalars."""
    X, y = classes
    model = SimilarityClassifier(Gaussian(np.float64(1.0)), random_state=0).fit(X, y)
    words = ["".join(row) for row in np.where(np.random.default_rng(0).random((30, 8)) < 0.5, "A", "<")]
    of_words = SimilarityClassifier(Spectrum(2), random_state=0).fit(words, y[:30])
    number, half = np.float64(0.5), np.float64(0.25)
    frugal = SimilarityRegressor(FromPairs(lambda x, z: float(x @ z)), max_calls=400, random_state=0)
    return [
        Estimate(number, half, number, number, "ESTIMATE"),
        Curve(X[:30, 0], X[:30, 1], X[:30, 1], X[:30, 1], number, "ESTIMATE"),
        Guarantee.under([Premise(HOSTILE, "assumed")], HOSTILE, HOSTILE, {"n": number}),
        Guarantee.none(HOSTILE),
        investigate(Gaussian(), X, y, title=HOSTILE, compare=[Linear()], random_state=0),
        model.guarantee_,
        model.representation_,
        model.held_out_error_,
        model.landmark_curve_,
        model.uncertainty_,
        model.explain(X[:9]),
        frugal.fit(X, X[:, 0]).calls_,
        of_words.explain(words[:1]),
        attribution(of_words, words[0]),
        attribution(model, X[0]),
        importance(model, X, y, n_repeats=1, random_state=0),
        check_kernel(Gaussian() + Linear()),
        check_kernel(Edit()),
        check_kernel(FromPairs(lambda x, z: float(x[0] * z[1])), X),
        check_kernel(FromPairs(lambda x, z: float(x @ z)), X[:5]),
        (Gaussian() * Linear()).proof(),
        Edit().proof(),
        choose_kernel({HOSTILE: Gaussian(), "linear": Linear()}, X, y, random_state=0),
        two_sample_test(Gaussian(), X[::2], X[1::2], n_permutations=99, random_state=0),
        drift_test(Gaussian(), X[:20], X[20:], batches=y[20:], n_permutations=99, random_state=0),
        margin(Gaussian(), X, y),
        error_at_margin(KernelSVC(Gaussian(1.0)).fit(X, y), X, y),
        KernelPerceptron(Gaussian(1.0)).fit(X, y).mistake_bound_,
        SimilarityClassifier("gaussian", random_state=0).fit(X, y).plan_,
        SimilarityClassifier("gaussian").plan(X, y).cost,
        RepresenterClassifier(Gaussian(1.0)).fit(X, y).optimality_,
    ]


def every(value):
    """Yield the results in a value, those of their fields included."""
    if isinstance(value, Result):
        yield value
        value = list(vars(value).values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from every(one)


def subclasses(cls):
    return {one for child in cls.__subclasses__() for one in {child, *subclasses(child)}}


SELDOM = {
    "CacheInformation",
    "ClusterNumber",
    "ComparedModel",
    "CostCurve",
    "Direction",
    "EarlyStops",
    "GradientImportance",
    "Information",
    "Learned",
    "LearnedSummary",
    "LearningStep",
    "Needed",
    "NumberSummary",
    "Residuals",
    "Round",
}
"""Results that take long to make, or are made from files: they share the repr of all results."""


def test_results_have_no_names_of_numpy_in_their_texts(results):
    found = list(every(results))
    for one in found:
        assert "np." not in repr(one), type(one)
        assert "np." not in str(one), type(one)
    missing = {one.__name__ for one in subclasses(Result) if one.__module__.startswith("similitude.")}
    assert missing - {type(one).__name__ for one in found} <= SELDOM


def test_results_in_notebooks_name_what_they_say(results):
    for one in every(results):
        if not isinstance(one, similitude.report.Findings):
            shown, (title, *_) = checked(one), one.html_parts()
            assert len(shown.text) > 3 and str(title), type(one)


@pytest.mark.parametrize("name", list(SIMILARITIES))
def test_similarities_in_notebooks(name):
    k = SIMILARITIES[name][0]
    shown = checked(k)
    assert (">proven<" in k._repr_html_()) == k.proof().holds and "symmetric: K(x, z) = K(z, x)" in shown.text


def test_claims_are_shown_with_their_status():
    def status(k):
        return k._repr_html_().split("a kernel</td><td>")[1].split("</td>")[0]

    own = FromPairs(lambda x, z: 1.0)
    assert "proven" in status(Gaussian()) and "refuted" in status(Edit()) and "unknown" in status(own)
    assert "declared" in status(FromPairs(lambda x, z: 1.0, claims=("SYMMETRIC", "PSD")))
    assert "to be resolved from data" in Gaussian()._repr_html_()
    assert "k1__sigma" in (Gaussian(2.0) + Linear())._repr_html_()


def test_a_formula_in_letters_has_indices_and_escapes():
    class Sum(Similarity):
        r"""The sum, :math:`K(x, z) = \sum_{i<n} x_i z^{a+b}`."""

    shown = str(meaning_of(Sum))
    assert shown == "The sum, <i>K(x, z) = Σ<sub>i&lt;n</sub> x<sub>i</sub> z<sup>a+b</sup></i>."


def test_long_things_are_cut_with_a_count(classes):
    X, y = classes
    line = np.linspace(0, 1, 105)
    assert "and 93 more points" in Curve(line, line, line, line, 0.9, "ESTIMATE")._repr_html_()
    model = SimilarityClassifier(Gaussian(1.0), n_landmarks=5, random_state=0).fit(X, y)
    assert "and 4 more" in model.explain(X[:9])._repr_html_()


def test_values_are_written_without_numpy():
    value = {"a": [np.float64(0.5), (np.str_("x"),)], np.int64(2): np.datetime64("2020-01-01", "ns")}
    assert written(value) == "{'a': [0.5, ('x',)], 2: '2020-01-01T00:00:00.000000000'}"
    assert brief([np.float32(0.5), np.str_("x")]) == "[0.5, 'x']" and repr(Linear() * np.float64(2)) == "2.0*Linear()"


# Reports.


def test_a_report_is_a_frame_that_cannot_reach_the_notebook(results):
    found = next(one for one in results if isinstance(one, similitude.report.Findings))
    (frame,) = Tags(found._repr_html_()).attributes["iframe"]
    assert frame["srcdoc"].startswith("<!doctype html>".upper()) or "<html" in frame["srcdoc"][:200]
    assert "allow-same-origin" not in frame["sandbox"] and HOSTILE not in frame["srcdoc"]
    assert "width:100%" in frame["style"] and "\\u202e" in frame["title"]


def test_the_report_of_a_model_has_its_parameters(classes, quick_reports, tmp_path):
    X, y = classes
    model = SimilarityClassifier(Gaussian(1.0), n_landmarks=3, random_state=0)
    found = model.report(X, y)
    assert len(found.landmarks) == 3 and "n_landmarks=3" in found.reproduce.code
    found.save(tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text(encoding="utf-8") == f"{found}\n"
    assert not hasattr(model, "landmarks_")


@pytest.mark.parametrize(
    ("model", "error", "said"),
    [
        (SimilarityMultilabelClassifier(), TypeError, "is about a similarity, a SimilarityClassifier or"),
        (SimilarityClassifier([Gaussian(), Linear()]), ValueError, "one similarity"),
        (SimilarityClassifier(landmark_indices=[0, 1]), ValueError, "landmark_indices"),
    ],
)
def test_models_that_have_no_report(classes, model, error, said):
    with pytest.raises(error, match=said):
        model.report(*classes)


# Progress.


def test_a_function_gets_the_progress(monkeypatch):
    monkeypatch.setattr(progress, "REFRESH", 0.0)
    calls = []
    engine = LocalEngine(threads=1, progress=lambda *call: calls.append(call))
    with use_engine(engine):
        Linear().gram(np.ones((2100, 1)))
    assert calls and all(0 < done <= total and "tiles" in text for done, total, text in calls)
    assert any(done == total for done, total, _ in calls)


def test_an_error_in_the_function_ends_the_work(monkeypatch):
    monkeypatch.setattr(progress, "REFRESH", 0.0)
    begun, closed = [], []

    def items():
        try:
            for i in range(10):
                begun.append(i)
                yield i
        finally:
            closed.append(True)

    def stop(done, total, text):
        raise RuntimeError(f"stopped after {done} of {total}")

    with pytest.raises(RuntimeError, match="stopped after 1 of 10"):
        list(with_progress(items(), stop, 10))
    assert begun == [0] and closed == [True]


def test_updates_are_rare_but_for_the_last_one():
    calls = []
    list(with_progress(iter(range(1000)), lambda *call: calls.append(call), 1000))
    assert len(calls) < 100 and calls[-1][:2] == (1000, 1000) and "100% of 1,000 tiles" in calls[-1][2]


def test_progress_is_a_bool_or_a_function():
    with pytest.raises(TypeError, match=r"a function f\(done, total, text\), got 'yes'"):
        LocalEngine(progress="yes")


class Handle:
    def __init__(self, shown):
        self.shown = shown

    def update(self, bundle, raw):
        self.shown.append(bundle)


@pytest.fixture
def notebook(monkeypatch):
    """A kernel of a notebook; returns what its cell shows, one after the other."""
    shown = []

    def display(bundle, raw, display_id):
        shown.append(bundle)
        return Handle(shown)

    shell = types.ModuleType("IPython")
    shell.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    displays = types.ModuleType("IPython.display")
    displays.display = display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", displays)
    monkeypatch.setattr(progress, "REFRESH", 0.0)
    return shown


def test_progress_in_a_notebook_changes_in_place_and_is_gone_at_the_end(monkeypatch, notebook):
    monkeypatch.setattr(progress, "UNSEEN", 0.0)
    list(with_progress(iter(range(4)), True, 4))
    (bar,) = Tags(notebook[1]["text/html"]).attributes["progress"]
    assert bar == {"value": "2", "max": "4"} and "50% of 4 tiles" in notebook[1]["text/plain"]
    assert len(notebook) == 5 and notebook[-1] == {"text/plain": "", "text/html": ""}


def test_short_work_shows_no_bar(notebook):
    list(with_progress(iter(range(4)), True, 4))
    assert notebook == []


def test_progress_outside_of_notebooks_shows_nothing(monkeypatch, notebook):
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: None)
    monkeypatch.setattr(progress, "UNSEEN", 0.0)
    assert list(with_progress(iter(range(4)), True, 4)) == [0, 1, 2, 3] and notebook == []


def test_errors_name_labels_without_numpy():
    for model in (SimilarityClassifier(), KernelSVC(), RepresenterClassifier()):
        with pytest.raises(ValueError, match=r"'a'") as caught:
            model.fit(np.eye(3), np.array(["a", "a", "a"]))
        assert "np." not in str(caught.value)

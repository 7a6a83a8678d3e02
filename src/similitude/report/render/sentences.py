"""The answers of a report, each in a sentence for readers who know nothing about kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.estimators import EVERY_ROW
from similitude.goodness import SIGNIFICANT
from similitude.kernel_learning import LearnedSummary
from similitude.report.findings import (
    ACCURACY,
    AUC,
    BALANCED,
    ERROR_RATE,
    EXPLAINED,
    F1,
    ClassCounts,
    ExampleFinding,
    Findings,
    ModelFindings,
    Scores,
)
from similitude.support import Estimate, cut_to, first_of, four_digits, number_of
from similitude.validity import Validity

SECTIONS = {
    "summary": "Summary",
    "map": "All objects on a map",
    "data": "What is the data?",
    "learned": "What was learned?",
    "model": "How good is the model?",
    "examples": "Which examples are hard?",
    "landmarks": "Which landmarks matter?",
    "matrix": "All similarities at a glance",
    "good": "Is it good for these labels?",
    "kernel": "Is the similarity a kernel?",
    "landmarks-enough": "How many landmarks are enough?",
    "guaranteed": "What is guaranteed?",
    "reproduce": "How to reproduce it",
}
"""The sections of a report, and their titles."""


def sections(found: Findings) -> dict[str, str]:
    """Return the sections that a report of some findings has, and their titles."""
    return {name: title for name, title in SECTIONS.items() if name != "learned" or found.learned is not None}


KIND_NAMES = {
    "vectors": "vectors of numbers",
    "strings": "strings of letters",
    "graphs": "graphs: nodes joined by edges",
    "series": "series of numbers over time",
    "sets": "sets",
    "table": "rows of a table",
    "indices": "rows of a matrix of similarities",
}

NO_BREAK = "\xa0"
"""A space at which no line is broken."""


def percent(share: float) -> str:
    """Return a share in per cent, with a decimal if it is close to 0 or 100."""
    hundred = 100 * share
    fine = 0.05 <= hundred < 9.95 or 90.05 < hundred < 99.95
    return (f"{hundred:.1f}".removesuffix(".0") if fine else f"{hundred:.0f}") + NO_BREAK + "%"


def label_text(label: Any) -> str:
    """Return a label for a sentence, quoted if it has no letters or digits."""
    text = four_digits(label)
    return text if any(letter.isalnum() for letter in text) else f"“{text}”"


def short_label(label: Any) -> str:
    """Return a label for an axis."""
    return cut_to(16, four_digits(label))


def held_out_error(model: ModelFindings) -> str:
    """Return the held-out error with its interval."""
    held = model.held_out
    value, low, high = (score_text(model.measure, one) for one in (held.value, held.low, held.high))
    return f"{value} ({percent(held.level)} interval {low} to {high})"


def summary(found: Findings) -> list[tuple[str, str, str, str, str]]:
    """Return what the page answers first: a question, the answer in short, its tone, in a sentence, and the section."""
    good = is_good(found)
    short = good.partition(":")[0].partition(" ")[0]
    if found.goodness is None:
        short = "Not defined"
    look = "Largest errors"
    if _mistakes(found):
        look = number_of(_n_wrong(found), "mistake")
    elif found.model.classes:
        look = "Close calls"
    tones = {"Yes": "good", "Hardly": "bad", "No": "bad"}
    kernel = {"VALID": ("Yes", "good"), "INVALID": ("No", "open")}.get(found.validity.verdict, ("Unknown", "open"))
    return [
        (
            "Is it good for these labels?",
            short,
            tones.get(short, "open"),
            good,
            "good",
        ),
        ("What to look at?", look, "open", what_to_look_at(found), "examples"),
        ("Is it a kernel?", *kernel, is_kernel(found.validity), "kernel"),
    ]


def subtitle(found: Findings) -> str:
    """Return the number and kind of objects, and what is predicted."""
    about = found.about
    kind = {"any": "objects", "table": "rows", "indices": "rows of a matrix"}.get(about.kind, about.kind)
    what = "a number to predict"
    if found.model.classes:
        what = number_of(len(found.model.classes), "class")
    return f"{about.n:,} {kind}, {what}"


def score_text(name: str, value: float) -> str:
    """Return a score: shares in per cent, an area or R² with three decimals, errors in their units."""
    if not np.isfinite(value):
        return "unknown"
    if name in (ACCURACY, BALANCED, ERROR_RATE):
        return percent(value)
    return format(value, {AUC: ".3f", F1: ".3f", EXPLAINED: ".3f"}.get(name, ".3g"))


def ahead(model: ModelFindings, one: Scores) -> str:
    """Say how a baseline compares with the model on the same examples."""
    if one.ahead is None:
        return ""
    difference = f"{abs(one.ahead.value):.3g} on average"
    if model.classes:
        difference = f"{100 * abs(one.ahead.value):.1f} points"
    if one.ahead.low > 0:
        return f"better by {difference}"
    if one.ahead.high < 0:
        return f"worse by {difference}"
    return "no clear difference"


def where_scores_come_from(model: ModelFindings) -> str:
    """Say which examples the scores come from."""
    if model.folds > 1:
        return (
            f"All scores are out of fold: in {folds(model)}, no model saw an example that it predicts in training; all "
            f"rows of the table use the same folds."
        )
    return (
        f"All scores come from {number_of(model.n_tested, 'held-out example')}: no model saw them in training, and "
        f"each was fitted to the same {number_of(model.n_learned, 'other example')}."
    )


def folds(model: ModelFindings) -> str:
    """Return the name of the cross-validation."""
    return f"{model.rounds} repeats of " * (model.rounds > 1) + f"{model.folds}-fold cross-validation"


def verdict(found: Findings) -> str:
    """Say in one sentence what the report found."""
    model = found.model
    constant, *others = model.scores[1:]
    held = model.held_out
    cases = f"{number_of(model.n_tested, 'case')} it had not seen"
    what = "numbers"
    right = f"The model is off by {held_out_error(model)} on {cases}"
    if model.classes:
        what = "labels"
        share, low, high = percent(1 - held.value), percent(1 - held.high), percent(1 - held.low)
        right = f"The model is right for {share} of {cases} (interval {low} to {high})"
    if constant.ahead is None or constant.ahead.high >= 0:
        always = f"no better than always predicting the {constant.name}"
        return f"This similarity does not predict the {what}. {right}, {always}."
    compared: dict[str, list[str]] = {"better than": [], "about as good as": [], "worse than": []}
    words = {"better": "worse than", "worse": "better than", "no": "about as good as"}
    for one in others:
        if one.ahead is not None:
            compared[words[ahead(model, one).split()[0]]].append(_named(one))
    if not others:
        compared["better than"].append(_named(constant))
    parts = [f"{how} {_and(names)}" for how, names in compared.items() if names]
    suspects = ""
    if len(found.doubted) == 1:
        suspects = f" One label looks wrong: example {found.doubted[0]}."
    elif len(found.doubted):
        suspects = f" {len(found.doubted):,} labels look wrong: examples {first_of(found.doubted, 5)}."
    return f"{right}, {_and(parts)}.{suspects}"


def _named(one: Scores) -> str:
    """Return the name of a baseline within a sentence."""
    articles = {"nearest neighbor": "the ", "linear model": "a ", "most frequent class": "the ", "mean": "the "}
    return articles.get(one.name, "") + one.name


def _and(names: list[str], last: str = "and") -> str:
    """Join names."""
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def on_the_map(found: Findings) -> str:
    """Say what the map shows."""
    placed = found.map
    of = f"of {found.about.n:,} " * (len(placed.indices) < found.about.n)
    errors = ""
    by = ["number", "error", "column"][: len(placed.colorings)]
    if found.model.classes:
        by[0] = "class"
        wrong = int(np.nansum(placed.error))
        errors = f", {wrong:,} of them predicted wrongly" * (wrong > 0)
    return f"{len(placed.indices):,} {of}objects, placed by similarity{errors}: color them by {_and(by, 'or')}."


def is_kernel(validity: Validity) -> str:
    """Say whether the similarity is a kernel."""
    witness = validity.witness
    if validity.verdict == "VALID":
        why = "all of its objects were checked"
        if validity.min_eigenvalue is None:
            why = "proven for all objects, not only for those seen here"
        return f"Yes, this similarity is a kernel: {why}."
    if validity.verdict == "INVALID" and witness is not None:
        shown = f"the {len(witness.objects)} objects below show it"
        if not witness.coefficients:
            shown = "it is not even symmetric, as the two objects below show"
        elif len(witness.objects) == 1:
            shown = "the object below shows it"
        return f"No, this similarity is not a kernel: {shown}. The model does not need a kernel and was fitted anyway."
    return "Unknown: there is no proof that this similarity is a kernel, and the search found no counterexample."


def is_good(found: Findings) -> str:
    """Say whether the similarity is related to the labels."""
    goodness = found.goodness
    if goodness is None:
        return f"This cannot be assessed: {found.no_goodness}. See the error of the model instead."
    p = goodness.p_value.value
    if p > SIGNIFICANT:
        return (
            f"No evidence of it: shuffled labels fit the similarity as well as the true ones in {percent(p)} of the "
            f"permutations, so chance explains the fit."
        )
    closer = float((goodness.strong.gaps > 0).mean())
    verdict = "Partly"
    if closer <= 1 / len(goodness.classes_):
        verdict = "Hardly"
    elif closer >= 0.9:
        verdict = "Yes"
    return (
        f"{verdict}: {percent(closer)} of the examples are more similar to their own class than to any other, on "
        f"average, which is not chance (p{NO_BREAK}={NO_BREAK}{p:.2g})."
    )


def how_good(model: ModelFindings) -> str:
    """Say how good the model is."""
    baseline = score_text(model.measure, model.baseline)
    if model.measure == ERROR_RATE:
        return (
            f"The model is wrong for {held_out_error(model)} of the examples it had not seen; always predicting the "
            f"most frequent class would be wrong for {baseline}."
        )
    return (
        f"The root mean squared error on examples the model had not seen is {held_out_error(model)}; always "
        f"predicting the mean would give {baseline}."
    )


def what_to_look_at(found: Findings) -> str:
    """Say which examples are worth a look."""
    if found.model.residuals is not None:
        return "The examples with the largest errors come first below: look for what they have in common."
    wrong = _mistakes(found)
    if not wrong:
        return "The model predicts every held-out example below correctly: look at the close calls among them."
    if len(wrong) == 1:
        return f"One held-out example below is predicted wrongly, {_taken_for(wrong[0])}: open it to see what decided."
    often = "".join(f", most often {_taken_for(pair)}" for pair in found.model.worst[:1])
    few = "them"
    if _n_wrong(found) > len(wrong):
        few = f"the {len(wrong)} of them that are below"
    return f"{_n_wrong(found):,} held-out examples are predicted wrongly{often}: open {few} to see what decided."


def _taken_for(one: Any) -> str:
    return f"{label_text(one.label)} taken for {label_text(one.predicted)}"


def _n_wrong(found: Findings) -> int:
    """Return how many held-out examples are predicted wrongly; on average, if there were several rounds."""
    confusion = np.asarray(found.model.confusion)
    return max(round(float(confusion.sum() - np.trace(confusion))), len(_mistakes(found)))


def _mistakes(found: Findings) -> list[ExampleFinding]:
    """Return the held-out examples that are shown and predicted wrongly."""
    return [one for one in found.examples if one.wrong and one.held_out]


def most_probable(classes: tuple[Any, ...], probabilities: tuple[float, ...]) -> str:
    """Return the five most probable classes with their probabilities."""
    pairs = sorted(zip(probabilities, classes, strict=True), key=lambda pair: -pair[0])[:5]
    return ", ".join(f"{label_text(label)} {percent(chance)}" for chance, label in pairs)


def importance_text(found: Estimate, classes: bool) -> str:
    """Return the importance of a column with its interval: points of the error rate, or a share of the variance."""
    scale = 1
    unit = "of the variance"
    if classes:
        scale = 100
        unit = "percentage points of the error rate"
    value, low, high = (f"{scale * one:.2g}" for one in (found.value, found.low, found.high))
    return f"{value} {unit} ({percent(found.level)} interval {low} to {high})"


def what_data(found: Findings) -> str:
    """Say what the data is."""
    about = found.about
    kind = ""
    if about.kind in KIND_NAMES:
        kind = f", {KIND_NAMES[about.kind]},"
    if not isinstance(about.labels, ClassCounts):
        return f"There are {about.n:,} examples{kind or ','} each with a number to predict: {about.labels}."
    pairs = about.labels.largest_first()
    listed = ", ".join(f"{label_text(label)} ({count:,}, {percent(count / about.n)})" for label, count in pairs[:5])
    more = f" and {len(pairs) - 5} more" * (len(pairs) > 5)
    return f"There are {about.n:,} examples{kind} in {number_of(len(pairs), 'class')}: {listed}{more}."


def what_learning_gained(found: LearnedSummary) -> str:
    """Compare the loss of what was learned with that of the kernel to start with."""
    first = found.steps[0]
    last = found.steps[-1]
    if first is last:
        return f"No kernel was clearly better than an isotropic Gaussian one, whose squared error is {first.loss:.3g}."
    return (
        f"The squared error on {found.n_judged:,} pilot rows fell from {first.loss:.3g} to {last.loss:.3g}, "
        f"{percent(max(found.gain, 0.0))} less."
    )


def what_was_learned(learned: LearnedSummary) -> str:
    """Say which columns count, and what learning gained."""
    return f"What counts: {learned.importance.in_short()}. {what_learning_gained(learned)}"


def enough_landmarks(found: Findings) -> str:
    """Say how many landmarks the model has, and why not more."""
    curve = found.landmark_curve
    text = f"The model uses {number_of(curve.chosen, 'landmark')}, not more because {curve.reason}."
    if curve.reason == EVERY_ROW:
        text = "The fit is exact: every training example is a landmark."
    if len(curve.error.y) > 1:
        half, full = (score_text(curve.measure, float(value)) for value in curve.error.y[-2:])
        fewer = int(curve.landmarks[-2])
        how = {curve.chosen // 2: "half as many"}.get(fewer, f"{fewer:,}")
        compared = f"{half} instead of {full}"
        if half == full:
            compared = "the same"
        text += f" With {how}, the {curve.measure} is {compared}."
    return text


def classes_in_matrix(found: Findings) -> str:
    """Say whether pairs of the same class are more similar than others."""
    if found.goodness is None:
        return (
            "Rows and columns are sorted by the number to predict: if similar objects have similar numbers, the "
            "pixels near the diagonal are bright."
        )
    weak = found.goodness.weak
    different = ~np.eye(len(weak.means), dtype=bool)
    hardly = "hardly " * bool(weak.balanced.low <= 0)
    return (
        f"Pairs of the same class are {hardly}more similar than pairs of different classes: "
        f"{np.nanmean(weak.means.diagonal()):.3g} against {np.nanmean(weak.means[different]):.3g} on average, with "
        f"equal weight for every class."
    )

"""The answers of a report, each in a sentence for readers who know nothing about kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.estimators import EVERY_ROW
from similitude.goodness import SIGNIFICANT
from similitude.kernel_learning import LearnedSummary
from similitude.relevance import Attribution
from similitude.report.findings import (
    ACCURACY,
    AUC,
    BALANCED,
    ERROR_RATE,
    EXPLAINED,
    F1,
    ClassCounts,
    DecidingExample,
    Decision,
    ExampleFinding,
    Findings,
    ModelFindings,
    Scores,
)
from similitude.support import Estimate
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

GRADE_MEANINGS = {
    "PROVEN": "a theorem holds: every premise but independent rows holds by proof or by construction",
    "CONDITIONAL": "a theorem holds if its premises do; each is stated, and the sample contradicts none",
    "HELD-OUT": "measured on examples that were used for nothing else, with an exact interval",
    "ESTIMATE": "estimated from the sample, with a resampling interval or none",
    "NONE": "no theorem covers this case, the sample is too small, or it contradicts a premise",
}

IMPORTANCE = "Importance: how much the model's held-out error grows when the values of the column are shuffled."

NO_BREAK = "\xa0"
"""A space at which no line is broken."""


@dataclass(frozen=True)
class Answer:
    """An answer in the summary: in a word or a number, in a sentence, and the section of the page with the details.

    Its tone, ``good``, ``bad`` or ``open``, is its color.
    """

    question: str
    short: str
    tone: str
    sentence: str
    section: str


def percent(share: float) -> str:
    r"""Return a share in per cent, with a decimal if it is close to 0 or 100.

    >>> [percent(share).replace("\xa0", " ") for share in (0.25, 0.034, 0.95, 0.999, 0.0)]
    ['25 %', '3.4 %', '95 %', '99.9 %', '0 %']
    """
    hundred = 100 * share
    fine = 0.05 <= hundred < 9.95 or 90.05 < hundred < 99.95
    return (f"{hundred:.1f}".removesuffix(".0") if fine else f"{hundred:.0f}") + NO_BREAK + "%"


def label_text(label: Any) -> str:
    """Return a label for a sentence, quoted if it has no letters or digits.

    >>> label_text("spam"), label_text("+")
    ('spam', '“+”')
    """
    text = f"{label:.4g}" if isinstance(label, float) else str(label)
    return text if any(letter.isalnum() for letter in text) else f"“{text}”"


def short_label(label: Any) -> str:
    """Return a label for an axis."""
    text = f"{label:.4g}" if isinstance(label, float) else str(label)
    return text if len(text) <= 16 else f"{text[:15]}…"


def counted(number: int, what: str, several: str | None = None) -> str:
    """Return a number with its noun, whose plural ends in s unless it is given.

    >>> counted(1, "landmark"), counted(1200, "landmark"), counted(3, "class", "classes")
    ('1 landmark', '1,200 landmarks', '3 classes')
    """
    return f"{number:,} {what if number == 1 else several or f'{what}s'}"


def error_text(value: float, measure: str) -> str:
    """Return an error, in per cent if it is a rate."""
    return percent(value) if measure == ERROR_RATE else f"{value:.3g}"


def held_out_error(model: ModelFindings) -> str:
    """Return the held-out error with its interval."""
    held = model.held_out
    value, low, high = (error_text(one, model.measure) for one in (held.value, held.low, held.high))
    return f"{value} ({percent(held.level)} interval {low} to {high})"


def summary(found: Findings) -> list[Answer]:
    """Return the answers at the top of the page."""
    good = is_good(found)
    short = "Not defined" if found.goodness is None else good.partition(":")[0].partition(" ")[0]
    tone = {"Yes": "good", "Hardly": "bad", "No": "bad"}.get(short, "open")
    look = "Largest errors"
    if _mistakes(found):
        look = counted(_n_wrong(found), "mistake")
    elif found.model.classes:
        look = "Close calls"
    kernel = {"VALID": ("Yes", "good"), "INVALID": ("No", "open")}.get(found.validity.verdict, ("Unknown", "open"))
    return [
        Answer("Is it good for these labels?", short, tone, good, "good"),
        Answer("What to look at?", look, "open", what_to_look_at(found), "examples"),
        Answer("Is it a kernel?", *kernel, is_kernel(found.validity), "kernel"),
    ]


def subtitle(found: Findings) -> str:
    """Return the number and kind of objects, and what is predicted."""
    about = found.about
    kind = {"any": "objects", "table": "rows", "indices": "rows of a matrix"}.get(about.kind, about.kind)
    classes = found.model.classes
    return f"{about.n:,} {kind}, " + (counted(len(classes), "class", "classes") if classes else "a number to predict")


def score_text(name: str, value: float) -> str:
    r"""Return a score: shares in per cent, an area or R² with three decimals, errors in their units.

    >>> score_text("accuracy", 0.5).replace("\xa0", " "), score_text("AUC", 0.912), score_text("R²", float("nan"))
    ('50 %', '0.912', 'unknown')
    """
    if not np.isfinite(value):
        return "unknown"
    if name in (ACCURACY, BALANCED):
        return percent(value)
    return f"{value:.3f}" if name in (AUC, F1, EXPLAINED) else f"{value:.3g}"


def ahead(model: ModelFindings, one: Scores) -> str:
    """Say how a baseline compares with the model on the same examples."""
    if one.ahead is None:
        return ""
    size = abs(one.ahead.value)
    difference = f"{100 * size:.1f} points" if model.classes else f"{size:.3g} on average"
    if one.ahead.low > 0:
        return f"better by {difference}"
    return f"worse by {difference}" if one.ahead.high < 0 else "no clear difference"


def where_scores_come_from(model: ModelFindings) -> str:
    """Say which examples the scores come from."""
    if model.folds > 1:
        return (
            f"All scores are out of fold: in {folds(model)}, no model saw an example that it predicts in training; all "
            f"rows of the table use the same folds."
        )
    return (
        f"All scores come from {counted(model.n_tested, 'held-out example')}: no model saw them in training, and each "
        f"was fitted to the same {counted(model.n_learned, 'other example')}."
    )


def folds(model: ModelFindings) -> str:
    """Return the name of the cross-validation."""
    return (f"{model.rounds} repeats of " if model.rounds > 1 else "") + f"{model.folds}-fold cross-validation"


def verdict(found: Findings) -> str:
    """Say in one sentence what the report found."""
    model = found.model
    constant, *others = model.scores[1:]
    held = model.held_out
    cases = f"{counted(model.n_tested, 'case')} it had not seen"
    right = f"The model is off by {held_out_error(model)} on {cases}"
    if model.classes:
        share, low, high = percent(1 - held.value), percent(1 - held.high), percent(1 - held.low)
        right = f"The model is right for {share} of {cases} (interval {low} to {high})"
    if constant.ahead is None or constant.ahead.high >= 0:
        what = "labels" if model.classes else "numbers"
        always = f"no better than always predicting the {constant.name}"
        return f"This similarity does not predict the {what}. {right}, {always}."
    compared: dict[str, list[str]] = {"better than": [], "about as good as": [], "worse than": []}
    for one in others:
        if one.ahead is not None:
            how = "about as good as" if one.ahead.high >= 0 else "better than"
            compared["worse than" if one.ahead.low > 0 else how].append(_named(one))
    if not others:
        compared["better than"].append(_named(constant))
    parts = [f"{how} {_and(names)}" for how, names in compared.items() if names]
    return f"{', '.join([right, _and(parts)])}.{_suspects(found)}"


def _suspects(found: Findings) -> str:
    """Name the labels that look wrong."""
    suspects = found.doubted.tolist()
    if len(suspects) < 2:
        return f" One label looks wrong: example {suspects[0]}." if suspects else ""
    listed = ", ".join(map(str, suspects[:5])) + (", …" if len(suspects) > 5 else "")
    return f" {len(suspects):,} labels look wrong: examples {listed}."


def _named(one: Scores) -> str:
    """Return the name of a baseline within a sentence."""
    articles = {"nearest neighbor": "the", "linear model": "a", "most frequent class": "the", "mean": "the"}
    return f"{articles[one.name]} {one.name}" if one.name in articles else one.name


def _and(names: list[str], last: str = "and") -> str:
    """Join names.

    >>> _and(["a", "b", "c"])
    'a, b and c'
    """
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def on_the_map(found: Findings) -> str:
    """Say what the map shows."""
    placed = found.map
    objects = f"{len(placed.indices):,} objects"
    if len(placed.indices) < found.about.n:
        objects = f"{len(placed.indices):,} of {found.about.n:,} objects"
    wrong = int(np.nansum(placed.error)) if found.model.classes else 0
    errors = f", {wrong:,} of them predicted wrongly" if wrong else ""
    by = ["class" if found.model.classes else "number", "error", "column"]
    ways = _and(by if len(placed.colorings) > 2 else by[:2], "or")
    return f"{objects}, placed by similarity{errors}: color them by {ways}."


def threshold(model: ModelFindings) -> str:
    """Return the words before the threshold of the slider."""
    if len(model.classes) == 2:
        return f"Predict {label_text(model.classes[1])} if its probability is at least"
    return "Answer only if the most probable class has a probability of at least"


def is_kernel(validity: Validity) -> str:
    """Say whether the similarity is a kernel."""
    witness = validity.witness
    if validity.verdict == "VALID":
        proven = "proven for all objects, not only for those seen here"
        checked = "all of its objects were checked"
        return f"Yes, this similarity is a kernel: {proven if validity.min_eigenvalue is None else checked}."
    if validity.verdict == "INVALID" and witness is not None:
        shown = "it is not even symmetric, as the two objects below show"
        if witness.coefficients:
            few = len(witness.objects)
            shown = "the object below shows it" if few == 1 else f"the {few} objects below show it"
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
    verdict = "Hardly"
    if closer > 1 / len(goodness.classes_):
        verdict = "Yes" if closer >= 0.9 else "Partly"
    return (
        f"{verdict}: {percent(closer)} of the examples are more similar to their own class than to any other, on "
        f"average, which is not chance (p{NO_BREAK}={NO_BREAK}{p:.2g})."
    )


def how_good(model: ModelFindings) -> str:
    """Say how good the model is."""
    baseline = error_text(model.baseline, model.measure)
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
    worst = wrong[0] if len(wrong) == 1 else next(iter(found.model.worst), None)
    pair = "" if worst is None else f"{label_text(worst.label)} taken for {label_text(worst.predicted)}"
    if len(wrong) == 1:
        return f"One held-out example below is predicted wrongly, {pair}: open it to see what decided."
    which = f"{_n_wrong(found):,} held-out examples are predicted wrongly" + (pair and f", most often {pair}")
    few = "them" if _n_wrong(found) == len(wrong) else f"the {len(wrong)} of them that are below"
    return f"{which}: open {few} to see what decided."


def _n_wrong(found: Findings) -> int:
    """Return how many held-out examples are predicted wrongly; on average, if there were several rounds."""
    confusion = found.model.confusion
    wrong = 0 if confusion is None else round(float(confusion.sum() - np.trace(confusion)))
    return max(wrong, len(_mistakes(found)))


def _mistakes(found: Findings) -> list[ExampleFinding]:
    """Return the held-out examples that are shown and predicted wrongly."""
    return [one for one in found.examples if one.wrong and one.held_out]


def most_probable(classes: tuple[Any, ...], probabilities: tuple[float, ...]) -> str:
    """Return the five most probable classes with their probabilities."""
    pairs = sorted(zip(probabilities, classes, strict=True), key=lambda pair: -pair[0])[:5]
    return ", ".join(f"{label_text(label)} {percent(chance)}" for chance, label in pairs)


def what_decided(one: ExampleFinding, classes: bool) -> str:
    """Say how to read what decided."""
    why = one.decision
    if not classes:
        return (
            "The predicted number is the mean plus a sum over training examples: each pulls it up (blue) or down "
            "(orange), toward its own number if the two are similar, away from it if the model separates them."
        )
    against = "" if why.against is None else f" against {label_text(why.against)}"
    return (
        f"The score of {label_text(why.prediction)}{against} is a sum over training examples: blue ones speak for it, "
        f"orange ones against it. One of another class speaks for it where the model separates the two."
    )


def what_mattered(found: Attribution) -> str:
    """Say how to read the parts of an object."""
    more = "" if found.against is None else f" for {label_text(found.prediction)} against {label_text(found.against)}"
    if found.base is not None:
        return f"What each part adds to the score{more}: the parts and {found.base:.3g} sum to it."
    return f"What the score{more} loses without each part; parts may stand in for each other and need not add up."


def side(part: DecidingExample, why: Decision) -> str:
    """Say what a deciding example speaks for; its influence is positive if it speaks for the prediction."""
    if isinstance(why.prediction, float):
        return f"pulls the number {'up' if part.influence > 0 else 'down'}"
    return f"speaks {'for' if part.influence > 0 else 'against'} {label_text(why.prediction)}"


def importance_text(found: Estimate, classes: bool) -> str:
    """Return the importance of a column with its interval: points of the error rate, or a share of the variance."""
    scale = 100 if classes else 1
    unit = "percentage points of the error rate" if classes else "of the variance"
    value, low, high = (f"{scale * one:.2g}" for one in (found.value, found.low, found.high))
    return f"{value} {unit} ({percent(found.level)} interval {low} to {high})"


def what_data(found: Findings) -> str:
    """Say what the data is."""
    about = found.about
    kind = f", {KIND_NAMES[about.kind]}," if about.kind in KIND_NAMES else ""
    if isinstance(about.labels, ClassCounts):
        classes = counted(len(about.labels.classes), "class", "classes")
        return f"There are {about.n:,} examples{kind} in {classes}: {_shares(about.labels)}."
    return f"There are {about.n:,} examples{kind or ','} each with a number to predict: {about.labels}."


def _shares(labels: ClassCounts) -> str:
    """Return the largest classes with their shares."""
    pairs = labels.largest_first()
    total = sum(labels.counts)
    named = [f"{label_text(label)} ({count:,}, {percent(count / total)})" for label, count in pairs[:5]]
    return ", ".join(named) + (f" and {len(pairs) - 5} more" if len(pairs) > 5 else "")


def what_learning_gained(found: LearnedSummary) -> str:
    """Compare the loss of what was learned with that of the kernel to start with."""
    first, last = found.steps[0], found.steps[-1]
    if first is last:
        return f"No kernel was clearly better than an isotropic Gaussian one, whose squared error is {first.loss:.3g}."
    return (
        f"The squared error on {found.n_judged:,} pilot rows fell from {first.loss:.3g} to {last.loss:.3g}, "
        f"{percent(max(found.gain, 0.0))} less."
    )


def what_was_learned(found: Findings) -> str:
    """Say which columns count, and what learning gained."""
    learned = found.learned
    if learned is None:
        return ""
    return f"What counts: {learned.importance.in_short()}. {what_learning_gained(learned)}"


def enough_landmarks(found: Findings) -> str:
    """Say how many landmarks the model has, and why not more."""
    curve = found.landmark_curve
    text = f"The model uses {counted(curve.chosen, 'landmark')}, not more because {curve.reason}."
    if curve.reason == EVERY_ROW:
        text = "The fit is exact: every training example is a landmark."
    if len(curve.error.y) > 1:
        half, full = (error_text(float(value), curve.measure) for value in curve.error.y[-2:])
        fewer = int(curve.landmarks[-2])
        how = "half as many" if fewer == curve.chosen // 2 else f"{fewer:,}"
        compared = "the same" if half == full else f"{half} instead of {full}"
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
    hardly = "" if weak.balanced.low > 0 else "hardly "
    return (
        f"Pairs of the same class are {hardly}more similar than pairs of different classes: "
        f"{np.nanmean(weak.means.diagonal()):.3g} against {np.nanmean(weak.means[different]):.3g} on average, with "
        f"equal weight for every class."
    )

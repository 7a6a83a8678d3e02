"""The answers of a report, each in a sentence for readers who know nothing about kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.goodness import SIGNIFICANT
from similitude.report.findings import ERROR_RATE, ClassCounts, Findings, ModelFindings
from similitude.validity import Validity

SECTIONS = {
    "summary": "Summary",
    "data": "What is the data?",
    "kernel": "Is the similarity a kernel?",
    "good": "Is it good for these labels?",
    "matrix": "All similarities at a glance",
    "landmarks-enough": "How many landmarks are enough?",
    "model": "How good is the model?",
    "landmarks": "Which landmarks matter?",
    "examples": "Which examples are hard?",
    "guaranteed": "What is guaranteed?",
    "reproduce": "How to reproduce it",
}
"""The sections of a report, and their titles."""

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
    "PROVEN": "a theorem holds; all its premises but independent rows hold by proof or by construction",
    "CONDITIONAL": "a theorem holds if its premises do; each is stated, and the sample contradicts none",
    "HELD-OUT": "measured on examples that were used for nothing else, with an exact interval",
    "ESTIMATE": "estimated from the sample, with a resampling interval or none",
    "NONE": "no theorem covers this case, the sample is too small, or it contradicts a premise",
}

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


def counted(number: int, what: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "landmark"), counted(1200, "landmark")
    ('1 landmark', '1,200 landmarks')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def is_rate(measure: str) -> bool:
    """Tell whether an error is a share of examples."""
    return measure == ERROR_RATE


def error_text(value: float, measure: str) -> str:
    """Return an error, in per cent if it is a rate."""
    return percent(value) if is_rate(measure) else f"{value:.3g}"


def held_out_error(model: ModelFindings) -> str:
    """Return the held-out error with its interval."""
    held, measure = model.held_out, model.measure
    value, low, high = (error_text(one, measure) for one in (held.value, held.low, held.high))
    return f"{value} ({percent(held.level)} interval {low} to {high})"


def summary(found: Findings) -> list[Answer]:
    """Return the answers at the top of the page."""
    verdict = {"VALID": ("Yes", "good"), "INVALID": ("No", "bad")}.get(found.validity.verdict, ("Unknown", "open"))
    good, model = is_good(found), found.model
    tones = {"Yes": "good", "Hardly": "bad", "No": "bad"}
    word = good.partition(":")[0].partition(" ")[0]
    short = "Not defined" if found.goodness is None else word
    held = model.held_out
    tone = "good" if held.high < model.baseline else "open" if held.value < model.baseline else "bad"
    error = f"{error_text(held.value, model.measure)} {'wrong' if is_rate(model.measure) else 'off'}"
    return [
        Answer("Is it a kernel?", *verdict, is_kernel(found.validity), "kernel"),
        Answer("Is it good for these labels?", short, tones.get(short, "open"), good, "good"),
        Answer("How good is the model?", error, tone, how_good(model), "model"),
        Answer("What to look at?", "Examples", "open", what_to_look_at(found), "examples"),
    ]


def is_kernel(validity: Validity) -> str:
    """Say whether the similarity is a kernel."""
    witness = validity.witness
    if validity.verdict == "VALID":
        proven = "proven for all objects, not only for those seen here"
        checked = "all of its objects were checked"
        return f"Yes, this similarity is a kernel: {proven if validity.min_eigenvalue is None else checked}."
    if validity.verdict == "INVALID" and witness is not None:
        few = len(witness.objects)
        shown = "the object below shows it" if few == 1 else f"the {few} objects below show it"
        shown = shown if witness.coefficients else "it is not even symmetric, as the two objects below show"
        return f"No, this similarity is not a kernel: {shown}. The model does not need a kernel and was fitted anyway."
    return "Unknown: there is no proof that this similarity is a kernel, and no counterexample was found."


def is_good(found: Findings) -> str:
    """Say whether the similarity is related to the labels."""
    goodness = found.goodness
    if goodness is None:
        return f"This cannot be assessed: {found.no_goodness}. See the error of the model instead."
    p = goodness.p_value.value
    if p > SIGNIFICANT:
        return (
            f"No evidence of it: shuffled labels fit the similarity as well as the true ones in {percent(p)} of the "
            f"permutations, so that chance explains what is seen."
        )
    ahead = float((goodness.strong.gaps > 0).mean())
    by_chance = 1 / len(goodness.classes_)
    verdict = "Yes" if ahead >= 0.9 else "Partly" if ahead > by_chance else "Hardly"
    return (
        f"{verdict}: {percent(ahead)} of the examples are more similar to their own class than to any other, on "
        f"average, and that is not chance (p{NO_BREAK}={NO_BREAK}{p:.2g})."
    )


def how_good(model: ModelFindings) -> str:
    """Say how good the model is."""
    baseline = error_text(model.baseline, model.measure)
    if is_rate(model.measure):
        return (
            f"The model is wrong about {held_out_error(model)} of the examples it was not fitted to; always predicting "
            f"the most frequent class would be wrong about {baseline}."
        )
    return (
        f"The root mean squared error on examples that the model was not fitted to is {held_out_error(model)}; always "
        f"predicting the mean would give {baseline}."
    )


def what_to_look_at(found: Findings) -> str:
    """Say which examples are worth a look."""
    if found.model.residuals is not None:
        return "The examples with the largest errors are listed first below: look for what they have in common."
    wrong = [one for one in found.examples if one.wrong]
    if not wrong:
        return "None of the examples below is predicted wrongly: the close calls among them are worth a look."
    if len(wrong) == 1:
        pair = f"{label_text(wrong[0].label)} taken for {label_text(wrong[0].predicted)}"
        return f"One mistake is shown below, {pair}: open it to see which landmarks misled the model."
    worst = found.model.worst
    pair = f", most often {label_text(worst[0].label)} taken for {label_text(worst[0].predicted)}" if worst else ""
    return f"{len(wrong)} mistakes are shown below{pair}: open them to see which landmarks misled the model."


def what_data(found: Findings) -> str:
    """Say what the data is."""
    about = found.about
    kind = f", {KIND_NAMES[about.kind]}," if about.kind in KIND_NAMES else ""
    if isinstance(about.labels, ClassCounts):
        return f"There are {about.n:,} examples{kind} in {len(about.labels.classes)} classes."
    return f"There are {about.n:,} examples{kind or ','} each with a number to predict: {about.labels}."


def enough_landmarks(found: Findings) -> str:
    """Say how many landmarks the model has, and why not more."""
    curve = found.landmark_curve
    text = f"The model uses {counted(curve.chosen, 'landmark')}, not more because {curve.reason}."
    if len(curve.error.y) > 1:
        half, all_of_them = (error_text(float(value), curve.measure) for value in curve.error.y[-2:])
        compared = f"is {half}, too" if half == all_of_them else f"is {half} instead of {all_of_them}"
        text += f" With half as many, the {curve.measure} {compared}."
    return text


def classes_in_matrix(found: Findings) -> str:
    """Say whether pairs of the same class are more similar than others."""
    if found.goodness is None:
        return (
            "Rows and columns are sorted by the number to predict: if similar objects have similar numbers, the "
            "pixels near the diagonal are bright."
        )
    weak = found.goodness.weak
    same = float(np.nanmean(weak.means.diagonal()))
    different = float(np.nanmean(weak.means[~np.eye(len(weak.means), dtype=bool)]))
    more = "more similar than" if weak.balanced.low > 0 else "hardly more similar than"
    return (
        f"Pairs of the same class are {more} pairs of different classes: {same:.3g} against {different:.3g} on "
        f"average, with equal weight for every class."
    )

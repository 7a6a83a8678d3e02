"""The answers of the page, each in a sentence that needs no knowledge of kernels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.report.about import ClassCounts
from similitude.validity import Validity

if TYPE_CHECKING:
    from similitude.goodness import Goodness
    from similitude.report.findings import Findings
    from similitude.report.model import ModelFindings

KINDS = {
    "vectors": "vectors of numbers",
    "strings": "strings of letters",
    "graphs": "graphs: nodes joined by edges",
    "series": "series of numbers over time",
    "sets": "sets",
    "table": "rows of a table",
    "indices": "rows of a matrix of similarities",
}

GRADES = {
    "PROVEN": "a theorem says so; what it assumes is named, and no data can show that it holds",
    "HELD-OUT": "measured on examples that played no part in anything before, with an exact interval",
    "ESTIMATE": "a figure of the sample at hand, with an interval by resampling or none",
    "NONE": "no theorem covers this case, or it asks for more than there is",
}

NO_BREAK = "\xa0"
"""A space at which no line ends."""

CHANCE = 0.05
"""Above this p-value, chance explains what was seen."""


@dataclass(frozen=True)
class Answer:
    """One line of the summary.

    Attributes
    ----------
    question : str
    short : str
        The answer in a word or a number.
    tone : str
        good, bad or open: which color it gets.
    sentence : str
    section : str
        Where the page says more.
    """

    question: str
    short: str
    tone: str
    sentence: str
    section: str


def percent(share: float) -> str:
    r"""Return a share in per cent, with a decimal where it is small.

    >>> [percent(share).replace("\xa0", " ") for share in (0.25, 0.034, 0.95, 0.999, 0.0)]
    ['25 %', '3.4 %', '95 %', '99.9 %', '0 %']
    """
    hundred = 100 * share
    fine = 0.05 <= hundred < 9.95 or 90.05 < hundred < 99.95
    return (f"{hundred:.1f}".removesuffix(".0") if fine else f"{hundred:.0f}") + NO_BREAK + "%"


def named(label: Any) -> str:
    """Return a label as it stands in a sentence, in quotation marks where it has no letters or digits.

    >>> named("spam"), named("+")
    ('spam', '“+”')
    """
    text = f"{label:.4g}" if isinstance(label, float) else str(label)
    return text if any(letter.isalnum() for letter in text) else f"“{text}”"


def counted(number: int, what: str) -> str:
    """Return how many of something there are.

    >>> counted(1, "landmark"), counted(1200, "landmark")
    ('1 landmark', '1,200 landmarks')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def figure(value: float, measure: str) -> str:
    """Return an error as it is read: in per cent where it is a share."""
    return percent(value) if measure == "share of errors" else f"{value:.3g}"


def summary(found: Findings) -> list[Answer]:
    """Return the answers that the page begins with."""
    return [_kernel_answer(found.validity), _good_answer(found), _model_answer(found.model), _look_answer(found)]


def is_kernel(validity: Validity) -> str:
    """Say whether the similarity is a kernel."""
    witness = validity.witness
    if validity.verdict == "VALID":
        whole = "it is proven for all objects, not only for those seen here"
        seen = "all of its objects were checked"
        return f"Yes, this similarity is a kernel: {whole if validity.min_eigenvalue is None else seen}."
    if validity.verdict == "INVALID" and witness is not None:
        few = len(witness.objects)
        shown = "the object below shows it" if few == 1 else f"the {few} objects below show it"
        shown = shown if witness.coefficients else "it is not even symmetric, as the two objects below show"
        return f"No, this similarity is not a kernel: {shown}. The model does not need one and was fitted all the same."
    return "Nobody knows yet: there is no proof that this similarity is a kernel, and no counterexample was found."


def _kernel_answer(validity: Validity) -> Answer:
    short, tone = {"VALID": ("Yes", "good"), "INVALID": ("No", "bad")}.get(validity.verdict, ("Unknown", "open"))
    return Answer("Is it a kernel?", short, tone, is_kernel(validity), "kernel")


def is_good(found: Findings) -> str:
    """Say whether the similarity has to do with the labels."""
    goodness = found.goodness
    if goodness is None:
        return f"That cannot be said here: {found.no_goodness}. The error of the model tells instead."
    if goodness.p_value.value > CHANCE:
        return (
            f"No sign of it: shuffled labels fit the similarity as well as the true ones in "
            f"{percent(goodness.p_value.value)} of all tries, so chance explains what is seen."
        )
    ahead = float((goodness.strong.gaps > 0).mean())
    verdict = "Yes" if ahead >= 0.9 else "Partly" if ahead > _by_chance(goodness) else "Hardly"
    return (
        f"{verdict}: {percent(ahead)} of the examples are more similar to their own class than to any other, on "
        f"average, and that is not chance (p{NO_BREAK}={NO_BREAK}{goodness.p_value.value:.2g})."
    )


def _by_chance(goodness: Goodness) -> float:
    """Return the share of examples that would be ahead if each class were ahead equally often."""
    return 1 / len(goodness.classes_)


def _good_answer(found: Findings) -> Answer:
    sentence = is_good(found)
    first = sentence.split(":")[0]
    short, tone = {
        "Yes": ("Yes", "good"),
        "Partly": ("Partly", "open"),
        "Hardly": ("Hardly", "bad"),
        "No sign of it": ("No", "bad"),
    }.get(first, ("Not asked", "open"))
    return Answer("Is it good for these labels?", short, tone, sentence, "good")


def how_good(model: ModelFindings) -> str:
    """Say how good the model is."""
    held, measure = model.held_out, model.measure
    interval = f"{figure(held.low, measure)} to {figure(held.high, measure)}"
    what = "is wrong about" if measure == "share of errors" else "is off by"
    whom = "of the examples it has not seen" if measure == "share of errors" else "on examples it has not seen"
    value = figure(held.value, measure) + ("" if measure == "share of errors" else " (root mean squared error)")
    compared = figure(model.baseline, measure)
    always = "always giving the most frequent answer" if measure == "share of errors" else "always giving the mean"
    return (
        f"The model {what} {value} {whom} ({percent(held.level)} interval {interval}); {always} would be "
        f"{'wrong about' if measure == 'share of errors' else 'off by'} {compared}."
    )


def _model_answer(model: ModelFindings) -> Answer:
    held = model.held_out
    tone = "good" if held.high < model.baseline else "open" if held.value < model.baseline else "bad"
    name = "wrong" if model.measure == "share of errors" else "off"
    return Answer(
        "How good is the model?", f"{figure(held.value, model.measure)} {name}", tone, how_good(model), "model"
    )


def _look_answer(found: Findings) -> Answer:
    return Answer("What to look at?", "Examples", "open", what_to_look_at(found), "examples")


def what_to_look_at(found: Findings) -> str:
    """Name what deserves a look."""
    wrong = sum(one.wrong for one in found.examples)
    if found.model.residuals is not None:
        return "The examples with the largest errors are listed first below: look for what they have in common."
    if not wrong:
        return "None of the examples shown was taken for another class: the close calls among them are worth a look."
    worst = found.model.worst
    if wrong == 1:
        one = next(one for one in found.examples if one.wrong)
        pair = f"{named(one.label)} taken for {named(one.predicted)}"
        return f"One mistake is shown below, {pair}: open it to see what misled the model."
    pair = f", most often {named(worst[0].label)} taken for {named(worst[0].predicted)}" if worst else ""
    return f"{wrong} mistakes are shown below{pair}: open them to see which landmarks misled the model."


def what_data(found: Findings) -> str:
    """Say what the data is."""
    about = found.about
    kind = f", {KINDS[about.kind]}," if about.kind in KINDS else ""
    if isinstance(about.labels, ClassCounts):
        return f"There are {about.n:,} examples{kind} in {len(about.labels.classes)} classes."
    return f"There are {about.n:,} examples{kind or ','} each with a number to predict: {about.labels}."


def enough_landmarks(found: Findings) -> str:
    """Say how many landmarks the model took, and why not more."""
    growth = found.growth
    error = growth.error
    last, before = float(error.y[-1]), float(error.y[-2]) if len(error.y) > 1 else np.nan
    text = f"The model took {counted(growth.chosen, 'landmark')}; it took no more because {growth.reason}."
    if np.isfinite(before):
        half, now = figure(before, growth.measure), figure(last, growth.measure)
        compared = f"is {half}, too" if half == now else f"is {half} instead of {now}"
        text += f" With half as many the {growth.measure} {compared}."
    return text


def matrix_answer(found: Findings) -> str:
    """Say whether blocks are seen in the matrix."""
    if found.goodness is None:
        return (
            "Rows and columns are sorted by the number to predict: where alike objects have alike numbers, the "
            "diagonal is surrounded by bright points."
        )
    weak = found.goodness.weak
    inside = float(np.nanmean(weak.means.diagonal()))
    apart = ~np.eye(len(weak.means), dtype=bool)
    outside = float(np.nanmean(weak.means[apart]))
    more = "more similar than" if weak.balanced.low > 0 else "hardly more similar than"
    return (
        f"Pairs of one class are {more} pairs of different classes: {inside:.3g} against {outside:.3g}, every class "
        f"counting alike."
    )

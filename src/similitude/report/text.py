"""Findings as a page or two of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from similitude.report import words
from similitude.report.about import CLASSIFICATION
from similitude.report.examples import MISTAKE, ExampleFinding
from similitude.report.findings import Findings
from similitude.support.errors import brief
from similitude.validity import Validity

WIDTH = 100

FEW = 3
"""Objects at most that are named in one place."""

SHORT = 70
"""Letters at most of an object."""


def as_text(findings: Findings) -> str:
    """Return the findings as text for a terminal, in the order of the page.

    Parameters
    ----------
    findings : Findings
    """
    sections = {
        "What the data is": _data(findings),
        "Is the similarity a kernel?": _kernel(findings),
        "Is it good for these labels?": _good(findings),
        "How many landmarks are enough?": _growth(findings),
        "How good is the model?": _model(findings),
        "Which landmarks matter?": _landmarks(findings),
        "Which examples are hard?": _examples(findings),
        "What is guaranteed?": iter(str(findings.model.guarantee).splitlines()),
    }
    title = " ".join(findings.about.title.split())
    lines = [title, "=" * min(len(title), WIDTH)]
    for question, answers in sections.items():
        lines += ["", question, *(_folded(answer) for answer in answers)]
    lines += ["", "How to reproduce this", *(f"  {line}" for line in str(findings.reproduce).splitlines())]
    return "\n".join(lines)


def _folded(text: str) -> str:
    """Fold a long line; the rest stands further in than its beginning."""
    indent = " " * (2 + len(text) - len(text.lstrip()))
    return textwrap.fill(
        text.strip().replace(" %", "\N{NO-BREAK SPACE}%"),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
        break_long_words=False,
    ).replace("\N{NO-BREAK SPACE}", " ")


def short(value: Any) -> str:
    """Write an object in a few letters.

    >>> short(np.array([0.123456, 2.0])), short(0.123456), short("kernel")
    ('(0.123, 2)', '0.1235', "'kernel'")
    """
    if isinstance(value, Real) and not isinstance(value, bool):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f":
        return f"({', '.join(f'{one:.3g}' for one in value[:6])}{', …' if len(value) > 6 else ''})"
    text = brief(value)
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"


def _label(label: Any) -> str:
    return label if isinstance(label, str) else short(label)


def _data(findings: Findings) -> Iterator[str]:
    about = findings.about
    yield words.what_data(findings)
    if about.task == CLASSIFICATION:
        yield f"Labels: {about.labels}."
    yield f"Similarity: {about.similarity}."
    yield from (f"Note: {sentence}." for sentence in about.said)


def _kernel(findings: Findings) -> Iterator[str]:
    yield words.is_kernel(findings.validity)
    yield from (f"  {line}" for line in _why(findings.validity))
    yield f"Seen: {findings.spectrum}."


def _why(validity: Validity) -> Iterator[str]:
    """Yield the proof, a counterexample of which a few objects are named, or what was tried."""
    witness = validity.witness
    if witness is None:
        yield from validity.why().splitlines()
        return
    yield f"{witness.in_short()}:" if len(witness.objects) > FEW else str(witness).splitlines()[0]
    places = [f"X[{i}]" for i in witness.indices] or ["found by search"] * len(witness.objects)
    yield from (f"  {place} = {short(one)}" for place, one in zip(places[:FEW], witness.objects, strict=False))
    if len(witness.objects) > FEW:
        yield f"  and {len(witness.objects) - FEW} more"


def _good(findings: Findings) -> Iterator[str]:
    yield words.is_good(findings)
    goodness = findings.goodness
    if goodness is None:
        return
    curve = goodness.strong
    points = [f"{words.percent(1 - x)} by {y:.3g}" for x, y in zip(curve.x, curve.y, strict=True)]
    shown = f"{', '.join(points[1::2])} ({curve.grade})"
    yield f"Closer to the own class than to any other, on average and at least: {shown}."
    yield f"Centered alignment with the labels: {goodness.centered_alignment}."
    if goodness.weighted is not None:
        yield f"A vote of weighted landmarks errs on held-out examples: {goodness.weighted.error}."
    yield f"Largest margin as a kernel: {goodness.margin}."


def _growth(findings: Findings) -> Iterator[str]:
    growth = findings.growth
    yield words.enough_landmarks(findings)
    points = zip(growth.landmarks.tolist(), growth.error.y.tolist(), strict=True)
    shown = ", ".join(f"{n:,}: {words.figure(y, growth.measure)}" for n, y in points)
    yield f"Held-out {growth.measure} by the number of landmarks: {shown}."
    sizes = ", ".join(f"{size.size:,} {size.name} ({size.grade})" for size in growth.theorem_sizes)
    if sizes:
        yield f"What theory would ask for, if gaps and margins are as estimated: {sizes}."


def _model(findings: Findings) -> Iterator[str]:
    model = findings.model
    yield words.how_good(model)
    if model.explained is not None:
        yield f"R², the part of the variance that is explained: {model.explained}."
    if model.residuals is not None:
        yield f"Residuals, {model.residuals}."
    yield from (f"  {pair}" for pair in model.worst[:FEW])
    if model.calibration is not None:
        curve = model.calibration
        off = np.average(np.abs(curve.x - curve.y), weights=curve.counts)
        bins = words.counted(len(curve.x), "bin")
        yield f"Probabilities are {100 * off:.0f} points of a hundred off on average, in {bins}."
    yield f"{model.n_landmarks:,} landmarks, {model.loss} loss; {model.representation}."


def _landmarks(findings: Findings) -> Iterator[str]:
    if not findings.landmarks:
        yield "None has a weight: the model gives the same answer to all."
        return
    yield f"Importance is {findings.importance}."
    for one in findings.landmarks[:FEW]:
        label = f"X[{one.index}], {_label(one.label)}"
        yield f"  {one.rank}. {short(one.object)} ({label}): {one.importance:.3g}, for {one.direction}"


def _examples(findings: Findings) -> Iterator[str]:
    mistakes = [one for one in findings.examples if MISTAKE in one.why]
    head = "The largest errors:" if findings.model.residuals is not None else "No held-out mistake; the hardest:"
    yield "The clearest mistakes:" if mistakes else head
    yield from (_example(findings, one) for one in (mistakes or findings.examples)[:FEW])


def _example(findings: Findings, one: ExampleFinding) -> str:
    seen = "" if one.held_out else ", learned from"
    near = ""
    if one.nearest:
        landmark = findings.landmarks[one.nearest[0].landmark]
        near = f"; most like {short(landmark.object)} ({_label(landmark.label)})"
    answer = f"{_label(one.label)}, predicted {_label(one.predicted)}"
    return f"  {short(one.object)} (X[{one.index}]{seen}): {answer}{near}"

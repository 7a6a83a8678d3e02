"""Findings as a page or two of plain text."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from numbers import Real
from typing import Any

import numpy as np

from similitude.report.findings import MISTAKE, ExampleFinding, Findings, Scores
from similitude.report.render import sentences
from similitude.support import brief, cut_to, first_of, four_digits, number_of, printable, short_numbers
from similitude.validity import Validity

LINE_WIDTH = 100

LISTED_OBJECTS = 3
"""Largest number of objects that are listed in one place."""


def as_text(found: Findings) -> str:
    """Return the findings as plain text, in the order of the page."""
    sections = {
        "summary": _summary(found),
        "data": _data(found),
        "learned": _learned(found),
        "model": _model(found),
        "examples": _examples(found),
        "landmarks": _landmarks(found),
        "good": _good(found),
        "kernel": _kernel(found),
        "landmarks-enough": _landmark_curve(found),
        "guaranteed": iter(str(found.model.guarantee).splitlines()),
    }
    title = " ".join(found.about.title.split())
    lines = [title, "=" * min(len(title), LINE_WIDTH)]
    for section, answers in sections.items():
        if section in sentences.sections(found):
            lines += ["", sentences.SECTIONS[section], *map(_wrapped, answers)]
    again = str(found.reproduce).splitlines()
    return printable("\n".join([*lines, "", sentences.SECTIONS["reproduce"], *(f"  {line}" for line in again)]))


def _wrapped(text: str) -> str:
    """Wrap a long line; continuation lines are indented further."""
    indent = " " * (2 + len(text) - len(text.lstrip()))
    return textwrap.fill(
        text.strip().replace(" %", "\N{NO-BREAK SPACE}%"),
        LINE_WIDTH,
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_on_hyphens=False,
        break_long_words=False,
    ).replace("\N{NO-BREAK SPACE}", " ")


def short(value: Any) -> str:
    """Return an object in a few characters."""
    if isinstance(value, Real):
        return four_digits(value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f":
        return f"({first_of([f'{one:.3g}' for one in value], 6)})"
    return cut_to(70, brief(value))


def _summary(found: Findings) -> Iterator[str]:
    yield sentences.verdict(found)
    for one in found.model.scores:
        yield f"  {one.name}: {_scores(one)} ({sentences.ahead(found.model, one)})".removesuffix(" ()")
    yield sentences.where_scores_come_from(found.model)
    for other in found.alternatives:
        yield f"  Instead by {other.name}: {_scores(other.scores)} ({sentences.ahead(found.model, other.scores)})"


def _scores(one: Scores) -> str:
    return ", ".join(f"{name} {sentences.score_text(name, value.value)}" for name, value in one.values.items())


def _data(found: Findings) -> Iterator[str]:
    yield sentences.what_data(found)
    if found.about.kind == "table":
        kinds = Counter(one.kind for one in found.columns)
        counts = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        missing = [f"{one.name} {sentences.percent(one.missing)}" for one in found.columns if one.missing]
        if any(one.importance for one in found.columns):
            first = sorted(found.columns, key=lambda one: -one.weight)[:5]
            yield f"Most important columns: {', '.join(one.name for one in first if one.weight > 0)}."
        yield f"Columns by kind: {counts}." + f" Missing cells: {', '.join(missing[:8])}." * bool(missing)
    yield f"Similarity: {short_numbers(found.about.similarity)}."
    yield from (f"Note: {sentence}." for sentence in found.about.notes)


def _learned(found: Findings) -> Iterator[str]:
    learned: Any = found.learned
    yield sentences.what_was_learned(learned)
    yield from (f"  {step}" for step in learned.steps)
    one = learned.importance
    listed = [f"{one.names[i]} {one.values[i]:.0%} [{one.low[i]:.0%}, {one.high[i]:.0%}]" for i in one.order()[:5]]
    yield f"Importance of columns: {', '.join(listed)}."
    yield from (f"  Direction {direction}" for direction in learned.directions)


def _kernel(found: Findings) -> Iterator[str]:
    yield sentences.is_kernel(found.validity)
    yield from (f"  {line}" for line in _why(found.validity))
    yield f"Sample: {found.spectrum}."


def _why(validity: Validity) -> Iterator[str]:
    """Yield the proof, a counterexample with a few of its objects, or what was tried."""
    witness = validity.witness
    if witness is None:
        yield from validity.why().splitlines()
        return
    yield f"{witness.in_short()}:" if len(witness.objects) > LISTED_OBJECTS else witness.claim()
    yield from witness.lines(short)[:LISTED_OBJECTS]
    if len(witness.objects) > LISTED_OBJECTS:
        yield f"  and {len(witness.objects) - LISTED_OBJECTS} more"
    if validity.remark:
        yield validity.remark


def _good(found: Findings) -> Iterator[str]:
    yield sentences.is_good(found)
    goodness = found.goodness
    if goodness is None:
        return
    curve = goodness.strong
    points = [f"{sentences.percent(1 - x)} by {y:.3g}" for x, y in zip(curve.x, curve.y, strict=True)]
    listed = f"{', '.join(points[1::2])} ({curve.grade})"
    yield f"Examples that are closer to their own class than to any other, and by how much: {listed}."
    yield f"Centered alignment with the labels: {goodness.centered_alignment}."
    if goodness.weighted is not None:
        yield f"Held-out error of a vote of weighted landmarks: {goodness.weighted.error}."
    yield f"Largest margin as a kernel: {goodness.margin}."


def _landmark_curve(found: Findings) -> Iterator[str]:
    curve = found.landmark_curve
    yield sentences.enough_landmarks(found)
    points = zip(curve.landmarks.tolist(), curve.error.y.tolist(), strict=True)
    listed = ", ".join(f"{n:,}: {sentences.score_text(curve.measure, y)}" for n, y in points)
    yield f"Held-out {curve.measure} by the number of landmarks: {listed}."
    sizes = ", ".join(f"{size.size:,} {size.name} ({size.grade})" for size in curve.theorem_sizes)
    if sizes:
        yield f"Theory asks for, if gaps and margins are as estimated: {sizes}."


def _model(found: Findings) -> Iterator[str]:
    model = found.model
    yield sentences.how_good(model)
    if model.explained is not None:
        yield f"R², the share of the variance that is explained: {model.explained}."
    if model.residuals is not None:
        yield f"Residuals, {model.residuals}."
    if model.by_class:
        recalls = [f"{sentences.label_text(one.label)} {sentences.percent(one.recall.value)}" for one in model.by_class]
        yield f"Recall: {first_of(recalls, 12)}."
    yield from (f"  {pair}" for pair in model.worst[:LISTED_OBJECTS])
    if model.calibration is not None:
        curve = model.calibration
        off = np.average(np.abs(curve.x - curve.y), weights=curve.counts)
        bins = number_of(len(curve.x), "bin")
        yield f"Probabilities are off by {100 * off:.0f} percentage points on average, in {bins}."
    yield f"{number_of(model.n_landmarks, 'landmark')}, {model.loss} loss; {model.representation}."


def _landmarks(found: Findings) -> Iterator[str]:
    if not found.landmarks:
        yield "No landmark has a weight: the model predicts the same for all objects."
        return
    yield f"Importance is {found.importance}."
    for one in found.landmarks[:LISTED_OBJECTS]:
        label = f"X[{one.index}], {four_digits(one.label)}"
        yield f"  {one.rank}. {short(one.object)} ({label}): {one.importance:.3g}, for {one.direction}"


def _examples(found: Findings) -> Iterator[str]:
    shown = [one for one in found.examples if MISTAKE in one.why]
    head = "The clearest mistakes:"
    if not shown:
        shown = list(found.examples)
        head = "No held-out mistake; the hardest:"
        if found.model.residuals is not None:
            head = "The largest errors:"
    yield head
    yield from map(_example, shown[:LISTED_OBJECTS])


def _example(one: ExampleFinding) -> str:
    seen = ", fitted to" * (not one.held_out)
    deciding = [part for part in one.decision.deciding if part.index != one.index][:1]
    most = "".join(f"; decided most by {short(part.object)} ({four_digits(part.label)})" for part in deciding)
    answer = f"{four_digits(one.label)}, predicted {four_digits(one.predicted)}"
    return f"  {short(one.object)} (X[{one.index}]{seen}): {answer}{most}"

"""What decided a prediction as a waterfall: bars from the base of the score to the score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from similitude.report.findings import Decision
from similitude.report.render.sentences import counted, label_text

WHOLE = ("base", "total")
"""Kinds of bars that do not begin where the one before ends."""

LEFT_OF_ALL = 0.1
"""How far left of all ends the bars of base and score begin if zero is not shown, as a part of the width."""


@dataclass(frozen=True)
class WaterfallBar:
    """A bar of a waterfall: its name, its ends in per cent of the width, its text, and its kind.

    Kinds are ``base``, ``for``, ``against`` and ``total``.
    """

    name: str
    left: float
    width: float
    text: str
    kind: str


def steps(why: Decision) -> list[WaterfallBar]:
    """Return the bars: the base, the deciding examples, the others together, and the score.

    Numbers may be far from zero, which is then not shown: the bars of base and score begin at the left.
    """
    bars = list(_bars(why))
    ends = [end for _, start, stop, _, kind in bars for end in ((stop,) if kind in WHOLE else (start, stop))]
    origin = 0.0
    if isinstance(why.prediction, float) and min(map(abs, ends)) > max(ends) - min(ends):
        origin = min(ends) - LEFT_OF_ALL * (max(ends) - min(ends))
    low, high = min([*ends, origin]), max([*ends, origin])
    span = (high - low) or 1.0
    drawn = [(name, origin if kind in WHOLE else start, stop, text, kind) for name, start, stop, text, kind in bars]
    return [
        WaterfallBar(name, 100 * (min(start, stop) - low) / span, 100 * abs(stop - start) / span, text, kind)
        for name, start, stop, text, kind in drawn
    ]


def _bars(why: Decision) -> Iterator[tuple[str, float, float, str, str]]:
    """Yield names, values at both ends, texts and kinds."""
    of_numbers = isinstance(why.prediction, float)
    base = f"base: the mean of all training {'numbers' if of_numbers else 'labels'}"
    yield base, 0.0, why.base, _size(why.base), "base"
    at = why.base
    for one in why.deciding:
        who = "" if one.index is None else f", example {one.index}"
        rows = f" and {counted(one.count - 1, 'other row')}" if one.count > 1 else ""
        mean = "mean " if of_numbers and one.count > 1 else ""
        yield (
            f"{mean}{label_text(one.label)}{who}{rows}",
            at,
            at + one.influence,
            _size(one.influence, "+"),
            _kind(one.influence),
        )
        at += one.influence
    if why.n_others:
        yield counted(why.n_others, "other row"), at, at + why.others, _size(why.others, "+"), _kind(why.others)
    yield "predicted number" if of_numbers else "score", 0.0, why.score, _size(why.score), "total"


def _size(value: float, sign: str = "") -> str:
    """Return a number with three digits, or with those before the point."""
    return f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"


def _kind(influence: float) -> str:
    return "for" if influence >= 0 else "against"

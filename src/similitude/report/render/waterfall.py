"""What decided a prediction as a waterfall: bars from the base of the score to the score."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from similitude.report.findings import Decision
from similitude.report.render.sentences import counted, label_text


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
    """Return the bars: the base, the deciding examples, the others together, and the score."""
    bars = list(_bars(why))
    ends = [0.0, *(end for _, start, stop, _, _ in bars for end in (start, stop))]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0
    return [
        WaterfallBar(name, 100 * (min(start, stop) - low) / span, 100 * abs(stop - start) / span, text, kind)
        for name, start, stop, text, kind in bars
    ]


def _bars(why: Decision) -> Iterator[tuple[str, float, float, str, str]]:
    """Yield names, values at both ends, texts and kinds."""
    yield "base: the mean of all training labels", 0.0, why.base, f"{why.base:.3g}", "base"
    at = why.base
    for one in why.deciding:
        who = "" if one.index is None else f", example {one.index}"
        rows = f" and {counted(one.count - 1, 'row')} like it" if one.count > 1 else ""
        yield (
            f"{label_text(one.label)}{who}{rows}",
            at,
            at + one.influence,
            f"{one.influence:+.3g}",
            _kind(one.influence),
        )
        at += one.influence
    if why.n_others:
        yield counted(why.n_others, "other row"), at, at + why.others, f"{why.others:+.3g}", _kind(why.others)
    yield "score", 0.0, why.score, f"{why.score:.3g}", "total"


def _kind(influence: float) -> str:
    return "for" if influence >= 0 else "against"

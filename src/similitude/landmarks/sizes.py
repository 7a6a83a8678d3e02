"""How many landmarks: what is asked for, what the theorem asks for, and what is then promised."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.support.results import NONE, PROVEN, Guarantee
from similitude.theory import bounds

DEFAULT = 100
"""Landmarks where nothing is said."""

PAPER = 'Balcan, Blum and Vempala, "On Kernels, Margins, and Low-dimensional Mappings"'


@dataclass(frozen=True)
class Ask:
    """What is wanted of a map: error `epsilon` at `margin` with probability 1 - `delta`."""

    epsilon: float | None
    margin: float | None
    delta: float | None

    @classmethod
    def of(cls, epsilon: float | None, margin: float | None, delta: float | None) -> Ask:
        """Return what is asked; refuse half a question."""
        if (epsilon is None) != (margin is None):
            raise ValueError(f"epsilon and margin go together, got epsilon={epsilon!r} and margin={margin!r}")
        ask = cls(epsilon, margin, delta)
        if ask.complete or delta is not None:
            bounds.landmarks(*ask.numbers())
        return ask

    @property
    def complete(self) -> bool:
        """Whether a margin was named."""
        return self.margin is not None

    def numbers(self) -> tuple[float, float, float]:
        """Return epsilon, the margin and delta; where nothing is said, an error of 0.1 with probability 0.95."""
        return (
            0.1 if self.epsilon is None else self.epsilon,
            1.0 if self.margin is None else self.margin,
            0.05 if self.delta is None else self.delta,
        )


def positive_whole(name: str, value: Any) -> int:
    """Return a number of things; refuse what is none."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name} must be a whole number >= 1 or None, got {value!r}")
    return int(value)


def at_most(name: str, wanted: int, available: int, of: str) -> int:
    """Return what can be had, and say so where it is less than what was wanted."""
    if wanted > available:
        warnings.warn(f"{name} = {wanted:,} exceeds {of}: {available:,} used", UserWarning, stacklevel=4)
    return min(wanted, available)


def smallest_margin(n: int, epsilon: float, delta: float) -> float | None:
    """Return the smallest margin for which n landmarks meet the theorem's size; None where no margin does."""
    room = n * epsilon / 8 - math.log(1 / delta)
    return min(1.0, 1 / math.sqrt(room) + 1e-12) if room >= 1 else None


@dataclass(frozen=True)
class Promise:
    """What a theorem promises to a map whose landmarks were drawn from the distribution itself.

    Attributes
    ----------
    theorem, outcome : str
        Its name, and what then holds, with ``{half}`` and ``{quarter}`` for parts of the margin.
    share : float
        The part of epsilon and of delta that the landmarks may spend.
    """

    theorem: str
    outcome: str
    share: float = 1.0

    def landmarks(self, ask: Ask) -> int:
        """Return how many draws the theorem asks for."""
        epsilon, margin, delta = ask.numbers()
        return bounds.landmarks(self.share * epsilon, margin, self.share * delta)

    def made(self, ask: Ask, drawn: int, why_not: str | None) -> Guarantee:
        """Return the guarantee for a number of independent draws; `why_not` says what else stands against it.

        Where no margin was named, it is the smallest for which the draws suffice.
        """
        epsilon, _, delta = ask.numbers()
        margin = ask.margin if ask.complete else smallest_margin(drawn, self.share * epsilon, self.share * delta)
        numbers = {"landmarks_drawn": float(drawn), "epsilon": epsilon, "delta": delta}
        if margin is None:
            return self._nothing(f"{drawn} landmarks are too few for any margin", numbers)
        needed = self.landmarks(replace(ask, margin=margin))
        numbers |= {
            "margin": margin,
            "landmarks_theorem": float(needed),
            "landmarks_practical": float(bounds.practical_landmarks(epsilon, margin)),
        }
        if drawn < needed or why_not is not None:
            return self._nothing(why_not or f"{drawn:,} landmarks were drawn, the theorem asks for {needed:,}", numbers)
        holds = self.outcome.format(epsilon=epsilon, half=margin / 2, quarter=margin / 4)
        assumption = (
            f"some separator has margin {margin:.4g} on the whole distribution, "
            f"from which the landmarks were drawn independently"
        )
        return Guarantee(f"with probability {1 - delta:g}, {holds}", self.theorem, assumption, numbers, PROVEN)

    def _nothing(self, why: str, numbers: dict[str, float]) -> Guarantee:
        return Guarantee(f"nothing is promised: {why}", self.theorem, "", numbers, NONE)


SEPARABLE = Promise(
    f"Lemma 1 of {PAPER}",
    "some linear separator of the features has error at most {epsilon:g} (its margin may be small)",
)
WIDE = Promise(
    f"Theorem 1 of {PAPER}",
    "some linear separator of the features has error at most {epsilon:g} at margin {half:.4g}",
)
COMPACT = Promise(
    f"Theorem 3 of {PAPER}",
    "some linear separator of the features has error at most {epsilon:g} at margin {quarter:.4g}",
    share=0.5,
)

"""Mistake bounds of perceptrons on examples whose margin is known, at least from below."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from similitude.compute import itemsize
from similitude.compute.loops import add_rows, perceptron_pass
from similitude.learners.perceptron.training import EncodedExamples, Rule
from similitude.scikit import CHECKED_OBJECTS
from similitude.support import ESTIMATE, NONE, Result
from similitude.theory import perceptron_mistakes

OWN = "the margin of this perceptron"


@dataclass(frozen=True)
class MistakeBound(Result):
    """An upper bound on the mistakes of a perceptron on some examples, in any order and any number of passes.

    Attributes
    ----------
    value : int or None
        The bound; None if no margin is known.
    radius : float or None
        The length R of the longest example in feature space (times sqrt 2 for several classes).
    margin : float or None
        A margin attained by some separator of the examples, less rounding. The largest margin may be larger, and its
        bound smaller.
    reason : str
        The origin of the margin, or why there is no bound.
    grade : str
        ESTIMATE, since further examples may have a smaller margin than this sample; NONE without a bound.
    """

    value: int | None
    radius: float | None
    margin: float | None
    reason: str
    grade: str

    def __str__(self) -> str:
        if self.value is None:
            return f"no bound: {self.reason}"
        return f"at most {self.value:,} ({self.grade}: R = {self.radius:.4g}, margin {self.margin:.4g}; {self.reason})"


def no_bound(reason: str) -> MistakeBound:
    """Return a MistakeBound without a value."""
    return MistakeBound(None, None, None, reason, NONE)


def mistake_bound(
    examples: EncodedExamples,
    problems: list[np.ndarray],
    rule: Rule,
    attained: list[float | None],
    most: Callable[[float, float], int] = perceptron_mistakes,
) -> MistakeBound:
    """Return the sum of `most` by radius and margin, the largest one known of each problem, such as one `attained`."""
    radius = math.sqrt(float(np.max(examples.diagonal())) * (1 + bool(rule.outputs)))
    error = 1e-4 if itemsize(examples.encoding) == 4 else 1e-9
    margins = []
    for y, own in zip(problems, attained, strict=True):
        margin: float | None = own
        reason = OWN
        if own is None or most is perceptron_mistakes:  # that of a margin perceptron is a third of the largest anyway
            margin, reason = known_margin(examples, y, rule, own)
        if margin is None:
            return no_bound(reason)
        if margin <= 1e-12 * radius:
            return no_bound("the margin that was found is within rounding of zero")
        margins.append(min(margin * (1 - error), radius))
    return MistakeBound(sum(most(radius, one) for one in margins), radius, min(margins), reason, ESTIMATE)


def known_margin(
    examples: EncodedExamples, y: np.ndarray, rule: Rule, attained: float | None
) -> tuple[float | None, str]:
    """Return the larger of the attained margin and that of a separator sought here, and its origin."""
    pairs = len(examples) * max(1, sum(rule.outputs) - 1)
    limit = 1000 if examples.kernel.hints.threadsafe else CHECKED_OBJECTS
    reason = f"the last epoch was not clean, and with more than {limit:,} examples no separator is sought"
    if pairs > limit or 32 * pairs**2 > examples.engine.budget:  # room for two matrices of float64, and for tiles
        return attained, reason if attained is None else OWN
    G = np.asarray(examples.compute_gram(), np.float64)
    if rule.outputs:
        G, y = _pairs_of_classes(G, y, rule.outputs[0])
    sought = _attained_by_margin_perceptron(G, y)
    if sought is not None and sought > (attained or 0.0):
        return sought, "the margin of a separator that a margin perceptron found"
    if attained is None:
        return None, "no separator was found in many passes over the examples: there may be none"
    return attained, OWN


def _pairs_of_classes(G: np.ndarray, y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return several classes as one binary problem with positive examples only, by Kesler's construction."""
    example, other = np.nonzero(np.arange(k) != y[:, None])
    blocks = np.eye(k)[y[example]] - np.eye(k)[other]
    return G[np.ix_(example, example)] * (blocks @ blocks.T), np.ones(len(example))


def _attained_by_margin_perceptron(G: np.ndarray, y: np.ndarray) -> float | None:
    """Return the margin of a separator by a margin perceptron, a third of the largest or more (Balcan and Blum)."""
    threshold = float(G.diagonal().max())
    weights = np.zeros(len(y))
    scores = np.zeros(len(y))
    if not threshold > 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(2000):
            learned = np.flatnonzero(perceptron_pass(G, y, scores.copy(), threshold, True))
            if not len(learned):
                margin = float((y * scores).min() / np.sqrt(weights @ scores))
                return margin if math.isfinite(margin) else None
            weights[learned] += y[learned]
            if np.abs(weights).sum() > 100 * len(y):
                return None  # there may be no separator
            add_rows(G, learned, y[learned], scores)
    return None

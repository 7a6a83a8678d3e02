"""How many mistakes a perceptron can make on examples whose margin is known, at least from below."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from similitude.compute.encodings import itemsize
from similitude.compute.loops import add_rows, perceptron_pass
from similitude.learners.perceptron_rules import Rule, Threshold
from similitude.learners.perceptron_walk import Examples
from similitude.scikit.estimator import CHECKED_OBJECTS
from similitude.support.results import ESTIMATE, NONE, Result
from similitude.theory.bounds import margin_perceptron_updates, perceptron_mistakes

SOUGHT = 1000
"""Examples at most among which a separator is sought for the sake of a bound alone."""

PASSES, UPDATES = 2000, 100
"""Passes over the examples, and updates per example, after which that search is given up."""

NO_MARGIN = 1e-12
"""A margin that is this small beside the longest example may be an error of rounding."""

OWN, TOO_SMALL = "the margin of this perceptron", "the margin that was found is within rounding of zero"

_ROUNDING = {8: 1e-9, 4: 1e-4}
"""Relative error that a computed margin may have, by the bytes of a kernel value."""


@dataclass(frozen=True)
class MistakeBound(Result):
    """How often a perceptron can be wrong at most on some examples, in any order and however often it sees them.

    Attributes
    ----------
    value : int or None
        The bound; None where no margin is known.
    radius : float or None
        The length R of the longest example in feature space (of several classes: times sqrt 2).
    margin : float or None
        A margin that some separator was seen to have on the examples, less rounding. The largest one may be larger, and
        the bound that follows from it smaller.
    reason : str
        Where the margin comes from, or why there is no bound.
    grade : str
        ESTIMATE, for the margin is that of a sample: further examples may have a smaller one. NONE without a bound.
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
    """Return that there is none, and why."""
    return MistakeBound(None, None, None, reason, NONE)


def mistake_bound(examples: Examples, y: np.ndarray, rule: Rule, attained: float | None) -> MistakeBound:
    """Return the bound (R / gamma)^2 of the perceptron, gamma the largest margin that is known to be attained.

    Parameters
    ----------
    examples, y, rule
        As the perceptron saw them.
    attained : float or None
        The margin of its own hypothesis on all of them.
    """
    margin, reason = known_margin(examples, y, rule, attained)
    if margin is None:
        return no_bound(reason)
    radius = math.sqrt(float(np.max(examples.diagonal())) * (2 if rule.outputs else 1))
    if margin <= NO_MARGIN * radius:
        return no_bound(TOO_SMALL)
    margin = min(margin * (1 - _ROUNDING[itemsize(examples.encoding)]), radius)
    return MistakeBound(perceptron_mistakes(radius, margin), radius, margin, reason, ESTIMATE)


def update_bound(examples: Examples, problems: list[np.ndarray], attained: list[float | None]) -> MistakeBound:
    """Return the bound 3 / gamma^2 of the margin perceptron, added up over its problems of two classes each."""
    total, least = 0, 1.0
    for y, own in zip(problems, attained, strict=True):
        margin, reason = (own, OWN) if own is not None else known_margin(examples, y, Threshold(), None)
        if margin is None or margin <= NO_MARGIN:
            return no_bound(reason if margin is None else TOO_SMALL)
        margin = min(1.0, margin * (1 - _ROUNDING[itemsize(examples.encoding)]))
        total, least = total + margin_perceptron_updates(margin), min(least, margin)
    return MistakeBound(total, 1.0, least, reason, ESTIMATE)


def known_margin(examples: Examples, y: np.ndarray, rule: Rule, attained: float | None) -> tuple[float | None, str]:
    """Return the larger of the margin attained and that of a separator sought here, and where it comes from."""
    pairs = len(examples) * max(1, sum(rule.outputs) - 1)
    limit = SOUGHT if examples.kernel.hints.threadsafe else CHECKED_OBJECTS
    if pairs > limit or 32 * pairs**2 > examples.engine.budget:  # room for two matrices of float64, and for tiles
        reason = "the last epoch was not clean, and among so many examples no separator is sought for the bound alone"
        return attained, OWN if attained is not None else reason
    if examples.gram is None:
        examples.compute_gram()
    G = np.asarray(examples.gram, np.float64)
    sought = _attained_by_margin_perceptron(*(_pairs_of_classes(G, y, rule.outputs[0]) if rule.outputs else (G, y)))
    if sought is not None and sought > (attained or 0.0):
        return sought, "the margin of a separator that a margin perceptron found"
    inseparable = "no separator was found in many passes over the examples: perhaps there is none"
    return attained, OWN if attained is not None else inseparable


def _pairs_of_classes(G: np.ndarray, y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return several classes as one problem: its examples, all positive, are x beside its class less x beside another.

    (Kesler's construction.)
    """
    example, other = np.nonzero(np.arange(k) != y[:, None])
    beside = np.eye(k)[y[example]] - np.eye(k)[other]
    return G[np.ix_(example, example)] * (beside @ beside.T), np.ones(len(example))


def _attained_by_margin_perceptron(G: np.ndarray, y: np.ndarray) -> float | None:
    """Return the margin of the separator at which a margin perceptron comes to rest, a third of the largest or more.

    With the threshold R^2 it makes 3 (R / gamma)^2 updates at most (Balcan and Blum, On a Theory of Learning with
    Similarity Functions, 2006, Lemma 5, for examples of length R at most).
    """
    threshold, weights, scores = float(G.diagonal().max()), np.zeros(len(y)), np.zeros(len(y))
    if not threshold > 0:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        for _ in range(PASSES):
            learned = np.flatnonzero(perceptron_pass(G, y, scores.copy(), threshold, True))
            if not len(learned):
                margin = (y * scores).min() / np.sqrt(weights @ scores)
                return float(margin) if math.isfinite(margin) else None
            weights[learned] += y[learned]
            if np.abs(weights).sum() > UPDATES * len(y):
                return None
            add_rows(G, learned, y[learned], scores)
    return None

"""assess: how good a similarity is for the given labels, by all definitions of the theory, with intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import check_objects
from similitude.compute.engines import Engine
from similitude.goodness import sampling
from similitude.goodness.alignments import SIGNIFICANT, PermutationTest, estimated_alignments, permutation_test
from similitude.goodness.class_means import WeakGoodness, weak_goodness
from similitude.goodness.gaps import StrongGoodness, class_similarities, gaps, largest_gap
from similitude.goodness.label_errors import suspicious_labels
from similitude.goodness.margins import Separability, separability
from similitude.goodness.resampling import band
from similitude.goodness.sampling import (
    AssessedSimilarity,
    Labels,
    SamplingPlan,
    Similarities,
    plan,
    program_limit,
)
from similitude.goodness.weighted import HingeGoodness, WeightedGoodness, WeightedSample, certify, fit
from similitude.similarity import Calls, Meter, as_similarity, budgeted, calls_per_pair, cost_per_call
from similitude.support import (
    ESTIMATE,
    Curve,
    Estimate,
    Result,
    bullets,
    facts,
    folded,
    generator,
    notes,
    paragraph,
    written,
)
from similitude.theory import BALCAN_BLUM, BALCAN_BLUM_VEMPALA, DELTA, LEVEL, bounds

EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
"""Shares of examples that may fall short of the gap."""


@dataclass(frozen=True, eq=False)
class Goodness(Result):
    """How good a similarity is for the labels of a sample.

    Attributes
    ----------
    strong : StrongGoodness
        Without weights: the gap gamma that all but a share epsilon reach, and ``gaps``, that of each example.
    weighted : WeightedGoodness or None
        With weights: the same curve, the ``weights``, and their error on held-out examples.
    hinge : HingeGoodness or None
        The hinge loss as a function of gamma.
    weak : WeakGoodness
        On average: means within and between classes, ``gamma`` and its class-balanced version.
    alignment, centered_alignment : Estimate
        The cosine of the similarity and the labels, for two independent examples.
    margin : Separability
        For a kernel and two classes: the largest margin, and the error at margin on held-out examples.
    p_value : PermutationTest
        Of the hypothesis that the similarity is unrelated to the labels.
    hardest : array of int
        Positions in X of the examples with the lowest gap, the lowest first.
    suspects : array of int
        Positions in X of the examples whose labels look wrong, if `p_value` is at most 0.05: nearly all of their most
        similar examples share another label.
    witnesses : array of int
        Positions in X of the landmarks with the largest positive weights, the largest first; ties by the contribution
        to the gaps.
    sizes : tuple of Size
        The numbers of examples that the theorems need at such gaps, and that were used.
    scale : float
        Similarities were divided by this to lie in [-1, 1]; all figures are in these units, except alignments and
        margins, which do not depend on it.
    used : array of int
        Positions in X of the examples that were used; ``strong.gaps`` has one entry for each.
    left_out : array of int
        Positions of examples that are alone in their class.
    classes_ : array
        The classes.
    shares : array
        The share of each class among the examples used.
    n : int
        The number of examples given.
    notes : tuple of str
        What was left out, subsampled or scaled, and other caveats.
    """

    strong: StrongGoodness
    weighted: WeightedGoodness | None
    hinge: HingeGoodness | None
    weak: WeakGoodness
    alignment: Estimate
    centered_alignment: Estimate
    margin: Separability
    p_value: PermutationTest
    hardest: np.ndarray
    suspects: np.ndarray
    witnesses: np.ndarray
    sizes: tuple[Size, ...]
    scale: float
    used: np.ndarray
    left_out: np.ndarray
    classes_: np.ndarray
    shares: np.ndarray
    n: int
    notes: tuple[str, ...]

    def of_sample(self, positions: np.ndarray, n: int) -> Goodness:
        """Return the same with the positions of the examples among n, of which those assessed are a sample."""
        weighted = self.weighted and replace(self.weighted, landmarks=positions[self.weighted.landmarks])
        names = ("hardest", "suspects", "witnesses", "used", "left_out")
        moved = {name: positions[getattr(self, name)] for name in names}
        note = f"a sample of {len(positions):,} of {n:,} examples was used"
        return replace(self, weighted=weighted, n=n, notes=(note, *self.notes), **moved)

    def __repr__(self) -> str:
        return f"Goodness({self.n} examples, {len(self.classes_)} classes, p = {self.p_value.value:.4g})"

    def __str__(self) -> str:
        classes = _listed(self.classes_[:10], len(self.classes_))
        parts = [
            f"{self.verdict()}.",
            f"How good the similarity is for {self.n:,} examples of {len(self.classes_)} classes ({classes})",
            *[f"Note: {note}" for note in self.notes],
            f"Unrelated to the labels? {self.p_value}",
            f"Alignment {self.alignment}; centered {self.centered_alignment}",
            *[f"{title[0].upper()}{title[1:]}, {value}" for title, value in self._by_definition()],
            f"Margin as a kernel: {self.margin}",
            "Examples that the theorems need (the gaps are estimates):",
            *[f"  {size}" for size in self.sizes],
            f"Hardest examples: {_listed(self.hardest)}",
            *[f"Best witnesses: {_listed(self.witnesses)}"] * (self.weighted is not None),
        ]
        return "\n".join(parts)

    def _by_definition(self) -> list[tuple[str, object]]:
        found = {
            "on average (Definition 5)": self.weak,
            "without weights (Definition 2)": self.strong,
            "with weights (Definition 3)": self.weighted,
            "by hinge loss (Definition 4)": self.hinge,
        }
        return [(title, value) for title, value in found.items() if value is not None]

    def html_parts(self) -> Sequence[object]:
        """Return the verdict, the figures by definition, and the sizes that the theorems need."""
        classes = ", ".join([written(name) for name in self.classes_.tolist()[:10]])
        if len(self.classes_) > 10:
            classes += f" and {len(self.classes_) - 10:,} more"
        found = [
            ("unrelated to the labels?", self.p_value),
            ("alignment", self.alignment),
            ("centered alignment", self.centered_alignment),
            *self._by_definition(),
            ("margin as a kernel", self.margin),
            ("hardest examples", _listed(self.hardest)),
            *[("best witnesses", _listed(self.witnesses))] * (self.weighted is not None),
        ]
        verdict = self.verdict()
        return (
            f"{verdict[0].upper()}{verdict[1:]}.",
            paragraph(f"{self.n:,} examples of {len(self.classes_)} classes: {classes}"),
            facts([(name, folded(str(value))) for name, value in found]),
            paragraph("Examples that the theorems need (the gaps are estimates):"),
            bullets(self.sizes),
            notes(self.notes),
        )

    def verdict(self, noun: str = "examples") -> str:
        """Say in one sentence whether similar objects share labels, and which labels look wrong.

        >>> from similitude.data.datasets import iris
        >>> said = assess("gaussian", *iris(), random_state=0).verdict()
        >>> print(said[: said.index(";")])
        similar objects share labels: 95 % right by comparing with 24 landmarks (always the same class: 33 %)
        """
        n = len(self.suspects)
        if n == 0:
            return self._whether_related()
        wrong = f"{n:,} labels look wrong: {noun}"
        if n == 1:
            wrong = f"one label looks wrong: {noun.removesuffix('s')}"
        return f"{self._whether_related()}; {wrong} {_listed(np.sort(self.suspects[:10]), n)}"

    def _whether_related(self) -> str:
        if self.p_value.value > SIGNIFICANT:
            return (
                f"no sign that similar objects share labels: shuffled labels fit as well in "
                f"{100 * self.p_value.value:.0f} % of the permutations"
            )
        if self.weighted is None:
            ahead = 100 * float((self.strong.gaps > 0).mean())
            return f"similar objects share labels: {ahead:.0f} % are more similar to their own class than to others"
        error = self.weighted.error
        most = float(self.shares.max())
        a_little = " a little" * (error.high >= 1 - most)
        return (
            f"similar objects share labels{a_little}: {100 * (1 - error.value):.0f} % right by comparing with "
            f"{int((self.weighted.weights > 0).sum()):,} landmarks (always the same class: {100 * most:.0f} %)"
        )


def _listed(positions: np.ndarray, out_of: int = 0) -> str:
    named = [str(i) for i in positions.tolist()]
    if out_of > len(named):
        named.append("…")
    return ", ".join(named) or "none"


def assess(
    similarity: Any,
    X: Any,
    y: Any,
    *,
    landmarks: Any = None,
    max_calls: int | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Goodness:
    """Estimate how good a similarity is for the given labels, before any training.

    The similarity need be neither symmetric nor positive semi-definite. (Balcan and Blum, "On a Theory of Learning with
    Similarity Functions", 2006, Definitions 2 to 5 and the section on alignment.) Means do not include pairs of an
    object with itself. The definitions are for similarities in [-1, 1]: if the largest magnitude on the sample is
    B > 1, all similarities are divided by B.

    From more than 2,000 examples, a stratified sample of 2,000 is drawn; weights are fitted on half of the sample, at
    most 500 examples (fewer with many classes), and tested on the others. A warning and the result say so.

    Parameters
    ----------
    similarity : Similarity, str or callable
        ``"precomputed"``: X is the square matrix of K(x_i, x_j).
    X : sequence of objects
    y : sequence of labels
        At least two classes. An example that is alone in its class is left out, with a warning.
    landmarks : int or sequence of int, optional
        The objects that get weights in Definitions 3 and 4: their number, or their positions in X. Default: the
        examples to which the weights are fitted.
    max_calls : int, optional
        The most calls of your own function: a stratified sample is drawn whose pairs are within the budget. A note says
        how many calls were made, what they cost, and how much answers vary that are asked repeatedly.
    random_state : int, optional
    engine : Engine, optional

    Returns
    -------
    Goodness

    Examples
    --------
    >>> from similitude.data.datasets import iris
    >>> from similitude.goodness import assess
    >>> X, y = iris()
    >>> found = assess("gaussian", X[50:], y[50:])
    >>> found.p_value.value, found.weighted.error.value < 0.15
    (0.001, True)
    >>> print(found.centered_alignment)
    0.6017 [0.4885, 0.7149] (95 %, ESTIMATE)
    """
    assessed = AssessedSimilarity(similarity, engine=engine)
    X = assessed.read(X)
    n = check_objects(X)
    rng = generator(random_state)
    labels = Labels.of(y, n)
    who = plan(labels, landmarks, rng, _affordable(similarity, max_calls))
    left_out = _left_out(who)
    _warn(left_out)
    with budgeted(max_calls, engine) as meter:
        found = assessed.similarities(X, who, random_state)
    left_out += _on_calls(similarity, meter, found)
    K = found.K
    if np.ptp(K[~np.eye(len(K), dtype=bool)]) == 0:
        left_out.append("the similarity of different examples is constant: it says nothing about labels")
        _warn(left_out[-1:])
    codes = who.codes
    strong = strong_goodness(K, codes, rng)
    weighted, hinge = _weighted(found, who, rng)
    witnesses = who.used[:0]
    if weighted is not None:
        order = np.lexsort((-weighted.credit, -weighted.weights))[:10]
        witnesses = weighted.landmarks[order[weighted.weights[order] > 0]]
    weak = weak_goodness(K, codes, labels.classes_)
    without_unit = K / (np.abs(K).max() or 1.0)
    plain, centered = estimated_alignments(without_unit, codes)
    p_value = permutation_test(without_unit, codes, rng)
    suspects = who.used[:0]
    if p_value.value <= 1 - LEVEL:
        suspects = who.used[suspicious_labels(without_unit, codes)]
    margin = separability(found, who)
    fewest = int(np.bincount(codes).min()), int(np.bincount(who.landmark_codes).min())
    return Goodness(
        strong=strong,
        weighted=weighted,
        hinge=hinge,
        weak=weak,
        alignment=plain,
        centered_alignment=centered,
        margin=margin,
        p_value=p_value,
        hardest=who.used[np.argsort(strong.gaps, kind="stable")[:10]],
        suspects=suspects,
        witnesses=witnesses,
        sizes=sizes(strong, weighted, weak, margin, *fewest),
        scale=found.scale,
        used=who.used,
        left_out=labels.alone,
        classes_=labels.classes_,
        shares=np.bincount(codes) / len(codes),
        n=n,
        notes=(*left_out, *_remarks(found, who)),
    )


def _affordable(similarity: Any, max_calls: int | None) -> int:
    """Return the largest number of examples for which all pairs are within a budget of calls."""
    if max_calls is None or isinstance(similarity, str):
        return sampling.PAIRS_LIMIT
    calls = calls_per_pair(as_similarity(similarity))
    return min(sampling.PAIRS_LIMIT, math.isqrt(max_calls // calls)) if calls else sampling.PAIRS_LIMIT


def _on_calls(similarity: Any, meter: Meter, found: Similarities) -> list[str]:
    """Return notes on the calls of a user's function, and on the noise of its answers."""
    if not meter.spent:
        return []
    k = as_similarity(similarity)
    notes = [f"calls of your function: {Calls.of(meter, cost_per_call(k))}"]
    if meter.noise is not None:
        noise = meter.noise / calls_per_pair(k) / found.scale**2
        spread = float(np.var(found.K))
        share = min(1.0, noise / spread) if spread > 0 else 1.0
        notes.append(
            f"answers vary with a standard deviation of {math.sqrt(meter.noise):.3g}; in the means of "
            f"{calls_per_pair(k)} answers, noise is {100 * share:.2g} % of the variance"
        )
    return notes


def strong_goodness(K: np.ndarray, codes: np.ndarray, rng: np.random.Generator) -> StrongGoodness:
    """Return the gaps of a sample of similarities in [-1, 1], and the curve with its band."""
    epsilon = np.array(EPSILONS)
    values = gaps(class_similarities(K, codes, itself=np.arange(len(codes))), codes)
    y = largest_gap(values, epsilon)
    low, high = band(K, codes, epsilon, rng)
    return StrongGoodness(epsilon, y, np.minimum(low, y), np.maximum(high, y), LEVEL, ESTIMATE, values)


def _weighted(
    found: Similarities, who: SamplingPlan, rng: np.random.Generator
) -> tuple[WeightedGoodness | None, HingeGoodness | None]:
    """Return the goodness with weights; None if there are too few examples to fit and to test them."""
    if not len(who.fit):
        return None, None
    fitted, choice, test = [
        WeightedSample(found.wide[np.ix_(rows, who.landmarks)], who.codes[rows], who.landmark_codes, itself)
        for rows, itself in ((who.fit, who.itself), (who.choice, None), (who.test, None))
    ]
    return certify(fit(fitted), fitted, choice, test, who.landmark_positions, rng)


def _left_out(who: SamplingPlan) -> list[str]:
    alone = who.labels.alone
    n = int((who.labels.codes >= 0).sum())
    notes = []
    if len(alone):
        notes.append(f"left out, because they are alone in their classes: examples {_listed(alone[:10], len(alone))}")
    if len(who.used) < n:
        notes.append(f"a sample of {len(who.used):,} of {n:,} examples was used")
    limit = program_limit(len(who.labels.classes_))
    if len(who.fit) == limit < len(who.used) // 2:
        notes.append(f"weights and margins are fitted on {limit:,} examples")
    return notes


def _remarks(found: Similarities, who: SamplingPlan) -> list[str]:
    notes = []
    if found.scale > 1 + 1e-6:  # less is rounding
        notes.append(f"similarities reach {found.scale:.4g} in magnitude and were divided by that")
    if found.copies:
        copies = f"{found.copies:,} examples are exact copies of others"
        if found.copies == 1:
            copies = "one example is an exact copy of another"
        notes.append(f"{copies}: all figures are too optimistic unless they were drawn independently")
    if not len(who.fit):
        notes.append("too few examples were left to fit weights and to test them on others")
    return notes


def _warn(notes: list[str]) -> None:
    """Warn the caller of `assess`."""
    for note in notes:
        warnings.warn(note, UserWarning, stacklevel=3)


@dataclass(frozen=True)
class Size(Result):
    """The number of examples that a theorem needs, if the gap is that of the sample."""

    what: str  # what is counted
    theorem: str
    gamma: float  # the estimated gap or margin, at most 1
    epsilon: float | None  # the share of objects that fall short of it
    delta: float  # the probability of failure
    needed: int | None  # None if no positive gap was observed
    used: int

    def __str__(self) -> str:
        needed = "no positive gap was observed"
        if self.needed is not None:
            needed = f"{self.needed:,} if the gap is {self.gamma:.3g}"
            if self.epsilon is not None:
                needed += f" for all but {100 * self.epsilon:g} %"
        return f"{self.what}: {needed}; {self.used:,} were used ({self.theorem})"


def sizes(
    strong: StrongGoodness,
    weighted: WeightedGoodness | None,
    weak: WeakGoodness,
    margin: Separability,
    per_class: int,
    landmarks_per_class: int,
) -> tuple[Size, ...]:
    """Return the sizes in the theorems; with k classes delta is divided by k - 1, the number of other classes."""
    k = len(weak.classes_)
    delta = DELTA / (k - 1)
    epsilon, gamma = _first_positive(strong)
    needed = _needed(bounds.votes, gamma, delta)
    found = [Size("votes of each class", f"Theorem 1, {BALCAN_BLUM}", gamma, epsilon, delta, needed, per_class)]
    if weighted is not None:
        epsilon, gamma = _first_positive(weighted)
        needed = _needed(bounds.similarity_landmarks, gamma, delta)
        theorem = f"Theorem 2, {BALCAN_BLUM}"
        found.append(Size("landmarks of each class", theorem, gamma, epsilon, delta, needed, landmarks_per_class))
    if k == 2:
        gamma = min(weak.balanced.value, 1.0)
        theorem = f"Theorem 8, {BALCAN_BLUM}"
        needed = _needed(bounds.weak_votes, gamma, DELTA)
        found.append(Size("weak votes of each class", theorem, gamma, None, DELTA, needed, per_class))
    if margin.value is not None and margin.value > 1e-9:
        gamma = min(margin.value, 1.0)
        theorem = f"Theorem 1, {BALCAN_BLUM_VEMPALA}"
        needed = bounds.landmarks(0.1, gamma, DELTA)
        found.append(Size("landmarks of the kernel", theorem, gamma, None, DELTA, needed, margin.n))
    return tuple(found)


def _needed(bound: Callable[[float, float], int], gamma: float, delta: float) -> int | None:
    return bound(gamma, delta) if gamma > 1e-9 else None


def _first_positive(curve: Curve) -> tuple[float, float]:
    """Return the first share, from 10 % on, at which the gap is positive, and the gap, at most 1."""
    from_here = curve.x >= 0.1 - 1e-12
    at = np.append(np.flatnonzero(from_here & (curve.y > 0)), np.flatnonzero(from_here)[-1])[0]
    return float(curve.x[at]), min(float(curve.y[at]), 1.0)

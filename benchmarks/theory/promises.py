"""One trial for each class with a guarantee: a random distribution, a fit, and what it promises against the truth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.theory.finite import ROUNDING, Finite, best_margin, evenly, random_kernel, random_signs, sample
from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.kernels import Gaussian, Laplace, Polynomial
from similitude.landmarks.guarantees import guarantee_of_gaps, guarantee_of_reasonable
from similitude.learners import AlignmentVote, KernelSGDSVC, SimilarityVote, WeakSimilarityVote
from similitude.maps import CompactMap, FourierMap, LandmarkMap, PolynomialSketchMap, ProjectionMap
from similitude.results import CONDITIONAL, NONE, PROVEN, Guarantee

STEPS = 25
"""Changes of a distribution that are tried in a search."""

_factor = 1.0


@contextmanager
def bolder(factor: float) -> Iterator[None]:
    """Let statements promise this many times the margin, or that part of the error, to see that it is noticed."""
    global _factor
    _factor = factor
    try:
        yield
    finally:
        _factor = 1.0


@dataclass(frozen=True)
class Check:
    """A statement against the truth.

    Attributes
    ----------
    holds : bool
    delta : float
        How often it may fail; 0: never.
    ratio : float or None
        Of a statement about a mean: what was seen, divided by the bound of its mean.
    detail : str
    compared : bool
        Whether the statement of a guarantee was compared with the truth, not only its grade.
    """

    holds: bool
    delta: float = 0.0
    ratio: float | None = None
    detail: str = ""
    compared: bool = False


# What every guarantee must keep to.


def graded(promise: Guarantee, problem: Finite, seen: np.ndarray) -> list[Check]:
    """Check that goodness is never called proven, and that no premise holds which the objects that were seen refute."""
    checks = [Check(promise.grade in (NONE, CONDITIONAL), detail=f"graded {promise.grade}: {promise.statement}")]
    if any("[-1, 1]" in one.text for one in promise.premises):
        largest = float(np.abs(problem.K[np.ix_(seen, seen)]).max())
        checks.append(Check(largest <= 1 + 1e-6, detail=f"a value of {largest:.3g} is taken to be in [-1, 1]"))
    return checks


def looked_at(drawn: np.ndarray) -> np.ndarray:
    """Return the examples that a vote compares with each other before it promises something."""
    n = min(50, len(drawn))
    return drawn[np.random.default_rng(0).choice(len(drawn), size=n, replace=False)]


def candidates(problem: Finite, gamma: float, K: np.ndarray, rng: np.random.Generator) -> tuple[float, np.ndarray]:
    """Return the smallest share without a gap among some weights, and these weights."""
    k = len(problem.masses)
    tried = [np.ones(k), rng.random(k), 1.0 * (rng.random(k) < 0.7)]
    shares = [problem.without_gap(gamma, one, K) for one in tried]
    return min(shares), tried[int(np.argmin(shares))]


def separated(
    promise: Guarantee, margin: float, G: np.ndarray, problem: Finite, share: float, sure: bool = False
) -> list[Check]:
    """Check that some separator has a margin, except on a share of the objects.

    Parameters
    ----------
    promise : Guarantee
    margin : float
    G : array
        The Gram matrix of the features of all objects.
    problem : Finite
    share : float
    sure : bool
        Whether it follows from what was drawn, so that it may never fail; otherwise it may with probability delta.
    """
    margin *= _factor
    best = best_margin(G, problem, share, margin)
    detail = f"margin {margin:.4g} is promised, none is above {best:.4g} at error {share:.3g}: {problem}"
    deltas = [promise.numbers["delta"], *([0.0] if sure else [])]
    return [Check(best >= margin - ROUNDING, delta, detail=detail, compared=True) for delta in deltas]


def compared(seen: float, bound: float, delta: float, what: str) -> Check:
    """Check that a number is within its bound."""
    bound /= _factor
    detail = f"{what} is {seen:.4g}, at most {bound:.4g} is promised"
    return Check(seen <= bound + ROUNDING, delta, detail=detail, compared=True)


# Trials.


def searched(rng: np.random.Generator) -> list[Check]:
    """Climb to a problem on which Theorem 2 or 3 of Balcan and Blum is as nearly wrong as can be found, at any sizes.

    The landmarks of each class are shared among its objects by their masses, so that every mean is its expectation. In
    some cases there is a second similarity, in another unit, which says the same of all objects or anything.
    """
    problem = random_signs(rng, most_classes=10)
    problem = replace(problem, K=np.clip(problem.K, -1, 1))
    sizes = np.exp(rng.uniform(math.log(100), math.log(4000), problem.n_classes)).astype(int)
    scales = [1.0] if rng.random() < 0.6 else np.exp(rng.normal(size=2)).tolist()
    second = np.ones_like(problem.K) if rng.random() < 0.5 else rng.choice([-1.0, 1.0], problem.K.shape)
    lowest, check = tightness(problem, sizes, scales, second)
    for _ in range(STEPS):
        K, other = problem.K.copy(), sizes.copy()
        if rng.random() < 0.3:
            c = int(rng.integers(len(sizes)))
            other[c] = int(np.clip(sizes[c] * math.exp(rng.normal()), 97, 4000))
        else:
            i, j = rng.integers(len(K), size=2)
            K[i, j] = rng.choice([-1.0, 0.0, 1.0, rng.uniform(-1, 1)])
        found, now = tightness(replace(problem, K=K), other, scales, second)
        if found <= lowest:
            problem, sizes, lowest, check = replace(problem, K=K), other, found, now
    return [] if check is None else [check]


def tightness(
    problem: Finite, sizes: np.ndarray, scales: list[float], second: np.ndarray
) -> tuple[float, Check | None]:
    """Return the best margin divided by that promised, and the check; infinity if nothing is promised."""
    promise = guarantee_of_gaps(sizes, scales, 1, [], lambda gamma: None)
    if promise.grade == NONE:
        return math.inf, None
    share = problem.without_gap(promise.numbers["gamma"], np.ones(len(problem.masses))) + promise.numbers["delta"]
    if share >= 1:
        return math.inf, None
    counts, margin = problem.given @ sizes, _factor * promise.numbers["margin"]
    pairs = zip((problem.K, second), scales, strict=False)
    best = best_margin(sum(K * counts @ K.T / scale**2 for K, scale in pairs), problem, share)
    detail = f"margin {margin:.4g} is promised, {best:.4g} is best: {sizes} landmarks, units {scales}, {problem}"
    return best / margin, Check(best >= margin - ROUNDING, detail=detail, compared=True)


def classifier(rng: np.random.Generator) -> list[Check]:
    """Fit SimilarityClassifier: Theorems 2 and 3 for similarities of one side or both, one or several of them."""
    if rng.random() < 0.25:
        return projected(rng)
    problem = evenly(random_signs(rng, most_classes=3), rng)
    drawn = sample(problem, int(rng.choice([260, 360])), rng)
    if drawn is None:
        return []
    kinds = [problem]
    if rng.random() < 0.3:
        kinds.append(replace(problem, K=rng.choice([0.1, 1.0]) * rng.uniform(-1, 1, problem.K.shape)))
    similarities = [one.similarity() for one in kinds]
    how = {"side": str(rng.choice(["auto", "left", "right", "both"])), "n_landmarks": len(drawn)}
    model = SimilarityClassifier(similarities if len(kinds) > 1 else similarities[0], landmarks="stratified", **how)
    promise = model.fit(drawn, problem.labels[drawn]).guarantee_
    checks = graded(promise, problem, drawn)
    if promise.grade == NONE or np.abs(problem.K).max() > 1:
        return checks
    representations = model.representation_ if len(kinds) > 1 else (model.representation_,)
    counts = np.bincount(drawn, minlength=len(problem.masses)).astype(float)
    matrices: list[np.ndarray] = []
    G = np.zeros_like(problem.K)
    for one, seen in zip(kinds, representations, strict=True):
        parts = {"left": [one.K], "right": [one.K.T], "both": [one.K, one.K.T]}[seen.side]
        products = sum(part * counts @ part.T for part in parts)
        G += products / (float(counts @ np.diag(products)) / len(drawn) if len(kinds) > 1 else 1.0)
        matrices += parts
    delta, gamma = promise.numbers["delta"], promise.numbers["gamma"]
    alpha = np.eye(len(matrices))[0] if rng.random() < 0.7 else rng.dirichlet(np.ones(len(matrices)))
    K = np.tensordot(alpha, np.array(matrices), 1)
    share, weights = candidates(problem, gamma, K, rng)
    if share + delta >= 1:
        return checks
    members = counts[:, None] * (problem.labels[:, None] == np.arange(problem.n_classes))
    halved = problem.gaps(K @ (weights[:, None] * members / members.sum(axis=0))) >= gamma / 2
    sure = float(problem.masses[~halved].sum()) <= share + delta + ROUNDING
    return checks + separated(promise, promise.numbers["margin"], G, problem, share + delta, sure)


def projected(rng: np.random.Generator) -> list[Check]:
    """Fit SimilarityClassifier to a kernel: Theorem 1 of Balcan, Blum and Vempala."""
    problem = random_kernel(rng)
    drawn = sample(problem, int(rng.choice([450, 600])), rng)
    if drawn is None:
        return []
    model = SimilarityClassifier(problem.similarity(), n_landmarks=len(drawn), landmarks="uniform")
    promise = model.fit(drawn, problem.labels[drawn]).guarantee_
    return graded(promise, problem, drawn) + _projection(promise, problem, drawn)


def _projection(promise: Guarantee, problem: Finite, drawn: np.ndarray) -> list[Check]:
    """Check a promise on the span of what was drawn, if the kernel separates the distribution with the margin."""
    if promise.grade == NONE or best_margin(problem.K, problem, 0.0) < promise.numbers["margin"]:
        return []
    some = np.unique(drawn)
    G = problem.K[:, some] @ np.linalg.pinv(problem.K[np.ix_(some, some)], hermitian=True) @ problem.K[some]
    return separated(promise, promise.numbers["margin"] / 2, G, problem, promise.numbers["epsilon"])


def regressor(rng: np.random.Generator) -> list[Check]:
    """Fit SimilarityRegressor, of which nothing is promised."""
    problem = random_signs(rng)
    drawn = problem.draw(60, rng)
    promise = SimilarityRegressor(problem.similarity(), n_landmarks=20).fit(drawn, rng.random(60)).guarantee_
    return [Check(promise.grade == NONE, detail=promise.statement)]


def mapped(kind: type) -> Callable[[np.random.Generator], list[Check]]:
    """Return the trial of a map onto landmarks, at the size of its theorem."""
    share, divisor = (0.5, 4) if kind is CompactMap else (1.0, 2)

    def trial(rng: np.random.Generator) -> list[Check]:
        problem = random_kernel(rng) if rng.random() < 0.8 else random_signs(rng, most_classes=2)
        margin = best_margin(problem.K, problem, 0.0) if np.linalg.eigvalsh(problem.K + problem.K.T)[0] > -1e-9 else 0.7
        epsilon, delta = float(rng.choice([0.2, 0.4, 0.7])), float(rng.choice([0.05, 0.2]))
        n = 8 / (share * epsilon) * (1 / max(margin, 0.1) ** 2 - math.log(share * delta))
        if margin < 0.1 or n > 700:
            return []
        ask = {"epsilon": epsilon, "margin": min(margin, 1.0), "delta": delta}
        drawn = problem.draw(math.ceil(n) + 5, rng)
        try:
            m = kind(problem.similarity(), random_state=int(rng.integers(2**31)), **ask).fit(drawn)
        except ValueError:  # no kernel: ProjectionMap refuses it
            return []
        checks = graded(m.guarantee_, problem, drawn)
        if m.guarantee_.grade == NONE or best_margin(problem.K, problem, 0.0) < margin - ROUNDING:
            return checks
        if np.linalg.eigvalsh(problem.K + problem.K.T)[0] < -1e-9 or np.abs(problem.K - problem.K.T).max() > 0:
            return checks  # the premise is false of objects that were not drawn
        F = m.transform(np.arange(len(problem.masses)))
        least = 1e-7 if kind is LandmarkMap else margin / divisor
        return checks + separated(m.guarantee_, least, F @ F.T, problem, epsilon)

    return trial


def reasonable(rng: np.random.Generator) -> list[Check]:
    """Draw landmarks without labels: the hinge loss of weights on the reasonable ones, against that of all objects."""
    problem = random_signs(rng, most_classes=2)
    problem = replace(problem, K=np.clip(problem.K, -1, 1))
    promise = guarantee_of_reasonable(int(rng.integers(3000, 20000)), 2, 1, [])
    if promise.grade == NONE:
        return []
    numbers, signs = promise.numbers, 2.0 * problem.labels - 1
    trusted = rng.random(len(signs))
    trusted = np.minimum(1.0, trusted * numbers["tau"] / float(problem.masses @ trusted))
    if problem.masses @ trusted < numbers["tau"] - ROUNDING:
        return []

    def loss(weights: np.ndarray) -> float:
        """Return the mean hinge loss if objects are compared with those of these weights, which sum to one."""
        scores = problem.K @ (weights * signs) / numbers["gamma"]
        return float(problem.masses @ np.maximum(0.0, 1 - signs * scores))

    ideal = problem.masses * trusted
    counts = rng.binomial(rng.multinomial(int(numbers["landmarks"]), problem.masses), trusted)
    seen, allowed = loss(counts / counts.sum()), loss(ideal / ideal.sum()) + numbers["epsilon"]
    return [compared(seen, allowed, numbers["delta"], "the hinge loss")]


def vote(rng: np.random.Generator) -> list[Check]:
    """Fit SimilarityVote: Theorem 1, with known weights in some cases."""
    problem = random_signs(rng)
    drawn = sample(problem, int(rng.choice([80, 200, 600])), rng)
    if drawn is None:
        return []
    weights = np.ones(len(problem.masses)) if rng.random() < 0.6 else rng.random(len(problem.masses))
    known = None if (weights == 1).all() else weights[drawn]
    model = SimilarityVote(problem.similarity(), weights=known).fit(drawn, problem.labels[drawn])
    promise = model.guarantee_
    checks = graded(promise, problem, looked_at(drawn))
    if promise.grade == NONE or np.abs(problem.K).max() > 1:
        return checks
    share, delta = problem.without_gap(promise.numbers["gamma"], weights), promise.numbers["delta"]
    error = float(problem.masses[model.predict(np.arange(len(weights))) != problem.labels].sum())
    return [*checks, compared(error, share + delta, delta, "the error")]


def weak_vote(rng: np.random.Generator) -> list[Check]:
    """Fit WeakSimilarityVote: Theorem 8 with equally weighted classes."""
    problem = random_signs(rng)
    drawn = sample(problem, int(rng.choice([200, 600])), rng)
    if drawn is None:
        return []
    model = WeakSimilarityVote(problem.similarity(), balanced=bool(rng.random() < 0.7), random_state=0)
    promise = model.fit(drawn, problem.labels[drawn]).guarantee_
    checks, C = graded(promise, problem, drawn), problem.n_classes
    means = problem.given.T @ problem.K @ problem.given
    gap = (np.trace(means) / C) - (means.sum() - np.trace(means)) / (C * (C - 1))
    if promise.grade == NONE or np.abs(problem.K).max() > 1 or gap < promise.numbers["gamma"]:
        return checks
    right = model.predict_proba(np.arange(len(problem.masses)))[np.arange(len(problem.masses)), problem.labels]
    error = 1 - float((right @ problem.given).mean())
    return [*checks, compared(error, promise.numbers["error"], promise.numbers["delta"], "the mean of classes' errors")]


def alignment_vote(rng: np.random.Generator) -> list[Check]:
    """Fit AlignmentVote: the error is bounded by the alignment."""
    problem = random_signs(rng, most_classes=2)
    drawn = sample(problem, int(rng.choice([20, 100, 400])), rng)
    if drawn is None:
        return []
    model = AlignmentVote(problem.similarity()).fit(drawn, problem.labels[drawn])
    promise = model.guarantee_
    checks, signed = graded(promise, problem, looked_at(drawn)), problem.masses * (2 * problem.labels - 1)
    if promise.grade == NONE or np.abs(problem.K).max() > 1:
        return checks
    bound = 1 - float(signed @ problem.K @ signed) + promise.numbers["slack"]
    error = float(problem.masses[model.predict(np.arange(len(signed))) != problem.labels].sum())
    return [*checks, compared(error, bound, promise.numbers["delta"], "the error")]


def fourier(rng: np.random.Generator) -> list[Check]:
    """Fit FourierMap: the dot product of one pair."""
    d = int(rng.integers(1, 6))
    pair, scale = rng.standard_normal((2, d)), float(np.exp(rng.normal()))
    kernel = Gaussian(scale) if rng.random() < 0.7 else Laplace(scale)
    kind = str(rng.choice(["plain", "orthogonal"])) if isinstance(kernel, Gaussian) else "plain"
    m = FourierMap(kernel, n_components=int(rng.integers(2, 200)), kind=kind, random_state=int(rng.integers(2**31)))
    return _pair(m.fit(pair), pair, 1.0)


def sketch(rng: np.random.Generator) -> list[Check]:
    """Fit PolynomialSketchMap: the dot product of one pair."""
    pair, degree = rng.standard_normal((2, int(rng.integers(1, 6)))), int(rng.integers(1, 4))
    kernel = Polynomial(degree, float(rng.choice([0.0, 1.0])))
    m = PolynomialSketchMap(kernel, n_components=int(rng.integers(2, 200)), random_state=int(rng.integers(2**31)))
    K = kernel.gram(pair)
    return _pair(m.fit(pair), pair, math.sqrt(K[0, 0] * K[1, 1]))


def _pair(m: FourierMap | PolynomialSketchMap, pair: np.ndarray, unit: float) -> list[Check]:
    promise = m.guarantee_
    if promise.grade == NONE:
        return []
    F = m.transform(pair)
    off = abs(float(F[0] @ F[1]) - float(m.kernel_.gram(pair)[0, 1]))
    return [compared(off, promise.numbers["epsilon"] * unit, promise.numbers["delta"], "the error of a dot product")]


def sgd(rng: np.random.Generator) -> list[Check]:
    """Fit KernelSGDSVC: the mean of the objective over random orders, against a dual value of the same problem."""
    problem = random_kernel(rng)
    drawn = sample(problem, int(rng.integers(10, 60)), rng)
    if drawn is None:
        return []
    lam, steps = float(np.exp(rng.uniform(-4, 1))), int(rng.choice([1, 3, 30, 300]))
    model = KernelSGDSVC(problem.similarity(), lam=lam, n_iter=steps, random_state=int(rng.integers(2**31)))
    promise = model.fit(drawn, problem.labels[drawn]).guarantee_
    above = max(0.0, float(model.objective_) - _least(problem, drawn, lam))
    bound = float(model.suboptimality_bound_)
    return [
        Check(promise.grade == PROVEN, detail=str(promise)),
        Check(True, 1.0, ratio=_factor * above / bound, compared=True),
    ]


def _least(problem: Finite, drawn: np.ndarray, lam: float) -> float:
    """Return the minimum of lam |w|^2 + the mean hinge loss, by coordinate ascent of the dual over the few objects."""
    shares = np.bincount(drawn, minlength=len(problem.masses)) / len(drawn)
    signs = 2.0 * problem.labels - 1
    Q, a = problem.K * np.outer(signs, signs) / (2 * lam), np.zeros(len(shares))
    for _ in range(300):
        for i in range(len(a)):
            a[i] = np.clip(a[i] + (1 - Q[i] @ a) / Q[i, i], 0.0, shares[i])
    return float(a.sum() - a @ Q @ a / 2)


TRIALS: dict[str, Callable[[np.random.Generator], list[Check]]] = {
    "Theorems 2 and 3, searched": searched,
    "SimilarityClassifier": classifier,
    "SimilarityRegressor": regressor,
    "LandmarkMap": mapped(LandmarkMap),
    "ProjectionMap": mapped(ProjectionMap),
    "CompactMap": mapped(CompactMap),
    "FourierMap": fourier,
    "PolynomialSketchMap": sketch,
    "landmarks without labels": reasonable,
    "SimilarityVote": vote,
    "WeakSimilarityVote": weak_vote,
    "AlignmentVote": alignment_vote,
    "KernelSGDSVC": sgd,
}

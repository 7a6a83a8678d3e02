"""Definitions 3 and 4: weights fitted on some examples and tested on others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.goodness.gaps import class_similarities, enclosed, gaps, largest_gap, points
from similitude.goodness.margins import REACHED
from similitude.goodness.resampling import bounded_mean
from similitude.support import ESTIMATE, HELD_OUT, Curve, Estimate
from similitude.theory import LEVEL, clopper_pearson, proportion


@dataclass(frozen=True)
class WeightedSample:
    r"""Similarities of rows to weighted columns.

    With weights w, the gap of row i is the smallest :math:`E[w K \mid own] - E[w K \mid c]` over other classes c.
    """

    K: np.ndarray
    own: np.ndarray  # the classes of rows
    columns: np.ndarray  # those of columns
    itself: np.ndarray | None = None  # the column that is the row's own object and is left out, or -1

    def gaps(self, weights: np.ndarray) -> np.ndarray:
        """Return the gap of each row under these weights."""
        return gaps(class_similarities(self.K, self.columns, None, weights, self.itself), self.own)

    def contrasts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix A, with a row for each example and other class, and the example of each row."""
        counted = np.ones(self.K.shape)
        if self.itself is not None:
            rows = np.flatnonzero(self.itself >= 0)
            counted[rows, self.itself[rows]] = 0.0
        n_classes = int(self.columns.max()) + 1
        totals = counted @ np.eye(n_classes)[self.columns]
        parts = []
        examples = []
        for other in range(n_classes):
            rows = np.flatnonzero(self.own != other)
            mine = self.columns == self.own[rows, None]
            share = mine / totals[rows, self.own[rows]][:, None] - (self.columns == other) / totals[rows, other, None]
            parts.append(self.K[rows] * counted[rows] * share)
            examples.append(rows)
        return np.concatenate(parts), np.concatenate(examples)


class Programs:
    """The linear programs of a comparison, in units in which its contrasts are about 1."""

    def __init__(self, comparison: WeightedSample) -> None:
        from scipy import sparse

        A, examples = comparison.contrasts()
        self.n = len(comparison.own)
        self.d = A.shape[1]
        self.unit = float(np.abs(A).sum(axis=1).mean()) or 1.0
        self.credit = A.mean(axis=0)
        self.A = sparse.csr_array(A / self.unit)
        m = len(examples)
        self.slack = sparse.csr_array((np.ones(m), (np.arange(m), examples)), shape=(m, self.n))

    def widest(self) -> np.ndarray:
        r"""Return the weights with the largest minimum gap: max g subject to :math:`Aw \ge g`."""
        ones = np.ones((self.A.shape[0], 1))
        return self._solve(np.append(np.zeros(self.d), -1.0), [-self.A, ones], 0.0, [(0, 1)] * self.d + [(None, None)])

    def tolerant(self, nu: float) -> np.ndarray:
        r"""Return weights for which a share nu may fall short.

        max :math:`g - \frac{1}{\nu n}\sum_i \xi_i` subject to :math:`Aw \ge g - \xi`: at most a mass of nu is below
        g.
        """
        if nu == 0:
            return self.widest()
        costs = np.concatenate([np.zeros(self.d), [-1.0], np.full(self.n, 1 / self.n) / nu])
        ones = np.ones((self.A.shape[0], 1))
        limits = [(0, 1)] * self.d + [(None, None)] + [(0, None)] * self.n
        return self._solve(costs, [-self.A, ones, -self.slack], 0.0, limits)

    def least_hinge(self, gamma: float) -> np.ndarray:
        r"""Return the weights with the smallest mean hinge loss, that of :math:`\max(0, 1 - (Aw)_i / \gamma)`."""
        scaled = self.A * (self.unit / gamma)
        limits = [(0, 1)] * self.d + [(0, None)] * self.n
        return self._solve(np.repeat([0.0, 1 / self.n], [self.d, self.n]), [-scaled, -self.slack], -1.0, limits)

    def _solve(self, costs: np.ndarray, parts: list[Any], limit: float, bounds: list[Any]) -> np.ndarray:
        from scipy import sparse
        from scipy.optimize import linprog

        rows = sparse.hstack(parts, format="csc")
        for method in ("highs-ds", "highs-ipm"):
            found = linprog(costs, A_ub=rows, b_ub=np.full(rows.shape[0], limit), bounds=bounds, method=method)
            if found.status == 0:
                return np.clip(found.x[: self.d], 0.0, 1.0)
        raise RuntimeError(f"HiGHS did not solve the linear program: {found.message}")


def hinge(values: np.ndarray, gamma: float) -> np.ndarray:
    """Return the hinge loss of gaps."""
    return np.maximum(0.0, 1 - values / gamma)


NUS = (0.0, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75)
"""Shares of examples that may fall short of the gap."""

GAMMAS = (0.125, 0.25, 0.5, 1.0, 2.0)
"""Gaps at which the hinge loss is computed, in units of the mean magnitude of unweighted gaps."""


@dataclass(frozen=True, eq=False)
class WeightedGoodness(Curve):
    r"""How good the similarity is with weighted objects.

    K is :math:`(\epsilon, \gamma)`-good if for some weights :math:`w(x') \in [0, 1]` all but a share epsilon of the
    objects have :math:`E[w(x') K(x, x') \mid same] \ge E[w(x') K(x, x') \mid different] + \gamma` (Balcan and Blum, "On
    a Theory of Learning with Similarity Functions", Definition 3); with several classes, for each other class. Weights
    are fitted by linear programming to the similarities of some examples to the landmarks; of these and of weights 1,
    the best for each share is taken (the best possible would be an integer program). They are then tested on examples
    that were not used for fitting. The result is about these weights, since no sample can show the effect of weights on
    unseen objects. For shares epsilon x that may fall short, y is the gap that all but this share of the held-out
    examples reach, with an exact interval for the same share of all objects, by order statistics.
    """

    fitted: np.ndarray  # the gap that all but this share of the fitted examples reach: too optimistic
    landmarks: np.ndarray  # positions in X of the objects with a weight
    weights: np.ndarray  # those with the fewest errors on further examples
    credit: np.ndarray  # what each landmark adds to the mean gap of the fitted examples, with weight 1
    error: Estimate  # how often a held-out example has the largest weighted mean similarity to another class
    error_at_gap: Curve  # how often its gap is below x, which are gaps that shares of the fitted examples reach
    fits: np.ndarray  # the weights fitted for each share
    vote_error: Estimate  # the error with all weights equal to 1
    n_fitted: int
    n_choice: int
    n_held_out: int

    def __str__(self) -> str:
        head = (
            f"weights of {len(self.landmarks)} landmarks, fitted on {self.n_fitted} examples, chosen on "
            f"{self.n_choice}, tested on {self.n_held_out} others ({100 * self.level:g} %, {self.grade})"
        )
        lines = [f"{line}  fitted {fitted:.4g}" for line, fitted in zip(points(self), self.fitted, strict=True)]
        return "\n".join([head, *lines, f"  error {self.error}", f"  with all weights 1: {self.vote_error}"])


@dataclass(frozen=True, eq=False)
class HingeGoodness(Curve):
    r"""How good the similarity is by the hinge loss, with weighted objects.

    The mean of :math:`\max(0, 1 - gap(x)/\gamma)` for the best weights in [0, 1] (Balcan and Blum, "On a Theory of
    Learning with Similarity Functions", Definition 4, which takes the minimum over gamma; as that is often attained at
    gamma = 0, this is the whole curve). It bounds the error of a separator that minimizes this loss. For gaps gamma x,
    y is the mean loss on held-out examples of the weights fitted for this gamma, with an interval that assumes only
    that similarities stay in the observed range.
    """

    fitted: np.ndarray  # the mean loss of the fitted examples, the optimum of the linear program: too optimistic

    def __str__(self) -> str:
        points = zip(self.x, self.y, self.low, self.high, self.fitted, strict=True)
        lines = [
            f"  at gap {x:8.4g}: {y:7.4g}  [{low:.4g}, {high:.4g}]  fitted {fitted:.4g}"
            for x, y, low, high, fitted in points
        ]
        return "\n".join([f"mean hinge loss of held-out examples ({100 * self.level:g} %, {self.grade})", *lines])


Fits = tuple[list[np.ndarray], np.ndarray, np.ndarray]
"""Weights for each share that may fall short, for each gamma of the hinge loss, and ones; these gammas; and the
contribution of each landmark to the mean contrast of own and other classes, with weight 1."""


def fit(comparison: WeightedSample) -> Fits:
    """Fit weights to the similarities of examples to landmarks."""
    programs = Programs(comparison)
    plain = np.ones(len(comparison.columns))
    size = float(np.abs(comparison.gaps(plain)).mean())
    gammas = np.array([gamma for gamma in size * np.array(GAMMAS) if 1e-12 < gamma <= 1])
    return [*map(programs.tolerant, NUS), *map(programs.least_hinge, gammas), plain], gammas, programs.credit


def certify(
    fits: Fits,
    fitted: WeightedSample,
    choice: WeightedSample,
    test: WeightedSample,
    landmarks: np.ndarray,
    rng: np.random.Generator,
) -> tuple[WeightedGoodness, HingeGoodness]:
    """Choose weights on some examples and test them on others."""
    nus = np.array(NUS)
    n = len(test.own)
    fitted_weights, _, credit = fits
    candidates = [w / (w.max() or 1.0) for w in fitted_weights]  # which can only increase a positive gap
    seen, fresh = (np.stack([part.gaps(w) for w in candidates], axis=1) for part in (fitted, test))
    reached = largest_gap(seen, nus)
    best = reached.argmax(axis=1)
    held_out = np.array([largest_gap(fresh[:, b], nus[i : i + 1])[0] for i, b in enumerate(best)])
    ends = [enclosed(fresh[:, b], nus[i : i + 1], LEVEL, 2.0) for i, b in enumerate(best)]
    low, high = (np.array([float(end[side][0]) for end in ends]) for side in (0, 1))
    chosen = int(np.argmin([(choice.gaps(w) <= 0).mean() for w in candidates]))
    at = np.unique(reached[:, chosen])
    weighted = WeightedGoodness(
        nus, held_out, low, high, LEVEL, HELD_OUT,
        fitted=reached[np.arange(len(nus)), best],
        landmarks=landmarks,
        weights=candidates[chosen],
        credit=credit,
        error=proportion((fresh[:, chosen] <= 0).sum(), n, HELD_OUT),
        error_at_gap=shares(at, (fresh[:, chosen, None] < at - REACHED * np.abs(at)).sum(axis=0), n),
        fits=np.stack([candidates[b] for b in best]),
        vote_error=proportion((fresh[:, -1] <= 0).sum(), n, HELD_OUT),
        n_fitted=len(fitted.own),
        n_choice=len(choice.own),
        n_held_out=n,
    )  # fmt: skip
    return weighted, hinge_curve(fits, fitted, test, rng)


def hinge_curve(fits: Fits, fitted: WeightedSample, test: WeightedSample, rng: np.random.Generator) -> HingeGoodness:
    """Return the hinge loss at each gamma, on the fitted examples and on others."""
    of_all, gammas, _ = fits
    rows: list[tuple[float, ...]] = []
    for gamma, weights in zip(gammas, of_all[len(NUS) : -1], strict=True):
        losses = hinge(test.gaps(weights), gamma)
        most = 1 + _deepest(weights, fitted) / gamma
        optimum = float(hinge(fitted.gaps(weights), gamma).mean())
        rows.append((gamma, float(losses.mean()), *bounded_mean(losses, most, rng), optimum))
    x, y, low, high, before = np.array(rows).reshape(-1, 5).T
    return HingeGoodness(x, y, np.minimum(low, y), np.maximum(high, y), LEVEL, ESTIMATE, before)


def _deepest(weights: np.ndarray, comparison: WeightedSample) -> float:
    """Return how far below zero a gap can be with similarities in the observed range."""
    means = np.bincount(comparison.columns, weights) / np.bincount(comparison.columns)
    least = (comparison.K.min() * means).min()
    most = (comparison.K.max() * means).max()
    return max(0.0, float(most - least))


def shares(at: np.ndarray, counts: np.ndarray, n: int) -> Curve:
    """Return a proportion of n held-out examples at each threshold, with exact intervals."""
    low, high = clopper_pearson(counts, n, LEVEL)
    return Curve(at, counts / n, low, high, LEVEL, HELD_OUT)

"""Definitions 3 and 4 on a sample: weights in [0, 1] that make the similarity good, by linear programming."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.goodness.gaps import class_similarities, gaps


@dataclass(frozen=True)
class WeightedSample:
    r"""Similarities of rows to weighted columns.

    With weights w, the gap of row i is :math:`\min_c (Aw)_{ic}` over classes c other than its own, where
    :math:`(Aw)_{ic} = E[w K \mid own] - E[w K \mid c]`. ``own`` and ``columns`` are the classes of rows and columns,
    ``masses`` the probabilities of the rows, ``column_masses`` those of the columns up to a factor, and ``itself`` the
    column that is the row's own object and is left out, or -1.
    """

    K: np.ndarray
    own: np.ndarray
    columns: np.ndarray
    masses: np.ndarray
    column_masses: np.ndarray
    itself: np.ndarray | None = None

    @classmethod
    def of_sample(
        cls, K: np.ndarray, own: np.ndarray, columns: np.ndarray, itself: np.ndarray | None = None
    ) -> WeightedSample:
        """Compare equally weighted examples."""
        return cls(K, own, columns, np.full(len(own), 1 / len(own)), np.ones(len(columns)), itself)

    @property
    def n_classes(self) -> int:
        """The number of classes among the columns."""
        return int(self.columns.max()) + 1

    def gaps(self, weights: np.ndarray) -> np.ndarray:
        """Return the gap of each row under these weights."""
        means = class_similarities(self.K, self.columns, self.column_masses, weights, self.itself, self.n_classes)
        return gaps(means, self.own)

    def contrasts(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix A, with a row for each example and other class, and the example of each row."""
        counted = np.broadcast_to(self.column_masses, self.K.shape).copy()
        if self.itself is not None:
            rows = np.flatnonzero(self.itself >= 0)
            counted[rows, self.itself[rows]] = 0.0
        totals = counted @ np.eye(self.n_classes)[self.columns]
        parts = []
        examples = []
        for other in range(self.n_classes):
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
        self.masses = comparison.masses
        self.n = len(self.masses)
        self.d = A.shape[1]
        size = float(np.abs(A).sum(axis=1).mean())
        self.unit = size if size > 0 else 1.0
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

        max :math:`g - \frac{1}{\nu}\sum_i p_i \xi_i` subject to :math:`Aw \ge g - \xi`: at the optimum the rows below g
        have a mass of at most nu.
        """
        costs = np.concatenate([np.zeros(self.d), [-1.0], self.masses / nu])
        ones = np.ones((self.A.shape[0], 1))
        limits = [(0, 1)] * self.d + [(None, None)] + [(0, None)] * self.n
        return self._solve(costs, [-self.A, ones, -self.slack], 0.0, limits)

    def least_hinge(self, gamma: float) -> np.ndarray:
        r"""Return the weights with the smallest mean hinge loss :math:`\sum_i p_i \max(0, 1 - (Aw)_i / \gamma)`."""
        scaled = self.A * (self.unit / gamma)
        limits = [(0, 1)] * self.d + [(0, None)] * self.n
        return self._solve(np.append(np.zeros(self.d), self.masses), [-scaled, -self.slack], -1.0, limits)

    def _solve(self, costs: np.ndarray, parts: list[Any], limit: float, bounds: list[Any]) -> np.ndarray:
        """Return the optimal weights, the first d variables of the program."""
        from scipy import sparse
        from scipy.optimize import linprog

        rows = sparse.hstack(parts, format="csc")
        for method in ("highs-ds", "highs-ipm"):
            found = linprog(costs, A_ub=rows, b_ub=np.full(rows.shape[0], limit), bounds=bounds, method=method)
            if found.status == 0:
                return np.clip(found.x[: self.d], 0.0, 1.0)
        raise RuntimeError(f"HiGHS did not solve the linear program: {found.message}")


def hinge(values: np.ndarray, gamma: float) -> np.ndarray:
    """Return the hinge loss of gaps, max(0, 1 - gap / gamma).

    >>> hinge(np.array([0.5, 0.25, -0.5]), 0.5)
    array([0. , 0.5, 2. ])
    """
    return np.maximum(0.0, 1 - values / gamma)


def stretched(weights: np.ndarray) -> np.ndarray:
    """Return the weights divided by the largest, which can only increase a positive gap."""
    largest = float(weights.max())
    return weights / largest if largest > 0 else weights

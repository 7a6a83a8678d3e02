"""Importances of columns: the share of the squared gradients that each column has."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from similitude.support import Result

MOSTLY = 0.8
"""Share of the importance that the columns named first account for."""

MOST_NAMED = 5
"""Most columns that are named in a sentence."""

MOST_EVEN = 20
"""Most features that are listed where nothing was learned."""

NORMAL = 1.96
"""The quantile of the normal distribution for intervals at 95 %."""


@dataclass(frozen=True)
class GradientImportance(Result):
    r"""How much a model depends on each column: shares of the mean squared gradient in standardized columns.

    Column q has :math:`\operatorname{E} (\partial_q f)^2 / \sum_p \operatorname{E} (\partial_p f)^2`, the diagonal of
    the average gradient outer product. Columns that repeat each other share their importance. Features of strings, sets
    and graphs, and parts of a sum, have the share of their contributions in the variance of predictions, which is the
    same for a linear model.

    Attributes
    ----------
    names : list of str
    values : array
        The shares; they sum to 1, or to less if only the most important features are named.
    low, high : array
        Intervals at 95 % for other rows and the same model, by the normal approximation; they do not cover what
        another training sample would change.
    kind : str
        What is named: columns, features or similarities.
    """

    names: list[str]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    kind: str = "columns"

    def named(self, names: list[str] | None) -> GradientImportance:
        """Return the same with the columns of vectors called by given names, if there are any."""
        numbered = [f"column {i}" for i in range(len(self.names))]
        return (
            self
            if names is None or len(names) != len(numbered) or self.names != numbered
            else replace(self, names=names)
        )

    @classmethod
    def of(
        cls, names: list[str], squares: np.ndarray, total: np.ndarray | None = None, kind: str = "columns"
    ) -> GradientImportance:
        """Return shares of squared gradients, given for each row and column; of totals, if not all are given."""
        total = squares.sum(axis=1) if total is None else total
        if not total.mean() > 0:
            even = np.full(len(names), 1 / max(1, len(names)))
            return cls(names, even, np.zeros(len(names)), np.ones(len(names)), kind)
        values = squares.mean(axis=0) / total.mean()
        influence = (squares - values * total[:, None]) / total.mean()
        error = NORMAL * influence.std(axis=0, ddof=min(1, len(squares) - 1)) / np.sqrt(len(squares))
        return cls(names, values, np.clip(values - error, 0, 1), np.clip(values + error, 0, 1), kind)

    def order(self) -> np.ndarray:
        """Return the positions of the columns, the most important first."""
        return np.argsort(-self.values, kind="stable")

    def in_short(self) -> str:
        """Return the most important columns in a few words.

        >>> from similitude.kernel_learning.importance import GradientImportance
        >>> GradientImportance.of(["hour", "noise"], np.array([[3.0, 0.1], [2.0, 0.2]])).in_short()
        'mostly hour'
        """
        order = self.order()
        n = int(np.searchsorted(np.cumsum(self.values[order]), MOSTLY)) + 1
        if n > max(MOST_NAMED, len(order) // 2):
            first = f"first {self.names[order[0]]} ({self.values[order[0]]:.0%})"
            return f"many {self.kind}, none of which stands out; {first}"
        more = f" and {n - MOST_NAMED} more" if n > MOST_NAMED else ""
        return f"mostly {', '.join(self.names[i] for i in order[: min(n, MOST_NAMED)])}{more}"

    def __str__(self) -> str:
        order = self.order()[:20]
        width = max(len(self.names[i]) for i in order)
        rows = [
            f"  {self.names[i]:{width}}  {self.values[i]:6.1%}  [{self.low[i]:.1%}, {self.high[i]:.1%}]" for i in order
        ]
        left = len(self.names) - len(order)
        return "\n".join([*rows, *([f"  and {left} more"] if left else [])])

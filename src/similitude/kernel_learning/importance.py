"""What a learned kernel depends on: importances of columns, losses before and after, and leading directions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from similitude.support import Result


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
        if names is None or len(names) != len(numbered) or self.names != numbered:
            return self
        return replace(self, names=names)

    @classmethod
    def of(
        cls, names: list[str], squares: np.ndarray, total: np.ndarray | None = None, kind: str = "columns"
    ) -> GradientImportance:
        """Return shares of squared gradients, given for each row and column; of totals, if not all are given."""
        if total is None:
            total = squares.sum(axis=1)
        if not total.mean() > 0:
            even = np.full(len(names), 1 / max(1, len(names)))
            return cls(names, even, np.zeros(len(names)), np.ones(len(names)), kind)
        values = squares.mean(axis=0) / total.mean()
        influence = (squares - values * total[:, None]) / total.mean()
        error = 1.96 * influence.std(axis=0, ddof=min(1, len(squares) - 1)) / np.sqrt(len(squares))
        return cls(names, values, np.clip(values - error, 0, 1), np.clip(values + error, 0, 1), kind)

    @classmethod
    def even(cls, n: int, names: Callable[[np.ndarray], list[str]], kind: str) -> GradientImportance:
        """Return the same importance for all of n features, of which at most 20 are named."""
        some = np.arange(min(n, 20))
        return cls.of(names(some), np.zeros((1, len(some))), kind=kind)

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
        n = int(np.searchsorted(np.cumsum(self.values[order]), 0.8)) + 1
        if n > max(5, len(order) // 2):
            first = f"first {self.names[order[0]]} ({self.values[order[0]]:.0%})"
            return f"many {self.kind}, none of which stands out; {first}"
        named = f"mostly {', '.join(self.names[i] for i in order[: min(n, 5)])}"
        if n > 5:
            named += f" and {n - 5} more"
        return named

    def __str__(self) -> str:
        order = self.order()[:20]
        width = max(len(self.names[i]) for i in order)
        rows = [
            f"  {self.names[i]:{width}}  {self.values[i]:6.1%}  [{self.low[i]:.1%}, {self.high[i]:.1%}]" for i in order
        ]
        if len(self.names) > len(order):
            rows.append(f"  and {len(self.names) - len(order)} more")
        return "\n".join(rows)


@dataclass(frozen=True)
class LearningStep(Result):
    """The held-out loss of one kernel on the pilot rows."""

    name: str
    loss: float  # squared error, relative to the variance of the targets: that of the mean is 1
    standard_error: float  # of the loss, over the pilot rows

    def __str__(self) -> str:
        return f"{self.name}: {self.loss:.3g} +- {self.standard_error:.2g}"


@dataclass(frozen=True)
class Direction(Result):
    """A direction among columns along which the learned metric measures distances."""

    share: float  # of the metric: its eigenvalue over the sum of all
    columns: tuple[str, ...]  # those with the largest coefficients, the largest first
    coefficients: tuple[float, ...]  # of these, for standardized columns; the direction has length 1

    def __str__(self) -> str:
        terms = zip(self.columns, self.coefficients, strict=True)
        return f"{self.share:.0%}: " + " ".join(f"{value:+.2f} {name}" for name, value in terms)


@dataclass(frozen=True, eq=False)
class LearnedSummary(Result):
    """What an automatic similarity learned from pilot rows."""

    reason: str  # what was chosen, in a sentence
    n_judged: int  # pilot rows whose loss is given; none of the compared kernels was fitted to them
    steps: tuple[LearningStep, ...]  # an isotropic Gaussian kernel first, then kernels with a metric, and their blend
    importance: GradientImportance
    directions: tuple[Direction, ...]  # the leading ones of a metric that is a matrix
    weights: tuple[float, ...]  # the factor of the prediction by each kernel

    @property
    def gain(self) -> float:
        """The share of the loss of the isotropic Gaussian kernel that learning saves."""
        return 1.0 - self.steps[-1].loss / self.steps[0].loss if self.steps[0].loss else 0.0

    def __str__(self) -> str:
        lines = [self.reason, f"squared error on {self.n_judged:,} pilot rows:", *(f"  {one}" for one in self.steps)]
        lines += ["importance of columns:", str(self.importance)]
        if self.directions:
            lines += ["leading directions:", *(f"  {one}" for one in self.directions)]
        return "\n".join(lines)

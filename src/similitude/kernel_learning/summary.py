"""What was learned for similarity="auto": losses before and after, importances of columns, and leading directions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from similitude.kernel_learning.auto import AutoChoice
from similitude.kernel_learning.columns import mean_metric
from similitude.kernel_learning.importance import GradientImportance
from similitude.kernel_learning.trials import Fit
from similitude.support import Result

MOST_LEADING, LEADING_SHARE, MOST_LOADINGS = 3, 0.05, 5
"""Directions that are kept, the share of the metric that one must have, and columns that are named of each."""


@dataclass(frozen=True)
class LearningStep(Result):
    """The held-out loss of one kernel on the pilot rows.

    Attributes
    ----------
    name : str
    loss : float
        Squared error, relative to the variance of the targets: that of the mean is 1.
    standard_error : float
        Of the loss, over the pilot rows.
    """

    name: str
    loss: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.name}: {self.loss:.3g} +- {self.standard_error:.2g}"


@dataclass(frozen=True)
class Direction(Result):
    """A direction among columns along which the learned metric measures distances.

    Attributes
    ----------
    share : float
        Of the metric: its eigenvalue over the sum of all.
    columns : tuple of str
        Those with the largest coefficients, the largest first.
    coefficients : tuple of float
        Of these, for standardized columns; the direction has length 1.
    """

    share: float
    columns: tuple[str, ...]
    coefficients: tuple[float, ...]

    def __str__(self) -> str:
        terms = zip(self.columns, self.coefficients, strict=True)
        return f"{self.share:.0%}: " + " ".join(f"{value:+.2f} {name}" for name, value in terms)


@dataclass(frozen=True, eq=False)
class LearnedSummary(Result):
    """What an automatic similarity learned from pilot rows.

    Attributes
    ----------
    reason : str
        What was chosen, in a sentence.
    n_judged : int
        Number of pilot rows whose loss is given; none of the compared kernels was fitted to them.
    steps : tuple of LearningStep
        An isotropic Gaussian kernel first, then what was chosen: kernels with a learned metric, and their blend.
    importance : GradientImportance
        How much the model depends on each column, with intervals.
    directions : tuple of Direction
        The leading ones of a metric that is a matrix; none if each column has a weight of its own.
    weights : tuple of float
        The factor of the prediction by each kernel.
    """

    reason: str
    n_judged: int
    steps: tuple[LearningStep, ...]
    importance: GradientImportance
    directions: tuple[Direction, ...]
    weights: tuple[float, ...]

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


def summarize(choice: AutoChoice) -> LearnedSummary:
    """Return what was learned, from what was chosen on the pilot rows."""
    parts, start = choice.parts, choice.gaussian
    steps = [_step("isotropic Gaussian kernel", start.losses)]
    steps += [_step(_name(part), part.losses) for part in parts if part is not start]
    if len(parts) > 1:
        predicted = sum(weight * part.predicted for weight, part in zip(choice.weights, parts, strict=True))
        losses = ((predicted - parts[0].candidate.targets) ** 2).sum(axis=1)
        steps.append(_step("blended", losses))
    best = min(parts, key=lambda part: part.loss)
    directions = _directions(mean_metric(best.candidate.metrics), choice.features.names, choice.features.owners)
    n = len(start.losses)
    return LearnedSummary(choice.reason, n, tuple(steps), choice.importance(), directions, tuple(choice.weights))


def _step(name: str, losses: np.ndarray) -> LearningStep:
    return LearningStep(name, float(losses.mean()), float(losses.std() / np.sqrt(len(losses))))


def _name(part: Fit) -> str:
    """Return a kernel and the kind of its metric in words."""
    metrics = part.candidate.metrics
    kind = "a learned matrix" if metrics[0].ndim == 2 else "learned weights of columns"
    equal = all(one.ndim == 1 and np.ptp(one) <= 1e-12 * np.abs(one).max() for one in metrics)
    family = type(part.candidate.k).__name__
    return f"isotropic {family} kernel" if equal else f"{family} kernel with {kind}"


def _directions(metric: np.ndarray, names: list[str], owners: np.ndarray) -> tuple[Direction, ...]:
    """Return the leading eigenvectors of a metric T T', by columns of the user."""
    if metric.ndim == 1:
        return ()
    vectors, sizes, _ = np.linalg.svd(metric, full_matrices=False)
    shares = sizes**2 / (sizes**2).sum()
    found = []
    for q in range(min(MOST_LEADING, len(shares))):
        if shares[q] < LEADING_SHARE:
            break
        largest = np.argsort(-np.abs(vectors[:, q]), kind="stable")[:MOST_LOADINGS]
        sign = np.sign(vectors[largest[0], q])
        columns = tuple(names[owners[i]] for i in largest)
        found.append(Direction(float(shares[q]), columns, tuple((sign * vectors[largest, q]).tolist())))
    return tuple(found)

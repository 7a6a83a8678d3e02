"""similarity="auto" for many rows in memory: exact fits in the cells of a partition, if these beat landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from similitude.compute import take
from similitude.evaluation import LastRows, Trial, at_rows
from similitude.fitting.automatic import exact_fit, in_double_precision, in_words
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.facts import FitOptions
from similitude.fitting.model import FittedModel, ScoredRows
from similitude.fitting.training_set import TrainingSet
from similitude.kernel_learning import (
    LARGEST_CELL,
    AutoChoice,
    CellFit,
    CellTree,
    is_clearly_lower,
    learn_cells,
    summarize,
)
from similitude.kernels import Partitioned, Tabular
from similitude.landmarks import LandmarkFeatures, Landmarks, factor_of_landmarks
from similitude.linear import LinearModel, Moments, Ridge
from similitude.similarity import Similarity
from similitude.support import number_of

RIVAL_LANDMARKS = 1_000
RIVAL_ROWS = 20_000
"""Landmarks, and rows that they are fitted to, whose loss cells must beat."""


class CellRows(NamedTuple):
    """Positions of rows that are fitted to, that choices are made on, and that judge the model."""

    fitted: np.ndarray
    chosen_on: np.ndarray
    judged: np.ndarray

    @classmethod
    def of(cls, order: np.ndarray, last: LastRows) -> CellRows:
        """Hold out the last rows of a random order."""
        cut = len(order) - last.evaluating
        return cls(order[: len(order) - last.held_out], order[len(order) - last.held_out : cut], order[cut:])


class CellTargets(NamedTuple):
    """Targets and weights of all rows, and the mean from which a model starts."""

    Y: np.ndarray
    weights: np.ndarray
    mean: np.ndarray

    @classmethod
    def of(cls, Y: np.ndarray, weights: np.ndarray, fitted: Any = slice(None)) -> CellTargets:
        """Take the mean over rows that are fitted to."""
        return cls(Y, weights, np.average(Y[fitted], axis=0, weights=weights[fitted]))

    @property
    def centered(self) -> tuple[np.ndarray, np.ndarray]:
        """Centered targets, and weights."""
        return self.Y - self.mean, self.weights


@dataclass(frozen=True, eq=False)
class CellPart:
    """A kernel, the cells that its metric gives, and exact fits in these.

    Attributes
    ----------
    k : Similarity
        Of objects, without cells.
    tree : CellTree
    fit : CellFit
    rounds : int
        In which cells learned metrics of their own.
    """

    k: Similarity
    tree: CellTree
    fit: CellFit
    rounds: int = 0

    @classmethod
    def of(cls, k: Any, X: Any, targets: CellTargets, penalty: float, rows: CellRows) -> CellPart | None:
        """Fit in cells; None if a cell is too large for that."""
        A = np.asarray(k.encode(X), dtype=np.float64)
        tree = CellTree.grow(A[np.concatenate(rows)])
        within = k.k if isinstance(k, Tabular) else k
        cells = Partitioned(within, tree.directions, tree.thresholds).cells(A)
        if np.bincount(cells).max() > LARGEST_CELL:
            return None
        fit = CellFit.fit(within, A, cells, None, penalty, targets.centered, rows.fitted, tree.n_cells)
        return cls(k, tree, fit)

    def learned(self, targets: CellTargets, rows: CellRows) -> CellPart:
        """Return the same with metrics that cells learn, where that is better."""
        fit, rounds = learn_cells(self.fit, targets.centered, rows.fitted, rows.chosen_on)
        return replace(self, fit=fit, rounds=rounds)

    @property
    def kernel(self) -> Similarity:
        """The kernel of objects that is zero between cells."""
        within = self.k.k if isinstance(self.k, Tabular) else self.k
        made = Partitioned(within, self.tree.directions, self.tree.thresholds, self.fit.metrics)
        if isinstance(self.k, Tabular):
            return self.k.with_params(k=made)
        return made


@dataclass(frozen=True, eq=False)
class CellBlend:
    """Fits in cells whose weighted sum is the prediction."""

    parts: tuple[CellPart, ...]
    shares: tuple[float, ...]

    @classmethod
    def of(cls, parts: list[CellPart], targets: CellTargets, rows: CellRows) -> CellBlend:
        """Choose the weights on held-out rows; a part without weight is left out."""
        if len(parts) == 1:
            return cls((parts[0],), (1.0,))
        Y, weights = targets.centered
        root = np.sqrt(weights[rows.chosen_on])[:, None]
        columns = [(root * part.fit.predicted(rows.chosen_on)).ravel() for part in parts]
        shares, _ = nnls(np.column_stack(columns), (root * Y[rows.chosen_on]).ravel())
        kept = [(part, float(share)) for part, share in zip(parts, shares, strict=True) if share > 0]
        kept = kept or [(parts[0], 1.0)]
        return cls(tuple(part for part, _ in kept), tuple(share for _, share in kept))

    @classmethod
    def learn(cls, choice: AutoChoice, X: Any, targets: CellTargets, rows: CellRows) -> CellBlend | None:
        """Fit in cells with the kernel that is best alone, and with a second one if that clearly helps.

        None if a cell is too large.
        """
        ranked = sorted(range(len(choice.parts)), key=lambda i: choice.parts[i].loss)
        kernels = choice.kernels()
        penalties = choice.penalties()
        first = CellPart.of(kernels[ranked[0]], X, targets, penalties[ranked[0]], rows)
        if first is None:
            return None
        alone = cls.of([first.learned(targets, rows)], targets, rows)
        for i in ranked[1:2]:
            second = CellPart.of(kernels[i], X, targets, penalties[i], rows)
            both = None
            if second is not None:
                both = cls.of([*alone.parts, second], targets, rows)
            if second is None or both is None or not both.clearly_beats(alone, targets, rows):
                break
            return cls.of([*alone.parts, second.learned(targets, rows)], targets, rows)
        return alone

    def clearly_beats(self, other: CellBlend, targets: CellTargets, rows: CellRows) -> bool:
        """Tell whether its loss is clearly lower on the rows on which choices are made."""
        mine, others = (one.trial(targets, rows.chosen_on).losses for one in (self, other))
        return is_clearly_lower(mine, others, targets.weights[rows.chosen_on])

    def trial(self, targets: CellTargets, rows: np.ndarray) -> Trial:
        """Evaluate the predictions for some rows."""
        return Trial.of(self.penalty, self.predicted(rows) + targets.mean, targets.Y[rows], targets.weights[rows])

    def predicted(self, rows: np.ndarray) -> np.ndarray:
        """Return the predictions of centered targets for some rows."""
        return np.asarray(sum(share * part.fit.predicted(rows) for part, share in self.pairs))

    @property
    def pairs(self) -> list[tuple[CellPart, float]]:
        """The parts with their weights."""
        return list(zip(self.parts, self.shares, strict=True))

    @property
    def penalty(self) -> float:
        """The largest penalty."""
        return max(part.fit.penalty for part in self.parts)

    def refitted(self, targets: CellTargets) -> CellBlend:
        """Return the same, fitted to all rows."""
        rows = np.arange(len(targets.Y))
        parts = tuple(replace(part, fit=part.fit.refitted(targets.centered, rows)) for part in self.parts)
        return replace(self, parts=parts)

    def in_words(self) -> str:
        """Return the cells and what was learned in them."""
        n = len(self.parts[0].fit.A)
        size = sum(part.fit.A.nbytes for part in self.parts) / 1e6
        cells = " and ".join(str(part.tree.n_cells) for part in self.parts)
        rounds = " and ".join(number_of(part.rounds, "round") for part in self.parts)
        shares = ""
        if len(self.shares) != 1:
            shares = f", blended with weights {' and '.join(f'{s:.2g}' for s in self.shares)}"
        return (
            f"the fit is exact in each of {cells} cells, whose metrics were learned again in {rounds}{shares}: "
            f"all {n:,} rows are kept, {size:.2g} MB"
        )


def fit_in_cells(data: TrainingSet, options: FitOptions, choice: AutoChoice, order: np.ndarray) -> FittedModel | str:
    """Fit ridge regression exactly in cells to all rows with a weight; return why not, if landmarks are to be used.

    Parameters
    ----------
    data, options
    choice : AutoChoice
        What was chosen on the first rows.
    order : array of int
        The rows with a weight in random order; on the last ones choices are made, and the very last judge.
    """
    # kept rows, and what they are encoded as, may take one part of the memory budget in this many
    if 8 * len(order) * choice.features.X.shape[1] * (1 + 2 * len(choice.parts)) > options.engine.budget / 4:
        return "exact fits in cells would keep all rows, for which the memory budget is too small"
    used = np.sort(order)
    X = in_double_precision(take(data.X, used))
    labels = at_rows(data.labels, used)
    rows = CellRows.of(np.searchsorted(used, order), data.last)
    targets = CellTargets.of(data.Y[used], data.weights[used], rows.fitted)
    blend = CellBlend.learn(choice, X, targets, rows)
    if blend is None:
        return f"more than {LARGEST_CELL:,} rows are so alike that they are not split into cells"
    trial = blend.trial(targets, rows.chosen_on)
    other = _landmark_trial(blend.parts[0].k, X, targets, rows)
    compared = (
        f"mean squared error on {len(rows.chosen_on):,} held-out rows {trial.loss:.3g}, "
        f"{other.loss:.3g} with {RIVAL_LANDMARKS:,} landmarks"
    )
    if not is_clearly_lower(trial.losses, other.losses, targets.weights[rows.chosen_on]):
        return f"exact fits in cells are not clearly better: {compared}"
    positions = used if data.sampling.places is None else data.sampling.places[used]
    return _final(blend, (X, positions, labels), targets, rows, choice, compared, data.groups_of(used))


def _final(
    blend: CellBlend,
    objects: tuple[Any, np.ndarray, np.ndarray | None],
    targets: CellTargets,
    rows: CellRows,
    choice: AutoChoice,
    compared: str,
    groups: np.ndarray | None,
) -> FittedModel:
    """Return the fit to all rows, judged by the fit without those that judge it."""
    X, positions, labels = objects
    trial = blend.trial(targets, rows.chosen_on)
    judged = blend.trial(targets, rows.judged)
    Y = targets.Y
    weights = targets.weights
    learned = summarize(choice)
    targets = CellTargets.of(Y, weights)
    blend = blend.refitted(targets)
    landmarks = [(part.kernel, Landmarks(X, positions, part.kernel.encode(X), labels, "all")) for part in blend.parts]
    penalties = tuple(part.fit.penalty for part in blend.parts)
    fit = exact_fit(
        learned,
        tuple(LandmarkFeatures(k, one) for k, one in landmarks),
        LinearModel(np.concatenate([share * part.fit.coefficients for part, share in blend.pairs]), targets.mean),
        BlendInfluence(Y if labels is None else labels, weights, targets.mean, penalties, blend.shares),
        (trial, (Y[rows.chosen_on], weights[rows.chosen_on]), rows.chosen_on),
        ScoredRows(judged, Y[rows.judged], weights[rows.judged], at_rows(groups, rows.judged)),
        f"{in_words(learned)}; {blend.in_words()}; {compared}",
    )
    if groups is None:
        return fit
    return replace(fit, groups=groups[rows.chosen_on])


def _landmark_trial(k: Similarity, X: Any, targets: CellTargets, rows: CellRows) -> Trial:
    """Return how landmarks of the same kernel do on the rows on which choices are made."""
    fitted = rows.fitted[:RIVAL_ROWS]
    which = fitted[:RIVAL_LANDMARKS]
    A = k.encode(X)
    factor = factor_of_landmarks(k.block(A[which], A[which]), single=True)
    assert factor is not None
    A = A.astype(np.float32)
    which = which[factor.pivots]
    features = LandmarkFeatures(k, Landmarks(which, None, A[which]), factor=factor.U).ready(np.float32)
    F = features.features(A[fitted])
    G = features.features(A[rows.chosen_on])
    ridge = Ridge(Moments.of(F, targets.Y[fitted], targets.weights[fitted]))
    judge = ridge.held_out(G, targets.Y[rows.chosen_on], targets.weights[rows.chosen_on])
    return ridge.best(judge)

"""similarity="auto" for many rows in memory: exact fits in the cells of a partition, if these beat landmarks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

from similitude.compute import take
from similitude.evaluation import LastRows, Trial, at_rows, gain
from similitude.fitting.automatic import exact_fit, in_double_precision, in_words
from similitude.fitting.facts import FitOptions
from similitude.fitting.influence import BlendInfluence
from similitude.fitting.model import FittedModel, ScoredRows
from similitude.fitting.training_set import TrainingSet
from similitude.kernel_learning import LARGEST_CELL, AutoChoice, CellFit, CellTree, learn_cells, summarize
from similitude.kernels import Partitioned, Tabular
from similitude.landmarks import LandmarkFeatures, Landmarks, factor_of_landmarks
from similitude.linear import LinearModel, Moments, Ridge
from similitude.similarity import Similarity
from similitude.support import number_of

RIVAL_LANDMARKS = 1_000
RIVAL_ROWS = 20_000
"""Landmarks, and rows that they are fitted to, whose loss cells must beat."""


class CellRows(NamedTuple):
    """Rows with targets and weights: those fitted to, those that choices are made on, and those held out from both."""

    Y: np.ndarray
    weights: np.ndarray
    fitted: np.ndarray
    chosen_on: np.ndarray
    held_out: np.ndarray

    @classmethod
    def of(cls, Y: np.ndarray, weights: np.ndarray, order: np.ndarray, last: LastRows) -> CellRows:
        """Hold out the last rows of a random order."""
        cuts = [len(order) - last.held_out, len(order) - last.evaluating]
        return cls(Y, weights, *np.split(order, cuts))

    @property
    def mean(self) -> np.ndarray:
        """The mean target of fitted rows, from which a model starts."""
        return np.asarray(np.average(self.Y[self.fitted], axis=0, weights=self.weights[self.fitted]))

    @property
    def centered(self) -> tuple[np.ndarray, np.ndarray]:
        """Centered targets, and weights."""
        return self.Y - self.mean, self.weights

    def clearly_lower(self, losses: np.ndarray, than: np.ndarray) -> bool:
        """Whether losses of the rows that choices are made on are lower by more than a standard error."""
        mean, error = gain(than, losses, self.weights[self.chosen_on])
        return mean > error


@dataclass(frozen=True, eq=False)
class CellPart:
    """A kernel of objects, the cells that its metric gives, and exact fits in these, after rounds of learning."""

    k: Any
    tree: CellTree
    fit: CellFit
    rounds: int = 0

    @classmethod
    def of(cls, k: Any, X: Any, penalty: float, rows: CellRows) -> CellPart | None:
        """Fit in cells; None if a cell is too large for that."""
        A = np.asarray(k.encode(X), dtype=np.float64)
        tree = CellTree.grow(A[np.concatenate(rows[2:])])
        within = k.k if isinstance(k, Tabular) else k
        cells = Partitioned(within, tree.directions, tree.thresholds).cells(A)
        if np.bincount(cells).max() > LARGEST_CELL:
            return None
        return cls(k, tree, CellFit.fit(within, A, cells, None, penalty, rows.centered, rows.fitted, tree.n_cells))

    def learned(self, rows: CellRows) -> CellPart:
        """Return the same with metrics that cells learn, where that is better."""
        fit, rounds = learn_cells(self.fit, rows.centered, rows.fitted, rows.chosen_on)
        return replace(self, fit=fit, rounds=rounds)

    @property
    def kernel(self) -> Similarity:
        """The kernel of objects that is zero between cells."""
        made = Partitioned(self.fit.k, self.tree.directions, self.tree.thresholds, self.fit.metrics)
        if isinstance(self.k, Tabular):
            return self.k.with_params(k=made)
        return made


@dataclass(frozen=True, eq=False)
class CellBlend:
    """Fits in cells whose weighted sum is the prediction: each part with its weight."""

    parts: tuple[tuple[CellPart, float], ...]

    @classmethod
    def of(cls, parts: list[CellPart], rows: CellRows) -> CellBlend:
        """Choose the weights on held-out rows; a part without weight is left out."""
        if len(parts) == 1:
            return cls(((parts[0], 1.0),))
        Y, weights = rows.centered
        root = np.sqrt(weights[rows.chosen_on])[:, None]
        columns = [(root * part.fit.predicted(rows.chosen_on)).ravel() for part in parts]
        shares, _ = nnls(np.column_stack(columns), (root * Y[rows.chosen_on]).ravel())
        kept = [(part, float(share)) for part, share in zip(parts, shares, strict=True) if share > 0]
        return cls(tuple(kept or [(parts[0], 1.0)]))

    @classmethod
    def learn(cls, choice: AutoChoice, X: Any, rows: CellRows) -> CellBlend | None:
        """Fit the best kernel in cells, and a second one if that clearly helps; None if a cell is too large."""
        kernels = zip(choice.parts, choice.kernels(), choice.penalties(), strict=True)
        (_, k, penalty), *others = sorted(kernels, key=lambda one: one[0].loss)
        first = CellPart.of(k, X, penalty, rows)
        if first is None:
            return None
        first = first.learned(rows)
        alone = cls.of([first], rows)
        for _, k, penalty in others[:1]:
            second = CellPart.of(k, X, penalty, rows)
            if second is None:
                break
            both = cls.of([first, second], rows)
            if rows.clearly_lower(*(one.trial(rows, rows.chosen_on).losses for one in (both, alone))):
                return cls.of([first, second.learned(rows)], rows)
        return alone

    def trial(self, rows: CellRows, which: np.ndarray) -> Trial:
        """Evaluate the predictions for some rows."""
        scores = np.asarray(sum(share * part.fit.predicted(which) for part, share in self.parts)) + rows.mean
        return Trial.of(max(self.penalties), scores, rows.Y[which], rows.weights[which])

    @property
    def penalties(self) -> tuple[float, ...]:
        """The penalty of each part."""
        return tuple(part.fit.penalty for part, _ in self.parts)

    def refitted(self, rows: CellRows) -> CellBlend:
        """Return the same, fitted to other rows."""
        fits = [part.fit.refitted(rows.centered, rows.fitted) for part, _ in self.parts]
        pairs = zip(self.parts, fits, strict=True)
        return CellBlend(tuple((replace(part, fit=fit), share) for (part, share), fit in pairs))

    def in_words(self) -> str:
        """Return the cells and what was learned in them."""
        n = len(self.parts[0][0].fit.A)
        size = sum(part.fit.A.nbytes for part, _ in self.parts) / 1e6
        cells = " and ".join(str(part.tree.n_cells) for part, _ in self.parts)
        rounds = " and ".join(number_of(part.rounds, "round") for part, _ in self.parts)
        shares = " and ".join(f"{share:.2g}" for _, share in self.parts)
        blended = ""
        if len(self.parts) > 1:
            blended = f", blended with weights {shares}"
        return (
            f"the fit is exact in each of {cells} cells, whose metrics were learned again in {rounds}{blended}: "
            f"all {n:,} rows are kept, {size:.2g} MB"
        )


def fit_in_cells(data: TrainingSet, options: FitOptions, choice: AutoChoice, order: np.ndarray) -> FittedModel | str:
    """Fit ridge regression exactly in cells to all rows with a weight; return why not, if landmarks are to be used."""
    # kept rows, and what they are encoded as, may take one part of the memory budget in this many
    if 8 * len(order) * choice.features.X.shape[1] * (1 + 2 * len(choice.parts)) > options.engine.budget / 4:
        return "exact fits in cells would keep all rows, for which the memory budget is too small"
    used = np.sort(order)
    X = in_double_precision(take(data.X, used))
    labels = at_rows(data.labels, used)
    Y = data.Y[used]
    weights = data.weights[used]
    rows = CellRows.of(Y, weights, np.searchsorted(used, order), data.last)
    blend = CellBlend.learn(choice, X, rows)
    if blend is None:
        return f"more than {LARGEST_CELL:,} rows are so alike that they are not split into cells"
    trial = blend.trial(rows, rows.chosen_on)
    other = _landmark_trial(blend.parts[0][0].k, X, rows)
    compared = (
        f"mean squared error on {len(rows.chosen_on):,} held-out rows {trial.loss:.3g}, "
        f"{other.loss:.3g} with {RIVAL_LANDMARKS:,} landmarks"
    )
    if not rows.clearly_lower(trial.losses, other.losses):
        return f"exact fits in cells are not clearly better: {compared}"
    positions = data.located_at(used)
    groups = data.groups_of(used)
    held_out = blend.trial(rows, rows.held_out)
    all_rows = rows._replace(fitted=np.arange(len(Y)))
    blend = blend.refitted(all_rows)
    kernels = [part.kernel for part, _ in blend.parts]
    shares = tuple(share for _, share in blend.parts)
    coefficients = np.concatenate([share * part.fit.coefficients for part, share in blend.parts])
    learned = summarize(choice)
    fit = exact_fit(
        learned,
        tuple(LandmarkFeatures(k, Landmarks(X, positions, k.encode(X), labels, "all")) for k in kernels),
        LinearModel(coefficients, all_rows.mean),
        BlendInfluence(data.known[used], weights, all_rows.mean, blend.penalties, shares),
        (trial, (Y[rows.chosen_on], weights[rows.chosen_on]), rows.chosen_on),
        ScoredRows(held_out, Y[rows.held_out], weights[rows.held_out], at_rows(groups, rows.held_out)),
        f"{in_words(learned)}; {blend.in_words()}; {compared}",
    )
    return replace(fit, groups=at_rows(groups, rows.chosen_on))


def _landmark_trial(k: Similarity, X: Any, rows: CellRows) -> Trial:
    """Return the trial of landmarks of the same kernel on the rows on which choices are made."""
    fitted = rows.fitted[:RIVAL_ROWS]
    which = fitted[:RIVAL_LANDMARKS]
    A = k.encode(X)
    factor = factor_of_landmarks(k.block(A[which], A[which]), single=True)
    assert factor is not None
    A = A.astype(np.float32)
    which = which[factor.pivots]
    features = LandmarkFeatures(k, Landmarks(which, None, A[which]), factor=factor.U).ready(np.float32)
    ridge = Ridge(Moments.of(features.features(A[fitted]), rows.Y[fitted], rows.weights[fitted]))
    F = features.features(A[rows.chosen_on])
    return ridge.best(ridge.held_out(F, rows.Y[rows.chosen_on], rows.weights[rows.chosen_on]))

"""similarity="auto": learned kernels and exact fits for vectors and tables, a member of a family for other objects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import is_sparse, is_tensor, take
from similitude.compute.engines import Engine, phase
from similitude.evaluation import Trial, assign_folds, equals_judged_together, groups_of_equals
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.landmark_count import LandmarkCurve
from similitude.fitting.members import Family
from similitude.fitting.nested_folds import FEWEST_NESTED_ROWS, Judged
from similitude.landmarks import PROJECTION, LandmarkFeatures, Landmarks, Representation
from similitude.linear import LinearModel
from similitude.similarity import Auto, Similarity

if TYPE_CHECKING:
    from similitude.kernel_learning import AutoChoice, ExactRidge, LearnedSummary

EVERY_ROW = "every row is a landmark"
"""Why an exact fit has no more landmarks."""

FEWEST_LEARNED = 60
"""Number of rows below which nothing is learned: a Gaussian kernel is used."""

MATRICES = 3
"""Matrices of the size of a Gram matrix that are in memory at once."""

JUDGING_ROWS = 1000
"""Most rows outside of the pilot that judge a model, each left out alone."""

ENOUGH_OUTSIDE = 300
"""Number of rows outside of the pilot from which on these judge; of fewer, nested folds do."""

FEWEST_WITH_ROWS_APART, SHARE_APART = 1200, 0.2
"""Number of rows from which on some are kept out of the pilot, and their share: nested folds would learn twice more."""


LEARNED_KINDS = ("vectors", "table")
"""Kinds of objects for which a kernel is learned; for others, one of a family of similarities is chosen."""


def similarity_without_labels(kind: str) -> Similarity:
    """Return the similarity for a kind of objects where nothing is learned from labels."""
    from similitude.kernels import default_similarity

    return default_similarity(None, kind) if kind in LEARNED_KINDS else Auto(kind)


def try_family(
    X: Any, order: np.ndarray, kind: str, judged_together: bool, random_state: Any, engine: Engine
) -> Family:
    """Try the similarities for a kind of objects on the first of some rows in random order.

    For `judged_together` see `learn_on_pilot`.
    """
    from similitude.kernels import family_of

    members = family_of(kind, X)
    if judged_together:
        _, encoding = members[0].prepare(X, random_state)
        order = equals_judged_together(order, groups_of_equals(encoding, order))
    return Family.of(members, X, order, random_state, engine)


def can_learn(X: Any, n: int, memory: int) -> bool:
    """Tell whether there are enough rows of dense vectors or of a table, and memory to learn a kernel from them."""
    from similitude.kernel_learning import pilot_size

    return n >= FEWEST_LEARNED and not is_sparse(X) and not is_tensor(X) and fits_exactly(pilot_size(n), memory)


def fits_exactly(n: int, memory: int) -> bool:
    """Tell whether an exact fit to n rows fits into a memory budget: their Gram matrix, its factor and a copy."""
    return MATRICES * 8 * n**2 <= memory


def learn_on_pilot(
    X: Any, Y: np.ndarray, order: np.ndarray, kind: str, judged_together: bool, names: list[str] | None = None
) -> tuple[AutoChoice, np.ndarray]:
    """Choose kernels on the first of many rows in random order; also return the order in which copies come together.

    Parameters
    ----------
    X : array or table
    Y : array of shape (n, outputs)
    order : array of int
        The rows with a weight in random order; the last ones judge the model later.
    kind : {"vectors", "table"}
    judged_together : bool
        Whether rows that equal one of the last judge it too, so that they are not learned from.
    names : list of str, optional
        Of the columns of vectors.
    """
    from similitude.kernel_learning import choose_automatically, pilot_size

    if judged_together:
        _, encoding = similarity_without_labels(kind).prepare(X)
        order = equals_judged_together(order, groups_of_equals(encoding, order))
    pilot = order[: pilot_size(len(order))]
    with phase("choosing the kernel on a sample of the rows"):
        choice = choose_automatically(take(X, pilot), Y[pilot], np.arange(len(pilot)), kind == "table")
    return choice.named(names), order


def best_alone(choice: AutoChoice) -> Similarity:
    """Return the kernel that is best alone."""
    best = min(range(len(choice.parts)), key=lambda i: choice.parts[i].loss)
    return choice.kernels()[best]


@dataclass(frozen=True, eq=False)
class ExactFit:
    """A model in which every row with a weight is a landmark.

    Attributes
    ----------
    learned : LearnedSummary
    features : tuple of LandmarkFeatures
        One for each kernel that is part of the blend.
    linear : LinearModel
    influence : BlendInfluence
        What every row adds to a prediction.
    trial : Trial
        The predictions for rows that were left out one by one, for the scale of probabilities.
    tried : tuple of arrays
        The targets and weights of these rows.
    judge : callable
        Returns the predictions for rows that had no influence on them; it may fit again in folds.
    note : str
        What was learned, and the size of the model.
    at : array of int
        Which landmarks the rows of the trial are.
    """

    learned: LearnedSummary
    features: tuple[LandmarkFeatures, ...]
    linear: LinearModel
    influence: BlendInfluence
    trial: Trial
    tried: tuple[np.ndarray, np.ndarray]
    judge: Callable[[], Judged]
    note: str
    at: np.ndarray

    @property
    def kernels(self) -> list[Similarity]:
        """The kernels of the blend."""
        return [one.similarity for one in self.features]

    @property
    def representation(self) -> Representation:
        """Why every row is a landmark."""
        return Representation(PROJECTION, "it is a kernel, and every row is a landmark: the fit is exact")

    @property
    def curve(self) -> LandmarkCurve:
        """The loss with all rows as landmarks."""
        return LandmarkCurve.of([len(self.features[0].landmarks)], [self.trial], EVERY_ROW)


def in_words(learned: LearnedSummary) -> str:
    """Return what was chosen, and the columns that count."""
    return f"similarity='auto' chose {learned.reason}; what counts: {learned.importance.in_short()}"


def fit_exactly(
    X: Any,
    Y: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray | None,
    order: np.ndarray,
    seed: Any,
    kind: str,
    positions: np.ndarray | None = None,
    names: list[str] | None = None,
) -> ExactFit:
    """Choose kernels on pilot rows, and fit ridge regression to all rows with a weight.

    Parameters
    ----------
    X : array or table
    Y, weights : array
    labels : array of int, or None
        The class number of each row.
    order : array of int
        The rows with a weight in random order.
    seed : int or None
        Of the folds.
    kind : {"vectors", "table"}
    positions : array of int, optional
        The positions of the rows among those that the user gave.
    names : list of str, optional
        Of the columns of vectors.
    """
    from similitude.kernel_learning import summarize

    used = np.sort(order)
    at = used if positions is None else positions[used]
    places = np.searchsorted(used, order)
    some, Y, weights = in_double_precision(take(X, used)), Y[used], weights[used]
    labels = None if labels is None else labels[used]
    blend = _Blend.fit(some, Y, weights, places, kind, judges=True)
    features = tuple(
        LandmarkFeatures(k, Landmarks(some, at, A, labels, "all"))
        for k, A in zip(blend.kernels, blend.encodings, strict=True)
    )
    trial, tried = blend.left_out(Y, weights)
    judge = partial(_judged, blend, some, Y, weights, labels, places, seed, kind, at)
    known = Y if labels is None else labels
    shares, penalties = tuple(map(float, blend.choice.weights)), tuple(map(float, blend.choice.penalties()))
    influence = BlendInfluence(known, weights, blend.mean, penalties, shares)
    learned, (n, width) = summarize(blend.choice.named(names)), blend.choice.features.X.shape
    size = 8 * n * (width + Y.shape[1]) * len(features) / 1e6
    note = f"{in_words(learned)}; the fit is exact: all {n:,} rows are kept, {size:.2g} MB"
    return ExactFit(learned, features, blend.linear, influence, trial, tried, judge, note, blend.judged)


def in_double_precision(X: Any) -> Any:
    """Return rows that are kept as landmarks: with a small penalty, similarities need all digits."""
    return X.astype(np.float64) if isinstance(X, np.ndarray) and X.dtype == np.float32 else X


@dataclass(frozen=True, eq=False)
class _Blend:
    """Kernels, and exact models of them, whose weighted sum is the prediction.

    `judged` are the rows that are predicted by models without them, `groups` numbers equal rows, and `apart` tells
    whether the judged rows had no influence on any choice.
    """

    choice: AutoChoice
    kernels: tuple[Any, ...]
    encodings: tuple[np.ndarray, ...]
    models: tuple[ExactRidge, ...]
    mean: np.ndarray
    judged: np.ndarray
    groups: np.ndarray
    apart: bool

    @classmethod
    def fit(
        cls,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        order: np.ndarray,
        kind: str,
        judges: bool = False,
        left_out: bool = False,
    ) -> _Blend:
        """Choose kernels on the first rows and fit them to all; with `judges`, some are kept from the choice.

        With `left_out` every row is judged, left out alone.
        """
        from similitude.kernel_learning import ExactRidge, choose_automatically

        n_apart = rows_apart(len(order)) if judges else 0
        with phase("choosing the kernel"):
            choice = choose_automatically(X, Y, order[: len(order) - n_apart], table=kind == "table")
        kernels, mean = choice.kernels(), np.average(Y, axis=0, weights=weights)
        encodings = tuple(k.encode(X) for k in kernels)
        groups = groups_of_equals(encodings[0], np.arange(len(Y))) if judges else np.arange(len(Y))
        judged = _rows_apart(choice, order, groups) if judges else order[:0]
        apart = len(judged) >= ENOUGH_OUTSIDE
        judged = judged if apart or not (judges or left_out) else np.arange(len(Y))
        parts = zip(kernels, encodings, choice.penalties(), strict=True)
        with phase("computing similarities, and solving"):
            models = tuple(ExactRidge.fit(k, A, Y - mean, weights, penalty, judged) for k, A, penalty in parts)
        return cls(choice, kernels, encodings, models, mean, judged, groups, apart)

    @property
    def linear(self) -> LinearModel:
        pairs = zip(self.choice.weights, self.models, strict=True)
        return LinearModel(np.concatenate([weight * model.coefficients for weight, model in pairs]), self.mean)

    def scores(self, X: Any) -> np.ndarray:
        """Return the predictions for new rows."""
        parts = zip(self.kernels, self.encodings, self.models, self.choice.weights, strict=True)
        return self.mean + sum(weight * (k.block(k.encode(X), A) @ model.coefficients) for k, A, model, weight in parts)

    def left_out(self, Y: np.ndarray, weights: np.ndarray) -> tuple[Trial, tuple[np.ndarray, np.ndarray]]:
        """Return how the judged rows fare, each left out alone, and their targets and weights."""
        rows, pairs = self.judged, zip(self.choice.weights, self.models, strict=True)
        scores = self.mean + sum(weight * model.left_out for weight, model in pairs)
        trial = Trial.of(max(self.choice.penalties()), scores, Y[rows], weights[rows])
        return trial, (Y[rows], weights[rows])


def rows_apart(n: int) -> int:
    """Return how many of n rows take no part in any choice, so that they can judge the model; none of few.

    >>> rows_apart(500), rows_apart(2000), rows_apart(5000)
    (0, 400, 2400)
    """
    from similitude.kernel_learning import pilot_size

    if n < FEWEST_WITH_ROWS_APART:
        return 0
    return max(n - pilot_size(n), ENOUGH_OUTSIDE, int(SHARE_APART * n))


def _rows_apart(choice: AutoChoice, order: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return rows that had no influence on the choice and equal no other row, in random order."""
    alone = np.bincount(groups)[groups] == 1
    alone[choice.rows] = False
    return order[alone[order]][:JUDGING_ROWS]


def _judged(
    blend: _Blend,
    X: Any,
    Y: np.ndarray,
    weights: np.ndarray,
    labels: np.ndarray | None,
    order: np.ndarray,
    seed: Any,
    kind: str,
    at: np.ndarray,
) -> Judged:
    """Return how rows fare that had no influence on kernels, metrics and penalties, nor on the model.

    They are left out one by one, if enough rows took no part in the choice and equal no other row, or if hardly any
    rows differ; otherwise all is chosen again in nested folds.
    """
    left_out, (truth, counted) = blend.left_out(Y, weights)
    if blend.apart or blend.groups.max() + 1 < FEWEST_NESTED_ROWS:
        return Judged(left_out, truth, counted, positions=at[blend.judged])
    folds, scores, within = assign_folds(blend.groups, labels, seed), np.empty(Y.shape), []
    for fold in np.unique(folds):
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        inside = np.argsort(np.argsort(order)[train])
        part = _Blend.fit(take(X, train), Y[train], weights[train], inside, kind, left_out=True)
        scores[test] = part.scores(take(X, test))
        alone, _ = part.left_out(Y[train], weights[train])
        within.append((alone.scores, Y[train]))
    trial = Trial.of(max(blend.choice.penalties()), scores, Y, weights)
    return Judged(trial, Y, weights, blend.groups, at, left_out, folds, tuple(within))

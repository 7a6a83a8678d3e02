"""similarity="auto": learned kernels and exact fits for vectors and tables, a member of a family for other objects."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import Encoding, take
from similitude.evaluation import (
    Pilot,
    Trial,
    at_rows,
    fold_pairs,
    nested_folds_of_fit,
)
from similitude.fitting import limits
from similitude.fitting.facts import LEARNED_KINDS, FitOptions
from similitude.fitting.influence import BlendInfluence
from similitude.fitting.members import Family
from similitude.fitting.model import Evaluation, FittedModel, LandmarkCurve, ScoredRows
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import PROJECTION, LandmarkFeatures, Landmarks, Representation
from similitude.linear import LinearModel, exact_ridge
from similitude.similarity import Auto, Learnable, Similarity, phase
from similitude.support import Guarantee

if TYPE_CHECKING:
    from similitude.kernel_learning import AutoChoice, Learned, LearnedSummary


def learn_similarities(data: TrainingSet, options: FitOptions) -> tuple[tuple[Similarity, ...], str]:
    """Learn similarities, not from the last of many rows; return all, and what was learned in a sentence."""
    found = []
    notes = []
    for k in options.similarities:
        if isinstance(k, Learnable):
            pilot = data.first(data.order, Pilot.of(len(data.order)).size)
            learned = _learned(k, take(data.X, pilot), data.Y[pilot], options.random_state, data.groups_of(pilot))
            importance = learned.importance.named(options.names)
            notes.append(f"{k!r}: {learned.reason}; what counts: {importance.in_short()}")
            k = learned.similarity
        found.append(k)
    return tuple(found), "; ".join(notes)


def _learned(k: Similarity, X: Any, Y: np.ndarray, random_state: Any, groups: np.ndarray | None) -> Learned:
    from similitude.kernel_learning import learn_from_targets

    return learn_from_targets(k, X, Y, random_state=random_state, groups=groups)


def prepared_by_labels(
    k: Similarity, X: Any, Y: np.ndarray, known: np.ndarray, random_state: Any, groups: np.ndarray | None = None
) -> tuple[Similarity, Encoding]:
    """Return a similarity learned from or resolved on the known rows, which may have groups, and these encoded."""
    some = take(X, known)
    if isinstance(k, Learnable):
        k = _learned(k, some, Y[known], random_state, groups).similarity
    return k.prepare(some, random_state)


def guarantee_of_learned(classes: bool) -> Guarantee:
    """Return the guarantee of a kernel that was learned, or chosen, from rows with classes or numbers."""
    if classes:
        return Guarantee.none("the kernel was learned from the same rows, the theorems are about one fixed beforehand")
    return Guarantee.none("the theorems are about classes")


EVERY_ROW = "every row is a landmark"
"""Why an exact fit has no more landmarks."""


def similarity_without_labels(kind: str) -> Similarity:
    """Return the similarity for a kind of objects where nothing is learned from labels."""
    from similitude.kernels import default_similarity

    if kind in LEARNED_KINDS:
        return default_similarity(None, kind)
    return Auto(kind)


def try_family(data: TrainingSet, options: FitOptions) -> Family:
    """Try the similarities for a kind of objects on the first of some rows in random order."""
    members = data.family(options.kind)
    tried = data.first(data.order, len(data.order))
    return Family.of(members, data.X, tried, options.random_state, options.engine)


def learn_on_pilot(data: TrainingSet, options: FitOptions) -> tuple[AutoChoice, np.ndarray]:
    """Choose kernels on the first of many rows; also return the order of rows, of which the last evaluate the model."""
    from similitude.kernel_learning import choose_automatically

    order = data.order
    pilot = data.first(order, Pilot.of(len(order)).size)
    n = np.arange(len(pilot))
    table = options.kind == "table"
    with phase("choosing the kernel on a sample of the rows"):
        X = take(data.X, pilot)
        choice = choose_automatically(X, data.Y[pilot], n, Pilot.of(len(n)), table, data.groups_of(pilot))
    return choice.named(options.names), order


def exact_fit(
    summary: LearnedSummary,
    features: tuple[LandmarkFeatures, ...],
    linear: LinearModel,
    influence: BlendInfluence,
    left_out: tuple[Trial, tuple[np.ndarray, np.ndarray], np.ndarray],
    evaluation: Evaluation,
    chosen: str,
) -> FittedModel:
    """Return a fit of learned kernels in which every row with a weight is a landmark."""
    trial, held_out, at = left_out
    labels = features[0].landmarks.labels
    reason = Representation(PROJECTION, "it is a kernel, and every row is a landmark: the fit is exact")
    return FittedModel(
        features=features,
        linear=linear,
        influence=influence,
        trial=trial,
        held_out=held_out,
        evaluation=evaluation,
        curve=LandmarkCurve.of([(len(features[0].landmarks), trial)], EVERY_ROW),
        representations=(reason,) * len(features),
        guarantee=guarantee_of_learned(labels is not None),
        chosen=chosen,
        learned=summary,
        at=at,
        scores=scores_of(summary),
    )


def scores_of(learned: LearnedSummary) -> tuple[tuple[str, float], ...]:
    """Return the compared kernels with their losses."""
    return tuple((one.name, one.loss) for one in learned.steps)


def in_words(learned: LearnedSummary) -> str:
    """Return what was chosen, and the columns that count."""
    return f"{learned.reason}; what counts: {learned.importance.in_short()}"


def fit_exactly(data: TrainingSet, options: FitOptions, n_apart: int) -> FittedModel:
    """Choose kernels on pilot rows, and fit ridge regression to all rows with a weight; some take part in no choice."""
    from similitude.kernel_learning import summarize

    used = np.sort(data.order)
    at = data.located_at(used)
    X = in_double_precision(take(data.X, used))
    Y = data.Y[used]
    weights = data.weights[used]
    labels = at_rows(data.labels, used)
    groups = data.groups_of(used)
    order = np.searchsorted(used, data.order)
    blend = _Blend(X, Y, weights, order, options.kind, groups, data.units(used), n_apart)
    choice = blend.choice
    features = tuple(
        LandmarkFeatures(k, Landmarks(X, at, A, labels, "all"))
        for k, A in zip(blend.kernels, blend.encodings, strict=True)
    )
    shares = tuple(map(float, choice.weights))
    influence = BlendInfluence(data.known[used], weights, blend.mean, choice.penalties(), shares)
    summary = summarize(choice.named(options.names))
    n, width = choice.features.X.shape
    size = 8 * n * (width + Y.shape[1]) * len(features) / 1e6
    chosen = f"{in_words(summary)}; the fit is exact: all {n:,} rows are kept, {size:.2g} MB"
    evaluate = partial(blend.evaluate, labels, at, options.random_state)
    left_out = blend.trial(), (Y[blend.evaluated], weights[blend.evaluated]), blend.evaluated
    fit = exact_fit(summary, features, blend.linear, influence, left_out, evaluate, chosen)
    return replace(fit, groups=groups)


def in_double_precision(X: Any) -> Any:
    """Return rows that are kept as landmarks: with a small penalty, similarities need all digits."""
    if isinstance(X, np.ndarray) and X.dtype == np.float32:
        return X.astype(np.float64)
    return X


class _Blend:
    """Kernels, and exact models of them, whose weighted sum is the prediction.

    Kernels are chosen on the first rows of the order, and fitted to all; the last `n_apart` are kept from the choice.
    The `evaluated` rows are predicted by models without them, or without the rows that are `together` in their group:
    all rows, or some `apart` from every choice.
    """

    def __init__(
        self,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        order: np.ndarray,
        kind: str,
        together: np.ndarray | None,
        units: np.ndarray,
        n_apart: int = 0,
    ) -> None:
        from similitude.kernel_learning import choose_automatically

        self.X = X
        self.Y = Y
        self.weights = weights
        self.order = order
        self.kind = kind
        self.together = together
        self.units = units
        first = order[: len(order) - n_apart]
        with phase("choosing the kernel"):
            self.choice = choose_automatically(X, Y, first, Pilot.of(len(first)), kind == "table", together)
        self.kernels = self.choice.kernels()
        self.encodings = tuple(k.encode(X) for k in self.kernels)
        self.mean = np.average(Y, axis=0, weights=weights)
        self.evaluated = np.arange(len(Y))
        self.apart = False
        if n_apart:  # rows without copies that had no influence on the choice
            alone = np.bincount(units)[units] == 1
            alone[self.choice.rows] = False
            rows = order[alone[order]]
            n_evaluated = limits.rows_left_out(len(rows))
            self.apart = n_evaluated > 0
            if self.apart:
                self.evaluated = rows[:n_evaluated]
        fits = []
        with phase("computing similarities, and solving"):
            for k, A, penalty in zip(self.kernels, self.encodings, self.choice.penalties(), strict=True):
                fits.append(exact_ridge(k, A, Y - self.mean, weights, penalty, self.evaluated, groups=together))
        self.models, self.alone = zip(*fits, strict=True)

    @property
    def linear(self) -> LinearModel:
        pairs = zip(self.choice.weights, self.models, strict=True)
        return LinearModel(np.concatenate([weight * model.weights for weight, model in pairs]), self.mean)

    def scores(self, X: Any) -> np.ndarray:
        """Return the predictions for new rows."""
        parts = zip(self.kernels, self.encodings, self.models, self.choice.weights, strict=True)
        return self.mean + sum(weight * (k.block(k.encode(X), A) @ model.weights) for k, A, model, weight in parts)

    def trial(self) -> Trial:
        """Return the trial of the evaluated rows, each left out alone."""
        pairs = zip(self.choice.weights, self.alone, strict=True)
        scores = self.mean + sum(weight * predicted for weight, predicted in pairs)
        return Trial.of(max(self.choice.penalties()), scores, self.Y[self.evaluated], self.weights[self.evaluated])

    def evaluate(self, labels: np.ndarray | None, positions: np.ndarray, random_state: Any) -> ScoredRows:
        """Return the scores of rows that had no influence on kernels, metrics and penalties, nor on the model.

        They are left out one by one, if enough of them took no part in the choice and have no copies, or if there are
        few rows; otherwise all is chosen again in nested folds.
        """
        Y = self.Y
        weights = self.weights
        together = self.together
        left_out = self.trial()
        folds = None
        if not self.apart:
            folds = nested_folds_of_fit(self.units, labels, together is not None, random_state)
        if folds is None:
            rows = self.evaluated
            return ScoredRows(left_out, Y[rows], weights[rows], together, positions=positions[rows])
        scores = np.empty(Y.shape)
        within = []
        for train, test in fold_pairs(folds):
            if together is not None and not (Y[train] != Y[train[:1]]).any():  # the other groups are alike
                scores[test] = Y[train[0]]
                within.append((Y[train], Y[train]))
                continue
            inside = np.argsort(np.argsort(self.order)[train])
            known = at_rows(together, train)
            part = _Blend(take(self.X, train), Y[train], weights[train], inside, self.kind, known, self.units[train])
            scores[test] = part.scores(take(self.X, test))
            within.append((part.trial().scores, Y[train]))
        trial = Trial.of(left_out.lam, scores, Y, weights)
        return ScoredRows(trial, Y, weights, self.units, positions, left_out, folds, tuple(within))

"""similarity="auto": learned kernels and exact fits for vectors and tables, a member of a family for other objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import Encoding, take
from similitude.evaluation import (
    Pilot,
    Trial,
    at_rows,
    nested_folds_of_fit,
)
from similitude.fitting import limits
from similitude.fitting.blend_influence import BlendInfluence
from similitude.fitting.facts import LEARNED_KINDS, FitOptions
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
    """Learn the similarities that are to be learned; return all of them, and what was learned in a sentence.

    Of many rows the last evaluate the model, and are not learned from, nor are copies of these.
    """
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


OF_LEARNED = Guarantee.none("the kernel was learned from the same rows, the theorems are about one fixed beforehand")
"""The guarantee of a learned kernel of rows with classes."""

OF_NUMBERS = Guarantee.none("the theorems are about classes")
"""The guarantee of a fit to numbers."""

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
    """Return a fit of learned kernels in which every row with a weight is a landmark.

    `left_out` are the scores of rows left out one by one, their targets and weights, and which landmarks they are.
    """
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
        guarantee=OF_NUMBERS if labels is None else OF_LEARNED,
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
    at = used if data.sampling.places is None else data.sampling.places[used]
    X = in_double_precision(take(data.X, used))
    Y = data.Y[used]
    weights = data.weights[used]
    labels = at_rows(data.labels, used)
    groups = data.groups_of(used)
    order = np.searchsorted(used, data.order)
    units = data.units(used)
    blend = _Blend.fit(X, Y, weights, order, options.kind, groups, n_apart, units)
    choice = blend.choice
    features = tuple(
        LandmarkFeatures(k, Landmarks(X, at, A, labels, "all"))
        for k, A in zip(blend.kernels, blend.encodings, strict=True)
    )
    shares = tuple(map(float, choice.weights))
    influence = BlendInfluence(Y if labels is None else labels, weights, blend.mean, choice.penalties(), shares)
    summary = summarize(choice.named(options.names))
    n, width = choice.features.X.shape
    size = 8 * n * (width + Y.shape[1]) * len(features) / 1e6
    chosen = f"{in_words(summary)}; the fit is exact: all {n:,} rows are kept, {size:.2g} MB"
    evaluation = BlendFolds(blend, X, Y, weights, labels, order, options.random_state, options.kind, at, units, groups)
    trial = blend.trial(Y, weights)
    left_out = trial, (Y[blend.evaluated], weights[blend.evaluated]), blend.evaluated
    fit = exact_fit(summary, features, blend.linear, influence, left_out, evaluation, chosen)
    return replace(fit, groups=groups)


def in_double_precision(X: Any) -> Any:
    """Return rows that are kept as landmarks: with a small penalty, similarities need all digits."""
    if isinstance(X, np.ndarray) and X.dtype == np.float32:
        return X.astype(np.float64)
    return X


@dataclass(frozen=True, eq=False)
class _Blend:
    """Kernels, and exact models of them, whose weighted sum is the prediction.

    The evaluated rows are predicted by models without them: all rows, or some `apart` from every choice.
    """

    choice: AutoChoice
    kernels: tuple[Any, ...]
    encodings: tuple[np.ndarray, ...]
    models: tuple[LinearModel, ...]
    alone: tuple[np.ndarray, ...]  # what the models predict for the evaluated rows without them
    mean: np.ndarray
    evaluated: np.ndarray
    apart: bool

    @classmethod
    def fit(
        cls,
        X: Any,
        Y: np.ndarray,
        weights: np.ndarray,
        order: np.ndarray,
        kind: str,
        together: np.ndarray | None,
        n_apart: int = 0,
        units: np.ndarray | None = None,
    ) -> _Blend:
        """Choose kernels on the first rows and fit them to all; the last ones are kept from the choice.

        Rows are left out alone, or with the rows that are `together` in a group.
        """
        from similitude.kernel_learning import choose_automatically

        first = order[: len(order) - n_apart]
        with phase("choosing the kernel"):
            choice = choose_automatically(X, Y, first, Pilot.of(len(first)), kind == "table", together)
        kernels = choice.kernels()
        mean = np.average(Y, axis=0, weights=weights)
        encodings = tuple(k.encode(X) for k in kernels)
        apart = None
        if n_apart and units is not None:  # rows without copies that had no influence on the choice
            alone = np.bincount(units)[units] == 1
            alone[choice.rows] = False
            apart = limits.evaluation_rows(order[alone[order]])
        which = np.arange(len(Y)) if apart is None else apart
        parts = zip(kernels, encodings, choice.penalties(), strict=True)
        with phase("computing similarities, and solving"):
            fits = [exact_ridge(k, A, Y - mean, weights, penalty, which, groups=together) for k, A, penalty in parts]
        models, predicted = zip(*fits, strict=True)
        return cls(choice, kernels, encodings, models, predicted, mean, which, apart is not None)

    @property
    def linear(self) -> LinearModel:
        pairs = zip(self.choice.weights, self.models, strict=True)
        return LinearModel(np.concatenate([weight * model.weights for weight, model in pairs]), self.mean)

    def scores(self, X: Any) -> np.ndarray:
        """Return the predictions for new rows."""
        parts = zip(self.kernels, self.encodings, self.models, self.choice.weights, strict=True)
        return self.mean + sum(weight * (k.block(k.encode(X), A) @ model.weights) for k, A, model, weight in parts)

    def trial(self, Y: np.ndarray, weights: np.ndarray) -> Trial:
        """Return the trial of the evaluated rows, each left out alone."""
        rows = self.evaluated
        pairs = zip(self.choice.weights, self.alone, strict=True)
        scores = self.mean + sum(weight * predicted for weight, predicted in pairs)
        return Trial.of(max(self.choice.penalties()), scores, Y[rows], weights[rows])


@dataclass(frozen=True, eq=False)
class BlendFolds:
    """Evaluation of an exact fit by rows that had no influence on kernels, metrics and penalties, nor on the model.

    They are left out one by one, if enough rows took no part in the choice and have no copies, or if there are few
    rows; otherwise all is chosen again in nested folds.
    """

    blend: _Blend
    X: Any
    Y: np.ndarray
    weights: np.ndarray
    labels: np.ndarray | None
    order: np.ndarray
    seed: Any
    kind: str
    at: np.ndarray
    units: np.ndarray
    together: np.ndarray | None

    def evaluate(self) -> ScoredRows:
        """Return the scores of rows by models that they had no influence on."""
        X = self.X
        Y = self.Y
        weights = self.weights
        blend = self.blend
        rows = blend.evaluated
        left_out = blend.trial(Y, weights)
        together = self.together
        folds = None
        if not blend.apart:
            folds = nested_folds_of_fit(self.units, self.labels, together is not None, self.seed)
        if folds is None:
            return ScoredRows(left_out, Y[rows], weights[rows], together, positions=self.at[rows])
        scores = np.empty(Y.shape)
        within = []
        for fold in np.unique(folds):
            train = np.flatnonzero(folds != fold)
            test = np.flatnonzero(folds == fold)
            if together is not None and not (Y[train] != Y[train[:1]]).any():  # the other groups are alike
                scores[test] = Y[train[0]]
                within.append((Y[train], Y[train]))
                continue
            inside = np.argsort(np.argsort(self.order)[train])
            known = at_rows(together, train)
            part = _Blend.fit(take(X, train), Y[train], weights[train], inside, self.kind, known)
            scores[test] = part.scores(take(X, test))
            within.append((part.trial(Y[train], weights[train]).scores, Y[train]))
        trial = Trial.of(max(blend.choice.penalties()), scores, Y, weights)
        return ScoredRows(trial, Y, weights, self.units, self.at, left_out, folds, tuple(within))

"""Similarities with weights to learn: fit, weigh each feature by its root mean squared gradient, and fit again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.kernel_learning.importance import GradientImportance
from similitude.kernel_learning.pilot import PilotSplit
from similitude.kernel_learning.rounds import LearnedPaths, Path, guarded, learn_path
from similitude.kernel_learning.trials import ALONG_PENALTIES, Candidate, Fit, Setting
from similitude.kernel_learning.weight_problems import (
    WEIGHABLE,
    FeatureProblem,
    PartProblem,
    columns_problem,
    sum_problem,
    terms_of,
)
from similitude.kernels import Columns, Gower, Jaccard
from similitude.similarity import Normalized, Pullback, Scaled, Similarity, Sum, image


class WeightCandidate(Candidate):
    """A similarity with weights for each split."""

    moves = ALONG_PENALTIES

    def __init__(self, problem: Any, splits: tuple[PilotSplit, ...], weights: tuple[np.ndarray, ...]) -> None:
        super().__init__(splits)
        self.problem = problem
        self.weights = weights

    @cached_property
    def normalized(self) -> list[tuple[np.ndarray, np.ndarray, float]]:
        """The similarities of fitted, and of held-out and fitted rows, of each split, and what they were divided by."""
        found = []
        for split, w in zip(self.splits, self.weights, strict=True):
            K, C = self.problem.grams(w, *_places(split))
            size = float(K.diagonal().mean()) or 1.0
            found.append((K / size, C / size, size))
        return found

    def grams(self, width: float, dtype: type) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the similarities, those of fitted rows in a precision; they have no width."""
        return [(K.astype(dtype), C) for K, C, _ in self.normalized]

    def models(self, fit: Fit) -> Iterator[tuple[np.ndarray, tuple[np.ndarray, np.ndarray], np.ndarray]]:
        """Yield the weights, the rows and the dual coefficients of each split."""
        for w, split, (_, _, size), a in zip(self.weights, self.splits, self.normalized, fit.coefficients, strict=True):
            yield w, _places(split), a.astype(np.float64) / size

    def next_round(self, fit: Fit) -> Fit:
        """Return the similarity with the roots of the mean squared gradients of a fit as weights."""
        found = []
        begin = 0
        for w, (fitted, held_out), a in self.models(fit):
            predicted = fit.predicted[begin : begin + len(held_out)]
            begin += len(held_out)
            squares = self.problem.squares(w, fitted, held_out, a, predicted)
            found.append(self.problem.unit(np.sqrt(squares)) if squares.any() else w)
        return WeightCandidate(self.problem, self.splits, tuple(found)).best(fit.setting)

    def mean_weights(self) -> np.ndarray:
        """Return the mean of the splits' weights."""
        return np.asarray(self.problem.unit(np.mean(self.weights, axis=0)))


def has_weights(k: Similarity) -> bool:
    """Whether a similarity has weights of features, columns or terms, rather than a metric."""
    return isinstance(_base(k), (*WEIGHABLE, Gower, Columns)) or (type(k) in (Sum, Scaled) and len(terms_of(k)) > 1)


def _base(k: Similarity) -> Similarity:
    """Return what was normalized or pulled back."""
    return _base(k.k) if type(k) in (Normalized, Pullback) else k  # type: ignore[attr-defined]


def check_weighable(k: Similarity) -> None:
    """Refuse weights that are fixed already, and factors below zero, before anything is computed."""
    k.check_params()
    base: Any = _base(k)
    if isinstance(base, WEIGHABLE):
        if getattr(base, "attributes", None) is not None:
            raise TypeError(f"{base!r} compares attributes of nodes: it has no weights that could be learned")
        if base.weights is not None and not isinstance(base.weights, str):
            raise ValueError(f"{base!r} has weights already: give the kernel without them, or with weights='idf'")
        if isinstance(base, Jaccard) and isinstance(k, Normalized):
            raise TypeError(f"{k!r} is {base!r}, which has K(x, x) = 1: leave .normalized() out")
    elif isinstance(base, (Gower, Columns)) and base is not k:
        raise TypeError(f"learn_kernel learns the weights of {base!r}, not of {k!r}")
    elif isinstance(base, (Sum, Scaled)) and any(factor < 0 for factor, _ in terms_of(base)):
        raise ValueError(f"{base!r} has a negative factor: weights of a sum that is learned must be >= 0")


def weight_problem(k: Similarity, X: Any, order: np.ndarray, random_state: Any) -> FeatureProblem | PartProblem:
    """Return the problem of learning the weights of a similarity on the rows of X in this order."""
    if isinstance(k, (Gower, Columns)):
        return columns_problem(k, X, order)
    if isinstance(k, (Sum, Scaled)):
        return sum_problem(terms_of(k), X, order, random_state)
    base, objects, whole = _unwrapped(k, take(X, order))
    cosine = isinstance(base, Normalized)
    inner: Any = base.k if isinstance(base, Normalized) else base
    return FeatureProblem(inner, cosine, objects, inner.feature_table(objects), whole)


def _unwrapped(k: Similarity, X: Any) -> tuple[Similarity, Any, Callable[[Similarity], Similarity]]:
    """Return what was pulled back, the images of the objects, and a function that pulls a similarity back again."""
    if not isinstance(k, Pullback):
        return k, X, lambda made: made
    inner, objects, whole = _unwrapped(k.k, image(k.f, X, k.batched))
    return inner, objects, lambda made: Pullback(whole(made), k.f, k.batched)


def search_weights(problem: Any, splits: tuple[PilotSplit, ...]) -> LearnedPaths:
    """Learn weights from each start, and keep the best only if it clearly beats the kernel, under its name."""
    starts = [problem.starts(_places(split)[0]) for split in splits]
    names = list(starts[0])
    paths: list[Path] = []
    setting: Setting = (0, -1)
    for name in names:
        candidate = WeightCandidate(problem, splits, tuple(one[name] for one in starts))
        start = candidate.best(setting)
        paths.append(learn_path(f"from {name}", start, lambda fit, _: fit.candidate.next_round(fit)))
        setting = paths[0].fits[0].setting
    found = guarded(paths[0].fits[0], paths, f"{names[0]} were kept: no others clearly lower the", _won)
    if not found.name:
        return found._replace(name=names[0])
    at_start = next((path for path in paths if path.fits[0] is found.chosen), None)
    return found._replace(name=at_start.name.removeprefix("from ") if at_start else "")


def _won(path: Path) -> str:
    rounds = path.fits.index(path.best)
    if not rounds:
        return f"{path.name.removeprefix('from ')} weights lower the"
    return f"learned weights ({path.name}, round {rounds}) lower the"


def _places(split: PilotSplit) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of the fitted and of the held-out rows."""
    return split.X[:, 0], split.X_held_out[:, 0]


def importance_of(fit: Fit) -> GradientImportance:
    """Return the shares of features in the variance of predictions for held-out rows."""
    problem = fit.candidate.problem
    added = [problem.contributions(w, *rows, a) for w, rows, a in fit.candidate.models(fit)]
    shares = np.mean([np.sum([_variances(one) for one in outputs], axis=0) for outputs in added], axis=0)
    top = np.argsort(-shares, kind="stable")[:200]
    squares = np.concatenate([sum(_centered_squares(one, top) for one in outputs) for outputs in added])
    totals = np.concatenate([sum(_total_squares(one) for one in outputs) for outputs in added])
    return GradientImportance.of(problem.names(top), squares, totals, problem.kind)


def _means(A: Any) -> np.ndarray:
    """Return the mean of each column of a sparse matrix."""
    return np.asarray(A.mean(axis=0)).ravel()


def _variances(A: Any) -> np.ndarray:
    """Return the variance of each column."""
    return np.maximum(_means(A.multiply(A)) - _means(A) ** 2, 0.0)


def _centered_squares(A: Any, columns: np.ndarray) -> np.ndarray:
    """Return the squared differences to the mean of some columns."""
    some = A[:, columns].toarray()
    return np.asarray((some - some.mean(axis=0)) ** 2)


def _total_squares(A: Any) -> np.ndarray:
    """Return the sum of the squared differences of all columns to their means, for each row."""
    means = _means(A)
    return np.asarray(A.multiply(A).sum(axis=1)).ravel() - 2 * (A @ means) + float(means @ means)

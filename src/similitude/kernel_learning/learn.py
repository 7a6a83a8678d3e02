"""learn_kernel: a kernel with a metric or weights learned from labels, its importances, and how it was found."""

from __future__ import annotations

import operator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from similitude.compute import as_matrix, check_objects, is_sparse, is_table, is_tensor
from similitude.evaluation import Pilot, TaskTargets, at_rows, check_groups
from similitude.kernel_learning.columns import LearningFeatures
from similitude.kernel_learning.gradients import LEARNABLE, is_city_block
from similitude.kernel_learning.importance import GradientImportance
from similitude.kernel_learning.pilot import pilot_splits
from similitude.kernel_learning.rounds import LearnedPaths, search_metric
from similitude.kernel_learning.weights import (
    check_weighable,
    has_weights,
    importance_of,
    search_weights,
    weight_problem,
)
from similitude.kernels import Tabular
from similitude.similarity import Learnable, Similarity, as_similarity
from similitude.support import Result, check_choice, generator, outlying_rows

METRIC_KINDS = ("auto", "diagonal", "full")


@dataclass(frozen=True)
class Round(Result):
    """One round of learning a metric or weights.

    Attributes
    ----------
    path : str
        The kind of metric: ``diagonal``, ``full``, or diagonal from the weights of an L1 kernel; or the weights at
        which learning them began.
    number : int
        0 is the start.
    loss : float
        Squared error on held-out pilot rows, relative to the variance of the targets.
    standard_error : float
        Of the loss, over these rows.
    """

    path: str
    number: int
    loss: float
    standard_error: float

    def __str__(self) -> str:
        return f"{self.path}, round {self.number}: {self.loss:.4g} +- {self.standard_error:.2g}"


@dataclass(frozen=True)
class Learned(Result):
    """A kernel with a learned metric or learned weights.

    Attributes
    ----------
    similarity : Similarity
        The kernel: of the family that was given, with all numbers fixed.
    rounds : tuple of Round
        All rounds of all paths.
    importance : GradientImportance
        How much the model of this kernel depends on each column, feature or similarity.
    reason : str
        Why this metric, these weights, or none, was kept, and why learning stopped.
    """

    similarity: Similarity
    rounds: tuple[Round, ...]
    importance: GradientImportance
    reason: str

    def __str__(self) -> str:
        lines = [f"{self.similarity!r}: {self.importance.in_short()}", self.reason, str(self.importance), "rounds:"]
        return "\n".join([*lines, *(f"  {one}" for one in self.rounds)])


def learn_kernel(
    similarity: Any,
    X: Any,
    y: Any,
    *,
    how: str = "auto",
    task: str | None = None,
    groups: Any = None,
    random_state: Any = None,
) -> Learned:
    r"""Learn the metric of a kernel of vectors, or the weights of explicit features, columns or terms, from labels.

    Kernel ridge regression is fitted to pilot rows; the gradients of its predictions f at other rows give
    :math:`Q = \operatorname{E} \nabla f(x) \nabla f(x)^\top`, and the next kernel compares :math:`T^\top x` with
    :math:`TT^\top = Q`: directions in which f varies count, others do not. This is repeated for up to four rounds.
    (Radhakrishnan, Beaglehole, Pandit and Belkin, "Mechanism for feature learning in neural networks and
    backpropagation-free machine learning models", Science 2024; Beaglehole, Holzmüller, Radhakrishnan and Belkin,
    "xRFM", 2025.) A metric is kept only if it beats the isotropic kernel on rows that are not fitted, by one standard
    error of the paired difference (two, of fewer than 1,000 rows). The result is a kernel, by proof: it is the pullback
    of one by a linear map.

    Kernels of strings, sets and graphs are linear in explicit features :math:`\phi_u` such as substrings: weights of
    these take the place of a metric, :math:`w_u = \sqrt{\operatorname{E} (\partial f / \partial \phi_u)^2}`, from equal
    weights and from those of the inverse document frequency. For the dot product itself this is iteratively reweighted
    least squares, with the lasso as its limit. A feature that the training rows do not have gets weight 0. Columns of
    `Gower` and `Columns` and the terms of a sum have the weight :math:`w_k \sqrt{a^\top K_k a}`, as in multiple kernel
    learning. The same guard keeps them or not, and the result is a kernel by proof, if what was given is one.

    Pilot rows are at most 1,600 that are fitted and 1,000 that are held out; of fewer than 1,000 rows, four folds.
    Columns are standardized for learning, and the metric includes that. A few targets far beyond all others are moved
    to the farthest other one, and the reason says so.

    Parameters
    ----------
    similarity : Similarity, str, or list of these
        A `Gaussian`, `Laplace`, `Matern` or `RationalQuadratic` kernel without a metric, or `Tabular` with one of these
        for tables with categories and missing values. Its scale is chosen too. Or `Spectrum`, `WeisfeilerLehman`,
        `Intersection`, normalized or not, or `Jaccard`, with weights None or ``"idf"``; `Gower` or `Columns`, whose
        weights are the start; or a sum of similarities. A list means their sum.
    X : array of shape (n, d), data frame, or sequence of objects
        The names of a data frame's columns name the importances.
    y : sequence
        Labels of classes, or numbers.
    how : {"auto", "diagonal", "full"}
        A weight for each column, a matrix, or whatever is better; all but smooth kernels of vectors take weights only.
    task : {"classification", "regression"}, optional
        Whether y holds classes or numbers. Default: inferred as by `choose_kernel`.
    groups : sequence, optional
        What each row belongs to, such as a patient or a document: held-out rows are of other groups than those that
        are fitted.
    random_state : int, optional
        Seed for drawing the pilot rows.

    Returns
    -------
    Learned

    Examples
    --------
    Only the first of five columns matters:

    >>> import numpy as np
    >>> from similitude import learn_kernel
    >>> X = np.random.default_rng(0).standard_normal((300, 5))
    >>> learned = learn_kernel("gaussian", X, np.sin(3 * X[:, 0]), random_state=0)
    >>> learned.importance.in_short()
    'mostly column 0'
    >>> learned.similarity.proven
    True

    Substrings that tell spam from other messages:

    >>> from similitude.datasets import messages
    >>> from similitude.kernels import Spectrum
    >>> texts, labels = messages()
    >>> learned = learn_kernel(Spectrum(4).normalized(), texts, labels, random_state=0)
    >>> learned.similarity.proven, learned.similarity.k.default_weight
    (True, 0.0)
    """
    if isinstance(similarity, (list, tuple)):
        if not similarity:
            raise ValueError("similarity is an empty list: give one similarity at least")
        similarity = reduce(operator.add, map(as_similarity, similarity))
    given = as_similarity(similarity)
    check_learnable(given, how)
    targets = TaskTargets.of(y, check_objects(X), task)
    return learn_from_targets(given, X, targets.Y, how, random_state, check_groups(groups, len(targets)))


def learn_from_targets(
    given: Similarity,
    X: Any,
    Y: np.ndarray,
    how: str = "auto",
    random_state: Any = None,
    groups: np.ndarray | None = None,
) -> Learned:
    """Learn the metric or the weights of a similarity, given targets as columns of numbers."""
    near, n_far = _near_targets(Y)
    learned = _learn(given, X, near, how, random_state, groups)
    if not n_far:
        return learned
    moved = f"targets far beyond all others were moved to the farthest other one ({n_far:,} of {len(Y):,})"
    return replace(learned, reason=f"{learned.reason}; {moved}")


def _near_targets(Y: np.ndarray) -> tuple[np.ndarray, int]:
    """Return targets of which those far beyond all others are moved to the farthest other one, and their number.

    >>> Y, n_far = _near_targets(np.r_[np.arange(100.0), 1e9][:, None])
    >>> float(Y.max()), n_far
    (99.0, 1)
    """
    far = outlying_rows(Y)
    others = np.delete(Y, far, axis=0)
    return np.clip(Y, others.min(axis=0), others.max(axis=0)), len(far)


def _learn(given: Similarity, X: Any, Y: np.ndarray, how: str, random_state: Any, groups: np.ndarray | None) -> Learned:
    if isinstance(given, Learnable):
        given = given.k
    if has_weights(given):
        return _learn_weights(given, X, Y, random_state, groups)
    features, k = _features_and_kernel(given, X)
    pilot = Pilot.of(len(Y))
    if not pilot.teaches or features.is_constant:
        why = f"{len(Y)} rows are too few to learn from"
        if features.is_constant:
            why = "all rows are equal"
        ones = np.ones(features.X.shape[1])
        kernel = features.kernel(k, ones) if features.scale.any() else k.resolve(features.X)
        return Learned(kernel, (), features.importance(ones[None]), f"the isotropic kernel was kept: {why}")
    splits = pilot_splits(features.X, Y, generator(random_state).permutation(len(Y)), pilot, groups=groups)
    found = search_metric(k, splits, how)
    return _learned(features.kernel_of(found.chosen), found, features.importance_of(found.chosen))


def check_learnable(given: Similarity, how: str = "auto") -> None:
    """Refuse similarities and options that leave nothing to learn, before anything is computed."""
    check_choice("how", how, METRIC_KINDS)
    if isinstance(given, Learnable):
        given = given.k
    if not has_weights(given):
        _check_kernel(given.k if isinstance(given, Tabular) else given, how)
        return
    check_weighable(given)
    if how == "full":
        raise ValueError(f"how='full' learns a matrix, and {given!r} takes weights: use how='auto'")


def _learn_weights(given: Similarity, X: Any, Y: np.ndarray, random_state: Any, groups: np.ndarray | None) -> Learned:
    """Learn the weights of explicit features, of columns or of the terms of a sum."""
    n = len(Y)
    pilot = Pilot.of(n)
    order = generator(random_state).permutation(n)[: pilot.size]
    problem = weight_problem(given, X, order, random_state)
    order = order[: problem.n]
    if not pilot.teaches or problem.is_constant:
        why = "all rows have the same features"
        if not pilot.teaches:
            why = f"{n} rows are too few to learn from"
        even = GradientImportance.even(problem.width, problem.names, problem.kind)
        return Learned(given.resolve(X, random_state), (), even, f"the kernel was kept: {why}")
    places = np.arange(len(order))
    pilot = Pilot.of(len(order))
    splits = pilot_splits(places[:, None], Y[order], places, pilot, groups=at_rows(groups, order))
    found = search_weights(problem, splits)
    kernel = problem.kernel(found.name, found.chosen.candidate.mean_weights())
    return _learned(kernel, found, importance_of(found.chosen))


def _features_and_kernel(given: Any, X: Any) -> tuple[LearningFeatures, Any]:
    """Return the features that are learned on, and the kernel of them."""
    if isinstance(given, Tabular):
        return LearningFeatures.of_table(X, given), given.k
    A = as_matrix(X)
    if is_sparse(A) or is_tensor(A):
        raise TypeError(f"learn_kernel takes dense vectors in memory, got {type(A).__name__}")
    names = [str(name) for name in X.columns] if is_table(X) else None
    return LearningFeatures.of_vectors(A.astype(np.float64, copy=False), names), given


def _check_kernel(k: Any, how: str) -> None:
    """Validate a kernel of vectors and the kind of its metric."""
    if type(k) not in LEARNABLE:
        names = ", ".join(cls.__name__ for cls in LEARNABLE)
        others = "Spectrum, WeisfeilerLehman, Intersection, Jaccard, Gower, Columns and sums"
        raise TypeError(f"learn_kernel learns the metric of {names}, and the weights of {others}, not of {k!r}")
    if k.metric is not None:
        raise ValueError(f"{k!r} has a metric already: give the kernel without it")
    if is_city_block(k) and how == "full":
        raise ValueError("how='full' learns a matrix, and a kernel with norm=1 takes weights: use how='diagonal'")
    if getattr(k, "nu", 2.0) <= 1.0 and k.nu != 0.5:
        raise ValueError(f"the gradients of {k!r} are unbounded: use nu=0.5, or nu > 1")
    k.check_params()


def _learned(kernel: Similarity, found: LearnedPaths, importance: GradientImportance) -> Learned:
    rounds = (
        Round(path.name, i, fit.loss, fit.standard_error) for path in found.paths for i, fit in enumerate(path.fits)
    )
    return Learned(kernel, tuple(rounds), importance, found.reason)

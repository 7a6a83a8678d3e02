"""The validated inputs of an investigation: a similarity, objects, labels and the task."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from similitude.compute import as_objects, check_objects, take
from similitude.estimators import SimilarityClassifier, SimilarityRegressor
from similitude.evaluation import CLASSIFICATION, REGRESSION, check_groups, infer_task
from similitude.goodness import stratified
from similitude.kernels import default_similarity
from similitude.scikit import encode_labels, read_labels
from similitude.similarity import Auto, Cached, Precomputed, Similarity, as_similarity, calls_per_pair
from similitude.support import BudgetError, Result, brief, check_choice, generator, unboxed

Split = tuple[np.ndarray, np.ndarray]
"""Positions to fit to, and positions held out."""


@dataclass(frozen=True)
class Item(Result):
    """An example."""

    index: int | None  # its position in X; None for an object that is not in X
    object: Any
    label: Any


@dataclass(frozen=True, eq=False)
class Inputs:
    """The validated inputs of an investigation, and which of the examples are held out."""

    similarity: Similarity  # as given, possibly with open parameters; of an automatic one, what learning starts with
    X: Any
    y: np.ndarray  # labels, or numbers in float64
    task: str
    classes: np.ndarray  # empty for regression
    codes: np.ndarray  # the class of each example as a position in `classes`; zeros for regression
    seed: int
    notes: tuple[str, ...]
    label: str = ""  # the name of y
    automatic: Auto | None = None
    spare: int | None = None  # calls of a user's function that questions about changed objects may take
    max_calls: int | None = None
    model: Any = None  # an estimator with the parameters that were asked for; None for the usual ones
    groups: np.ndarray | None = None  # numbers of groups that no split separates
    rounds: tuple[tuple[Split, ...], ...] = ()  # of cross-validation; one of one split if a part is held out once
    tested: np.ndarray = field(default_factory=lambda: np.empty(0, int))  # sorted positions of all that are held out

    @property
    def asked(self) -> Any:
        """The similarity as it was asked for: an automatic one, or the similarity itself."""
        return self.automatic or self.similarity

    def new_model(self) -> Any:
        """Return an estimator that is not fitted yet, with the parameters that were asked for."""
        if self.model is not None:
            return clone(self.model).set_params(similarity=self.asked, random_state=self.seed, engine=None)
        return self.usual_model(self.asked)

    def usual_model(self, similarity: Any) -> Any:
        """Return an estimator with default parameters."""
        estimator = SimilarityClassifier if self.of_classes else SimilarityRegressor
        return estimator(similarity, random_state=self.seed)

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.y)

    @property
    def of_classes(self) -> bool:
        """Whether classes are predicted, not numbers."""
        return self.task == CLASSIFICATION

    @property
    def targets(self) -> np.ndarray:
        """What models predict: class codes, or numbers."""
        if self.of_classes:
            return self.codes
        return self.y

    @property
    def units(self) -> np.ndarray:
        """What intervals count and no split separates: the groups, or the examples."""
        if self.groups is None:
            return np.arange(self.n)
        return self.groups

    @property
    def held_out(self) -> bool:
        """Whether one part is held out once, rather than every example in one of several folds."""
        return len(self.rounds[0]) == 1

    @property
    def learned(self) -> np.ndarray:
        """Positions that the reported model is fitted to: those not held out, or all after cross-validation."""
        train, test = self.rounds[0][0]
        if self.held_out:
            return train
        return np.sort(np.concatenate([train, test]))

    @cached_property
    def resolved(self) -> Similarity:
        """The similarity with data-dependent parameters resolved on X."""
        if self.similarity.unresolved():
            return self.similarity.resolve(self.X, self.seed)
        return self.similarity

    def rng(self) -> np.random.Generator:
        """Return a new generator, seeded the same way every time."""
        return generator(self.seed)

    def sample(self, size: int) -> np.ndarray:
        """Return the sorted positions of at most `size` examples, stratified by class."""
        if self.n <= size:
            return np.arange(self.n)
        return stratified(self.codes, size, self.rng(), least=1)

    def item(self, index: int) -> Item:
        """Return one example."""
        return Item(int(index), as_objects(take(self.X, np.array([index])))[0], unboxed(self.y[index]))


def validated(similarity: Any, X: Any, y: Any, task: str | None, random_state: Any, groups: Any = None) -> Inputs:
    """Validate the inputs of an investigation without computing a single similarity."""
    if groups is not None:
        return replace(validated(similarity, X, y, task, random_state), groups=check_groups(groups, check_objects(X)))
    if isinstance(similarity, (SimilarityClassifier, SimilarityRegressor)):
        return _of_model(similarity, X, y, task, random_state)
    if isinstance(similarity, BaseEstimator):
        raise TypeError(
            "a report is about a similarity, a SimilarityClassifier or a SimilarityRegressor, "
            f"got a {type(similarity).__name__}"
        )
    if isinstance(similarity, str) and similarity == "precomputed":
        if getattr(X, "ndim", 0) != 2 or X.shape[0] != X.shape[1]:
            raise ValueError("similarity='precomputed' needs X to be the square matrix of all pairs")
        similarity = Precomputed(X)
        X = np.arange(X.shape[0])
    n = check_objects(X)
    k = as_similarity(similarity)
    automatic = None
    if isinstance(k, Auto):
        automatic = k
        k = default_similarity(X, k.kind)
    k.check_params()
    labels = read_labels(y, n)
    label = str(getattr(y, "name", None) or "")
    notes: tuple[str, ...] = ()
    if task is None:
        task, found = infer_task(y)
        notes = (f"y holds {found}: {task} (choose with task=)",) * (labels.dtype.kind in "fiu")
    check_choice("task", task, (CLASSIFICATION, REGRESSION))
    if random_state is None or isinstance(random_state, (int, np.integer)):
        seed = int(random_state or 0)
    else:
        seed = int(generator(random_state).integers(2**31))
    classes, codes = np.empty(0), np.zeros(n, int)
    if task == REGRESSION:
        labels = _numbers(labels)
    else:
        if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
            labels = labels.astype(str)  # estimators would take fractional numbers for numbers to predict
        classes, codes = encode_labels(labels)
        if len(classes) < 2:
            raise ValueError(f"two classes are needed, all {n:,} labels are {brief(classes.tolist()[0])}")
        if (np.bincount(codes) >= 2).sum() < 2:
            raise ValueError("two classes with two examples each are needed: a single example cannot be held out")
    return Inputs(k, X, labels, task, classes, codes, seed, notes, label, automatic)


def _of_model(model: Any, X: Any, y: Any, task: str | None, random_state: Any) -> Inputs:
    """Return the inputs of an investigation of models with the parameters of a given one, fitted or not."""
    own = CLASSIFICATION if isinstance(model, SimilarityClassifier) else REGRESSION
    if task not in (None, own):
        raise ValueError(f"task={task!r} does not fit a {type(model).__name__}")
    if isinstance(model.similarity, (list, tuple)):
        raise ValueError("a report is about one similarity, and this model has several: report(X, y) for each of them")
    if model.landmark_indices is not None:
        raise ValueError("landmark_indices are positions in all rows, and a report fits models to parts of them")
    seed = model.random_state if random_state is None else random_state
    usual = type(model)().get_params(deep=False)
    given = model.get_params(deep=False)
    differs = any(
        given[name] is not value and not (isinstance(given[name], (str, float, int)) and given[name] == value)
        for name, value in usual.items()
        if name not in ("similarity", "random_state", "engine")
    )
    return replace(validated(model.similarity, X, y, own, seed), model=model if differs else None)


def within_budget(inputs: Inputs, others: dict[str, Any], max_calls: int | None) -> tuple[Inputs, dict[str, Any]]:
    """Keep as many examples as four fifths of the calls can compare with each other; every pair is paid for once."""
    counted = {name: as_similarity(one) for name, one in others.items() if not isinstance(one, str)}
    counted = {name: one for name, one in {"": inputs.similarity, **counted}.items() if calls_per_pair(one)}
    per_pair = sum(map(calls_per_pair, counted.values()))
    if max_calls is None or not per_pair:
        return inputs, others
    size = math.isqrt(int(0.8 * max_calls) // per_pair)
    least = max(20, 4 * len(inputs.classes))
    if size < least and inputs.n > size:
        needed = math.ceil(least**2 * per_pair / 0.8)
        raise BudgetError(
            f"max_calls = {max_calls:,} does not suffice: a report compares {least:,} examples with each other at "
            f"least, which takes {needed:,} calls"
        )
    some = inputs.sample(size)
    note = f"at most {max_calls:,} calls are made"
    if len(some) < inputs.n:
        note = f"within max_calls = {max_calls:,}, {len(some):,} of {inputs.n:,} examples are investigated"
    remembered = {name: one if isinstance(one, Cached) else one.cached() for name, one in counted.items()}
    kept = replace(
        inputs,
        similarity=remembered.pop("", inputs.similarity),
        X=take(inputs.X, some),
        y=inputs.y[some],
        codes=inputs.codes[some],
        groups=None if inputs.groups is None else inputs.groups[some],
        notes=(*inputs.notes, note),
        spare=max_calls - len(some) ** 2 * per_pair,
        max_calls=max_calls,
    )
    return kept, {**others, **remembered}


def _numbers(labels: np.ndarray) -> np.ndarray:
    try:
        numbers: np.ndarray = labels.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"task='regression' needs numbers, y holds {brief(labels.tolist())}") from None
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise ValueError(f"the number to predict of example {bad[0]} is {numbers[bad[0]]}: leave such examples out")
    if len(numbers) < 4:
        raise ValueError(f"at least four examples are needed, there are {len(numbers)}")
    if (numbers == numbers[0]).all():
        raise ValueError(f"all numbers to predict are {numbers[0]:g}: there is nothing to learn")
    return numbers

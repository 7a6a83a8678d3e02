"""What the table of cases looks at: rows, similarity, engine and the wishes of the user. Nothing here is slow."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute import check_objects, is_sparse, is_tensor, itemsize, take
from similitude.compute.engines import LocalEngine
from similitude.evaluation import groups_of_equals, n_fitted
from similitude.fitting import limits
from similitude.fitting.options import FitOptions
from similitude.fitting.training_set import TrainingSet
from similitude.linear import gram_matrices
from similitude.similarity import (
    SYMMETRIC,
    UNIT_DIAGONAL,
    Learnable,
    Similarity,
    calls_per_pair,
    is_counted,
    may_be_costly,
)
from similitude.support import number_of

AS_GIVEN, LEARNED, OF_FAMILY = "given", "learned", "family"
"""Where the similarity comes from: the user, the labels, or a few that are tried for the kind of objects."""

LEARNED_KINDS = ("vectors", "table")
"""Kinds of objects for which a kernel is learned; for others, one of a family of similarities is chosen."""

LOOKED_AT_ROWS = 10
"""Rows whose self-similarities show whether a kernel has a unit diagonal."""


class Facts:
    """What is known about a fit before it starts.

    Parameters
    ----------
    data : TrainingSet
    options : FitOptions

    Attributes
    ----------
    n : int
        Rows with a weight.
    n_classes : int
        1 for numbers.
    few : bool
        Whether each row can be left out alone.
    in_memory : bool
        Whether all rows are in memory, and no further ones follow.
    plain : bool
        Whether it is ridge regression on one side.
    open_landmarks : bool
        Whether landmarks are left to the fit.
    gram_fits : bool
        Whether an exact fit to all rows fits into memory.
    fits_exactly : bool
        Whether every row may be a landmark, and nothing else was asked for.
    learns : bool
        Whether a kernel of vectors, or of rows of a table, can be learned from the labels.
    learns_given : bool
        Whether a similarity was given that is to be learned.
    candidates : {"given", "learned", "family"}
        Where the similarity comes from.
    size : FeatureSize
        How large the features of a fit on landmarks are, as far as the similarity is known.
    """

    def __init__(self, data: TrainingSet, options: FitOptions) -> None:
        self.data = data
        self.options = options
        self.n = data.n
        self.n_classes = max(2, data.Y.shape[1]) if options.classes else 1
        self.few = self.n <= limits.LEAVE_ONE_OUT
        self.in_memory = data.all_in_memory and not options.stream
        self.plain = options.is_ridge and options.side in ("auto", "left")
        nothing_named = options.given is None and options.unlabeled is None
        self.open_landmarks = nothing_named and options.rule == "auto" and options.n_landmarks == "auto"
        self.gram_fits = limits.MATRICES * 8 * self.n**2 <= options.engine.budget
        self.fits_exactly = self.in_memory and self.few and self.open_landmarks and self.gram_fits
        self.learns = options.automatic and options.kind in LEARNED_KINDS and self._labels_can_teach()
        self.learns_given = any([isinstance(k, Learnable) for k in options.similarities])
        many = len(data.weighted) > limits.LEAVE_ONE_OUT
        self.candidates = AS_GIVEN
        similarities = options.similarities
        if self.learns_given or (self.learns and (many or self.fits_exactly)):
            self.candidates = LEARNED
        elif options.automatic and options.kind not in LEARNED_KINDS:
            self.candidates = OF_FAMILY
            similarities = data.family(options.kind)[:1]
        learned = self.candidates == LEARNED
        dense = isinstance(data.X, np.ndarray) and data.X.ndim == 2
        self.size = FeatureSize(
            n=self.n,
            n_similarities=len(similarities),
            proven=learned or all([k.proven for k in similarities]),
            heavy=not learned and similarities[0].hints.heavy,
            itemsize=itemsize(data.X) if dense else 8,
            n_classes=self.n_classes,
        )

    def _labels_can_teach(self) -> bool:
        """Whether enough rows with different targets are there to learn from, and nothing else was asked for."""
        data, options = self.data, self.options
        if is_sparse(data.X) or is_tensor(data.X) or not self.plain:
            return False
        if options.unlabeled is not None or options.given is not None:
            return False
        from similitude.kernel_learning import pilot_size  # loads all kernels

        known = data.weighted
        if len(known) < limits.FEWEST_LEARNED:
            return False
        if limits.MATRICES * 8 * pilot_size(len(known)) ** 2 > options.engine.budget:
            return False
        return bool((data.Y[known] != data.Y[known[:1]]).any())

    @cached_property
    def frugal_calls(self) -> int | None:
        """The most calls of a frugal fit; None if comparing all rows costs no more than is allowed."""
        options, similarities = self.options, self.options.similarities
        if not (options.is_ridge and self.open_landmarks and self.in_memory):
            return None
        if len(similarities) > 1 or options.kind == "matrix" or similarities[0].unresolved():
            return None
        k, n = similarities[0], self.n
        rounds = 1.5 if SYMMETRIC in k.claims else 3.0  # both directions, and landmarks with each other
        thorough = rounds * n * (n + self.data.sampling.later) * calls_per_pair(k)
        if options.max_calls is not None:
            return None if not is_counted(k) or thorough <= options.max_calls else options.max_calls
        costly = may_be_costly(k) and thorough > limits.THOROUGH_PER_ROW * n + limits.FURTHER_CALLS
        return limits.CALLS_PER_ROW * n * calls_per_pair(k) + limits.FURTHER_CALLS if costly else None

    @property
    def why_no_cells(self) -> str | None:
        """Why many rows are not fitted exactly in cells; None if they may be."""
        if not self.data.all_in_memory:
            return "exact fits in cells need all rows in memory"
        if not isinstance(self.options.engine, LocalEngine):
            return "exact fits in cells are those of LocalEngine"
        return None if self.open_landmarks else "landmarks were asked for"

    @property
    def is_piloted(self) -> bool:
        """Whether a pilot can choose for one given kernel of vectors, and nothing else was asked for."""
        if not self.in_memory or not limits.FEWEST_PILOTED <= self.n <= limits.SAMPLE_ROWS:
            return False
        if self.candidates != AS_GIVEN or self.data.groups is not None:  # the pilot leaves out single rows
            return False
        if not (self.plain and self.open_landmarks) or self.options.engine.products_from is not None:
            return False
        return self.is_unit_kernel and self.pilot_fits and self.n_single >= limits.FEWEST_EVALUATED

    @property
    def is_unit_kernel(self) -> bool:
        """Whether the similarity is a cheap kernel of dense vectors by proof, and 1 on the diagonal."""
        X, k = self.data.X, self.options.similarities[0]
        dense = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in (np.float32, np.float64)
        if not dense or len(self.options.similarities) > 1:
            return False
        if not (k.proven and k.objects == "vectors" and k.hints.threadsafe) or k.hints.heavy:
            return False
        return UNIT_DIAGONAL in k.claims or _is_one_on(k, take(X, np.arange(min(LOOKED_AT_ROWS, len(X)))))

    @property
    def pilot_fits(self) -> bool:
        """Whether an exact fit, or the features of the largest number of landmarks, fit into memory."""
        if self.few:
            return self.gram_fits
        m = limits.MAX_AUTO_LANDMARKS
        return 8 * m * (limits.FEATURE_ARRAYS * self.n + 3 * m) <= self.options.engine.budget

    @cached_property
    def n_single(self) -> int:
        """The number of rows that equal no other row, if they are vectors."""
        groups = groups_of_equals(self.data.X, self.data.weighted)
        return int((np.bincount(groups) == 1).sum())

    @property
    def n_groups(self) -> int:
        """The number of groups of rows; of rows without groups."""
        return self.n if self.data.groups is None else len(np.unique(self.data.groups[self.data.weighted]))

    @cached_property
    def numbers(self) -> tuple[list[int], str]:
        """The numbers of landmarks to try, and what prevents more."""
        if self.options.given is not None:
            return [len(self.options.given)], "they were given"
        return numbers_to_try(self.options, self.size, self.candidates == OF_FAMILY)

    @cached_property
    def rows_chosen_on(self) -> int:
        """Most rows whose features are in memory at once."""
        return rows_to_choose_on(self.options, self.size, self.numbers[0][-1])

    @property
    def fits_by_products(self) -> bool:
        """Whether there are enough landmarks for a fit by products on a device."""
        least = self.options.engine.products_from
        if least is None or not self.data.all_in_memory or not self.size.proven or self.data.groups is not None:
            return False
        return self.numbers[0][-1] >= least and self.n > self.rows_chosen_on

    @property
    def in_words(self) -> str:
        """The rows and the targets, for people."""
        objects = objects_in_words(self.data.X, self.options.kind)
        targets = number_of(self.data.Y.shape[1], self.options.targets)
        if self.options.classes:
            targets = f"{self.n_classes:,} classes"
        known = getattr(self.data.sampling.all_rows, "known", True)
        return f"{f'{self.n:,}' if known else f'at least {self.n:,}'} {objects}, {targets}"


def objects_in_words(X: Any, kind: str) -> str:
    """Return what X holds.

    >>> objects_in_words(np.eye(3), "vectors"), objects_in_words(["a", "b"], "strings")
    ('rows of 3 numbers', 'strings')
    """
    if kind in ("vectors", "table", "records"):
        width = X.shape[1] if hasattr(X, "shape") else len(X[0])  # a table may be a list of dicts
        return f"rows of {number_of(width, 'number' if kind == 'vectors' else 'column')}"
    return {"matrix": "objects, given by their similarities", "any": "objects"}.get(kind, kind)


def _is_one_on(k: Similarity, some: np.ndarray) -> bool:
    """Whether the self-similarities of some vectors are 1."""
    resolved, encoding = k.prepare(some)
    return bool(np.allclose(resolved.diagonal(encoding), 1.0, rtol=1e-6))


@dataclass(frozen=True)
class FeatureSize:
    """How large the features of a fit are.

    Attributes
    ----------
    n : int
        Rows with a weight.
    n_similarities : int
    proven : bool
        Whether all similarities are kernels by proof, so that one side of them is enough.
    heavy : bool
        Whether the first similarity is slow to compute.
    itemsize : int
        Bytes of a similarity value.
    n_classes : int
        1 for numbers.
    """

    n: int
    n_similarities: int
    proven: bool
    heavy: bool
    itemsize: int
    n_classes: int

    def rows_that_fit(self, options: FitOptions, n_landmarks: int) -> int:
        """Return how many rows of features fit into the memory budget beside the Gram matrices of the landmarks."""
        sides = 1 if options.side in ("left", "right") or self.proven else 2
        width = n_landmarks * sides * self.n_similarities
        left = options.engine.budget - gram_matrices(width) * 8 * width**2
        return max(0, left) // (limits.FEATURE_ARRAYS * width * self.itemsize)


def n_available(options: FitOptions, size: FeatureSize) -> int:
    """Return how many objects landmarks may be drawn from."""
    return size.n if options.unlabeled is None else check_objects(options.unlabeled, "unlabeled")


def numbers_to_try(options: FitOptions, size: FeatureSize, from_family: bool) -> tuple[list[int], str]:
    """Return the numbers of landmarks to try, and what prevents more."""
    pooled = options.unlabeled is not None
    available = n_available(options, size)
    if options.n_landmarks != "auto":
        return [min(int(options.n_landmarks), available)], "their number was given"
    available = available if pooled else n_fitted(available)
    cheap = options.rule in ("auto", "uniform", "stratified")
    largest = limits.MAX_AUTO_LANDMARKS if cheap else limits.LARGEST_BY_RULE
    most = min(available, max(limits.MAX_WITH_ALL_ROWS, available // 2), largest)
    first = max(limits.FIRST, limits.PER_CLASS * size.n_classes)
    fits = _affordable(most, options, size)
    if from_family and not size.heavy:
        first = max(first, limits.FIRST_OF_FAMILY)
    rows_end = "there are no more objects to choose them from" if most == available else f"{most:,} are the most tried"
    limit = rows_end if fits == most else "more do not fit into the memory budget"
    return _doubled(first, max(fits, min(first, most))), limit


def rows_to_choose_on(options: FitOptions, size: FeatureSize, n_landmarks: int) -> int:
    """Return how many rows choices are made on."""
    fits = size.rows_that_fit(options, n_landmarks)
    if fits < 2:
        raise MemoryError(f"{n_landmarks:,} landmarks do not fit into the memory budget: use fewer, or a larger budget")
    return min(limits.SAMPLE_ROWS, fits)


def _doubled(first: int, last: int) -> list[int]:
    """Return numbers that double up to the last.

    >>> _doubled(100, 500)
    [100, 200, 500]
    """
    sizes = [min(first, last)]
    while sizes[-1] < last:
        sizes.append(min(2 * sizes[-1], last))
    if len(sizes) > 2 and sizes[-1] < 1.5 * sizes[-2]:
        del sizes[-2]
    return sizes


def _affordable(most: int, options: FitOptions, size: FeatureSize) -> int:
    """Return the largest number of landmarks at which the features of enough rows fit into the memory budget."""
    n = min(limits.SAMPLE_ROWS, size.n)
    fits = 0
    too_many = most + 1
    while too_many - fits > 1:
        middle = most if too_many == most + 1 and fits == 0 else (fits + too_many) // 2
        enough = size.rows_that_fit(options, middle) >= min(n, max(limits.ROWS_PER_NUMBER, 3 * middle))
        fits, too_many = (middle, too_many) if enough else (fits, middle)
    return fits

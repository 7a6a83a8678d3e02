"""What the table of cases looks at: rows, similarity, engine and the wishes of the user. Nothing here is slow."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute import is_sparse, is_tensor, itemsize, take
from similitude.compute.engines import LocalEngine
from similitude.evaluation import groups_of_equals
from similitude.fitting import limits
from similitude.fitting.numbers import FeatureSize, numbers_to_try, rows_to_choose_on
from similitude.fitting.options import FitOptions
from similitude.fitting.training_set import TrainingSet
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
    """

    def __init__(self, data: TrainingSet, options: FitOptions) -> None:
        self.data = data
        self.options = options

    @property
    def n(self) -> int:
        """The number of rows with a weight."""
        return self.data.n

    @property
    def few(self) -> bool:
        """Whether each row can be left out alone."""
        return self.n <= limits.LEAVE_ONE_OUT

    @property
    def in_memory(self) -> bool:
        """Whether all rows are in memory, and no further ones follow."""
        return self.data.all_in_memory and not self.options.stream

    @property
    def candidates(self) -> str:
        """Where the similarity comes from."""
        many = len(self.data.weighted) > limits.LEAVE_ONE_OUT
        if self.learns_given or (self.learns and (many or self.fits_exactly)):
            return LEARNED
        return OF_FAMILY if self.tries_family else AS_GIVEN

    @cached_property
    def learns(self) -> bool:
        """Whether a kernel of vectors, or of rows of a table, can be learned from the labels."""
        data, options = self.data, self.options
        if not options.automatic or options.kind not in LEARNED_KINDS or is_sparse(data.X) or is_tensor(data.X):
            return False
        plain = options.is_ridge and options.side in ("auto", "left")
        if not plain or options.unlabeled is not None or options.given is not None:
            return False
        from similitude.kernel_learning import pilot_size  # loads all kernels

        known = data.weighted
        if len(known) < limits.FEWEST_LEARNED or not gram_fits(pilot_size(len(known)), options.engine.budget):
            return False
        return bool((data.Y[known] != data.Y[known[:1]]).any())

    @property
    def learns_given(self) -> bool:
        """Whether a similarity was given that is to be learned."""
        return any(isinstance(k, Learnable) for k in self.options.similarities)

    @property
    def tries_family(self) -> bool:
        """Whether one of several similarities for objects other than vectors is to be chosen."""
        return self.options.automatic and self.options.kind not in LEARNED_KINDS

    @property
    def fits_exactly(self) -> bool:
        """Whether every row may be a landmark, and nothing else was asked for."""
        return self.in_memory and self.few and self.options.leaves_landmarks_open and self.gram_fits

    @property
    def gram_fits(self) -> bool:
        """Whether an exact fit to all rows fits into memory."""
        return gram_fits(self.n, self.options.engine.budget)

    @property
    def why_no_cells(self) -> str | None:
        """Why many rows are not fitted exactly in cells; None if they may be."""
        if not self.data.all_in_memory:
            return "exact fits in cells need all rows in memory"
        if not isinstance(self.options.engine, LocalEngine):
            return "exact fits in cells are those of LocalEngine"
        return None if self.options.leaves_landmarks_open else "landmarks were asked for"

    @cached_property
    def frugal_calls(self) -> int | None:
        """The most calls of a frugal fit; None if comparing all rows costs no more than is allowed."""
        options, similarities = self.options, self.options.similarities
        if not (options.is_ridge and options.leaves_landmarks_open and self.in_memory):
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
    def is_piloted(self) -> bool:
        """Whether a pilot can choose for one given kernel of vectors, and nothing else was asked for."""
        enough = self.in_memory and limits.FEWEST_PILOTED <= self.n <= limits.SAMPLE_ROWS
        enough = enough and self.data.groups is None  # the pilot leaves out single rows
        if not enough or self.candidates != AS_GIVEN or not self.asks_for_nothing:
            return False
        return self.is_unit_kernel and self.pilot_fits and self.n_single >= limits.FEWEST_EVALUATED

    @property
    def asks_for_nothing(self) -> bool:
        """Whether landmarks and side are left to the fit, it is ridge regression, and there is no fit by products."""
        options = self.options
        plain = options.is_ridge and options.side in ("auto", "left")
        return plain and options.leaves_landmarks_open and options.engine.products_from is None

    @cached_property
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
    def size(self) -> FeatureSize:
        """How large the features of a fit on landmarks are, as far as the similarity is known."""
        X, similarities = self.data.X, self.options.similarities
        if self.tries_family:
            similarities = self.data.family(self.options.kind)[:1]
        learned = self.candidates == LEARNED
        return FeatureSize(
            n=self.n,
            n_similarities=len(similarities),
            proven=learned or all([k.proven for k in similarities]),
            heavy=not learned and similarities[0].hints.heavy,
            itemsize=itemsize(X) if isinstance(X, np.ndarray) and X.ndim == 2 else 8,
            n_classes=self.n_classes,
        )

    @property
    def n_classes(self) -> int:
        """The number of classes; 1 for numbers."""
        return max(2, self.data.Y.shape[1]) if self.options.classes else 1

    @cached_property
    def numbers(self) -> tuple[list[int], str]:
        """The numbers of landmarks to try, and what prevents more."""
        if self.options.given is not None:
            return [len(self.options.given)], "they were given"
        return numbers_to_try(self.options, self.size, self.tries_family)

    @property
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


def gram_fits(n: int, memory: int) -> bool:
    """Whether an exact fit to n rows fits into a memory budget."""
    return limits.MATRICES * 8 * n**2 <= memory


def _is_one_on(k: Similarity, some: np.ndarray) -> bool:
    """Whether the self-similarities of some vectors are 1."""
    resolved, encoding = k.prepare(some)
    return bool(np.allclose(resolved.diagonal(encoding), 1.0, rtol=1e-6))

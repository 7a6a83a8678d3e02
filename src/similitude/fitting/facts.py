"""What is known before a fit starts: what it is asked to do, the rows, the similarity and the engine; nothing slow."""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from operator import attrgetter
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_objects, check_objects, is_sparse, is_table, is_tensor, itemsize, take
from similitude.compute.engines import Engine, LocalEngine
from similitude.evaluation import Pilot, n_evaluating, n_fitted, n_held_out
from similitude.fitting import limits
from similitude.fitting.training_set import TrainingSet
from similitude.landmarks import Landmarks, SampleFeatures
from similitude.linear import Loss, gram_matrices
from similitude.similarity import (
    SYMMETRIC,
    UNIT_DIAGONAL,
    Learnable,
    Meter,
    Similarity,
    Sum,
    calls_per_pair,
    may_be_costly,
)
from similitude.support import number_of

RIDGE = "squared", "l2"
"""Loss and penalty of ridge regression, which needs the sums of one pass over the features, not the features."""


@dataclass(frozen=True, eq=False)
class FitOptions:
    """What to fit."""

    # as the user gave them, not yet resolved; without labels to learn from, if the choice is left to the fit
    similarities: tuple[Similarity, ...]
    automatic: bool  # whether the choice of a similarity is left to the fit
    kind: str  # of objects; ``"matrix"`` for a precomputed one
    rule: str  # how landmarks are chosen
    n_landmarks: int | str
    given: Landmarks | None  # landmarks that the user named, instead of a rule
    unlabeled: Any  # the pool that landmarks are drawn from instead of X
    side: str
    loss: str
    penalty: str
    is_ridge: bool  # whether the model is ridge regression
    classes: bool  # whether targets are codes of classes, rather than numbers
    random_state: Any
    engine: Engine
    meter: Meter  # counts the calls of the user's functions
    max_calls: int | None = None
    names: list[str] | None = None  # of the columns of vectors, if they have names
    quantile: float | None = None  # the share of targets below their prediction, if quantiles are predicted
    own_loss: Loss | None = None  # the loss, where it has parameters that its name does not tell
    stream: bool = False  # whether further batches follow, so that every choice is made on the first one
    # what the columns of the targets are, for people: ``"output"``, ``"label"`` or ``"threshold"`` between grades
    targets: str = "output"

    def sample(
        self, k: Similarity, among: Encoding, places: np.ndarray, landmarks: Landmarks, which: np.ndarray | None = None
    ) -> SampleFeatures:
        """Return the features of a sample of rows, as the fit is to compute them."""
        return SampleFeatures(k, among, places, landmarks, self.engine, self.side, self.penalty == "l1", which)


AS_GIVEN = "given"
LEARNED = "learned"
OF_FAMILY = "family"
"""Where the similarity comes from: the user, the labels, or a few that are tried for the kind of objects."""

LEARNED_KINDS = ("vectors", "table")
"""Kinds of objects for which a kernel is learned; for others, one of a family of similarities is chosen."""


class Facts:
    """What is known about a fit before it starts."""

    def __init__(self, data: TrainingSet, options: FitOptions) -> None:
        self.data = data
        self.options = options
        self.n = data.n  # rows with a weight
        self.n_classes = max(2, data.Y.shape[1]) if options.classes else 1  # 1 for numbers
        # how few rows are evaluated, in words
        self.leaving_out = "leave-one-out" if data.groups is None else "leave-one-group-out"
        self.few = self.n <= limits.LEAVE_ONE_OUT  # whether each row can be left out alone
        # whether all rows are in memory, and no further ones follow
        self.in_memory = data.all_in_memory and not options.stream
        self.plain = options.is_ridge and options.side in ("auto", "left")  # whether it is ridge regression on one side
        nothing_named = options.given is None and options.unlabeled is None
        # whether landmarks are left to the fit
        self.open_landmarks = nothing_named and options.rule == "auto" and options.n_landmarks == "auto"
        budget = options.engine.budget
        self.gram_fits = limits.MATRICES * 8 * self.n**2 <= budget  # whether an exact fit to all rows fits into memory
        # whether every row may be a landmark, and nothing else was asked for
        self.fits_exactly = self.in_memory and self.few and self.open_landmarks and self.gram_fits
        # whether a kernel of vectors, or of rows of a table, can be learned from the labels
        self.learns = options.automatic and options.kind in LEARNED_KINDS and self._labels_can_teach()
        # whether a similarity was given that is to be learned
        self.learns_given = any(map(isinstance, options.similarities, repeat(Learnable)))
        many = len(data.weighted) > limits.LEAVE_ONE_OUT
        self.candidates = AS_GIVEN  # where the similarity comes from
        similarities = options.similarities
        if self.learns_given or (self.learns and (many or self.fits_exactly)):
            self.candidates = LEARNED
        elif options.automatic and options.kind not in LEARNED_KINDS:
            self.candidates = OF_FAMILY
            similarities = data.family(options.kind)[:1]
        # whether similarities that rows choose are chosen again in the folds of the evaluation
        self.chosen_again = self.candidates != AS_GIVEN and not many
        self.nested = self.few and data.all_in_memory  # whether nested folds evaluate a fit on landmarks
        learned = self.candidates == LEARNED
        dense = isinstance(data.X, np.ndarray) and data.X.ndim == 2
        self.n_similarities = len(similarities)
        # whether all similarities are kernels by proof, so that one side of them is enough
        self.proven = learned or all(map(attrgetter("proven"), similarities))
        self.heavy = not learned and similarities[0].hints.heavy
        self.itemsize = itemsize(data.X) if dense else 8  # bytes of a similarity value
        self.of_family = self.candidates == OF_FAMILY

    def _labels_can_teach(self) -> bool:
        """Whether enough rows with different targets are there to learn from, and nothing else was asked for."""
        data = self.data
        options = self.options
        if is_sparse(data.X) or is_tensor(data.X) or not self.plain:
            return False
        if options.unlabeled is not None or options.given is not None:
            return False
        known = data.weighted
        if len(known) < limits.FEWEST_LEARNED:
            return False
        if limits.MATRICES * 8 * Pilot.of(len(known)).size ** 2 > options.engine.budget:
            return False
        return bool((data.Y[known] != data.Y[known[:1]]).any())

    @cached_property
    def frugal_calls(self) -> int | None:
        """The most calls of a frugal fit; None if comparing all rows costs no more than is allowed."""
        options = self.options
        similarities = self.options.similarities
        if not (options.is_ridge and self.open_landmarks and self.in_memory):
            return None
        if len(similarities) > 1 or options.kind == "matrix" or similarities[0].unresolved():
            return None
        k = similarities[0]
        n = self.n
        rounds = 1.5 if SYMMETRIC in k.claims else 3.0  # both directions, and landmarks with each other
        calls = calls_per_pair(k)
        thorough = rounds * n * (n + self.data.sampling.later) * calls
        if options.max_calls is not None:
            if not calls or thorough <= options.max_calls:
                return None
            return options.max_calls
        costly = may_be_costly(k) and thorough > limits.THOROUGH_PER_ROW * n + limits.FURTHER_CALLS
        if costly:
            return limits.CALLS_PER_ROW * n * calls + limits.FURTHER_CALLS
        return None

    @property
    def why_no_cells(self) -> str | None:
        """Why many rows are not fitted exactly in cells; None if they may be."""
        if not self.data.all_in_memory:
            return "exact fits in cells need all rows in memory"
        if not isinstance(self.options.engine, LocalEngine):
            return "exact fits in cells are those of LocalEngine"
        if self.open_landmarks:
            return None
        return "landmarks were asked for"

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
        X = self.data.X
        k = self.options.similarities[0]
        dense = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in (np.float32, np.float64)
        if not dense or len(self.options.similarities) > 1:
            return False
        if not (k.proven and k.objects == "vectors" and k.hints.threadsafe) or k.hints.heavy:
            return False
        # rows whose self-similarities show whether a kernel has a unit diagonal
        return UNIT_DIAGONAL in k.claims or _is_one_on(k, take(X, np.arange(min(10, len(X)))))

    @property
    def pilot_fits(self) -> bool:
        """Whether an exact fit, or the features of the largest number of landmarks, fit into memory."""
        if self.few:
            return self.gram_fits
        m = limits.MAX_AUTO_LANDMARKS
        return 8 * m * (limits.FEATURE_ARRAYS * self.n + 3 * m) <= self.options.engine.budget

    def encoded(self, data: TrainingSet, of_family: bool) -> Facts:
        """Return the facts now that similarities are chosen and objects encoded."""
        known = {
            "n_similarities": len(data.similarities),
            "proven": data.proven,
            "heavy": data.similarities[0].hints.heavy,
            "itemsize": data.itemsize,
            "of_family": of_family,
        }
        if known.items() <= vars(self).items():
            return self
        found = copy.copy(self)
        vars(found).update(known)
        for outdated in ("numbers", "rows_chosen_on"):
            vars(found).pop(outdated, None)
        return found

    @property
    def most_of_pilot(self) -> int:
        """Most landmarks of a fit by a pilot."""
        return limits.MAX_AUTO_LANDMARKS

    @property
    def n_apart(self) -> int:
        """How many rows are kept from the choices of an exact fit, to evaluate it."""
        if self.data.groups is not None:
            return 0
        return limits.rows_apart(self.n)

    @property
    def n_outside_pilot(self) -> int:
        """How many rows evaluate a fit by a pilot."""
        return limits.rows_outside_pilot(self.n, n_evaluating(n_held_out(self.n)))

    @cached_property
    def n_single(self) -> int:
        """The number of rows without copies."""
        return int((np.bincount(self.data.units(self.data.weighted)) == 1).sum())

    @property
    def n_groups(self) -> int:
        """The number of groups of rows; of rows without groups."""
        if self.data.groups is None:
            return self.n
        return len(np.unique(self.data.groups[self.data.weighted]))

    @cached_property
    def numbers(self) -> tuple[list[int], str]:
        """The numbers of landmarks to try, and what prevents more."""
        options = self.options
        if options.given is not None:
            return [len(options.given)], "their number was given"
        available = self.n if options.unlabeled is None else check_objects(options.unlabeled, "unlabeled")
        if options.n_landmarks != "auto":
            return [min(int(options.n_landmarks), available)], "their number was given"
        if options.unlabeled is None:
            available = n_fitted(available)
        largest = limits.LARGEST_BY_RULE
        if options.rule in ("auto", "uniform", "stratified"):
            largest = limits.MAX_AUTO_LANDMARKS
        most = min(available, max(limits.MAX_WITH_ALL_ROWS, available // 2), largest)
        first = max(limits.FIRST, limits.PER_CLASS * self.n_classes)
        if self.of_family and not self.heavy:
            first = max(first, limits.FIRST_OF_FAMILY)
        limit = f"{most:,} are the most tried"
        if most == available:
            limit = "there are no more objects to choose them from"
        if self._are_too_many(most):
            limit = "more do not fit into the memory budget"
            most = max(bisect_left(range(1, most), True, key=self._are_too_many), min(first, most))
        return _doubled(first, most), limit

    def _are_too_many(self, n_landmarks: int) -> bool:
        """Whether the features of enough rows to choose a number on do not fit into the memory budget."""
        enough = min(limits.SAMPLE_ROWS, self.n, max(limits.ROWS_PER_NUMBER, 3 * n_landmarks))
        return self._rows_that_fit(n_landmarks) < enough

    def _rows_that_fit(self, n_landmarks: int) -> int:
        """Return how many rows of features fit into the memory budget beside the Gram matrices of the landmarks."""
        sides = 2
        if self.options.side in ("left", "right") or self.proven:
            sides = 1
        width = n_landmarks * sides * self.n_similarities
        left = self.options.engine.budget - gram_matrices(width) * 8 * width**2
        return max(0, left) // (limits.FEATURE_ARRAYS * width * self.itemsize)

    @cached_property
    def rows_chosen_on(self) -> int:
        """Most rows whose features are in memory at once, with the largest number of landmarks."""
        n_landmarks = self.numbers[0][-1]
        fits = self._rows_that_fit(n_landmarks)
        if fits < 2:
            few = f"{n_landmarks:,} landmarks do not fit into the memory budget"
            raise MemoryError(f"{few}: use fewer, or a larger budget")
        return min(limits.SAMPLE_ROWS, fits)

    @cached_property
    def fits_by_products(self) -> bool:
        """Whether there are enough landmarks for products on a device, and too many rows for features in memory."""
        options = self.options
        least = options.engine.products_from
        if least is None or not self.data.all_in_memory or self.data.groups is not None or options.penalty == "l1":
            return False
        if len(options.similarities) > 1 or options.side not in ("auto", "left") or is_sparse(self.data.X):
            return False
        on_tensors = self.candidates == LEARNED or options.similarities[0].hints.on_tensors
        return on_tensors and self.numbers[0][0] >= least and self.n > self.rows_chosen_on

    @property
    def scales_by_products(self) -> bool:
        """Whether scales are compared by products, too, although with fewer landmarks."""
        least = self.options.engine.products_from
        return self.fits_by_products and least is not None and least <= limits.SCALE_LANDMARKS


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


@dataclass(frozen=True)
class PairWork:
    """What a similarity does to compare two objects."""

    calls: int  # of the user's functions; 0 if there are none
    proven: bool  # whether it is a kernel by proof
    scaled: bool  # whether its scale is the best of several
    heavy: bool  # whether it is slow to compute
    pair_cost: float = 0.0  # what an alignment costs, relative to time warping; 0 if there is none
    counts: int = 1  # how often objects are gone over to count what they have in common
    form: str = ""  # of a similarity that is counted in a way of its own

    @classmethod
    def of(cls, k: Similarity, kind: str) -> PairWork:
        """Look at a similarity for a kind of objects."""
        heavy = k.hints.heavy
        scaled = bool(open_scales(k)) and not heavy
        calls = calls_per_pair(k)
        if calls:
            return cls(calls, k.proven, scaled, heavy)
        from similitude.kernels import Convolutions, Linear, pair_cost  # loads all kernels

        form = ""
        for name, known in (("sum", Sum), ("linear", Linear), ("convolutions", Convolutions)):
            if isinstance(k, known):
                form = name
        return cls(0, k.proven, scaled, heavy, pair_cost(k), _counts(k, kind), form)


@dataclass(frozen=True)
class Sizes:
    """How many rows there are, how large they are, and what the fit may do with them."""

    n: int  # rows of the fit
    fits: int = 1  # how many such fits are made
    penalties: int = 0  # how many are compared by a fit to a Gram matrix; 0 if one is given
    kind: str = "vectors"
    rows: int = 0  # those of the rows that are in memory
    all_in_memory: bool = True  # whether these are all rows
    width: int = 1  # numbers of a vector or row of a table, channels of a series; 1 for other objects
    cells: int = 0  # columns of a table, which become numbers
    size: float = 1.0  # mean number of letters, points, elements or nodes; 1 for vectors
    outputs: int = 1
    itemsize: int = 8  # bytes of a similarity
    candidates: str = "given"  # where the similarity comes from
    members: tuple[PairWork, ...] = ()  # those one of which is chosen; none if the user gave some
    used: tuple[PairWork, ...] = ()  # those of the fit: the first member, because it is not known which will be chosen
    most_calls: int = 0  # of the user's functions in a frugal fit; 0 in others
    # numbers of landmarks to try; none if all rows are landmarks, or are chosen by a pilot or by calls
    numbers: tuple[int, ...] = ()
    rows_chosen_on: int = 0  # most rows whose features are in memory at once; 0 if there are no features
    on_gpu: bool = False  # whether similarities are computed on a GPU

    @classmethod
    def of(cls, f: Facts, on_features: bool) -> Sizes:
        """Look at the first objects and at the similarities; features are those of a fit on landmarks."""
        kind = f.options.kind
        members = f.data.family(kind) if f.candidates == "family" else ()
        compared = tuple(map(PairWork.of, members or f.options.similarities, repeat(kind)))
        # most objects whose sizes are looked at
        width, cells, size = _shape_of(take(f.data.X, np.arange(min(100, len(f.data.weights)))), kind)
        return cls(
            n=f.n,
            kind=kind,
            rows=len(f.data.weighted),
            all_in_memory=f.data.all_in_memory,
            width=width,
            cells=cells,
            size=size,
            outputs=f.data.Y.shape[1],
            itemsize=f.itemsize,
            candidates=f.candidates,
            members=compared if members else (),
            used=compared[:1] if members else compared,
            most_calls=f.frugal_calls or 0,
            numbers=tuple(f.numbers[0]) if on_features else (),
            rows_chosen_on=f.rows_chosen_on if on_features else 0,
            on_gpu=str(getattr(f.options.engine, "device", "cpu")).startswith("cuda"),
        )


def _shape_of(first: Any, kind: str) -> tuple[int, int, float]:
    """Return the numbers of an object, the columns of a table, and the mean size of some objects."""
    if isinstance(first, list):
        objects = first
    elif is_table(first):
        return sum([_indicators(list(first[name])) for name in first.columns]), len(first.columns), 1.0
    elif is_sparse(first) or (hasattr(first, "shape") and len(first.shape) == 2):
        return int(first.shape[1]), 0, 1.0
    else:
        objects = as_objects(first)
    if kind in ("table", "records") and all([isinstance(one, Mapping) for one in objects]):
        names = list(dict.fromkeys([name for row in objects for name in row]))
        return sum([_indicators([row.get(name) for row in objects]) for name in names]), len(names), 1.0
    sizes = []
    channels = []
    for one in objects:
        if hasattr(one, "__len__"):
            sizes.append(len(one))
        if len(getattr(one, "shape", ())) == 2:
            channels.append(one.shape[1])
    if kind == "vectors":
        return max(sizes, default=1), 0, 1.0
    if kind == "graphs":
        sizes = _nodes(objects)
        channels = []
    return max(channels, default=1), 0, max(1.0, sum(sizes) / max(1, len(sizes)))


def _nodes(graphs: list[Any]) -> list[int]:
    """Return the numbers of nodes; nothing if graphs are refused, which the fit says better."""
    from similitude.kernels.graphs import parse_graphs  # loads all kernels

    try:
        return [one.nodes for one in parse_graphs(graphs)]
    except (TypeError, ValueError):
        return []


def _indicators(values: list[Any]) -> int:
    """Return how many columns of numbers a column becomes: one for each category, word or element."""
    found: set[str] = set()
    for one in values:
        if isinstance(one, str):
            found.add(one)
        elif isinstance(one, (set, frozenset, list, tuple)):
            found.update(map(str, one))
    # most columns of numbers that a column of categories becomes
    return min(40, max(1, len(found)))


def _counts(k: Similarity, kind: str) -> int:
    """Return how many times objects are gone over: once for substrings or words, more often for all else."""
    from similitude.kernels import Gapped  # loads all kernels

    parts = k.parts()
    if parts:
        return sum([_counts(one, kind) for one in parts])
    # how often gapped substrings, neighborhoods of nodes, and sets are counted, relative to substrings
    if isinstance(k, Gapped) or kind in ("graphs", "sets"):
        return 4
    return 1


def open_scales(k: Similarity) -> list[str]:
    """Return the parameters that are to be resolved to a median of the data.

    >>> from similitude.kernels import Gaussian, Linear
    >>> open_scales(Gaussian() + Linear()), open_scales(Gaussian(sigma=1.0))
    (['k1__sigma'], [])
    """
    unresolved = k.unresolved()
    if not unresolved:
        return []
    given = k.get_params()
    return [name for name in unresolved if isinstance(given.get(name), str) and given[name] == "median"]


def keeps_median(k: Similarity, resolved: Similarity) -> bool:
    """Tell whether a scale left open stays at the median: each scale to compare would cost another Gram matrix."""
    return resolved.hints.heavy and bool(open_scales(k)) and len(open_scales(k)) == len(k.unresolved())

"""What a fit computes, counted from the sizes of the data and what each case of the plan does.

Counts are those of textbooks: n^3 / 3 products for a Cholesky factor, n m^2 for sums over m features. Where a fit stops
early or late by what the data tell, they are those of a typical one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.compute import as_objects, is_sparse, is_table, take
from similitude.evaluation import folds_of
from similitude.fitting import limits
from similitude.fitting.automatic import rows_apart
from similitude.fitting.frugal import MOST_LANDMARKS
from similitude.fitting.frugal_rows import MOST_COMPARED_ROWS, SCREENING
from similitude.fitting.members import FEWEST_TO_CHOOSE_BY, FINALISTS, RECORDS_TRIED, TRIED_ROWS
from similitude.fitting.pilot_choice import MOST_PREDICTED, PENALTY_PILOT, SCALE_PILOT, SECOND_PILOT
from similitude.fitting.scales import SCALE_LANDMARKS, SCALE_ROWS, open_scales
from similitude.similarity import Similarity, Sum, calls_per_pair, is_counted

if TYPE_CHECKING:
    from similitude.fitting.facts import Facts

SIZED_OBJECTS = 100
"""Most objects whose sizes are looked at."""

MOST_INDICATORS = 40
"""Most columns of numbers that a column of categories becomes."""

TRIALS, METRICS_LEARNED, LAST_TRIALS = 65, 10, 15
"""Settings at which learned kernels are tried on the first pilot rows, metrics that are learned there, and settings
that see more rows: typical of the fits of `benchmarks.defaults`, some of which take half or twice as many."""

PASSES_OF_TRIAL = 6
"""How often the matrix of similarities of a trial is gone over: distances, copies, the kernel, and predictions."""

PARTS = 2
"""Kernels that are blended in an exact fit: one to four."""

CELL_FITS = 6
"""Fits of all cells: the first, rounds that learn metrics, a second kernel, and the last one."""

PILOT_TRIALS = ((SCALE_PILOT, 24), (SECOND_PILOT, 12), (PENALTY_PILOT, 6))
"""Rows, and how many settings are tried on them, of a pilot for one given kernel."""

PROFILE_FITS = 18
"""Models of a frugal fit: one for each number of columns, and again in the order of what columns tell."""

SCALES_TRIED = 4
"""Of five scales of a similarity, those that are compared on the way to the best."""

GRADIENT_STEPS = 40
"""How often conjugate gradients go over the matrix of similarities, with those that compare penalties."""

PENALTIES_COMPARED = 20
"""Penalties whose left-out losses are computed, each in one pass over the features."""

ENCODINGS = 5
"""How often a fit goes over the letters or nodes of objects, where a prediction encodes them once: it also looks for
equal objects, learns weights, and copies rows for members of a family and for folds."""

FILTERS, FILTER_POINTS, FILTER_STEPS = 10_000, 400, 20
"""Default convolutions of series: their number, how many points of a series take as long as the copies of its features
in a fit, and what drawing the filters takes, in steps."""

OTHER_ALIGNMENTS = 4.0
"""What alignments of series and strings other than time warping cost, as `pair_cost` has it."""

MANY_COUNTS = 4
"""How often gapped substrings, neighborhoods of nodes, and sets are counted, relative to substrings."""

IN_DOUBLE = 2
"""How much longer products take in double precision: sums over features have it, and kernels are learned in single."""


class Work(dict[str, float]):
    """Amounts of work by their names in `costs.SECONDS`.

    >>> done = Work(pairs=2.0)
    >>> done.add(3.0, pairs=1.0, steps=1.0)
    >>> done
    {'pairs': 5.0, 'steps': 3.0}
    """

    def add(self, times: float = 1.0, **amounts: float) -> None:
        """Add amounts, some times."""
        for name, amount in amounts.items():
            self[name] = self.get(name, 0.0) + times * amount


@dataclass(frozen=True)
class Sizes:
    """How many rows there are, and how large they are.

    Attributes
    ----------
    kind : str
    n : int
        Rows of the fit.
    rows : int
        Those of them that are in memory.
    width : int
        Numbers of a vector or row of a table, channels of a series; 1 for other objects.
    cells : int
        Columns of a table, which become numbers.
    size : float
        Mean number of letters, points, elements or nodes; 1 for vectors.
    outputs : int
    itemsize : int
        Bytes of a similarity.
    members : tuple of Similarity
        Those one of which is chosen; none if the user gave some.
    used : tuple of Similarity
        Those of the fit: the first member, because it is not known which will be chosen.
    """

    kind: str
    n: int
    rows: int
    width: int
    cells: int
    size: float
    outputs: int
    itemsize: int
    members: tuple[Similarity, ...]
    used: tuple[Similarity, ...]

    @classmethod
    def of(cls, f: Facts) -> Sizes:
        """Look at the first objects."""
        kind, first = f.options.kind, take(f.data.X, np.arange(min(SIZED_OBJECTS, len(f.data.weights))))
        members = f.data.family(kind) if f.tries_family else ()
        used = members[:1] or f.options.similarities
        width, cells, size = _shape_of(first, kind)
        rows, outputs = len(f.data.weighted), f.data.Y.shape[1]
        return cls(kind, f.n, rows, width, cells, size, outputs, f.size.itemsize, members, used)

    @property
    def encoded_bytes(self) -> float:
        """Bytes of encoded objects other than vectors."""
        if self.kind == "strings":
            return self.size * (4_000 * min(self.rows, TRIED_ROWS) + 1_000 * self.rows)
        if self.kind == "series":
            return 500_000.0 * self.rows
        columns = self.cells * min(self.rows, RECORDS_TRIED) ** 2 if self.kind == "records" else 0
        return self.rows * (200 * self.size + 1_000 * self.cells) + 16 * columns


def _shape_of(first: Any, kind: str) -> tuple[int, int, float]:
    """Return the numbers of an object, the columns of a table, and the mean size of some objects."""
    if is_table(first):
        return sum([_indicators(list(first[name])) for name in first.columns]), len(first.columns), 1.0
    if is_sparse(first) or (hasattr(first, "shape") and len(first.shape) == 2):
        return int(first.shape[1]), 0, 1.0
    objects = list(as_objects(first))
    if kind == "graphs":
        return 1, 0, _mean(_nodes(objects))
    if kind in ("table", "records") and all([isinstance(one, Mapping) for one in objects]):
        names = list(dict.fromkeys([name for row in objects for name in row]))
        return sum([_indicators([row.get(name) for row in objects]) for name in names]), len(names), 1.0
    arrays = [np.shape(one) for one in objects if hasattr(one, "shape")]
    lengths = [len(one) for one in objects if hasattr(one, "__len__")]
    if kind == "vectors":
        return max(lengths, default=1), 0, 1.0
    return max([shape[1] for shape in arrays if len(shape) == 2], default=1), 0, _mean(lengths)


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
    return min(MOST_INDICATORS, max(1, len(found)))


def _mean(sizes: list[int]) -> float:
    return max(1.0, sum(sizes) / max(1, len(sizes)))


def pilot_rows_of(n: int) -> tuple[int, float, float]:
    """Return the splits of the pilot on which kernels are learned, and the rows of each that are fitted and judged."""
    from similitude.kernel_learning import n_pilot_folds, pilot_size  # loads all kernels

    folds, pilot = n_pilot_folds(n), pilot_size(n)
    judged = min(1_000, pilot / max(folds, 3))
    return folds, pilot - judged, judged


def landmarks_tried(f: Facts, sizes: Sizes) -> list[int]:
    """Return the numbers of landmarks that may be tried; linear kernels have no more features than numbers."""
    from similitude.kernels import Linear  # loads all kernels

    if f.is_piloted:
        return [min(f.n // 2, limits.MAX_AUTO_LANDMARKS)]
    linear = all([isinstance(k, Linear) for k in sizes.used])
    return [min(m, sizes.width + 1) if linear else m for m in f.numbers[0]]


def landmarks_expected(f: Facts, sizes: Sizes) -> list[int]:
    """Return the numbers of landmarks of a typical fit, which stops halfway: the next one gains little."""
    tried = landmarks_tried(f, sizes)
    return tried[: len(tried) // 2 + 1]


def work_of_fit(case: str, f: Facts, sizes: Sizes) -> Work:
    """Count the work of a fit."""
    from similitude.kernels import Convolutions  # loads all kernels

    done = Work(steps=1, cells=sizes.n * sizes.cells)
    if case == "frugal":
        _buy(done, f, sizes)
    elif case == "exact":
        _fit_exactly(done, sizes)
    elif case == "cells":
        _fit_in_cells(done, sizes)
    elif case == "pilot":
        _fit_by_pilot(done, f, sizes)
    else:
        _fit_on_landmarks(done, f, sizes)
    if any([isinstance(k, Convolutions) for k in (*sizes.members, *sizes.used)]):
        done.add(steps=FILTER_STEPS, convolved=(min(sizes.rows, TRIED_ROWS) + sizes.rows) * FILTER_POINTS)
    done["encoded"] = ENCODINGS * done.get("encoded", 0.0)
    return done


def work_of_prediction(case: str, f: Facts, sizes: Sizes) -> Work:
    """Count the work of one prediction among many."""
    done = Work(objects=1, cells=sizes.cells)
    if case == "frugal":
        assert f.frugal_calls is not None
        done.add(calls=min(MOST_LANDMARKS, f.frugal_calls / sizes.n / 2))  # half of the rows are certain early
        return done
    if case in ("exact", "cells"):
        from similitude.kernel_learning import CELL_ROWS  # loads all kernels

        within = sizes.n if case == "exact" else 2 * CELL_ROWS
        done.add(PARTS * within, pairs=PASSES_OF_TRIAL / 2, columns=sizes.width)
        return done
    n = sizes.n if case == "pilot" and f.few else landmarks_expected(f, sizes)[-1]
    for k in sizes.used:
        _compare(done, k, n, 1, sizes)
    return done


def _buy(done: Work, f: Facts, sizes: Sizes) -> None:
    """Count a frugal fit: a model for each number of columns, by the eigenvectors of all compared rows."""
    assert f.frugal_calls is not None
    rows = min(sizes.n, MOST_COMPARED_ROWS)
    most = (1 + SCREENING) * rows * MOST_LANDMARKS * calls_per_pair(f.options.similarities[0])
    done.add(calls=min(f.frugal_calls, most))
    done.add(PROFILE_FITS, eigen=rows**3, steps=1)


def _learn(done: Work, n: int, sizes: Sizes, times: int = 1) -> None:
    """Count the choice of learned kernels on n rows."""
    from similitude.kernel_learning import FIRST_FITTED_ROWS  # loads all kernels

    folds, fitted, judged = pilot_rows_of(n)
    first = min(fitted, FIRST_FITTED_ROWS)
    _try_settings(done, times * folds * TRIALS, first, judged)
    done.add(times * folds * METRICS_LEARNED, columns=first * (first + judged) * sizes.width)
    if folds == 1:
        _try_settings(done, times * LAST_TRIALS, fitted, judged)


def _try_settings(done: Work, times: float, fitted: float, judged: float) -> None:
    """Count models of some rows that predict others."""
    done.add(times, trials=1, products=fitted**3 / 3, pairs=PASSES_OF_TRIAL * fitted * (fitted + judged))


def _factor(done: Work, times: float, n: float, sizes: Sizes) -> None:
    """Count exact fits to n vectors."""
    done.add(times, products=n**3 / 3 + n**2 * sizes.outputs, pairs=PASSES_OF_TRIAL * n**2, columns=n**2 * sizes.width)


def _fit_exactly(done: Work, sizes: Sizes) -> None:
    """Count learned kernels and Cholesky factors; where no rows are kept apart, also in nested folds."""
    n, apart = sizes.n, rows_apart(sizes.n)
    folds = 0 if apart else folds_of(n)
    for rows, times in ((n, 1), (n - n // max(folds, 1), folds)):
        left_out = min(apart, limits.MOST_EVALUATED) or rows
        _learn(done, max(2, rows - apart), sizes, times)
        _factor(done, times * PARTS, rows, sizes)
        done.add(times, steps=1, products=PARTS * left_out**3 / 3)


def _fit_in_cells(done: Work, sizes: Sizes) -> None:
    """Count learned kernels, fits of all cells, and the landmarks that cells must beat."""
    from similitude.fitting.cells import RIVAL_LANDMARKS, RIVAL_ROWS  # loads all kernels
    from similitude.kernel_learning import CELL_ROWS

    _learn(done, sizes.n, sizes)
    cells = 2 ** max(0, round(np.log2(sizes.n / CELL_ROWS)))
    _factor(done, CELL_FITS * cells, sizes.n / cells, sizes)
    rows = min(sizes.n, RIVAL_ROWS)
    done.add(rows, pairs=RIVAL_LANDMARKS, products=RIVAL_LANDMARKS**2)


def _fit_by_pilot(done: Work, f: Facts, sizes: Sizes) -> None:
    """Count trials on pilot rows, and an exact fit, or conjugate gradients with landmarks."""
    for rows, times in PILOT_TRIALS:
        _try_settings(done, times, min(rows, sizes.n), min(MOST_PREDICTED, sizes.n))
    if f.few:
        _factor(done, 1, sizes.n, sizes)
        return
    n, m = sizes.n, landmarks_tried(f, sizes)[-1]
    done.add(n * m, pairs=1 + GRADIENT_STEPS, columns=sizes.width, products=GRADIENT_STEPS * sizes.outputs)
    done.add(products=IN_DOUBLE * m**3)


def _fit_on_landmarks(done: Work, f: Facts, sizes: Sizes) -> None:
    """Count the choice of a similarity, of its scale and of landmarks, in folds if rows are few, and a pass if many."""
    rows = max(1, min(sizes.rows, f.rows_chosen_on))
    numbers = landmarks_expected(f, sizes)
    similarities = sizes.used
    width = len(similarities) * numbers[-1]
    folds = folds_of(rows) if f.few and f.data.all_in_memory else 0
    if f.candidates == "learned":
        _learn(done, sizes.rows, sizes)
    if f.candidates == "family":
        _try_members(done, f, sizes, folds)
    scaled = f.candidates == "given" and any([open_scales(k) and not k.hints.heavy for k in similarities])
    for times, n in ((1, rows), (folds, rows - rows / max(folds, 1))):
        _on_features(done, times, n, [len(similarities) * m * n / rows for m in numbers])
        if scaled:
            some, m = min(n, SCALE_ROWS), min(n, SCALE_LANDMARKS, landmarks_tried(f, sizes)[-1])
            _on_features(done, times * SCALES_TRIED, some, [m])
            for k in similarities:
                _compare(done, k, times * (SCALES_TRIED * some * m + n * numbers[-1]), times * n, sizes)
    for k in similarities:
        asymmetric = 1 if k.proven else 1.5  # the landmarks with each other
        _compare(done, k, asymmetric * sizes.n * numbers[-1], sizes.n, sizes)
    if sizes.n > rows:
        done.add(sizes.n, products=width**2, read=0 if f.data.all_in_memory else 1)


def _on_features(done: Work, times: int, n: float, numbers: Sequence[float]) -> None:
    """Count ridge regressions on the features of some numbers of landmarks."""
    for m in numbers:
        done.add(times, steps=1, eigen=m**3, pairs=PENALTIES_COMPARED * n * m, products=2 * IN_DOUBLE * n * m**2)


def _try_members(done: Work, f: Facts, sizes: Sizes, folds: int) -> None:
    """Count the members of a family on the rows that they are tried on."""
    from similitude.kernels import PAIR_BUDGET, pair_cost  # loads all kernels

    members = sizes.members
    n = min(sizes.rows, RECORDS_TRIED if f.options.kind == "records" else TRIED_ROWS)
    if len(members) == 1 or n < FEWEST_TO_CHOOSE_BY:
        return
    costly = sum([pair_cost(k) for k in members if not isinstance(k, Sum)])
    for k in members:
        tried = min(n, int(np.sqrt(PAIR_BUDGET * n / (sizes.size * costly)))) if pair_cost(k) else n
        if not isinstance(k, Sum):
            _compare(done, k, tried**2 / 2, tried, sizes)
        done.add(eigen=(tried / 2) ** 3)
    done.add(1 + folds * (1 - 1 / max(folds, 1)) ** 3, eigen=FINALISTS * n**3)
    if f.options.kind == "records":
        _learn(done, n, sizes)


def _compare(done: Work, k: Similarity, pairs: float, objects: float, sizes: Sizes) -> None:
    """Count some similarities, and the objects that are encoded for them."""
    from similitude.kernels import pair_cost  # loads all kernels

    if is_counted(k):
        done.add(pairs, calls=calls_per_pair(k))
    elif sizes.kind in ("vectors", "table", "records", "matrix"):
        done.add(pairs, pairs=1, columns=sizes.width)
    elif pair_cost(k) or (k.hints.heavy and sizes.kind in ("strings", "series")):
        done.add(pairs, warps=(pair_cost(k) or OTHER_ALIGNMENTS) * sizes.size**2)
    elif sizes.kind == "series":
        done.add(products=pairs * FILTERS, convolved=objects * sizes.size)
    else:
        done.add(sizes.size * _counts(k, sizes.kind), letters=pairs, encoded=objects)


def _counts(k: Similarity, kind: str) -> int:
    """Return how many times objects are gone over: once for substrings or words, more often for all else."""
    from similitude.kernels import Gapped  # loads all kernels

    parts = k.parts()
    if parts:
        return sum([_counts(one, kind) for one in parts])
    return MANY_COUNTS if isinstance(k, Gapped) or kind in ("graphs", "sets") else 1

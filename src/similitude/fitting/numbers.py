"""Numbers of landmarks to try, and how many rows choices are made on, by what fits into memory."""

from __future__ import annotations

from dataclasses import dataclass

from similitude.compute import check_objects
from similitude.evaluation import n_fitted
from similitude.fitting import limits
from similitude.fitting.options import FitOptions
from similitude.linear import gram_matrices


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

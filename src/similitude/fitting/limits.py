"""The numbers that decide how a fit is made, each with its reason; the table of cases (`plan`) and `facts` read them.

Choices that a fit makes again in its folds depend on the rows of the fold: functions here decide these.
"""

import numpy as np

from similitude.evaluation import HELD_OUT_SHARE, MOST_HELD_OUT, Pilot
from similitude.evaluation import LEAVE_ONE_OUT as LEAVE_ONE_OUT

SAMPLE_ROWS = 20_000
"""Most rows on which numbers of landmarks are chosen; a fit to more rows then makes one pass over all of them."""

FEWEST_LEARNED = 60
"""Rows below which no kernel is learned from labels: a Gaussian kernel is used."""

FEWEST_PILOTED = 1_000
"""Rows from which a pilot chooses scale, penalty and landmarks; of fewer, all choose, and nested folds evaluate."""

FEWEST_EVALUATED = 300
"""Rows outside of the pilot that are enough to evaluate a fit; with fewer of them, nested folds do."""

LARGEST_SHARE_EVALUATED = 0.2
"""Share of up to `LEAVE_ONE_OUT` rows that takes no part in choices on a pilot."""

MATRICES = 3
"""Matrices of the size of a Gram matrix that an exact fit holds at once: the matrix, its factor and a copy."""

FIRST = 100
PER_CLASS = 20
"""Landmarks to start with: at least this many, and at least this many for each class."""

MAX_WITH_ALL_ROWS = 2_000
"""Landmarks up to which every row may become one; beyond, half of the rows."""

MAX_AUTO_LANDMARKS = 2_400
"""Most landmarks if their number is not given."""

LARGEST_BY_RULE = 1_600
"""The same for rules that compute the similarities of all rows."""

ROWS_PER_NUMBER = 5_000
"""Rows on which a number of landmarks may be chosen; with more landmarks, three times as many rows."""

FIRST_OF_FAMILY = 1_200
"""Landmarks to begin with under a similarity that was chosen from a family, which is cheap: with every row for one, the
rows of rare classes are among them."""

SCALE_ROWS = 5_000
"""Most rows on which scales are compared."""

SCALE_LANDMARKS = 1_000
"""Most landmarks with which scales are compared."""

FEATURE_ARRAYS = 4
"""Arrays of the size of the features that are in memory at once while the number of landmarks is chosen."""

CALLS_PER_ROW = 40
FURTHER_CALLS = 10_000
"""The most calls of a frugal fit without `max_calls`: these for each row, and some more."""

THOROUGH_PER_ROW = 100
"""Up to this many calls for each row, and some more, a fit that compares all rows with each other is not too costly."""

FEWEST_WITH_ROWS_APART = 1_200
"""Rows from which an exact fit keeps some out of the pilot to evaluate it: nested folds would learn twice more."""

MOST_EVALUATED = 1_000
"""Most rows outside of the pilot that evaluate an exact fit, each left out alone."""

RECORDS_TRIED = 1_000
TRIED_ROWS = 500
"""Most rows that members of a family are tried on: records with numbers or categories, whose kernel is learned, and
other objects."""

FEWEST_TO_CHOOSE_BY = 20
"""Rows below which nothing is tried: the first member of a family is taken."""

FINALISTS = 2
FEWEST_IN_FIRST_HALF = 100
"""Members that are compared on all rows, if half of the rows are enough to show the best ones."""

FEWEST_RECORDS_LEARNED = 150
"""Records from which on a learned kernel is compared with the members."""

MOST_COMPARED_ROWS = 2_000
"""Most rows that a frugal fit compares: the equations of a stage take the third power of their number."""

FRUGAL_SHARE = 0.1
MOST_FRUGAL_EVALUATED = 300
"""The share of these that evaluates the model, and the most rows that do."""


def rows_sampled(n_landmarks: int | str) -> tuple[int, int]:
    """Return how many rows, the first in random order, choices are made on, and how many, the last, are held out."""
    first = SAMPLE_ROWS if n_landmarks == "auto" else max(SAMPLE_ROWS, int(n_landmarks))
    return first, MOST_HELD_OUT


def rows_held_out(n: int, known: int) -> int:
    """Return how many of n rows of a batch of a stream are held out: a fifth, until 5,000 rows are known in all."""
    return 0 if known >= MOST_HELD_OUT else max(int(known == 0), round(HELD_OUT_SHARE * n))


def scale_comparison(n: int, landmarks: int) -> tuple[int, int]:
    """Return the most rows and landmarks with which scales are compared."""
    return min(n, SCALE_ROWS), min(landmarks, SCALE_LANDMARKS)


def rows_apart(n: int) -> int:
    """Return how many of n rows take no part in the choices of an exact fit, so that they can evaluate it; none of few.

    >>> rows_apart(500), rows_apart(2000), rows_apart(5000)
    (0, 400, 2400)
    """
    if n < FEWEST_WITH_ROWS_APART:
        return 0
    return max(n - Pilot.of(n).size, FEWEST_EVALUATED, int(LARGEST_SHARE_EVALUATED * n))


def evaluation_rows(apart: np.ndarray) -> np.ndarray | None:
    """Return those of the rows without part in any choice that evaluate an exact fit; None if they are too few."""
    if len(apart) < FEWEST_EVALUATED:
        return None
    return apart[:MOST_EVALUATED]


def rows_outside_pilot(n: int, usual: int) -> int:
    """Return how many of n rows evaluate a fit by a pilot; of many rows the usual number."""
    if n <= LEAVE_ONE_OUT:
        usual = int(LARGEST_SHARE_EVALUATED * n)
    return max(usual, FEWEST_EVALUATED)


def rows_tried(records: bool) -> int:
    """Return the most rows that members of a family are tried on."""
    if records:
        return RECORDS_TRIED
    return TRIED_ROWS


def can_choose(n: int) -> bool:
    """Whether rows are enough to choose a member of a family by."""
    return n >= FEWEST_TO_CHOOSE_BY


def learns_records(n: int) -> bool:
    """Whether a kernel is learned from records, and compared with the members."""
    return n >= FEWEST_RECORDS_LEARNED


def rows_of_first_round(n: int, members: int) -> int:
    """Return on how many of n rows members are compared to find the finalists; 0 if all are compared on all rows."""
    if members > FINALISTS and n // 2 >= FEWEST_IN_FIRST_HALF:
        return n // 2
    return 0


def rows_compared(n: int) -> int:
    """Return how many of n rows a frugal fit compares."""
    return min(n, MOST_COMPARED_ROWS)


def rows_evaluating(n: int, share: float | None = None) -> int:
    """Return how many of n compared rows take no part in any choice, so that they evaluate a frugal fit."""
    return min(MOST_FRUGAL_EVALUATED, int((share or FRUGAL_SHARE) * n))

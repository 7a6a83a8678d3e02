"""The numbers that decide how a fit is made, each with its reason; the table of cases (`plan`) and `facts` read them.

What depends on numbers of rows, functions here decide: choices that folds make again depend on the rows of the fold.
"""

from similitude.evaluation import HELD_OUT_SHARE, MOST_COPIES, MOST_HELD_OUT, Pilot
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

MAX_AUTO_LANDMARKS = 2_400
"""Most landmarks if their number is not given."""

SCALE_ROWS = 5_000
"""Most rows on which scales are compared."""

SCALE_LANDMARKS = 1_000
"""Most landmarks with which scales are compared."""

FEATURE_ARRAYS = 4
"""Arrays of the size of the features that are in memory at once while the number of landmarks is chosen."""

MOST_EVALUATED = 1_000
"""Most rows outside of the pilot that evaluate an exact fit, each left out alone."""

FINALISTS = 2
"""Members that are compared on all rows, if half of the rows are enough to show the best ones."""


def first_landmarks(n_classes: int, of_cheap_family: bool) -> int:
    """Return how many landmarks to start with: at least 100, and at least 20 for each class."""
    # with every row for one, the rows of rare classes are among them
    return max(100, 20 * n_classes, 1_200 * of_cheap_family)


def most_landmarks(available: int, rule: str) -> int:
    """Return the most landmarks of some objects: up to 2,000 every one, beyond, half of them."""
    largest = 1_600  # of rules that compute the similarities of all rows
    if rule in ("auto", "uniform", "stratified"):
        largest = MAX_AUTO_LANDMARKS
    return min(available, max(2_000, available // 2), largest)


def landmarks_after_pilot(n: int, enough: int | None) -> int:
    """Return how many landmarks n rows get: twice as many as are enough for the pilot, or the most if none are."""
    if enough is None:
        return min(MAX_AUTO_LANDMARKS, n // 2)
    return min(2 * enough, n // 2)


def rows_for_number(n: int, n_landmarks: int) -> int:
    """Return on how many of n rows a number of landmarks may be chosen: with many landmarks, three times as many."""
    return min(SAMPLE_ROWS, n, max(5_000, 3 * n_landmarks))


def calls_allowed(n: int, calls: int, max_calls: int | None) -> tuple[int, int]:
    """Return up to how many calls a fit to n rows may compare all of them, and the most calls of a frugal fit.

    Each pair takes some calls, and the user may limit them.
    """
    if max_calls is not None:
        return max_calls, max_calls
    return 100 * n + 10_000, 40 * n * calls + 10_000


def rows_sampled(n_landmarks: int | str) -> tuple[int, int]:
    """Return how many rows, the first in random order, choices are made on, and how many, the last, are held out."""
    if n_landmarks == "auto":
        return SAMPLE_ROWS, MOST_HELD_OUT
    return max(SAMPLE_ROWS, int(n_landmarks)), MOST_HELD_OUT


def rows_held_out(n: int, known: int) -> int:
    """Return how many of n rows of a batch of a stream are held out: a fifth, until 5,000 rows are known in all."""
    if known >= MOST_HELD_OUT:
        return 0
    return max(int(known == 0), round(HELD_OUT_SHARE * n))


def scale_comparison(n: int, landmarks: int) -> tuple[int, int]:
    """Return the most rows and landmarks with which scales are compared."""
    return min(n, SCALE_ROWS), min(landmarks, SCALE_LANDMARKS)


def rows_apart(n: int) -> int:
    """Return how many of n rows take no part in the choices of an exact fit, so that they can evaluate it; none of few.

    >>> rows_apart(500), rows_apart(2000), rows_apart(5000)
    (0, 400, 2400)
    """
    if n < 1_200:  # nested folds, which would learn twice more, evaluate the fit
        return 0
    return max(n - Pilot.of(n).size, FEWEST_EVALUATED, int(LARGEST_SHARE_EVALUATED * n))


def rows_left_out(apart: int) -> int:
    """Return how many rows without part in any choice evaluate an exact fit, each left out alone; none if too few."""
    if apart < FEWEST_EVALUATED:
        return 0
    return min(apart, MOST_EVALUATED)


def leaves_one_out(n: int) -> bool:
    """Whether each of n rows can be left out alone; of more, the last ones are held out."""
    return n <= LEAVE_ONE_OUT


def too_many_copies(n_copies: int, n: int) -> bool:
    """Whether so many of n rows are copies that these are groups."""
    return n_copies > MOST_COPIES * n


def rows_in_sample(n: int) -> int:
    """Return on how many of n rows in memory medians are computed, and landmarks are drawn from, at most."""
    return min(n, SAMPLE_ROWS)


def rows_outside_pilot(n: int, usual: int) -> int:
    """Return how many of n rows evaluate a fit by a pilot; of many rows the usual number."""
    if n <= LEAVE_ONE_OUT:
        usual = int(LARGEST_SHARE_EVALUATED * n)
    return max(usual, FEWEST_EVALUATED)


def rows_tried(records: bool) -> int:
    """Return the most rows that members of a family are tried on; of records, a kernel is learned."""
    if records:
        return 1_000
    return 500


def can_choose(n: int) -> bool:
    """Whether rows are enough to choose a member of a family by; otherwise the first one is taken."""
    return n >= 20


def learns_records(n: int) -> bool:
    """Whether a kernel is learned from records, and compared with the members."""
    return n >= 150


def rounds_of_members(n: int, members: int) -> list[tuple[int, int]]:
    """Return on how many of n rows members are compared, and how many are kept, round by round."""
    if members > FINALISTS and n // 2 >= 100:  # half of the rows show the best ones
        return [(n // 2, FINALISTS), (n, 1)]
    return [(n, 1)]


def rows_compared(n: int) -> int:
    """Return how many of n rows a frugal fit compares."""
    return min(n, 2_000)  # the equations of a stage take the third power of their number


def rows_evaluating(n: int, share: float = 0.1) -> int:
    """Return how many of n compared rows take no part in any choice, so that they evaluate a frugal fit."""
    return min(300, int(share * n))

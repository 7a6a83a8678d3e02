"""The numbers that decide how a fit is made, each with its reason; the table of cases (`plan`) reads them."""

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

FEWEST_NESTED_ROWS = 10
"""With fewer different rows, folds would be too small to fit a model to: each row is then left out alone."""

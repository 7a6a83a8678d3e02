"""Numbers that decide what a report computes and shows."""

# Which examples are held out, and how often.

MIN_EXAMPLES = 40
"""With fewer examples, cross-validation is repeated, and trees have too few rows to split."""

MANY_EXAMPLES = 500
"""From this number on, a part of the examples is held out once; with fewer, each is held out in one of the folds."""

REPEATS = 5
"""Repeats of cross-validation, which average over the splits of few examples."""

# Sizes of samples: a report takes at most a few times as long as a fit (``python -m benchmarks.report_time``).

MAX_CHECKED = 500
"""Examples among which a counterexample is searched, and on which goodness is assessed: time grows with the square."""

MAX_NEIGHBORS = 1000
"""Nearest neighbors are searched among at most this many of the examples fitted to."""

MAX_PERMUTED = 600
"""Examples that columns are permuted among."""

MAX_CALLS_OF_A_FUNCTION = 200_000
"""Similarities that the importance of columns and refitted models may take, each, of a user's function."""

MAX_ATTRIBUTED_CALLS = 100_000
"""Similarities that attributions compute if they are values of a user's function."""

MAX_TREES = 600
"""Trees of gradient boosting: with many classes, each gets fewer, at least ten and at most a hundred."""

# What readers can take in at a time.

MOST_BARS = 15
"""Classes, columns or landmarks that have a row of their own in a chart."""

MOST_COLORS = 8
"""Classes that have a color of their own in a chart."""

MANY_CLASSES = 12
"""With more classes, confusions are a chart, not a table with numbers."""

MOST_POINTS = 600
"""Points of a scatter plot."""

TOO_FAR = 100
"""A theorem's size is drawn up to this many times the model's number of landmarks."""

MOST_LISTED = 40
"""Columns that are described in a table, others being named, and landmarks that are listed."""

N_DECIDING = 7
"""Training examples that are listed for each prediction."""

N_TYPICAL = 16
"""Typical examples that are shown."""

# The size of the page.

BUDGET = 350_000
"""Characters of drawings after which objects of the page are written as text."""

EXTRA = 120_000
"""Further characters for objects that are shown only on demand: those of the map and the matrix."""

"""The numbers that decide what is learned, each with its reason."""

MEDIAN_ROWS = 300
"""Rows whose pairs give the median distance."""

UNPREDICTABLE = 0.97
"""Loss, relative to that of the mean, above which no isotropic kernel shows anything to learn from."""

MOST_RANKED = 300
"""Columns up to which ranks are tried: more would double the time."""

MOST_DIRECTIONS = 500
"""Columns up to which a full matrix is learned."""

MOST_SIGNS = 3e7
"""Most comparisons of coordinates for the gradients of a kernel of absolute differences."""

MOST_WEIGHTS = 20_000
"""Most features that keep a learned weight, those that count most; all others have weight 0."""

MOST_ENTRIES = 5e7
"""Most values of similarities of all parts of a sum together that are in memory, in single precision."""

CELL_ROWS = 2_000
"""Rows of a cell, up to a factor of the square root of 2."""

LARGEST_CELL = 5_000
"""Rows of a cell that is still fitted exactly: many equal rows cannot be split."""

MOST_COORDINATES = 100
"""Coordinates up to which a cell learns a matrix; of more, weights."""

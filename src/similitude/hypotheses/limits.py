"""Numbers that decide how samples are compared."""

RELATIVE_WIDTHS = (1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
"""Widths of the automatic kernels of vectors and tables, as multiples of the median distance in the pool."""

PAIRED_WIDTHS = (1 / 4, 1.0, 8.0)
"""The same where every kernel of one side is combined with every one of the other: many pairs see less than a few."""

ALL_PAIRS_LIMIT = 3000
"""Most objects of which all pairs are compared by default; more are compared with landmarks."""

DEFAULT_LANDMARKS = 200
"""Number of landmarks by default."""

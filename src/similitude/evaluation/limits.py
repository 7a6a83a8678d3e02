"""The numbers that decide which rows are held out, and from which a kernel is learned, each with its reason."""

LEAVE_ONE_OUT = 5_000
"""Rows up to which each is evaluated by a model of all others; with more rows, a part is held out."""

HELD_OUT_SHARE = 0.2
"""The part of many rows that is held out."""

MOST_HELD_OUT = 5_000
"""Most rows that a pass over all rows holds out."""

THREE_FOLDS = 300
"""Rows up to which there are three nested folds; with more there are two."""

FEWEST_NESTED_ROWS = 10
"""With fewer different rows, folds would be too small to fit a model to: each row is then left out alone."""

FEWEST_GROUPS_APART = 3
"""Groups from which on one can be set apart, and two are left to make choices on."""

FEWEST_NESTED_GROUPS = 4
"""Groups from which on there are nested folds, or two to fit to, one to choose on and one to evaluate."""

FEWEST_TO_LEARN = 20
"""Rows below which no metric and no weights are learned."""

PILOT_FITTED_ROWS = 1_600
"""Most pilot rows that a candidate is fitted to."""

FIRST_FITTED_ROWS = 800
"""Most pilot rows that all candidates are fitted to at first; only the best see more."""

PILOT_HELD_OUT_ROWS = 1_000
"""Most pilot rows on which candidates are compared."""

FEW_ROWS = 1_000
"""Rows below which candidates are compared by four folds rather than on a single split."""

VERY_FEW_ROWS = 200
"""Rows below which there are eight folds: each has to be small."""

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
"""With fewer rows, folds would be too small to fit a model to: each row is then left out alone."""

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

MOST_SEARCHED = 20_000
"""Rows up to which copies are looked for: numbering a million rows of 28 numbers takes 2 s, where a fit to them takes
0.2 s on a GPU (`python -m benchmarks.gpu --only numbers`)."""

SINGLE_OBJECTS = 0.5
"""Share of different rows that occur once, from which repeated ones may be copies: draws from few possible rows repeat
nearly all of them, and even as many draws as there are rows leave 0.58 of those drawn single."""

MOST_ATOMS = 0.05
"""Share of the values of a column up to which values may occur in different rows, such as 0, if it is a measurement."""

MOST_COPIES = 0.1
"""Share of repeated objects without columns up to which they are copies."""

FEWEST_OF_ONE_SIZE = 10
"""Different rows that occur equally often from which their number tells copies from draws."""

CLEAR_GAIN = 3.0
"""Standard errors by which log losses of left-out rows must be smaller than those of the frequencies of classes before
a label can look wrong."""

WRONG_AT_MOST = 0.1
SURE = 0.9
LESS_PROBABLE = 0.3
"""A label looks wrong if its probability is at most this, another one's at least that, and its own at most this part of
its class's share: in a class of 5 % that nothing predicts, all labels have a probability of 0.05."""

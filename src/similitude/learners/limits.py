"""Numbers that decide how learners compute, each with its reason."""

import numpy as np

DOUBLE_EPS = float(np.finfo(np.float64).eps)
"""The rounding error of float64, in which the limits of rounding are stated."""

# Support vector machines.

WORKING_SET = 4096
"""Free variables that are optimized at once, or a twelfth of all if that is more; half as many others join them."""

SAMPLED_FROM = 2048
"""Examples from which on a sample is solved first: it shows which rows of the kernel are needed at all."""

MAX_STEPS = 10_000_000
"""Total number of steps after which the solver gives up with a warning."""

MOST_AT_ONCE = 6000
"""Objects up to which the whole Gram matrix is computed at once: of more, most rows may not be needed."""

CACHED_ROWS = 1024
"""Kernel rows that are cached regardless of their size."""

CACHE_BYTES = 3 * 2**27
"""More rows are cached up to this size."""

MANY_ROWS = 50_000
"""Rows from which on a warning names learners that take less time."""

MAX_OBJECTIVE_VALUES = 10**8
"""The objective of a stochastic descent is computed if that takes at most this number of kernel values."""

MARGIN_ROUNDING = 32
"""A squared margin below this many machine epsilons of the squared lengths counts as zero (1e-7 in float64)."""

FEASIBILITY_TOLERANCE = 1e-10
"""Feasibility tolerance of HiGHS, the smallest that it offers. A margin of this size is not recognized."""

# Perceptrons.

MOST_EPOCHS = 10**6
"""Epochs that may be asked for: the mistakes of each are kept."""

MAX_EPOCHS = 1000
"""Epochs after which training until a clean epoch gives up."""

EXAMPLES_IN_TURN = 128
"""Examples after a mistake that are processed with one block of the kernel between them."""

SCORED_EXAMPLES = 4096
"""Examples whose scores are computed at once, in tiles; an eighth of them under a budget."""

ONE_BLOCK_VALUES = 2**17
"""Values of a cheap kernel up to which one block is faster than tiles and threads."""

# Risk minimization.

MOST_STALLED = 10
"""Newton steps, or envelopes, in a row without progress before giving up."""

LONGEST_NORM = 2.0**60
"""Largest ratio of a norm, at which a user's regularizer is evaluated, to the size of the problem."""

# Ranking and novelty.

RANK_NEGLIGIBLE = 1e-12
"""Share of the largest eigenvalue below which one counts as zero."""

# Clusters.

MOST_OBJECTS = 500
"""More objects are sampled to choose a number of clusters: stability is a mean, which more objects hardly change."""

STABLE = 0.9
"""The least mean adjusted Rand index of the clusters that two halves give."""

SPLITS = 20
"""Number of splits into halves."""

REFERENCES = 19
"""Number of single clusters that the objects are compared with: chance beats all of them once in twenty times."""

REFERENCE_SPLITS = 5
"""Number of splits of each single cluster."""

SAME_POINT = 64 * DOUBLE_EPS
"""A squared distance below this part of the squared lengths is rounding."""

# Search.

TRIAL_OBJECTS = 20
"""Number of objects that are searched for to see how many pairs the bounds leave."""

SHORT_LIST = 0.015
"""Share of the objects, those with the largest bounds, that an approximate search evaluates for a new query."""

GRAPH_NEIGHBORS = 20
"""Fewest neighbors of each object in a graph."""

"""Types of the arguments and results of the loops."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Doubles = NDArray[np.float64]

CSR = tuple[Array, Array, Array]
"""Sparse rows: row i has the entries data[indptr[i]:indptr[i+1]] in the columns indices[indptr[i]:indptr[i+1]]."""

Structure = tuple[Array, Array, Array]
"""Graphs as node starts (int64), starts (int64) and neighbors (int32): graph g has the nodes
node_starts[g]:node_starts[g + 1], and node v the neighbors neighbors[starts[v]:starts[v + 1]], numbered within the
graph and increasing."""

LabeledGraphs = tuple[Array, Array, Array, Array, Array, Array]
"""The arrays of a Structure, a label for each node and each neighbor (uint64), and the largest eigenvalue of the
adjacency matrix of each graph (float64)."""

Keyed = tuple[Array, Array, Array]
"""Histograms as starts (int64), keys (uint64) and counts (float64): histogram g has keys[starts[g]:starts[g + 1]]."""


class Patterns(NamedTuple):
    """The positions of a window whose letters make a feature, for each of several patterns.

    Pattern q takes ``positions[starts[q]:starts[q + 1]]`` of windows of ``spans[q]`` letters.
    """

    positions: Array
    starts: Array
    spans: Array


class BagArrays(NamedTuple):
    """Features with counts, one bag per string: bag i has ``codes[starts[i]:starts[i + 1]]``, in order of appearance.

    If a code is a digest, the window is found by ``places``, its position in the string times the number of patterns
    plus the pattern, in string i, ``text[text_starts[i]:text_starts[i + 1]]``. Without digests, these three may be
    empty.
    """

    codes: Array
    counts: Array
    places: Array
    starts: Array
    text: Array
    text_starts: Array


class TermArrays(NamedTuple):
    """Terms of texts with counts: text i has ``counts[starts[i]:starts[i + 1]]`` in these columns, by increasing key.

    A column is a term; they are numbered as they come. ``names`` are the letters of all terms, a newline after each.
    """

    starts: Array
    columns: Array
    counts: Array
    keys: Array
    names: Array

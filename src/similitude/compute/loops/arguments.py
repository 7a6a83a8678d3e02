"""Arguments of the loops: types of arrays, and functions that are known by name.

What arrays must satisfy is stated once, where the compiled loops take them: their types in ``cpp/arguments.hpp``, what
belongs together in ``cpp/checks.hpp`` and beside each loop. They refuse what they could not survive (entries out of
range, arrays of another type or shape, sizes that overflow), and what has no meaning. The readable loops assume valid
arguments. Values that a function is applied to are not looked at one by one: outside of the tables below results are
NaN or mean nothing. Arrays that come over a network, or are fields of records, may begin anywhere in memory.

The `form` of a function of a distance or a dot product is the name of its shape and the numbers `p`, `q`, `degree`:

====================  =======================================  =========================
shape                 value at x                               x is
====================  =======================================  =========================
identity              x                                        anything
root                  sqrt(x)                                  a squared distance
gaussian              exp(p x)                                 a (squared) distance
laplace               exp(p sqrt(x))                           a squared distance
matern3               (1 + u) exp(-u), u = p sqrt(x)           a squared distance
matern5               (1 + u + u^2/3) exp(-u), u = p sqrt(x)   a squared distance
rational_quadratic    (1 + p x)^-q                             a squared distance
polynomial            (p x + q)^degree                         a dot product
sigmoid               tanh(p x + q)                            a dot product
====================  =======================================  =========================

The value of a pair of sets follows from the number c of common items and the numbers a and b of items of the two:

=======  =====================================
value    definition
=======  =====================================
count    c
share    c / (a + b - c), 1 for two empty sets
any      1 if c > 0, else 0
=======  =====================================

A bound on a similarity follows from the largest number c of items that two sets can have in common:

===============  ============================================================
bound            definition
===============  ============================================================
share_of_all     c / (a + b - c), the share of all items; 1 if there is none
share_of_larger  c / max(a, b), the share of the larger set; 1 if both are empty
===============  ============================================================
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Types.

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

Patterns = tuple[Array, Array, Array]
"""Windows as positions, starts and spans: pattern q takes positions[starts[q]:starts[q + 1]] of spans[q] letters."""

Keyed = tuple[Array, Array, Array]
"""Histograms as starts (int64), keys (uint64) and counts (float64): histogram g has keys[starts[g]:starts[g + 1]]."""


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


# Functions by name.

PAIR_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "identity": lambda xp, x, p, q, degree: x,
    "root": lambda xp, x, p, q, degree: xp.sqrt(x),
    "gaussian": lambda xp, x, p, q, degree: xp.exp(p * x),
    "laplace": lambda xp, x, p, q, degree: xp.exp(p * xp.sqrt(x)),
    "matern3": lambda xp, x, p, q, degree: (1 + (u := p * xp.sqrt(x))) * xp.exp(-u),
    "matern5": lambda xp, x, p, q, degree: (1 + (u := p * xp.sqrt(x)) + u * u / 3) * xp.exp(-u),
    "rational_quadratic": lambda xp, x, p, q, degree: (1 + p * x) ** -q,
    "polynomial": lambda xp, x, p, q, degree: (p * x + q) ** degree,
    "sigmoid": lambda xp, x, p, q, degree: xp.tanh(p * x + q),
}

TERMS: dict[str, Callable[[Array, Array], Array]] = {
    "squared_difference": lambda s, t: (s - t) ** 2,
    "absolute_difference": lambda s, t: np.abs(s - t),
    "smaller": np.minimum,
}


def formula(xp: Any, x: Any, shape: str, p: float = 0.0, q: float = 0.0, degree: int = 1) -> Any:
    """Return the value of a function of an array or a tensor, by the functions of its library."""
    return PAIR_FUNCTIONS[shape](xp, x, p, q, degree)

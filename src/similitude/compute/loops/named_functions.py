"""Functions of pairs that the loops know by name: of a distance or a dot product, of two entries, of two sets.

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
from typing import Any

import numpy as np

from similitude.compute.loops.argument_types import Array

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
SHAPES = tuple(PAIR_FUNCTIONS)

TERMS: dict[str, Callable[[Array, Array], Array]] = {
    "squared_difference": lambda s, t: (s - t) ** 2,
    "absolute_difference": lambda s, t: np.abs(s - t),
    "smaller": np.minimum,
}
SUMS = tuple(TERMS)

VALUES = ("count", "share", "any")

BOUNDS = ("share_of_all", "share_of_larger")


def formula(xp: Any, x: Any, shape: str, p: float = 0.0, q: float = 0.0, degree: int = 1) -> Any:
    """Return the value of a function of an array or a tensor, by the functions of its library."""
    return PAIR_FUNCTIONS[shape](xp, x, p, q, degree)

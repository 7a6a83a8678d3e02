"""The compiled loops behind the signatures of their twins in ``reference``."""

from typing import Any

import similitude.loops._compiled as _compiled
from similitude.loops.reference import SHAPES, SUMS

worst_triple = _compiled.worst_triple


def apply(values: Any, shape: str, p: float = 0.0, q: float = 0.0, degree: int = 1) -> None:
    """See `reference.apply`."""
    _compiled.apply(values, SHAPES.index(shape), p, q, degree)


def of_products(
    products: Any, A: Any, B: Any, a: Any, b: Any, shape: str, p: float = 0.0, q: float = 0.0, degree: int = 1
) -> None:
    """See `reference.of_products`."""
    _compiled.of_products(products, A, B, a, b, SHAPES.index(shape), p, q, degree)


def of_sums(
    out: Any, A: Any, B: Any, terms: str, shape: str = "identity", p: float = 0.0, q: float = 0.0, degree: int = 1
) -> None:
    """See `reference.of_sums`."""
    _compiled.of_sums(out, A, B, SUMS.index(terms), SHAPES.index(shape), p, q, degree)

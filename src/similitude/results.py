"""The results that the library returns, and the grades of guarantees."""

from similitude.support import (
    CONDITIONAL,
    ESTIMATE,
    HELD_OUT,
    NONE,
    PROVEN,
    Curve,
    Estimate,
    Guarantee,
    Premise,
    Result,
)

__all__ = [
    "CONDITIONAL",
    "ESTIMATE",
    "HELD_OUT",
    "NONE",
    "PROVEN",
    "Curve",
    "Estimate",
    "Guarantee",
    "Premise",
    "Result",
]

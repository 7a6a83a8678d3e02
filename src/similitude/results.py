"""The results that the library returns, and the grades of guarantees."""

from similitude.support import ESTIMATE, HELD_OUT, NONE, PROVEN, Curve, Estimate, Guarantee, Result

__all__ = ["ESTIMATE", "HELD_OUT", "NONE", "PROVEN", "Curve", "Estimate", "Guarantee", "Result"]

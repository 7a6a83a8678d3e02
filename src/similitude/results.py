"""What the library returns: frozen results that print themselves, and the grades of their statements."""

from similitude.support import ESTIMATE, HELD_OUT, NONE, PROVEN, Curve, Estimate, Guarantee, Result

__all__ = ["ESTIMATE", "HELD_OUT", "NONE", "PROVEN", "Curve", "Estimate", "Guarantee", "Result"]

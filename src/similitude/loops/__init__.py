"""Inner loops: arrays in, arrays out.

The compiled module is used where it was built, and NumPy versions of the same functions
elsewhere. Both give the same results.
"""

try:
    from similitude.loops._compiled import worst_triple
except ImportError as error:
    from similitude.loops.reference import worst_triple

    COMPILED = False
    WHY_REFERENCE = str(error)
else:
    COMPILED = True
    WHY_REFERENCE = ""

__all__ = ["COMPILED", "WHY_REFERENCE", "worst_triple"]

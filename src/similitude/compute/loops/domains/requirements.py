"""What the arguments of loops have in common: arrays of a type and shape, pieces, numbers in a range."""

from numbers import Real
from typing import Any

import numpy as np

from similitude.compute.loops.argument_types import Array

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
UINT32, UINT64 = np.dtype(np.uint32), np.dtype(np.uint64)
FLOAT64 = np.dtype(np.float64)
FLOAT32_OR_64 = (np.dtype(np.float32), FLOAT64)


class UnalignedError(ValueError):
    """An array that is read does not begin at a multiple of its item size: a copy does."""

    def __init__(self, name: str, given: Array) -> None:
        super().__init__(f"the entries of {name} must be aligned")
        self.given = given


def require(holds: Any, problem: str) -> None:
    """Refuse arguments that are outside of the domain."""
    if not holds:
        raise ValueError(problem)


def array(name: str, given: Any, dimensions: int, *types: Any) -> None:
    """Require an array of one of these types, each entry next to the one before."""
    if not _is_array(given) or given.ndim != dimensions or given.dtype not in types:
        raise _wrong_type(name, given, "a row" if dimensions == 1 else "a matrix", types)
    flags = given.flags
    if not flags.c_contiguous:
        raise ValueError(f"the entries of {name} must be neighbors")
    if not flags.aligned:
        raise UnalignedError(name, given)


def view(name: str, given: Any, *types: Any) -> None:
    """Require a matrix whose rows may lie apart, with the entries of each row next to each other."""
    if not _is_array(given) or given.ndim != 2 or given.dtype not in types:
        raise _wrong_type(name, given, "a matrix", types)
    if not (given.strides[1] == given.itemsize or given.size == 0 or given.shape[1] == 1):
        raise ValueError(f"the entries of each row of {name} must be neighbors")
    if not given.flags.aligned:
        raise UnalignedError(name, given)


def out_matrix(name: str, given: Any, *types: Any) -> None:
    """Require a matrix that can be written into."""
    _check_written(name, given)
    view(name, given, *types)


def out_row(name: str, given: Any, *types: Any) -> None:
    """Require a row that can be written into."""
    _check_written(name, given)
    array(name, given, 1, *types)


def _check_written(name: str, given: Any) -> None:
    """Refuse an array that cannot be written into: a copy would not do."""
    if isinstance(given, np.ndarray) and not given.flags.writeable:
        raise ValueError(f"{name} is read-only")
    if isinstance(given, np.ndarray) and not given.flags.aligned:
        raise ValueError(f"the entries of {name} must be aligned")


def _is_array(given: Any) -> bool:
    """Tell whether something is an array all of whose entries can be checked: comparisons pass over masked ones."""
    return isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray)


def _wrong_type(name: str, given: Any, kind: str, types: Any) -> TypeError:
    got = type(given).__name__
    if _is_array(given):
        got = f"an array of {given.dtype} with {given.ndim} dimensions"
    return TypeError(f"{name} must be {kind} of {' or '.join(map(str, types))}, got {got}")


def whole(name: str, given: Any, low: int, high: int | None = None) -> None:
    """Require an integer in a range, by default one without an upper end."""
    if not isinstance(given, (int, np.integer)):
        raise TypeError(f"{name} must be an integer, got {type(given).__name__}")
    if given < low or (high is not None and given > high):
        limits = f"at least {low}" if high is None else f"from {low} to {high}"
        raise ValueError(f"{name} must be {limits}, got {given}")


def number(name: str, given: Any) -> None:
    """Require a real number that a float can hold; infinity and NaN are numbers."""
    if not isinstance(given, Real):
        raise TypeError(f"{name} must be a number, got {type(given).__name__}")
    try:
        float(given)
    except OverflowError:
        raise ValueError(f"{name} is too large") from None


def starts_to(starts: Any, end: int) -> None:
    """Require that pieces starts[i] to starts[i + 1] cover the entries up to `end`."""
    array("starts", starts, 1, INT64)
    require(len(starts) and starts[0] == 0 and starts[-1] == end, "starts must go from 0 to the end")
    require((starts[1:] >= starts[:-1]).all(), "starts must not decrease")


def inside(given: Array, size: int, problem: str) -> None:
    """Require integers from 0 to size - 1."""
    require(not given.size or (given.min() >= 0 and given.max() < size), problem)


def same_values(A: Array, B: Array) -> bool:
    """Tell whether two arrays hold the same values, missing ones included."""
    return A is B or (A.shape == B.shape and bool(((A == B) | ((A != A) & (B != B))).all()))


def increasing(values: Array, starts: Array) -> bool:
    """Tell whether the values of each piece increase."""
    larger = values[1:] > values[:-1]
    between = starts[1:-1]
    larger[between[(between > 0) & (between < len(values))] - 1] = True  # from one piece to the next
    return bool(larger.all())


def is_square(K: Array) -> bool:
    """Tell whether a matrix is square."""
    return K.shape[0] == K.shape[1]

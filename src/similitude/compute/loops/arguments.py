"""Arguments of the loops: types of arrays, functions that are known by name, and what a loop requires.

Each loop has a *domain*, a function with its signature that stands before its reference. It refuses what the compiled
loop could not survive (entries out of range, arrays of another type or shape, sizes that overflow), and what neither
version gives a meaning to. Values that a function is applied to are not looked at one by one: outside of the tables
below results are NaN or mean nothing, and nothing is read or written out of place. Arrays that come over a network, or
are fields of records, may begin anywhere in memory: they are copied.

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

import functools
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Loop = TypeVar("Loop", bound=Callable[..., Any])

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


# Requirements.

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
    whole = isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray)  # its comparisons skip entries
    if not whole or given.ndim != dimensions or given.dtype not in types:
        raise _wrong_type(name, given, "a row" if dimensions == 1 else "a matrix", types)
    flags = given.flags
    if not flags.c_contiguous:
        raise ValueError(f"the entries of {name} must be neighbors")
    if not flags.aligned:
        raise UnalignedError(name, given)


def view(name: str, given: Any, *types: Any) -> None:
    """Require a matrix whose rows may lie apart, with the entries of each row next to each other."""
    whole = isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray)
    if not whole or given.ndim != 2 or given.dtype not in types:
        raise _wrong_type(name, given, "a matrix", types)
    if not (given.strides[1] == given.itemsize or given.size == 0 or given.shape[1] == 1):
        raise ValueError(f"the entries of each row of {name} must be neighbors")
    if not given.flags.aligned:
        raise UnalignedError(name, given)


def out_matrix(name: str, given: Any, *types: Any) -> None:
    """Require a matrix that can be written into; a copy would not do."""
    if isinstance(given, np.ndarray) and not given.flags.behaved:
        raise _not_writable(name, given)
    view(name, given, *types)


def out_row(name: str, given: Any, *types: Any) -> None:
    """Require a row that can be written into; a copy would not do."""
    if isinstance(given, np.ndarray) and not given.flags.behaved:
        raise _not_writable(name, given)
    array(name, given, 1, *types)


def _not_writable(name: str, given: Array) -> ValueError:
    if not given.flags.writeable:
        return ValueError(f"{name} is read-only")
    return ValueError(f"the entries of {name} must be aligned")


def _wrong_type(name: str, given: Any, kind: str, types: Any) -> TypeError:
    got = type(given).__name__
    if isinstance(given, np.ndarray) and not isinstance(given, np.ma.MaskedArray):
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


# The domain in front of a loop.


def checked(domain: Callable[..., None]) -> Callable[[Loop], Loop]:
    """Decorate a loop: put its domain in front; errors begin with the name of the loop."""

    def decorate(loop: Loop) -> Loop:
        @functools.wraps(loop)
        def run(*arguments: Any, **named: Any) -> Any:
            try:
                domain(*arguments, **named)
            except UnalignedError as error:
                copied, named = _with_copy((arguments, named), error.given, error.given.copy())
                return run(*copied, **named)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{loop.__name__}: {error}") from None
            return loop(*arguments, **named)

        run.domain = domain  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


def _with_copy(value: Any, given: Any, copied: Any) -> Any:
    """Return arguments with an array replaced by its copy, inside of tuples and dicts, too."""
    if value is given:
        return copied
    if isinstance(value, dict):
        return {name: _with_copy(part, given, copied) for name, part in value.items()}
    if isinstance(value, tuple):
        parts = [_with_copy(part, given, copied) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value

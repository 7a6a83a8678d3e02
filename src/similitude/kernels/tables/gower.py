"""Gower's general coefficient of similarity, for the rows of a table with columns of different kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import Encoding, Hints, loops
from similitude.kernels.feature_weights import counted
from similitude.kernels.tables.cells import Cells, check_weights, column, column_names
from similitude.similarity import SYMMETRIC, UNIT_KERNEL, Similarity
from similitude.support import brief


class Range(NamedTuple):
    """How a column is compared: ``number`` or ``time`` in a range, rank in an ``order``, or ``equal`` values."""

    kind: str
    low: float = 0.0
    high: float = 0.0
    order: Sequence[Any] = ()
    values: str = ""

    def written(self, number: float) -> Any:
        """Return a number of the range as a person writes it."""
        if self.kind != "time":
            return number
        return np.datetime64(round(number * 1e6), "us").item().isoformat()


class Gower(Similarity):
    r"""Gower's coefficient: the mean similarity of those columns in which both rows have a value.

    .. math:: K(x, z) = \sum_k w_k \delta_k s_k(x_k, z_k) \Big/ \sum_k w_k \delta_k

    with weights :math:`w_k \ge 0`, by default 1, and :math:`\delta_k = 0` if :math:`x_k` or :math:`z_k` is missing, and
    1 otherwise. Columns of numbers, dates and times have :math:`s = 1 - |x - z| / R` with their range R; categories,
    texts and booleans have s = 1 if they are equal and 0 otherwise; ordered categories are compared as numbers by
    their ranks 0, …, c - 1. Two rows with no common known column have K = 0. (Gower, A general coefficient of
    similarity and some of its properties, Biometrics 27, 1971; the extension to ranks is that of Kaufman and
    Rousseeuw, Finding Groups in Data, 1990.)

    The rows are those of a pandas or polars data frame, or dicts. Columns and ranges are those of the table on which it
    is resolved; other columns are ignored; an error names a column that is absent or holds another kind of values.
    Category codes that are stored as numbers are numbers: cast them to a categorical type. A new category differs from
    all others; a new ordered category has no rank and is refused. Numbers outside the range are not clipped, so s may
    be negative.

    It is a kernel if nothing is missing and all numbers are inside their ranges, and need not be one otherwise:
    `strict` refuses such values, and only then PSD is claimed.

    Parameters
    ----------
    ranges : dict, optional
        For each column a tuple ``(low, high)`` of numbers, ``"equal"`` for categories, a list of ordered categories,
        lowest first, or ``"time 2001-01-01 2001-12-31"`` with the first and the last time. None: taken from data;
        ``Gower({**Gower().resolve(X).ranges, "size": ["S", "M", "L"]})`` changes one. A column of equal numbers is
        compared for equality.
    strict : bool
        Refuse missing values and numbers outside the ranges; the error names row and column.
    weights : dict, optional
        For some columns a weight >= 0; the others have weight 1. A column of weight 0 is ignored.

    Examples
    --------
    >>> from similitude.kernels import Gower
    >>> people = [{"age": 20, "job": "cook"}, {"age": 60, "job": "pilot"}, {"age": 30, "job": None}]
    >>> k = Gower().resolve(people)
    >>> k.ranges
    {'age': (20.0, 60.0), 'job': 'equal text'}
    >>> k.gram(people)
    array([[1.  , 0.  , 0.75],
           [0.  , 1.  , 0.25],
           [0.75, 0.25, 1.  ]])
    """

    objects = "table"
    _quiet = ("weights",)
    hints = Hints(finite=True)
    resolves = ("ranges",)

    def __init__(
        self, ranges: Mapping[Any, Any] | None = None, strict: bool = False, weights: Mapping[Any, float] | None = None
    ) -> None:
        self.ranges = ranges
        self.strict = strict
        self.weights = weights

    @property
    def claims(self) -> frozenset[str]:
        """All if `strict`, otherwise symmetry."""
        return UNIT_KERNEL if self.strict else frozenset({SYMMETRIC})

    @property
    def reason(self) -> str:
        """The proof, or why there is none."""
        if self.strict:
            return (
                "a mean of kernels with weights >= 0: equality, and 1 - |u - v| of u, v in [0, 1], which is "
                "min(u, v) + min(1 - u, 1 - v), two dot products of indicators of intervals (Gower 1971)"
            )
        return (
            "with missing values or numbers outside the ranges Gower's coefficient need not be a kernel (Gower 1971); "
            "Gower(strict=True) refuses these and is one"
        )

    def check_params(self) -> None:
        """Validate the range of each column, and the weights."""
        ranges = self.ranges
        if ranges is not None and (not isinstance(ranges, Mapping) or not ranges):
            raise TypeError(f"ranges must be a dict from columns to ranges, got {brief(ranges)}")
        check_weights(self.weights, ranges)
        for name, given in (ranges or {}).items():
            _read_range(name, given)

    def counterexamples(self) -> list[Any]:
        """Return rows that refute it, unless it is `strict`; of one column of categories it is a kernel.

        Where there are two columns: a row with both values, and two with one of them each, which have K = 1 with the
        first row and K = 0 with each other. Of one column of numbers or times: two that are four ranges apart.
        """
        if self.strict:
            return []
        spans = self._spans()
        if len(spans) > 1:
            first, second, *_ = spans
            nothing = dict.fromkeys(spans)
            one = {first: _typical(spans[first])}
            other = {second: _typical(spans[second])}
            return [[{**nothing, **one, **other}, {**nothing, **one}, {**nothing, **other}]]
        far = [(name, span) for name, span in spans.items() if span.kind in ("number", "time")]
        return [[{name: _typical(span, ranges)} for ranges in (0, 4)] for name, span in far]

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Gower:
        """Take the columns and their ranges from X, without rows of weight 0."""
        if self.ranges is not None:
            return self
        X = counted(X, sample_weight)
        resolved: Gower = self.with_params(ranges={name: _range_of(name, column(X, name)) for name in column_names(X)})
        resolved.check_params()
        return resolved

    def encode(self, objects: Any) -> Encoding:
        """Return numbers relative to their range (NaN if missing), and keys of categories (0 if missing)."""
        numbers = []
        keys = []
        for name, span in self._spans().items():
            cells = column(objects, name)
            if self.strict and cells.missing.any():
                i = int(cells.missing.argmax())
                raise ValueError(f"column {name!r} has no value in row {i}, and strict=True refuses missing values")
            if span.kind == "equal":
                cells.check_kind(span.values, f"it held {span.values} before")
                keys.append(cells.keys())
            elif span.kind == "order":
                numbers.append(cells.ranks(span.order, f"row {{}} of column {name!r}"))
            else:
                cells.check_kind(span.kind, f"its range is that of {span.kind}s")
                numbers.append(self._scaled(cells, span))
        n = len((numbers + keys)[0])
        of_keys = np.column_stack([np.empty((n, 0), np.uint64), *keys])
        return np.column_stack([np.empty((n, 0)), *numbers]), of_keys.view(np.int64)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> np.ndarray:
        """Return the mean similarity of the columns in which both rows have a value."""
        if out is None:
            out = np.empty((len(A[0]), len(B[0])))
        if self.weights is not None:
            of: dict[bool, list[float]] = {False: [], True: []}  # of columns of numbers, and of columns of keys
            for name, span in self._spans().items():
                of[span.kind == "equal"].append(float(self.weights.get(name, 1.0)))
            loops.weighted_gower(out, A, B, of[False], of[True])
            return out
        a, b = ((np.ascontiguousarray(numbers), np.ascontiguousarray(keys)) for numbers, keys in (A, B))
        loops.gower(out, a, b)
        return out

    def _spans(self) -> dict[Any, Range]:
        """Return the ranges of the columns that count."""
        weights = self.weights or {}
        counts = {name: given for name, given in (self.ranges or {}).items() if weights.get(name, 1.0)}
        return {name: _read_range(name, given) for name, given in counts.items()}

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return 1, or 0 for a row without known values."""
        numbers, keys = A
        return (~np.isnan(numbers).all(axis=1) | (keys != 0).any(axis=1)).astype(float)

    def _scaled(self, cells: Cells, span: Range) -> np.ndarray:
        """Return (value - low) / (high - low), NaN if missing."""
        numbers = cells.numbers()
        with np.errstate(over="ignore"):
            scaled = (numbers - span.low) / (span.high - span.low)
        outside = (scaled < 0) | (scaled > 1) if self.strict else np.isinf(scaled)
        if outside.any():
            i = int(outside.argmax())
            raise ValueError(
                f"column {cells.name!r} is {span.written(numbers[i])} in row {i}, {'too far ' * (not self.strict)}"
                f"outside its range from {span.written(span.low)} to {span.written(span.high)}"
            )
        return scaled


def _read_range(name: Any, given: Any) -> Range:
    """Validate the range of a column; a range of a single value is compared for equality."""
    kind, *words = given.split() if isinstance(given, str) and given.strip() else ("number",)
    must = f"the range of column {name!r} must be"
    if kind == "equal":
        return Range("equal", values="".join(words[-1:]))
    if kind == "time":
        try:
            low, high = (float(np.datetime64(end, "us").astype(np.int64) / 1e6) for end in words)
        except ValueError:
            low = high = np.nan
        if not low <= high:
            raise ValueError(f"{must} two times, as in 'time 2001-01-01 2001-12-31T23:59', got {given!r}")
    else:
        if isinstance(given, (str, bytes)) or not hasattr(given, "__len__") or len(given) == 0:
            many = "(low, high), 'equal', 'time FIRST LAST', or a list of ordered categories"
            raise ValueError(f"{must} {many}, got {brief(given)}")
        two = len(given) == 2 and all(isinstance(end, Real) and not isinstance(end, bool) for end in given)
        if isinstance(given, list) or not two:
            if len({*given}) < len(given):
                raise ValueError(f"the range of column {name!r} names a category twice: {brief(given)}")
            if len(given) > 1:
                return Range("order", order=list(given))
            return Range("equal", values="number" * isinstance(given[0], Real))
        low, high = given
        if not (np.isfinite([low, high]).all() and low <= high and np.isfinite(high - low)):
            raise ValueError(f"{must} two finite numbers, low <= high, got {brief(given)}")
    if low == high:
        return Range("equal", values=kind)
    return Range(kind, low, high)


def _typical(span: Range, ranges: int = 0) -> Any:
    """Return a value that a column may hold; of numbers and times, as many ranges above the lowest."""
    value = span.low + ranges * (span.high - span.low)
    if "time" in (span.kind, span.values):
        return np.datetime64(round(value * 1e6), "us").item()
    if "number" in (span.kind, span.values):
        return value
    if span.values == "bytes":
        return b"a"
    return [*span.order, "a"][0]


def _range_of(name: Any, cells: Cells) -> Any:
    """Return the range of a column, as `Gower.ranges` holds it."""
    if cells.kind == "missing":
        raise ValueError(f"column {name!r} holds no value at all: drop it, or give ranges")
    order = cells.order()
    if order is not None:
        return order
    stored = str(getattr(cells.values, "dtype", "object")).lower()
    boolean = stored.startswith("bool") or (stored == "object" and {*map(type, cells.known())} <= {bool, np.bool_})
    is_number = cells.kind == "number" and not boolean and not cells.is_categorical
    if is_number or cells.kind == "time":
        known = cells.numbers()[~cells.missing]
        span = Range(cells.kind, float(known.min()), float(known.max()))
        if is_number:
            return span.low, span.high
        return f"time {span.written(span.low)} {span.written(span.high)}"
    if cells.kind not in ("number", "text", "bytes", "mixed"):  # of numbers only True and False
        raise TypeError(
            f"column {name!r} holds {cells.kind}: Gower compares numbers, times and categories. Turn it into one of "
            f"these, leave it out, or say how it is compared with Columns"
        )
    return f"equal {cells.kind}"

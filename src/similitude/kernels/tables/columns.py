"""A similarity of the rows of a table that combines a similarity for each column."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from itertools import cycle, islice
from typing import Any

import numpy as np

from similitude.compute import Encoding
from similitude.kernels.tables.cells import check_weights, column
from similitude.kernels.tables.values import OrMissing
from similitude.similarity import Maximum, Minimum, Product, Scaled, Similarity, Sum, as_similarity
from similitude.support import ExpressionError, brief, check_choice, error_prefix, written

HOWS: dict[str, tuple[Any, type[Any]]] = {
    "mean": (np.add, Sum),
    "sum": (np.add, Sum),
    "product": (np.multiply, Product),
    "max": (np.maximum, Maximum),
    "min": (np.minimum, Minimum),
}
"""The ways to combine the values of the columns, and the nodes of the algebra that do so."""


class Columns(Similarity):
    r"""A similarity for each column of a table, combined.

    The objects are the rows of a pandas or polars data frame, or of a list of dicts (or of objects with attributes of
    these names). Other columns are ignored. An error names a column that does not exist, or that holds another kind of
    values than the table on which the similarity was resolved (text instead of numbers), and the row and column of a
    missing value, unless the similarity of that column accepts it: ``OrMissing(k)`` does, or a similarity of your own
    with an attribute ``takes_missing = True``. Then a key that a dict does not have is a missing value too. Dates and
    times are seconds for a similarity of vectors.

    Parameters
    ----------
    columns : dict
        Maps the name of a column to a similarity of its values: a Similarity, a name such as ``"gaussian"``, or a
        function of two values. For numbers ``"gaussian"`` (with a width from this column) or ``"laplace"``, for
        categories ``"equal"``, for ordered categories ``"ordinal"``, for sets ``"jaccard"`` or ``"shares_any"``; for
        strings and series the similarities of these.
    how : str
        ``mean``, ``sum`` and ``product`` of kernels are kernels. ``max`` ("similar in one of the columns") and ``min``
        ("similar in all") need not be.
    schema : dict, optional
        The kind of values of each column; taken from data by `resolve`.
    weights : dict, optional
        For some columns a weight >= 0 in the sum or mean; the others have weight 1.

    Examples
    --------
    >>> from similitude.kernels import Columns, Equal, Gaussian, OrMissing
    >>> people = [{"age": 30, "job": "cook"}, {"age": 40, "job": "cook"}, {"age": 30, "job": None}]
    >>> k = Columns({"age": Gaussian(10.0), "job": OrMissing(Equal())})
    >>> k.gram(people).round(3)
    array([[1.   , 0.803, 0.5  ],
           [0.803, 1.   , 0.303],
           [0.5  , 0.303, 0.5  ]])

    Papers that share an author or a keyword:

    >>> from similitude import check_kernel, datasets
    >>> share = Columns({"authors": "shares_any", "keywords": "shares_any"}, how="max")
    >>> check_kernel(share, datasets.papers().objects).verdict
    'INVALID'
    """

    objects = "table"

    def __init__(
        self,
        columns: Mapping[Any, Any],
        how: str = "mean",
        schema: Mapping[Any, str] | None = None,
        weights: Mapping[Any, float] | None = None,
    ) -> None:
        self.columns = columns
        self.how = how
        self.schema = schema
        self.weights = weights

    def check_params(self) -> None:
        """Validate the dict of similarities, `how` and the weights."""
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise TypeError(f"columns must be a dict from names to similarities, got {brief(self.columns)}")
        check_choice("how", self.how, HOWS)
        if self.schema is not None and not isinstance(self.schema, Mapping):
            raise TypeError(f"schema must be a dict from names to kinds of values, got {brief(self.schema)}")
        check_weights(self.weights, self.columns)
        if self.weights is not None and self.how not in ("mean", "sum"):
            raise ValueError(f"weights are those of a mean or a sum, not of how={self.how!r}")
        for name, part in self.similarities().items():
            with error_prefix(f"column {name!r}"):
                part.check_params()

    def similarities(self) -> dict[Any, Similarity]:
        """Return the similarity of each column."""
        found = {}
        for name, given in self.columns.items():
            with error_prefix(f"column {name!r}", ExpressionError):
                found[name] = as_similarity(given)
        return found

    def parts(self) -> tuple[Similarity, ...]:
        """Return the similarities of the columns."""
        return tuple(self.similarities().values())

    @property
    def claims(self) -> frozenset[str]:
        """The claims of the node that combines the columns."""
        return self._node().claims

    @property
    def reason(self) -> str:
        """The rule of the node that combines the columns."""
        return f"a kernel of one column is a kernel of the rows; {self._node().reason}"

    def _node(self) -> Any:
        parts = self.parts()
        if self.how == "mean" or self.weights is not None:
            return Sum(*(Scaled(part, factor) for part, factor in zip(parts, self._factors(), strict=True)))
        return HOWS[self.how][1](*parts)

    def counterexamples(self) -> list[Any]:
        """Return rows with a counterexample in one column and equal values in others, and with one in all columns."""
        parts = self.similarities()
        known = {name: [_cells(objects) for objects in part.counterexamples()] for name, part in parts.items()}
        cell: dict[str, Any] = {"strings": "", "sets": frozenset(), "series": [0.0]}
        equal = {name: cell.get(part.objects, 0.0) for name, part in parts.items()}
        rows = [[{**equal, name: cell} for cell in cells] for name, several in known.items() for cells in several]
        if len(known) > 1 and all(known.values()):
            longest = max(len(several[0]) for several in known.values())
            of_all = {name: list(islice(cycle(several[0]), longest)) for name, several in known.items()}
            rows.append([dict(zip(of_all, cells, strict=True)) for cells in zip(*of_all.values(), strict=True)])
        return rows

    def unresolved(self) -> list[str]:
        """Return the names of the parameters of columns that are still to be fixed from data."""
        return [
            f"columns__{name}__{inner}" for name, part in self.similarities().items() for inner in part.unresolved()
        ]

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Columns:
        """Resolve the similarity of each column on that column, and record its kind of values."""
        fixed = {}
        schema = {}
        for name, part in self.similarities().items():
            values, schema[name] = self._column(X, name, part)
            with error_prefix(f"column {name!r}"):
                fixed[name] = part.resolve(values, random_state, sample_weight)
        return self.with_params(columns=fixed, schema=schema if self.schema is None else self.schema)

    def encode(self, objects: Any) -> Encoding:
        """Return a tuple with the encoding of each column."""
        encoded = []
        for name, part in self.similarities().items():
            values, _ = self._column(objects, name, part)
            with error_prefix(f"column {name!r}"):
                encoded.append(part.encode(values))
        return tuple(encoded)

    def block(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Return the values of the columns, combined."""
        return self.combined([part.block(a, b) for part, a, b in zip(self.parts(), A, B, strict=True)])

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Return the diagonals of the columns, combined."""
        return self.combined([part.diagonal(a) for part, a in zip(self.parts(), A, strict=True)])

    def combined(self, values: list[Any]) -> np.ndarray:
        """Return the values of the columns, one array for each, combined."""
        terms = [np.asarray(one, dtype=float) for one in values]
        if self.weights is not None:
            return np.sum([factor * one for factor, one in zip(self._factors(), terms, strict=True)], axis=0)
        total = reduce(HOWS[self.how][0], terms)
        return total / len(values) if self.how == "mean" else total

    def _factors(self) -> list[float]:
        weights = [float((self.weights or {}).get(name, 1.0)) for name in self.columns]
        return [weight / sum(weights) for weight in weights] if self.how == "mean" else weights

    def _column(self, X: Any, name: Any, part: Similarity) -> tuple[Any, str]:
        """Return a column and the kind of its values, validated."""
        takes_missing = _takes_missing(part)
        cells = column(X, name, optional=takes_missing)
        if cells.missing.any() and not takes_missing:
            i = int(cells.missing.argmax())
            raise ValueError(
                f"column {name!r} has no value in row {i}, and {part!r} does not accept missing values: use "
                f"OrMissing({part!r}), or fill or drop missing values"
            )
        expected = (self.schema or {}).get(name, "")
        cells.check_kind(expected, f"it held {expected} when it was resolved")
        if cells.kind == "time" and "vectors" in (part.objects, isinstance(part, OrMissing) and part.k.objects):
            return cells.seconds(), cells.kind
        return list(cells.values) if cells.kind == "items" else cells.values, cells.kind

    # A parameter of a column is called columns__name__parameter.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with `deep`, also those of the columns (``columns__age__sigma``)."""
        found = dict(self._params())
        if deep:
            for name, part in self.similarities().items():
                found[f"columns__{name}"] = self.columns[name]
                found.update({f"columns__{name}__{inner}": value for inner, value in part.get_params().items()})
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, those of a column as ``columns__age__sigma``, and return self."""
        inside = {path: value for path, value in params.items() if path.startswith("columns__")}
        super().set_params(**{path: value for path, value in params.items() if path not in inside})
        for path in sorted(inside, key=len):  # columns first, then their parameters
            self.columns = self._changed(path.removeprefix("columns__"), inside[path])
        return self

    def _changed(self, path: str, value: Any) -> dict[Any, Any]:
        fitting = [name for name in self.columns if path == str(name) or path.startswith(f"{name}__")]
        if not fitting:
            raise ValueError(f"there is no column {path.split('__')[0]!r}; the columns are {brief(list(self.columns))}")
        name = max(fitting, key=lambda one: len(str(one)))
        if path != str(name):
            part = self.similarities()[name].__sklearn_clone__()
            value = part.set_params(**{path.removeprefix(f"{name}__"): value})
        return {**self.columns, name: value}

    def __repr__(self) -> str:
        if not isinstance(self.columns, Mapping):
            return super().__repr__()
        parts = (f"{written(name)}: {getattr(one, '__qualname__', repr(one))}" for name, one in self.columns.items())
        more = {"how": self.how, "schema": self.schema, "weights": self.weights}
        texts = [f", {name}={written(value)}" for name, value in more.items() if value is not None]
        return f"Columns({{{', '.join(parts)}}}{''.join(texts)})"


def _cells(objects: list[Any]) -> list[Any]:
    """Return objects as the cells of a column, where a vector of one number is that number."""
    return [x[0] if isinstance(x, list) and len(x) == 1 else x for x in objects]


def _takes_missing(part: Similarity) -> bool:
    inner = part.parts()
    return bool(getattr(part, "takes_missing", False) or (inner and all(map(_takes_missing, inner))))

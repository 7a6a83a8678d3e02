"""A kernel of vectors on the rows of a table: columns are standardized, ranked, and turned into indicators first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, as_matrix, profile_of
from similitude.kernels.tables.cells import column, column_names
from similitude.kernels.tables.column_features import column_features, learn_column
from similitude.similarity import Similarity, hints_of_parts
from similitude.support import brief


class Tabular(Similarity):
    r"""A kernel of vectors on the rows of a table, whose columns become numbers first.

    Numbers and times are standardized; a few cells that are far beyond all others are moved to a limit before. With
    `ranks`, the normal score of their rank is added (numbers of more than ten different values). A missing number is
    the median, and a further number says that it was missing. Categories, texts and booleans in columns of objects have
    an indicator each: the 40 most frequent ones that occur at least twice. With features :math:`\phi` it is
    :math:`K(\phi(x), \phi(z))`, a kernel if K is one.

    Parameters
    ----------
    k : Similarity
        A kernel of vectors, such as `Gaussian`.
    ranks : bool
        Add normal scores of ranks: outliers and skewed columns then matter less.
    columns : dict or list, optional
        How each column becomes numbers, by name, or by position for an array; taken from data by `resolve`.

    Examples
    --------
    >>> from similitude.kernels import Gaussian, Tabular
    >>> people = [{"age": 30, "job": "cook"}, {"age": 40, "job": "cook"}, {"age": 35, "job": "pilot"}, {"age": 35}]
    >>> people[3]["job"] = None
    >>> k = Tabular(Gaussian(1.0)).resolve(people)
    >>> k.gram(people).round(2)
    array([[1.  , 0.02, 0.22, 0.14],
           [0.02, 1.  , 0.22, 0.14],
           [0.22, 0.22, 1.  , 0.61],
           [0.14, 0.14, 0.61, 1.  ]])
    >>> k.proven
    True
    """

    resolves = ("columns",)
    _quiet = ("columns",)
    _writers: ClassVar = {"columns": lambda columns: f"<{len(columns)} columns>"}
    reason = "a kernel of phi(x) and phi(z) is a kernel of x and z, whatever the features phi of a row are"
    hints = hints_of_parts(lambda self: profile_of(self.k), lambda self: self.k.hints.cells)

    def __init__(
        self, k: Similarity, ranks: bool = False, columns: Mapping[Any, Any] | list[Any] | None = None
    ) -> None:
        self.k = k
        self.ranks = ranks
        self.columns = columns

    @property
    def objects(self) -> str:
        """Tables; vectors, if it was resolved on an array."""
        return "vectors" if isinstance(self.columns, list) else "table"

    @property
    def claims(self) -> frozenset[str]:
        """The claims of the kernel of vectors."""
        return self.k.claims

    def check_params(self) -> None:
        """Validate the kernel of vectors."""
        if not isinstance(self.k, Similarity) or self.k.objects not in ("vectors", "any"):
            raise TypeError(f"Tabular takes a kernel of vectors such as Gaussian(), got {self.k!r}")
        if self.columns is not None and not isinstance(self.columns, (Mapping, list)):
            raise TypeError(f"columns must be a dict or list that k.resolve(X) finds, got {brief(self.columns)}")
        self.k.check_params()

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Tabular:
        """Learn from X how columns become numbers, and resolve the kernel on these numbers."""
        whole = self if self.columns is not None else self.with_params(columns=self._learned(X))
        if not whole.k.unresolved():
            return whole
        k = whole.k.resolve(whole.features(X), random_state, sample_weight)
        resolved: Tabular = whole.with_params(k=k)
        return resolved

    def _learned(self, X: Any) -> Any:
        if _is_matrix(X):
            return [learn_column(i, values, self.ranks) for i, values in enumerate(as_matrix(X).T)]
        return {name: learn_column(name, column(X, name), self.ranks) for name in column_names(X)}

    def features(self, X: Any) -> np.ndarray:
        """Return the numbers that the rows become, in single precision for matrices in single precision."""
        parts = [part for _, part in self._parts(X)]
        single = _is_matrix(X) and X.dtype == np.float32
        return np.concatenate(parts, axis=1, dtype=np.float32 if single else np.float64, casting="same_kind")

    def feature_columns(self, X: Any) -> tuple[list[str], np.ndarray]:
        """Return the names of the columns, and the position of the column that each feature belongs to."""
        parts = self._parts(X)
        owners = np.repeat(np.arange(len(parts)), [part.shape[1] for _, part in parts])
        return [f"column {name}" if isinstance(self.columns, list) else str(name) for name, _ in parts], owners

    def _parts(self, X: Any) -> list[tuple[Any, np.ndarray]]:
        """Return the features of each column."""
        if isinstance(self.columns, list):
            A = as_matrix(X)
            if A.shape[1] != len(self.columns):
                raise ValueError(f"the vectors have {A.shape[1]} columns, and it was resolved on {len(self.columns)}")
            parts = [(i, column_features(i, spec, A[:, i])) for i, spec in enumerate(self.columns)]
        else:
            specs = (self.columns or {}).items()
            parts = [(name, column_features(name, spec, column(X, name))) for name, spec in specs]
        if not any(part.shape[1] for _, part in parts):
            raise ValueError("no column holds numbers or repeated categories: there is nothing to compare rows by")
        return parts

    def encode(self, objects: Any) -> Encoding:
        """Return the encoding of the features."""
        return self.k.encode(self.features(objects))

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the block of the kernel of vectors."""
        return self.k.block(A, B)

    def diagonal(self, A: Encoding) -> Any:
        """Return the diagonal of the kernel of vectors."""
        return self.k.diagonal(A)


def _is_matrix(X: Any) -> bool:
    return hasattr(X, "shape") and not hasattr(X, "columns")

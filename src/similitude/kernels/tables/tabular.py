"""A kernel of vectors on the rows of a table: columns are standardized, ranked, and turned into indicators first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from similitude.compute import as_matrix, profile_of
from similitude.kernels.tables.cells import Cells, column, column_names
from similitude.kernels.vectors.pairwise import takes_vectors
from similitude.similarity import OfImages, Similarity, hints_of_parts
from similitude.support import brief, outlier_limits


class Tabular(OfImages):
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

    def check_params(self) -> None:
        """Validate the kernel of vectors."""
        if not takes_vectors(self.k):
            raise TypeError(f"Tabular takes a kernel of vectors such as Gaussian(), got {self.k!r}")
        if self.columns is not None and not isinstance(self.columns, (Mapping, list)):
            raise TypeError(f"columns must be a dict or list that k.resolve(X) finds, got {brief(self.columns)}")
        self.k.check_params()

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Tabular:
        """Learn from X how columns become numbers, and resolve the kernel on these numbers."""
        columns: Any = self.columns
        if columns is None and _is_matrix(X):
            columns = [learn_column(Cells(values, i), self.ranks) for i, values in enumerate(as_matrix(X).T)]
        elif columns is None:
            columns = {name: learn_column(column(X, name), self.ranks) for name in column_names(X)}
        resolved: Any = OfImages.resolve(self.with_params(columns=columns), X, random_state, sample_weight)
        return resolved

    def features(self, X: Any) -> np.ndarray:
        """Return the numbers that the rows become, in single precision for matrices in single precision."""
        dtype = np.float32 if _is_matrix(X) and X.dtype == np.float32 else np.float64
        return np.concatenate([part for _, part in self._parts(X)], axis=1, dtype=dtype, casting="same_kind")

    def feature_columns(self, X: Any) -> tuple[list[str], np.ndarray]:
        """Return the names of the columns, and the position of the column that each feature belongs to."""
        parts = self._parts(X)
        owners = np.repeat(np.arange(len(parts)), [part.shape[1] for _, part in parts])
        before = "column " * isinstance(self.columns, list)
        return [f"{before}{name}" for name, _ in parts], owners

    def _parts(self, X: Any) -> list[tuple[Any, np.ndarray]]:
        if isinstance(self.columns, list):
            A = as_matrix(X)
            if A.shape[1] != len(self.columns):
                raise ValueError(f"the vectors have {A.shape[1]} columns, and it was resolved on {len(self.columns)}")
            parts = [(i, column_features(spec, Cells(A[:, i], i))) for i, spec in enumerate(self.columns)]
        else:
            specs = (self.columns or {}).items()
            parts = [(name, column_features(spec, column(X, name))) for name, spec in specs]
        if not any(part.shape[1] for _, part in parts):
            raise ValueError("no column holds numbers or repeated categories: there is nothing to compare rows by")
        return parts

    _images = features


def _is_matrix(X: Any) -> bool:
    return hasattr(X, "shape") and not hasattr(X, "columns")


def learn_column(cells: Cells, ranks: bool) -> dict[str, Any]:
    """Return how a column becomes numbers, as a dict that `column_features` takes."""
    missing = cells.missing
    if cells.kind in ("number", "time") and not cells.is_categorical:
        known = cells.numbers()[~missing]
        low, high = map(float, outlier_limits(known))
        limits = None
        usual = known
        if known.min() < low or known.max() > high:
            limits = low, high
            usual = np.clip(known, low, high)
        center, scale = _mean_and_scale(usual)
        spec = {"kind": cells.kind, "center": center, "scale": scale, "fill": float(np.median(known))}
        spec |= {"missing": bool(missing.any()), "limits": limits, "knots": None}
        if ranks and scale:
            spec["knots"] = _knots(known)
        return spec
    if cells.kind not in ("number", "text", "bytes", "mixed", "missing"):
        raise TypeError(
            f"column {cells.name!r} holds {cells.kind}: Tabular takes numbers, times and categories. Leave it out, or "
            f"say how it is compared with Columns"
        )
    counts = Counter(cells.known())
    common = sorted((-times, str(level), i) for i, (level, times) in enumerate(counts.items()) if times > 1)
    levels = list(counts)
    some_missing = bool(missing.any()) and not missing.all()
    return {"kind": "category", "levels": [levels[i] for *_, i in common[:40]], "missing": some_missing}


def column_features(spec: dict[str, Any], cells: Cells) -> np.ndarray:
    """Return the numbers of a column, one row per cell; there may be none, of a column without repeated categories."""
    found = []
    if spec["kind"] == "category":
        known = [None if gone else cell for cell, gone in zip(cells.values, cells.missing, strict=True)]
        found += [np.array([cell == level for cell in known], dtype=float) for level in spec["levels"]]
    else:
        cells.check_kind(spec["kind"], f"it held {spec['kind']} before")
        numbers = np.where(cells.missing, spec["fill"], cells.numbers())
        low, high = spec["limits"] or (-np.inf, np.inf)
        found.append((np.clip(numbers, low, high) - spec["center"]) * spec["scale"])
        if spec["knots"] is not None:
            found.append(np.interp(numbers, *spec["knots"]))
    if spec["missing"]:
        found.append(cells.missing.astype(float))
    return np.column_stack([np.empty((len(cells.missing), 0)), *found])


def _mean_and_scale(known: np.ndarray) -> tuple[float, float]:
    """Return the mean and 1 / standard deviation, 0 for equal numbers; huge numbers do not overflow."""
    size = float(np.abs(known).max()) or 1.0
    relative = known / size
    deviation = float(relative.std())
    scale = 1.0 / (deviation * size) if deviation > 1e-12 and deviation * size > 0 else 0.0
    return float(relative.mean()) * size, scale


def _knots(known: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Return quantiles of a column and their normal scores; None if there are few different values."""
    from scipy.special import ndtri

    values, counts = np.unique(known, return_counts=True)
    if len(values) <= 10:  # then ranks say nothing more
        return None
    middle = (np.cumsum(counts) - counts / 2) / len(known)
    some = np.unique(np.linspace(0, len(values) - 1, 200).round().astype(int))
    return values[some], ndtri(middle[some])

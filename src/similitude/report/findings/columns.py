"""The columns of a table or the components of vectors: kinds, missing cells, importance, and what needs attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import as_objects, is_sparse, take
from similitude.relevance import importance
from similitude.report.findings.held_out import FoldModel
from similitude.report.findings.inputs import Inputs
from similitude.report.limits import MAX_CALLS, MAX_CALLS_OF_A_FUNCTION, MAX_PERMUTED
from similitude.support import ESTIMATE, Estimate, Result
from similitude.theory import LEVEL

NUMBER = "number"
CATEGORY = "category"
FLAG = "yes or no"
DATE = "date"
TEXT = "text"
IDENTIFIER = "identifier"
OTHER = "other"

WRITTEN_MISSING = ("nan", "NaT", "<NA>")
"""How missing values are written."""


@dataclass(frozen=True)
class ColumnFinding(Result):
    """A column of the data.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "yes or no", "date", "text", "identifier", "other"}
    missing : float
        The share of missing cells.
    distinct : int
        The number of distinct values.
    summary : str
        The range of numbers and dates, or the most frequent values.
    remark : str
        What needs attention, or empty.
    importance : Estimate or None
        How much the model's held-out error grows when the column is shuffled.
    """

    name: str
    kind: str
    missing: float
    distinct: int
    summary: str
    remark: str
    importance: Estimate | None = None

    @property
    def weight(self) -> float:
        """The value of the importance; 0 if it is not known."""
        return 0.0 if self.importance is None else self.importance.value

    def __str__(self) -> str:
        missing = f", {100 * self.missing:.0f} % missing" if self.missing else ""
        return f"{self.name}: {self.kind}{missing}, {self.summary}" + (f" ({self.remark})" if self.remark else "")


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """A column as numbers: its finding, values (category codes; NaN where missing), and the names of its categories."""

    finding: ColumnFinding
    values: np.ndarray
    names: tuple[str, ...]

    @property
    def is_feature(self) -> bool:
        """Whether models of numbers and categories can use the column."""
        return self.finding.kind in (NUMBER, CATEGORY, FLAG, DATE)


def component_names(names: Sequence[str] | None, n: int) -> list[str]:
    """Return the names of the components of vectors, which are numbered unless they are known."""
    return [f"x{i}" for i in range(n)] if names is None else list(names)


def columns_of(inputs: Inputs, kind: str, names: Sequence[str] | None) -> tuple[ColumnValues, ...]:
    """Return the columns of a table, or the components of vectors; none of other objects and of many components."""
    X = inputs.X
    if kind == "table":
        rows = as_objects(X)
        if not all(isinstance(row, Mapping) for row in rows):
            return ()
        return tuple(_column(str(name), [row.get(name) for row in rows]) for name in rows[0])
    if kind != "vectors" or is_sparse(X) or len(np.shape(X)) != 2 or np.shape(X)[1] > 100:
        return ()
    values = np.asarray(X, dtype=np.float64)
    called = component_names(names, values.shape[1])
    spread = np.nan_to_num(np.nanvar(values, axis=0))
    shares = spread / (spread.sum() or 1.0)
    return tuple(_component(name, values[:, i], float(shares[i])) for i, name in enumerate(called))


def with_importance(
    inputs: Inputs, columns: Sequence[ColumnValues], models: Sequence[FoldModel]
) -> tuple[tuple[ColumnValues, ...], tuple[str, ...]]:
    """Return columns with their importance by permutation, measured in some of the folds on what was held out.

    Each column is permuted twice, in as many folds as 120 predictions allow. Also return a note if only some of the
    held-out examples were used.
    """
    passes = max(1, 2 * len(columns))
    tests = [one for one in models if len(one.test)][: max(1, 120 // passes)]
    landmarks = max(one.model.n_similarity_calls_ for one in tests)
    most = MAX_CALLS if inputs.similarity.hints.threadsafe else MAX_CALLS_OF_A_FUNCTION
    if inputs.spare is not None:
        most = min(most, inputs.spare // 4)  # a quarter: landmarks may be compared in both directions
    rows = min(most // max(1, passes * landmarks * len(tests)), MAX_PERMUTED)
    sizes = np.array([min(rows, len(one.test)) for one in tests])
    if not columns or not landmarks or sizes.sum() < 20:
        return tuple(columns), ()
    values = np.zeros(len(columns))
    variances = np.zeros(len(columns))
    for one, size in zip(tests, sizes.tolist(), strict=True):
        some = np.sort(inputs.rng().permutation(one.test)[:size])
        X = take(inputs.X, some)
        measured = importance(one.model, X, inputs.y[some], n_repeats=2, random_state=inputs.seed)
        weight = size / sizes.sum()
        values += measured.values * weight
        variances += ((measured.high - measured.values) * weight) ** 2
    reach = np.sqrt(variances)
    ends = zip(columns, values.tolist(), (values - reach).tolist(), (values + reach).tolist(), strict=True)
    found = [
        replace(one, finding=replace(one.finding, importance=Estimate(value, low, high, LEVEL, ESTIMATE)))
        for one, value, low, high in ends
    ]
    tested = sum(len(one.test) for one in models)
    if sizes.sum() == tested:
        return tuple(found), ()
    note = f"the importance of columns was measured on {sizes.sum():,} of {tested:,} held-out examples"
    return tuple(found), (note,)


def is_missing(value: Any) -> bool:
    """Tell whether a cell is missing.

    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing(0)
    (True, True, False, False)
    """
    if isinstance(value, float):
        return value != value
    if isinstance(value, str):
        return value in WRITTEN_MISSING
    return value is None or (not isinstance(value, int) and str(value) in WRITTEN_MISSING)


def _component(name: str, values: np.ndarray, share: float) -> ColumnValues:
    alone = share > 0.9 and len(values) > 1
    remark = f"makes up {100 * share:.3g} % of the squared distances: scale the columns unless that is meant"
    known = values[np.isfinite(values)]
    missing = 1 - len(known) / len(values)
    finding = ColumnFinding(name, NUMBER, missing, len(np.unique(known)), _range(known), remark if alone else "")
    return ColumnValues(finding, values, ())


def _column(name: str, cells: list[Any]) -> ColumnValues:
    present = [None if is_missing(cell) else cell for cell in cells]
    known = [cell for cell in present if cell is not None]
    texts = Counter(known if all(isinstance(cell, str) for cell in known) else map(str, known))
    kind = _kind(known, len(texts))
    names: tuple[str, ...] = ()
    if kind in (NUMBER, DATE):
        values = np.array([np.nan if cell is None else _as_number(cell) for cell in present])
        summary = _range(values[np.isfinite(values)]) if kind == NUMBER else _dates(known)
    else:
        names = tuple([name for name, _ in texts.most_common()])
        code = {name: float(place) for place, name in enumerate(names)}
        values = np.array([np.nan if cell is None else code[str(cell)] for cell in present])
        summary = _frequent(texts) if kind in (CATEGORY, FLAG) else f"{len(texts):,} distinct values"
    missing = 1 - len(known) / len(cells)
    finding = ColumnFinding(name, kind, missing, len(texts), summary, _remark(kind, len(texts)))
    return ColumnValues(finding, values, names)


def _kind(known: list[Any], distinct: int) -> str:
    if not known:
        return OTHER
    if all(isinstance(cell, (bool, np.bool_)) for cell in known):
        return FLAG
    if all(isinstance(cell, (float, int, Real)) for cell in known):
        counted_up = distinct == len(known) >= 20 and _is_sequence(known)
        return IDENTIFIER if counted_up else NUMBER
    if all(isinstance(cell, (date, np.datetime64)) for cell in known):
        return DATE
    if not all(isinstance(cell, str) for cell in known):
        return OTHER
    if sum(len(cell.split()) for cell in known) > 3 * len(known):
        return TEXT
    return IDENTIFIER if len(known) >= 20 and distinct > 0.9 * len(known) else CATEGORY


def _is_sequence(known: list[Any]) -> bool:
    """Tell whether distinct numbers are integers with few gaps, as consecutive numbers of rows are."""
    if not all(isinstance(cell, (int, np.integer)) or float(cell).is_integer() for cell in known):
        return False
    return float(max(known)) - float(min(known)) < 2 * len(known)


def _remark(kind: str, distinct: int) -> str:
    if kind == IDENTIFIER:
        return "looks like an identifier, and counts in the similarity: leave it out unless it means something"
    if kind == TEXT:
        return "holds free text, compared as a whole: a kernel for strings on this column sees more"
    if distinct <= 1:
        return "is constant or empty: it says nothing"
    return ""


def _as_number(cell: Any) -> float:
    if isinstance(cell, Real):
        return float(cell)
    if isinstance(cell, datetime):
        return cell.timestamp()
    return float(np.datetime64(cell, "s").astype(np.int64))


def _range(values: np.ndarray) -> str:
    if not len(values):
        return "no values"
    low, middle, high = np.quantile(values, [0.0, 0.5, 1.0])
    return f"{low:.4g} to {high:.4g}, median {middle:.4g}"


def _dates(known: list[Any]) -> str:
    return f"{str(min(known))[:10]} to {str(max(known))[:10]}"


def _frequent(counts: Counter[str]) -> str:
    total = sum(counts.values())
    listed = ", ".join(f"{value} {100 * n / total:.0f} %" for value, n in counts.most_common(3))
    return listed + (f" and {len(counts) - 3} more" if len(counts) > 3 else "")

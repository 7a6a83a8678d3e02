"""The columns of a table or the components of vectors: kinds, missing cells, importance, and what needs attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute import as_objects, is_sparse, take
from similitude.relevance import importance
from similitude.report.findings.held_out import Fold
from similitude.report.findings.inputs import Inputs
from similitude.report.limits import MAX_CALLS_OF_A_FUNCTION, MAX_PERMUTED
from similitude.support import ESTIMATE, Estimate, Result
from similitude.theory import LEVEL

NUMBER = "number"
CATEGORY = "category"
FLAG = "yes or no"
DATE = "date"
TEXT = "text"
IDENTIFIER = "identifier"
OTHER = "other"

REMARKS = {
    IDENTIFIER: "looks like an identifier, and counts in the similarity: leave it out unless it means something",
    TEXT: "holds free text, compared as a whole: a kernel for strings on this column sees more",
}

WRITTEN_MISSING = ("nan", "NaT", "<NA>")
"""How missing values are written."""


@dataclass(frozen=True, eq=False)
class ColumnFinding(Result):
    """A column of the data."""

    name: str
    kind: str  # number, category, yes or no, date, text, identifier or other
    missing: float  # the share of missing cells
    distinct: int  # the number of distinct values
    summary: str  # the range of numbers and dates, or the most frequent values
    remark: str  # what needs attention, or empty
    values: np.ndarray = field(repr=False)  # as numbers: codes of categories; NaN where missing
    names: tuple[str, ...] = field(repr=False, default=())  # of the categories
    importance: Estimate | None = None  # how much the model's held-out error grows when the column is shuffled

    @property
    def weight(self) -> float:
        """The value of the importance; 0 if it is not known."""
        return 0.0 if self.importance is None else self.importance.value

    @property
    def is_feature(self) -> bool:
        """Whether models of numbers and categories can use the column."""
        return self.kind in (NUMBER, CATEGORY, FLAG, DATE)

    def __str__(self) -> str:
        missing = f", {100 * self.missing:.0f} % missing" * bool(self.missing)
        return f"{self.name}: {self.kind}{missing}, {self.summary}" + f" ({self.remark})" * bool(self.remark)


def component_names(names: Sequence[str] | None, n: int) -> list[str]:
    """Return the names of the components of vectors, which are numbered unless they are known."""
    return [f"x{i}" for i in range(n)] if names is None else list(names)


def columns_of(inputs: Inputs, kind: str, names: Sequence[str] | None) -> tuple[ColumnFinding, ...]:
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
    inputs: Inputs, columns: Sequence[ColumnFinding], folds: Sequence[Fold]
) -> tuple[Sequence[ColumnFinding], list[str]]:
    """Return columns with their importance by permutation in as many folds as 120 predictions allow, and notes."""
    passes = max(1, 2 * len(columns))
    tests = [(model, test) for model, _, test in folds if len(test)][: max(1, 120 // passes)]
    landmarks = max(model.n_similarity_calls_ for model, _ in tests)
    most = 10_000_000
    if not inputs.similarity.hints.threadsafe:
        most = MAX_CALLS_OF_A_FUNCTION
    if inputs.spare is not None:
        most = min(most, inputs.spare // 4)  # a quarter: landmarks may be compared in both directions
    rows = min(most // max(1, passes * landmarks * len(tests)), MAX_PERMUTED)
    sizes = np.array([min(rows, len(test)) for _, test in tests])
    if not columns or not landmarks or sizes.sum() < 20:
        return columns, []
    values = np.zeros(len(columns))
    variances = np.zeros(len(columns))
    for (model, test), size in zip(tests, sizes.tolist(), strict=True):
        some = np.sort(inputs.rng().permutation(test)[:size])
        measured = importance(model, take(inputs.X, some), inputs.y[some], n_repeats=2, random_state=inputs.seed)
        weight = size / sizes.sum()
        values += measured.values * weight
        variances += ((measured.high - measured.values) * weight) ** 2
    reach = np.sqrt(variances)
    ends = zip(columns, values.tolist(), (values - reach).tolist(), (values + reach).tolist(), strict=True)
    found = [replace(one, importance=Estimate(value, low, high, LEVEL, ESTIMATE)) for one, value, low, high in ends]
    tested = sum(len(test) for _, _, test in folds)
    note = f"the importance of columns was measured on {sizes.sum():,} of {tested:,} held-out examples"
    return found, [note] * bool(sizes.sum() < tested)


def is_missing(value: Any) -> bool:
    """Tell whether a cell is missing."""
    if isinstance(value, float):
        return value != value
    if isinstance(value, str):
        return value in WRITTEN_MISSING
    return value is None or (not isinstance(value, int) and str(value) in WRITTEN_MISSING)


def _component(name: str, values: np.ndarray, share: float) -> ColumnFinding:
    alone = share > 0.9 and len(values) > 1
    remark = f"makes up {100 * share:.3g} % of the squared distances: scale the columns unless that is meant"
    known = values[np.isfinite(values)]
    missing = 1 - len(known) / len(values)
    return ColumnFinding(name, NUMBER, missing, len(np.unique(known)), _range(known), remark * alone, values)


def _column(name: str, cells: list[Any]) -> ColumnFinding:
    present = [None if is_missing(cell) else cell for cell in cells]
    known = [cell for cell in present if cell is not None]
    texts = Counter(known if all(isinstance(cell, str) for cell in known) else map(str, known))
    kind = _kind(known, len(texts))
    names: tuple[str, ...] = ()
    if kind in (NUMBER, DATE):
        values = np.array([np.nan if cell is None else _as_number(cell) for cell in present])
        summary = _range(values[np.isfinite(values)])
        if kind == DATE:
            summary = f"{str(min(known))[:10]} to {str(max(known))[:10]}"
    else:
        names = tuple([name for name, _ in texts.most_common()])
        code = {name: float(place) for place, name in enumerate(names)}
        values = np.array([np.nan if cell is None else code[str(cell)] for cell in present])
        summary = f"{len(texts):,} distinct values"
        if kind in (CATEGORY, FLAG):
            listed = [f"{value} {100 * n / len(known):.0f} %" for value, n in texts.most_common(3)]
            summary = ", ".join(listed) + f" and {len(texts) - 3} more" * (len(texts) > 3)
    remark = REMARKS.get(kind) or ("is constant or empty: it says nothing" if len(texts) <= 1 else "")
    return ColumnFinding(name, kind, 1 - len(known) / len(cells), len(texts), summary, remark, values, names)


def _kind(known: list[Any], distinct: int) -> str:
    if not known:
        return OTHER
    if all(isinstance(cell, (bool, np.bool_)) for cell in known):
        return FLAG
    if all(isinstance(cell, (float, int, Real)) for cell in known):
        # distinct integers with few gaps are numbers of rows
        numbered = distinct == len(known) >= 20 and all(float(cell).is_integer() for cell in known)
        return IDENTIFIER if numbered and float(max(known)) - float(min(known)) < 2 * len(known) else NUMBER
    if all(isinstance(cell, (date, np.datetime64)) for cell in known):
        return DATE
    if not all(isinstance(cell, str) for cell in known):
        return OTHER
    if sum(len(cell.split()) for cell in known) > 3 * len(known):
        return TEXT
    return IDENTIFIER if len(known) >= 20 and distinct > 0.9 * len(known) else CATEGORY


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

"""The result of choosing a kernel: the best one, and a ranked table of all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.evaluation import CLASSIFICATION
from similitude.landmarks import Representation
from similitude.similarity import Similarity
from similitude.support import Estimate, Result, notes, paragraph, table

MOST_CANDIDATES = 20
"""Candidates that a notebook shows; the others are counted."""

MAX_NAME = 60
"""Largest number of characters of a name that are printed."""


@dataclass(frozen=True, eq=False)
class Row(Result):
    r"""One candidate and its cross-validated error.

    Attributes
    ----------
    candidate : str
        Its name, or its repr.
    similarity : Similarity
        With data-dependent parameters resolved.
    error : Estimate
        The held-out error rate with the interval of Clopper and Pearson; or the mean squared error with that of
        Student, corrected for skewness. Both are widened, since models of several folds share training examples.
    difference : Estimate
        How much larger the error is than that of the best one, with a simultaneous interval for all candidates.
    as_good : bool
        Whether that interval contains zero: the candidate is not shown to be worse than the best.
    loss : float
        The mean squared error of the scores, which the penalties minimize.
    representation : Representation
        What the features were, and why.
    penalty : float
        The best :math:`\lambda` for all folds together.
    seconds : float
        Time spent on it, and an equal share of the time spent on several.
    n_similarity_calls : int
        Number of pairs of objects that were compared.
    shared : bool
        Whether the distances of these pairs were shared with other candidates.
    """

    candidate: str
    similarity: Similarity
    error: Estimate
    difference: Estimate
    as_good: bool
    loss: float
    representation: Representation
    penalty: float
    seconds: float
    n_similarity_calls: int
    shared: bool

    def __str__(self) -> str:
        return f"{self.candidate}: {self.error}; worse than the best by {self.difference}; {self.representation}"


@dataclass(frozen=True, eq=False)
class Selection(Result):
    """The best of several similarities, and the errors of all.

    Attributes
    ----------
    best : Similarity
        With data-dependent parameters resolved.
    held_out_error : Estimate or None
        The error that the best one will have on new examples: in each of five outer folds, candidate and penalty are
        chosen again by the other folds alone, and the model is judged by the examples outside. None if the given folds
        cannot be nested, such as those of a time series.
    table : list of Row
        One for each candidate, by increasing error.
    task : {"classification", "regression"}
        How y was interpreted.
    folds : str
    n_examples : int
        The number of examples used.
    landmark_indices : array of int
        Positions in X of the landmarks, the same for all candidates and all folds.
    notes : tuple of str
        What was left out, and why; empty if all examples were used.
    n_similarity_calls : int
        Number of pairs that were compared for all candidates; shared distances are counted once.
    """

    best: Similarity
    held_out_error: Estimate | None
    table: list[Row]
    task: str
    folds: str
    n_examples: int
    landmark_indices: np.ndarray
    notes: tuple[str, ...]
    n_similarity_calls: int

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame, one row for each candidate."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        return pd.DataFrame([_flat(row) for row in self.table])

    def on_new_rows(self) -> str:
        """Return a sentence on the error of the best one on new rows."""
        error = self.held_out_error
        if error is None:
            return "The error of the best of several is optimistic, and these folds cannot correct that: use cv=5"
        if self.task == CLASSIFICATION:
            value, low, high = (100 * end for end in (error.value, error.low, error.high))
            return f"The best, on new rows: {value:.3g} % error [{low:.3g}, {high:.3g}]"
        return f"The best, on new rows: squared error {error.value:.4g} [{error.low:.3g}, {error.high:.3g}]"

    def __str__(self) -> str:
        what = "error" if self.task == CLASSIFICATION else "squared error"
        m = len(self.landmark_indices)
        head = f"{self.task}: {self.folds}, {self.n_examples:,} examples, {m:,} landmarks"
        titles = ("", "candidate", f"{what} [95 %]", "worse by [95 %]", "representation", "penalty", "seconds", "pairs")
        cells = [titles, *(_cells(row) for row in self.table)]
        widths = [max(len(line[column]) for line in cells) for column in range(len(titles))]
        lines = ["  ".join(_aligned(line, widths)).rstrip() for line in cells]
        return "\n".join([head, *lines, *_footnotes(self)])

    def html_parts(self) -> Sequence[object]:
        """Return the candidates, the best first, and what is said of them."""
        what = "error" if self.task == CLASSIFICATION else "squared error"
        heads = ("", "candidate", f"{what} [95 %]", "worse by [95 %]", "representation", "penalty", "seconds", "pairs")
        how = f"{self.task}: {self.folds}, {self.n_examples:,} examples, {len(self.landmark_indices):,} landmarks"
        return (
            f"Best: {_short(self.table[0].candidate)}",
            paragraph(how),
            table(
                heads, [_cells(row) for row in self.table], numbers=(5, 6, 7), noun="candidates", most=MOST_CANDIDATES
            ),
            notes(_footnotes(self)),
        )


def _flat(row: Row) -> dict[str, Any]:
    """Return a row as a flat dict."""
    cells: dict[str, Any] = {"candidate": row.candidate}
    for name, figure in (("error", row.error), ("difference", row.difference)):
        cells |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
    names = ("as_good", "loss", "penalty", "seconds", "n_similarity_calls", "shared")
    return (
        cells
        | {"representation": row.representation.name, "reason": row.representation.reason}
        | {name: getattr(row, name) for name in names}
    )


def _cells(row: Row) -> tuple[str, ...]:
    error, worse = row.error, row.difference
    return (
        "*" if row.as_good else "",
        _short(row.candidate),
        f"{error.value:.4g} [{error.low:.3g}, {error.high:.3g}]",
        "-" if worse.low == worse.high == 0 else f"{worse.value:.3g} [{worse.low:.3g}, {worse.high:.3g}]",
        row.representation.name,
        f"{row.penalty:.2g}",
        f"{row.seconds:.2g}",
        f"{row.n_similarity_calls:,}{' shared' if row.shared else ''}",
    )


def _short(name: str) -> str:
    """Shorten a name.

    >>> _short("Gaussian(sigma=2.9113619739324523)")
    'Gaussian(sigma=2.911)'
    """
    name = re.sub(r"\d+\.\d{4,}", lambda digits: f"{float(digits[0]):.4g}", name)
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 3]}..."


def _aligned(line: tuple[str, ...], widths: list[int]) -> list[str]:
    left = [text.ljust(width) for text, width in zip(line[:5], widths[:5], strict=True)]
    return left + [text.rjust(width) for text, width in zip(line[5:7], widths[5:7], strict=True)] + [line[7]]


def _footnotes(selection: Selection) -> list[str]:
    lines = ["* not shown to be worse than the best: the intervals of 'worse by' hold simultaneously"]
    if any(row.shared for row in selection.table):
        lines.append("shared: the distances of these pairs were computed once for several candidates")
    return [*lines, selection.on_new_rows(), *(f"Note: {note}" for note in selection.notes)]

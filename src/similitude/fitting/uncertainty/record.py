"""What is known about intervals and sets of classes: by which rows they were calibrated, and what that proves."""

from __future__ import annotations

from dataclasses import dataclass

from similitude.support import ESTIMATE, PROVEN, Result, check_share, number_of
from similitude.theory import highest_level

SPLIT, LEFT_OUT = "split conformal", "left-out scores"
"""Calibrated by rows that were set apart from everything, or by rows that models of other rows predicted."""


@dataclass(frozen=True)
class Uncertainty(Result):
    """How the intervals of a regressor, or the sets of classes of a classifier, were calibrated.

    Attributes
    ----------
    method : {"split conformal", "left-out scores"}
        Split conformal: by the rows that ``certify=share`` set apart from all choices and the fit. Left-out scores: by
        predictions for rows of the fit by models of other rows.
    grade : {"PROVEN", "ESTIMATE"}
        PROVEN: if rows are independent, a new row that equals none of the sample is covered with a probability of at
        least the level, whatever the model (Vovk, Gammerman and Shafer, 2005; Lei et al., 2018). ESTIMATE: the model
        of all rows saw the rows that calibrate, or choices did.
    n_rows : int
        Number of rows that calibrate.
    reason : str
        Why it is this method, in words.
    """

    method: str
    grade: str
    n_rows: int
    reason: str

    @property
    def highest_level(self) -> float:
        """The highest level for which there are enough rows: m / (m + 1) for m rows."""
        return highest_level(self.n_rows)

    @classmethod
    def split(cls, n_rows: int) -> Uncertainty:
        """Return the record of rows that were set apart."""
        return cls(SPLIT, PROVEN, n_rows, "rows were set apart by certify")

    @classmethod
    def left_out(cls, n_rows: int) -> Uncertainty:
        """Return the record of rows of the fit that were predicted by models of others."""
        return cls(LEFT_OUT, ESTIMATE, n_rows, "no rows were set apart: certify=0.2 would prove the level")

    def check_level(self, level: float) -> None:
        """Refuse a level outside of (0, 1), and one for which the rows that calibrate are too few."""
        check_share("level", level)
        if level > self.highest_level * (1 + 1e-12):
            raise ValueError(
                f"level={level} needs {_rows_needed(level):,} rows to calibrate, there "
                f"{'is' if self.n_rows == 1 else 'are'} {self.n_rows:,}: ask for {self.highest_level:.4g} at most, or "
                "give more rows"
            )

    def __str__(self) -> str:
        return (
            f"{self.method} on {number_of(self.n_rows, 'row')}, levels up to {self.highest_level:.4g} ({self.grade}): "
            f"{self.reason}"
        )


def _rows_needed(level: float) -> int:
    """Return the smallest m with m / (m + 1) >= level.

    >>> _rows_needed(0.9), _rows_needed(0.5), _rows_needed(0.95)
    (9, 1, 19)
    """
    return max(1, round(level / (1 - level) + 0.5 - 1e-9))

"""What an explanation lists: single examples where a few of them decided, otherwise rows of the same label together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

SHOWN = 6
"""Examples that a printed explanation names."""

TELLING_SHARE = 0.1
"""Part of the score less its base that the shown examples have to account for."""

MOST_CANCELED = 6.0
"""How many times larger than the score less its base the sizes of influences may add up to."""

NEAREST_ROWS = 10
"""Rows of each label that are taken together as the nearest ones."""


@dataclass(frozen=True, eq=False)
class ListedExamples:
    """Training examples, or groups of rows, that add up to a score, the most influential first.

    Attributes
    ----------
    influences : array of float
    labels : list
    counts : array of int
        How many training rows stand behind each.
    landmarks : array of int
        The landmark that is shown for each.
    similarities : array of float
        The similarity to it.
    note : str
        Why rows were taken together; empty if they were not.
    """

    influences: np.ndarray
    labels: list[Any]
    counts: np.ndarray
    landmarks: np.ndarray
    similarities: np.ndarray
    note: str = ""

    def in_order(self) -> ListedExamples:
        """Return the same examples, the most influential first."""
        order = np.argsort(-np.abs(self.influences), kind="stable")
        labels, shown = [self.labels[i] for i in order], (self.landmarks[order], self.similarities[order])
        return ListedExamples(self.influences[order], labels, self.counts[order], *shown)

    def share(self) -> float:
        """Return the part of the whole sum that the first ones make up, negative if they speak against it."""
        total = float(self.influences.sum())
        return float(self.influences[:SHOWN].sum()) / total if total else 1.0

    def tells(self) -> bool:
        """Tell whether the first ones account for a part of the whole sum, and whether little cancels in it."""
        little = np.abs(self.influences).sum() <= MOST_CANCELED * abs(self.influences.sum())
        return bool(little) and self.share() >= TELLING_SHARE

    def telling(self, middle: float | None = None) -> ListedExamples:
        """Return single examples if a few of them tell what decided, otherwise rows of the same label together.

        Where labels are noisy, hundreds of rows have a small influence each, and the largest ones often speak against
        the prediction. Then the nearest rows of each label are one item, and its other rows another one. Numbers
        above and below `middle`, the mean, are told apart instead of labels; the label of an item is their mean.
        """
        if len(self.influences) <= SHOWN or self.tells():
            return self
        sides = list(self.labels) if middle is None else [label > middle for label in self.labels]
        together = self._together(_nearest_and_others(sides, self.similarities, self.counts), middle is not None)
        if together.share() < min(self.share(), TELLING_SHARE):  # of many labels
            return self
        return replace(together, note=self._why_together("label" if middle is None else "side of the mean"))

    def _why_together(self, side: str) -> str:
        """Return in words why rows of each side are taken together."""
        single = int(self.counts.max()) == 1
        items = "rows" if single else "groups of rows"
        nearest = f"{NEAREST_ROWS} nearest rows" if single else f"nearest groups with {NEAREST_ROWS} rows or more"
        return (
            f"of {self.influences.sum():+.3g}, the {SHOWN} most influential {items} account for "
            f"{self.influences[:SHOWN].sum():+.3g}, and the sizes of all influences add up to "
            f"{np.abs(self.influences).sum():.3g}: so the {nearest} of each {side} are taken together, and so are its "
            f"other {items}"
        )

    def _together(self, groups: list[np.ndarray], numbers: bool) -> ListedExamples:
        """Return one item for each group, shown by the member that adds most to its sum."""
        sums = np.array([self.influences[group].sum() for group in groups])
        shown = [
            group[np.argmax(np.sign(total) * self.influences[group])] for group, total in zip(groups, sums, strict=True)
        ]
        labels = [self.labels[i] for i in shown]
        if numbers:
            values = np.asarray(self.labels, dtype=np.float64)
            labels = [float(np.average(values[group], weights=self.counts[group])) for group in groups]
        counts = np.array([self.counts[group].sum() for group in groups])
        return ListedExamples(sums, labels, counts, self.landmarks[shown], self.similarities[shown]).in_order()


def _nearest_and_others(sides: list[Any], similarities: np.ndarray, counts: np.ndarray) -> list[np.ndarray]:
    """Split the items of each side into the nearest ones, which hold `NEAREST_ROWS` rows or more, and all others."""
    members: dict[Any, list[int]] = {}
    for i, side in enumerate(sides):
        members.setdefault(side, []).append(i)
    found = []
    for some in members.values():
        own = np.array(some)[np.argsort(-similarities[some], kind="stable")]
        n = int(np.searchsorted(np.cumsum(counts[own]), NEAREST_ROWS)) + 1
        found += [part for part in (own[:n], own[n:]) if len(part)]
    return found

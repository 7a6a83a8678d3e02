"""The influence of every row in exact fits, of one kernel or a blend of several, in one cell or many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import Encoding, count, rows
from similitude.fitting.model import LandmarkModel
from similitude.linear import GramFactor
from similitude.scikit import class_codes
from similitude.similarity import Similarity

Terms = tuple[np.ndarray, np.ndarray]
"""What each example adds to each output, (rows, examples, outputs), and the similarity to each, (rows, examples)."""

VARIANCE_ROWS = 2048
"""Objects whose variances are computed at once."""


class OfEveryRow:
    """The influence of every training row, where all are landmarks; what is computed once is not saved."""

    labels: np.ndarray

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    @property
    def heads(self) -> np.ndarray:
        """The landmarks themselves."""
        return np.arange(len(self.labels))

    @property
    def counts(self) -> np.ndarray:
        """One row each."""
        return np.ones(len(self.labels), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class BlendInfluence(OfEveryRow):
    """What every training row adds to the scores."""

    labels: np.ndarray  # the class number of each row, or its targets, one column per output
    weights: np.ndarray  # of the rows
    base: np.ndarray  # of scores without any row: the weighted mean of the targets, or an unpenalized constant
    penalties: tuple[float, ...]  # of each model
    shares: tuple[float, ...]  # of each model in the blend

    def terms(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return what each row adds to each output, (objects, rows, outputs), and the similarity to it."""
        blocks = [part.blocks(A)[0] for part, A in zip(model.parts, encodings, strict=True)]
        smoother = np.zeros(blocks[0].shape)
        for number, (share, A, K) in enumerate(zip(self.shares, encodings, blocks, strict=True)):
            cells = cells_of(model.parts[number].features.similarity, A)
            for cell in np.unique(cells):
                mine, factor = self._factor(model, number, int(cell))
                at = np.ix_(cells == cell, mine)
                smoother[at] += share * factor.solve(K[at].T).T
        Y = self.labels if self.labels.ndim == 2 else class_codes(self.labels, max(2, len(self.base)))
        return smoother[:, :, None] * (Y - self.base), blocks[0]

    @property
    def main(self) -> int:
        """The number of the model that has the largest weight in the blend."""
        return int(np.argmax(self.shares))

    def open_variance(self, model: LandmarkModel, encodings: tuple[Encoding, ...]) -> np.ndarray:
        r"""Return what the rows leave open of a Gaussian process: :math:`k(x, x) - k(x)^\top G^{-1} k(x)`."""
        part = model.parts[self.main]
        A = encodings[self.main]
        k = part.features.similarity
        known = part.features.landmarks.encoding
        found = np.asarray(k.diagonal(A), dtype=np.float64).copy()
        cells = cells_of(k, A)
        for cell in np.unique(cells):
            mine, factor = self._factor(model, self.main, int(cell))
            here = np.flatnonzero(cells == cell)
            for start in range(0, len(here), VARIANCE_ROWS):
                some = here[start : start + VARIANCE_ROWS]
                K = np.asarray(k.block(rows(A, some), rows(known, mine)), dtype=np.float64)
                half = factor.halves(K.T)
                found[some] -= np.einsum("ij,ij->j", half, half)
        return np.maximum(found, 0.0)

    def open_variance_left_out(self, model: LandmarkModel) -> np.ndarray:
        r"""Return the same for each row, given all others: :math:`1 / (G^{-1})_{ii}` less its own noise."""
        features = model.parts[self.main].features
        found = np.empty(len(self.weights))
        for cell in np.unique(cells_of(features.similarity, features.landmarks.encoding)):
            mine, factor = self._factor(model, self.main, int(cell))
            noise = self.penalties[self.main] * self.weights.mean() / self.weights[mine]
            found[mine] = 1.0 / factor.inverse_diagonal() - noise
        return np.maximum(found, 0.0)

    def _factor(self, model: LandmarkModel, number: int, cell: int) -> tuple[np.ndarray, GramFactor]:
        """Return the rows of a cell, and the Cholesky factor of one kernel's G among them."""
        known = vars(self).setdefault("_factors", {})  # computed once; not a field, so that it is not saved
        if (number, cell) not in known:
            features = model.parts[number].features
            k = features.similarity
            encoding = features.landmarks.encoding
            mine = np.flatnonzero(cells_of(k, encoding) == cell)
            own = rows(encoding, mine)
            diagonal = self.penalties[number] * self.weights.mean() / self.weights[mine]
            known[number, cell] = mine, GramFactor.of(np.array(k.block(own, own), dtype=np.float64), diagonal)
        return known[number, cell]


def cells_of(k: Similarity, A: Encoding) -> np.ndarray:
    """Return the number of each encoded object's cell: rows of other cells have no influence on it."""
    if k.hints.cells is None:
        return np.zeros(count(A), dtype=np.intp)
    return np.asarray(k.hints.cells(A))

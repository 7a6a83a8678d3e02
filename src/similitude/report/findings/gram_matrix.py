"""The Gram matrix of a sample, sorted by class, and its eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.compute.engines import current_engine
from similitude.report.findings.inputs import Inputs
from similitude.scikit import whole_gram
from similitude.support import Result, pairs_at


@dataclass(frozen=True, eq=False)
class GramSample(Result):
    """Similarities of all pairs of a sample, sorted by class (similar ones side by side) or by number."""

    matrix: np.ndarray  # K(x_i, x_j), as computed, in float32
    indices: np.ndarray  # positions in X, class by class
    labels: np.ndarray  # of each row
    classes: tuple[Any, ...]  # in the order of the rows; empty for regression
    boundaries: np.ndarray  # the first row of each class, followed by n; 0 and n for regression

    def __repr__(self) -> str:
        return f"GramSample({len(self.matrix)} examples)"

    def __str__(self) -> str:
        low, high = float(self.matrix.min()), float(self.matrix.max())
        return f"similarities of all pairs of {len(self.matrix)} examples, from {low:.4g} to {high:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists, numbers and strings; the matrix to four significant digits."""
        rounded = [[float(f"{value:.4g}") for value in row] for row in self.matrix.tolist()]
        return {**super().to_dict(), "matrix": rounded}


@dataclass(frozen=True, eq=False)
class Eigenvalues(Result):
    """The eigenvalues of the symmetric part of the Gram matrix of a sample."""

    values: np.ndarray  # in decreasing order
    rounding: float  # eigenvalues of smaller magnitude may be rounding errors
    asymmetry: float  # the largest |K(x, z) - K(z, x)| on the sample
    negative_share: float  # the sum of the magnitudes of negative ones beyond rounding, as a share of the sum over all
    indices: np.ndarray  # positions of the sample in X

    @property
    def n_negative(self) -> int:
        """The number of eigenvalues that are negative beyond rounding."""
        return int((self.values < -self.rounding).sum())

    def __str__(self) -> str:
        magnitudes = np.abs(self.values)
        largest = int(np.searchsorted(np.cumsum(magnitudes), 0.9 * magnitudes.sum())) + 1
        return (
            f"eigenvalues of {len(self.values)} examples: {self.n_negative} negative beyond rounding, "
            f"{100 * self.negative_share:.3g} % of the absolute sum; the {largest} largest account for 90 %; "
            f"largest asymmetry {self.asymmetry:.3g}"
        )


def gram_of_sample(inputs: Inputs) -> tuple[GramSample, Eigenvalues]:
    """Return the Gram matrix of a sample, computed pair by pair, and its eigenvalues."""
    chosen = inputs.sample(300)  # a pixel for each pair
    chosen = chosen[np.argsort(inputs.targets[chosen], kind="stable")]
    k = inputs.resolved
    with pairs_at(chosen, chosen):
        K = np.asarray(whole_gram(k, k.encode(take(inputs.X, chosen)), current_engine()))
    largest = float(np.abs(K).max())
    if largest > 1e30:  # squares and sums would overflow
        raise ValueError(f"similarities reach {largest:.3g}, too large to compute with: divide the similarity by that")
    counts = np.bincount(inputs.codes[chosen], minlength=max(1, len(inputs.classes)))
    boundaries = np.concatenate([[0], np.cumsum(counts)])
    if inputs.of_classes:
        order = _order_within(K, boundaries)
        K, chosen = K[np.ix_(order, order)], chosen[order]
    sample = GramSample(K.astype(np.float32), chosen, inputs.y[chosen], tuple(inputs.classes.tolist()), boundaries)
    return sample, _eigenvalues(K, chosen)


def _order_within(K: np.ndarray, boundaries: np.ndarray) -> np.ndarray:
    """Return an order of the rows that puts similar ones of a class side by side: by its first principal component."""
    order = np.arange(len(K))
    for start, end in pairwise(boundaries.tolist()):
        block = K[start:end, start:end].astype(np.float64)
        if len(block) > 2:
            block = (block + block.T) / 2
            means = block.mean(axis=0)
            first = np.linalg.eigh(block - means - means[:, None] + means.mean())[1][:, -1]
            order[start:end] = start + np.argsort(first * np.sign(first[np.abs(first).argmax()]), kind="stable")
    return order


def _eigenvalues(K: np.ndarray, chosen: np.ndarray) -> Eigenvalues:
    eps = float(np.finfo(np.result_type(K, np.float32)).eps)
    K = K.astype(np.float64)
    values = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
    rounding = 4 * len(K) * eps * float(np.abs(values).max())
    total = float(np.abs(values).sum())
    negative = float(np.abs(values[values < -rounding]).sum())
    asymmetry = float(np.abs(K - K.T).max())
    return Eigenvalues(values, rounding, asymmetry, negative / (total or 1.0), np.sort(chosen))

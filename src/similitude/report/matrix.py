"""The Gram matrix of a sample: sorted by class to look at, and its eigenvalues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute.encodings import take
from similitude.compute.engines import current_engine
from similitude.report.about import CLASSIFICATION, Subject
from similitude.scikit.estimator import whole_gram
from similitude.support.errors import pairs_at
from similitude.support.results import Result

SAMPLE = 400
"""Examples at most whose Gram matrix is shown."""

DIGITS = 4
"""Significant digits of the matrix when it is written out."""

LARGEST = 1e30
"""Similarities of larger magnitude are refused: their squares and sums would leave the range of numbers."""


@dataclass(frozen=True, eq=False)
class GramSample(Result):
    """Similarities of all pairs of a sample, sorted by class or by the number to predict.

    Attributes
    ----------
    matrix : array of float32, shape (n, n)
        K(x_i, x_j), as computed.
    indices : array of int
        Positions in X, class by class.
    labels : array
        Of each row.
    classes : tuple
        The classes in the order of the rows; empty for regression.
    boundaries : array of int
        Where the rows of each class begin, followed by n; 0 and n for regression.
    """

    matrix: np.ndarray
    indices: np.ndarray
    labels: np.ndarray
    classes: tuple[Any, ...]
    boundaries: np.ndarray

    def __repr__(self) -> str:
        return f"GramSample({len(self.matrix)} examples)"

    def __str__(self) -> str:
        low, high = float(self.matrix.min()), float(self.matrix.max())
        return f"similarities of all pairs of {len(self.matrix)} examples, from {low:.4g} to {high:.4g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain lists, numbers and strings; the matrix to four significant digits."""
        rounded = [[float(f"{value:.{DIGITS}g}") for value in row] for row in self.matrix.tolist()]
        return {**super().to_dict(), "matrix": rounded}


@dataclass(frozen=True, eq=False)
class Spectrum(Result):
    """The eigenvalues of the Gram matrix of a sample, made symmetric where it is not.

    Attributes
    ----------
    values : array
        The largest first.
    rounding : float
        Eigenvalues of smaller magnitude may be rounding.
    asymmetry : float
        The largest |K(x, z) - K(z, x)| on the sample.
    negative_share : float
        The absolute sum of the negative eigenvalues, beyond rounding, as a share of that of all.
    indices : array of int
        Positions of the sample in X.
    """

    values: np.ndarray
    rounding: float
    asymmetry: float
    negative_share: float
    indices: np.ndarray

    @property
    def n_negative(self) -> int:
        """How many eigenvalues are negative beyond rounding."""
        return int((self.values < -self.rounding).sum())

    def __str__(self) -> str:
        half = int(np.searchsorted(np.cumsum(np.abs(self.values)), 0.9 * np.abs(self.values).sum())) + 1
        return (
            f"eigenvalues of {len(self.values)} examples: {self.n_negative} negative beyond rounding, "
            f"{100 * self.negative_share:.3g} % of the absolute sum; the {half} largest hold 90 %; "
            f"largest asymmetry {self.asymmetry:.3g}"
        )


def gram_sample(subject: Subject) -> tuple[GramSample, Spectrum]:
    """Return the Gram matrix of a sample, every pair computed, and its eigenvalues."""
    chosen = subject.sample(SAMPLE)
    keys = subject.codes[chosen] if subject.task == CLASSIFICATION else subject.y[chosen]
    chosen = chosen[np.argsort(keys, kind="stable")]
    k = subject.resolved
    with pairs_at(chosen, chosen):
        K = np.asarray(whole_gram(k, k.encode(take(subject.X, chosen)), current_engine()))
    largest = float(np.abs(K).max())
    if largest > LARGEST:
        raise ValueError(f"similarities reach {largest:.3g}, too large to reckon with: divide the similarity by that")
    counts = np.bincount(subject.codes[chosen], minlength=max(1, len(subject.classes)))
    boundaries = np.concatenate([[0], np.cumsum(counts)])
    classes = tuple(subject.classes.tolist())
    sample = GramSample(K.astype(np.float32), chosen, subject.y[chosen], classes, boundaries)
    return sample, _spectrum(K, chosen)


def _spectrum(K: np.ndarray, chosen: np.ndarray) -> Spectrum:
    eps = float(np.finfo(K.dtype).eps) if K.dtype.kind == "f" else float(np.finfo(float).eps)
    K = K.astype(np.float64)
    values = np.linalg.eigvalsh((K + K.T) / 2)[::-1]
    rounding = 4 * len(K) * eps * float(np.abs(values).max())
    total = float(np.abs(values).sum())
    negative = float(np.abs(values[values < -rounding]).sum())
    asymmetry = float(np.abs(K - K.T).max())
    return Spectrum(values, rounding, asymmetry, negative / total if total > 0 else 0.0, np.sort(chosen))

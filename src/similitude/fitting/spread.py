r"""The standard deviation of errors as a function of the object.

The Gaussian-process view of ridge regression (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
chapter 2): the error at x has the variance :math:`s^2 + a\, q(x)`, noise and what the rows leave open of the function,
with :math:`q(x) = k(x, x) - k(x)^\top (K + \lambda)^{-1} k(x)`. Where errors are larger for some objects than for
others, the logarithm of their size is also a linear function of the landmark features. Both are chosen by the
likelihood of rows, each of which is predicted without itself (ibid., section 5.4.2).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular

from similitude.compute import Encoding, as_numpy, count, rows
from similitude.fitting.blend_influence import VARIANCE_ROWS
from similitude.fitting.model import WeightedLandmarks
from similitude.landmarks import LandmarkFeatures
from similitude.linear import LinearModel, Moments, Ridge
from similitude.similarity import Precomputed
from similitude.theory import conformal_quantile

RATIOS = 10.0 ** np.arange(-3.0, 3.01, 0.25)
"""Ratios of signal to noise that are tried, relative to the one that the penalty of the fit stands for."""

MOST_NOISE_FEATURES = 300
"""Most features of which the size of errors is a function."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The standard deviation of errors: ``scale * sqrt(1 + ratio * q(x)) * exp(g(x))``, one column per output.

    Attributes
    ----------
    scale : array of shape (outputs,)
    ratio : array of shape (outputs,)
        Of the variance of the function to that of the noise; 0 where q is not known.
    noise : tuple of arrays, or None
        Weights of the similarities in g, one array for each similarity; None if g is zero.
    intercept, low, high : array of shape (outputs,)
        The constant of g, and the limits that it is kept in.
    adaptive : bool
        Whether intervals that are wider for some objects than for others are narrower on average.
    landmarks : LandmarkVariance or None
        What gives q, in a fit on landmarks.
    """

    scale: np.ndarray
    ratio: np.ndarray
    noise: tuple[np.ndarray, ...] | None
    intercept: np.ndarray
    low: np.ndarray
    high: np.ndarray
    adaptive: bool
    landmarks: Any = None

    def sizes(self, logs: np.ndarray | None, open_variance: np.ndarray | None, n: int) -> np.ndarray:
        """Return the standard deviations of n objects, given g without its constant, and q."""
        found = np.repeat(self.scale[None, :], n, axis=0)
        if open_variance is not None:
            found *= np.sqrt(1.0 + self.ratio * open_variance[:, None])
        if logs is not None:
            found *= np.exp(np.clip(logs + self.intercept, self.low, self.high))
        return found


class MarginalRatio(NamedTuple):
    """The ratio of signal to noise of each output with the largest marginal likelihood.

    `may_lose` is how much the logarithm of the likelihood of a left-out row may fall for its sake.
    """

    ratio: np.ndarray
    may_lose: float


class SizedRows(NamedTuple):
    """A spread, and the standard deviations that it gives the rows that calibrate, each without itself."""

    spread: Spread
    sizes: np.ndarray


@dataclass(frozen=True, eq=False)
class SpreadFit:
    """A spread, g as a linear function of the features that it was fitted to, and the sizes for the rows left out."""

    scale: np.ndarray
    ratio: np.ndarray
    noise: LinearModel | None
    low: np.ndarray
    high: np.ndarray
    sizes: np.ndarray
    adaptive: bool
    landmarks: Any = None

    def sized(self, noise: tuple[np.ndarray, ...] | None) -> SizedRows:
        """Return the spread, given the weights of g by similarities, and the sizes of the rows."""
        intercept = np.zeros(len(self.scale)) if self.noise is None else self.noise.intercept
        landmarks = None
        if self.ratio.any():
            landmarks = self.landmarks
        spread = Spread(self.scale, self.ratio, noise, intercept, self.low, self.high, self.adaptive, landmarks)
        return SizedRows(spread, self.sizes)

    def padded(self, used: np.ndarray, width: int) -> SpreadFit:
        """Return the same with g a function of more features, of which only some have a weight."""
        if self.noise is None:
            return self
        W = np.zeros((width, self.noise.weights.shape[1]))
        W[used] = self.noise.weights
        return replace(self, noise=replace(self.noise, weights=W))


def fit_spread(
    errors: np.ndarray,
    weights: np.ndarray,
    F: np.ndarray | None = None,
    open_variance: np.ndarray | None = None,
    penalty: float = 1.0,
    marginal: MarginalRatio | None = None,
    groups: np.ndarray | None = None,
) -> SpreadFit:
    """Fit the size of errors of rows that were left out.

    Parameters
    ----------
    errors : array of shape (n, outputs)
    weights : array of shape (n,)
    F : array of shape (n, features), optional
        Of these rows.
    open_variance : array of shape (n,), optional
        q of each row without itself.
    penalty : float
        Of the fit; 1 / penalty is the ratio of signal to noise that it stands for.
    marginal : MarginalRatio, optional
        The ratio that it asks for is taken if it is the larger one: rows among others say little about objects that
        are far from all of them.
    groups : array of int, optional
        The group of each row: whole groups are left out instead of rows.
    """
    outputs = errors.shape[1]
    ratio = np.zeros(outputs)
    sizes = np.repeat(_deviation(errors, weights)[None, :], len(errors), axis=0)
    if open_variance is not None:
        wanted = np.zeros(outputs) if marginal is None else marginal.ratio
        lost = 0.0
        if marginal is not None:
            lost = marginal.may_lose
        ratio = np.array(
            [
                _best_ratio(column, weights, open_variance, penalty, most, lost)
                for column, most in zip(errors.T, wanted, strict=True)
            ]
        )
        shape = np.sqrt(1.0 + ratio * open_variance[:, None])
        sizes = shape * _deviation(errors / shape, weights)
    low = high = np.zeros(outputs)
    noise = None
    scale = _deviation(errors if open_variance is None else errors / shape, weights)
    found = None
    if F is not None:
        found = _fit_noise(errors / np.maximum(sizes, 1e-300), weights, F, groups)
    if found is not None:
        noise, logs = found
        low = logs.min(axis=0)
        high = logs.max(axis=0)
        shape = sizes / scale * np.exp(logs)
        scale = _deviation(errors / np.maximum(shape, 1e-300), weights)
        sizes = shape * scale
    return SpreadFit(scale, ratio, noise, low, high, sizes, _is_narrower(errors, sizes))


def log_density(errors: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the logarithm of the normal density of errors with these standard deviations.

    >>> log_density(np.array([0.0]), np.array([1.0])).round(4)
    array([-0.9189])
    """
    sizes = np.maximum(sizes, 1e-300)
    return np.asarray(-0.5 * (np.log(2 * np.pi) + (errors / sizes) ** 2) - np.log(sizes))


def _deviation(errors: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.asarray(np.sqrt(np.average(errors**2, axis=0, weights=weights)))


def _best_ratio(
    errors: np.ndarray, weights: np.ndarray, open_variance: np.ndarray, penalty: float, wanted: float, may_lose: float
) -> float:
    """Return the ratio of signal to noise under which the errors are most likely; zero if it is as good.

    A larger one, up to the one wanted, is taken if the logarithm of the likelihood of a row does not lose too much.
    """

    def likelihood(ratio: float) -> float:
        shape = np.sqrt(1.0 + ratio * open_variance)
        return float(weights @ log_density(errors, shape * _deviation(errors / shape, weights)))

    found = {ratio: likelihood(ratio) for ratio in [0.0, *(RATIOS / penalty)]}
    best = max(found, key=lambda ratio: found[ratio])
    fair = found[best] - may_lose * float(weights.sum())
    return max(best, *[ratio for ratio, value in found.items() if ratio <= wanted and value >= fair], 0.0)


def _fit_noise(
    errors: np.ndarray, weights: np.ndarray, F: np.ndarray, groups: np.ndarray | None
) -> tuple[LinearModel, np.ndarray] | None:
    """Fit g to errors in units of their standard deviation; also return g of each row without itself.

    None if the likelihood of left-out rows is not clearly larger with it, or if the rows are too few.
    """
    # number of rows from which on the size of errors is fitted
    if len(errors) < 200 or not errors.any(axis=0).all():
        return None
    F = np.asarray(F, dtype=np.float64)
    # errors count as at least this part of their standard deviation: logarithms of errors near zero say little
    logs = np.log(np.maximum(np.abs(errors), 0.02))
    logs -= np.average(logs, axis=0, weights=weights)
    ridge = Ridge(Moments.of(F, logs, weights))
    try:
        trial = ridge.best(ridge.left_out(F, logs, weights, groups))
    except ValueError:  # no penalty can be evaluated
        return None
    shape = np.exp(trial.scores)
    with_noise = log_density(errors, shape * _deviation(errors / shape, weights))
    gain = (with_noise - log_density(errors, np.ones(1))).sum(axis=1)
    mean = np.average(gain, weights=weights)
    if not mean > np.sqrt(weights**2 @ (gain - mean) ** 2) / weights.sum():
        return None
    return ridge.fit(trial.lam), trial.scores


def _is_narrower(errors: np.ndarray, sizes: np.ndarray) -> bool:
    """Tell whether intervals in proportion to the sizes are narrower on average than those of one width."""
    if not (sizes > 0).all() or np.ptp(sizes, axis=0).max() == 0:
        return False
    ratios = []
    for column, size in zip(np.abs(errors).T, sizes.T, strict=True):
        # levels at which intervals that adapt are compared with intervals of one width
        for level in (0.8, 0.9, 0.95):
            plain = conformal_quantile(column, level)
            if 0 < plain < np.inf:
                ratios.append(conformal_quantile(column / size, level) * size.mean() / plain)
    # intervals adapt to objects if they are narrower than this part of intervals of one width
    return bool(ratios) and float(np.mean(ratios)) < 0.97


@dataclass(frozen=True, eq=False)
class LandmarkVariance:
    r"""The variance that rows leave open, by the first landmarks.

    Attributes
    ----------
    triangle : array
        U with :math:`K(L, L) = U^\top U`, the rows of its upper triangle one after the other.
    mean : array of shape (p,)
        Of the features.
    shrunk : array of shape (p, p)
        B with :math:`B B^\top = \lambda A^{-1}`, in single precision: no entry is larger than 1.
    scale : float
        What features are divided by.
    """

    triangle: np.ndarray
    mean: np.ndarray
    shrunk: np.ndarray
    scale: float

    def __call__(self, part: WeightedLandmarks, A: Encoding) -> np.ndarray:
        """Return the variance of each object, in units of the features."""
        k = part.features.similarity
        p = len(self.mean)
        found = np.empty(count(A))
        U = np.zeros((p, p))
        landmarks = rows(part.features.landmarks.encoding, slice(p))
        U[np.triu_indices(p)] = self.triangle
        for start in range(0, len(found), VARIANCE_ROWS):
            some = rows(A, slice(start, start + VARIANCE_ROWS))
            K = as_numpy(k.block(some, landmarks)).astype(np.float64)
            F = solve_triangular(U, K.T, trans=1, check_finite=False).T / self.scale
            unseen, uncertain = self.parts(F, as_numpy(k.diagonal(some)))
            found[start : start + VARIANCE_ROWS] = unseen + uncertain
        return found

    def parts(self, F: np.ndarray, diagonal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what landmarks do not tell of objects, and what rows leave open of the rest."""
        unseen = np.asarray(diagonal, dtype=np.float64) / self.scale**2 - np.einsum("ij,ij->i", F, F)
        along = (F - self.mean) @ self.shrunk.astype(np.float64)
        return np.maximum(unseen, 0.0), np.einsum("ij,ij->i", along, along)


class OpenVariance(NamedTuple):
    """The variance that rows leave open, its values for the rows that calibrate, each without itself, and its size."""

    variance: LandmarkVariance
    left_out: np.ndarray
    marginal: MarginalRatio


def open_variance_of(
    features: tuple[LandmarkFeatures, ...],
    moments: Moments,
    lam: float,
    A: Encoding,
    F: np.ndarray,
    weights: np.ndarray,
    squares: np.ndarray,
) -> OpenVariance | None:
    """Return the variance that rows leave open; None unless a single kernel is projected onto landmarks.

    Parameters
    ----------
    features : tuple of LandmarkFeatures
    moments : Moments
        Of the features of all rows.
    lam : float
        The penalty.
    A, F, weights
        The rows that calibrate, which are among them: encoded, their features, and their weights.
    squares : array of shape (outputs,)
        The weighted variance of the targets.
    """
    first = features[0]
    if len(features) > 1 or first.factor is None or first.normalized or first.side != "left":
        return None
    if isinstance(first.similarity, Precomputed) or not first.similarity.proven:
        return None
    p = min(len(first.factor), MOST_NOISE_FEATURES)
    mean, middle = (one / moments.weight for one in (moments.features[:p], moments.targets))
    values, vectors = np.linalg.eigh(moments.gram[:p, :p] - np.outer(moments.features[:p], mean))
    values = np.maximum(values, 0.0)
    shrunk = (vectors / np.sqrt(1.0 + values / lam)).astype(np.float32)
    variance = LandmarkVariance(first.factor[:p, :p][np.triu_indices(p)], mean, shrunk, first.scale)
    unseen, uncertain = variance.parts(
        np.asarray(as_numpy(F)[:, :p], dtype=np.float64), as_numpy(first.similarity.diagonal(A))
    )
    others = 1.0 - np.minimum(weights * uncertain / lam, 1.0 - 1e-6)
    along = vectors.T @ (moments.cross[:p] - np.outer(moments.features[:p], middle))
    ratio = [
        marginal_ratio(values, one, total * moments.weight, moments.weight, lam)
        for one, total in zip(along.T, squares, strict=True)
    ]
    # by how much the marginal likelihood may lower the log likelihood of a left-out row, if it knows not all
    # landmarks
    may_lose = 0.01
    if p == len(first.factor):
        may_lose = np.inf
    return OpenVariance(variance, unseen + uncertain / others, MarginalRatio(np.array(ratio), may_lose))


def marginal_ratio(values: np.ndarray, along: np.ndarray, squares: float, n: float, lam: float) -> float:
    r"""Return the ratio r of the variances of function and noise under which the targets are most likely.

    With targets of the covariance :math:`s^2 (I + r F F^\top)` and the best :math:`s^2`, from the eigenvalues of
    :math:`F^\top F`, :math:`F^\top y` along its eigenvectors, and :math:`|y|^2` (Rasmussen and Williams 2006,
    section 5.4.1).
    """

    def likelihood(r: float) -> float:
        left = squares - float(np.sum(r * along**2 / (1.0 + r * values)))
        return -float(np.log1p(r * values).sum()) - n * float(np.log(max(left, 1e-12 * squares, 1e-300)))

    return max(RATIOS / lam, key=likelihood)


def variances(Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weighted variance of each output."""
    return np.asarray(np.average((Y - np.average(Y, axis=0, weights=weights)) ** 2, axis=0, weights=weights))

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
from similitude.fitting.influence import VARIANCE_ROWS
from similitude.fitting.model import FittedModel, WeightedLandmarks
from similitude.landmarks import LandmarkFeatures
from similitude.linear import Moments, Ridge
from similitude.similarity import Precomputed
from similitude.theory import conformal_quantile

RATIOS = 10.0 ** np.arange(-3.0, 3.01, 0.25)
"""Ratios of signal to noise that are tried, relative to the one that the penalty of the fit stands for."""

MOST_NOISE_FEATURES = 300
"""Most features of which the size of errors is a function."""


@dataclass(frozen=True, eq=False)
class Spread:
    """The standard deviation of errors: ``scale * sqrt(1 + ratio * q(x)) * exp(g(x))``, one column per output."""

    scale: np.ndarray
    ratio: np.ndarray  # of the variance of the function to that of the noise; 0 where q is not known
    noise: tuple[np.ndarray, ...] | None  # weights of the similarities in g, one array for each; None if g is zero
    intercept: np.ndarray  # of g
    low: np.ndarray  # limits that g is kept in
    high: np.ndarray
    adaptive: bool  # whether intervals that are wider for some objects than for others are narrower on average
    landmarks: Any = None  # the LandmarkVariance that gives q, in a fit on landmarks

    def sizes(self, logs: np.ndarray | None, open_variance: np.ndarray | None, n: int) -> np.ndarray:
        """Return the standard deviations of n objects, given g without its constant, and q."""
        found = np.repeat(self.scale[None, :], n, axis=0)
        if open_variance is not None:
            found *= np.sqrt(1.0 + self.ratio * open_variance[:, None])
        if logs is not None:
            found *= np.exp(np.clip(logs + self.intercept, self.low, self.high))
        return found


class OpenVariance(NamedTuple):
    """The variance q that rows leave open of the function."""

    left_out: np.ndarray  # of the rows that calibrate, each without itself
    variance: LandmarkVariance | None = None
    # of signal to noise, for each output, with the largest marginal likelihood: it is taken if it is the larger one,
    # because rows among others say little about objects that are far from all of them
    ratio: np.ndarray | float = 0.0
    may_lose: float = 0.0  # of the logarithm of the likelihood of a left-out row, for the sake of this ratio


class SpreadFit(NamedTuple):
    """A spread, standard deviations of the rows that calibrate, each without itself, and weights of features in g."""

    spread: Spread
    sizes: np.ndarray
    noise: np.ndarray | None

    def sized(self, noise: tuple[np.ndarray, ...] | None) -> SpreadFit:
        """Return the same with the weights of the similarities in g."""
        return self._replace(spread=replace(self.spread, noise=noise))


def spread_of_fit(fit: FittedModel) -> SpreadFit | None:
    """Fit the size of errors as a function of the first features that have a weight in the model."""
    if fit.tried is None:
        return None
    W = fit.linear.weights
    used = np.flatnonzero((W[: fit.tried.shape[1]] != 0).any(axis=1))[:MOST_NOISE_FEATURES]
    left_open = fit.open_variance if len(used) == min(len(W), MOST_NOISE_FEATURES) else None
    errors = fit.held_out[0] - fit.trial.scores
    F = fit.tried[:, used] if len(used) else None
    found = fit_spread(errors, fit.held_out[1], F, left_open, fit.trial.lam, fit.groups)
    if found.noise is None:
        return found
    noise = np.zeros((len(W), found.noise.shape[1]))
    noise[used] = found.noise
    return found._replace(noise=noise)


def fit_spread(
    errors: np.ndarray,
    weights: np.ndarray,
    F: np.ndarray | None = None,
    left_open: OpenVariance | None = None,
    penalty: float = 1.0,
    groups: np.ndarray | None = None,
) -> SpreadFit:
    """Fit the size of errors of rows left out; 1 / penalty is the ratio of signal to noise of their fit."""
    outputs = errors.shape[1]
    ratio = np.zeros(outputs)
    shape = np.ones((len(errors), 1))
    if left_open is not None:
        wanted = np.broadcast_to(left_open.ratio, outputs)
        ratio = np.array([_best_ratio(*one, weights, left_open, penalty) for one in zip(errors.T, wanted, strict=True)])
        shape = np.sqrt(1.0 + ratio * left_open.left_out[:, None])
    scale = _deviation(errors / shape, weights)
    sizes = shape * scale
    low = high = intercept = np.zeros(outputs)
    noise = None
    found = None if F is None else _fit_noise(errors / np.maximum(sizes, 1e-300), weights, F, groups)
    if found is not None:
        noise, intercept, logs = found
        low = logs.min(axis=0)
        high = logs.max(axis=0)
        shape = sizes / scale * np.exp(logs)
        scale = _deviation(errors / np.maximum(shape, 1e-300), weights)
        sizes = shape * scale
    landmarks = left_open.variance if left_open is not None and ratio.any() else None
    adaptive = _is_narrower(errors, sizes)
    return SpreadFit(Spread(scale, ratio, None, intercept, low, high, adaptive, landmarks), sizes, noise)


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
    errors: np.ndarray, wanted: float, weights: np.ndarray, left_open: OpenVariance, penalty: float
) -> float:
    """Return the likeliest ratio of signal to noise, or a larger one up to that wanted, if it loses little."""

    def likelihood(ratio: float) -> float:
        shape = np.sqrt(1.0 + ratio * left_open.left_out)
        return float(weights @ log_density(errors, shape * _deviation(errors / shape, weights)))

    found = {ratio: likelihood(ratio) for ratio in [0.0, *(RATIOS / penalty)]}
    best = max(found, key=lambda ratio: found[ratio])
    fair = found[best] - left_open.may_lose * float(weights.sum())
    return max(best, *[ratio for ratio, value in found.items() if ratio <= wanted and value >= fair], 0.0)


def _fit_noise(
    errors: np.ndarray, weights: np.ndarray, F: np.ndarray, groups: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return weights, constant and left-out values of g; None if they are not clearly more likely."""
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
    model = ridge.fit(trial.lam)
    return model.weights, model.intercept, trial.scores


def _is_narrower(errors: np.ndarray, sizes: np.ndarray) -> bool:
    """Whether intervals in proportion to the sizes are narrower on average than those of one width."""
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
    r"""The variance that rows leave open, by the first landmarks."""

    triangle: np.ndarray  # the rows of the upper triangle U, one after the other, with :math:`K(L, L) = U^\top U`
    mean: np.ndarray  # of the features
    shrunk: np.ndarray  # B with :math:`B B^\top = \lambda A^{-1}`, in single precision: no entry is larger than 1
    scale: float  # what features are divided by

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


def open_variance_of(
    features: tuple[LandmarkFeatures, ...],
    moments: Moments,
    lam: float,
    A: Encoding,
    F: np.ndarray,
    weights: np.ndarray,
    squares: np.ndarray,
) -> OpenVariance | None:
    """Return the variance that rows leave open, of those that calibrate; None unless a kernel is projected."""
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
    n = moments.weight
    ratio = [marginal_ratio(values, one, total * n, n, lam) for one, total in zip(along.T, squares, strict=True)]
    # by how much the marginal likelihood may lower the log likelihood of a left-out row, if it knows not all landmarks
    may_lose = np.inf if p == len(first.factor) else 0.01
    return OpenVariance(unseen + uncertain / others, variance, np.array(ratio), may_lose)


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

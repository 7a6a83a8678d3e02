"""Kernel ridge regression on profiles: the similarities of objects to a few landmarks, taken as vectors.

Comparing with a landmark may cost money, but arithmetic on the answers is free: a Gaussian kernel of profiles often
learns as much from 20 landmarks as a linear function of 100. Linear and Gaussian kernels are compared by exact
leave-one-out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from similitude.evaluation import Trial, path
from similitude.linear import Gram, Moments, Ridge, with_mean_of_others

PROFILE_WIDTHS = (0.1, 0.3, 1.0, 3.0)
"""Gaussian kernels of profiles, by their squared width relative to the median squared distance."""


PROFILE_PENALTIES = path(4 / 3, -6.0, 3.0)
"""Penalties, relative to the mean of the diagonal. Landmarks are bought by labels, so that leave-one-out is optimistic:
in half decades of the whole path errors of 800 rows rose from .161 to .165 (magic) and from .042 to .047 (sms)."""


@dataclass(frozen=True, eq=False)
class ProfileRidge:
    """Ridge regression with a kernel of profiles."""

    profiles: np.ndarray  # those of the training rows, of shape (rows, similarities)
    center: np.ndarray  # their mean, which a linear kernel subtracts
    width: float | None  # the Gaussian kernel is exp(-|f - g|^2 / width); None: the kernel is linear
    lam: float
    dual: np.ndarray  # the coefficient of each training row, of shape (rows, outputs)
    base: np.ndarray  # the mean target
    weights: np.ndarray

    def kernel(self, F: np.ndarray) -> np.ndarray:
        """Return the kernel of profiles and those of the training rows."""
        if self.width is None:
            return np.asarray((F - self.center) @ (self.profiles - self.center).T)
        return np.asarray(np.exp(-_squared_distances(F, self.profiles) / self.width))

    def scores(self, F: np.ndarray) -> np.ndarray:
        """Return the predictions for profiles."""
        return np.asarray(self.kernel(F) @ self.dual + self.base)

    def score_range(self, F: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds of the predictions for profiles of which the first entries are known, the others bounded."""
        known = F.shape[1]
        if self.width is None:
            slopes = (self.profiles - self.center).T @ self.dual
            fixed = (F - self.center[:known]) @ slopes[:known] + self.base
            rest = [(bound - self.center[known:])[:, :, None] * slopes[known:] for bound in (low, high)]
            return fixed + np.minimum(*rest).sum(axis=1), fixed + np.maximum(*rest).sum(axis=1)
        apart = _squared_distances(F, self.profiles[:, :known])
        nearest = apart.copy()
        farthest = apart
        for j in range(low.shape[1]):  # distances along one entry after the other
            below = low[:, j, None] - self.profiles[:, known + j]
            above = self.profiles[:, known + j] - high[:, j, None]
            nearest += np.maximum(np.maximum(below, above), 0.0) ** 2
            farthest = farthest + np.maximum(below**2, above**2)
        most = np.exp(-nearest / self.width)
        least = np.exp(-farthest / self.width)
        up = np.maximum(self.dual, 0.0)
        down = np.minimum(self.dual, 0.0)
        return least @ up + most @ down + self.base, most @ up + least @ down + self.base

    def influences(self, F: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return what each training row's target counts in the predictions for profiles, and targets less their mean.

        The products of both, summed over the training rows, are the scores less the mean target.
        """
        root = np.sqrt(self.weights)[:, None]
        M = root * self.kernel(self.profiles) * root.T
        M[np.diag_indices(len(M))] += self.lam
        shares = np.linalg.solve(M, (self.kernel(F) * root.T).T).T * root.T
        return np.asarray(shares), (M @ (self.dual / root)) / root

    def refitted(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> ProfileRidge:
        """Return the same kernel and penalty fitted to other rows."""
        made = replace(self, profiles=F, weights=weights)
        mean = np.average(Y, axis=0, weights=weights)
        found = Gram(made.kernel(F), Y - mean, weights, constant=False).fit(self.lam)
        return replace(made, dual=found.weights, base=mean)


def fit_profiles(
    F: np.ndarray, Y: np.ndarray, weights: np.ndarray, noise: float = 0.0, groups: np.ndarray | None = None
) -> tuple[ProfileRidge, Trial]:
    """Fit the kernel and the penalty with the smallest leave-one-out loss, and return it with the trial of all rows.

    Weights are positive. Noise, the variance of a similarity, blurs the kernel: penalties below what it adds are not
    considered. With groups, whole groups are left out instead of rows.
    """
    mean = np.average(Y, axis=0, weights=weights)  # on a smooth function a free constant loses 11 % more
    apart = _squared_distances(F, F)
    median = float(np.median(apart[apart > 0])) if (apart > 0).any() else 0.0
    with_ones = np.column_stack([Y - mean, np.ones(len(Y))])
    share = (weights / weights.sum())[:, None, None]
    blur = noise * F.shape[1]
    ridge = Ridge(Moments.of(F, Y, weights))
    lams = np.maximum(PROFILE_PENALTIES * (ridge.unit / weights.sum()), blur)
    found: list[tuple[float | None, Trial]] = []
    found += [(None, trial) for trial in ridge.left_out(F, Y, weights, groups)(lams.tolist())[::-1]]
    for width in [relative * median for relative in PROFILE_WIDTHS] if median else []:
        gram = Gram(np.exp(-apart / width), with_ones, weights, constant=False)
        lams = np.maximum(PROFILE_PENALTIES, blur * 2.0 / width)[::-1]
        left = gram.left_out(lams, groups)
        ones = left[..., -1:]
        if groups is None:
            left = left[..., :-1] / (1.0 - share * ones)  # without the row the mean is another one
        else:
            for i in range(len(lams)):
                left[:, i, :-1] = with_mean_of_others(left[:, i, :-1], ones[:, i], Y - mean, weights, groups)
            left = left[..., :-1]
        found += [(width, Trial.of(float(lam), Y - left[:, i], Y, weights)) for i, lam in enumerate(lams)]
    scored = [(trial, kernel) for kernel, trial in found if np.isfinite(trial.loss)]
    if not scored:
        raise ValueError("no penalty can be evaluated: give more examples, or less uneven weights")
    trial, chosen = min(scored, key=lambda one: one[0].loss)  # the larger penalty on a tie
    center = np.average(F, axis=0, weights=weights)
    unfitted = ProfileRidge(F, center, chosen, trial.lam, np.zeros_like(Y), np.zeros(Y.shape[1]), weights)
    return unfitted.refitted(F, Y, weights), trial


def _squared_distances(F: np.ndarray, G: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum((F**2).sum(axis=1)[:, None] + (G**2).sum(axis=1) - 2 * F @ G.T, 0.0))

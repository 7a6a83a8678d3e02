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

PROFILE_WIDTHS = (None, 0.1, 0.3, 1.0, 3.0)
"""Kernels of profiles: linear, and Gaussian ones by their squared width relative to the median squared distance."""


PROFILE_PENALTIES = path(4 / 3, -6.0, 3.0)
"""Penalties, relative to the mean of the diagonal. Landmarks are bought by labels, so that leave-one-out is optimistic:
in half decades of the whole path errors of 800 rows rose from .161 to .165 (magic) and from .042 to .047 (sms)."""


@dataclass(frozen=True, eq=False)
class ProfileRidge:
    """Ridge regression with a kernel of profiles.

    Attributes
    ----------
    profiles : array of shape (rows, similarities)
        Those of the training rows.
    center : array
        Their mean, which a linear kernel subtracts.
    width : float or None
        The Gaussian kernel is exp(-|f - g|^2 / width); None: the kernel is linear.
    lam : float
        The penalty.
    dual : array of shape (rows, outputs)
        The weight of each training row.
    base : array of shape (outputs,)
        The mean target.
    weights : array of shape (rows,)
        Those of the training rows.
    """

    profiles: np.ndarray
    center: np.ndarray
    width: float | None
    lam: float
    dual: np.ndarray
    base: np.ndarray
    weights: np.ndarray

    def kernel(self, F: np.ndarray) -> np.ndarray:
        """Return the kernel of profiles and those of the training rows."""
        return _kernel(F, self.profiles, self.center, self.width)

    def scores(self, F: np.ndarray) -> np.ndarray:
        """Return the predictions for profiles."""
        found: np.ndarray = self.kernel(F) @ self.dual + self.base
        return found

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
        root = np.sqrt(self.weights)
        M = self._equations(self.profiles)
        targets = (M @ (self.dual / root[:, None])) / root[:, None]
        shares: np.ndarray = np.linalg.solve(M, (self.kernel(F) * root).T).T * root
        return shares, targets

    def refitted(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> ProfileRidge:
        """Return the same kernel and penalty fitted to other rows."""
        made = replace(self, profiles=F, weights=weights)
        mean = np.average(Y, axis=0, weights=weights)
        found = Gram(made.kernel(F), Y - mean, weights, constant=False).fit(self.lam)
        return replace(made, dual=found.weights, base=mean)

    def _equations(self, F: np.ndarray) -> np.ndarray:
        """Return the matrix of the equations: the kernel of training rows times roots of weights, and the penalty."""
        root = np.sqrt(self.weights)[:, None]
        K: np.ndarray = root * self.kernel(F) * root.T
        K[np.diag_indices(len(K))] += self.lam
        return K


def fit_profiles(
    F: np.ndarray, Y: np.ndarray, weights: np.ndarray, noise: float = 0.0, groups: np.ndarray | None = None
) -> tuple[ProfileRidge, Trial]:
    """Fit the kernel and the penalty with the smallest leave-one-out loss, and return it with the trial of all rows.

    Parameters
    ----------
    F : array of shape (rows, similarities)
    Y : array of shape (rows, outputs)
    weights : array of shape (rows,)
        Positive.
    noise : float
        The variance of a similarity. Noise blurs the kernel, and penalties below what it adds are not considered.
    groups : array of int, optional
        The group of each row: whole groups are left out instead of rows.
    """
    center = np.average(F, axis=0, weights=weights)
    mean = np.average(Y, axis=0, weights=weights)  # on a smooth function a free constant loses 11 % more
    apart = _squared_distances(F, F)
    median = 0.0
    if (apart > 0).any():
        median = float(np.median(apart[apart > 0]))
    with_ones = np.column_stack([Y - mean, np.ones(len(Y))])
    share = (weights / weights.sum())[:, None, None]
    best: tuple[float | None, Trial] | None = None
    for relative in PROFILE_WIDTHS if median else PROFILE_WIDTHS[:1]:
        width = None
        if relative is not None:
            width = relative * median
        if width is None:
            ridge = Ridge(Moments.of(F, Y, weights))
            judge = ridge.left_out(F, Y, weights, groups)
            given = _penalties(ridge.unit / weights.sum(), noise * F.shape[1]).tolist()
            scored = zip(given, judge.scores(given), strict=True)
            trials = [None if scores is None else Trial.of(lam, scores, Y, weights) for lam, scores in scored]
        else:
            gram = Gram(np.exp(-apart / width), with_ones, weights, constant=False)
            lams = _penalties(1.0, noise * F.shape[1] * 2.0 / width)
            left = gram.left_out(lams, groups)
            if groups is None:
                left = left[..., :-1] / (1.0 - share * left[..., -1:])  # without the row the mean is another one
            else:
                ones = left[..., -1:]
                centered = Y - mean
                left = left[..., :-1]
                for i in range(len(lams)):
                    left[:, i] = with_mean_of_others(left[:, i], ones[:, i], centered, weights, groups)
            trials = [Trial.of(float(lam), Y - left[:, i], Y, weights) for i, lam in enumerate(lams)]
        for trial in trials[::-1]:  # the larger penalty on a tie
            if trial is not None and (best is None or trial.loss < best[1].loss):
                best = width, trial
    if best is None:
        raise ValueError("no penalty can be evaluated: give more examples, or less uneven weights")
    width, trial = best
    unfitted = ProfileRidge(F, center, width, trial.lam, np.zeros_like(Y), np.zeros(Y.shape[1]), weights)
    return unfitted.refitted(F, Y, weights), trial


def _penalties(diagonal: float, blur: float) -> np.ndarray:
    """Return the penalties to try, given the mean of the diagonal of the kernel and what noise adds to it."""
    return np.maximum(PROFILE_PENALTIES * diagonal, blur)


def _kernel(F: np.ndarray, G: np.ndarray, center: np.ndarray, width: float | None) -> np.ndarray:
    if width is None:
        product: np.ndarray = (F - center) @ (G - center).T
        return product
    found: np.ndarray = np.exp(-_squared_distances(F, G) / width)
    return found


def _squared_distances(F: np.ndarray, G: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.maximum((F**2).sum(axis=1)[:, None] + (G**2).sum(axis=1) - 2 * F @ G.T, 0.0)
    return found

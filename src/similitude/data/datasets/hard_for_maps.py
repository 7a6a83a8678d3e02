"""Problems that are hard for maps: lower bounds of the theory, with known distributions."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from similitude.support import generator


@dataclass(frozen=True)
class LowerBound:
    """A kernel for which every map without access to data fails.

    Attributes
    ----------
    n_bits : int
        The objects are the integers from 0 to 2^n_bits - 1.
    inside : array of int
        The few that occur: the distribution is uniform on them.
    labels : array of int
        Their labels, +1 or -1.
    alpha : float
        Added to the diagonal, so that the kernel is positive definite.
    """

    n_bits: int
    inside: np.ndarray
    labels: np.ndarray
    alpha: float

    @property
    def margin(self) -> float:
        """The margin of the separator (0, 1), sqrt(1 - alpha) sqrt(3) / 2; in the paper at least (1 - alpha) / 2."""
        return math.sqrt(1 - self.alpha) * math.sqrt(3) / 2

    def kernel(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return K(x, z) for two arrays of objects: use it as ``FromBlocks(problem.kernel)``."""
        values = (1 - self.alpha) * (self._directions(X) @ self._directions(Z).T)
        return values + self.alpha * (np.asarray(X).ravel()[:, None] == np.asarray(Z).ravel()[None, :])

    def anywhere(self, n: int, random_state: int | None = None) -> np.ndarray:
        """Return objects drawn uniformly from all integers, as by a map without access to data."""
        return generator(random_state).integers(2**self.n_bits, size=n)

    def _directions(self, X: np.ndarray) -> np.ndarray:
        """Return the three directions of Figure 1: 0 degrees outside, 120 or 240 inside, by the label."""
        X = np.asarray(X).ravel()
        place = np.searchsorted(self.inside, X) % len(self.inside)
        label = np.where(self.inside[place] == X, self.labels[place], 0)
        return np.stack([np.where(label == 0, 1.0, -0.5), label * math.sqrt(3) / 2], axis=1)


def lower_bound(n_bits: int = 20, alpha: float = 0.0, random_state: int | None = None) -> LowerBound:
    """Return the problem of Balcan, Blum and Vempala on which every map without access to data fails.

    A random subset of 2^(n_bits / 2) objects occurs, with random labels; three directions in the plane, 120 degrees
    apart, represent the objects outside the subset and the two classes inside. The classes are separable with margin
    sqrt(3)/2, yet objects chosen without data are, almost surely, all outside, and K(x, outside) = -1/2 says nothing
    about x. ("On Kernels, Margins, and Low-dimensional Mappings", section 5.)

    Parameters
    ----------
    n_bits : int
    alpha : float
        With alpha > 0 the kernel is positive definite.
    random_state : int, optional

    Returns
    -------
    LowerBound

    Examples
    --------
    >>> problem = lower_bound()
    >>> blind = problem.kernel(problem.inside, problem.anywhere(20))
    >>> len(np.unique(blind, axis=0))
    1
    >>> seeing = problem.kernel(problem.inside, problem.inside[:20])
    >>> len(np.unique(seeing, axis=0))
    2
    """
    rng = generator(random_state)
    inside = np.sort(rng.choice(2**n_bits, size=2 ** (n_bits // 2), replace=False))
    return LowerBound(n_bits, inside, rng.choice([-1, 1], size=len(inside)), alpha)


@dataclass(frozen=True)
class Atoms:
    """Orthonormal objects with random labels, one of them common and the others rare.

    Attributes
    ----------
    masses : array of float
        The probability of each atom.
    labels : array of int
        Their labels, +1 or -1.
    """

    masses: np.ndarray
    labels: np.ndarray

    def draw(self, n: int, random_state: int | np.random.Generator | None = None) -> np.ndarray:
        """Return n independent draws, as numbers of atoms."""
        return generator(random_state).choice(len(self.masses), size=n, p=self.masses)

    @staticmethod
    def kernel(X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return 1 for equal atoms and 0 for others: use it as ``FromBlocks(atoms.kernel)``."""
        return (np.asarray(X).ravel()[:, None] == np.asarray(Z).ravel()[None, :]).astype(np.float64)


def atoms(epsilon: float, gamma: float, random_state: int | None = None) -> Atoms:
    r"""Return a problem with margin gamma that is hard for landmarks.

    One atom has mass :math:`1 - 2\epsilon`, the other :math:`1/\gamma^2 - 1` share :math:`2\epsilon`. The separator
    :math:`\sum_j l_j e_j` has margin exactly :math:`\gamma`, and an atom that was never drawn as a landmark has no
    features at all.

    Parameters
    ----------
    epsilon, gamma : float
    random_state : int, optional

    Examples
    --------
    >>> problem = atoms(epsilon=0.1, gamma=0.2)
    >>> len(problem.masses), float(problem.masses[0])
    (25, 0.8)
    """
    rare = round(1 / gamma**2) - 1
    masses = np.concatenate([[1 - 2 * epsilon], np.full(rare, 2 * epsilon / rare)])
    return Atoms(masses, generator(random_state).choice([-1, 1], size=rare + 1))

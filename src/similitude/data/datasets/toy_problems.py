"""Toy problems of the literature: points for lectures, and problems of the theory whose distribution is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from similitude.data.datasets.real_data import GENERATED, Dataset
from similitude.support import brief, check_integer, check_share, generator


def beyond_two(n: int = 100, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Return numbers x with the label -1 where abs(x) < 2 and +1 elsewhere.

    No threshold on the line separates them; after the map to (x, x²) the line x² = 4 does. (Baros, "Kernel Methods",
    section 1.2. The lecture prints sign(x² - 5), which is wrong for 2 <= abs(x) < sqrt(5). It gives no range of x; here
    it is [-4, 4], so that both labels are equally probable.)

    Parameters
    ----------
    n : int
        Number of points, drawn uniformly.
    random_state : int, optional

    Examples
    --------
    >>> X, y = beyond_two()
    >>> X.shape, bool((y == np.where(X[:, 0] ** 2 >= 4, 1, -1)).all())
    ((100, 1), True)
    """
    X = generator(random_state).uniform(-4.0, 4.0, (check_integer("n", n), 1))
    return Dataset(
        X,
        np.where(np.abs(X[:, 0]) >= 2, 1, -1),
        "Numbers in [-4, 4]: is abs(x) at least 2? Not separable on the line, separable as (x, x²).",
        name="beyond_two",
        kind="vectors",
        source='S. Baros, "Kernel Methods", section 1.2',
        license=GENERATED,
    )


def rings(n: int = 200, n_features: int = 2, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Return points on two concentric rings, the inner with label -1 and the outer with label +1.

    No line separates them; in the space of squares and products, (x1², x1 x2, x2²), the plane x1² + x2² = 9/4 does.
    ("Lecture 6: Kernels", the opening example. Its figure gives no sizes; here the radii are drawn from [0.8, 1.2] and
    from [1.8, 2.2].) Planes through the origin do not separate them: both rings have the same directions.

    Parameters
    ----------
    n : int
        Number of points; half of them, rounded up, are on the outer ring.
    n_features : int
        2 for rings in the plane; more for shells.
    random_state : int, optional

    Examples
    --------
    >>> X, y = rings()
    >>> X.shape, bool((y == np.where((X**2).sum(axis=1) > 9 / 4, 1, -1)).all())
    ((200, 2), True)
    """
    check_integer("n_features", n_features, 2)
    rng = generator(random_state)
    labels = rng.permutation(np.where(np.arange(check_integer("n", n)) % 2 == 0, 1, -1))
    directions = rng.standard_normal((n, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = np.where(labels == 1, 2.0, 1.0) + rng.uniform(-0.2, 0.2, size=n)
    return Dataset(
        radii[:, None] * directions,
        labels,
        "Points on two concentric rings: inner or outer? Not separable by a line, but by squares and products.",
        name="rings",
        kind="vectors",
        source='"Lecture 6: Kernels", the opening example',
        license=GENERATED,
    )


@dataclass(frozen=True)
class FewObjects:
    """A distribution on a few objects, so that every expectation can be computed exactly.

    The objects are the numbers 0, 1, 2, …; their similarities need be neither symmetric nor PSD.

    Attributes
    ----------
    masses : array of float
        The probability of each object.
    labels : array of int
        Their labels, +1 or -1.
    similarities : array
        The similarity K(x, x') of the object x (row) to the object x' (column).
    points : array, optional
        The objects as vectors, if K is their dot product.

    Examples
    --------
    >>> problem = figure_3_1()
    >>> drawn = problem.draw(4, random_state=0)
    >>> problem.labels[drawn], problem.kernel(drawn, drawn).shape
    (array([-1,  1,  1,  1]), (4, 4))
    """

    masses: np.ndarray
    labels: np.ndarray
    similarities: np.ndarray
    points: np.ndarray | None = None

    def draw(
        self, n: int, random_state: int | np.random.Generator | None = None, label: int | None = None
    ) -> np.ndarray:
        """Return n independent draws; with a `label`, from the objects with that label."""
        masses = self.masses if label is None else self._given(label)
        return generator(random_state).choice(len(masses), size=n, p=masses)

    def kernel(self, X: np.ndarray, Z: np.ndarray) -> np.ndarray:
        """Return K(x, z) for two arrays of objects: use it as ``FromBlocks(problem.kernel)``."""
        return self.similarities[np.ix_(np.asarray(X).ravel(), np.asarray(Z).ravel())]

    def gaps(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Return E[w(x')K(x, x') | same label] - E[w(x')K(x, x') | other label] of each object x.

        (Definition 3; without weights Definition 2.)
        """
        weighted = self.similarities * (1.0 if weights is None else np.asarray(weights))
        return self.labels * (weighted @ self._given(1) - weighted @ self._given(-1))

    def mean_similarity(self, own: int, other: int) -> float:
        """Return the mean of K(x, x') over x of the label `own` and x' of the label `other`."""
        return float(self._given(own) @ self.similarities @ self._given(other))

    @property
    def weak_gap(self) -> float:
        """E[K(x, x') | same label] - E[K(x, x') | different labels] for independent x and x' (Definition 5)."""
        pairs = np.outer(self.masses, self.masses) * self.similarities
        same = np.equal.outer(self.labels, self.labels)
        share = np.outer(self.masses, self.masses)[same].sum()
        return float(pairs[same].sum() / share - pairs[~same].sum() / (1 - share))

    @property
    def balanced_gap(self) -> float:
        """The same with equal weight for both classes, whatever their masses: (E++ + E--)/2 - (E+- + E-+)/2."""
        means = {(a, b): self.mean_similarity(a, b) for a in (1, -1) for b in (1, -1)}
        return (means[1, 1] + means[-1, -1] - means[1, -1] - means[-1, 1]) / 2

    def _given(self, label: int) -> np.ndarray:
        """Return the conditional masses of the objects given a label."""
        masses = np.where(self.labels == label, self.masses, 0.0)
        if not masses.any():
            raise ValueError(f"no object has the label {brief(label)}: the labels are +1 and -1")
        return masses / masses.sum()


def figure_3_1(positive: float = 0.5, left: float = 0.5) -> FewObjects:
    """Return three directions in the plane that a vote misclassifies although they are separable with margin 1/2.

    Positives are at 150 and at 30 degrees, negatives at -30, and K is the cosine. At 30 degrees an object is on average
    more similar to the negatives than to the positives; with the weights 0, 1 and 1/2 every object has the gap 1/4, and
    no weights give more. (Balcan and Blum, Figure 3.1. The text there says that Definition 2 fails for a share of 0.49;
    with equal classes it is 0.25.)

    Parameters
    ----------
    positive : float
        The mass of the positives.
    left : float
        The share of the positives at 150 degrees.

    Examples
    --------
    >>> problem = figure_3_1()
    >>> problem.gaps()
    array([ 1.25, -0.25,  1.25])
    >>> problem.gaps(weights=[0, 1, 0.5])
    array([0.25, 0.25, 0.25])
    """
    p = check_share("positive", positive)
    share = check_share("left", left)
    angles = np.radians([150.0, 30.0, -30.0])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    masses = np.array([p * share, p * (1 - share), 1 - p])
    return FewObjects(masses, np.array([1, 1, -1]), points @ points.T, points)


def two_points(right: float = 0.75) -> FewObjects:
    """Return two points on a line, x = 1 and x = -1, one for most of each class; K(x, x') = x x'.

    With the default, the Bayes error is 1/4, the mean similarity within a class is 1/4 and between classes -1/4, and
    the probabilistic rule of Theorem 8 errs with probability 3/8. (Balcan and Blum, footnote 7.) The objects are the
    positives at 1 and at -1, then the negatives at -1 and at 1.

    Parameters
    ----------
    right : float
        The share of each class at its own point.

    Examples
    --------
    >>> problem = two_points()
    >>> problem.mean_similarity(1, 1), problem.mean_similarity(1, -1), problem.weak_gap
    (0.25, -0.25, 0.5)
    """
    share = check_share("right", right)
    points = np.array([[1.0], [-1.0], [-1.0], [1.0]])
    masses = np.array([share, 1 - share, share, 1 - share]) / 2
    return FewObjects(masses, np.array([1, 1, -1, -1]), points @ points.T, points)


def unbalanced(
    positive: float = 0.9,
    among_positives: float = 0.063,
    between: float = 0.0,
    among_negatives: float = -1.0,
) -> FewObjects:
    """Return a problem of one kind of positives and one of negatives, where one class may be rare.

    With the defaults, similarities are larger within classes than between them by 0.05, as Theorem 8 of Balcan and Blum
    asks, yet its rule errs with probability 0.5108: nearly all pairs within a class are pairs of positives, and they
    hide how dissimilar the negatives are. With equal weight for both classes there is no gap at all.

    Parameters
    ----------
    positive : float
        The mass of the positives.
    among_positives, between, among_negatives : float
        The similarity of two positives, of a positive and a negative, and of two negatives.

    Examples
    --------
    >>> problem = unbalanced()
    >>> problem.weak_gap, problem.balanced_gap
    (0.05, -0.4685)
    """
    p = check_share("positive", positive)
    similarities = np.array([[among_positives, between], [between, among_negatives]], dtype=float)
    return FewObjects(np.array([p, 1 - p]), np.array([1, -1]), similarities)


def two_groups(
    n: int, least: float = 0.2, most: float = 0.2, random_state: int | np.random.Generator | None = None
) -> Dataset:
    """Return a similarity that is good but far from a kernel: it is random between the classes.

    The similarity of two positives, or of two negatives, is at least `least`; that of a positive and a negative is
    drawn from [-1, 1]. So every object is on average more similar to its own class, by `least`, but the matrix is
    nearly always indefinite. (Balcan and Blum, the example after Definition 2, with 0.2.) In a sample, the mean of n/2
    draws is not exactly 0: its standard deviation is sqrt(2 / (3 n)).

    Parameters
    ----------
    n : int
        Number of objects; half of them, rounded up, are positive.
    least, most : float
        The range of similarities within a class.
    random_state : int, optional

    Returns
    -------
    Dataset
        The objects are the similarities, an array of shape (n, n), symmetric with 1 on the diagonal: use it with
        ``"precomputed"`` or as ``Precomputed(K)``. The labels are +1 or -1, in random order.

    Examples
    --------
    >>> K, y = two_groups(20)
    >>> float(K[np.equal.outer(y, y)].min()), bool(np.linalg.eigvalsh(K)[0] < -1)
    (0.2, True)
    """
    if not -1 <= least <= most <= 1:
        raise ValueError(f"least and most must satisfy -1 <= least <= most <= 1, got {brief(least)} and {brief(most)}")
    rng = generator(random_state)
    labels = rng.permutation(np.where(np.arange(check_integer("n", n)) < math.ceil(n / 2), 1, -1))
    within = rng.uniform(least, most, (n, n))
    between = rng.uniform(-1.0, 1.0, (n, n))
    above = np.triu(np.where(np.equal.outer(labels, labels), within, between), k=1)
    return Dataset(
        above + above.T + np.eye(n),
        labels,
        f"Similarities from [{least}, {most}] within two classes and [-1, 1] between them: good, but not a kernel.",
        name="two_groups",
        kind="similarities",
        source='M.-F. Balcan, A. Blum (2006), "On a Theory of Learning with Similarity Functions", after Definition 2',
        license=GENERATED,
    )


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

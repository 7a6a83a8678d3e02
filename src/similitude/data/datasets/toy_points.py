"""Toy problems of lectures on kernels: points that become linearly separable in a feature space."""

from __future__ import annotations

import numpy as np

from similitude.data.datasets.dataset import GENERATED, Dataset
from similitude.support import check_integer, generator


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

"""The toy problems of the lectures on kernels: points that no line separates until they are mapped."""

from __future__ import annotations

import numpy as np

from similitude.data.datasets.dataset import GENERATED, Dataset, size
from similitude.support.errors import brief
from similitude.support.randomness import generator


def beyond_two(n: int = 100, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Return numbers x with the label -1 where abs(x) < 2 and +1 elsewhere.

    No threshold on the line separates them; in the plane, the map (x, x²) makes a line do: x² = 4. (Baros, "Kernel
    Methods", section 1.2. The lecture prints sign(x² - 5), which is wrong where 2 <= abs(x) < sqrt(5). It gives no
    range of x; here it is [-4, 4], so that both labels are equally probable.)

    Parameters
    ----------
    n : int
        How many numbers to draw, uniformly.
    random_state : int, optional

    Examples
    --------
    >>> X, y = beyond_two()
    >>> X.shape, bool((y == np.where(X[:, 0] ** 2 >= 4, 1, -1)).all())
    ((100, 1), True)
    """
    X = generator(random_state).uniform(-4.0, 4.0, (size(n), 1))
    return Dataset(
        X,
        np.where(np.abs(X[:, 0]) >= 2, 1, -1),
        "Numbers in [-4, 4]: is abs(x) at least 2? Not separable as they are; separable as (x, x²).",
        name="beyond_two",
        kind="vectors",
        source='S. Baros, "Kernel Methods", section 1.2',
        license=GENERATED,
    )


def rings(n: int = 200, n_features: int = 2, random_state: int | np.random.Generator | None = None) -> Dataset:
    """Return points of two concentric rings, the inner of label -1 and the outer of label +1.

    No line separates them; in the space of the squares and products, (x1², x1 x2, x2²), a plane does: x1² + x2² = 9/4.
    ("Lecture 6: Kernels", the opening example. Its figure gives no sizes; here the radii are drawn from [0.8, 1.2] and
    from [1.8, 2.2].) Planes through the origin do not do: they tell only directions, which both rings share.

    Parameters
    ----------
    n : int
        How many points; half of them are of the outer ring, the odd one too.
    n_features : int
        2 for rings of the plane; more for shells.
    random_state : int, optional

    Examples
    --------
    >>> X, y = rings()
    >>> X.shape, bool((y == np.where((X**2).sum(axis=1) > 9 / 4, 1, -1)).all())
    ((200, 2), True)
    """
    if n_features < 2:
        raise ValueError(f"n_features must be 2 or more, got {brief(n_features)}")
    rng = generator(random_state)
    labels = rng.permutation(np.where(np.arange(size(n)) % 2 == 0, 1, -1))
    directions = rng.standard_normal((n, n_features))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radii = np.where(labels == 1, 2.0, 1.0) + rng.uniform(-0.2, 0.2, size=n)
    return Dataset(
        radii[:, None] * directions,
        labels,
        "Points of two concentric rings: inner or outer? Not separable as they are; separable by squares and products.",
        name="rings",
        kind="vectors",
        source='"Lecture 6: Kernels", the opening example',
        license=GENERATED,
    )

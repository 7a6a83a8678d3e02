"""Squared norms and distances in the feature space of a kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, count, first_nonfinite, namespace
from similitude.support import PairError

DISTANCE_STRIP_CELLS = 2**16
DISTANCE_STRIP_ROWS = 8
"""Values of a strip of an array, so that it stays in the cache, and its fewest rows."""


def finite_diagonal(k: Any, A: Encoding) -> Any:
    """Return K(x, x) of encoded objects; an error names the first value that is not finite."""
    values = k.diagonal(A)
    if tuple(values.shape) != (count(A),):
        raise ValueError(f"{k!r} gave a diagonal of shape {tuple(values.shape)}, expected {(count(A),)}")
    bad = first_nonfinite(values)
    if bad is not None:
        (i,) = bad
        raise PairError(i, i, f"{k!r} is {float(values[bad])}, not a finite number")
    return values


def kernel_distance(K: Any, dx: Any, dz: Any, same: bool) -> Any:
    """Replace the matrix K by distances, in place and strip by strip; `same` if it is a Gram matrix."""
    xp = namespace(K)
    rounding = max(1e-12, 32 * float(xp.finfo(K.dtype).eps))
    # rows of a strip of a tensor
    height = 512
    if isinstance(K, np.ndarray):
        height = max(DISTANCE_STRIP_ROWS, DISTANCE_STRIP_CELLS // max(1, K.shape[1]))
    for start in range(0, K.shape[0], height):
        strip = slice(start, start + height)
        squares = dx[strip, None] + dz[None, :] - 2.0 * K[strip]
        if same:
            on_diagonal = np.arange(squares.shape[0])
            squares[on_diagonal, start + on_diagonal] = 0.0
        if (squares < 0).any():
            scale = abs(dx[strip])[:, None] + abs(dz)[None, :] + 2.0 * abs(K[strip])
            bad = np.argwhere(as_numpy(squares < -rounding * scale))
            if len(bad):
                i, j = (int(position) for position in bad[0])
                below = f"K(x, x) + K(z, z) - 2 K(x, z) = {float(squares[i, j]):.6g} < 0"
                raise PairError(start + i, j, f"{below}: K is not a kernel and gives no distance")
        K[strip] = xp.sqrt(xp.where(squares > 0, squares, xp.zeros_like(squares)))
    return K

"""Mean similarities between the examples of each two classes."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from similitude.compute import Encoding, count
from similitude.compute.engines import Engine
from similitude.similarity import SYMMETRIC, Similarity


def class_pair_means(k: Similarity, A: Encoding, members: np.ndarray, engine: Engine) -> tuple[np.ndarray, float]:
    r"""Return mean similarities of examples to other examples, and the largest magnitude of a similarity.

    `members` has a column per class, 1 for its examples. The mean is that of K(x, x') over x in the class of the row
    and another x' in that of the column, NaN within a class of one example; the largest \|K(x, x')\| includes x' = x.

    >>> from similitude.engines import LocalEngine
    >>> from similitude.kernels import Linear
    >>> A, members = np.array([[1.0], [3.0], [-2.0]]), np.array([[1, 0], [1, 0], [0, 1]])
    >>> class_pair_means(Linear(), A, members, LocalEngine())
    (array([[ 3., -4.],
           [-4., nan]]), 9.0)
    """
    members, symmetric = members.astype(np.float64), SYMMETRIC in k.claims
    to_class, own, largest = np.zeros(members.shape), np.zeros(count(members)), 0.0
    with closing(k.blocks(A, engine=engine).tiles()) as tiles:
        for (down, right), tile in tiles:
            values = np.asarray(tile)
            to_class[down] += values @ members[right]
            if symmetric and down != right:  # only half of a symmetric matrix is computed
                to_class[right] += values.T @ members[down]
            here = np.arange(max(down.start, right.start), min(down.stop, right.stop))
            own[here] = values[here - down.start, here - right.start]
            largest = max(largest, float(np.abs(values).max()))
    between = members.T @ (to_class - members * own[:, None])
    sizes = members.sum(axis=0)
    pairs = np.outer(sizes, sizes) - np.diag(sizes)
    with np.errstate(invalid="ignore"):
        return np.where(pairs > 0, between, np.nan) / np.where(pairs > 0, pairs, 1.0), largest

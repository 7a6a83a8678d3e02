"""A kernel within each cell of a partition of the space, and zero between cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, as_numpy
from similitude.kernels.vectors.pairwise import takes_vectors
from similitude.kernels.vectors.radial import as_array
from similitude.similarity import Similarity


class Partitioned(Similarity):
    r"""A kernel of vectors within each cell of a binary tree, and 0 for vectors of different cells.

    :math:`K(x, z) = \sum_c 1[x \in c]\, 1[z \in c]\, k(T_c^\top u, T_c^\top v)`, where u and v are x and z as k encodes
    them, that is under its metric. A model with this kernel consists of one model for each cell, so that many rows can
    be fitted exactly, and regions may differ.

    Parameters
    ----------
    k : Similarity
        A kernel of dense vectors, such as `Gaussian`.
    directions : array of shape (nodes, r)
        The nodes of a complete binary tree, in the order of a heap: the children of node i are 2 i + 1 and 2 i + 2. A
        vector goes to the second one if its dot product with the direction exceeds the threshold.
    thresholds : array of shape (nodes,)
        There is one cell more than there are nodes.
    metrics : array of shape (cells, r) or (cells, r, s), optional
        :math:`T_c`, a linear map for each cell: weights of the coordinates, or a matrix.

    Examples
    --------
    >>> from similitude.kernels import Gaussian, Partitioned
    >>> k = Partitioned(Gaussian(1.0), directions=[[1.0, 0.0]], thresholds=[0.5])
    >>> k.gram([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0]]).round(2)
    array([[1.  , 0.61, 0.  ],
           [0.61, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    >>> k.proven
    True
    """

    objects = "vectors"
    reason = (
        "a sum over the cells of 1[x in the cell] 1[z in the cell], a product of a function of x and the same of z, "
        "times a kernel of T'x and T'z"
    )

    def __init__(self, k: Similarity, directions: Any, thresholds: Any, metrics: Any = None) -> None:
        self.k = k
        self.directions = directions
        self.thresholds = thresholds
        self.metrics = metrics

    @property
    def claims(self) -> frozenset[str]:
        """The claims of the kernel within a cell."""
        return self.k.claims

    @property
    def hints(self) -> Hints:
        """Those of the kernel within a cell; objects of different cells need not be compared."""
        k = self.k.hints
        return Hints(finite=k.finite, heavy=k.heavy, threadsafe=k.threadsafe, cells=cell_numbers)

    @property
    def n_cells(self) -> int:
        """The number of cells."""
        return len(self.thresholds) + 1

    def check_params(self) -> None:
        """Validate the kernel and the shapes of the tree."""
        if not takes_vectors(self.k):
            raise TypeError(f"Partitioned takes a kernel of vectors such as Gaussian(), got {self.k!r}")
        self.k.check_params()
        directions = as_array(self.directions, "directions")
        thresholds = as_array(self.thresholds, "thresholds")
        if directions.ndim != 2 or thresholds.shape != (len(directions),):
            raise ValueError(
                "Partitioned takes directions of shape (nodes, coordinates) and thresholds of shape (nodes,), "
                f"got {directions.shape} and {thresholds.shape}"
            )
        if self.n_cells & (self.n_cells - 1):
            raise ValueError(f"a complete binary tree has 1, 3, 7, ... nodes, got {len(thresholds)}")
        if self.metrics is not None:
            shape = as_array(self.metrics, "metrics").shape
            expected = self.n_cells, directions.shape[1]
            if len(shape) not in (2, 3) or shape[:2] != expected:
                either = f"{expected} or ({expected[0]}, {expected[1]}, s)"
                raise ValueError(f"metrics must have shape {either}, got {shape}")

    def encode(self, objects: Any) -> Encoding:
        """Return the number of the cell, and after it the coordinates under the metrics of k and of the cell."""
        A = as_numpy(self.k.encode(objects))
        width = as_array(self.directions).shape[1]
        if A.shape[1] != width:
            raise ValueError(f"the directions have {width} coordinates, but the vectors have {A.shape[1]}")
        cells = self.cells(A)
        mapped = A
        if self.metrics is not None:
            T = as_array(self.metrics)
            mapped = np.empty((len(A), T.shape[-1]), A.dtype)
            for cell in np.unique(cells):
                some = A[cells == cell]
                mapped[cells == cell] = some * T[cell] if T.ndim == 2 else some @ T[cell].astype(A.dtype)
        return np.column_stack([cells.astype(A.dtype), mapped])

    def cells(self, A: np.ndarray) -> np.ndarray:
        """Return the number of the cell of each vector, given as k encodes it."""
        directions = as_array(self.directions)
        thresholds = as_array(self.thresholds)
        at = np.zeros(len(A), dtype=np.intp)
        for _ in range(self.n_cells.bit_length() - 1):
            at = 2 * at + 1 + (np.einsum("ij,ij->i", A, directions[at]) > thresholds[at])
        return at - len(thresholds)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the blocks of the kernel within cells, and zeros elsewhere."""
        values = np.zeros((len(A), len(B)), np.result_type(A, B))
        ours = cell_numbers(A)
        theirs = cell_numbers(B)
        for cell in np.intersect1d(ours, theirs):
            i = np.flatnonzero(ours == cell)
            j = np.flatnonzero(theirs == cell)
            values[np.ix_(i, j)] = self.k.block(coordinates(A, i), coordinates(B, j))
        return values

    def diagonal(self, A: Encoding) -> Any:
        """Return the diagonal of the kernel within a cell."""
        return self.k.diagonal(coordinates(A, slice(None)))

    def written_params(self) -> dict[str, str]:
        """Return the parameters as `repr` shows them: of the tree the number of cells."""
        return {"k": repr(self.k), "cells": f"<{self.n_cells}>"}


def cell_numbers(A: Encoding) -> np.ndarray:
    """Return the number of the cell of each encoded vector."""
    return np.asarray(A[:, 0]).astype(np.intp)


def coordinates(A: Encoding, which: Any) -> np.ndarray:
    """Return some encoded vectors without the numbers of their cells."""
    return np.ascontiguousarray(A[which, 1:])

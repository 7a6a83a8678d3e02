"""A similarity matrix as a linear operator on a device: products with it, without storing it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import torch

from similitude.compute.encodings import Encoding, as_numpy, count, is_tensor, itemsize, moved, nbytes, rows, tensor_in
from similitude.compute.engines.torch import fused
from similitude.compute.engines.torch.transfer import (
    DeviceCopier,
    check_divisible,
    free_for_halves,
    in_halves_if_needed,
    prefetched,
)
from similitude.compute.hints import Profile, Term, profile_of

MANY_OUTPUTS = 64
"""Outputs beyond which blocks of the matrix are stored: fused products compute it again for every few outputs."""

BLOCK_CELLS = {"cuda": 2**26, "cpu": 2**20}
"""Number of values of a block if the product is not fused."""


class FusedRows:
    """Products by fused kernels, with many outputs by blocks; rows that do not fit on the device stay halved."""

    def __init__(
        self,
        profile: Profile,
        x: dict[Term, fused.PreparedVectors],
        y: dict[Term, fused.PreparedVectors],
        precision: str,
        blockwise: BlockwiseRows,
    ):
        self.profile = profile
        self.x = x
        self.y = y
        self.precision = precision
        self.blockwise = blockwise
        self._halves: list[FusedRows] = []

    def times(self, V: torch.Tensor) -> torch.Tensor:
        """Return K V."""
        if V.shape[1] > MANY_OUTPUTS:
            return self.blockwise.times(V)
        total = self._sum(self.x, self.y, V)
        if total is None:
            return torch.cat([half.times(V) for half in self._halves])
        return total.to(V.dtype)

    def transposed_times(self, W: torch.Tensor) -> torch.Tensor:
        """Return K' W in float64; every similarity with a profile is symmetric."""
        if W.shape[1] > MANY_OUTPUTS:
            return self.blockwise.transposed_times(W)
        total = self._sum(self.y, self.x, W)
        if total is None:
            top, bottom = self._halves
            n = count(top.blockwise.a)
            return top.transposed_times(W[:n]) + bottom.transposed_times(W[n:])
        return total

    def _sum(
        self, x: dict[Term, fused.PreparedVectors], y: dict[Term, fused.PreparedVectors], V: torch.Tensor
    ) -> torch.Tensor | None:
        """Return the sum over the terms, or None where the rows were halved because it does not fit on the device."""
        if self._halves:
            return None
        n = count(self.blockwise.a)
        try:
            total = self.profile.constant * V.sum(0, dtype=torch.float64)
            for term in self.profile.terms:
                total = total + fused.times(x[term], y[term], V, self.precision)
            return total
        except torch.OutOfMemoryError as error:
            check_divisible(n, error)
        for vectors in self.x.values():
            vectors.forget()
        total = None
        free_for_halves(n)
        self._halves = [self._subset(slice(0, n // 2)), self._subset(slice(n // 2, n))]
        return None

    def _subset(self, which: slice) -> FusedRows:
        x = {term: vectors.subset(which) for term, vectors in self.x.items()}
        whole = self.blockwise
        blockwise = BlockwiseRows(whole.block, rows(whole.a, which), whole.b, whole.cells)
        return FusedRows(self.profile, x, self.y, self.precision, blockwise)


class BlockwiseRows:
    """Products block by block, for any similarity that works on tensors."""

    def __init__(
        self, block: Callable[[Encoding, Encoding], torch.Tensor], a: Encoding, b: Encoding, cells: int
    ) -> None:
        self.block = block
        self.a = a
        self.b = b
        self.cells = cells
        width = min(count(b), math.isqrt(cells))
        self._rows = _slices(count(a), max(1, cells // width))
        self._columns = _slices(count(b), width)

    def times(self, V: torch.Tensor) -> torch.Tensor:
        """Return K V."""
        parts = []
        for down in self._rows:
            total = torch.zeros(down.stop - down.start, V.shape[1], device=V.device, dtype=torch.float64)
            for right in self._columns:
                total += self.block(rows(self.a, down), rows(self.b, right)) @ V[right]
            parts.append(total.to(V.dtype))
        return torch.cat(parts)

    def transposed_times(self, W: torch.Tensor) -> torch.Tensor:
        """Return K' W in float64."""
        total = torch.zeros(count(self.b), W.shape[1], device=W.device, dtype=torch.float64)
        for down in self._rows:
            for right in self._columns:
                total[right] += self.block(rows(self.a, down), rows(self.b, right)).T @ W[down]
        return total


class StoredRows:
    """Products with a stored matrix."""

    def __init__(self, K: torch.Tensor) -> None:
        self.K = K

    def times(self, V: torch.Tensor) -> torch.Tensor:
        """Return K V."""
        return self.K @ V

    def transposed_times(self, W: torch.Tensor) -> torch.Tensor:
        """Return K' W in float64."""
        total = torch.zeros(self.K.shape[1], W.shape[1], device=W.device, dtype=torch.float64)
        for down in _slices(len(self.K), 2**13):  # which are added up in the precision of the matrix
            total += self.K[down].T @ W[down]
        return total


RowsOperator = FusedRows | BlockwiseRows | StoredRows
"""The similarities of some rows to all columns, as an operator."""


def _slices(n: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


class KernelOperator:
    """The matrix K(a_i, b_j) of a resolved similarity as a linear operator; rows that do not fit are streamed."""

    def __init__(self, engine: Any, similarity: Any, A: Encoding, B: Encoding) -> None:
        self.engine = engine
        self.similarity = similarity
        self.A = A
        self.move = DeviceCopier(engine.torch_device)
        self.shape = count(A), count(B)
        self.dtype = torch.float32 if itemsize(A) == itemsize(B) == 4 else torch.float64
        self.b = self._to_device(B)
        self.a: Encoding = None
        self.profile = profile_of(similarity)
        self.fused = fused.can_fuse(self.profile, engine.torch_device, self.dtype)

    @property
    def method(self) -> str:
        """How products are computed: ``stored``, ``blocks``, or the method of each fused term."""
        if isinstance(self._resident, StoredRows):
            return "stored"
        if not self.fused:
            return "blocks"
        first: Any = next(self.pieces())[1]
        terms = self.profile.terms
        return ", ".join([fused.method_of(first.x[term], first.y[term], self.engine.precision) for term in terms])

    def _to_device(self, encoding: Encoding) -> Encoding:
        """Return an encoding on the device, with floating point numbers in the precision common to both sides."""

        def move(array: Any) -> torch.Tensor:
            tensor = self.move(array)
            return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

        return moved(encoding, move)

    def product(self, v: Any, transposed: bool = False) -> Any:
        """Return K v or K' v: a tensor if A is one, else an array of float64; a vector for a vector."""
        expected = self.shape[not transposed]
        if len(v) != expected:
            raise ValueError(f"the vector has {len(v)} rows, the matrix of shape {self.shape} needs {expected}")
        V = self._to_device(v if is_tensor(v) else np.asarray(v, dtype=np.float64)).to(self.dtype)
        product = self.transposed_times if transposed else self.times
        result = product(V.reshape(expected, -1))
        if not bool(torch.isfinite(result).all()):
            i = int(torch.nonzero(~torch.isfinite(result))[0, 0])
            raise ValueError(f"row {i} of the product is not finite: {self.similarity!r} overflows in {self.dtype}")
        result = result.reshape(len(result), *v.shape[1:])
        if tensor_in(self.A) is not None:
            return result.to(self.dtype)
        return as_numpy(result.to(torch.float64))

    def store_if_faster(self) -> None:
        """Compute and store the matrix for many products, if it fits and fused products would cost more."""
        n, m = self.shape
        # up to 128 features a fused product costs less than reading the stored matrix from memory
        narrow = self.fused and all(_vectors(self.b, term).shape[1] <= 128 for term in self.profile.terms)
        fits = n * m * self.dtype.itemsize <= 0.3 * self.engine.budget
        if narrow or not fits or self._resident is None:
            return
        device = self.engine.torch_device
        K = torch.empty(n, m, dtype=self.dtype, device=device)
        for down in _slices(n, max(1, BLOCK_CELLS[device.type] // m)):
            K[down] = self._block(rows(self.a, down), self.b)
        self._resident = StoredRows(K)

    def times(self, V: torch.Tensor) -> torch.Tensor:
        """Return K V for V of shape (columns, outputs)."""
        return torch.cat([piece.times(V) for _, piece in self.pieces()])

    def transposed_times(self, W: torch.Tensor) -> torch.Tensor:
        """Return K' W for W of shape (rows, outputs), in float64."""
        total = torch.zeros(self.shape[1], W.shape[1], device=W.device, dtype=torch.float64)
        for which, piece in self.pieces():
            total += piece.transposed_times(W[which])
        return total

    def normal(self, V: torch.Tensor, weights: torch.Tensor, shift: Any = 0.0) -> tuple[torch.Tensor, torch.Tensor]:
        """Return K' S (K V - shift) and the column sums of S (K V - shift) in one pass over the rows, in float64."""
        total = torch.zeros(self.shape[1], V.shape[1], device=V.device, dtype=torch.float64)
        sums = torch.zeros(V.shape[1], device=V.device, dtype=torch.float64)
        for which, piece in self.pieces():
            U = (piece.times(V) - shift) * weights[which, None]
            sums += U.sum(0, dtype=torch.float64)
            total += piece.transposed_times(U)
        return total, sums

    def pieces(self) -> Iterator[tuple[slice, RowsOperator]]:
        """Yield the rows in pieces with their positions; a single piece if all rows fit on the device."""
        if self._resident is not None:
            yield slice(0, self.shape[0]), self._resident
            return
        on_device = prefetched(lambda cut: self._to_device(rows(self.A, cut)), self.cuts)
        for cut, a in zip(self.cuts, on_device, strict=True):
            yield cut, self._rows_operator(a)

    @property
    def cuts(self) -> list[slice]:
        """The pieces of the rows if they are streamed."""
        size = max(1, nbytes(self.A) // self.shape[0])
        return _slices(self.shape[0], max(1, int(0.05 * self.engine.budget) // (4 * size)))

    @property
    def _known(self) -> Encoding:
        """The rows, on the device if they are there."""
        return self.A if self._resident is None else self.a

    def subset(self, which: np.ndarray) -> KernelOperator:
        """Return the operator of some of the rows."""
        return KernelOperator(self.engine, self.similarity, rows(self._known, which), self.b)

    def to_columns(self, which: np.ndarray) -> KernelOperator:
        """Return the operator of some of the columns."""
        return KernelOperator(self.engine, self.similarity, self._known, rows(self.b, which))

    @cached_property
    def _resident(self) -> RowsOperator | None:
        """The operator of all rows if they fit on the device."""
        is_there = tensor_in(self.A) is not None
        if not is_there and 4 * nbytes(self.A) > 0.4 * self.engine.budget:  # with what is derived from them
            return None
        try:
            self.a = self._to_device(self.A)
            return self._rows_operator(self.a)
        except torch.OutOfMemoryError:
            if is_there:
                raise
            self.a = None
        torch.cuda.empty_cache()
        warnings.warn(f"{self.shape[0]:,} rows did not fit on the device: they are streamed in pieces", stacklevel=2)
        return None

    def _rows_operator(self, a: Encoding) -> RowsOperator:
        cells = min(BLOCK_CELLS[self.engine.torch_device.type], max(1, self.engine.budget // 64))
        blockwise = BlockwiseRows(self._block, a, self.b, cells)
        if not self.fused:
            return blockwise
        parts = {term: _vectors(a, term) for term in self.profile.terms}
        x = {term: fused.PreparedVectors(X, term, self._columns[term].center) for term, X in parts.items()}
        return FusedRows(self.profile, x, self._columns, self.engine.precision, blockwise)

    @cached_property
    def _columns(self) -> dict[Term, fused.PreparedVectors]:
        parts = {term: _vectors(self.b, term) for term in self.profile.terms}
        return {term: fused.PreparedVectors(Y, term, fused.robust_mean(Y)) for term, Y in parts.items()}

    def _block(self, a: Encoding, b: Encoding) -> torch.Tensor:
        with self.engine.matmul_precision():
            return in_halves_if_needed(self.similarity.block, torch.cat, a, b)


def _vectors(encoding: Encoding, term: Term) -> torch.Tensor:
    found: torch.Tensor = encoding if term.part is None else encoding[term.part]
    return found.contiguous()

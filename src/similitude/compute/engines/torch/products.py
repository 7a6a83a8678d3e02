"""A matrix of similarities as an operator on a device: products with it, and nothing stored but its objects."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch

from similitude.compute.encodings import Encoding, count, is_tensor, itemsize, moved, rows, tensor_in
from similitude.compute.engines.torch import fused
from similitude.compute.engines.torch.transfer import Mover, ahead, back, nbytes
from similitude.compute.hints import Profile, Term, profile_of

RESIDENT = 0.4
"""The part of the memory budget up to which all rows stay on the device, beside what they are made into."""

STREAMED = 0.05
"""The part of the memory budget that one piece of the rows takes where they do not."""

STORED = 0.3
"""The part of the memory budget up to which the matrix is kept, where many products with it are to come."""

NARROW = 128
"""Features up to which a fused product costs less than reading the matrix from memory."""

SUMMED = 2**13
"""Rows of a stored matrix that are added up in its own precision."""

CELLS = {"cuda": 2**26, "cpu": 2**20}
"""Values of a block where the product is not fused."""


class Piece(Protocol):
    """The similarities of some rows to all columns."""

    def times(self, V: torch.Tensor) -> torch.Tensor:
        """Return K V."""

    def transposed_times(self, W: torch.Tensor) -> torch.Tensor:
        """Return K' W in float64."""


class Fused:
    """A piece of a described similarity, by fused products; where one does not fit on the device, in halves."""

    def __init__(self, profile: Profile, x: dict[Term, fused.Rows], y: dict[Term, fused.Rows], way: str):
        self.profile, self.x, self.y, self.precision = profile, x, y, way
        self._halves: tuple[Fused, Fused] | None = None

    def __len__(self) -> int:
        return len(next(iter(self.x.values())).X)

    def times(self, V: torch.Tensor) -> torch.Tensor:
        """Return K V."""
        if self._halves is None:
            try:
                return self._sum(self.x, self.y, V).to(V.dtype)
            except torch.OutOfMemoryError as error:
                self._halves = self._halved(error)
        return torch.cat([half.times(V) for half in self._halves])

    def transposed_times(self, W: torch.Tensor) -> torch.Tensor:
        """Return K' W in float64; every described similarity is symmetric."""
        if self._halves is None:
            try:
                return self._sum(self.y, self.x, W)
            except torch.OutOfMemoryError as error:
                self._halves = self._halved(error)
        top, bottom = self._halves
        return top.transposed_times(W[: len(top)]) + bottom.transposed_times(W[len(top) :])

    def _halved(self, error: Exception) -> tuple[Fused, Fused]:
        """Return both halves of the rows, which serve from now on; it is said."""
        n = len(self)
        if n < 2:
            raise MemoryError(f"one row does not fit on the device: use fewer landmarks ({error})") from error
        for rows_ in self.x.values():
            rows_.forget()
        torch.cuda.empty_cache()
        warnings.warn(too_large(n), stacklevel=2)
        cuts = slice(0, n // 2), slice(n // 2, n)
        parts = [{term: x.only(cut) for term, x in self.x.items()} for cut in cuts]
        top, bottom = (Fused(self.profile, part, self.y, self.precision) for part in parts)
        return top, bottom

    def _sum(self, x: dict[Term, fused.Rows], y: dict[Term, fused.Rows], V: torch.Tensor) -> torch.Tensor:
        first = next(iter(x.values()))
        total = torch.zeros(len(first.X), V.shape[1], device=V.device, dtype=torch.float64)
        for term in self.profile.terms:
            total += fused.times(x[term], y[term], V, self.precision)
        return total + self.profile.constant * V.sum(0, dtype=torch.float64) if self.profile.constant else total


@dataclass
class Blockwise:
    """A piece of any similarity that works on tensors, block after block."""

    block: Callable[[Encoding, Encoding], torch.Tensor]
    a: Encoding
    b: Encoding
    cells: int

    def times(self, V: torch.Tensor) -> torch.Tensor:
        """Return K V."""
        return torch.cat([self._row(part, V) for part in _pieces(count(self.a), self._height())])

    def transposed_times(self, W: torch.Tensor) -> torch.Tensor:
        """Return K' W in float64."""
        total = torch.zeros(count(self.b), W.shape[1], device=W.device, dtype=torch.float64)
        for down in _pieces(count(self.a), self._height()):
            for right in self._columns():
                total[right] += self._values(down, right).T @ W[down]
        return total

    def _row(self, down: slice, V: torch.Tensor) -> torch.Tensor:
        total = torch.zeros(down.stop - down.start, V.shape[1], device=V.device, dtype=torch.float64)
        for right in self._columns():
            total += self._values(down, right) @ V[right]
        return total.to(V.dtype)

    def _values(self, down: slice, right: slice) -> torch.Tensor:
        return self.block(rows(self.a, down), rows(self.b, right))

    def _columns(self) -> list[slice]:
        return _pieces(count(self.b), min(count(self.b), math.isqrt(self.cells)))

    def _height(self) -> int:
        return max(1, self.cells // min(count(self.b), math.isqrt(self.cells)))


@dataclass
class Stored:
    """A piece whose similarities are kept."""

    K: torch.Tensor

    def times(self, V: torch.Tensor) -> torch.Tensor:
        """Return K V."""
        return self.K @ V

    def transposed_times(self, W: torch.Tensor) -> torch.Tensor:
        """Return K' W in float64."""
        total = torch.zeros(self.K.shape[1], W.shape[1], device=W.device, dtype=torch.float64)
        for down in _pieces(len(self.K), SUMMED):
            total += self.K[down].T @ W[down]
        return total


def _pieces(n: int, step: int) -> list[slice]:
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


class Product:
    """The matrix K(a_i, b_j), to be multiplied with.

    Rows that fit stay on the device; others come piece by piece, the next one while this one is worked on.

    Parameters
    ----------
    engine : TorchEngine
    similarity : Similarity
        Resolved; its blocks work on tensors.
    A, B : encoding
        Arrays or tensors; B stays on the device.
    """

    def __init__(self, engine: Any, similarity: Any, A: Encoding, B: Encoding) -> None:
        self.engine, self.similarity, self.A = engine, similarity, A
        self.move = Mover(engine.place)
        self.shape = count(A), count(B)
        self.dtype = torch.float32 if itemsize(A) == itemsize(B) == 4 else torch.float64
        self.b = self._here(B)
        self.a: Encoding = None
        self.profile = profile_of(similarity)
        self.fused = fused.can_fuse(self.profile, engine.place, self.dtype)

    @property
    def way(self) -> str:
        """How values are computed: by which fused products, or in blocks."""
        if isinstance(self._resident, Stored):
            return "stored"
        if not self.fused:
            return "blocks"
        first = next(self.pieces())[1]
        return ", ".join(
            fused.way_of(first.x[term], first.y[term], self.engine.precision)  # type: ignore[attr-defined]
            for term in self.profile.terms
        )

    def _here(self, encoding: Encoding) -> Encoding:
        """Return an encoding on the device, its floats in the one precision of both sides."""

        def move(array: Any) -> torch.Tensor:
            tensor = self.move(array)
            return tensor.to(self.dtype) if tensor.is_floating_point() else tensor

        return moved(encoding, move)

    def applied(self, v: Any, transposed: bool) -> Any:
        """Return K v or K' v: a tensor where A is one, else an array of float64; a vector for a vector."""
        expected = self.shape[0 if transposed else 1]
        if len(v) != expected:
            raise ValueError(f"the vector has {len(v)} rows, the matrix of shape {self.shape} needs {expected}")
        V = self._here(v if is_tensor(v) else np.asarray(v, dtype=np.float64)).to(self.dtype)
        result = (self.transposed_times if transposed else self.times)(V.reshape(expected, -1))
        if not bool(torch.isfinite(result).all()):
            i = int(torch.nonzero(~torch.isfinite(result))[0, 0])
            raise ValueError(
                f"row {i} of the product is no finite number: {self.similarity!r} overflows in {self.dtype}"
            )
        result = result.reshape(len(result), *v.shape[1:])
        return result.to(self.dtype) if tensor_in(self.A) is not None else back(result.to(torch.float64))

    def keep(self) -> None:
        """Compute the matrix once for many products, where it fits and a fused product would cost more."""
        n, m = self.shape
        narrow = self.fused and all(_vectors(self.b, term).shape[1] <= NARROW for term in self.profile.terms)
        fits = n * m * self.dtype.itemsize <= STORED * self.engine.budget
        if narrow or not fits or self._resident is None:
            return
        K = torch.empty(n, m, dtype=self.dtype, device=self.engine.place)
        for down in _pieces(n, max(1, CELLS[self.engine.place.type] // m)):
            K[down] = self._checked_block(rows(self.a, down), self.b)
        self._resident = Stored(K)

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

    def pieces(self) -> Iterator[tuple[slice, Piece]]:
        """Yield the rows in pieces, each with its place; a single one where all fit."""
        if self._resident is not None:
            yield slice(0, self.shape[0]), self._resident
            return
        made = ahead(lambda cut: self._here(rows(self.A, cut)), self.cuts)
        for cut, a in zip(self.cuts, made, strict=True):
            yield cut, self._piece(a)

    @property
    def cuts(self) -> list[slice]:
        """Where the rows are cut if they do not stay on the device."""
        size = max(1, nbytes(self.A) // self.shape[0])
        return _pieces(self.shape[0], max(1, int(STREAMED * self.engine.budget) // (4 * size)))

    def only(self, which: np.ndarray) -> Product:
        """Return the matrix of some of the rows, which need no second journey to the device."""
        known = self.A if self._resident is None else self.a
        return Product(self.engine, self.similarity, rows(known, which), self.b)

    @cached_property
    def _resident(self) -> Piece | None:
        here = tensor_in(self.A) is not None
        if not here and 4 * nbytes(self.A) > RESIDENT * self.engine.budget:
            return None
        try:
            self.a = self._here(self.A)
            return self._piece(self.a)
        except torch.OutOfMemoryError:
            if here:
                raise
            self.a = None
        torch.cuda.empty_cache()
        warnings.warn(f"{self.shape[0]:,} rows did not fit on the device: they come piece by piece", stacklevel=2)
        return None

    def _piece(self, a: Encoding) -> Piece:
        if not self.fused:
            cells = min(CELLS[self.engine.place.type], max(1, self.engine.budget // 64))
            return Blockwise(self._checked_block, a, self.b, cells)
        parts = {term: _vectors(a, term) for term in self.profile.terms}
        ready = {term: fused.Rows(X, term, self._columns[term].center) for term, X in parts.items()}
        return Fused(self.profile, ready, self._columns, self.engine.precision)

    @cached_property
    def _columns(self) -> dict[Term, fused.Rows]:
        parts = {term: _vectors(self.b, term) for term in self.profile.terms}
        return {term: fused.Rows(Y, term, fused.middle(Y)) for term, Y in parts.items()}

    def _checked_block(self, a: Encoding, b: Encoding) -> torch.Tensor:
        """Return a block; where it does not fit on the device, in halves, which is said once."""
        with self.engine.products():
            try:
                return self.similarity.block(a, b)
            except torch.OutOfMemoryError as error:
                if count(a) < 2:
                    raise MemoryError(f"one row does not fit on {self.engine.device}: {error}") from error
        torch.cuda.empty_cache()
        warnings.warn(too_large(count(a)), stacklevel=2)
        half = count(a) // 2
        return torch.cat([self._checked_block(rows(a, part), b) for part in (slice(0, half), slice(half, None))])


def _vectors(encoding: Encoding, term: Term) -> torch.Tensor:
    found: torch.Tensor = encoding if term.part is None else encoding[term.part]
    return found.contiguous()


def too_large(n: int) -> str:
    """Say that a tile was too large for the device."""
    return f"a tile of {n:,} rows did not fit on the device: it was computed in halves; smaller memory= avoids the try"

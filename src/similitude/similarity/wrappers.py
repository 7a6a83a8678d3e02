"""Similarities that change another one beyond its values: normalized, symmetrized, pulled back."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.compute import Encoding, as_numpy, namespace, profile_of
from similitude.similarity.algebra import Claims, hints_of_parts, in_brackets
from similitude.similarity.claims import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL
from similitude.similarity.contract import Similarity, image
from similitude.support import PairError, UnresolvedError, check_flag


class Wrapped(Similarity):
    """A similarity with a single part, whose objects it takes."""

    def __init__(self, k: Similarity) -> None:
        self.k = k

    @property
    def objects(self) -> str:
        """The kind of objects that the part takes."""
        return self.k.objects


class Normalized(Wrapped):
    """K(x, z) / sqrt(K(x, x) K(z, z)), and 0 for an object with K(x, x) = 0."""

    reason = "a kernel stays one when normalized: its features, scaled to length 1"
    hints = hints_of_parts()

    @property
    def claims(self) -> Claims:
        """Symmetry and PSD of the part, and the range if it is PSD; an object of norm zero has no unit diagonal."""
        kept = self.k.claims & {SYMMETRIC, PSD, UNIT_DIAGONAL}
        return kept | {BOUNDED} if PSD in kept else kept

    def encode(self, objects: Any) -> Encoding:
        """Return the encoding of the part, and 1 / sqrt(K(x, x)) per object."""
        encoded = self.k.encode(objects)
        diagonal = self.k.diagonal(encoded)
        for i, value in enumerate(diagonal.tolist()):
            if not value >= 0:
                raise ValueError(f"object {i}: K(x, x) = {value:.6g} < 0, so {self.k!r} cannot be normalized")
        xp = namespace(diagonal)
        ones = xp.ones_like(diagonal)
        return encoded, xp.where(diagonal > 0, ones / xp.sqrt(xp.where(diagonal > 0, diagonal, ones)), 0 * ones)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the block of the part, scaled from both sides."""
        (a, left), (b, right) = A, B
        values = self.k.block(a, b)
        if PSD not in self.k.claims:  # then K(x, z) may be other than 0 where K(x, x) is 0
            bad = np.argwhere(as_numpy(((left == 0)[:, None] | (right == 0)) & (values != 0)))
            for i, j in bad[:1].tolist():
                which = f"K(x, z) = {float(values[i, j]):.6g} cannot be normalized, for K(x, x) or K(z, z) is 0"
                raise PairError(i, j, which)
        return values * left[:, None] * right[None, :]

    def diagonal(self, A: Encoding) -> Any:
        """Return 1, or 0 where K(x, x) = 0."""
        scale = A[1]
        xp = namespace(scale)
        return xp.where(scale > 0, xp.ones_like(scale), xp.zeros_like(scale))

    def __repr__(self) -> str:
        return f"{in_brackets(self.k)}.normalized()"


class Learnable(Wrapped):
    """A similarity whose metric or weights are to be learned from labels; it has no values before that."""

    reason = "a metric or weights >= 0, whatever labels say, leave a kernel of the same family"
    hints = hints_of_parts()

    @property
    def claims(self) -> Claims:
        """Symmetry and PSD of the part, which learning preserves."""
        return self.k.claims & {SYMMETRIC, PSD}

    def unresolved(self) -> list[str]:
        """Return the name of the part, which is to be learned."""
        return ["k"]

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Refuse: objects without labels teach nothing."""
        raise self._unlearned()

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Refuse: nothing was learned yet."""
        raise self._unlearned()

    def _unlearned(self) -> UnresolvedError:
        return UnresolvedError(
            f"{self!r} is to be learned from labels: use learn_kernel({self.k!r}, X, y).similarity, or give it to "
            f"SimilarityClassifier, SimilarityRegressor or choose_kernel"
        )

    def __repr__(self) -> str:
        return f"{in_brackets(self.k)}.learned()"


class Symmetrized(Wrapped):
    """The symmetric part (K(x, z) + K(z, x)) / 2."""

    hints = hints_of_parts()

    @property
    def claims(self) -> Claims:
        """Symmetry, range and diagonal; PSD only if the part is symmetric."""
        if SYMMETRIC in self.k.claims:
            return self.k.claims
        return self.k.claims - {PSD} | {SYMMETRIC}

    @property
    def reason(self) -> str:
        """The rule for this part."""
        if SYMMETRIC in self.k.claims:
            return "a symmetric function is its own symmetric part"
        return "the symmetric part of an asymmetric similarity need not be a kernel"

    def encode(self, objects: Any) -> Encoding:
        """Return the encoding of the part."""
        return self.k.encode(objects)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the mean of the block and of the transposed block of the other order."""
        there = self.k.block(A, B)
        return (there + (there if A is B else self.k.block(B, A)).T) / 2

    def diagonal(self, A: Encoding) -> Any:
        """Return the diagonal of the part."""
        return self.k.diagonal(A)

    def __repr__(self) -> str:
        return f"{in_brackets(self.k)}.symmetrized()"


class OfImages(Wrapped):
    """K(f(x), f(z)): the similarity of the images of the objects under a function; a subclass writes `_images`."""

    @property
    def claims(self) -> Claims:
        """The claims of the part."""
        return self.k.claims

    @abstractmethod
    def _images(self, X: Any) -> Any: ...

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Resolve the part on the images of X."""
        if not self.k.unresolved():
            return self
        return self.with_params(k=self.k.resolve(self._images(X), random_state, sample_weight))

    def encode(self, objects: Any) -> Encoding:
        """Encode the images of the objects."""
        return self.k.encode(self._images(objects))

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the block of the part."""
        return self.k.block(A, B)

    def diagonal(self, A: Encoding) -> Any:
        """Return the diagonal of the part."""
        return self.k.diagonal(A)


class Pullback(OfImages):
    """K(f(x), f(z)): the similarity of the images of the objects under a function."""

    objects = "any"

    def __init__(self, k: Similarity, f: Callable[[Any], Any], batched: bool = False) -> None:
        self.k = k
        self.f = f
        self.batched = batched

    reason = "a kernel of f(x) and f(z) is a kernel of x and z: its features are phi(f(x))"
    hints = hints_of_parts(lambda self: profile_of(self.k))

    def check_params(self) -> None:
        """Validate `f` and the part."""
        if not callable(self.f):
            raise TypeError(f"pullback takes a function of one object, got {type(self.f).__name__}")
        check_flag("batched", self.batched)
        super().check_params()

    def _images(self, X: Any) -> Any:
        return image(self.f, X, self.batched)

    def __repr__(self) -> str:
        name = getattr(self.f, "__qualname__", repr(self.f))
        return f"{in_brackets(self.k)}.pullback({name}{', batched=True' if self.batched else ''})"

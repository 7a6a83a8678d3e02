"""SideBySide: the dot product of similarities to landmarks under several similarities, as one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from similitude.compute import Encoding, is_sparse, itemsize, namespace
from similitude.similarity import PSD, SYMMETRIC, Hints, Similarity
from similitude.support import UnresolvedError, brief, is_number


class SideBySide(Similarity):
    r"""The dot product of similarities to landmarks under several similarities.

    .. math:: K(x, z) = \sum_k \frac{1}{u_k^2} \sum_j K_k(x, l_j)\, K_k(z, l_j)

    The similarities may be any functions. If some convex combination of them is :math:`(\epsilon, \gamma)`-good, then
    the features of enough landmarks have with high probability a separator of error at most :math:`\epsilon + \delta`
    at margin :math:`\gamma / (4 \sqrt{n})`, where n is the number of similarities; the combination need not be known.
    (Balcan and Blum, "On a Theory of Learning with Similarity Functions", Theorem 3.) Each object takes
    one evaluation of each similarity for each landmark.

    Parameters
    ----------
    similarities : sequence of Similarity
        With data-dependent parameters resolved.
    landmarks : sequence of objects
        The :math:`l_j`.
    units : sequence of float
        The :math:`u_k` by which the similarities are divided.

    Examples
    --------
    >>> from similitude.kernels import Linear
    >>> from similitude.selection import SideBySide
    >>> SideBySide((Linear(), 2.0 * Linear()), landmarks=[[1., 0.], [1., 1.]], units=(1.0, 2.0))([1., 0.], [0., 1.])
    2.0
    """

    claims = frozenset({SYMMETRIC, PSD})
    reason = "the dot product of explicit features: the similarities to landmarks under several similarities"
    hints = Hints()

    def __init__(self, similarities: Sequence[Similarity], landmarks: Any, units: Sequence[float]) -> None:
        self.similarities = similarities
        self.landmarks = landmarks
        self.units = units

    @property
    def objects(self) -> str:  # type: ignore[override]
        """The kind of objects that all of them take."""
        return next((k.objects for k in self.similarities if k.objects != "any"), "any")

    def parts(self) -> tuple[Similarity, ...]:
        """Return the similarities."""
        return tuple(self.similarities)

    def premises(self) -> tuple[Similarity, ...]:
        """Return nothing: it is a kernel for any similarities."""
        return ()

    def check_params(self) -> None:
        """Validate that the similarities are resolved, and that there is a positive unit for each."""
        for name in ("similarities", "units"):
            if not isinstance(getattr(self, name), (Sequence, np.ndarray)):
                raise TypeError(f"{name} must be a sequence, got {brief(getattr(self, name))}")
        if not self.similarities or not all(isinstance(k, Similarity) for k in self.similarities):
            raise TypeError(f"similarities must be one or more similarities, got {brief(self.similarities)}")
        super().check_params()
        for k in self.similarities:
            if k.unresolved():
                raise UnresolvedError(f"{', '.join(k.unresolved())} of {k!r} depends on data: use k.resolve(X)")
        if len(self.units) != len(self.similarities) or not all(is_number(u) and u > 0 for u in self.units):
            raise ValueError(f"units must be {len(self.similarities)} numbers > 0, got {brief(self.units)}")

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Return itself: nothing depends on data."""
        return self

    def encode(self, objects: Any) -> Encoding:
        """Return the features: similarities to the landmarks, divided by the units."""
        made = []
        for k, L, unit in zip(self.similarities, self._encoded_landmarks, self.units, strict=True):
            A = k.encode(objects)
            made.append(k.blocks(A, _like(L, A)).whole() / float(unit))
        xp = namespace(made[0])
        if xp is not np:
            return xp.concat(made, axis=1)
        return np.concatenate(made, axis=1, dtype=np.float32 if itemsize(objects) == 4 else np.float64)

    @cached_property
    def _encoded_landmarks(self) -> list[Encoding]:
        return [k.encode_checked(self.landmarks, "landmarks") for k in self.similarities]

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the dot products of features."""
        return A @ B.T

    def diagonal(self, A: Encoding) -> Any:
        """Return the squared lengths of features."""
        return (A * A).sum(1)

    def _set_param(self, name: str, value: Any) -> None:
        super()._set_param(name, value)
        self.__dict__.pop("_encoded_landmarks", None)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_encoded_landmarks"}

    def __repr__(self) -> str:
        n = self.landmarks.shape[0] if hasattr(self.landmarks, "shape") else len(self.landmarks)
        return f"SideBySide({', '.join(map(repr, self.similarities))}; {n} landmarks)"


def _like(L: Encoding, A: Encoding) -> Encoding:
    """Return encoded landmarks in the precision and array namespace of the encoded objects."""
    if isinstance(L, tuple):
        return tuple(_like(one, other) for one, other in zip(L, A, strict=True))
    if not (hasattr(L, "dtype") and hasattr(A, "dtype")) or L.dtype == A.dtype:
        return L
    if isinstance(A, np.ndarray) or is_sparse(A):
        return L.astype(A.dtype) if getattr(L.dtype, "kind", "") == "f" else L
    return namespace(A).asarray(L, dtype=A.dtype, device=A.device)

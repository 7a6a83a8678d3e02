"""The similarity contract: write ``block``, perhaps ``encode``, and everything else is given."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from typing import Any

import numpy as np

from similitude.compute.blocks import Blocks, check_fits, finite_block
from similitude.compute.encodings import (
    Encoding,
    as_objects,
    check_objects,
    count,
    is_table,
    itemsize,
    namespace,
    rows,
)
from similitude.compute.engines import Engine, engine_for
from similitude.compute.engines.profiles import Profile
from similitude.similarity.claims import PSD, SYMMETRIC, Proof, check_claims
from similitude.similarity.feature_space import finite_diagonal, kernel_distance
from similitude.similarity.parameters import Parametric
from similitude.support.errors import UnresolvedError, brief

Images = dict[tuple[int, int, bool], tuple[Any, Any]]
_images: ContextVar[Images | None] = ContextVar("images", default=None)


@contextmanager
def remembered_images() -> Iterator[None]:
    """While it lasts, a pulled-back function is called once per object, however often it is asked for."""
    token = _images.set({})
    try:
        yield
    finally:
        _images.reset(token)


class Similarity(Parametric, ABC):
    """How alike two objects are. The query comes first: ``block(A, B)[i, j] = K(a_i, b_j)``.

    A subclass writes :meth:`block`, and where it helps :meth:`encode`, :meth:`diagonal`, :meth:`resolve` and
    :meth:`check_params`. Its constructor stores its parameters and does nothing else; a parameter that is itself a
    similarity is a part, resolved, checked and set (``k__sigma``) along with the whole (a list of them is not).

    Attributes
    ----------
    claims : frozenset of str
        What holds for every pair: a subset of ``SYMMETRIC PSD UNIT_DIAGONAL BOUNDED``. Nothing is assumed that is
        not claimed.
    reason : str or None
        Why PSD is claimed, with its source. A claim without a reason is a declaration, not a proof.
    objects : str
        What it takes: ``vectors strings graphs series sets table indices any``.
    resolves : tuple of str
        Parameters that `resolve` fixes from data, unresolved while they are a string or None.
    threadsafe : bool
        False where a user's Python function is called: threads gain nothing, processes may.
    finite : bool
        True where `block` gives finite numbers only, whatever it is given: its values are then not looked at again.
    heavy : bool
        True where one value takes microseconds: small matrices are then cut as well, so that threads share them.
    on_tensors : bool
        True where `block` works on torch tensors as it does on NumPy arrays, so that a device can run it.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import Similarity
    >>> class AgeLike(Similarity):
    ...     claims = frozenset({"SYMMETRIC", "PSD"})
    ...     def __init__(self, years=5.0):
    ...         self.years = years
    ...     def encode(self, people):
    ...         return np.array([p["age"] for p in people], float)
    ...     def block(self, A, B):
    ...         return np.exp(-(((A[:, None] - B) / self.years) ** 2))
    >>> AgeLike(years=10.0)({"age": 30}, {"age": 40})
    0.36787944
    """

    claims: frozenset[str] = frozenset()
    reason: str | None = None
    objects: str = "any"
    resolves: tuple[str, ...] = ()
    threadsafe: bool = True
    finite: bool = False
    heavy: bool = False
    on_tensors: bool = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(cls.__dict__.get("claims"), (str, list, tuple, set)):
            cls.claims = check_claims(cls.claims)

    __array_ufunc__ = None  # so that np.float64(2) * k is algebra on k

    # What a subclass writes.

    @abstractmethod
    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the (count(A), count(B)) array of K(a_i, b_j), in the inputs' precision and array namespace.

        It may take ``out=None``, a NumPy array to write into and return; that saves a copy.
        """

    def encode(self, objects: Any) -> Encoding:
        """Turn objects into what `block` works on: a pure function of each object and the parameters."""
        return as_objects(objects)

    def diagonal(self, A: Encoding) -> Any:
        """Return K(a_i, a_i) for every encoded object."""
        singles = (rows(A, slice(i, i + 1)) for i in range(count(A)))
        values = [self.block(one, one)[0] for one in singles]
        xp = namespace(values[0])
        return np.concatenate(values) if xp is np else xp.concat(values)

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Return the similarity with its data-dependent parameters fixed on X; itself if there are none."""
        if not self.parts():
            return self
        fixed = {
            name: value.resolve(X, random_state, sample_weight) if isinstance(value, Similarity) else value
            for name, value in self._params().items()
        }
        return type(self)(**fixed)

    def check_params(self) -> None:
        """Raise ValueError or TypeError if a parameter is out of range; called before any work."""
        for part in self.parts():
            part.check_params()

    # What every similarity then has.

    def is_finite(self) -> bool:
        """Tell whether values need no check: `finite` speaks for no `block` written below it in the class tree."""
        return self.finite and _stated_in(type(self), "finite") <= _stated_in(type(self), "block")

    def works_on_tensors(self) -> bool:
        """Tell whether a device can run `block`: `on_tensors` speaks for no `block` written below it."""
        return self.on_tensors and _stated_in(type(self), "on_tensors") <= _stated_in(type(self), "block")

    def profile(self) -> Profile | None:
        """Return the values as functions of distances and dot products of vectors; None where they are no such."""
        return None

    def described(self) -> Profile | None:
        """Return the profile, where it speaks for the `block` in use."""
        return self.profile() if _stated_in(type(self), "profile") <= _stated_in(type(self), "block") else None

    def parts(self) -> tuple[Similarity, ...]:
        """Return the similarities that this one is made of; none for a leaf."""
        return tuple(value for value in self._params().values() if isinstance(value, Similarity))

    def premises(self) -> tuple[Similarity, ...]:
        """Return the parts that must be kernels for this one to be a kernel."""
        return self.parts()

    def __call__(self, x: Any, z: Any) -> float:
        """Return K(x, z)."""
        self.check_params()
        self._demand_resolved(f"{type(self).__name__}(...)(x, z)")
        values = self.block(self.encode([x]), self.encode([z]))
        return float(finite_block(values, (1, 1), lambda: repr(self))[0, 0])

    def prepare(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> tuple[Similarity, Encoding]:
        """Return the similarity resolved on X, and X encoded: once per object, for everything that follows."""
        self.check_params()
        check_objects(X)
        with remembered_images():
            resolved = self.resolve(X, random_state, sample_weight)
            return resolved, resolved._encoded(X, "X")

    def blocks(self, A: Encoding, B: Encoding = None, engine: Engine | None = None) -> Blocks:
        """Return the matrix of two encodings (by default the Gram of one) as tiles."""
        return Blocks(self, A, B, SYMMETRIC in self.claims, engine or engine_for(A), itemsize(A))

    def gram(self, X: Any, out: Any = None) -> Any:
        """Return the matrix K(x_i, x_j); data-dependent parameters are fixed on X.

        Parameters
        ----------
        X : sequence of objects
        out : array or path, optional
            See :meth:`similitude.compute.blocks.Blocks.whole`.
        """
        n = check_objects(X)
        if out is None:
            check_fits(n, n, itemsize(X), engine_for(X))
        resolved, A = self.prepare(X)
        return resolved.blocks(A).whole(out)

    def cross(self, X: Any, Z: Any, out: Any = None) -> Any:
        """Return the matrix K(x_i, z_j).

        Parameters
        ----------
        X, Z : sequence of objects
            Queries (rows) and the objects they are compared with (columns).
        out : array or path, optional
            See :meth:`similitude.compute.blocks.Blocks.whole`.
        """
        n, m = check_objects(X), check_objects(Z, "Z")
        self.check_params()
        self._demand_resolved("cross(X, Z)")
        self._demand_same_columns(X, Z)
        if out is None:
            check_fits(n, m, max(itemsize(X), itemsize(Z)), engine_for(X))
        with remembered_images():
            A = self._encoded(X, "X")
            B = A if Z is X and SYMMETRIC in self.claims else self._encoded(Z, "Z")
        return self.blocks(A, B).whole(out)

    def diag(self, X: Any) -> Any:
        """Return K(x_i, x_i) for every object; data-dependent parameters are fixed on X."""
        resolved, A = self.prepare(X)
        return finite_diagonal(resolved, A)

    def distance(self, X: Any, Z: Any = None) -> Any:
        """Return the distances D_K(x, z) = sqrt(K(x, x) + K(z, z) - 2 K(x, z)) in the kernel's feature space.

        A negative square within rounding counts as zero; a larger one raises and names the pair, for then K is
        not a kernel. (Lecture 6: Kernels, "kernelised distance".)

        Examples
        --------
        >>> from similitude.kernels import Polynomial
        >>> Polynomial(degree=2, coef0=0.0).distance([[1., 2.]], [[3., -1.]])
        array([[11.0905365]])
        """
        n, m = check_objects(X), check_objects(X if Z is None else Z, "Z")
        check_fits(n, m, max(itemsize(X), itemsize(X if Z is None else Z)), engine_for(X))
        if Z is None:
            k, A = self.prepare(X)
            diagonal = finite_diagonal(k, A)
            return kernel_distance(k.blocks(A).whole(), diagonal, diagonal, same=True)
        K = self.cross(X, Z)
        return kernel_distance(K, self.diag(X), self.diag(Z), same=False)

    def unresolved(self) -> list[str]:
        """Return the names of the parameters that still wait for data."""
        mine = [name for name in self.resolves if isinstance(getattr(self, name), (str, type(None)))]
        parts = {name: part for name, part in self._params().items() if isinstance(part, Similarity)}
        return mine + [f"{name}__{inner}" for name, part in parts.items() for inner in part.unresolved()]

    def _encoded(self, objects: Any, name: str) -> Encoding:
        """Encode, and let an error say which argument it speaks of."""
        try:
            encoded = self.encode(objects)
            if count(encoded) != check_objects(objects, name):
                raise ValueError(f"{self!r} encoded {check_objects(objects)} objects as {count(encoded)}")
            return encoded
        except (TypeError, ValueError) as error:
            if type(error) not in (TypeError, ValueError):
                raise
            raise type(error)(f"{name}: {error}") from error

    def _demand_same_columns(self, X: Any, Z: Any) -> None:
        if self.objects == "vectors" and is_table(X) and is_table(Z) and list(X.columns) != list(Z.columns):
            x, z = (f"{len(table.columns)} columns {brief(list(table.columns))}" for table in (X, Z))
            raise ValueError(f"X has {x} and Z has {z}: both need the same columns in the same order")

    def _with(self, **changes: Any) -> Any:
        """Return the same similarity with some parameters changed."""
        return type(self)(**{**self._params(), **changes})

    def _demand_resolved(self, call: str) -> None:
        waiting = self.unresolved()
        if waiting:
            raise UnresolvedError(
                f"{call} needs numbers, but {', '.join(waiting)} of {self!r} is still to be fixed from data: "
                f"use k.resolve(X) first, or give a number"
            )

    def proof(self) -> Proof:
        """Return the tree of reasons why this is a kernel, or the leaf where the proof ends.

        Examples
        --------
        >>> from similitude.kernels import Linear
        >>> (Linear() + 1.0).proof()
        Linear() + 1.0 is a kernel:
          a constant c >= 0 added to a kernel adds the feature sqrt(c)
          └─ Linear(): K(x, z) = <x, z> is the dot product of the vectors themselves
        """
        premises = tuple(part.proof() for part in self.premises())
        claimed = {SYMMETRIC, PSD} <= self.claims
        spoken_for = self.reason is not None and _stated_in(type(self), "reason") <= _stated_in(type(self), "block")
        holds = claimed and spoken_for and all(premise.holds for premise in premises)
        unproven = "declared PSD, not proven" if claimed else "nothing is known of it"
        return Proof(repr(self), holds, (self.reason if spoken_for else None) or unproven, premises)

    # The algebra: each operation returns a small node (see algebra.py and wrappers.py).

    def __add__(self, other: Any) -> Similarity:
        return _algebra().add(self, other) if _is_operand(other) else NotImplemented

    def __radd__(self, other: Any) -> Similarity:
        return self + other

    def __sub__(self, other: Any) -> Similarity:
        return self + (-1.0 * other) if _is_operand(other) else NotImplemented

    def __rsub__(self, other: Any) -> Similarity:
        return -1.0 * self + other if _is_operand(other) else NotImplemented

    def __mul__(self, other: Any) -> Similarity:
        return _algebra().multiply(self, other) if _is_operand(other) else NotImplemented

    def __rmul__(self, other: Any) -> Similarity:
        return self * other

    def __truediv__(self, other: Any) -> Similarity:
        return self * (1.0 / other) if isinstance(other, Real) else NotImplemented

    def __neg__(self) -> Similarity:
        return -1.0 * self

    def __pow__(self, exponent: float) -> Similarity:
        return _algebra().power(self, exponent) if isinstance(exponent, Real) else NotImplemented

    def __abs__(self) -> Similarity:
        return _algebra().Absolute(self)

    def minimum(self, other: Similarity) -> Similarity:
        """Return min(K, other), pair by pair."""
        return _algebra().Minimum.of(self, other)

    def maximum(self, other: Similarity) -> Similarity:
        """Return max(K, other), pair by pair."""
        return _algebra().Maximum.of(self, other)

    def exp(self) -> Similarity:
        """Return exp(K)."""
        return _algebra().Exponential(self)

    def normalized(self) -> Similarity:
        """Return K(x, z) / sqrt(K(x, x) K(z, z)); zero where an object has K(x, x) = 0."""
        return _wrappers().Normalized(self)

    normalised = normalized

    def symmetrized(self) -> Similarity:
        """Return (K(x, z) + K(z, x)) / 2."""
        return _wrappers().Symmetrized(self)

    symmetrised = symmetrized

    def pullback(self, f: Callable[[Any], Any], batched: bool = False) -> Similarity:
        """Return K(f(x), f(z)): a user's own feature map is ``Linear().pullback(phi)``.

        Parameters
        ----------
        f : callable
            Called once per object, or once with all objects where `batched`.
        """
        return _wrappers().Pullback(self, f, batched)


def _stated_in(cls: type, name: str) -> int:
    """Return how far up the class tree a name is written: a reason speaks for no `block` written below it."""
    return next((level for level, owner in enumerate(cls.__mro__) if name in vars(owner)), len(cls.__mro__))


def image(f: Callable[[Any], Any], objects: Any, batched: bool) -> Any:
    """Return f of every object, remembered within :func:`remembered_images`."""
    memory = _images.get()
    key = (id(f), id(objects), batched)
    if memory is not None and key in memory:
        return memory[key][1]
    values = f(objects) if batched else [f(x) for x in as_objects(objects)]
    if memory is not None:
        memory[key] = (objects, values)  # keeping objects keeps their id taken
    return values


def _algebra() -> Any:
    from similitude.similarity import algebra

    return algebra


def _wrappers() -> Any:
    from similitude.similarity import wrappers

    return wrappers


def _is_operand(other: Any) -> bool:
    return isinstance(other, (Similarity, Real))

"""Contract 1: ``Similarity``. A subclass writes ``block``, perhaps ``encode``, and inherits everything else."""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from similitude.compute import (
    Blocks,
    Encoding,
    Hints,
    as_numpy,
    as_objects,
    check_count,
    check_fits,
    check_objects,
    concatenated,
    count,
    finite_block,
    is_table,
    itemsize,
    rows,
)
from similitude.compute.engines import Engine, engine_for
from similitude.similarity.bounds import Bounds
from similitude.similarity.claims import CLAIMS, PSD, SYMMETRIC, Proof
from similitude.similarity.feature_space import finite_diagonal, kernel_distance
from similitude.similarity.parameters import Parametric
from similitude.similarity.read_only import read_only, unchanged
from similitude.support import UnresolvedError, brief, error_prefix


@functools.lru_cache(1024)
def _similarity_parameters(cls: Any) -> list[str]:
    """Return the parameters of a constructor that are annotated as similarities."""
    parameters = inspect.signature(cls).parameters.values()
    return [one.name for one in parameters if one.annotation in ("Similarity", Similarity)]


class Similarity(Parametric, ABC):
    """How similar two objects are. The query comes first: ``block(A, B)[i, j] = K(a_i, b_j)``.

    A subclass writes :meth:`block` and, if needed, :meth:`encode`, :meth:`diagonal`, :meth:`resolve` and
    :meth:`check_params`. Its constructor stores its parameters and does nothing else. A parameter that is itself a
    similarity is a part: it is resolved, checked and set (``k__sigma``) together with the whole. (A list of
    similarities is not.)

    Claims, reason, hints and counterexamples hold for the code of the class that states them. A subclass that overrides
    ``encode``, ``block``, ``diagonal`` or another method in `stated_for`, and does not state them again, has no claims,
    no reason, no counterexamples of its own, and only those hints that restrict an engine.

    Attributes
    ----------
    claims : frozenset of str
        What holds for every pair: a subset of ``SYMMETRIC PSD UNIT_DIAGONAL BOUNDED``. Nothing else is assumed.
    reason : str or None
        Why PSD holds, with its source. A claim of PSD without a reason is a declaration, not a proof.
    objects : str
        The kind of objects it takes: ``vectors strings graphs series sets table indices any``.
    resolves : tuple of str
        Parameters that `resolve` fixes from data; they are unresolved while they are a string or None.
    hints : Hints
        What an engine may know to compute faster; optional.
    stated_for : tuple of str
        The methods that determine the values and the proof, for which claims, reason, hints and counterexamples are
        stated.

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
    stated_for: ClassVar[tuple[str, ...]] = ("encode", "block", "diagonal", "parts", "premises")
    _checks: ClassVar[Mapping[str, Callable[[str, Any], Any]]] = {}  # what validates a parameter by itself

    @property
    def hints(self) -> Hints:
        """By default only what follows from the parts: whether threads may share the work, and its cost."""
        parts = [part.hints for part in self.parts()]
        return Hints(threadsafe=all(part.threadsafe for part in parts), heavy=any(part.heavy for part in parts))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if isinstance(cls.__dict__.get("claims"), (str, list, tuple, set)):
            cls.claims = check_claims(cls.claims)
        for name in ("claims", "reason", "counterexamples", "bounds"):
            if _stated_for_other_code(cls, name):
                setattr(cls, name, vars(Similarity)[name])
        if _stated_for_other_code(cls, "hints"):
            hints: Any = cls.hints
            if isinstance(hints, property):
                cautions: Any = property(lambda self: hints.__get__(self).cautions())
            else:
                cautions = hints.cautions()
            cls.hints = cautions  # type: ignore[method-assign]

    __array_ufunc__ = None  # so that np.float64(2) * k is algebra on k

    # What a subclass writes.

    @abstractmethod
    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the (count(A), count(B)) array of K(a_i, b_j), in the precision and array library of its inputs.

        It may take ``out=None``, a NumPy array to write into and return, which saves a copy.
        """

    def encode(self, objects: Any) -> Encoding:
        """Return what `block` works on: a pure function of each object and of the parameters."""
        return as_objects(objects)

    def diagonal(self, A: Encoding) -> Any:
        """Return K(a_i, a_i) for every encoded object."""
        singles = (rows(A, slice(i, i + 1)) for i in range(count(A)))
        return concatenated([self.block(one, one)[0] for one in singles])

    def values_at(self, A: Encoding, B: Encoding, i: Any, j: Any, deliver: Any = None) -> Any:
        """Return K(a_i, b_j) for some pairs of positions, and for no others.

        ``deliver(positions, values)`` is called with values as soon as they are known: positions among the pairs.
        """
        edges = np.flatnonzero(np.diff(i)) + 1
        values = np.empty(len(i))
        for positions in np.split(np.arange(len(i)), edges):
            if len(positions):
                values[positions] = as_numpy(self.block(rows(A, i[positions[:1]]), rows(B, j[positions])))[0]
                if deliver is not None:
                    deliver(positions.tolist(), values[positions].tolist())
        return values

    def bounds(self, A: Encoding) -> Bounds | None:
        """Return upper bounds on similarities to the encoded objects A, for searches among them; None if it has none.

        They may be fitted to A, but must hold for all objects. By default there are none.
        """
        return None

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Similarity:
        """Return the similarity with its data-dependent parameters fixed on X; itself if there are none."""
        changed = {}
        for name, part in self._params().items():
            if isinstance(part, Similarity):
                fixed = part.resolve(X, random_state, sample_weight)
                if fixed is not part:
                    changed[name] = fixed
        return self.with_params(**changed) if changed else self

    def check_params(self) -> None:
        """Validate the parameters: raise ValueError or TypeError if one is out of range. Called before any work."""
        given = self._params()
        for name in self._names_of_parts():
            if not isinstance(given[name], Similarity):
                raise TypeError(f"{name} of {type(self).__name__} must be a similarity, got {brief(given[name])}")
        for part in self.parts():
            part.check_params()
        for name, check in self._checks.items():
            check(name, given[name])

    def _names_of_parts(self) -> Iterable[str]:
        """Return the parameters that must be similarities: those that the constructor annotates so."""
        return _similarity_parameters(type(self))

    # What every similarity has.

    def parts(self) -> tuple[Similarity, ...]:
        """Return the similarities that this one is made of; none for a leaf."""
        found = []
        for value in self._params().values():
            if isinstance(value, Similarity):
                found.append(value)
        return tuple(found)

    def premises(self) -> tuple[Similarity, ...]:
        """Return the parts that must be kernels for this one to be a kernel."""
        return self.parts()

    def counterexamples(self) -> list[Any]:
        """Return collections of objects on one of which it is known not to be a kernel; none if none is known.

        Nothing rests on them unseen: the similarity is computed on these objects, and refuted by its values there. They
        hold for the present parameters, and if some of these are still to be fixed from data, for any values that data
        give them. By default they are those of the parts, if the parts take the same kind of objects as the whole.
        """
        parts = self.parts()
        if not parts or {part.objects for part in parts} != {self.objects} or self.objects in ("any", "indices"):
            return []
        return [objects for part in parts for objects in part.counterexamples()]

    def unresolved(self) -> list[str]:
        """Return the names of the parameters that are still to be fixed from data."""
        names = []
        for name in self.resolves:
            if isinstance(getattr(self, name), (str, type(None))):
                names.append(name)
        for name, part in self._params().items():
            if isinstance(part, Similarity):
                names += [f"{name}__{inner}" for inner in part.unresolved()]
        return names

    def check_resolved(self, call: str) -> None:
        """Raise UnresolvedError, which names the call, if a parameter is still to be fixed from data."""
        names = self.unresolved()
        if names:
            raise UnresolvedError(
                f"{call} needs numbers, but {', '.join(names)} of {self!r} is still to be fixed from data: "
                f"use k.resolve(X) first, or give a number"
            )

    def with_params(self, **changes: Any) -> Any:
        """Return a copy with some parameters changed."""
        return type(self)(**{**self._params(), **changes})

    def __call__(self, x: Any, z: Any) -> float:
        """Return K(x, z)."""
        self.check_params()
        self.check_resolved(f"{type(self).__name__}(...)(x, z)")
        A = self.encode([x])
        B = self.encode([z])
        return float(finite_block(self.block(A, B), A, B, self)[0, 0])

    def encode_checked(self, objects: Any, name: str = "X") -> Encoding:
        """Encode objects and check their number; an error begins with the name of the argument."""
        try:
            return check_count(self.encode(objects), objects, name, self)
        except (TypeError, ValueError):
            with error_prefix(name):
                raise

    def prepare(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> tuple[Similarity, Encoding]:
        """Return the similarity resolved on X, and X encoded, once for all later use."""
        self.check_params()
        check_objects(X)
        with remembered_images():
            resolved = self.resolve(X, random_state, sample_weight)
            return resolved, resolved.encode_checked(X)

    def blocks(self, A: Encoding, B: Encoding = None, engine: Engine | None = None) -> Blocks:
        """Return the matrix of two encodings, by default the Gram matrix of one, to be computed in tiles."""
        return Blocks(self, A, B, SYMMETRIC in self.claims, engine or engine_for(A))

    def gram(self, X: Any, out: Any = None) -> Any:
        """Return the matrix K(x_i, x_j); data-dependent parameters are fixed on X.

        Parameters
        ----------
        X : sequence of objects
        out : array or path, optional
            See :meth:`similitude.compute.Blocks.whole`.
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
            Queries (rows), and the objects that they are compared with (columns).
        out : array or path, optional
            See :meth:`similitude.compute.Blocks.whole`.
        """
        n = check_objects(X)
        m = check_objects(Z, "Z")
        self.check_params()
        self.check_resolved("cross(X, Z)")
        if self.objects == "vectors" and is_table(X) and is_table(Z) and list(X.columns) != list(Z.columns):
            x, z = (f"{len(table.columns)} columns {brief(list(table.columns))}" for table in (X, Z))
            raise ValueError(f"X has {x} and Z has {z}: both need the same columns in the same order")
        if out is None:
            check_fits(n, m, max(itemsize(X), itemsize(Z)), engine_for(X))
        with remembered_images():
            A = self.encode_checked(X)
            B = A if Z is X and SYMMETRIC in self.claims else self.encode_checked(Z, "Z")
        return self.blocks(A, B).whole(out)

    def diag(self, X: Any) -> Any:
        """Return K(x_i, x_i) for every object; data-dependent parameters are fixed on X."""
        resolved, A = self.prepare(X)
        return finite_diagonal(resolved, A)

    def distance(self, X: Any, Z: Any = None) -> Any:
        """Return the distances D_K(x, z) = sqrt(K(x, x) + K(z, z) - 2 K(x, z)) in the feature space of the kernel.

        A negative square within rounding counts as zero; a larger one raises an error that names the pair, because
        then K is not a kernel. (Lecture 6: Kernels, "kernelised distance".)

        Examples
        --------
        >>> from similitude.kernels import Polynomial
        >>> Polynomial(degree=2, coef0=0.0).distance([[1., 2.]], [[3., -1.]])
        array([[11.0905365]])
        """
        if Z is not None:
            return kernel_distance(self.cross(X, Z), self.diag(X), self.diag(Z), same=False)
        n = check_objects(X)
        check_fits(n, n, itemsize(X), engine_for(X))
        k, A = self.prepare(X)
        diagonal = finite_diagonal(k, A)
        return kernel_distance(k.blocks(A).whole(), diagonal, diagonal, same=True)

    def proof(self) -> Proof:
        """Return the proof that this is a kernel as a tree of reasons, or the node at which it fails.

        Examples
        --------
        >>> from similitude.kernels import Linear
        >>> (Linear() + 1.0).proof()
        Linear() + 1.0 is a kernel:
          a constant c >= 0 added to a kernel adds the feature sqrt(c)
          └─ Linear(): K(x, z) = <x, z> is the dot product of the vectors themselves
        """
        reason = self.reason
        claimed = {SYMMETRIC, PSD} <= self.claims
        holds = claimed and reason is not None
        premises = []
        for part in self.premises():
            premises.append(part.proof())
            holds = holds and premises[-1].holds
        unproven = "declared PSD, not proven" if claimed else "nothing is known of it"
        return Proof(repr(self), holds, reason or unproven, tuple(premises))

    @property
    def proven(self) -> bool:
        """Whether it is a kernel by proof."""
        if self.reason is None or not {SYMMETRIC, PSD} <= self.claims:
            return False
        return all([part.proven for part in self.premises()])

    def _repr_html_(self) -> str:
        from similitude.similarity.display import similarity_card

        return similarity_card(self)

    # The algebra: each operation returns a small node (see algebra.py and wrappers.py).

    def __add__(self, other: Any) -> Similarity:
        if isinstance(other, Similarity):
            return algebra.Sum.of(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        return self if other == 0 else algebra.Shifted(self, algebra.finite(other))

    def __radd__(self, other: Any) -> Similarity:
        return self + other

    def __sub__(self, other: Any) -> Similarity:
        return self + (-1.0 * other) if isinstance(other, (Similarity, Real)) else NotImplemented

    def __rsub__(self, other: Any) -> Similarity:
        return -1.0 * self + other if isinstance(other, (Similarity, Real)) else NotImplemented

    def __mul__(self, other: Any) -> Similarity:
        if isinstance(other, Similarity):
            return algebra.Product.of(self, other)
        if not isinstance(other, Real):
            return NotImplemented
        if type(self) is algebra.Scaled:
            return algebra.Scaled(self.k, algebra.finite(self.factor * algebra.finite(other)))
        return algebra.Scaled(self, algebra.finite(other))

    def __rmul__(self, other: Any) -> Similarity:
        return self * other

    def __truediv__(self, other: Any) -> Similarity:
        return self * (1.0 / other) if isinstance(other, Real) else NotImplemented

    def __neg__(self) -> Similarity:
        return -1.0 * self

    def __pow__(self, exponent: float) -> Similarity:
        if not isinstance(exponent, Real):
            return NotImplemented
        return algebra.Power(self, int(exponent) if isinstance(exponent, Integral) else algebra.finite(exponent))

    def __abs__(self) -> Similarity:
        return algebra.Absolute(self)

    def minimum(self, other: Similarity) -> Similarity:
        """Return min(K, other), pair by pair."""
        return algebra.Minimum.of(self, other)

    def maximum(self, other: Similarity) -> Similarity:
        """Return max(K, other), pair by pair."""
        return algebra.Maximum.of(self, other)

    def exp(self) -> Similarity:
        """Return exp(K)."""
        return algebra.Exponential(self)

    def normalized(self) -> Similarity:
        """Return K(x, z) / sqrt(K(x, x) K(z, z)); zero where an object has K(x, x) = 0."""
        return wrappers.Normalized(self)

    normalised = normalized

    def learned(self) -> Similarity:
        """Return the similarity whose metric or weights are to be learned from labels by what it is fitted in.

        `SimilarityClassifier`, `SimilarityRegressor` and `choose_kernel` learn it from their training rows, in every
        fold anew; `learn_kernel` does so outright.
        """
        return wrappers.Learnable(self)

    def symmetrized(self) -> Similarity:
        """Return (K(x, z) + K(z, x)) / 2."""
        return wrappers.Symmetrized(self)

    symmetrised = symmetrized

    def pullback(self, f: Callable[[Any], Any], batched: bool = False) -> Similarity:
        """Return K(f(x), f(z)): a feature map of your own is ``Linear().pullback(phi)``.

        Parameters
        ----------
        f : callable
            Called once per object, or once with all objects if `batched`.
        """
        return wrappers.Pullback(self, f, batched)

    def cached(self, path: Any = None, name: str | None = None) -> Similarity:
        """Return the same similarity, which remembers the value of every pair of contents.

        Copies share what is remembered, so that a grid search, other folds, other learners and, with a file, tomorrow's
        run compute only pairs that are new. Each value is stored as soon as it is known: an error, Ctrl-C or the end of
        the process loses nothing that was computed before. Where symmetry is claimed, K(z, x) serves for K(x, z).

        Parameters
        ----------
        path : path, optional
            A file (SQLite), made if there is none, which several processes may use at once. Default: in memory.
        name : str, optional
            Name and version of the function, such as ``"judge-v2"``: a file holds the values of one name, and you
            decide when a change of the function makes it another one. Default: its code and parameters identify it.

        Examples
        --------
        >>> from similitude import FromPairs
        >>> calls = []
        >>> def shared(s, t):
        ...     calls.append((s, t))
        ...     return len(set(s) & set(t))
        >>> k = FromPairs(shared, claims=["SYMMETRIC"]).cached()
        >>> k.gram(["kernel", "colonel"]).tolist(), len(calls)
        ([[5.0, 3.0], [3.0, 5.0]], 3)
        >>> k("colonel", "kernel"), len(calls)
        (3.0, 3)
        """
        from similitude.similarity.cached import Cached
        from similitude.similarity.pair_store import PairStore

        return Cached(self, PairStore(path, name))


def check_claims(claims: Iterable[str]) -> frozenset[str]:
    """Validate claims and return them as a frozenset."""
    given = listed_claims(claims)
    for unknown in sorted(map(str, given - CLAIMS)):
        raise ValueError(f"unknown claim {unknown!r}: a claim is one of {', '.join(sorted(CLAIMS))}")
    return given


def listed_claims(claims: Iterable[str]) -> frozenset[str]:
    """Return claims as a frozenset; a single one may be given as a text."""
    if isinstance(claims, str):
        return frozenset({claims})
    try:
        return frozenset(claims)
    except TypeError:
        raise TypeError(f"claims must be a sequence such as ['SYMMETRIC', 'PSD'], got {brief(claims)}") from None


def _stated_for_other_code(cls: type[Similarity], name: str) -> bool:
    """Tell whether a class inherits a statement, such as claims, from one that has other methods in `stated_for`."""
    stated_by = next(base for base in cls.__mro__ if name in vars(base))
    if stated_by is Similarity or getattr(vars(stated_by)[name], "fset", None):  # declared when it is constructed
        return False
    return any(getattr(cls, method, None) is not getattr(stated_by, method, None) for method in cls.stated_for)


# Images of objects under functions that are pulled back.

Images = dict[tuple[int, int, bool], tuple[Any, Any]]
_images: ContextVar[Images | None] = ContextVar("images", default=None)


@contextmanager
def remembered_images() -> Iterator[None]:
    """Return a context in which a function that is pulled back is called once per object; it may be entered again."""
    known = _images.get()
    token = _images.set({} if known is None else known)
    try:
        yield
    finally:
        _images.reset(token)


def image(f: Callable[[Any], Any], objects: Any, batched: bool) -> Any:
    """Return f of every object; within :func:`remembered_images` from memory, if it was computed before."""
    memory = _images.get()
    if memory is None or (id(f), id(objects), batched) not in memory:
        listed = objects if batched else as_objects(objects)
        with unchanged(f, listed):
            values = f(read_only(objects)) if batched else [_image_of_one(f, x, memory) for x in listed]
        if memory is None:
            return values
        memory[id(f), id(objects), batched] = objects, values  # keeping the objects keeps their id taken
    return memory[id(f), id(objects), batched][1]


def _image_of_one(f: Callable[[Any], Any], x: Any, memory: Images | None) -> Any:
    if memory is None:
        return f(read_only(x))
    if (id(f), id(x), False) not in memory:
        memory[id(f), id(x), False] = x, f(read_only(x))
    return memory[id(f), id(x), False][1]


# The nodes of the algebra are similarities themselves.

from similitude.similarity import algebra, wrappers  # noqa: E402

"""Adapters: a function of pairs, a function of blocks, a matrix or a text becomes a similarity.

Also what a similarity costs, which depends on the users' functions inside it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, as_objects, count, stacked
from similitude.similarity.calling import Deliver, as_number, call_pairs, check_errors, hint_of_matrices
from similitude.similarity.claims import SYMMETRIC
from similitude.similarity.contract import Similarity, check_claims, listed_claims
from similitude.similarity.meter import Calls, Meter, open_meters
from similitude.similarity.parameters import constructor_parameters
from similitude.similarity.read_only import all_read_only, is_async, read_only, unchanged, with_hint
from similitude.support import PairError, brief, check_integer, check_nonnegative, check_positive


def as_similarity(similarity: Any) -> Similarity:
    """Return a Similarity for anything that says how similar two objects are.

    Parameters
    ----------
    similarity : Similarity, str, callable or array
        A `Similarity` is returned unchanged. A name such as ``"gaussian"`` gives that similarity with its defaults, a
        text such as ``"spectrum(p=3).normalized() + 0.5*edit"`` the same as in Python (see
        `similarity.expressions.parse`; nothing in it is executed). ``"auto"`` gives the similarity that suits the
        objects that it is resolved on. A function ``f(x, z) -> number`` gives
        ``FromPairs(f)``, a matrix ``Precomputed(M)``. A function of two collections must be wrapped explicitly:
        ``FromBlocks(f)``.

    Examples
    --------
    >>> from similitude import as_similarity
    >>> k = as_similarity(lambda s, t: len(set(s) & set(t)))
    >>> k("kernel", "colonel")
    3.0
    >>> as_similarity("gaussian")
    Gaussian(sigma='median')
    >>> as_similarity("2*gaussian(sigma=0.5) + linear")
    2.0*Gaussian(sigma=0.5) + Linear()
    """
    if isinstance(similarity, Similarity):
        return similarity
    if isinstance(similarity, str):
        from similitude.similarity.expressions import parse  # which knows all kernels by name

        return parse(similarity)
    if isinstance(similarity, type) and issubclass(similarity, Similarity):
        raise TypeError(f"{similarity.__name__} is a class: make one with {similarity.__name__}(...)")
    if callable(similarity):
        return FromPairs(similarity)
    if hasattr(similarity, "shape"):
        return Precomputed(similarity)
    raise TypeError(
        f"a similarity is a Similarity, a name, a function f(x, z) or a matrix, got {type(similarity).__name__}"
    )


declared: Any = property(
    attrgetter("_claims"),
    lambda self, claims: setattr(self, "_claims", listed_claims(claims)),
    doc="The claims that the user declares, and no others.",
)

OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "batch": partial(check_integer, otherwise="None"),
    "workers": check_integer,
    "retries": partial(check_integer, low=0),
    "retry_on": check_errors,
    "timeout": partial(check_positive, otherwise="None"),
    "rate": partial(check_positive, otherwise="None"),
    "cost": partial(check_nonnegative, otherwise="None"),
    "repeats": partial(check_integer, high=10_000),  # the error of the mean is then a hundredth of that of an answer
}
"""The options of calls, with what validates them if they are given."""


class FromPairs(Similarity):
    """A function of two objects, or of a list of pairs.

    Nothing is assumed about the function: it is called for every ordered pair unless it is claimed to be symmetric.
    Whatever the concurrency, values and their order are the same. A pair that fails after its retries stops the
    computation with an error that names it; values that are known by then are kept by `cached`.

    Parameters
    ----------
    f : callable
        ``f(x, z)`` returns a finite real number, for Python objects of any kind. It may not change them: arrays cannot
        be written to, and some of the other containers, and of the public attributes of other objects, are compared
        before and after the calls. It may be an ``async`` function, and
        with `batch` it takes a list of pairs ``[(x, z), ...]`` and returns as many numbers. An async function is run by
        an event loop in another thread, also where a loop is running already, as in a notebook.
    claims : iterable of str
        What you know about it, for instance ``("SYMMETRIC", "PSD")``. A symmetric function is called for half of the
        pairs of a Gram matrix. Learners rely on claims; ``check_kernel`` tests them.
    batch : int, optional
        Most pairs in one call; `f` then takes a list of pairs.
    workers : int
        Calls that are on their way at once, for functions that wait for something: plain functions are called in
        threads, async ones by the event loop.
    retries : int
        How often a call that failed is repeated, after 0.5, 1, 2, ... seconds, or after ``error.retry_after`` seconds
        if that is longer.
    retry_on : exception class or several of them, optional
        The errors after which a call is repeated. Default: ``OSError``, which includes lost connections and time-outs.
    timeout : float, optional
        Most seconds of one call. A plain function cannot be stopped: it goes on in its thread, its value is dropped.
    rate : float, optional
        Most calls per second.
    cost : float, optional
        The price of one pair, by which estimates of calls become estimates of money.
    repeats : int
        How often a pair is asked, at most 10,000 times; the value is the mean of the answers, for functions whose
        answers vary.

    Examples
    --------
    >>> from similitude import FromPairs
    >>> FromPairs(lambda s, t: float(s[0] == t[0]), claims=["SYMMETRIC"]).gram(["ab", "ac", "bc"])
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])

    A function of a list of pairs, with four calls on their way at once:

    >>> def shared_letters(pairs):
    ...     return [len(set(s) & set(t)) for s, t in pairs]
    >>> FromPairs(shared_letters, batch=64, workers=4).cross(["kernel"], ["colonel", "similar"])
    array([[3., 1.]])
    """

    claims = declared
    hints = Hints(threadsafe=False)
    _quiet = tuple(OPTIONS)

    def __init__(
        self,
        f: Callable[..., Any],
        claims: Iterable[str] = (),
        *,
        batch: int | None = None,
        workers: int = 1,
        retries: int = 0,
        retry_on: Any = None,
        timeout: float | None = None,
        rate: float | None = None,
        cost: float | None = None,
        repeats: int = 1,
    ) -> None:
        self.f = f
        self.claims = claims
        self.batch = batch
        self.workers = workers
        self.retries = retries
        self.retry_on = retry_on
        self.timeout = timeout
        self.rate = rate
        self.cost = cost
        self.repeats = repeats

    def check_params(self) -> None:
        """Validate the claims and the options, and that `f` takes two objects, or with `batch` a list of pairs."""
        check_claims(self.claims)
        for name, check in OPTIONS.items():
            given = getattr(self, name)
            if given is not constructor_parameters(FromPairs)[name].default:
                check(name, given)
        if self.batch is None:
            check_arguments(self.f, "f(x, z)", 2)
        else:
            check_arguments(self.f, "f(pairs)", 1)

    def encode(self, objects: Any) -> Encoding:
        """Return the list of objects, of which arrays cannot be written to."""
        return all_read_only(as_objects(objects))

    def block(self, A: Encoding, B: Encoding) -> np.ndarray:
        """Call the function for each pair, or for each unordered pair once if it is claimed to be symmetric."""
        half = A is B and SYMMETRIC in self.claims
        values = np.empty((len(A), len(B)))
        options = (self.batch, self.workers, self.retries, self.retry_on, self.timeout, self.rate, self.repeats)
        if options == (None, 1, 0, None, None, None, 1) and not is_async(self.f):
            if A and isinstance(A[0], np.ndarray) and A[0].flags.writeable:  # in a worker, to which arrays are copied
                A = all_read_only(A)
                B = all_read_only(B)
            meters = open_meters.get()
            with unchanged(self.f, A, B):
                for i in range(len(A)):
                    start = i if half else 0
                    for meter in meters:
                        meter.spend(len(B) - start, (len(B) - start) * (self.cost or 0.0))
                    values[i, start:] = _row(self.f, i, A[i], B, start)
        else:
            down, right = np.triu_indices(len(A)) if half else np.indices(values.shape).reshape(2, -1)
            values[down, right] = self.values_at(A, B, down, right)
        if half:
            below = np.tril_indices(len(A), -1)
            values[below] = values.T[below]
        return values

    def diagonal(self, A: Encoding) -> np.ndarray:
        """Call the function for each object with itself."""
        return self.values_at(A, A, np.arange(len(A)), np.arange(len(A)))

    def values_at(
        self, A: Encoding, B: Encoding, i: np.ndarray, j: np.ndarray, deliver: Deliver | None = None
    ) -> np.ndarray:
        """Call the function for some pairs."""
        values = np.empty(len(i))
        rows = i.tolist()
        columns = j.tolist()

        def keep(positions: Sequence[int], numbers: Sequence[float]) -> None:
            values[list(positions)] = numbers
            if deliver is not None:
                deliver(positions, numbers)

        pairs = [(read_only(A[row]), read_only(B[column])) for row, column in zip(rows, columns, strict=True)]
        with unchanged(self.f, [x for x, _ in pairs], [z for _, z in pairs]):
            call_pairs(self, pairs, keep, lambda p: (rows[p], columns[p]))
        return values


def _row(f: Callable[..., Any], i: int, x: Any, others: list[Any], start: int) -> np.ndarray:
    """Return f(x, z) for the others from `start` on as finite floats."""
    values: list[Any] = []
    append = values.append
    try:
        for z in others[start:] if start else others:
            append(f(x, z))
    except Exception as error:
        j = start + len(values)
        hint = hint_of_matrices(f, x, others[j])
        raised = f"f({brief(x)}, {brief(others[j])}) raised {with_hint(error)}{hint}"
        raise PairError(i, j, raised) from error
    try:
        row = np.asarray(values)
    except (TypeError, ValueError):
        row = np.empty(0, object)
    if row.dtype.kind not in "fiub" or row.ndim != 1 or not np.isfinite(row).all():
        for one in values[1:]:
            if inspect.iscoroutine(one):
                one.close()
        row = np.array([as_number(v, i, start + j, x, others[start + j]) for j, v in enumerate(values)])
    return row


class FromBlocks(Similarity):
    """A function of two collections of objects that returns a whole block.

    Parameters
    ----------
    f : callable
        ``f(X, Z)`` returns the array of K(x_i, z_j). It gets parts of what the user passed, in the same container:
        arrays, sparse matrices and data frames stay what they are. It may not change them (see `FromPairs`).
    claims : iterable of str
        See `FromPairs`.
    objects : str
        The kind of objects; with ``"vectors"``, ``check_kernel`` searches for counterexamples among vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import FromBlocks
    >>> FromBlocks(lambda X, Z: np.minimum(X, Z.T)).gram(np.array([[1.], [2.]]))
    array([[1., 1.],
           [1., 2.]])
    """

    claims = declared
    hints = Hints(threadsafe=False)
    cost = 0
    repeats = 1

    def __init__(self, f: Callable[[Any, Any], Any], claims: Iterable[str] = (), objects: str = "any") -> None:
        self.f = f
        self.claims = claims
        self.objects = objects

    def check_params(self) -> None:
        """Validate the claims, and that `f` takes two collections."""
        check_claims(self.claims)
        check_arguments(self.f, "f(X, Z)", 2)

    def encode(self, objects: Any) -> Encoding:
        """Return the collection itself if it can be sliced, a list of rows as a matrix, or else the list."""
        if hasattr(objects, "tocsr"):
            return objects.tocsr()
        if hasattr(objects, "shape"):
            return objects
        shapes = {getattr(x, "shape", None) for x in objects}
        return stacked(list(objects)) if len(shapes) == 1 and None not in shapes else list(objects)

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Call the function on two parts of the collections; each pair counts as a call."""
        for meter in open_meters.get():
            meter.spend(count(A) * count(B))
        with unchanged(self.f, A, B):
            values = self.f(all_read_only(A), all_read_only(B))
        if not hasattr(values, "shape"):
            values = np.asarray(values)
        if values.shape == () and (count(A), count(B)) != (1, 1):
            raise ValueError(
                f"{self!r} gave one number for {count(A)} and {count(B)} objects: if it is a function of two objects, "
                f"f(x, z), give it as it is, or as FromPairs(f)"
            )
        whole_numbers = isinstance(values, np.ndarray) and values.dtype.kind in ("b", "i", "u")
        return values.astype(np.float64) if whole_numbers else values  # other blocks may hold fractions


class Precomputed(Similarity):
    """A matrix of similarities. The objects are indices: of rows for queries, of columns for the other objects.

    Parameters
    ----------
    M : array of shape (n, m)
        A matrix that is not square has no Gram matrix. ``clone`` shares it.
    claims : iterable of str
        See `FromPairs`.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude import Precomputed
    >>> Precomputed(np.array([[1., 2.], [3., 4.]])).cross([1], [0, 1])
    array([[3., 4.]])
    """

    claims = declared
    objects = "indices"

    def __init__(self, M: Any, claims: Iterable[str] = ()) -> None:
        self.M = M
        self.claims = claims

    def check_params(self) -> None:
        """Validate the claims, and that M is a matrix of real numbers; its values are checked when they are used."""
        check_claims(self.claims)
        if getattr(self.M, "ndim", 0) != 2 or not hasattr(self.M, "dtype"):
            raise TypeError(f"Precomputed takes a matrix, got {brief(self.M)}")
        if not hasattr(self.M, "__getitem__"):
            raise TypeError("Precomputed needs a matrix with rows to choose from: convert a sparse one with M.tocsr()")
        if "complex" in str(self.M.dtype) or getattr(self.M.dtype, "kind", "f") not in "fiub":
            raise TypeError(f"Precomputed takes real numbers, the matrix holds {self.M.dtype}")

    def encode(self, objects: Any) -> Encoding:
        """Return the indices as an integer array, validated against the matrix."""
        indices = np.asarray(as_objects(objects))
        if indices.dtype.kind not in "iu" or indices.ndim != 1:
            raise TypeError(f"the objects of a precomputed matrix are whole numbers, got {brief(objects)}")
        bad = np.flatnonzero((indices < 0) | (indices >= max(self.M.shape)))
        if len(bad):
            raise IndexError(f"object {bad[0]} is index {indices[bad[0]]}, outside the matrix of shape {self.M.shape}")
        return indices

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the chosen rows and columns as floats, in `out` if that is given."""
        outside = A.max(initial=-1) >= self.M.shape[0] or B.max(initial=-1) >= self.M.shape[1]
        if outside or (A is B and self.M.shape[0] != self.M.shape[1]):
            raise IndexError(
                f"a matrix of shape {tuple(self.M.shape)} has rows for queries and columns for the objects that they "
                f"are compared with: no row {A.max()} and column {B.max()}, and no Gram matrix unless it is square"
            )
        down = _run(A)
        right = _run(B)
        if not isinstance(self.M, np.ndarray):
            values = self.M[A][:, B]
        elif down is None or right is None:
            values = self.M[np.ix_(A, B)]
        else:  # much quicker, as in a tile
            values = self.M[down, right].copy() if out is None else self.M[down, right]
        if hasattr(values, "toarray"):
            values = values.toarray()
        if not str(values.dtype).endswith(("float32", "float64")):
            values = np.asarray(values, dtype=float)
        if out is None:
            return values
        out[...] = values
        return out


def _run(indices: np.ndarray) -> slice | None:
    """Return increasing indices without a gap as a slice, None for others."""
    if not len(indices) or not (np.diff(indices) == 1).all():
        return None
    return slice(int(indices[0]), int(indices[-1]) + 1)


def check_arguments(f: Any, form: str, n: int) -> None:
    """Validate, without calling it, that `f` is a function of one or two arguments."""
    if not callable(f):
        raise TypeError(f"expected a function {form}, got {brief(f)}")
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return
    try:
        signature.bind(*[None] * n)
    except TypeError as error:
        arguments = "two arguments" if n == 2 else "one argument, a list of pairs"
        raise TypeError(f"expected a function {form} of {arguments}, {brief(f)} takes {signature}") from error


# What a similarity costs.


def user_functions(k: Similarity) -> list[FromPairs | FromBlocks]:
    """Return the users' functions that a similarity is made of; their calls are counted."""
    if isinstance(k, (FromPairs, FromBlocks)):
        return [k]
    found: list[FromPairs | FromBlocks] = []
    for part in k.parts():
        found += user_functions(part)
    return found


def calls_per_pair(k: Similarity) -> int:
    """Return the calls of users' functions that one pair takes; 0 if there are none."""
    return sum(map(attrgetter("repeats"), user_functions(k)))


def may_be_costly(k: Similarity) -> bool:
    """Whether a similarity calls a function of pairs that is not stated to be cheap by ``cost=0``."""
    costs = set(map(attrgetter("cost"), user_functions(k)))
    return bool(costs - {0})


def cost_per_call(k: Similarity) -> float | None:
    """Return the mean cost of a call; None if no function states one."""
    functions = user_functions(k)
    stated = list(filter(None, map(attrgetter("cost"), functions)))
    return sum(stated) / len(functions) if stated else None


def calls_taken(meter: Meter, k: Similarity, pairs: int) -> Calls:
    """Return the calls that a meter counted, with those of a prediction that takes a number of similarities."""
    each = pairs * calls_per_pair(k)
    return Calls.of(meter, cost_per_call(k), float(each), each)

"""Factors and solutions of symmetric systems: by LAPACK, which Ctrl-C can interrupt, on a device, and by steps.

SciPy holds the GIL while LAPACK works, so that no thread, and no signal, is served for as long as it takes: an hour for
20,000 rows. Called by its address, the same routine of the same library gives the same numbers without the GIL.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, cython_lapack, eigh, get_lapack_funcs
from scipy.linalg.lapack import dpotri, dpotrs

from similitude.compute import as_numpy, namespace
from similitude.compute.engines import factorizing
from similitude.support import interruptibly

EPS = float(np.finfo(np.float64).eps)

LONG_FACTORIZATION = 1000
"""Number of rows from which a factorization takes long enough to be interrupted."""


def symmetric_eigen(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues in increasing order and the eigenvectors; the lower triangle of M is read and overwritten.

    >>> values, V = symmetric_eigen(np.array([[2.0, 0.0], [1.0, 2.0]], order="F"))
    >>> values
    array([1., 3.])
    """
    call = _routine("dsyevd")
    if call is None or len(M) < LONG_FACTORIZATION or M.dtype != np.float64:
        (syevd,) = get_lapack_funcs(("syevd",), (M,))  # without the checks of SciPy, which take longer than few rows
        values, V, failed = syevd(M, lower=True, overwrite_a=True)
        if failed:
            raise LinAlgError("the eigenvalues did not converge")
        return values, V
    n = len(M)
    values = np.empty(n)
    V = np.require(M, requirements=["F", "W"])

    def solve(work: np.ndarray, indices: np.ndarray, sizes: tuple[int, int]) -> int:
        return call(b"V", b"L", n, V, n, values, work, sizes[0], indices, sizes[1])

    _decompose(n, solve)
    return values, V


def some_eigen(M: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues number `first` to `last`, increasing, and eigenvectors; the lower triangle is overwritten.

    >>> values, V = some_eigen(np.array([[2.0, 0.0], [1.0, 2.0]], order="F"), 1, 1)
    >>> values, V.shape
    (array([3.]), (2, 1))
    """
    call = _routine("dsyevr")
    if call is None or len(M) < LONG_FACTORIZATION or M.dtype != np.float64:
        if (first, last) == (0, len(M) - 1):
            return tuple(eigh(M, overwrite_a=True, check_finite=False))
        return tuple(eigh(M, overwrite_a=True, check_finite=False, subset_by_index=(first, last)))
    n = len(M)
    count = last - first + 1
    A = np.require(M, requirements=["F", "W"])
    values = np.empty(n)
    V = np.empty((n, count), order="F")
    support = np.empty(2 * n, np.intc)
    nothing = np.zeros(1)
    found = np.zeros(1, np.intc)  # no limits of eigenvalues, the smallest tolerance

    def solve(work: np.ndarray, indices: np.ndarray, sizes: tuple[int, int]) -> int:
        limits = (nothing, nothing, first + 1, last + 1, nothing)
        room = (work, sizes[0], indices, sizes[1])
        return call(b"V", b"I", b"L", n, A, n, *limits, found, values, V, n, support, *room)

    _decompose(n, solve)
    return values[:count], V


def _decompose(n: int, solve: Callable[[np.ndarray, np.ndarray, tuple[int, int]], int]) -> None:
    """Call a routine for the eigenvalues of n rows: first to ask how much room it needs, then with that room."""
    work = np.empty(1)
    indices = np.empty(1, np.intc)
    solve(work, indices, (-1, -1))
    work = np.empty(int(work[0]))
    indices = np.empty(int(indices[0]), np.intc)
    with factorizing(n):
        failed = interruptibly(solve, work, indices, (len(work), len(indices)))
    if failed:
        raise LinAlgError("the eigenvalues did not converge")


def upper_cholesky(M: np.ndarray) -> np.ndarray:
    """Return the upper Cholesky factor of M, whose upper triangle is read and overwritten; raise LinAlgError.

    >>> upper_cholesky(np.array([[4.0, 2.0], [0.0, 5.0]], order="F"))
    array([[2., 1.],
           [0., 2.]])
    """
    call = _routine("dpotrf")
    in_place = M.dtype == np.float64 and M.flags.f_contiguous and M.flags.writeable
    if call is None or len(M) < LONG_FACTORIZATION or not in_place:
        return np.asarray(cholesky(M, overwrite_a=True, check_finite=False))
    with factorizing(len(M)):
        failed = interruptibly(call, b"U", len(M), M, len(M))
    if failed:
        raise LinAlgError("the matrix is not positive definite")
    for j in range(len(M)):
        M[j + 1 :, j] = 0.0
    return M


@functools.lru_cache
def _routine(name: str) -> Any:
    """Return a routine of SciPy's LAPACK with 32-bit integers, as a function that returns its info; or None."""
    capsule = cython_lapack.__pyx_capi__.get(name)
    if capsule is None:
        return None
    described = ctypes.pythonapi.PyCapsule_GetName
    address = ctypes.pythonapi.PyCapsule_GetPointer
    described.restype = ctypes.c_char_p
    described.argtypes = [ctypes.py_object]
    address.restype = ctypes.c_void_p
    address.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = described(capsule)
    kinds = signature.decode().partition("(")[2].rstrip(")").split(",")
    if any(kind.strip() not in ("char *", "int *") and "cython_lapack_d *" not in kind for kind in kinds):
        return None
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kinds))(address(capsule, signature))

    def call(*arguments: Any) -> int:
        info = ctypes.c_int(0)
        kept = [_by_address(one) for one in (*arguments, info)]
        function(*[pointer for _, pointer in kept])
        return info.value

    call.__name__ = name
    return call


def _by_address(value: Any) -> tuple[Any, Any]:
    """Return a value that stays alive, and its address."""
    if isinstance(value, np.ndarray):
        return value, value.ctypes.data
    if isinstance(value, bytes):
        value = ctypes.create_string_buffer(value)
    elif isinstance(value, int):
        value = ctypes.c_int(value)
    return value, ctypes.addressof(value)


class ShiftedFactors:
    """Approximate inverses of gram + shift I, for shifts on a geometric grid; the last few factors are kept."""

    ratio = 4.0  # of neighboring shifts for which a matrix is factored: the nearest one serves for all between

    def __init__(self, gram: Any) -> None:
        self.gram = gram
        self.scale = max(float(gram.diagonal().max()), 0.0) or 1.0
        self._kept: dict[int, Any] = {}

    def solve(self, shifts: Any, B: Any) -> Any:
        """Return (gram + shift I)^-1 b for each column b of B and its shift, rounded to the grid."""
        relative = np.clip(as_numpy(shifts) / self.scale, EPS, 1e100)
        places = np.rint(np.log(relative) / math.log(self.ratio)).astype(int)
        answer = namespace(B).empty_like(B)
        for place in np.unique(places):
            mine = np.flatnonzero(places == place)
            answer[:, mine] = solve(self._factor(int(place)), B[:, mine])
        return answer

    def _factor(self, place: int) -> Any:
        """Return the factor for one point of the grid."""
        factor = self._kept.pop(place, None)
        if factor is None:
            factor = factorize(self.gram, self.scale * self.ratio**place)
        self._kept[place] = factor
        # factors kept at a time
        while len(self._kept) > 4:
            del self._kept[next(iter(self._kept))]
        return factor


def factorize(gram: Any, shift: Any) -> Any:
    """Return the upper Cholesky factor of gram + diag(shift), of which an array's upper triangle is read.

    If rounding leaves the matrix indefinite, its diagonal grows by the smallest power of 100 times the rounding error
    that helps: for a preconditioner this costs only a few more steps.
    """
    diagonal = gram.diagonal().clip(0.0) + shift
    diagonal[diagonal == 0] = 1.0
    growth = 0.0
    while True:
        factor = upper_factor(gram, diagonal * (1 + growth))
        if factor is not None:
            return factor
        growth = 100 * max(growth, EPS)


def upper_factor(matrix: Any, diagonal: Any) -> Any:
    """Return the upper Cholesky factor of a matrix with its diagonal replaced; None if it is not positive definite."""
    if isinstance(matrix, np.ndarray):
        changed = matrix.copy(order="F")
        np.fill_diagonal(changed, diagonal)
        try:
            return upper_cholesky(changed)
        except LinAlgError:
            return None
    there = matrix.clone()
    there.diagonal().copy_(diagonal)
    factor, failed = namespace(matrix).linalg.cholesky_ex(there, upper=True)
    return None if bool(failed) else factor


def solve(factor: Any, B: Any) -> Any:
    """Return the inverse of U'U times B, for an upper factor U."""
    if isinstance(factor, np.ndarray):
        return dpotrs(factor, B)[0].reshape(B.shape)  # SciPy's checks would take longer than small systems
    triangular = namespace(factor).linalg.solve_triangular
    columns = B.reshape(len(B), -1)
    return triangular(factor, triangular(factor.T, columns, upper=False), upper=True).reshape(B.shape)


def inverse(factor: np.ndarray) -> np.ndarray:
    """Return the inverse of U'U, for an upper factor U.

    >>> inverse(np.array([[2.0, 0.0], [0.0, 1.0]]))
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """
    upper = dpotri(factor)[0]  # zero below the diagonal, as the factor is
    whole: np.ndarray = upper + upper.T
    np.fill_diagonal(whole, upper.diagonal())
    return whole


def conjugate_steps(
    matrix: Callable[[Any], Any], preconditioner: Callable[[Any], Any], goal: Any
) -> Iterator[tuple[Any, Any, Any]]:
    """Yield ever better z with matrix(z) = goal, what z leaves, and its square in the norm of the preconditioner.

    The first z is zero; the caller decides when to stop.
    """
    z = namespace(goal).zeros_like(goal)
    p = preconditioner(goal)
    squares = (goal * p).sum(0)
    while True:
        yield z, goal, squares
        q = matrix(p)
        length = _quotients(squares, (p * q).sum(0))
        z = z + length * p
        goal = goal - length * q
        way = preconditioner(goal)
        before = squares
        squares = (goal * way).sum(0)
        p = way + _quotients(squares, before) * p


def _quotients(a: Any, b: Any) -> Any:
    """Return a / b, and 0 where b is not positive: a column that needs no more steps."""
    where = namespace(a).where
    return where(b > 0, a / where(b > 0, b, 1.0), 0.0)

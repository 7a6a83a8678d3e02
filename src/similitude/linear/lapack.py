"""Factorizations of large matrices by LAPACK that Ctrl-C can interrupt.

SciPy holds the GIL while LAPACK works, so that no thread, and no signal, is served for as long as it takes: an hour for
20,000 rows. Called by its address, the same routine of the same library gives the same numbers without the GIL.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, cython_lapack, eigh

from similitude.compute.engines import factorizing
from similitude.support import interruptibly

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
        values, V = eigh(M, overwrite_a=True, check_finite=False, driver="evd")
        return values, V
    n, values = len(M), np.empty(len(M))
    V = M if M.flags.f_contiguous and M.flags.writeable else M.copy(order="F")

    def solve(work: np.ndarray, indices: np.ndarray, sizes: tuple[int, int]) -> int:
        return call(b"V", b"L", n, V, n, values, work, sizes[0], indices, sizes[1])

    _decompose(n, solve)
    return values, V


def some_eigen(M: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues number `first` to `last` in increasing order, and their eigenvectors.

    The lower triangle of M is read and overwritten.

    >>> values, V = some_eigen(np.array([[2.0, 0.0], [1.0, 2.0]], order="F"), 1, 1)
    >>> values, V.shape
    (array([3.]), (2, 1))
    """
    call = _routine("dsyevr")
    if call is None or len(M) < LONG_FACTORIZATION or M.dtype != np.float64:
        some = None if (first, last) == (0, len(M) - 1) else (first, last)
        values, V = eigh(M, overwrite_a=True, check_finite=False, subset_by_index=some)
        return values, V
    n, count = len(M), last - first + 1
    A = M if M.flags.f_contiguous and M.flags.writeable else M.copy(order="F")
    values, V, support = np.empty(n), np.empty((n, count), order="F"), np.empty(2 * n, np.intc)
    nothing, found = np.zeros(1), np.zeros(1, np.intc)  # no limits of eigenvalues, the smallest tolerance

    def solve(work: np.ndarray, indices: np.ndarray, sizes: tuple[int, int]) -> int:
        limits = (nothing, nothing, first + 1, last + 1, nothing)
        room = (work, sizes[0], indices, sizes[1])
        return call(b"V", b"I", b"L", n, A, n, *limits, found, values, V, n, support, *room)

    _decompose(n, solve)
    return values[:count], V


def _decompose(n: int, solve: Callable[[np.ndarray, np.ndarray, tuple[int, int]], int]) -> None:
    """Call a routine for the eigenvalues of n rows: first to ask how much room it needs, then with that room."""
    work, indices = np.empty(1), np.empty(1, np.intc)
    solve(work, indices, (-1, -1))
    work, indices = np.empty(int(work[0])), np.empty(int(indices[0]), np.intc)
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
    """Return a routine of SciPy's LAPACK that takes arrays, numbers and letters and returns its info; None if unknown.

    Numbers are 32-bit integers, which the description of the routine must say.
    """
    capsule = cython_lapack.__pyx_capi__.get(name)
    if capsule is None:
        return None
    described, address = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    described.restype, described.argtypes = ctypes.c_char_p, [ctypes.py_object]
    address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
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

"""Counting and slicing objects, raw or encoded, whatever they are stored in.

An *encoding* is what ``Similarity.encode`` returns: an array, a sparse matrix, a tensor, a list, a tuple of
these (one entry per part of a composite), or any class with ``__len__`` and ``__getitem__(slice | int array)``.
Nobody else looks inside one: :func:`count` and :func:`rows` are the only two ways in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from similitude.support.errors import brief
from similitude.support.fingerprints import digest

Encoding = Any
Rows = slice | np.ndarray


def count(encoding: Encoding) -> int:
    """Return the number of encoded objects.

    >>> count(np.zeros((3, 2))), count(["a", "b"]), count((np.zeros((3, 2)), [1, 2, 3]))
    (3, 2, 3)
    """
    if isinstance(encoding, tuple):
        return count(encoding[0])
    return int(encoding.shape[0]) if hasattr(encoding, "shape") else len(encoding)


def rows(encoding: Encoding, which: Rows) -> Encoding:
    """Return some of the encoded objects, by slice or by integer array.

    >>> rows((np.array([1., 2., 3.]), ["a", "b", "c"]), slice(1, 3))
    (array([2., 3.]), ['b', 'c'])
    """
    if isinstance(encoding, tuple):
        return tuple(rows(part, which) for part in encoding)
    if isinstance(encoding, list) and not isinstance(which, slice):
        return [encoding[i] for i in which]
    return encoding[which]


def keys(encoding: Encoding) -> np.ndarray:
    """Return one 64-bit number per object, equal for equal objects.

    >>> a, b, c = keys(["ab", "cd", "ab"]).tolist()
    >>> a == c, a == b
    (True, False)
    """
    if isinstance(encoding, list):
        spelled = [digest(one) for one in encoding]
    elif isinstance(encoding, np.ndarray) and encoding.dtype != object:
        spelled = [digest(one) for one in encoding + 0]  # + 0: 0.0 and -0.0 are equal
    else:
        spelled = [digest(rows(encoding, slice(i, i + 1))) for i in range(count(encoding))]
    return np.array([int.from_bytes(one, "little") for one in spelled], dtype=np.uint64)


def namespace(array: Any) -> Any:
    """Return the module whose functions work on this array: NumPy, or the one that made a tensor."""
    if isinstance(array, (np.ndarray, np.generic)) or is_sparse(array):
        return np
    from array_api_compat import array_namespace

    return array_namespace(array)


def is_tensor(X: Any) -> bool:
    """Tell whether X is a torch tensor, without importing torch."""
    return any(cls.__module__.split(".")[0] == "torch" and cls.__name__ == "Tensor" for cls in type(X).__mro__)


def tensor_in(encoding: Encoding) -> Any:
    """Return the first tensor in an encoding; None where there is none."""
    if isinstance(encoding, tuple):
        return next((found for found in map(tensor_in, encoding) if found is not None), None)
    return encoding if is_tensor(encoding) else None


def as_numpy(array: Any) -> np.ndarray:
    """Return an array or a tensor, on whatever device, as a NumPy array.

    >>> as_numpy([1.0, 2.0])
    array([1., 2.])
    """
    return np.asarray(array.detach().cpu() if is_tensor(array) else array)


def in_precision(array: Any, dtype: Any) -> Any:
    """Return an array or a tensor in another precision, without a copy where it has that already.

    >>> in_precision(np.array([1, 2]), np.float64)
    array([1., 2.])
    """
    return array.astype(dtype, copy=False) if hasattr(array, "astype") else array.to(dtype)


def beside(array: np.ndarray, like: Any) -> Any:
    """Return an array where another one is: as a tensor on its device, or as it is.

    >>> beside(np.array([1.0]), np.zeros(3))
    array([1.])
    """
    if not is_tensor(like):
        return array
    return namespace(like).asarray(np.require(array, requirements=["W"]), device=like.device)


def moved(encoding: Encoding, move: Callable[[Any], Any]) -> Encoding:
    """Return the same with every array and tensor in it passed through `move`.

    Looks into tuples, and into classes that have a method ``moved(move)``; everything else stays as it is.

    >>> moved((np.array([1., 2.]), ["a", "b"]), lambda array: 2 * array)
    (array([2., 4.]), ['a', 'b'])
    """
    if isinstance(encoding, tuple):
        return tuple(moved(part, move) for part in encoding)
    if hasattr(encoding, "moved"):
        return encoding.moved(move)
    movable = is_tensor(encoding) or (isinstance(encoding, np.ndarray) and encoding.dtype.kind in "fiub")
    return move(encoding) if movable else encoding


def is_table(X: Any) -> bool:
    """Tell whether X is a pandas or polars data frame, without importing either."""
    return _is_of(X, "pandas", "polars") and hasattr(X, "columns")


def is_column(X: Any) -> bool:
    """Tell whether X is a pandas or polars series, without importing either."""
    return _is_of(X, "pandas", "polars") and hasattr(X, "dtype")


def _is_of(X: Any, *libraries: str) -> bool:
    return any(cls.__module__.split(".")[0] in libraries for cls in type(X).__mro__)


def is_sparse(X: Any) -> bool:
    """Tell whether X is a scipy sparse matrix or array, without importing scipy."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def itemsize(X: Any) -> int:
    """Return the bytes that one similarity value will take for objects stored or encoded like X."""
    if isinstance(X, tuple):
        return itemsize(X[0])
    return 4 if str(getattr(X, "dtype", "")).rsplit(".", 1)[-1] in ("float32", "float16") else 8


def check_objects(X: Any, name: str = "X") -> int:
    """Return how many objects X holds; refuse what is not a sequence of at least one object."""
    if isinstance(X, (str, bytes)):
        raise TypeError(f"{name} is one string, {brief(X)}: pass a list of objects, for instance [{brief(X)}]")
    is_sequence = hasattr(X, "shape") or (hasattr(X, "__len__") and hasattr(X, "__getitem__"))
    if isinstance(X, (Mapping, Set)) or not is_sequence:
        raise TypeError(
            f"{name} must be a sequence of objects (a list, an array, a data frame), got {type(X).__name__}"
        )
    if hasattr(X, "shape") and len(X.shape) == 0:
        raise TypeError(f"{name} is a single number, {brief(X)}: pass a sequence of objects")
    n = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if n == 0:
        raise ValueError(f"{name} holds no objects: at least one is needed")
    return n


def check_columns(X: Any) -> list[Any]:
    """Return the names of a table's columns; refuse none, and one that occurs twice."""
    columns = list(X.columns)
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if not columns or twice is not None:
        raise ValueError("the table has no columns" if not columns else f"column {twice!r} occurs twice")
    return columns


def take(X: Any, which: np.ndarray) -> Any:
    """Return some of the raw objects, stored as they were.

    >>> take(["a", "b", "c"], np.array([2, 0]))
    ['c', 'a']
    """
    if hasattr(X, "iloc"):
        return X.iloc[which]
    if hasattr(X, "shape"):
        return X[which]
    return [X[i] for i in which]


def join(X: Any, Z: Any) -> Any:
    """Return the raw objects of X followed by those of Z, stored as they were.

    >>> join(np.array([[1., 2.]]), np.array([[3., 4.]])), join(["a"], ["b"])
    (array([[1., 2.],
           [3., 4.]]), ['a', 'b'])
    """
    if is_table(X) or is_column(X):
        import importlib

        library = importlib.import_module(type(X).__module__.split(".")[0])
        return library.concat([X, Z])
    if is_sparse(X):
        from scipy.sparse import vstack

        return vstack([X, Z], format="csr")
    if hasattr(X, "shape"):
        xp = namespace(X)
        return np.concatenate([X, Z]) if xp is np else xp.concat([X, Z])
    return [*X, *Z]


def join_all(parts: Sequence[Any]) -> Any:
    """Return the raw objects of all parts, one after the other; halves first, so that few are copied often.

    >>> join_all([["a"], ["b", "c"], ["d"]])
    ['a', 'b', 'c', 'd']
    """
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return join(join_all(parts[:half]), join_all(parts[half:]))


def as_objects(X: Any) -> list[Any]:
    """Return the objects in X as a list: rows of an array, row dicts of a table, values of a single column.

    >>> as_objects(np.array([[1, 2], [3, 4]]))
    [array([1, 2]), array([3, 4])]
    """
    check_objects(X)
    if is_table(X):
        columns = check_columns(X)
        if len(columns) == 1:
            return list(X.iloc[:, 0] if hasattr(X, "iloc") else X.to_series())
        cells = X.itertuples(index=False, name=None) if hasattr(X, "itertuples") else X.iter_rows()
        return [dict(zip(columns, row, strict=True)) for row in cells]
    if is_sparse(X):
        X = X.tocsr()
        return [X[i : i + 1] for i in range(X.shape[0])]
    return list(X)

"""Objects, raw or encoded, whatever they are stored in: counted, sliced, joined, and turned into lists or matrices.

An *encoding* is what ``Similarity.encode`` returns: an array, a sparse matrix, a tensor, a data frame, a list, a tuple
of these (one entry per part of a composite), or any class with ``__len__`` and ``__getitem__(slice | int array)``. All
other code treats it as opaque and uses :func:`count` and :func:`rows`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from functools import lru_cache
from itertools import chain, repeat
from numbers import Integral, Real
from typing import Any

import numpy as np

from similitude.support import PrecisionWarning, brief, digest

Encoding = Any
Rows = slice | np.ndarray
FLOATS = (np.float32, np.float64)
LARGEST_EXACT = 2**53
"""The integers up to here are floating point numbers; of larger ones, some are not."""


# Encodings.


def count(encoding: Encoding) -> int:
    """Return the number of encoded objects."""
    if isinstance(encoding, tuple):
        return count(encoding[0])
    return int(encoding.shape[0]) if hasattr(encoding, "shape") else len(encoding)


def rows(encoding: Encoding, which: Rows) -> Encoding:
    """Return some of the encoded objects, by slice or by integer array."""
    if isinstance(encoding, tuple):
        return tuple(map(rows, encoding, repeat(which)))
    if isinstance(encoding, list) and not isinstance(which, slice):
        return list(map(encoding.__getitem__, which))
    return encoding.iloc[which] if hasattr(encoding, "iloc") else encoding[which]


def keys(encoding: Encoding) -> np.ndarray:
    """Return a 64-bit key per encoded object, equal for equal objects."""
    if isinstance(encoding, list):
        found = map(digest, encoding)
    elif isinstance(encoding, np.ndarray) and encoding.dtype != object:
        found = map(digest, encoding if encoding.dtype.kind == "V" else encoding + 0)  # + 0: 0.0 and -0.0 are equal
    else:
        found = map(digest, [rows(encoding, slice(i, i + 1)) for i in range(count(encoding))])
    return np.frombuffer(b"".join(found), "<u8").astype(np.uint64)


def fingerprints(encoding: Encoding) -> np.ndarray:
    """Return a 64-bit number per object, equal for equal ones of the same encoding; of N, two agree with N^2 / 2^65."""
    if isinstance(encoding, tuple):
        return _mixed_all(count(encoding), map(fingerprints, encoding))
    if hasattr(encoding, "fingerprints"):
        own: np.ndarray = encoding.fingerprints()
        return own
    if isinstance(encoding, np.ndarray) and encoding.dtype.kind in "fiub" and encoding.ndim <= 2:
        return mixed_entries(encoding)
    return keys(encoding)


def mixed_entries(values: np.ndarray) -> np.ndarray:
    """Return a 64-bit number for each number, or for each row of numbers."""
    wide = (values + 0).astype({"f": np.float64}.get(values.dtype.kind, np.int64))  # + 0: 0.0 and -0.0 are equal
    bits = wide.view(np.uint64)
    return mixed(bits) if bits.ndim == 1 else _mixed_all(len(bits), bits.T)


def _mixed_all(n: int, parts: Iterable[np.ndarray]) -> np.ndarray:
    found = np.zeros(n, np.uint64)
    for one in parts:
        found = mixed(found + one)
    return found


def mixed(x: np.ndarray) -> np.ndarray:
    """Return numbers of 64 bits that each depend on all bits of one given, different for different ones."""
    x = (x ^ (x >> np.uint64(32)) ^ np.uint64(0x5851F42D4C957F2D)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return x ^ (x >> np.uint64(32))


def moved(encoding: Encoding, move: Callable[[Any], Any]) -> Encoding:
    """Return the encoding with `move` applied to each array and tensor, also in classes with a method ``moved``."""
    if isinstance(encoding, tuple):
        return tuple(map(moved, encoding, repeat(move)))
    if hasattr(encoding, "moved"):
        return encoding.moved(move)
    if is_tensor(encoding) or (isinstance(encoding, np.ndarray) and encoding.dtype.kind in "fiub"):
        return move(encoding)
    return encoding


def nbytes(encoding: Encoding) -> int:
    """Return the number of bytes of an encoding; 0 for parts of unknown size."""
    if isinstance(encoding, tuple):
        return sum(map(nbytes, encoding))
    return int(getattr(encoding, "nbytes", 0))


def tensor_in(encoding: Encoding) -> Any:
    """Return the first tensor in an encoding, or None."""
    if isinstance(encoding, (np.ndarray, list)):
        return None
    arrays: list[Any] = []

    def noted(array: Any) -> Any:
        arrays.append(array)
        return array

    moved(encoding, noted)
    return next(filter(is_tensor, arrays), None)


def itemsize(X: Any) -> int:
    """Return the number of bytes of one similarity value of objects that are stored or encoded like X."""
    if isinstance(X, tuple):
        return itemsize(X[0])
    return 4 if str(getattr(X, "dtype", "")).rsplit(".", 1)[-1] in ("float32", "float16") else 8


# Arrays and tensors.


def namespace(array: Any) -> Any:
    """Return the module whose functions work on this array: NumPy, or the library of a tensor."""
    if isinstance(array, (np.ndarray, np.generic)) or is_sparse(array):
        return np
    from array_api_compat import array_namespace

    return array_namespace(array)


def as_numpy(array: Any) -> np.ndarray:
    """Return an array, or a tensor on any device, as a NumPy array."""
    if isinstance(array, np.ndarray):
        return np.asarray(array)
    return np.asarray(array.detach().cpu() if is_tensor(array) else array)


def in_precision(array: Any, dtype: Any) -> Any:
    """Return an array or a tensor in another precision, without a copy if it already has it."""
    return array.astype(dtype, copy=False) if hasattr(array, "astype") else array.to(dtype)


def concatenated(parts: Sequence[Any]) -> Any:
    """Return the rows of several arrays, or tensors, one after the other; one array is returned as it is."""
    if len(parts) == 1:
        return parts[0]
    xp = namespace(parts[0])
    return np.concatenate(parts) if xp is np else xp.concat(list(parts))


def beside(array: np.ndarray, like: Any) -> Any:
    """Return an array as a tensor on the device of `like`; unchanged if `like` is an array."""
    if not is_tensor(like):
        return array
    return namespace(like).asarray(np.require(array, requirements=["W"]), device=like.device)


def first_nonfinite(values: Any) -> Any:
    """Return the position of the first entry that is not finite, or None."""
    with np.errstate(all="ignore"):  # the sum of finite values may overflow: look closer then
        if math.isfinite(float(values.sum())):
            return None
    for bad in np.argwhere(~np.isfinite(as_numpy(values))):
        return tuple(bad.tolist())
    return None


# What raw objects are stored in, recognized without importing the library.


@lru_cache(maxsize=256)
def _kind_of(cls: Any) -> str:
    """Return "tensor" for torch tensors, "frame" for classes of pandas and polars, "" for all others."""
    for base in cls.__mro__:
        library = base.__module__.split(".")[0]
        if (library, base.__name__) == ("torch", "Tensor"):
            return "tensor"
        if library in ("pandas", "polars"):
            return "frame"
    return ""


def is_tensor(X: Any) -> bool:
    """Tell whether X is a torch tensor."""
    return _kind_of(X.__class__) == "tensor"


def is_table(X: Any) -> bool:
    """Tell whether X is a pandas or polars data frame."""
    return _kind_of(X.__class__) == "frame" and hasattr(X, "columns")


def is_column(X: Any) -> bool:
    """Tell whether X is a pandas or polars series."""
    return _kind_of(X.__class__) == "frame" and hasattr(X, "dtype")


def is_sparse(X: Any) -> bool:
    """Tell whether X is a scipy sparse matrix or array."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")


def is_distributed(X: Any) -> bool:
    """Tell whether X is a Dask collection."""
    return not isinstance(X, type) and hasattr(X, "__dask_graph__")


def in_memory(X: Any) -> bool:
    """Tell whether X is surely in memory: a list, a tuple, or an array that is not memory-mapped."""
    return isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and not isinstance(X, np.memmap))


# Raw objects.


def check_objects(X: Any, name: str = "X") -> int:
    """Validate a sequence of at least one object and return its length."""
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


def check_count(encoding: Encoding, objects: Any, name: str, similarity: Any) -> Encoding:
    """Return an encoding; raise ValueError if it holds another number of objects than were encoded."""
    n = check_objects(objects, name)
    if count(encoding) != n:
        raise ValueError(f"{similarity!r} encoded {n} objects as {count(encoding)}")
    return encoding


def check_columns(X: Any) -> list[Any]:
    """Validate that a table has columns with different names, and return the names."""
    columns = list(X.columns)
    if not columns:
        raise ValueError("the table has no columns")
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"column {twice!r} occurs twice")
    return columns


def take(X: Any, which: np.ndarray) -> Any:
    """Return some of the raw objects, in the container type of X."""
    return rows(X, which) if hasattr(X, "shape") else list(map(X.__getitem__, which))


def join(X: Any, Z: Any) -> Any:
    """Return the raw objects of X followed by those of Z, in the container type of X."""
    return join_all([X, Z])


def join_all(parts: Sequence[Any]) -> Any:
    """Return the raw objects of all parts in order, in the container type of the first part."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if is_table(first) or is_column(first):
        import importlib

        return importlib.import_module(type(first).__module__.split(".")[0]).concat(list(parts))
    if is_sparse(first):
        from scipy.sparse import vstack

        return vstack(list(parts), format="csr")
    return concatenated(parts) if hasattr(first, "shape") else list(chain.from_iterable(parts))


def as_objects(X: Any) -> list[Any]:
    """Return the objects in X as a list: rows of an array, row dicts of a table, values of a single column."""
    check_objects(X)
    if isinstance(X, (list, tuple)):
        return list(X)
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


# Vectors.


def as_matrix(X: Any) -> Any:
    """Return vectors, or numbers, as a matrix of float32 or float64 with one per row, without a copy if possible."""
    check_objects(X)
    if not isinstance(X, np.ndarray):
        X = _stored(X)
        if is_sparse(X):
            return _sparse_matrix(X)
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError("a masked array with masked values: vector kernels need every value")
    if isinstance(X, np.ndarray) or namespace(X) is np:
        X = np.asarray(X)
    if X.ndim == 1:
        X = X[:, None]
    if X.ndim != 2:
        raise ValueError(
            f"vector kernels need a matrix with one vector per row, got an array of shape {tuple(X.shape)}"
        )
    if X.shape[1] == 0:
        raise ValueError("the vectors have no entries: vector kernels need at least one column")
    if X.dtype not in FLOATS:
        X = _as_floats(X)
    bad = first_nonfinite(X)
    if bad is not None:
        i, j = bad
        raise ValueError(f"row {i}, column {j} is {float(X[i, j])}: vector kernels need finite numbers")
    return X


def _stored(X: Any) -> Any:
    """Return vectors of a data frame or a list as one array; other containers unchanged."""
    if is_table(X) or is_column(X):
        table = X if is_table(X) else X.to_frame()
        return np.column_stack([_column_floats(name, table[name].to_numpy()) for name in check_columns(table)])
    return X if hasattr(X, "shape") else stacked(list(X))


def _as_floats(X: Any) -> Any:
    """Return an array or a tensor in float32 or float64 and native byte order."""
    kind = str(X.dtype).rsplit(".", 1)[-1]
    xp = namespace(X)
    if kind in ("float32", "float64"):
        return X.astype(X.dtype.newbyteorder("=")) if xp is np else X
    if kind.startswith("complex"):
        raise TypeError("vector kernels need real numbers, not complex ones")
    wanted = xp.float32 if kind in ("float16", "bfloat16") else xp.float64
    if xp is not np:
        return xp.astype(X, wanted)
    if X.dtype.kind in "fiub":
        warn_if_rounded(X)
        return X.astype(wanted)
    for (i, j), value in np.ndenumerate(X):
        if not isinstance(value, (Real, Decimal)):
            raise TypeError(
                f"vector kernels need numbers, row {i}, column {j} is {brief(value)}; for other objects bring your own "
                f"function with as_similarity(f), or turn them into vectors with k.pullback(phi)"
            )
    warn_if_rounded(X)
    return X.astype(np.float64)


def warn_if_rounded(values: Any, name: str = "X") -> None:
    """Warn if there are integers that no floating point number holds, so that close ones become equal."""
    kind = getattr(getattr(values, "dtype", None), "kind", "f")
    ends: list[int] = []
    if kind == "O":
        ends = [int(one) for one in np.asarray(values).flat if isinstance(one, Integral)]
    elif kind in "iu" and values.dtype.itemsize == 8 and values.size:
        ends = [int(values.max()), int(values.min())]
    found = [one for one in ends if abs(one) > LARGEST_EXACT]
    if found:
        warnings.warn(
            f"{name} holds integers beyond 2^53 such as {found[0]}: they are rounded to floating point numbers, "
            f"so that close ones become equal; subtract a constant before, or leave such a column out",
            PrecisionWarning,
            stacklevel=2,
        )


def _sparse_matrix(X: Any) -> Any:
    """Return a sparse matrix as CSR of floats in canonical format."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    if X.dtype.kind not in "fiub":
        raise TypeError(f"vector kernels need real numbers, not {X.dtype}")
    warn_if_rounded(X.data)
    if X.dtype not in FLOATS:
        X = X.astype(np.float64)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(X.data))
    if len(bad):
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        raise ValueError(
            f"row {row}, column {X.indices[bad[0]]} is {X.data[bad[0]]}: vector kernels need finite numbers"
        )
    return X


def _column_floats(name: Any, values: np.ndarray) -> np.ndarray:
    """Return one column as floats; errors name the column."""
    if values.dtype == object:
        missing = np.array([value is None or str(value) == "<NA>" or value != value for value in values])
        if all(isinstance(value, Real) for value in values[~missing]):
            values = np.where(missing, np.nan, values).astype(np.float64)
    if values.dtype.kind not in "fiub":
        raise TypeError(f"column {name!r} holds {brief(values[0])}: vector kernels need numbers in every column")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(
            f"column {name!r} holds {values[bad[0]]} in row {bad[0]}: vector kernels need finite numbers, so fill or "
            f"drop missing values first"
        )
    warn_if_rounded(values, f"column {name!r}")
    return values.astype(np.float32 if values.dtype in (np.float32, np.float16) else np.float64)


def stacked(vectors: list[Any]) -> Any:
    """Return a list of vectors as one matrix; errors name the first vector that does not fit."""
    vectors = [vector.to_numpy() if is_column(vector) else vector for vector in vectors]
    first = vectors[0]
    if is_sparse(first):
        from scipy import sparse

        return sparse.vstack(vectors, format="csr")
    for i, vector in enumerate(vectors):
        if isinstance(vector, (str, bytes, dict, set)) or vector is None:
            raise TypeError(
                f"vector kernels need vectors of numbers, object {i} is {brief(vector)}; for other objects bring your "
                f"own function with as_similarity(f), or turn them into vectors with k.pullback(phi)"
            )
        if np.shape(vector) != np.shape(first):
            raise ValueError(
                f"vectors must all have the same dimension: object {i} has shape {np.shape(vector)}, object 0 has "
                f"shape {np.shape(first)}"
            )
    return namespace(first).stack(vectors) if is_tensor(first) else np.asarray(vectors)

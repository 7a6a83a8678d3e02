"""Arrays: npz files, of NumPy arrays or the parts of a sparse matrix, and svmlight files, as LIBSVM writes them."""

from __future__ import annotations

import io
import sys
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from similitude.compute import LARGEST_EXACT, count
from similitude.data.files.file_errors import listed, unknown_column
from similitude.data.files.schema import Data, Request, Schema
from similitude.data.files.text_files import lines
from similitude.data.limits import ROWS_OF_ANY, ROWS_PER_VALUE
from similitude.support import FileError, brief

SPARSE_KEYS = ("data", "indices", "indptr", "shape")
"""The parts of a sparse matrix, as ``scipy.sparse.save_npz`` names them."""


def read_npz(stream: BinaryIO, request: Request, label_optional: bool, default: str | None = None) -> Data:
    """Read objects (the requested array, `default`, ``X``, or the only one besides the labels) and labels (``y``)."""
    if not zipfile.is_zipfile(stream):
        raise FileError("truncated, damaged or not an npz file")
    stream.seek(0)
    try:
        with np.load(stream, allow_pickle=False) as arrays:
            wanted = request.object
            if wanted is None and (default in arrays or f"{default}_{SPARSE_KEYS[0]}" in arrays):
                wanted = default
            label = _label_name(arrays, request.label, label_optional)
            name, objects = _objects(arrays, wanted, label)
            labels = None if label is None else _labels(label, _array(arrays, label))
    except (FileError, MemoryError):
        raise
    except Exception as error:  # of NumPy, which evaluates a header as Python does, and of zipfile: anything
        if "allow_pickle" in str(error):
            raise FileError("an array holds Python objects (pickle): these are never loaded") from None
        raise FileError(f"truncated, damaged or not an npz file: {brief(str(error))}") from None
    kind, objects, note = _as_kind(name, objects)
    if labels is not None and len(labels) != count(objects):
        raise FileError(f"there are {count(objects)} objects in {name!r} and {len(labels)} labels in {label!r}")
    return Data(objects, labels, Schema(kind, label, object=name), (note,))


def _label_name(arrays: Mapping[str, Any], wanted: str | None, label_optional: bool) -> str | None:
    if wanted is None or (label_optional and wanted not in arrays):
        return "y" if "y" in arrays else None
    if wanted not in arrays:
        raise unknown_column(wanted, arrays, "array")
    return wanted


def _objects(arrays: Mapping[str, Any], wanted: str | None, label: str | None) -> tuple[str, Any]:
    names = [name for name in arrays if name != label]
    for prefix in [f"{wanted}_"] if wanted else ["", "X_"]:
        if all(prefix + part in names for part in SPARSE_KEYS):
            return wanted or prefix.rstrip("_") or "data", _sparse(arrays, prefix)
    if wanted is not None and wanted not in names:
        raise unknown_column(wanted, names, "array")
    if wanted is None and "X" not in names and len(names) != 1:
        raise FileError(f"which array holds the objects? Choose one with object=: it has {listed(names)}")
    name = wanted or ("X" if "X" in names else names[0])
    return name, _array(arrays, name)


def _array(arrays: Mapping[str, Any], name: str) -> np.ndarray:
    """Return an array of the archive; other files in it come as bytes."""
    found = arrays[name]
    if not isinstance(found, np.ndarray):
        raise FileError(f"{name!r} in it is not an array")
    if found.dtype.kind == "U" and found.dtype.itemsize and found.size:
        letters = np.ascontiguousarray(found).reshape(-1).view(np.dtype(np.uint32).newbyteorder(found.dtype.byteorder))
        if letters.max() > sys.maxunicode:
            raise FileError(f"the array {name!r} has letters that do not exist")
    return found


def _sparse(arrays: Mapping[str, Any], prefix: str) -> Any:
    from scipy.sparse import csc_matrix, csr_matrix

    data, indices, indptr, shape = (_array(arrays, prefix + part) for part in SPARSE_KEYS)
    stored = _array(arrays, f"{prefix}format").item() if f"{prefix}format" in arrays else "csr"
    stored = stored.decode() if isinstance(stored, bytes) else stored
    if stored not in ("csr", "csc") or data.dtype.kind not in "biuf":
        raise FileError(f"a sparse matrix must be stored as csr or csc and hold numbers, got {stored} of {data.dtype}")
    if stored == "csc" and shape[0] > ROWS_PER_VALUE * len(data) + ROWS_OF_ANY:
        raise FileError(f"a sparse matrix of {shape[0]:,} rows has {len(data):,} values: leave out empty rows")
    matrix = (csr_matrix if stored == "csr" else csc_matrix)((_floating(data), indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)
    return matrix.tocsr()


def _floating(values: np.ndarray) -> np.ndarray:
    return values if values.dtype in (np.float32, np.float64) else values.astype(float)


def _labels(name: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8")
    if values.ndim != 1 or values.dtype.kind not in "biufU":
        raise FileError(f"the labels {name!r} are an array of shape {values.shape} of {values.dtype}: one value each")
    missing = values != values  # NaN
    if missing.any():
        raise FileError(f"the label {name!r} is missing in row {int(np.argmax(missing))}, in {missing.sum()} in all")
    return values


def _as_kind(name: str, values: Any) -> tuple[str, Any, str]:
    """Return the kind of objects in an array, the objects as similarities take them, and a note."""
    if hasattr(values, "indptr"):
        return "vectors", values, f"sparse vectors of {values.shape[1]} numbers"
    if values.dtype.kind == "U" and values.ndim == 1:
        return "strings", values.tolist(), f"array {name!r} as strings"
    if values.dtype.kind not in "biuf" or values.ndim not in (2, 3) or 0 in values.shape:
        raise FileError(
            f"the array {name!r} has shape {values.shape} and type {values.dtype}: numbers of shape (n, d) are "
            f"vectors, (n, time, channel) series, and text of shape (n,) strings"
        )
    values = _floating(values)
    if np.isnan(values).any():
        row = int(np.argmax(np.isnan(values).reshape(len(values), -1).any(axis=1)))
        raise FileError(f"the array {name!r} has a missing value (NaN) in row {row}: fill the gap")
    if values.ndim == 2:
        return "vectors", values, f"array {name!r} as vectors of {values.shape[1]} numbers"
    return "series", list(values), f"array {name!r} as series of {values.shape[1]} times and {values.shape[2]} channels"


def read_svmlight(stream: BinaryIO, schema: Schema | None) -> Data:
    """Read sparse vectors and labels; indices count from 1, or from 0 if one is 0, as at first by the schema."""
    from scipy.sparse import csr_matrix
    from sklearn.datasets import load_svmlight_file

    try:
        found, y, groups = load_svmlight_file(stream, zero_based=True, query_id=True)
    except (ValueError, OverflowError) as error:
        _check_lines(stream)
        raise FileError(f"not svmlight: {brief(str(error))}") from None
    if not (np.isfinite(found.data).all() and np.isfinite(y).all()):
        _check_lines(stream)
    if not len(y):
        raise FileError("there are no objects")
    known = None if schema is None else schema.setting("first_index")
    smallest = int(found.indices.min(initial=2**31 - 2))  # SciPy holds no larger one in 32 bits
    first = int(known) if known in ("0", "1") else int(smallest > 0)
    if smallest < first:
        raise FileError("an index is 0, and in the file before indices began at 1")
    width = max(found.shape[1] - first if found.nnz else 0, schema.width or 0 if schema is not None else 0)
    if width == 0:
        raise FileError("all vectors are empty: each has at least one index:value somewhere in the file")
    found = csr_matrix((found.data, found.indices - first, found.indptr), shape=(len(y), width))
    if (y == np.floor(y)).all() and np.abs(y).max() < LARGEST_EXACT:
        y = y.astype(np.int64)
    notes = [f"sparse vectors of {width} numbers, whose indices begin at {first}"]
    notes += ["ignored: qid, the groups of rows"] if len(groups) else []
    return Data(found, y, Schema("vectors", "label").with_settings(first_index=str(first)), tuple(notes))


def _check_lines(stream: BinaryIO) -> None:
    """Raise and name the first line that is wrong, which scikit-learn does not."""
    numbered = list(lines(stream))
    for start in range(0, len(numbered), 1000):
        some = numbered[start : start + 1000]
        if _are_svmlight([line for _, line in some]):
            continue
        number, line = next(one for one in some if not _are_svmlight([one[1]]))
        raise FileError(
            f"line {number} is {brief(line)}: svmlight has a label and index:value pairs in a line, where indices go "
            f"up and all are finite numbers"
        )


def _are_svmlight(some: list[str]) -> bool:
    from sklearn.datasets import load_svmlight_file

    try:
        found, y, _ = load_svmlight_file(io.BytesIO("\n".join(some).encode()), zero_based=True, query_id=True)
    except (ValueError, OverflowError):
        return False
    return bool(np.isfinite(found.data).all() and np.isfinite(y).all())

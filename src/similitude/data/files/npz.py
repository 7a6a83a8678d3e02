"""npz files: named NumPy arrays, dense or the parts of a sparse matrix."""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np

from similitude.data.files.file_errors import listed, unknown_column
from similitude.data.files.open_file import ROWS_OF_ANY
from similitude.data.files.schema import Data, Request, Schema
from similitude.support import FileError, brief

ROWS_PER_VALUE = 1000
"""Most rows of a sparse matrix for each of its values, if they are stored by columns: empty rows take no space."""

SPARSE_KEYS = ("data", "indices", "indptr", "shape")
"""The parts of a sparse matrix, as ``scipy.sparse.save_npz`` names them."""


def read_npz(stream: BinaryIO, request: Request, label_optional: bool, default: str | None = None) -> Data:
    """Read objects (the requested array, `default`, ``X``, or the only one besides the labels) and labels (``y``)."""
    if not zipfile.is_zipfile(stream):
        raise FileError("truncated, damaged or not an npz file")
    stream.seek(0)
    try:
        with np.load(stream, allow_pickle=False) as arrays:
            label = _label_name(arrays, request.label, label_optional)
            name, objects = _objects(arrays, request.object or _if_present(arrays, default), label)
            labels = None if label is None else _labels(label, _array(arrays, label))
    except (FileError, MemoryError):
        raise
    except Exception as error:  # of NumPy, which evaluates a header as Python does, and of zipfile: anything
        if "allow_pickle" in str(error):
            raise FileError("an array holds Python objects (pickle): these are never loaded") from None
        raise FileError(f"truncated, damaged or not an npz file: {brief(str(error))}") from None
    kind, note = _kind(name, objects)
    if labels is not None and len(labels) != objects.shape[0]:
        raise FileError(f"there are {objects.shape[0]} objects in {name!r} and {len(labels)} labels in {label!r}")
    return Data(_converted(kind, objects), labels, Schema(kind, label, object=name), (note,))


def _converted(kind: str, objects: Any) -> Any:
    """Return an array in the form in which similarities take this kind of object."""
    if kind == "strings":
        return objects.tolist()
    if kind == "series":
        return list(_floating(objects))
    return objects if hasattr(objects, "indptr") else _floating(objects)


def _label_name(arrays: Mapping[str, Any], wanted: str | None, label_optional: bool) -> str | None:
    if wanted is None or (label_optional and wanted not in arrays):
        return "y" if "y" in arrays else None
    if wanted not in arrays:
        raise unknown_column(wanted, arrays, "array")
    return wanted


def _if_present(arrays: Mapping[str, Any], name: str | None) -> str | None:
    return name if name in arrays or f"{name}_{SPARSE_KEYS[0]}" in arrays else None


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
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)
    if missing.any():
        raise FileError(f"the label {name!r} is missing in row {int(np.argmax(missing))}, in {missing.sum()} in all")
    return values


def _kind(name: str, values: Any) -> tuple[str, str]:
    """Return the kind of objects in an array, and its description."""
    if hasattr(values, "indptr"):
        return "vectors", f"sparse vectors of {values.shape[1]} numbers"
    if values.dtype.kind == "U" and values.ndim == 1:
        return "strings", f"array {name!r} as strings"
    if values.dtype.kind not in "biuf" or values.ndim not in (2, 3) or 0 in values.shape:
        raise FileError(
            f"the array {name!r} has shape {values.shape} and type {values.dtype}: numbers of shape (n, d) are "
            f"vectors, (n, time, channel) series, and text of shape (n,) strings"
        )
    if values.dtype.kind == "f" and np.isnan(values).any():
        row = int(np.argmax(np.isnan(values).reshape(len(values), -1).any(axis=1)))
        raise FileError(f"the array {name!r} has a missing value (NaN) in row {row}: fill the gap")
    if values.ndim == 2:
        return "vectors", f"array {name!r} as vectors of {values.shape[1]} numbers"
    return "series", f"array {name!r} as series of {values.shape[1]} times and {values.shape[2]} channels"

"""NumPy's arrays, scalars and random generators, SciPy's sparse matrices, and tensors, which become arrays."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from similitude.persistence.plain_forms import Parts, PlainForm
from similitude.support import SavedModelError

GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
SEED_PARTS = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
LARGEST_POOL = 1 << 16
"""Maximum pool size of a seed sequence: it is memory that takes no space in the file."""

COORDINATES = ("coo_array", "coo_matrix")
COMPRESSED = tuple(f"{form}_{kind}" for form in ("csr", "csc", "bsr") for kind in ("array", "matrix"))


def write_array(w: Any, value: np.ndarray, path: str) -> dict[str, Any]:
    """Return the node of an array."""
    if value.dtype.kind == "O":
        return {"is": "objects", "shape": list(value.shape), "items": w.values(value.ravel().tolist(), path)}
    if value.dtype.kind == "T":  # NumPy's strings of any length, which no .npy file can hold
        if value.dtype != np.dtypes.StringDType():
            raise SavedModelError(f"{path} is an array of {value.dtype!r}: convert it with .astype(object)")
        return {"is": "texts", "shape": list(value.shape), "items": w.value(value.ravel().tolist(), path)}
    return {"is": "array", **w.arrays.add(value, path)}


def write_scalar(w: Any, value: np.generic, path: str) -> dict[str, Any]:
    """Return the node of a NumPy scalar, stored as an array of one item."""
    return {"is": "scalar", **w.arrays.add(np.asarray(value), path)}


def _write_memmap(w: Any, value: Any, path: str) -> dict[str, Any]:
    w.notes.append(f"{path} was a memory map and comes back as an array in memory")
    return write_array(w, np.asarray(value), path)


def _write_tensor(w: Any, value: Any, path: str) -> dict[str, Any]:
    w.notes.append(f"{path} was a torch tensor and comes back as a NumPy array")
    try:
        return write_array(w, value.detach().cpu().numpy(), path)
    except TypeError as error:
        raise SavedModelError(f"{path} is a tensor that NumPy cannot hold ({error}): convert it to float32") from error


def _read_objects(r: Any, node: Any) -> np.ndarray:
    items = r.values(node["items"])
    flat = np.empty(len(items), object)
    for i, item in enumerate(items):
        flat[i] = item
    return flat.reshape(node["shape"])


def _read_texts(r: Any, node: Any) -> np.ndarray:
    items = r.value(node["items"])
    r.spend(16 * len(items) + sum(map(len, items)))
    return np.array(items, np.dtypes.StringDType()).reshape(node["shape"])


def _read_scalar(r: Any, node: Any) -> Any:
    array = r.arrays.take(node)
    if array.ndim:
        raise SavedModelError("a scalar is stored with a shape")
    return array[()]


def _sparse_parts(value: Any) -> Parts:
    if len(value.shape) != 2:
        raise SavedModelError(f"is a sparse array of {len(value.shape)} dimensions: only two can be stored")
    names = ("row", "col") if value.format == "coo" else ("indices", "indptr")
    return {"shape": value.shape, "data": value.data, **{name: getattr(value, name) for name in names}}


def _compressed(kind: str, shape: Any, data: Any, indices: Any, indptr: Any) -> Any:
    import scipy.sparse

    matrix = getattr(scipy.sparse, kind)((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _coordinates(kind: str, shape: Any, data: Any, row: Any, col: Any) -> Any:
    import scipy.sparse

    return getattr(scipy.sparse, kind)((data, (row, col)), shape=shape)


def _generator_parts(value: np.random.Generator) -> Parts:
    source: Any = value.bit_generator
    name, seed = type(source).__name__, getattr(source, "seed_seq", None)
    if name not in GENERATORS:
        raise SavedModelError(f"draws by {name}, which cannot be stored: use np.random.default_rng(seed)")
    state = None if seed is None else {part: getattr(seed, part) for part in SEED_PARTS}
    return {"name": name, "state": source.state, "seed": state}


def _generator(name: str, state: Any, seed: Any) -> np.random.Generator:
    if name not in GENERATORS or (seed is not None and not 0 < seed["pool_size"] <= LARGEST_POOL):
        raise SavedModelError(f"there is no random generator called {str(name)[:40]!r} with such a seed")
    source = getattr(np.random, name)(0 if seed is None else np.random.SeedSequence(**seed))
    source.state = state
    return np.random.Generator(source)


def _random_state_parts(value: np.random.RandomState) -> Parts:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise SavedModelError(f"draws by {state['bit_generator']}, which cannot be stored: use an integer seed")
    return {"state": state}


def _random_state(state: Any) -> np.random.RandomState:
    made = np.random.RandomState(0)
    made.set_state(state)
    return made


def _dtype_parts(value: np.dtype) -> Parts:
    if value.names or value.kind == "T":
        raise SavedModelError(f"is the dtype {value}, which cannot be stored")
    return {"text": value.str}


NUMPY_WRITERS = {"numpy.ndarray": write_array, "numpy.memmap": _write_memmap, "torch.Tensor": _write_tensor}

NUMPY_READERS = {
    "array": lambda r, node: r.arrays.take(node),
    "objects": _read_objects,
    "texts": _read_texts,
    "scalar": _read_scalar,
}

NUMPY_FORMS = {
    "numpy.Generator": PlainForm(_generator_parts, _generator),
    "numpy.RandomState": PlainForm(_random_state_parts, _random_state),
    **{
        f"numpy.{type(np.dtype(code)).__name__}": PlainForm(_dtype_parts, lambda text: np.dtype(text))
        for code in "?bhilqBHILQefdgFDGSUVMmO"
    },
    **{f"scipy.{kind}": PlainForm(_sparse_parts, functools.partial(_compressed, kind)) for kind in COMPRESSED},
    **{f"scipy.{kind}": PlainForm(_sparse_parts, functools.partial(_coordinates, kind)) for kind in COORDINATES},
}

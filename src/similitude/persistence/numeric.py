"""NumPy's values, sparse matrices, tensors, and random generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from similitude.support.errors import SavedModelError

GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
COMPRESSED = ("csr", "csc", "bsr")


def _write_array(w: Any, value: np.ndarray, path: str) -> dict[str, Any]:
    if value.dtype.kind == "O":
        return {"is": "objects", "shape": list(value.shape), "items": w.values(value.ravel().tolist(), path)}
    if value.dtype.kind == "T":  # NumPy's strings of any length, which no .npy file can hold
        if value.dtype != np.dtypes.StringDType():
            raise SavedModelError(f"{path} is an array of {value.dtype!r}: convert it with .astype(object)")
        return {"is": "texts", "shape": list(value.shape), "items": w.value(value.ravel().tolist(), path)}
    return {"is": "array", **w.pools.add(value, path)}


def _write_memmap(w: Any, value: Any, path: str) -> dict[str, Any]:
    w.notes.append(f"{path} was a memory map and comes back as an array in memory")
    return _write_array(w, np.asarray(value), path)


def write_scalar(w: Any, value: np.generic, path: str) -> dict[str, Any]:
    """Write a NumPy scalar as an array of one item."""
    return {"is": "scalar", **w.pools.add(np.asarray(value), path)}


def _read_objects(r: Any, node: Any) -> np.ndarray:
    items, shape = r.values(node["items"]), tuple(node["shape"])
    flat = np.empty(len(items), object)
    for i, item in enumerate(items):
        flat[i] = item
    return flat.reshape(shape)


def _read_texts(r: Any, node: Any) -> np.ndarray:
    items = r.value(node["items"])
    r.spend(16 * len(items) + sum(map(len, items)))
    return np.array(items, np.dtypes.StringDType()).reshape(tuple(node["shape"]))


def _read_scalar(r: Any, node: Any) -> Any:
    array = r.array(node)
    if array.ndim:
        raise SavedModelError("a single number is stored with a shape")
    return array[()]


def _write_sparse(w: Any, value: Any, path: str) -> dict[str, Any]:
    if len(value.shape) != 2:
        raise SavedModelError(f"{path} is a sparse array of {len(value.shape)} dimensions: two can be stored")
    parts = ("data", "indices", "indptr") if value.format in COMPRESSED else ("data", "row", "col")
    return {
        "is": "sparse",
        "type": type(value).__name__,
        "shape": list(value.shape),
        "parts": [w.pools.add(getattr(value, part), f"{path}.{part}") for part in parts],
    }


def _read_sparse(r: Any, node: Any) -> Any:
    import scipy.sparse

    name = node["type"]
    if ("scipy", name) not in WRITERS:
        raise SavedModelError(f"there is no sparse matrix called {str(name)[:40]!r}")
    data, *places = (r.array(part) for part in node["parts"])
    shape = tuple(node["shape"])
    if any(type(size) is not int for size in shape):
        raise SavedModelError("a sparse matrix has an impossible shape")
    if name.startswith("coo_"):
        return getattr(scipy.sparse, name)((data, tuple(places)), shape=shape)
    matrix = getattr(scipy.sparse, name)((data, *places), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _write_tensor(w: Any, value: Any, path: str) -> dict[str, Any]:
    w.notes.append(f"{path} was a torch tensor and comes back as a NumPy array")
    try:
        return _write_array(w, value.detach().cpu().numpy(), path)
    except TypeError as error:
        raise SavedModelError(f"{path} is a tensor that NumPy cannot hold ({error}): convert it to float32") from error


def _write_generator(w: Any, value: Any, path: str) -> dict[str, Any]:
    source = value.bit_generator
    name, seed = type(source).__name__, getattr(source, "seed_seq", None)
    if name not in GENERATORS:
        raise SavedModelError(f"{path} draws by {name}, which cannot be stored: use np.random.default_rng(seed)")
    parts = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
    return {
        "is": "generator",
        "name": name,
        "state": w.value(source.state, path),
        "seed": [w.value(getattr(seed, part), f"{path}.{part}") for part in parts] if seed is not None else None,
    }


def _read_generator(r: Any, node: Any) -> np.random.Generator:
    if node["name"] not in GENERATORS:
        raise SavedModelError(f"there is no random generator called {str(node['name'])[:40]!r}")
    seed: Any = 0
    if node["seed"] is not None:
        entropy, spawn_key, pool_size, spawned = r.values(node["seed"])
        r.spend(4 * int(pool_size))
        seed = np.random.SeedSequence(entropy, spawn_key=spawn_key, pool_size=pool_size, n_children_spawned=spawned)
    source = getattr(np.random, node["name"])(seed)
    source.state = r.value(node["state"])
    return np.random.Generator(source)


def _write_random_state(w: Any, value: np.random.RandomState, path: str) -> dict[str, Any]:
    state = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise SavedModelError(f"{path} draws by {state['bit_generator']}, which cannot be stored: use a whole number")
    return {"is": "random state", "state": w.value(state, path)}


def _read_random_state(r: Any, node: Any) -> np.random.RandomState:
    made = np.random.RandomState(0)
    made.set_state(r.value(node["state"]))
    return made


def _write_dtype(w: Any, value: np.dtype, path: str) -> dict[str, Any]:
    if value.names or value.kind == "T":
        raise SavedModelError(f"{path} is the dtype {value}, which cannot be stored")
    return {"is": "dtype", "text": value.str}


SPARSE = [f"{form}{kind}" for form in ("csr_", "csc_", "bsr_", "coo_") for kind in ("matrix", "array")]

WRITERS = {
    ("numpy", "ndarray"): _write_array,
    ("numpy", "memmap"): _write_memmap,
    ("numpy", "Generator"): _write_generator,
    ("numpy", "RandomState"): _write_random_state,
    **{("numpy", type(np.dtype(code)).__name__): _write_dtype for code in "?bhilqBHILQefdgFDGSUVMmO"},
    **{("scipy", name): _write_sparse for name in SPARSE},
    ("torch", "Tensor"): _write_tensor,
}

READERS = {
    "array": lambda r, node: r.array(node),
    "objects": _read_objects,
    "texts": _read_texts,
    "scalar": _read_scalar,
    "sparse": _read_sparse,
    "generator": _read_generator,
    "random state": _read_random_state,
    "dtype": lambda r, node: np.dtype(node["text"]),
}

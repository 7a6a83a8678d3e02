"""Saving a model to one file, loading it, and describing a file without loading it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from similitude.persistence.file_format import VERSION, file_pieces, read_file, read_manifest, write_file
from similitude.persistence.user_code import Needed, fingerprint_version, read_needed, supplied_code
from similitude.support import Result, SavedModelError, brief, core_versions, package_version


@dataclass(frozen=True)
class Information(Result):
    """The description of a saved model, read without loading it.

    Attributes
    ----------
    type : str
        The class of the model.
    parameters : dict of str
        Its constructor parameters, each as a short string.
    version : str
        The version of the format.
    written_by : dict of str
        The versions of Python and of the packages that wrote it.
    functions : tuple of Needed
        The functions and classes to pass to ``load``: name, kind, fingerprint and place of each.
    about : dict
        The value of the parameter `about` of ``save``.
    notes : tuple of str
        What comes back in another form.
    size : int
        The size of the file in bytes.
    """

    type: str
    parameters: dict[str, str]
    version: str
    written_by: dict[str, str]
    functions: tuple[Needed, ...] = ()
    about: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    size: int = 0

    def __str__(self) -> str:
        lines = [f"{self.type}, {self.size:,} bytes, format {self.version}"]
        lines += [f"  {name} = {value}" for name, value in self.parameters.items()]
        lines += [f"  needs {one}" for one in self.functions]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join([*lines, "  written by " + ", ".join(f"{k} {v}" for k, v in self.written_by.items())])


def save(model: Any, path: Any, *, about: Mapping[str, Any] | None = None) -> None:
    """Save a model, a map, a similarity or a result to one file.

    The file is JSON and the bytes of arrays, with a SHA-256 of all its bytes. Nothing in it is pickled. It is written
    atomically, and equal models give equal bytes. Your own functions and classes are stored by name and
    fingerprint only: `load` asks for them. The engine is not stored: it belongs to the machine. Tensors come back as
    NumPy arrays.

    Parameters
    ----------
    model : estimator, Similarity or result
    path : str or path
        An existing file is replaced.
    about : dict, optional
        JSON data to store beside the model, for `information`.

    Raises
    ------
    SavedModelError
        If a part of the model cannot be stored; the message names its place.

    Examples
    --------
    >>> import tempfile
    >>> from similitude import SimilarityClassifier, load, save
    >>> from similitude.data.datasets import iris
    >>> X, y = iris()
    >>> model = SimilarityClassifier().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, f"{folder}/flowers.sim")
    ...     same = load(f"{folder}/flowers.sim")
    >>> bool((same.predict(X) == model.predict(X)).all())
    True
    """
    write_file(path, *contents(model, about))


def contents(model: Any, about: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], list[dict[str, Any]], Any]:
    """Return the manifest, the nodes and the arrays of the file of a model."""
    from similitude.persistence.nodes import ModelWriter

    about = _checked_about(about)
    w = ModelWriter(model)
    manifest = {
        "type": type(model).__name__,
        "parameters": _parameters(model),
        "written_by": core_versions(),
        "functions": [one.to_dict() for one in w.user_code.needed],
        "fingerprints": fingerprint_version() if w.user_code.needed else "",
        "about": about,
        "notes": w.notes,
    }
    return manifest, w.nodes, w.arrays


def model_bytes(model: Any) -> bytes:
    """Return the bytes of the file that `save` would write: equal for what is equal bit for bit."""
    return b"".join(file_pieces(*contents(model)))


def functions_of(model: Any) -> dict[str, Any]:
    """Return the user's functions and classes that a model needs, by the names under which it is saved."""
    from similitude.persistence.nodes import ModelWriter

    return ModelWriter(model).user_code.given


def load(path: Any, *, functions: Mapping[str, Any] | None = None) -> Any:
    """Load what `save` wrote.

    No code comes from the file: its classes are looked up in a closed list, and your own functions and classes are
    those that you pass. They are called on the objects that the model keeps, because its similarity encodes these
    again. A file that was truncated, damaged or changed is refused. The SHA-256 reveals accidents, not the author of
    a file: load only models whose predictions you would trust.

    Parameters
    ----------
    path : str or path
    functions : dict, optional
        Your own functions and classes by name. The error that asks for them lists the names; a function whose code
        has changed is refused.

    Returns
    -------
    model

    Raises
    ------
    SavedModelError
        If the file is not a complete saved model of a known version, or a function is missing or has changed.

    Examples
    --------
    >>> import tempfile
    >>> from similitude import FromPairs, load, save
    >>> def shared(s, t):
    ...     return len(set(s) & set(t))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(FromPairs(shared), f"{folder}/shared.sim")
    ...     load(f"{folder}/shared.sim", functions={"shared": shared})("kernel", "colonel")
    3.0
    """
    from similitude.persistence.nodes import ModelReader

    size, manifest, nodes, arrays = read_file(path)
    given = supplied_code(manifest.get("functions"), functions, manifest.get("fingerprints"))
    try:
        return ModelReader(size, nodes, arrays, given).model()
    except SavedModelError as error:
        mine = package_version("similitude")
        written_by = manifest.get("written_by")
        versions = ""
        if isinstance(written_by, dict) and written_by.get("similitude", mine) != mine:
            theirs = brief(written_by["similitude"]).strip("'")
            versions = f" (the file was written by similitude {theirs}, and this is similitude {mine})"
        raise SavedModelError(f"{path}: {error}{versions}") from error


def information(path: Any) -> Information:
    """Describe a saved model; it is not loaded, and the rest of the file is not checked.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    Information

    Examples
    --------
    >>> import tempfile
    >>> from similitude.kernels import Gaussian
    >>> from similitude.persistence import information, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(Gaussian(2.0), f"{folder}/kernel.sim", about={"purpose": "an example"})
    ...     found = information(f"{folder}/kernel.sim")
    >>> found.type, found.parameters, found.about
    ('Gaussian', {'sigma': '2.0', 'metric': 'None'}, {'purpose': 'an example'})
    """
    size, manifest = read_manifest(path)
    try:
        return Information(
            str(manifest["type"]),
            {str(name): str(text) for name, text in manifest["parameters"].items()},
            "{}.{}".format(*VERSION),
            {str(name): str(text) for name, text in manifest["written_by"].items()},
            read_needed(manifest["functions"]),
            dict(manifest["about"]),
            tuple(map(str, manifest["notes"])),
            size,
        )
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise SavedModelError(f"{path}: its manifest is incomplete: {error}") from error


def _checked_about(about: Mapping[str, Any] | None) -> dict[str, Any]:
    """Validate the data to store beside the model: JSON must not change it."""
    given = about if about is not None else {}
    try:
        if not isinstance(given, Mapping) or json.loads(json.dumps(dict(given), allow_nan=False)) != dict(given):
            raise TypeError("use dicts with strings as keys, lists, strings, finite numbers, True, False and None")
    except (TypeError, ValueError, RecursionError) as error:
        raise SavedModelError(f"about must be a dict of JSON data: {error}") from error
    return dict(given)


def _parameters(model: Any) -> dict[str, str]:
    """Return the constructor parameters as short strings that are the same in every process."""
    found = {}
    if not hasattr(model, "get_params"):
        return {}
    for name, value in model.get_params(deep=False).items():
        if value is None or isinstance(value, (bool, int, float, str)):
            found[name] = repr(value)[:100]
        else:
            text = getattr(value, "__qualname__", None) if callable(value) else None
            found[name] = re.sub(r" at 0x[0-9a-f]+", "", text or brief(value))
    return found

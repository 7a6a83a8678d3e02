"""Saving a model to one file, loading it, and reading what a file says of itself."""

from __future__ import annotations

import functools
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from similitude.persistence.container import (
    MODEL,
    Entry,
    as_json,
    from_json,
    read_file,
    read_manifest,
    write_file,
)
from similitude.persistence.functions import FunctionsIn, Needed, read_needed, way
from similitude.support.errors import SavedModelError, brief
from similitude.support.results import Result

PACKAGES = ("similitude", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Information(Result):
    """What a saved model says of itself, read without loading it.

    Attributes
    ----------
    type : str
        The class of the model.
    parameters : dict of str
        Its constructor parameters, each as a short text.
    version : str
        The version of the format.
    written_by : dict of str
        The versions of Python and of the packages that wrote it.
    functions : tuple of Needed
        What must be handed to ``load``: name, kind, fingerprint and place of each.
    about : dict
        What was given to ``save`` beside the model.
    notes : tuple of str
        What comes back in another form than it had.
    size : int
        Bytes of the file.
    """

    type: str
    parameters: dict[str, str]
    version: str
    written_by: dict[str, str]
    functions: tuple[Needed, ...] = ()
    about: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    size: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain dicts, lists, numbers and strings."""
        return {**super().to_dict(), "functions": [asdict(one) for one in self.functions]}

    def __str__(self) -> str:
        lines = [f"{self.type}, {self.size:,} bytes, format {self.version}"]
        lines += [f"  {name} = {value}" for name, value in self.parameters.items()]
        lines += [f"  needs {one}" for one in self.functions]
        lines += [f"  {note}" for note in self.notes]
        return "\n".join([*lines, "  written by " + ", ".join(f"{k} {v}" for k, v in self.written_by.items())])


def save(model: Any, path: Any, *, about: Mapping[str, Any] | None = None) -> None:
    """Save a model, a map, a similarity or a result to one file.

    The file is a zip of JSON and ``.npy`` arrays, Arrow for tables, with a SHA-256 of all its bytes. Nothing in it is
    pickled. It appears complete or not at all, and the same model gives the same bytes. Functions and classes of
    your own are stored by name and fingerprint only: `load` asks for them. The engine is left out: it belongs to the
    machine. Tensors come back as NumPy arrays.

    Parameters
    ----------
    model : estimator, Similarity or result
    path : str or path
        A file that is there already is replaced.
    about : dict, optional
        Anything that JSON can hold, kept beside the model for `information`.

    Raises
    ------
    SavedModelError
        If something cannot be stored; the message names the place.

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
    write_file(path, *parts(model, about))


def parts(model: Any, about: Mapping[str, Any] | None = None) -> tuple[bytes, list[Entry]]:
    """Return the manifest and the other entries of a file."""
    from similitude.persistence.writer import Writer

    about = _checked_about(about)
    w = Writer()
    try:
        last = w.value(model, "model")
    except RecursionError as error:
        raise SavedModelError("the model holds lists or dicts that are nested too deeply to be stored") from error
    if not isinstance(last, list):
        raise SavedModelError(f"there is no model to save in {brief(model)}")
    manifest = {
        "type": type(model).__name__,
        "parameters": _parameters(model),
        "written_by": {"python": platform.python_version(), **{package: _version(package) for package in PACKAGES}},
        "functions": [asdict(one) for one in w.functions.needed],
        "fingerprints": way(),
        "about": about,
        "notes": w.notes,
    }
    tree = as_json({"pools": w.pools.described(), "nodes": w.nodes})
    tables = [Entry(f"tables/{i}.arrow", len(table), [table]) for i, table in enumerate(w.tables)]
    return as_json(manifest), [Entry(MODEL, len(tree), [tree]), *w.pools.entries(), *tables]


def load(path: Any, *, functions: Mapping[str, Any] | None = None) -> Any:
    """Load what `save` wrote.

    No code comes from the file: its types are looked up in a closed list, and your own functions and classes are
    those that you hand over. They are called for the objects that the model keeps, of which its similarity makes
    again what it needs. A file that was cut, damaged or changed is refused. The SHA-256 shows accidents, not who
    wrote a file: load models only from those you trust to give you good advice.

    Parameters
    ----------
    path : str or path
    functions : dict, optional
        Your own functions and classes by name. The error that asks for them lists the names; one whose code changed
        since is refused.

    Returns
    -------
    model

    Raises
    ------
    SavedModelError
        If the file is not a whole saved model of a known version, or a function is missing or changed.

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
    from similitude.persistence.reader import Reader

    content = read_file(path)
    manifest = content.manifest
    given = FunctionsIn(manifest.get("functions"), functions, manifest.get("fingerprints"))
    try:
        return Reader(content, given, from_json(content.entries[MODEL], MODEL)).model()
    except SavedModelError as error:
        raise SavedModelError(f"{path}: {error}") from error


def information(path: Any) -> Information:
    """Read what a saved model says of itself; the model is not loaded and the rest of the file not checked.

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
    ('Gaussian', {'sigma': '2.0'}, {'purpose': 'an example'})
    """
    tail, manifest, size = read_manifest(path)
    try:
        return Information(
            str(manifest["type"]),
            {str(name): str(text) for name, text in manifest["parameters"].items()},
            f"{tail.version[0]}.{tail.version[1]}",
            {str(name): str(text) for name, text in manifest["written_by"].items()},
            read_needed(manifest["functions"]),
            dict(manifest["about"]),
            tuple(map(str, manifest["notes"])),
            size,
        )
    except (KeyError, AttributeError, TypeError, ValueError) as error:
        raise SavedModelError(f"{path}: its manifest lacks something: {error}") from error


def _checked_about(about: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what is kept beside the model; refuse what JSON would change."""
    given = {} if about is None else about
    try:
        if not isinstance(given, Mapping) or json.loads(json.dumps(dict(given), allow_nan=False)) != dict(given):
            raise TypeError(
                "only dicts with text as keys, lists, text, numbers, True, False and None come back as given"
            )
    except (TypeError, ValueError, RecursionError) as error:
        raise SavedModelError(f"about must be a dict that JSON can hold: {error}") from error
    return dict(given)


def _parameters(model: Any) -> dict[str, str]:
    """Return the constructor parameters as short texts that are the same in every process."""
    if not hasattr(model, "get_params"):
        return {}
    return {name: _text(value) for name, value in model.get_params(deep=False).items()}


def _text(value: Any) -> str:
    text = getattr(value, "__qualname__", None) if callable(value) else None
    return re.sub(r" at 0x[0-9a-f]+", "", text or brief(value))


@functools.cache
def _version(package: str) -> str:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"

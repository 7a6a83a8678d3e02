"""Objects as small pieces of HTML or SVG: what a person looks at, everything escaped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.report.drawings.anything import Drawer, Positions
from similitude.report.drawings.graphs import Graphs, is_graph
from similitude.report.drawings.series import SeriesPlots
from similitude.report.drawings.sets import Sets
from similitude.report.drawings.strings import Sequences, Texts, are_texts
from similitude.report.drawings.tables import TableRows, has_fields
from similitude.report.drawings.vectors import Images, Vectors

__all__ = ["Drawer", "drawer"]


def drawer(
    kind: str,
    objects: list[Any],
    *,
    names: list[str] | None = None,
    image_shape: tuple[int, int] | None = None,
) -> Drawer:
    """Return what draws objects of a kind, all on one scale and in the same colors.

    Parameters
    ----------
    kind : str
        vectors, strings, graphs, series, sets, table, indices or any; of the last, the objects tell.
    objects : list
        All that will be drawn.
    names : list of str, optional
        What the coordinates of vectors are called.
    image_shape : tuple of two int, optional
        Draw vectors as images of so many rows and columns.

    Returns
    -------
    Drawer

    Examples
    --------
    >>> drawer("strings", ["ACGT", "ACCT"]).draw("ACGT")
    '<code class="drawing sequence">ACGT</code>'
    >>> drawer("any", [{"Ann"}]).draw({"Ann"})
    '<span class="drawing set"><span class="chip">Ann</span></span>'
    """
    try:
        return _drawer(_kind_of(kind, objects), objects, names, image_shape)
    except (TypeError, ValueError):  # objects of another kind than the similarity's: a user's own encoding
        return Drawer()


def _drawer(kind: str, objects: list[Any], names: list[str] | None, image_shape: tuple[int, int] | None) -> Drawer:
    if kind == "strings":
        return Texts() if are_texts(objects) else Sequences()
    if kind == "vectors":
        return Vectors(objects, names) if image_shape is None else Images(objects, image_shape)
    if kind == "series":
        return SeriesPlots(objects)
    if kind == "graphs":
        return Graphs(objects)
    simple = {"sets": Sets, "table": TableRows, "indices": Positions}
    return simple.get(kind, Drawer)()


def _kind_of(kind: str, objects: list[Any]) -> str:
    """Return the kind to draw: the one given where the objects are of it, otherwise what they look like."""
    if kind in _MAY_BE and all(map(_MAY_BE[kind], objects)):
        return kind
    return next((name for name, looks in _LOOKS.items() if all(map(looks, objects))), "any")


def _is_vector(one: Any) -> bool:
    if isinstance(one, np.ndarray):
        return one.ndim == 1 and one.dtype.kind in "fiub"
    return hasattr(one, "toarray") and one.shape[0] == 1


def _is_numbers(one: Any) -> bool:
    return _is_vector(one) or isinstance(one, (list, tuple, np.ndarray)) or hasattr(one, "to_numpy")


_LOOKS: dict[str, Callable[[Any], bool]] = {
    "strings": lambda one: isinstance(one, (str, bytes)),
    "sets": lambda one: isinstance(one, (set, frozenset)),
    "table": has_fields,
    "vectors": _is_vector,
    "graphs": is_graph,
}
"""What objects of unknown kind look like."""

_MAY_BE: dict[str, Callable[[Any], bool]] = {
    **_LOOKS,
    "vectors": _is_numbers,
    "series": _is_numbers,
    "indices": lambda one: isinstance(one, (int, np.integer)),
    "sets": lambda one: isinstance(one, (set, frozenset, list, tuple)),
}
"""What may be an object of a kind that is known."""

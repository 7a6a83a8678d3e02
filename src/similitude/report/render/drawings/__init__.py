"""Objects drawn as small pieces of HTML or SVG, with everything escaped."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from similitude.report.render.drawings.graphs import GraphDrawer, is_graph
from similitude.report.render.drawings.plots import ImageDrawer, SeriesDrawer, VectorDrawer
from similitude.report.render.drawings.texts import (
    Drawer,
    IndexDrawer,
    SequenceDrawer,
    SetDrawer,
    TableRowDrawer,
    TextDrawer,
    are_texts,
    has_fields,
)


def drawer(
    kind: str,
    objects: list[Any],
    *,
    names: list[str] | None = None,
    image_shape: tuple[int, int] | None = None,
    last: Collection[str] = (),
) -> Drawer:
    """Return the drawer for a kind of objects, which draws all of them on one scale and in the same colors.

    The kind ``"any"`` is inferred from the objects; `names` are those of the coordinates of vectors, which are drawn as
    images if `image_shape` (rows, columns) is given; columns of tables in `last` come last where cells differ.

    >>> drawer("strings", ["ACGT", "ACCT"]).draw("ACGT")
    '<code class="drawing sequence">ACGT</code>'
    >>> drawer("any", [{"Ann"}]).draw({"Ann"})
    '<span class="drawing set"><span class="chip">Ann</span></span>'
    """
    try:
        found = _kind_of(kind, objects)
        return TableRowDrawer(objects, last) if found == "table" else _drawer(found, objects, names, image_shape)
    except (TypeError, ValueError):  # not of the kind that the similarity takes: a user's own encoding
        return Drawer()


def _drawer(kind: str, objects: list[Any], names: list[str] | None, image_shape: tuple[int, int] | None) -> Drawer:
    if kind == "strings":
        return TextDrawer() if are_texts(objects) else SequenceDrawer()
    if kind == "vectors":
        return VectorDrawer(objects, names) if image_shape is None else ImageDrawer(objects, image_shape)
    if kind == "series":
        return SeriesDrawer(objects)
    if kind == "graphs":
        return GraphDrawer(objects)
    simple = {"sets": SetDrawer, "indices": IndexDrawer}
    return simple.get(kind, Drawer)()


def _kind_of(kind: str, objects: list[Any]) -> str:
    """Return the given kind if the objects may be of it, otherwise the kind they look like."""
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
"""Tests that identify objects of unknown kind."""

_MAY_BE: dict[str, Callable[[Any], bool]] = {
    **_LOOKS,
    "vectors": _is_numbers,
    "series": _is_numbers,
    "indices": lambda one: isinstance(one, (int, np.integer)),
    "sets": lambda one: isinstance(one, (set, frozenset, list, tuple)),
}
"""Tests whether an object may be of a known kind."""

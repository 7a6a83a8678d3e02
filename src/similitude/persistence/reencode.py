"""Encodings are not stored: the similarity encodes the stored objects again when a model is loaded.

An encoding is private to its similarity, and may look different in the next version.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from similitude.compute import count
from similitude.similarity import Similarity
from similitude.support import SavedModelError

ENCODED = {"_support": "support_objects_", "_landmarks": "landmarks_"}
"""The attributes of estimators that are encodings, and the attributes with the objects that they encode."""

State = dict[str, Any]


def without_encodings(state: State) -> tuple[State, list[str]]:
    """Return the attributes of an object without encodings, and the names of those to be encoded again."""
    if not isinstance(_similarity(state), Similarity):  # of a matrix: the encoding is an array of positions in it
        return state, []
    if hasattr(state.get("landmarks"), "encoding"):
        return {**state, "landmarks": dataclasses.replace(state["landmarks"], encoding=None)}, []
    removed = sorted(name for name, objects in ENCODED.items() if name in state and objects in state)
    return {name: value for name, value in state.items() if name not in removed}, removed


def with_encodings(state: State, removed: Any) -> State:
    """Return the attributes of an object with its encodings."""
    k = _similarity(state)
    if not isinstance(k, Similarity):
        return state
    if hasattr(state.get("landmarks"), "encoding"):
        landmarks = state["landmarks"]
        return {**state, "landmarks": dataclasses.replace(landmarks, encoding=_encoded(k, landmarks.objects))}
    return {**state, **{name: _encoded(k, state[ENCODED[name]]) for name in removed}}


def _similarity(state: State) -> Any:
    """Return the similarity of an object: the fitted one of an estimator, or that of a part of a model."""
    return next((state[key] for key in ("kernel_", "similarity_", "similarity") if key in state), None)


def _encoded(k: Similarity, objects: Any) -> Any:
    if not count(objects):
        return objects
    try:
        k.check_params()
        return k.encode(objects)
    except Exception as error:  # a user's function can raise anything
        raise SavedModelError(f"{k!r} cannot encode the objects that were saved with it: {error}") from error

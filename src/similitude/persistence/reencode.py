"""What a model made of its objects is not stored: it is made anew from them, by the version that loads the model.

An encoding is nobody's business but its similarity's, and may look different in the next version.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from similitude.compute.encodings import count
from similitude.similarity import Similarity
from similitude.support.errors import SavedModelError

MADE_OF = {"_support": "support_objects_", "_landmarks": "landmarks_"}
"""Attributes of estimators that are encodings, and those that hold the objects."""


def without_encodings(state: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an object without the encodings that can be made anew."""
    k = _similarity(state)
    if not isinstance(k, Similarity):  # a matrix: the encoding is places in it
        return state
    if "landmarks" in state and hasattr(state["landmarks"], "encoding"):
        return {**state, "landmarks": dataclasses.replace(state["landmarks"], encoding=None)}
    return {key: value for key, value in state.items() if MADE_OF.get(key) not in state}


def with_encodings(state: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the attributes of an object, which are among the known ones, with encodings made anew."""
    k = _similarity(state)
    if not isinstance(k, Similarity):
        return state
    if "landmarks" in state and hasattr(state["landmarks"], "encoding"):
        landmarks = state["landmarks"]
        return {**state, "landmarks": dataclasses.replace(landmarks, encoding=_encoded(k, landmarks.objects))}
    missing = (known & MADE_OF.keys()) - state.keys()
    made = {key: MADE_OF[key] for key in missing if MADE_OF[key] in state}
    return {**state, **{key: _encoded(k, state[objects]) for key, objects in made.items()}}


def _similarity(state: dict[str, Any]) -> Any:
    """Return the similarity that an object compares with: a part of a model has it, an estimator has fitted it."""
    return next((state[key] for key in ("kernel_", "similarity_", "similarity") if key in state), None)


def _encoded(k: Similarity, objects: Any) -> Any:
    if not count(objects):
        return objects
    try:
        k.check_params()
        return k.encode(objects)
    except Exception as error:  # a user's function can raise anything
        raise SavedModelError(f"{k!r} cannot take the objects that were saved with it: {error}") from error

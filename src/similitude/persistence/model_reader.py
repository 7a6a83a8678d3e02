"""From a list of nodes back to a model: no recursion, no code from the file, and bounded memory and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from similitude.persistence.containers_and_arrays import ARRAY_READERS
from similitude.persistence.file_format import ArrayReader, Content
from similitude.persistence.instances import INSTANCE_READERS
from similitude.persistence.known_forms import FORMS
from similitude.persistence.load_budget import Budget, Extent, extent_of
from similitude.support import SavedModelError

READERS: dict[str, Callable[[Any, Any, list[Any]], Any]] = {**ARRAY_READERS, **INSTANCE_READERS}
"""How nodes are read, by their kind."""


class Built(NamedTuple):
    """The value of a node, and its extent."""

    value: Any
    extent: Extent


class ModelReader:
    """Builds the values of all nodes, from the first to the last; `user_code` was passed to ``load``, by name."""

    def __init__(self, content: Content, user_code: dict[str, Any]) -> None:
        if not isinstance(content.nodes, list):
            raise SavedModelError("the model is not a list of nodes")
        self.version, self.user_code = content.version, user_code
        self.arrays = ArrayReader(content.arrays)
        self._nodes, self._file_size = content.nodes, content.size
        self._budget = Budget()
        self._built: list[Built] = []

    def model(self) -> Any:
        """Build all nodes and return the last."""
        for node in self._nodes:
            try:
                built = self._build(node)
            except (SavedModelError, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # anything that a hostile file provokes in other libraries, panics included
                kind = node.get("is") if isinstance(node, dict) else node
                raise SavedModelError(
                    f"node {len(self._built)} ({str(kind)[:40]}) cannot be read: {type(error).__name__}: {error}"
                ) from error
            self._built.append(built)
        if not self._built:
            raise SavedModelError("the file contains no model")
        self.arrays.check_used_up()
        self._budget.check_whole(self._built[-1].extent)
        return self._built[-1].value

    def _build(self, node: Any) -> Built:
        kind, used = node["is"], [self._part(written) for written in node.get("parts", ())]
        parts, extents = [one.value for one in used], [one.extent for one in used]
        self._budget.pay_for(node, parts, extents)
        self._budget.check(self._file_size)
        if kind in READERS:
            value = READERS[kind](self, node, parts)
        else:
            value = FORMS[kind].make(**dict(zip(node["names"], parts, strict=True)))
        return Built(value, extent_of(value, extents))

    def _part(self, written: Any) -> Built:
        """Return a simple value itself, and the value of a node for a reference ``[i]``."""
        if type(written) is not list:
            if type(written) is dict:
                raise SavedModelError("a value is neither simple nor a reference")
            return Built(written, extent_of(written))
        (place,) = written
        if type(place) is not int or not 0 <= place < len(self._built):
            raise SavedModelError("a reference points to a later node, or to none")
        return self._built[place]

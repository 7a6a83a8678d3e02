"""From a list of nodes back to a model: no recursion, no code from the file, and bounded memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from similitude.persistence.containers_and_arrays import ARRAY_READERS
from similitude.persistence.file_format import ArrayReader, Content
from similitude.persistence.instances import INSTANCE_READERS
from similitude.persistence.model_writer import FORMS
from similitude.support import SavedModelError

READERS: dict[str, Callable[[Any, Any, list[Any]], Any]] = {**ARRAY_READERS, **INSTANCE_READERS}
"""How nodes are read, by their kind."""

MEMORY_PER_BYTE, MEMORY_FOR_ALL = 64, 64 * 2**20
"""Maximum memory for what is made from a file, beyond its own bytes: per byte of the file, and for every file."""

LARGEST_KEY = 100_000
"""Maximum number of values inside one key of a dict or one item of a set."""


class Built(NamedTuple):
    """The value of a node, the number of values inside it, and its size without and with the parts it refers to."""

    value: Any
    n_values: int
    size: int
    reach: int


class ModelReader:
    """Builds the values of all nodes, from the first to the last; `user_code` was passed to ``load``, by name."""

    def __init__(self, content: Content, user_code: dict[str, Any]) -> None:
        if not isinstance(content.nodes, list):
            raise SavedModelError("the model is not a list of nodes")
        self.version, self.user_code = content.version, user_code
        self.arrays = ArrayReader(content.arrays)
        self._left = MEMORY_PER_BYTE * content.size + MEMORY_FOR_ALL
        self._nodes = content.nodes
        self._built: list[Built] = []
        self._used: list[Built] = []

    def model(self) -> Any:
        """Build all nodes and return the last."""
        for node in self._nodes:
            self._used = []
            try:
                value = self._value_of(node)
            except (SavedModelError, KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:  # anything that a hostile file provokes in other libraries, panics included
                kind = node.get("is") if isinstance(node, dict) else node
                raise SavedModelError(
                    f"node {len(self._built)} ({str(kind)[:40]}) cannot be read: {type(error).__name__}: {error}"
                ) from error
            size = _size(value)
            reach = size + sum(one.size for one in self._used)
            self._built.append(Built(value, self._count(), size, reach))
        if not self._built:
            raise SavedModelError("the file contains no model")
        self.arrays.check_used_up()
        return self._built[-1].value

    def _value_of(self, node: Any) -> Any:
        kind, parts = node["is"], [self._value(written) for written in node.get("parts", ())]
        if kind in READERS:
            return READERS[kind](self, node, parts)
        self.spend(sum(one.reach for one in self._used))
        return FORMS[kind].make(**dict(zip(node["names"], parts, strict=True)))

    def _value(self, written: Any) -> Any:
        """Return a simple value itself, and the value of a node for a reference ``[i]``."""
        if type(written) is not list:
            if type(written) is dict:
                raise SavedModelError("a value is neither simple nor a reference")
            return written
        (place,) = written
        if type(place) is not int or not 0 <= place < len(self._built):
            raise SavedModelError("a reference points to a later node, or to none")
        self._used.append(self._built[place])
        return self._built[place].value

    def _count(self, first: int | None = None) -> int:
        return min(sys.maxsize, 1 + sum(one.n_values for one in self._used[:first]))

    def check_hashing(self, first: int | None = None) -> None:
        """Refuse keys, the `first` references or all, whose hashes take forever as they contain each other often."""
        if self._count(first) > max(LARGEST_KEY, len(self._built) + 1):
            raise SavedModelError("a key of a dict or an item of a set is nested too deeply")

    def spend(self, size: int) -> None:
        """Account for memory about to be used; refuse more than a file of this size can need."""
        self._left -= size
        if self._left < 0:
            raise SavedModelError("the file would take far more memory than its size accounts for")


def _size(value: Any) -> int:
    """Return the approximate memory of a value, without what it refers to."""
    if isinstance(value, (list, tuple, dict, set, frozenset)):
        return 16 * len(value)
    is_array = type(value).__module__.split(".")[0] in ("numpy", "pandas")
    return int(getattr(value, "nbytes", 0)) if is_array else 0

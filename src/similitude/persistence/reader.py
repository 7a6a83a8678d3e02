"""From a list of nodes back to a model: no recursion, no code from the file, no memory beyond what it accounts for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from similitude.persistence import dates, frames, graphs, numeric, objects, plain
from similitude.persistence.array_store import PoolsIn
from similitude.persistence.container import Content
from similitude.persistence.functions import FunctionsIn
from similitude.support.errors import SavedModelError

READERS: dict[str, Callable[[Any, Any], Any]] = {
    **plain.READERS,
    **numeric.READERS,
    **dates.READERS,
    **graphs.READERS,
    **frames.READERS,
    **objects.READERS,
}
"""How nodes are read, by what they say they are."""

MORE, ALWAYS = 64, 64 * 2**20
"""Memory at most for what is not written out in the file: so many bytes for each of its bytes, and these for all."""

DEEPEST_KEY = 100_000
"""Values at most that one key of a dict or one item of a set may be made of."""


class Reader:
    """Builds the values of all nodes, from the first to the last.

    Parameters
    ----------
    content : Content
    functions : FunctionsIn
        What the user handed over.
    """

    def __init__(self, content: Content, functions: FunctionsIn, tree: Any) -> None:
        if not isinstance(tree, dict) or tree.keys() != {"nodes", "pools"} or not isinstance(tree["nodes"], list):
            raise SavedModelError("model.json is not a list of nodes")
        self.version, self.functions = content.version, functions
        self._pools = PoolsIn(tree["pools"], content.entries)
        tables = [name for name in content.entries if name.startswith("tables/")]
        if tables != [f"tables/{i}.arrow" for i in range(len(tables))]:
            raise SavedModelError("the tables in the file are not those that its model needs")
        self._tables = [content.entries[name] for name in tables]
        self._used_tables = 0
        self._left = MORE * content.size + ALWAYS
        self._nodes, self._built, self._weights = tree["nodes"], [], []  # type: tuple[list[Any], list[Any], list[int]]

    def model(self) -> Any:
        """Build all nodes and return the last."""
        for node in self._nodes:
            self._weight = 1
            try:
                self._built.append(READERS[node["is"]](self, node))
            except SavedModelError:
                raise
            except Exception as error:  # whatever a hostile file provokes in the types of other libraries
                kind = node.get("is") if isinstance(node, dict) else node
                raise SavedModelError(
                    f"node {len(self._built)} ({str(kind)[:40]}) cannot be read: {type(error).__name__}: {error}"
                ) from error
            self._weights.append(self._weight)
        if not self._built:
            raise SavedModelError("the file holds no model")
        self._pools.check_used_up()
        if self._used_tables != len(self._tables):
            raise SavedModelError("the file holds more tables than its model needs: it was not written here")
        return self._built[-1]

    def value(self, written: Any) -> Any:
        """Return a plain value as it is, and what stands at a place for ``[i]``."""
        if type(written) is not list:
            if type(written) is dict:
                raise SavedModelError("a value is neither plain nor the place of one")
            return written
        (place,) = written
        if type(place) is not int or not 0 <= place < len(self._built):
            raise SavedModelError("a value names a place that comes later, or none")
        self._weight += self._weights[place]
        return self._built[place]

    def values(self, written: Any) -> list[Any]:
        """Return several values."""
        return list(map(self.value, written))

    def check_light(self) -> None:
        """Refuse a key whose hash would take forever, because its parts contain each other many times."""
        if self._weight > max(DEEPEST_KEY, len(self._built) + 1):
            raise SavedModelError("a key of a dict or an item of a set is nested too deeply")

    def array(self, spec: Any) -> np.ndarray:
        """Return the next array of a pool."""
        return self._pools.take(spec)

    def table(self) -> memoryview:
        """Return the next table."""
        self._used_tables += 1
        if self._used_tables > len(self._tables):
            raise SavedModelError("the file lacks a table that its model needs")
        return self._tables[self._used_tables - 1]

    def spend(self, size: int) -> None:
        """Account for memory about to be used; refuse more than a file of this size can need."""
        self._left -= size
        if self._left < 0:
            raise SavedModelError("the file would take far more memory than its size accounts for")

"""The engine contract as a test kit."""

from __future__ import annotations

import copy
import pickle
from typing import Any

from similitude.compute.engines import Engine, Tile
from similitude.support import PairError


def check_engine(engine: Engine) -> None:
    """Check that an engine keeps its contract.

    Results come in tile order, or go to a target; a diagonal tile gets the same object twice; an error names its pair
    by the position in the whole matrix; the engine pickles, and a deep copy is the engine itself.

    Parameters
    ----------
    engine : Engine

    Raises
    ------
    AssertionError
        If a check fails; the message says what was found.

    Examples
    --------
    >>> from similitude.checks import check_engine
    >>> from similitude.compute.engines import LocalEngine
    >>> check_engine(LocalEngine(threads=2))
    """
    numbers = list(range(40))
    pieces = [slice(start, start + 7) for start in range(0, 35, 7)] + [slice(35, 40)]
    tiles = [(down, right) for down in pieces for right in pieces]
    found = list(engine.run(_Describe(), numbers, numbers, tiles))
    assert found == [(down.start, right.start, down == right) for down, right in tiles], (
        "results must come in tile order, with the same object twice on the diagonal and only there"
    )
    try:
        list(engine.run(_Fail(), numbers, numbers, tiles))
        pair = None
    except PairError as error:
        pair = error.i, error.j
    assert pair == (21, 2), "an error must name its pair by the position in the matrix"
    assert list(engine.run(_Describe(), numbers, numbers, [])) == [], "no tiles must give no results"
    target = _Collect()
    assert list(engine.run(_Describe(), numbers, numbers, tiles, target)) == [None] * len(tiles), (
        "with a target there must be no results"
    )
    assert [target.results[str(tile)] for tile in tiles] == found, "a target must get every result with its tile"
    assert copy.deepcopy(engine) is engine, "an engine is configuration: a deep copy must be the engine itself"
    assert pickle.loads(pickle.dumps(engine)) == engine, "an engine must pickle"


class _Collect:
    def __init__(self) -> None:
        self.results: dict[str, Any] = {}

    def view(self, tile: Tile) -> None:
        return None

    def put(self, tile: Tile, result: Any) -> None:
        self.results[str(tile)] = result


class _Describe:
    threadsafe = True

    def __call__(self, a: Any, b: Any, out: Any = None) -> tuple[int, int, bool]:
        return a[0], b[0], a is b


class _Fail:
    threadsafe = True

    def __call__(self, a: Any, b: Any, out: Any = None) -> None:
        if 21 in a and 2 in b:
            raise PairError(a.index(21), b.index(2), "raised by the check")

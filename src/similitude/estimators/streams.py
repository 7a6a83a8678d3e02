"""Ridge regression in one pass: the moments of most examples, and a few held out by which the penalty is chosen."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from similitude.compute.blocks import check_fits
from similitude.compute.encodings import Encoding, as_numpy, count, namespace
from similitude.compute.engines import Engine
from similitude.compute.engines.engine import TILE_EDGE, Tile
from similitude.compute.engines.folding import Encoded, Pass
from similitude.landmarks.features import Together, View, Weighted
from similitude.landmarks.pivots import named
from similitude.linear import Linear, Moments, Ridge, Trial

MOST_HELD_OUT = 5_000
"""Examples at most that a single pass holds out."""

STRIP_ROWS = (1024, 4096)
"""Fewest and most rows of a strip: the more landmarks, the more rows make their Gram matrix worth adding."""


@dataclass(frozen=True)
class MomentsTask:
    """Map a strip of examples and return its moments."""

    threadsafe: bool
    on_tensors: bool = False

    def joined(self, parts: list[Moments]) -> Moments:
        """Return the moments of all."""
        return parts[0] + parts[1]

    def __call__(self, a: Encoding, b: Together, out: Any = None) -> Moments:
        """Return the moments of encoded examples ``(encodings, targets, weights)``."""
        encodings, Y, weights = a
        return Moments.of(b.features(encodings), Y, weights)


@dataclass(frozen=True)
class FeaturesTask:
    """Map a strip of objects."""

    threadsafe: bool
    on_tensors: bool = False

    def joined(self, parts: list[Any]) -> Any:
        """Return the features of all."""
        return one_after_another(parts)

    def __call__(self, a: Encoding, b: Together, out: Any = None) -> Any:
        """Return the features."""
        return b.features(a)


@dataclass(frozen=True, eq=False)
class Model:
    """What is left of a fitted model: the weighted views of all parts, as an encoding that is never cut."""

    parts: tuple[Weighted, ...]

    def __len__(self) -> int:
        return max(1, sum(part.view.width for part in self.parts))

    def __getitem__(self, which: Any) -> Model:
        return self

    def movable(self) -> bool:
        """Tell that a device can hold it."""
        return all(len(part.weights) for part in self.parts)

    def moved(self, move: Callable[[Any], Any]) -> Model:
        """Return the same with its arrays passed through `move`."""
        return Model(tuple(part.moved(move) for part in self.parts))


@dataclass(frozen=True)
class ScoresTask:
    """Score a strip of objects."""

    threadsafe: bool
    on_tensors: bool = False

    def joined(self, parts: list[Any]) -> Any:
        """Return the scores of all."""
        return one_after_another(parts)

    def __call__(self, a: Encoding, b: Model, out: Any = None) -> Any:
        """Return the scores, less the intercept."""
        return sum(part.scores(A) for part, A in zip(b.parts, a, strict=True))


def strips(n: int, width: int, itemsize: int, engine: Engine, task: Any) -> list[Tile]:
    """Cut n rows so that the strips under way stay within the memory budget."""
    larger = engine.edge // TILE_EDGE
    few, many = (larger * rows for rows in STRIP_ROWS) if task.threadsafe else (128, 128)
    affordable = engine.budget // (8 * engine.workers(task) * max(1, width) * itemsize)
    if affordable == 0:
        raise MemoryError(f"one row of {width:,} similarities does not fit into the memory budget: use fewer landmarks")
    edge = min(max(few, min(width, many)), affordable)
    number = -(-n // edge)
    edges = [n * piece // number for piece in range(number + 1)]
    return [(slice(a, b), slice(0, width)) for a, b in itertools.pairwise(edges)]


def mapped(together: Together, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> np.ndarray:
    """Return the features of all objects."""
    return as_numpy(_mapped(together, encodings, engine, itemsize))


def mapped_there(together: Together, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
    """Return the features of all objects where the engine computes."""
    here = engine.here(encodings) if on_tensors(together) else encodings
    return _mapped(together, here, engine, itemsize)


def _mapped(together: Together, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
    task = FeaturesTask(is_threadsafe(together), on_tensors(together))
    tiles = strips(count(encodings[0]), len(together), itemsize, engine, task)
    return one_after_another(list(engine.run(task, encodings, together, tiles)))


def one_after_another(parts: list[Any]) -> Any:
    """Return the rows of several arrays, or tensors, one after the other."""
    xp = namespace(parts[0])
    return np.concatenate(parts) if xp is np else xp.concat(parts)


def on_tensors(together: Together | Model) -> bool:
    """Tell whether a device can compute every similarity."""
    return all(view.on_tensors for view in _views(together))


def is_threadsafe(together: Together | Model) -> bool:
    """Tell whether every similarity gains from threads."""
    return all(view.similarity.threadsafe for view in _views(together))


def _views(together: Together | Model) -> list[View]:
    return [part.coordinates.view if hasattr(part, "coordinates") else part.view for part in together.parts]


def scored(model: Model, encodings: tuple[Encoding, ...], engine: Engine, itemsize: int) -> Any:
    """Return the scores of all objects, less the intercept: tensors for tensors."""
    known = _by_products(model, encodings, engine)
    if known is not None:
        return known
    task = ScoresTask(is_threadsafe(model), on_tensors(model))
    tiles = strips(count(encodings[0]), len(model), itemsize, engine, task)
    return one_after_another(list(engine.run(task, encodings, model, tiles)))


def _by_products(model: Model, encodings: tuple[Encoding, ...], engine: Engine) -> Any:
    """Return the scores by products of matrices that are not stored; None where the engine has none for all parts."""
    sums: list[Any] = []
    for part, A in zip(model.parts, encodings, strict=True):
        plain = part.view.on_tensors and len(part.weights) and not part.normalized
        values = engine.times(part.view.similarity, A, part.view.landmarks.encoding, part.weights) if plain else None
        if values is None:
            return None
        sums.append(values)
    return sum(sums[1:], start=sums[0])


@dataclass
class Stream:
    """Moments of the examples seen so far, and those held out.

    Attributes
    ----------
    moments : Moments or None
        Of all that is not held out.
    held : list of (features, targets, weights)
    """

    moments: Moments | None = None
    held: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)

    def copy(self) -> Stream:
        """Return a stream that can go on apart from this one."""
        return Stream(copy.deepcopy(self.moments), list(self.held))

    @property
    def n_held(self) -> int:
        """How many examples are held out."""
        return sum(len(weights) for _, _, weights in self.held)

    def learn(self, part: Moments) -> None:
        """Add moments."""
        if self.moments is None:
            self.moments = part
        else:
            self.moments += part

    def hold(self, F: np.ndarray, Y: np.ndarray, weights: np.ndarray) -> None:
        """Keep examples to judge by."""
        if len(weights):
            self.held.append((F, Y, weights))

    def held_targets(self) -> np.ndarray:
        """Return the targets of the examples held out."""
        return np.concatenate([Y for _, Y, _ in self.held])

    def solve(self) -> tuple[Linear, Trial, Ridge]:
        """Return the model of all examples with the penalty that is best for those held out, and how these fared."""
        assert self.moments is not None
        F, Y, weights = (np.concatenate(parts) for parts in zip(*self.held, strict=True))
        ridge = Ridge(self.moments)
        trial = ridge.best(ridge.held_out(F, Y, weights))
        return Ridge(self.moments + Moments.of(F, Y, weights), trial.lam).fit(trial.lam), trial, ridge


def check_features_fit(loss: str, penalty: str, n: int, width: int, size: int, engine: Engine) -> None:
    """Refuse features that do not fit into memory, for a loss that needs all of them at once."""
    try:
        check_fits(n, width, 2 * size, engine)
    except MemoryError as error:
        raise MemoryError(
            f"loss={loss!r} with penalty={penalty!r} goes over all features several times; loss='squared' with penalty='l2' "
            f"needs one pass. {error}"
        ) from error


def one_pass(
    together: Together,
    batches: Callable[[int], Iterator[Encoded]],
    n: int,
    engine: Engine,
    itemsize: int,
    marks: Callable[[], dict[str, str]],
) -> Moments:
    """Return the moments of all examples ``(encodings, targets, weights)`` that the batches hold."""
    task = MomentsTask(is_threadsafe(together), on_tensors(together))
    walk = Pass(task, together, lambda rows: strips(rows, len(together), itemsize, engine, task), batches, n)
    with named(None, together.positions):
        found: Moments = walk.run(engine, Moments.from_arrays, marks)
    return found.moved(as_numpy)

"""The similarities that a user gives to choose from or to combine: validated, named in errors, and their sides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import as_matrix, check_objects, take
from similitude.compute.engines import Engine, current_engine
from similitude.kernel_learning import check_learnable
from similitude.selection.limits import TRIED_PAIRS
from similitude.similarity import SYMMETRIC, Learnable, Similarity, as_similarity, calls_per_pair
from similitude.support import ExpressionError, NotAKernelError, PairError, brief, error_prefix, pairs_at


@dataclass(frozen=True, eq=False)
class NamedSimilarity:
    """A similarity and its name; ``side`` is "left" if K(x, z) was seen to equal K(z, x), and "auto" otherwise."""

    name: str
    similarity: Similarity
    side: str = "auto"

    @property
    def may_differ(self) -> bool:
        """Whether this is a user's function, whose calls are counted, that is not known to be symmetric."""
        k = self.similarity
        return calls_per_pair(k) > 0 and SYMMETRIC not in k.claims and not k.unresolved() and self.side == "auto"

    def resolved(self, X: Any, random_state: Any) -> NamedSimilarity:
        """Resolve data-dependent parameters; if the name is the repr, it is updated."""
        k = self.similarity
        if not k.unresolved() or isinstance(k, Learnable):
            return self
        with naming(self.name):
            resolved = k.resolve(as_matrix(X) if k.objects == "vectors" else X, random_state)
        return NamedSimilarity(repr(resolved) if self.name == repr(k) else self.name, resolved)


def validated(given: Any, parameter: str) -> list[NamedSimilarity]:
    """Validate a list of similarities, or a dict of them by name; `parameter` is its name in errors."""
    several = isinstance(given, (Sequence, Mapping)) and not isinstance(given, (str, bytes))
    if not several:
        raise TypeError(f"{parameter} must be a list of similarities, or a dict of them by name, got {brief(given)}")
    if not given:
        raise ValueError(f"{parameter} is empty: give at least one similarity")
    pairs: list[tuple[str | None, Any]] = [(None, one) for one in given]
    if isinstance(given, Mapping):
        pairs = [(str(name), one) for name, one in given.items()]
    found = []
    kinds: dict[str, str] = {}
    for place, (name, one) in enumerate(pairs):
        with naming(name or f"number {place}"):
            if isinstance(one, str) and one == "precomputed":
                raise ValueError("'precomputed' cannot be one of several: use Precomputed(M), with indices as objects")
            k = as_similarity(one)
            k.check_params()
            if isinstance(k, Learnable):
                check_learnable(k)
        found.append(NamedSimilarity(name or repr(k), k))
        if k.objects != "any":
            kinds.setdefault(k.objects, found[-1].name)
    if len(kinds) > 1:
        listed = " and ".join(f"{name} takes {kind}" for kind, name in list(kinds.items())[:2])
        raise ValueError(f"{parameter} must all take the same kind of objects, but {listed}")
    return found


def with_learned(named: Sequence[NamedSimilarity]) -> list[NamedSimilarity]:
    """Return the similarities, and after each that can be learned from labels, itself to be learned."""
    found = []
    for one in named:
        found.append(one)
        try:
            check_learnable(one.similarity)
        except (TypeError, ValueError):
            continue
        if not isinstance(one.similarity, Learnable):
            k = one.similarity.learned()
            found.append(NamedSimilarity(repr(k) if one.name == repr(one.similarity) else f"{one.name}, learned", k))
    if len(found) == len(named) and not any(isinstance(one.similarity, Learnable) for one in named):
        raise ValueError(
            f"none of the similarities has a metric or weights to learn: {', '.join(n.name for n in named)}"
        )
    return found


def distinct(named: Sequence[NamedSimilarity]) -> list[NamedSimilarity]:
    """Append a number to names that occur before."""
    names = [one.name for one in named]
    times = [names[: place + 1].count(name) for place, name in enumerate(names)]
    return [replace(one, name=f"{one.name} ({n})") if n > 1 else one for one, n in zip(named, times, strict=True)]


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Name the similarity in the errors that it raises."""
    try:
        with error_prefix(f"similarity {name}", IndexError, ExpressionError):
            yield
    except PairError as error:
        raise PairError(error.i, error.j, f"similarity {name}: {error.problem}") from error.__cause__
    except NotAKernelError as error:
        raise NotAKernelError(f"similarity {name}: {error.problem}", error.witness) from error.__cause__


def checked_engine(engine: Engine | None) -> Engine:
    """Return the engine, by default the current one."""
    if engine is not None and not isinstance(engine, Engine):
        raise TypeError(f"engine must be an Engine such as LocalEngine(threads=2), got {brief(engine)}")
    return engine or current_engine()


def calls_for_a_pair(named: Sequence[NamedSimilarity]) -> int:
    """Return the most calls of users' functions for an example and a landmark."""
    both = [one.side != "left" and SYMMETRIC not in one.similarity.claims for one in named]
    return sum(calls_per_pair(one.similarity) * (1 + two) for one, two in zip(named, both, strict=True))


def calls_to_look(named: Sequence[NamedSimilarity], X: Any) -> int:
    """Return the calls that `with_sides` takes."""
    pairs = min(TRIED_PAIRS, check_objects(X) // 2)
    return sum(2 * pairs * calls_per_pair(one.similarity) for one in named if one.may_differ)


def with_sides(named: Sequence[NamedSimilarity], X: Any, rng: np.random.Generator) -> list[NamedSimilarity]:
    """Try pairs of users' functions in both directions; where all of them agree, only K(x, l) is computed."""
    n = min(TRIED_PAIRS, check_objects(X) // 2)
    at = rng.permutation(check_objects(X))[: 2 * n]
    objects = take(X, at)
    i, j = np.split(np.arange(2 * n), 2)
    found = list(named)
    for place, one in enumerate(named):
        if one.may_differ:
            with naming(one.name), pairs_at(at, at):
                A = one.similarity.encode_checked(objects, "X")
                there = one.similarity.values_at(A, A, i, j)
                back = one.similarity.values_at(A, A, j, i)
            if np.allclose(there, back, rtol=1e-9, atol=0.0):
                found[place] = replace(one, side="left")
    return found

"""The similarities that a user gives to choose from or to combine: validated, and named in errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from similitude.compute import as_matrix
from similitude.kernel_learning import check_learnable
from similitude.similarity import Learnable, Similarity, as_similarity
from similitude.support import ExpressionError, NotAKernelError, PairError, brief, error_prefix


@dataclass(frozen=True, eq=False)
class NamedSimilarity:
    """A similarity and its name; ``side`` is "left" if K(x, z) was seen to equal K(z, x), and "auto" otherwise."""

    name: str
    similarity: Similarity
    side: str = "auto"

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
    pairs = list(given.items()) if isinstance(given, Mapping) else [(None, one) for one in given]
    found = []
    for place, (name, one) in enumerate(pairs):
        with naming(f"number {place}" if name is None else str(name)):
            if isinstance(one, str) and one == "precomputed":
                raise ValueError("'precomputed' cannot be one of several: use Precomputed(M), with indices as objects")
            k = as_similarity(one)
            k.check_params()
            if isinstance(k, Learnable):
                check_learnable(k)
            found.append(NamedSimilarity(repr(k) if name is None else str(name), k))
    first: dict[str, str] = {}
    for one in found:
        if one.similarity.objects != "any":
            first.setdefault(one.similarity.objects, one.name)
    if len(first) > 1:
        listed = " and ".join(f"{name} takes {kind}" for kind, name in list(first.items())[:2])
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
            name, k = one.name, one.similarity.learned()
            found.append(NamedSimilarity(repr(k) if name == repr(one.similarity) else f"{name}, learned", k))
    if len(found) == len(named) and not any(isinstance(one.similarity, Learnable) for one in named):
        raise ValueError(
            f"none of the similarities has a metric or weights to learn: {', '.join(n.name for n in named)}"
        )
    return found


def distinct(named: Sequence[NamedSimilarity]) -> list[NamedSimilarity]:
    """Append a number to names that occur before.

    >>> from similitude.kernels import Linear
    >>> [one.name for one in distinct([NamedSimilarity("a", Linear()), NamedSimilarity("a", Linear())])]
    ['a', 'a (2)']
    """
    seen: dict[str, int] = {}
    found = []
    for one in named:
        seen[one.name] = seen.get(one.name, 0) + 1
        found.append(one if seen[one.name] == 1 else replace(one, name=f"{one.name} ({seen[one.name]})"))
    return found


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

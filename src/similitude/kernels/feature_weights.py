"""Weights of explicit features: of substrings, of items of sets, and of labels of subtrees."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from similitude.compute import take
from similitude.kernels.ragged import places_of
from similitude.similarity import Similarity, stated
from similitude.support import brief, check_nonnegative

IDF = "idf"


class FeatureTable(NamedTuple):
    """The explicit features of some objects without weights: a sparse row per object, and the key of each column."""

    rows: Any
    keys: list[Any]


class WeightedFeatures(Similarity):
    r"""A kernel of explicit features with a weight for each: :math:`K(x, z) = \sum_u w_u \phi_u(x) \phi_u(z)`."""

    weights: Mapping[Any, float] | str | None = None
    default_weight: float = 1.0

    @abstractmethod
    def feature_table(self, objects: Any) -> FeatureTable:
        """Return the features of objects without weights, and the keys by which weights name them."""

    def feature_names(self, objects: Any, keys: Sequence[Any]) -> list[str]:
        """Return features, given by their keys, as a person would write them; they occur in the objects."""
        return [key if isinstance(key, str) else repr(key) for key in keys]

    def check_key(self, key: Any) -> None:
        """Refuse a key that cannot be a feature."""

    def check_params(self) -> None:
        """Validate the weights."""
        super().check_params()
        given = self.weights
        check_nonnegative("default_weight", self.default_weight)
        if given is None or (isinstance(given, str) and given == IDF):
            if self.default_weight != 1.0 and given is None:
                raise ValueError(f"default_weight={brief(self.default_weight)} needs weights of some features")
            return
        if not isinstance(given, Mapping):
            raise TypeError(f"weights must be a dict from features to numbers >= 0, or 'idf', got {brief(given)}")

        def check() -> None:
            for key, weight in given.items():
                self.check_key(key)
                check_nonnegative(f"the weight of {brief(key)}", weight)

        remembered(self, check, "checked", type(self), self._key_params())
        if self.default_weight == 0 and not any(given.values()):
            raise ValueError("every feature has weight 0: one at least must count")

    def _key_params(self) -> tuple[Any, ...]:
        return ()

    def unresolved(self) -> list[str]:
        """Return the name of the weights while they are to be computed from data, and those of other parameters."""
        return ["weights"] * isinstance(self.weights, str) + super().unresolved()

    def resolve(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> Any:
        """Replace the weights "idf" by those of X, without rows of weight 0."""
        if not isinstance(self.weights, str):
            return super().resolve(X, random_state, sample_weight)
        rows, keys = self.feature_table(counted(X, sample_weight))
        values, default = idf_weights(rows)
        k = self.with_params(weights=dict(zip(keys, values.tolist(), strict=True)), default_weight=default)
        remembered(k, dict, "checked", type(k), k._key_params())  # valid: computed here
        return k

    def written_params(self) -> dict[str, str]:
        """Return the parameters as `repr` shows them: weights in short, and nothing of none."""
        written = super().written_params()
        if self.weights is None:
            return {name: text for name, text in written.items() if name not in ("weights", "default_weight")}
        if isinstance(self.weights, Mapping) and len(self.weights) > 4:
            written["weights"] = f"<{len(self.weights):,} weights>"
            written["default_weight"] = f"{float(self.default_weight):.4g}"
        return written


def counted(X: Any, sample_weight: Any) -> Any:
    """Return the objects that count: all but those of weight 0."""
    return X if sample_weight is None else take(X, np.flatnonzero(np.asarray(sample_weight) > 0))


def proof_with_weights(reason: str) -> Any:
    """Return the property `reason` of a kernel that is proven by this text, and by a further step with weights."""
    scaled = "a weight w >= 0 multiplies one feature by sqrt(w), which leaves a dot product of explicit features"
    return stated("weights", reason, lambda k, text: f"{text}; {scaled}")


def idf_weights(rows: Any) -> tuple[np.ndarray, float]:
    """Return the squared inverse document frequencies of the columns of sparse rows, and that of a new feature."""
    n = rows.shape[0]
    having = np.bincount(rows.indices[rows.data != 0], minlength=rows.shape[1])
    values: np.ndarray = (np.log((1.0 + n) / (1.0 + having)) + 1.0) ** 2
    return values, float((np.log(1.0 + n) + 1.0) ** 2)


_kept: dict[int, tuple[Any, Any, Any]] = {}


def remembered(k: WeightedFeatures, make: Any, *more: Any) -> Any:
    """Return what `make` returns for the weights of k; from memory, if they are the same as before."""
    given: Any = k.weights
    place = hash((id(given), more))
    if place in _kept and _kept[place][0] is given and _kept[place][1] == given:
        return _kept[place][2]
    while len(_kept) >= 16:
        _kept.pop(next(iter(_kept)), None)
    made = make()
    _kept[place] = given, dict(given), made
    return made


def roots_of_weights(k: WeightedFeatures, keys: np.ndarray, known: Callable[[], np.ndarray], *more: Any) -> np.ndarray:
    """Return the root of the weight of each key; `known` returns the keys that the weights name, in their order."""

    def sorted_roots() -> tuple[np.ndarray, np.ndarray]:
        weights: Any = k.weights
        numbers = known()
        order = np.argsort(numbers, kind="stable")
        return numbers[order], np.sqrt(np.fromiter(weights.values(), float, len(weights)))[order]

    numbers, roots = remembered(k, sorted_roots, "roots", *more)
    places, found = places_of(numbers, keys)
    found_roots: np.ndarray = np.full(len(keys), float(k.default_weight) ** 0.5)
    found_roots[found] = roots[places[found]]
    return found_roots

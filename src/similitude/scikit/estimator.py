"""What every estimator shares: its first parameter made a similarity, its input checked, its tags, its engine."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from similitude.compute import as_matrix
from similitude.compute.blocks import Blocks
from similitude.compute.encodings import (
    Encoding,
    as_numpy,
    check_objects,
    is_table,
    is_tensor,
    moved,
    namespace,
    take,
)
from similitude.compute.engines import Engine, TorchEngine, check_device, current_engine, engine_for, is_distributed
from similitude.similarity import Similarity
from similitude.similarity.adapters import Precomputed, as_similarity
from similitude.support.errors import NotAKernelError
from similitude.support.randomness import generator
from similitude.validity import Validity, check_gram

FLOATS = (np.float64, np.float32)

CHECKED_OBJECTS = 500
"""Objects at most on whose Gram matrix a similarity without a proof is checked before it serves as a kernel."""


def all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Let a fit that fails or is interrupted leave its estimator as it was."""

    @functools.wraps(fit)
    def careful(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return careful


def tensors_for_tensors(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method that gives numbers for objects X give a tensor, on the device of X, where X is a tensor."""

    @functools.wraps(method)
    def alike(self: Any, X: Any = None, *args: Any, **kwargs: Any) -> Any:
        values = method(self, X, *args, **kwargs)
        if not is_tensor(X):
            return values
        xp = namespace(X)
        return moved(values, lambda array: xp.asarray(as_numpy(array), device=X.device))

    return alike


class SimilarityEstimator(BaseEstimator):
    """An estimator whose first parameter is a ``kernel`` (PSD is required) or a ``similarity`` (nothing is).

    It is a Similarity, a name, a function of pairs, or ``"precomputed"``: X is then K(train, train) in ``fit`` and
    K(new, train) afterwards. Fitted, it keeps the resolved one as ``kernel_`` or ``similarity_``.
    """

    engine: Engine | None
    n_features_in_: int
    notes_: list[str]
    _takes_tensors = False

    @property
    def _role(self) -> str:
        return "kernel" if hasattr(self, "kernel") else "similarity"

    @property
    def _precomputed(self) -> bool:
        given = getattr(self, self._role)
        return isinstance(given, str) and given == "precomputed"

    @property
    def _engine(self) -> Engine:
        if self.engine is not None and not isinstance(self.engine, Engine):
            raise TypeError(f"engine must be an Engine such as LocalEngine(threads=2), got {self.engine!r}")
        if self.engine is not None:
            return self.engine
        return self.__dict__.get("_engine_of_tensors") or current_engine()

    def _seen(self, X: Any, reset: bool) -> Any:
        """Return X as it is computed with: a tensor stays one where estimator and engine take them.

        A model fitted to tensors is asked where they are, be it with arrays.
        """
        if reset:
            self.__dict__.pop("_engine_of_tensors", None)
        if not is_tensor(X):
            return X
        if self.engine is None:
            self._engine_of_tensors = engine_for(X)
        takes = self._takes_tensors and self._kind() == "vectors" and isinstance(self._engine, TorchEngine)
        return X if takes else as_numpy(X)

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name; one inside a kernel given by name first makes it a Similarity."""
        role = self._role
        if any(path.startswith(f"{role}__") for path in params) and role not in params and not self._precomputed:
            setattr(self, role, as_similarity(getattr(self, role)))
        return super().set_params(**params)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kind = self._kind()
        tags.input_tags.pairwise = kind == "matrix"
        tags.input_tags.sparse = kind == "vectors"
        tags.input_tags.string = kind in ("strings", "any")
        tags.input_tags.two_d_array = kind in ("vectors", "matrix", "table", "any")
        tags.input_tags.one_d_array = kind not in ("vectors", "matrix", "table")
        return tags

    def _kind(self) -> str:
        """Return what kind of objects it takes; ``matrix`` where they are rows of a precomputed matrix."""
        if self._precomputed:
            return "matrix"
        try:
            return as_similarity(getattr(self, self._role)).objects
        except (TypeError, ValueError):  # refused with its reason when it is used
            return "any"

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Return X as its kind asks for: vectors as a float matrix, other objects as they are."""
        if is_distributed(X):
            raise TypeError(
                f"{type(self).__name__} fits to objects in memory: X.compute() them, or fit a map, a "
                f"SimilarityClassifier or a SimilarityRegressor, which leave a dask collection on its workers"
            )
        kind, X = self._kind(), self._seen(X, reset)
        if kind not in ("vectors", "matrix"):
            check_objects(X)
            return X
        if is_tensor(X):
            return self._checked_tensor(X, reset)
        if is_table(X):
            as_matrix(X)  # its errors name the column
        X = validate_data(self, X, reset=reset, accept_sparse="csr" if kind == "vectors" else False, dtype=FLOATS)
        if kind == "matrix" and reset and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{self._role}='precomputed' needs a square matrix of the training objects in fit, got shape {X.shape}"
            )
        return X

    def _checked_tensor(self, X: Any, reset: bool) -> Any:
        """Return a tensor as a matrix of floats on its device; refuse what is none, as scikit-learn does arrays."""
        check_device(self._engine, X)
        X = as_matrix(X)
        if not reset and X.shape[1] != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {self.n_features_in_} features")
        if reset:
            self.n_features_in_ = int(X.shape[1])
            self.__dict__.pop("feature_names_in_", None)
        return X

    def _start(self, X: Any, random_state: Any = None, sample_weight: Any = None) -> tuple[Similarity, Any, Encoding]:
        """Return the similarity resolved on checked training objects, the objects, and their encoding."""
        if self._precomputed:
            k: Similarity = Precomputed(X)
            X = np.arange(len(X))
        else:
            k = as_similarity(getattr(self, self._role))
        resolved, A = k.prepare(X, random_state, sample_weight)
        self._note_engine([resolved])
        setattr(self, f"{self._role}_", "precomputed" if self._precomputed else resolved)
        return resolved, X, A

    def _note_engine(self, similarities: Sequence[Similarity]) -> None:
        """Keep what the engine says of similarities that it does not compute where it is asked for."""
        self.notes_ = [note for note in map(self._engine.fallback_note, similarities) if note is not None]

    def _note_cpu(self, what: str) -> None:
        """Add to the note that something was done on the CPU, where the engine computes on a device."""
        if isinstance(self._engine, TorchEngine):
            self.notes_.append(f"{what} on the CPU, not on {self._engine.device}")

    def _ask(self, X: Any) -> tuple[Similarity, Encoding]:
        """Return the fitted similarity and the encoding of new objects."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        k = Precomputed(X) if self._precomputed else getattr(self, f"{self._role}_")
        return k, k.encode(np.arange(len(X)) if self._precomputed else X)

    def _demand_kernel(self, k: Similarity, X: Any, A: Encoding, random_state: Any = None) -> Validity:
        """Return the verdict on a kernel, looking at 500 objects at most; raise if a witness is found there."""
        proof = k.proof()
        if proof.holds:
            return Validity("VALID", proof, effort="the algebra of kernels, no data needed")
        n = check_objects(X)
        chosen = np.sort(generator(random_state).permutation(n)[:CHECKED_OBJECTS])
        few = k.encode(take(X, chosen))
        return demand_valid(check_gram(k, as_numpy(whole_gram(k, few, self._engine)), take(X, chosen), chosen, n))


def whole_gram(k: Similarity, A: Encoding, engine: Engine) -> Any:
    """Return the Gram matrix with every pair computed: a claim of symmetry is not believed."""
    return Blocks(k, A, A, symmetric=False, engine=engine).whole()


def demand_valid(validity: Validity, advice: str = "use repair(...) first") -> Validity:
    """Return the verdict, or raise with its witness if it is INVALID."""
    if validity.verdict == "INVALID":
        problem = f"{validity.proof.similarity} is not a kernel, and a kernel is needed here: {advice}."
        raise NotAKernelError(problem, validity.witness)
    return validity

"""SimilarityEstimator, the base class of maps, learners and estimators: input, tags, engine and similarity."""

from __future__ import annotations

import copy
import functools
import inspect
import operator
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from similitude.compute import (
    LARGEST_EXACT,
    Encoding,
    as_matrix,
    as_numpy,
    check_objects,
    is_distributed,
    is_sparse,
    is_table,
    is_tensor,
    moved,
    namespace,
    take,
    warn_if_rounded,
)
from similitude.compute.engines import Engine, LocalEngine, TorchEngine, check_device, current_engine, engine_for
from similitude.scikit.kernel_checks import CHECKED_OBJECTS, demand_kernel_on, proven, refuse_known
from similitude.similarity import Auto, Precomputed, Similarity, as_similarity
from similitude.support import brief, generator, naming_parameters, parameter_hint, plain_values
from similitude.validity import Validity

FLOAT_DTYPES = (np.float64, np.float32)

AUTO = "auto"

MISSING_NUMBERS = (
    "Input X contains NaN: fill the gaps or leave these rows out, or fit to a data frame, such as pd.DataFrame(X), "
    "with 'auto', Gower() or Tabular(Gaussian()), which compare rows with missing cells"
)
"""What is said about missing numbers in an array, instead of scikit-learn's advice to use its own estimators."""


def all_or_nothing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a fit: if it fails or is interrupted, the estimator keeps the state it had before."""

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
    """Decorate a method of X that returns numbers: for a tensor X it returns tensors on the same device."""

    @functools.wraps(method)
    def wrapped(self: Any, X: Any = None, *args: Any, **kwargs: Any) -> Any:
        values = method(self, X, *args, **kwargs)
        if not is_tensor(X):
            return values
        xp = namespace(X)
        return moved(values, lambda array: xp.asarray(as_numpy(array), device=X.device))

    return wrapped


def scored_on_host(score: Callable[..., float]) -> Callable[..., float]:
    """Decorate a score of scikit-learn, which cannot read tensors on a GPU: X, y and weights become arrays."""

    @functools.wraps(score)
    def wrapped(self: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        arrays = [as_numpy(one) if is_tensor(one) else one for one in (X, y, sample_weight)]
        return score(self, *arrays)

    return wrapped


def _reraise(error: Exception, X: Any, taken: str) -> NoReturn:
    """Raise an error again, with a suggestion if the objects are of another kind than the one that is taken."""
    if taken == "vectors" and str(error).startswith("Input X contains NaN"):
        raise ValueError(MISSING_NUMBERS) from error
    from similitude.kernels import suggestion  # loads all kernels

    if type(error) in (TypeError, ValueError):
        error.args = (". ".join(filter(None, (str(error), suggestion(X, taken)))),)
    raise error


def _warn_if_rounded(given: Any, X: Any) -> None:
    """Warn of integers in what was given that are other numbers in the validated X; of tables, `as_matrix` did."""
    if is_sparse(given):
        warn_if_rounded(given.tocsr().data)
    elif hasattr(given, "dtype"):
        warn_if_rounded(given)
    elif isinstance(given, (list, tuple)) and not is_sparse(X) and float(np.abs(X).max(initial=0.0)) > LARGEST_EXACT:
        warn_if_rounded(np.asarray(given))


def on_host(value: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """Return a value with all tensors in it as arrays, or itself; `known` holds values and results by id."""
    if id(value) in known:
        return known[id(value)][1]
    found = value
    if is_tensor(value):
        found = as_numpy(value)
    elif type(value) in (list, tuple):
        parts = [on_host(part, known) for part in value]
        if not all(map(operator.is_, parts, value)):
            found = type(value)(parts)
    elif type(value) is dict:
        changed = {name: on_host(part, known) for name, part in value.items()}
        if not all(map(operator.is_, changed.values(), value.values())):
            found = changed
    elif type(value).__module__.startswith("similitude.") and hasattr(value, "__dict__"):
        before = dict(vars(value))
        attributes = on_host(before, known)
        if attributes is not before:
            found = object.__new__(type(value))
            vars(found).update(attributes)
    known[id(value)] = value, found
    return found


@functools.lru_cache(maxsize=64)
def _objects_of(text: str) -> str:
    """Return the kind of objects that the similarity written in a text takes; estimators ask for it at every call."""
    return as_similarity(text).objects


class SimilarityEstimator(BaseEstimator):
    """An estimator whose first parameter is a ``kernel`` (which must be PSD) or a ``similarity`` (any function).

    It is a Similarity, a name, a function of pairs, ``"auto"``, which is decided by the objects that it is fitted to
    (for vectors a Gaussian kernel), or ``"precomputed"``: X is then K(train, train) in ``fit``, and afterwards
    K(new, train), or of its columns those that the model reads, in the order of ``landmark_indices_``, ``support_`` or
    ``medoid_indices_``;
    as many columns as there are training objects are always in their order. After ``fit``, ``kernel_`` or
    ``similarity_`` is the Similarity with data-dependent parameters resolved.
    """

    engine: Engine | None
    n_features_in_: int
    notes_: list[str]
    _takes_tensors = False
    _role: str

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls) and cls.__module__.startswith("similitude."):
            naming_parameters(cls)
        if getattr(cls, "score", None) in (ClassifierMixin.score, RegressorMixin.score):
            cls.score = scored_on_host(cls.score)
        cls._role = "kernel" if "kernel" in inspect.signature(cls).parameters else "similarity"

    @property
    def _precomputed(self) -> bool:
        given = getattr(self, self._role)
        return isinstance(given, str) and given == "precomputed"

    @property
    def _is_automatic(self) -> bool:
        given = getattr(self, self._role)
        return isinstance(given, Auto) or (isinstance(given, str) and given == AUTO)

    @property
    def _engine(self) -> Engine:
        if self.engine is not None and not isinstance(self.engine, Engine):
            raise TypeError(f"engine must be an Engine such as LocalEngine(threads=2), got {brief(self.engine)}")
        if self.engine is not None:
            return self.engine
        return self.__dict__.get("_engine_of_tensors") or current_engine()

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the text of scikit-learn, with parameters as plain numbers: C=0.5, not C=np.float64(0.5)."""
        shown: Any = object.__new__(type(self))
        vars(shown).update({name: plain_values(getattr(self, name)) for name in self._get_param_names()})
        return str(BaseEstimator.__repr__(shown, N_CHAR_MAX))

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes with tensors as arrays, so that a model fitted on a GPU is loaded without one."""
        state: dict[str, Any] = dict(super().__getstate__())
        if "plan_" in state:  # equal models are saved as equal files, and seconds are never equal
            state["plan_"] = replace(state["plan_"], spent=None)
        state.pop("_engine_of_tensors", None)
        return on_host(state, {}) if "torch" in sys.modules else state

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name; a kernel given by name becomes a Similarity if a parameter inside it is set.

        A parameter inside of an automatic one is that of a Gaussian kernel.
        """
        role = self._role
        if any(path.startswith(f"{role}__") for path in params) and role not in params and not self._precomputed:
            given = getattr(self, role)
            if isinstance(given, str) and given == AUTO:
                given = "gaussian"
            setattr(self, role, as_similarity(given))
        try:
            return super().set_params(**params)
        except ValueError as error:
            raise ValueError(f"{error}{self._deeper(params)}") from error

    def _deeper(self, params: Iterable[str]) -> str:
        """Return a hint if a parameter of the similarity that is set belongs to one of its parts."""
        start = f"{self._role}__"
        known = self.get_params()
        unknown = [one.removeprefix(start) for one in params if one not in known]
        found = [one for name in unknown for one in known if one.startswith(start) and one.endswith(f"__{name}")]
        hints = [parameter_hint(type(self), name, ()) for name in params if name not in known]
        return "".join(f" ({one})" for one in (", ".join(found), *hints) if one)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kind = self._kind()
        tags.input_tags.pairwise = kind == "matrix"
        tags.input_tags.sparse = kind == "vectors"
        tags.input_tags.string = kind in ("strings", "any")
        tags.input_tags.two_d_array = kind in ("vectors", "matrix", "table", "any")
        tags.input_tags.one_d_array = kind not in ("vectors", "matrix", "table")
        return tags

    def _kind(self, X: Any = None) -> str:
        """Return the kind of objects that the similarity takes: of X, if automatic; ``"matrix"`` if precomputed."""
        given = getattr(self, self._role)
        if callable(given) and not isinstance(given, Auto):
            return given.objects if isinstance(given, Similarity) else "any"
        if self._precomputed:
            return "matrix"
        if self._is_automatic:
            if X is not None:
                from similitude.kernels import kind_of_objects  # loads all kernels

                self._objects: str = getattr(given, "kind", None) or kind_of_objects(X)
            return str(self.__dict__.get("_objects", "vectors"))
        try:
            if isinstance(given, str):
                return _objects_of(given)
            if not isinstance(given, (list, tuple)):
                return as_similarity(given).objects
            kinds = {as_similarity(one).objects for one in given} - {"any"}
        except (TypeError, ValueError):  # reported with its reason when the similarity is used
            return "any"
        return kinds.pop() if len(kinds) == 1 else "any"

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """Validate X: vectors become a float matrix, or stay a tensor where both take one; others are unchanged."""
        if is_distributed(X):
            raise TypeError(
                f"{type(self).__name__} fits to objects in memory: X.compute() them, or fit a map, a "
                f"SimilarityClassifier or a SimilarityRegressor, which leave a dask collection on its workers"
            )
        if reset:
            self.__dict__.pop("_engine_of_tensors", None)
        kind = self._kind(X if reset else None)
        if is_tensor(X):
            if self.engine is None:
                self._engine_of_tensors = engine_for(X)
            if self._takes_tensors and kind == "vectors" and isinstance(self._engine, TorchEngine):
                return self._checked_tensor(X, reset)
            X = as_numpy(X)
        if kind not in ("vectors", "matrix"):
            check_objects(X)
            return X
        if kind == "matrix" and not reset:
            X = self._all_columns(X)
        given = X
        try:
            if is_table(X):
                as_matrix(X)  # its errors name the column
            sparse = {"vectors": "csr"}.get(kind, False)
            X = validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=FLOAT_DTYPES)
        except (TypeError, ValueError) as error:
            _reraise(error, given, kind)
        if X is not given:
            _warn_if_rounded(given, X)
        if kind == "matrix" and reset and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{self._role}='precomputed' needs a square matrix of the training objects in fit, got shape {X.shape}"
            )
        return X

    def _all_columns(self, X: Any) -> Any:
        """Return K(new, train) with all columns, given all or only those that the model reads: the others are zero."""
        n = self.n_features_in_
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] == n:
            return X
        names = ("landmark_indices_", "support_", "medoid_indices_")
        name = next((one for one in names if getattr(self, one, None) is not None), None)
        if name is None:
            return X
        used = getattr(self, name)
        if shape[1] != len(used):
            raise ValueError(
                f"X has {shape[1]} features, but {type(self).__name__} is expecting {n} features: with "
                f"{self._role}='precomputed', X is K(new, train) with {n} columns, or the {len(used)} columns of "
                f"it at {name}, which are all that the model reads"
            )
        spread = np.zeros((shape[0], n), order="F", dtype=getattr(X, "dtype", np.float64))
        spread[:, used] = X
        return spread

    def _checked_tensor(self, X: Any, reset: bool) -> Any:
        """Validate a tensor as scikit-learn validates arrays, without moving it."""
        check_device(self._engine, X)
        X = as_matrix(X)
        if not reset and X.shape[1] != self.n_features_in_:
            name = type(self).__name__
            raise ValueError(f"X has {X.shape[1]} features, but {name} is expecting {self.n_features_in_} features")
        if reset:
            self.n_features_in_ = int(X.shape[1])
            self.__dict__.pop("feature_names_in_", None)
        return X

    def _start(
        self, X: Any, random_state: Any = None, sample_weight: Any = None, *, kernel: bool = False
    ) -> tuple[Similarity, Any, Encoding]:
        """Return the similarity resolved on validated objects, the objects, and their encoding; check a `kernel`."""
        if self._precomputed:
            k: Similarity = Precomputed(X)
            X = np.arange(len(X))
        else:
            k = as_similarity(getattr(self, self._role))
        if kernel:
            refuse_known(k)
        try:
            resolved, A = k.prepare(X, random_state, sample_weight)
        except (TypeError, ValueError) as error:
            _reraise(error, X, k.objects)
        self.notes_ = list(filter(None, [self._engine.fallback_note(resolved)]))
        setattr(self, f"{self._role}_", "precomputed" if self._precomputed else resolved)
        if kernel:
            self.validity_ = proven(resolved) or self._demand_kernel(resolved, X, A, random_state)
        return resolved, X, A

    def _demand_kernel(self, k: Similarity, X: Any, A: Encoding, random_state: Any) -> Validity:
        """Return the verdict on an unproven kernel from at most 500 objects; raise NotAKernelError at a witness."""
        n = check_objects(X)
        chosen = np.sort(generator(random_state).permutation(n)[:CHECKED_OBJECTS])
        objects = take(X, chosen)
        return demand_kernel_on(k, k.encode(objects), objects, chosen, n, self._engine)

    def _note_cpu(self, what: str) -> None:
        """Add a note that a step was computed on the CPU although the engine has a device."""
        if isinstance(self._engine, TorchEngine):
            self.notes_.append(f"{what} on the CPU, not on {self._engine.device}")

    def _ask(self, X: Any) -> tuple[Similarity, Encoding]:
        """Return the fitted similarity and the encoding of new objects."""
        check_is_fitted(self)
        X = self._checked(X, reset=False)
        if self._precomputed:
            k = Precomputed(X)
            return k, k.encode(np.arange(len(X)))
        fitted = getattr(self, f"{self._role}_")
        return fitted, fitted.encode(X)


class InputCheck:
    """Validate objects on a worker as an estimator does; called as ``check(objects, reset=first)``."""

    def __init__(self, estimator: SimilarityEstimator, memory: int | str) -> None:
        self._estimator: Any = copy.copy(estimator)
        self._estimator.engine = LocalEngine(threads=1, memory=memory)
        for name in {"landmarks", "unlabeled"} & set(vars(self._estimator)):
            setattr(self._estimator, name, None)

    def __call__(self, X: Any, *, reset: bool) -> Any:
        """Return the validated objects; `reset` for the first batch, which fixes the number of features."""
        return self._estimator._checked(X, reset=reset)

    @property
    def engine(self) -> LocalEngine:
        """The engine of one worker."""
        engine: LocalEngine = self._estimator.engine
        return engine

    @property
    def attributes(self) -> dict[str, Any]:
        """What validation found: ``n_features_in_``, ``feature_names_in_`` and the kind of objects."""
        known = vars(self._estimator)
        return {name: known[name] for name in ("n_features_in_", "feature_names_in_", "_objects") if name in known}

    def copy(self) -> InputCheck:
        """Return a copy that remembers its own first batch."""
        made = copy.copy(self)
        made._estimator = copy.copy(self._estimator)
        return made


class ScoreClassifier(ClassifierMixin):
    """A classifier that predicts by its ``decision_function``."""

    classes_: np.ndarray

    @tensors_for_tensors
    def predict(self: Any, X: Any) -> np.ndarray:
        """Return the class of each object.

        With two classes it is ``classes_[1]`` where the score is >= 0, otherwise the class with the largest score, the
        first one on a tie.
        """
        scores = as_numpy(self.decision_function(X))
        return self.classes_[(scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

"""A perceptron in a stream: batches, single examples, what it remembers of them, and its predictions."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_consistent_length, column_or_1d

from similitude.compute.encodings import is_sparse, rows, take
from similitude.learners.kernel_learner import KernelLearner
from similitude.learners.mistake_bounds import MistakeBound, no_bound
from similitude.learners.perceptron_memory import Memory
from similitude.learners.perceptron_rules import perceptron_rule
from similitude.learners.perceptron_walk import Examples, Walk, check_finite, lengthening
from similitude.scikit import all_or_nothing, demand_valid, whole_gram
from similitude.similarity import Similarity
from similitude.similarity.adapters import as_similarity
from similitude.support.errors import UnresolvedError, brief
from similitude.validity import check_gram

WITNESSES = 1000
"""Remembered objects at most that are searched for a reason why a similarity is not a kernel."""

STREAM = no_bound("the examples of a stream are not kept, so their margin is not known")


class ScoreClassifier(ClassifierMixin, KernelLearner):
    """Predict by the sign of one weighted sum of similarities, or by the largest of several."""

    classes_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the score of each object, or one score per class where there are several.

        Parameters
        ----------
        X : sequence of objects

        Returns
        -------
        array of shape (n,) or (n, n_classes)
        """
        with np.errstate(over="ignore", invalid="ignore"):
            return check_finite(self._weighted(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each object: ``classes_[1]`` where the score is >= 0, or that of the largest score.

        On a tie between several classes it is the first of them.

        Parameters
        ----------
        X : sequence of objects
        """
        scores = self.decision_function(X)
        return self.classes_[(scores >= 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


class StreamLearner(ScoreClassifier):
    """A perceptron that goes on from what it remembers. A subclass writes ``fit`` and ``_check_params``."""

    tie: str
    average: bool
    budget: int | None
    mistakes_per_epoch_: list[int]
    mistake_bound_: MistakeBound
    _memory: Memory

    def _check_params(self) -> None:
        """Refuse parameters out of range."""
        raise NotImplementedError

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Walk once through the next examples of a stream, and go on from what is remembered.

        What the kernel leaves open, such as ``sigma="median"``, is fixed on the first batch.

        Parameters
        ----------
        X : sequence of objects
        y : sequence of labels
        classes : sequence of labels
            All that may ever come; needed in the first call.
        """
        self._check_params()
        self._demand_objects("partial_fit")
        first = not hasattr(self, "_memory")
        X = self._checked(X, reset=first)
        numbers = self._numbers(X, y, classes)
        if first:
            k, X, A = self._begin(X)
            memory = self._empty_memory(X, A)
        else:
            k, memory = self.kernel_, self._memory.copy()
            A = k.encode(X)
        walk = self._walk(k, A, numbers, memory).run(1)
        self._remember(walk, memory, X)
        return self._count(walk.mistakes[0])

    def learn_one(self, x: Any, y: Any, classes: Any = None) -> Any:
        """Take the next example of a stream.

        Parameters
        ----------
        x : object
            One vector, string, graph, ….
        y : label
        classes : sequence of labels
            All that may ever come; needed in the first call unless `y` is True or False.
        """
        if not hasattr(self, "_memory"):
            return self._learn_first(x, y, classes)
        number = self._number(y, classes)
        X, one = self._encode_one(x)
        memory, rule = self._memory, perceptron_rule(len(self.classes_), self.tie)
        target = rule.targets(np.array([number]))
        with np.errstate(over="ignore", invalid="ignore"):
            scores = check_finite(memory.scores(self.kernel_, one, memory.weights.rows))
        wrong = bool(rule.wrong(scores, target)[0])
        if wrong:
            memory = self._with_one_more(X, one, scores, rule.steps(scores, target))
        memory.seen += 1
        memory.time += 1
        self._memory = memory
        return self._count(int(wrong))

    def _with_one_more(self, X: Any, one: Any, scores: np.ndarray, steps: np.ndarray) -> Memory:
        """Return a memory that holds one object more, and forgets one if there are too many."""
        memory = self._memory.copy()
        diagonal = np.asarray(self.kernel_.diagonal(one), np.float64)
        memory.add(self.kernel_, X, one, [memory.seen], steps, steps * memory.time)
        memory.squared_length += float(lengthening(steps, scores, diagonal)[0])
        if min(memory.squared_length, diagonal[0]) < 0:
            self._demand_possible(self.kernel_, memory)
        if self.budget is not None and len(memory) > self.budget:
            memory.keep(np.arange(len(memory) - int(self.budget), len(memory)))
        return memory

    def predict_one(self, x: Any) -> Any:
        """Return the class of one object; None before anything was learned.

        Parameters
        ----------
        x : object
        """
        if not hasattr(self, "_memory"):
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            score = check_finite(self._memory.scores(self.kernel_, self._encode_one(x)[1], self.dual_coef_))[0]
        return self.classes_.tolist()[int(score >= 0) if score.ndim == 0 else int(score.argmax())]

    @property
    def support_(self) -> np.ndarray:  # type: ignore[override]
        """Positions of the remembered examples."""
        return self._fitted_memory("support_").positions.rows

    @property
    def support_objects_(self) -> Any:
        """The remembered examples."""
        return self._fitted_memory("support_objects_").objects.rows

    @property
    def dual_coef_(self) -> np.ndarray:  # type: ignore[override]
        """The weights of the remembered examples."""
        memory = self._fitted_memory("dual_coef_")
        return memory.averaged() if self.average else memory.weights.rows

    @property
    def n_seen_(self) -> int:
        """Examples in the stream so far."""
        return self._fitted_memory("n_seen_").seen

    @property
    def mistakes_(self) -> int:
        """How often it learned."""
        self._fitted_memory("mistakes_")
        return sum(self.mistakes_per_epoch_)

    @property
    def _support(self) -> Any:
        return self._memory.encoding.rows

    def _fitted_memory(self, name: str) -> Memory:
        if "_memory" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted")
        return self._memory

    def __sklearn_is_fitted__(self) -> bool:
        return "_memory" in vars(self)

    def _demand_objects(self, method: str) -> None:
        if self._precomputed:
            raise ValueError(
                f"{method} needs the objects of a stream, a precomputed matrix has none: use fit, or the kernel "
                f"Precomputed(M) with row numbers as objects"
            )

    def _empty_memory(self, X: Any, A: Any) -> Memory:
        none = np.empty(0, np.intp)
        outputs = perceptron_rule(len(self.classes_), self.tie).outputs
        return Memory(take(X, none), rows(A, none), outputs)

    def _walk(self, k: Similarity, A: Any, numbers: np.ndarray, memory: Memory | None) -> Walk:
        rule = perceptron_rule(len(self.classes_), self.tie)
        budget = None if self.budget is None else int(self.budget)
        return Walk(Examples(k, A, self._engine), rule.targets(numbers), rule, memory, budget)

    def _remember(self, walk: Walk, memory: Memory, X: Any) -> None:
        walk.commit(memory, X)
        if walk.impossible:
            self._demand_possible(walk.examples.kernel, memory)
        self._memory = memory

    def _demand_possible(self, k: Similarity, memory: Memory) -> None:
        """Raise if the remembered objects show that the similarity is no kernel; rounding alone does not."""
        if self.validity_.verdict != "VALID":
            some = np.arange(min(len(memory), WITNESSES))
            objects, positions = take(memory.objects.rows, some), memory.positions.rows[some]
            G = np.asarray(whole_gram(k, rows(memory.encoding.rows, some), self._engine))
            demand_valid(check_gram(k, G, objects, positions, memory.seen))

    def _count(self, mistakes: int) -> Any:
        so_far = getattr(self, "mistakes_per_epoch_", [0])
        self.mistakes_per_epoch_ = [*so_far[:-1], so_far[-1] + mistakes]
        self.mistake_bound_ = STREAM
        return self

    def _numbers(self, X: Any, y: Any, classes: Any) -> np.ndarray:
        """Return the class numbers of labels in a stream, and fix the classes in the first call."""
        if classes is None and not hasattr(self, "classes_"):
            raise ValueError("classes must be passed on the first call to partial_fit: all labels that may ever come")
        if classes is not None:
            self._declare(classes)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        unknown = np.flatnonzero(~np.isin(y, self.classes_))
        if len(unknown):
            raise ValueError(f"y holds {y[unknown[0]]!r}, which is none of the classes {brief(self.classes_)}")
        return np.searchsorted(self.classes_, y)

    def _declare(self, classes: Any) -> None:
        given = np.unique(column_or_1d(classes))
        if len(given) < 2:
            raise ValueError(f"{type(self).__name__} needs two classes at least, got {brief(classes)}")
        if hasattr(self, "classes_") and not np.array_equal(given, self.classes_):
            raise ValueError(f"classes are {brief(given)}, but earlier calls had {brief(self.classes_)}")
        self.classes_ = given

    def _number(self, y: Any, classes: Any) -> int:
        if classes is not None:
            self._declare(classes)
        known = self.classes_.tolist()
        if y not in known:
            raise ValueError(f"y is {y!r}, which is none of the classes {brief(self.classes_)}")
        return known.index(y)

    def _learn_first(self, x: Any, y: Any, classes: Any) -> Any:
        self._demand_objects("learn_one")
        if classes is None and isinstance(y, (bool, np.bool_)):
            classes = [False, True]
        waiting = as_similarity(self.kernel).unresolved()
        if waiting:
            raise UnresolvedError(
                f"{', '.join(waiting)} of {self.kernel!r} cannot be fixed from one object: give a number, or begin "
                f"with partial_fit on a first batch"
            )
        return self.partial_fit(self._as_batch(x), [y], classes)

    def _as_batch(self, x: Any) -> Any:
        """Return one object as a batch of one."""
        if self._kind() != "vectors":
            return [x]
        return x if is_sparse(x) else np.atleast_1d(np.asarray(x))[None]

    def _encode_one(self, x: Any) -> tuple[Any, Any]:
        self._demand_objects("one object at a time")
        X = self._as_batch(x)
        if self._kind() == "vectors" and X.shape != (1, self.n_features_in_):
            raise ValueError(f"x has shape {X.shape[1:]}, expected one vector of {self.n_features_in_} features")
        return X, self.kernel_.encode(X)


def whole_number(name: str, value: Any) -> None:
    """Refuse what is not a whole number above zero."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a positive whole number, got {value!r}")

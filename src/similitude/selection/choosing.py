"""Choosing among similarities by cross-validation that computes each pair of objects once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import check_objects, itemsize
from similitude.compute.engines import DistributedEngine, Engine, LocalEngine, current_engine
from similitude.landmarks import Representation
from similitude.selection.candidate_features import features_of, with_and_without_normalization
from similitude.selection.candidates import NamedSimilarity, distinct, naming, validated
from similitude.selection.cross_validation import HeldOutErrors, cross_validate
from similitude.selection.folds import MAX_PARTS, Folds, check_cv, make_folds
from similitude.selection.landmark_similarities import LandmarkSimilarities, SampledData, families
from similitude.selection.paired_intervals import differences, error_of, widening
from similitude.selection.sample_sizes import SampleSizes, affordable, sample_landmarks, sample_rows
from similitude.selection.selection_result import Row, Selection
from similitude.selection.targets import CLASSIFICATION, SelectionTargets
from similitude.similarity import remembered_images
from similitude.support import Estimate, generator

COMPARED_ROWS = 20_000
"""Largest number of examples that are used."""

COMPARED_LANDMARKS = 1_000
"""Largest number of landmarks."""

LANDMARK_ARRAYS, FOLD_MATRICES = 6, 5
"""Number of arrays of examples by landmarks in memory at once, and of square matrices beside those of the folds."""


def choose_kernel(
    candidates: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    task: str | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Selection:
    r"""Rank similarities by the cross-validated error of ridge regression on their similarities to landmarks.

    Each candidate is compared with the landmarks once: every fold and every penalty :math:`\lambda` of

    .. math:: \min_{w, b} \sum_i |y_i - w^\top f(x_i) - b|^2 + \lambda |w|^2

    is computed from sums over parts of the examples. The features f are those of `SimilarityClassifier`: kernels (by
    proof, or positive semi-definite on the landmarks) are projected onto the landmarks; for other similarities, the
    features are the similarities themselves. Candidates that are functions of the same distance (Gaussian, Laplace,
    Matern, rational quadratic, with any parameters, also pulled back by the same function) share its computation.

    At most 1,000 landmarks are drawn once, uniformly, and used for all candidates and folds; open scales (``"median"``)
    are resolved on X once. Both use objects of all folds, but no labels.

    The penalty of a fold is the best one on the held-out examples of the other folds, of 21 from :math:`10^{-9}` to 10
    times the sum of squares of the centered features. Candidates are ranked by held-out error. Differences to the best
    are paired by example. Their normal intervals hold simultaneously for all pairs of candidates, so that it does not
    matter that the best was chosen by the same errors, and allow for models that share training examples (Nadeau and
    Bengio, "Inference for the Generalization Error", 2003). They cover the difference on new examples of models with as
    many training examples; for classes they are conservative, for squared errors that a few examples dominate they can
    be too narrow.

    Parameters
    ----------
    candidates : list of similarities, or dict of them by name
        Each a Similarity, a name such as ``"gaussian"``, or a function of two objects. For matrices, use
        ``Precomputed(M)`` with indices as X.
    X : sequence of objects
        Of more than 20,000 a random sample is used, with a warning.
    y : sequence of labels or numbers
        Classes, or numbers to predict.
    cv : int, splitter, or iterable of (train, test)
        If it is a number of folds, they are shuffled, and stratified for classes.
    task : {"classification", "regression"}, optional
        Default: as scikit-learn's ``type_of_target`` decides: integers are classes, and numbers with a fraction are to
        be predicted. ``Selection.task`` says which.
    random_state : int, optional
        Seed of landmarks, folds and samples.
    engine : Engine, optional

    Returns
    -------
    Selection
        ``best`` is a Similarity; ``table`` holds one row for each candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Gaussian, Linear
    >>> from similitude.selection import choose_kernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> chosen = choose_kernel([Linear(), Gaussian(sigma=1.0), Gaussian(sigma=1e-3)], X, (X**2).sum(axis=1) > 1.4)
    >>> chosen.best
    Gaussian(sigma=1.0)
    >>> [row.as_good for row in chosen.table]
    [True, False, False]
    """
    named = validated(candidates, "candidates")
    targets = SelectionTargets.of(y, check_objects(X), task)
    cv = check_cv(cv, targets)
    engine, rng = checked_engine(engine), generator(random_state)
    sizes = _sizes(X, cv, len(targets), engine)
    rows = sample_rows(len(targets), targets, sizes.rows, cv if isinstance(cv, int) else 2, rng)
    folds = make_folds(cv, targets, rows, rng)
    data = SampledData(X, rows, sample_landmarks(len(rows), None, sizes.landmarks, rng))
    sizes.announce("choose_kernel")
    with remembered_images():
        named = distinct([one.resolved(X, random_state) for one in named])
        tested = list(Comparison(named, data, targets.at(rows), folds).tested(engine))
    return _selection(tested, data, targets.task, folds, sizes)


def checked_engine(engine: Engine | None) -> Engine:
    """Return the engine, by default the current one."""
    if engine is not None and not isinstance(engine, Engine):
        raise TypeError(f"engine must be an Engine such as LocalEngine(threads=2), got {engine!r}")
    return engine or current_engine()


def _sizes(X: Any, cv: Any, n: int, engine: Engine) -> SampleSizes:
    size, parts = itemsize(X), min(MAX_PARTS, cv if isinstance(cv, int) else 10)
    return affordable(
        n,
        COMPARED_ROWS,
        COMPARED_LANDMARKS,
        lambda r, m: LANDMARK_ARRAYS * r * m * size + (parts + FOLD_MATRICES) * 8 * (2 * m) ** 2,
        engine,
    )


@dataclass(frozen=True, eq=False)
class TestedCandidate:
    """A candidate with its held-out errors; candidates that share distances are of one family."""

    position: int
    named: NamedSimilarity
    representation: Representation
    errors: HeldOutErrors
    seconds: float
    family: int
    shared: bool
    n_calls: int = 0


@dataclass(frozen=True, eq=False)
class Comparison:
    """The candidates, and the examples, targets and folds on which they are compared."""

    named: Sequence[NamedSimilarity]
    data: SampledData
    targets: SelectionTargets
    folds: Folds

    def tested(self, engine: Engine) -> Iterator[TestedCandidate]:
        """Yield the tested candidates, family by family; a distributed engine tests several families at once."""
        positions = families([one.similarity for one in self.named])
        if not isinstance(engine, DistributedEngine):
            for number, family in enumerate(positions):
                yield from self.test_family(number, family, engine)
            return
        for one in self.named:
            with naming(one.name):
                self.data.objects(one.similarity)  # an error in an object is raised here, with its position in X
        n, local = len(positions), LocalEngine(threads=1, memory=engine.memory)
        with engine.session():
            sent = engine.broadcast(replace(self, data=self.data.without_others()))
            tasks = engine.map(Comparison.test_family, [sent] * n, range(n), positions, [local] * n)
            for tested in engine.collect(tasks):
                yield from tested

    def test_family(self, family: int, positions: Sequence[int], engine: Engine) -> list[TestedCandidate]:
        """Test the candidates at these positions, which share distances."""
        began, tested, first = time.perf_counter(), [], self.named[positions[0]]
        with naming(first.name):
            similarities = LandmarkSimilarities(first.similarity, self.data, engine, shared=len(positions) > 1)
            if similarities.shared:
                similarities.left(first.similarity)
        common = (time.perf_counter() - began) / len(positions)
        for position in positions:
            began, one = time.perf_counter(), self.named[position]
            with naming(one.name):
                representation, errors = self._test(one, similarities)
            seconds = common + time.perf_counter() - began
            tested.append(TestedCandidate(position, one, representation, errors, seconds, family, similarities.shared))
        return [replace(one, n_calls=similarities.n_calls) for one in tested]

    def _test(self, one: NamedSimilarity, similarities: LandmarkSimilarities) -> tuple[Representation, HeldOutErrors]:
        """Test a candidate; similarities as features are normalized if that is clearly better."""
        best: tuple[Representation, HeldOutErrors] | None = None
        for representation, F in with_and_without_normalization(*features_of(one.similarity, similarities)):
            errors = cross_validate(F, self.targets, self.folds)
            if best is None or errors.loss < best[1].loss - best[1].deviation:
                best = representation, errors
        assert best is not None
        return best


def _selection(
    tested: list[TestedCandidate], data: SampledData, task: str, folds: Folds, sizes: SampleSizes
) -> Selection:
    """Rank the candidates by their errors; ties by their losses, then in the order in which they were given."""
    of_classes = task == CLASSIFICATION
    tested = sorted(tested, key=lambda one: (one.errors.errors.mean(), one.errors.loss, one.position))
    errors = np.stack([one.errors.errors for one in tested], axis=1)
    wider = widening(len(errors), float(np.mean([len(train) for train, _ in folds.pairs])))
    compared = zip(tested, differences(errors, 0, of_classes, wider), strict=True)
    table = [_row(one, difference, of_classes, wider) for one, difference in compared]
    return Selection(
        best=table[0].similarity,
        table=table,
        task=task,
        folds=folds.description,
        n_examples=len(data.rows),
        landmark_indices=data.landmarks,
        notes=sizes.notes,
        n_similarity_calls=sum({one.family: one.n_calls for one in tested}.values()),
    )


def _row(one: TestedCandidate, difference: Estimate, of_classes: bool, wider: float) -> Row:
    return Row(
        candidate=one.named.name,
        similarity=one.named.similarity,
        error=error_of(one.errors.errors, of_classes, wider),
        difference=difference,
        as_good=difference.low <= 0.0,
        loss=one.errors.loss,
        representation=one.representation,
        penalty=one.errors.penalty,
        seconds=one.seconds,
        n_similarity_calls=one.n_calls,
        shared=one.shared,
    )

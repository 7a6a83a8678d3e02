"""Choosing among similarities by cross-validation that computes each pair of objects once."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from similitude.compute import as_numpy, check_objects, itemsize, keys, moved
from similitude.compute.engines import DistributedEngine, Engine, LocalEngine, current_engine, one_scipy_thread
from similitude.estimators import error_of_classes
from similitude.evaluation import CLASSIFICATION, TaskTargets, check_groups
from similitude.landmarks import Representation
from similitude.selection.asymmetry import calls_for_a_pair, calls_to_look, with_sides
from similitude.selection.candidate_features import features_of, with_and_without_normalization
from similitude.selection.candidates import NamedSimilarity, distinct, naming, validated, with_learned
from similitude.selection.cross_validation import HeldOutErrors, OuterFold, cross_validate, cross_validate_learned
from similitude.selection.folds import MAX_PARTS, Folds, check_cv, join_copies, make_folds, outer_folds
from similitude.selection.landmark_similarities import LandmarkSimilarities, SampledData, families
from similitude.selection.learned_candidates import FoldLearner
from similitude.selection.paired_intervals import differences, error_of
from similitude.selection.sample_sizes import SampleSizes, affordable, sample_landmarks, sample_rows, within_calls
from similitude.selection.selection_result import Row, Selection
from similitude.similarity import Learnable, budgeted, remembered_images
from similitude.support import Estimate, brief, generator

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
    groups: Any = None,
    learn: bool = False,
    max_calls: int | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Selection:
    r"""Rank similarities by the cross-validated error of ridge regression on their similarities to landmarks.

    Each candidate is compared with the landmarks once: every fold and every penalty :math:`\lambda` of

    .. math:: \min_{w, b} \sum_i |y_i - w^\top f(x_i) - b|^2 + \lambda |w|^2

    is computed from sums over parts of the examples. The features f are those of `SimilarityClassifier`: kernels (by
    proof, or positive semi-definite on the landmarks without a known counterexample) are projected onto the landmarks;
    for other similarities, the features are the similarities themselves. Candidates that are functions of the same
    distance (Gaussian, Laplace, Matern, rational quadratic, with any parameters, also pulled back by the same function)
    share its computation.

    At most 1,000 landmarks are drawn once, uniformly, and used for all candidates and folds; open scales (``"median"``)
    are resolved on X once. Both use objects of all folds, but no labels.

    The penalty of a fold is the best one on the held-out examples of the other folds, of 21 from :math:`10^{-9}` to 10
    times the sum of squares of the centered features. Candidates are ranked by held-out error. Differences to the best
    are paired by example. Their normal intervals hold simultaneously for all pairs of candidates, so that it does not
    matter that the best was chosen by the same errors, and allow for models that share training examples (Nadeau and
    Bengio, "Inference for the Generalization Error", 2003). They cover the difference on new examples of models with as
    many training examples; for classes they are conservative, for squared errors that a few examples dominate they can
    be too narrow.

    The smallest of several errors is optimistic. ``held_out_error`` is what the choice does on new examples: for each
    of five folds, candidate and penalty are chosen again by cross-validation among the examples outside the fold, and
    the model is judged by those inside. (Varma and Simon, "Bias in Error Estimation When Using Cross-Validation for
    Model Selection", 2006.) The models by which the choice is made leave out two folds, not one: a symmetric similarity
    that happens to predict one fold from another also predicts the other from the one. This takes no further
    similarities. If cv is a number, examples that no candidate can tell apart are in the same fold.

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
        Default: text, booleans and categories are classes, and so are integers with at most 20 distinct values and two
        examples of each on average; other numbers are to be predicted. ``Selection.task`` says which.
    groups : sequence, optional
        What each example belongs to, such as a patient or a document: no fold separates examples of one group, and
        intervals count groups, not examples. With a splitter, it is given the groups.
    learn : bool
        Also try each candidate with a metric or weights learned from labels, where it has any: see `learn_kernel`.
        ``k.learned()`` is such a candidate. It is learned from the training examples of every fold anew, so that its
        errors are as honest as the others.
    max_calls : int, optional
        The most calls of your own functions, of all candidates together: fewer landmarks are drawn, and if need be
        fewer examples. Functions that are not claimed to be symmetric are tried on a few pairs: K(l, x) is computed
        beside K(x, l) only if these differ.
    random_state : int, optional
        Seed of landmarks, folds and samples.
    engine : Engine, optional

    Returns
    -------
    Selection
        ``best`` is a Similarity, ``held_out_error`` its error on new examples; ``table`` has a row for each candidate.

    Examples
    --------
    >>> import numpy as np
    >>> from similitude.kernels import Gaussian, Linear
    >>> from similitude.selection import choose_kernel
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 2))
    >>> candidates, y = [Linear(), Gaussian(sigma=1.0), Gaussian(sigma=1e-3)], (X**2).sum(axis=1) > 1.4
    >>> chosen = choose_kernel(candidates, X, y, random_state=0)
    >>> chosen.best
    Gaussian(sigma=1.0)
    >>> [row.as_good for row in chosen.table]
    [True, False, False]
    >>> print(chosen.on_new_rows())
    The best, on new rows: 4.5 % error [1.48, 8.98]
    """
    named = validated(candidates, "candidates")
    named = with_learned(named) if learn else named
    targets = TaskTargets.of(y, check_objects(X), task)
    given = None if groups is None else check_groups(groups, len(targets))
    cv = check_cv(cv, targets, given)
    engine, rng = checked_engine(engine), generator(random_state)
    most = _sizes(X, cv, len(targets), engine)
    with budgeted(max_calls, engine), remembered_images(), one_scipy_thread:
        named, sizes = _within_budget(named, X, most, max_calls, rng)
        rows = sample_rows(len(targets), targets, sizes.rows, cv if isinstance(cv, int) else 2, rng)
        seed = int(rng.integers(2**31)) if isinstance(cv, int) else 0
        data = SampledData(X, rows, sample_landmarks(len(rows), None, sizes.landmarks, rng))
        sizes.announce("choose_kernel")
        named = distinct([one.resolved(X, random_state) for one in named])
        copies, here = _copies(named, data), None
        if given is not None:
            here = given[rows]
            copies = join_copies(here, copies, targets.at(rows), cv if isinstance(cv, int) else 2)
        folds = make_folds(cv, targets, rows, copies, seed, here)
        outer = outer_folds(cv, folds, targets.at(rows), copies, seed, given is not None)
        compared = Comparison(named, data, targets.at(rows), copies, folds, outer, given is not None)
        tested = list(compared.tested(engine))
    return _selection(tested, compared, sizes)


def _within_budget(
    named: list[NamedSimilarity], X: Any, most: SampleSizes, max_calls: int | None, rng: np.random.Generator
) -> tuple[list[NamedSimilarity], SampleSizes]:
    """Return the candidates with the sides that are computed, and the sizes that are within a budget of calls."""
    if max_calls is None:
        return named, most
    looking = calls_to_look(named, X)
    sizes = within_calls(most, calls_for_a_pair(named), max_calls, looking)  # refuses before the first call
    if not looking:
        return named, sizes
    named = with_sides(named, X, rng)
    return named, within_calls(most, calls_for_a_pair(named), max_calls, looking)


def checked_engine(engine: Engine | None) -> Engine:
    """Return the engine, by default the current one."""
    if engine is not None and not isinstance(engine, Engine):
        raise TypeError(f"engine must be an Engine such as LocalEngine(threads=2), got {brief(engine)}")
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


def _copies(named: Sequence[NamedSimilarity], data: SampledData) -> np.ndarray:
    """Return a number for each example, the same for examples that no candidate can tell apart."""
    numbers = np.zeros(len(data.rows), dtype=np.uint64)
    for one in named:
        with naming(one.name):
            k = one.similarity
            if isinstance(k, Learnable):  # what it tells apart depends on the fold, and is no more than this
                k = k.k.resolve(data.objects(k))
            these = keys(moved(data.encoded(k, keep=k is one.similarity), as_numpy))
        numbers = np.unique(np.stack([numbers, these]), axis=1, return_inverse=True)[1].ravel().astype(np.uint64)
        if numbers.max() + 1 == len(numbers):
            break
    return numbers


@dataclass(frozen=True, eq=False)
class TestedCandidate:
    """A candidate with its held-out errors; candidates that share distances are of one family."""

    position: int
    named: NamedSimilarity
    representation: Representation
    errors: HeldOutErrors
    outer: list[OuterFold]
    seconds: float
    family: int
    shared: bool
    n_calls: int = 0


@dataclass(frozen=True, eq=False)
class Comparison:
    """The candidates, and the examples, targets and folds on which they are compared.

    ``copies`` has the same number for equal examples, and for those of one group if they are ``grouped``; ``outer`` are
    the folds by which the choice is judged.
    """

    named: Sequence[NamedSimilarity]
    data: SampledData
    targets: TaskTargets
    copies: np.ndarray
    folds: Folds
    outer: Folds | None
    grouped: bool = False

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
        if isinstance(first.similarity, Learnable):
            return [self._test_learned(family, positions[0], engine)]
        with naming(first.name):
            similarities = LandmarkSimilarities(first.similarity, self.data, engine, shared=len(positions) > 1)
            if similarities.shared:
                similarities.left(first.similarity)
        common = (time.perf_counter() - began) / len(positions)
        for position in positions:
            began, one = time.perf_counter(), self.named[position]
            with naming(one.name):
                representation, errors, outer = self._test(one, similarities)
            seconds = common + time.perf_counter() - began
            tested.append(
                TestedCandidate(position, one, representation, errors, outer, seconds, family, similarities.shared)
            )
        return [replace(one, n_calls=similarities.n_calls) for one in tested]

    def _test(
        self, one: NamedSimilarity, similarities: LandmarkSimilarities
    ) -> tuple[Representation, HeldOutErrors, list[OuterFold]]:
        """Test a candidate; similarities as features are normalized if that is clearly better, also in outer folds."""
        first, *others = (
            (representation, *cross_validate(F, self.targets, self.folds, self.outer))
            for representation, F in with_and_without_normalization(
                *features_of(one.similarity, similarities, one.side)
            )
        )
        for other in others:
            outer = [b if b.inside.clearly_better(a.inside) else a for a, b in zip(first[2], other[2], strict=True)]
            first = (*(other if other[1].clearly_better(first[1]) else first)[:2], outer)
        return first

    def _test_learned(self, family: int, position: int, engine: Engine) -> TestedCandidate:
        """Test a candidate that is learned from the training examples of each fold."""
        began, one = time.perf_counter(), self.named[position]
        with naming(one.name):
            groups = self.copies if self.grouped else None
            learner = FoldLearner(one.similarity, self.data, self.targets, engine, groups)
            errors, outer = cross_validate_learned(learner.features, self.targets, self.folds, self.outer)
            similarity, representation, size = learner.of_all()
        named, errors = NamedSimilarity(one.name, similarity), replace(errors, penalty=errors.penalty * size)
        seconds = time.perf_counter() - began
        return TestedCandidate(
            position, named, representation, errors, outer, seconds, family, False, n_calls=learner.n_calls
        )

    def independent(self, errors: np.ndarray) -> np.ndarray:
        """Return the errors of tested examples as independent numbers: one for each group, if there are groups."""
        if not self.grouped:
            return errors
        rows = np.unique(np.concatenate([test for _, test in self.folds.pairs]))
        return _means_of_groups(errors, self.copies[rows])

    def held_out_error(self, tested: Sequence[TestedCandidate]) -> Estimate | None:
        """Return the error of the choice on new rows: it is made again without each of the outer folds."""
        if self.outer is None:
            return None
        errors = []
        for fold in range(len(self.outer)):
            best = min(tested, key=lambda one: (*one.outer[fold].inside.rank, one.position))
            errors.append(best.outer[fold].outside)
        judged, copies = np.concatenate(errors), self.copies[np.concatenate([test for _, test in self.outer.pairs])]
        if self.targets.n_classes:
            return error_of_classes(judged, self.targets.n_classes, copies)
        return error_of(_means_of_groups(judged, copies), False, self.outer.widening)  # copies count as one


def _means_of_groups(errors: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Return a number for each group, in proportion to its sum of errors, with the same mean as all errors.

    >>> _means_of_groups(np.array([1.0, 0.0, 0.0, 1.0]), np.array([3, 3, 3, 7]))
    array([0.5, 0.5])
    """
    sums = np.bincount(np.unique(groups, return_inverse=True)[1], errors)
    return np.asarray(sums * (len(sums) / len(errors)))


def _selection(tested: list[TestedCandidate], compared: Comparison, sizes: SampleSizes) -> Selection:
    """Rank the candidates by their errors; ties by their losses, then in the order in which they were given."""
    task, folds, data = compared.targets.task, compared.folds, compared.data
    of_classes = task == CLASSIFICATION
    tested = sorted(tested, key=lambda one: (*one.errors.rank, one.position))
    errors = np.stack([compared.independent(one.errors.errors) for one in tested], axis=1)
    wider = folds.widening
    ranked = zip(tested, differences(errors, 0, of_classes, wider), strict=True)
    table = [
        _row(one, error_of(compared.independent(one.errors.errors), of_classes, wider), difference)
        for one, difference in ranked
    ]
    return Selection(
        best=table[0].similarity,
        held_out_error=compared.held_out_error(tested),
        table=table,
        task=task,
        folds=folds.description,
        n_examples=len(data.rows),
        landmark_indices=data.landmarks,
        notes=sizes.notes,
        n_similarity_calls=sum({one.family: one.n_calls for one in tested}.values()),
    )


def _row(one: TestedCandidate, error: Estimate, difference: Estimate) -> Row:
    return Row(
        candidate=one.named.name,
        similarity=one.named.similarity,
        error=error,
        difference=difference,
        as_good=difference.low <= 0.0,
        loss=one.errors.loss,
        representation=one.representation,
        penalty=one.errors.penalty,
        seconds=one.seconds,
        n_similarity_calls=one.n_calls,
        shared=one.shared,
    )

"""Choosing among similarities: choose_kernel, and its result, a ranked table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude.compute import check_objects, itemsize, take
from similitude.compute.engines import Engine, one_scipy_thread
from similitude.evaluation import (
    CLASSIFICATION,
    TaskTargets,
    at_rows,
    check_cv,
    check_groups,
    copies,
    equal_rows,
    nested_folds,
)
from similitude.landmarks import Representation
from similitude.selection import limits
from similitude.selection.candidates import (
    NamedSimilarity,
    calls_for_a_pair,
    calls_to_look,
    checked_engine,
    distinct,
    validated,
    with_learned,
    with_sides,
)
from similitude.selection.cross_validation import Comparison, TestedCandidate, differences, error_of
from similitude.selection.landmark_similarities import SampledData, sample_rows
from similitude.selection.limits import SampleSizes
from similitude.similarity import Similarity, budgeted, remembered_images
from similitude.support import Estimate, Result, generator, notes, paragraph, table


@dataclass(frozen=True, eq=False)
class Row(Result):
    r"""One candidate and its cross-validated error.

    Attributes
    ----------
    candidate : str
        Its name, or its repr.
    similarity : Similarity
        With data-dependent parameters resolved.
    error : Estimate
        The held-out error rate with the interval of Clopper and Pearson; or the mean squared error with that of
        Student, corrected for skewness. Both are widened, since models of several folds share training examples.
    difference : Estimate
        How much larger the error is than that of the best one, with a simultaneous interval for all candidates.
    as_good : bool
        Whether that interval contains zero: the candidate is not shown to be worse than the best.
    loss : float
        The mean squared error of the scores, which the penalties minimize.
    representation : Representation
        What the features were, and why.
    penalty : float
        The best :math:`\lambda` for all folds together.
    seconds : float
        Time spent on it, and an equal share of the time spent on several.
    n_similarity_calls : int
        Number of pairs of objects that were compared.
    shared : bool
        Whether the distances of these pairs were shared with other candidates.
    """

    candidate: str
    similarity: Similarity
    error: Estimate
    difference: Estimate
    as_good: bool
    loss: float
    representation: Representation
    penalty: float
    seconds: float
    n_similarity_calls: int
    shared: bool

    def __str__(self) -> str:
        return f"{self.candidate}: {self.error}; worse than the best by {self.difference}; {self.representation}"


@dataclass(frozen=True, eq=False)
class Selection(Result):
    """The best of several similarities, and the errors of all.

    Attributes
    ----------
    best : Similarity
        With data-dependent parameters resolved.
    held_out_error : Estimate or None
        The error that the best one will have on new examples: in each of five outer folds, candidate and penalty are
        chosen again by the other folds alone, and the model is evaluated on the examples outside. None if the given
        folds cannot be nested, such as those of a time series.
    table : list of Row
        One for each candidate, by increasing error.
    task : {"classification", "regression"}
        How y was interpreted.
    folds : str
    n_examples : int
        The number of examples used.
    landmark_indices : array of int
        Positions in X of the landmarks, the same for all candidates and all folds.
    notes : tuple of str
        What was left out, and why; empty if all examples were used.
    n_similarity_calls : int
        Number of pairs that were compared for all candidates; shared distances are counted once.
    """

    best: Similarity
    held_out_error: Estimate | None
    table: list[Row]
    task: str
    folds: str
    n_examples: int
    landmark_indices: np.ndarray
    notes: tuple[str, ...]
    n_similarity_calls: int

    def to_frame(self) -> Any:
        """Return the table as a pandas data frame, one row for each candidate."""
        try:
            import pandas as pd  # type: ignore[import-untyped]
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        rows = []
        for row in self.table:
            cells: dict[str, Any] = {"candidate": row.candidate}
            for name in ("error", "difference"):
                figure = getattr(row, name)
                cells |= {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}
            cells |= {"representation": row.representation.name, "reason": row.representation.reason}
            names = ("as_good", "loss", "penalty", "seconds", "n_similarity_calls", "shared")
            rows.append(cells | {name: getattr(row, name) for name in names})
        return pd.DataFrame(rows)

    def on_new_rows(self) -> str:
        """Return a sentence on the error of the best one on new rows."""
        error = self.held_out_error
        if error is None:
            return "The error of the best of several is optimistic, and these folds cannot correct that: use cv=5"
        if self.task == CLASSIFICATION:
            value, low, high = (100 * end for end in (error.value, error.low, error.high))
            return f"The best, on new rows: {value:.3g} % error [{low:.3g}, {high:.3g}]"
        return f"The best, on new rows: squared error {error.value:.4g} [{error.low:.3g}, {error.high:.3g}]"

    def __str__(self) -> str:
        lines = [self._heads(), *map(_cells, self.table)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = []
        for *left, penalty, seconds, pairs in lines:
            cells = [cell.ljust(width) for cell, width in zip(left, widths[:5], strict=True)]
            text.append("  ".join([*cells, penalty.rjust(widths[5]), seconds.rjust(widths[6]), pairs]).rstrip())
        return "\n".join([self._about(), *text, *self._footnotes()])

    def html_parts(self) -> Sequence[object]:
        """Return the candidates, the best first, and what is said of them."""
        cells = list(map(_cells, self.table))
        return (
            f"Best: {_short(self.table[0].candidate)}",
            paragraph(self._about()),
            table(self._heads(), cells, numbers=(5, 6, 7), noun="candidates", most=20),
            notes(self._footnotes()),
        )

    def _about(self) -> str:
        """Return the task, the folds and the sizes in a line."""
        return f"{self.task}: {self.folds}, {self.n_examples:,} examples, {len(self.landmark_indices):,} landmarks"

    def _heads(self) -> tuple[str, ...]:
        """Return the heads of the table's columns."""
        what = "error" if self.task == CLASSIFICATION else "squared error"
        return "", "candidate", f"{what} [95 %]", "worse by [95 %]", "representation", "penalty", "seconds", "pairs"

    def _footnotes(self) -> list[str]:
        """Return the lines below the table."""
        lines = ["* not shown to be worse than the best: the intervals of 'worse by' hold simultaneously"]
        if any(row.shared for row in self.table):
            lines.append("shared: the distances of these pairs were computed once for several candidates")
        return [*lines, self.on_new_rows(), *(f"Note: {note}" for note in self.notes)]


def _cells(row: Row) -> tuple[str, ...]:
    error = row.error
    worse = row.difference
    difference = "-"
    if worse.low or worse.high:
        difference = f"{worse.value:.3g} [{worse.low:.3g}, {worse.high:.3g}]"
    return (
        "*" * row.as_good,
        _short(row.candidate),
        f"{error.value:.4g} [{error.low:.3g}, {error.high:.3g}]",
        difference,
        row.representation.name,
        f"{row.penalty:.2g}",
        f"{row.seconds:.2g}",
        f"{row.n_similarity_calls:,}{' shared' * row.shared}",
    )


def _short(name: str) -> str:
    name = re.sub(r"\d+\.\d{4,}", lambda digits: f"{float(digits[0]):.4g}", name)
    if len(name) > 60:
        return f"{name[:57]}..."
    return name


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
    the model is evaluated on those inside. (Varma and Simon, "Bias in Error Estimation When Using Cross-Validation for
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
    if learn:
        named = with_learned(named)
    targets = TaskTargets.of(y, check_objects(X), task)
    given = check_groups(groups, len(targets))
    cv = check_cv(cv, targets, given)
    engine = checked_engine(engine)
    rng = generator(random_state)
    n_folds = cv if isinstance(cv, int) else None
    item = itemsize(X)
    matrices = min(limits.MAX_PARTS, n_folds or 10) + 5  # in memory at once, beside six arrays of features
    most = SampleSizes(limits.COMPARED_ROWS, limits.COMPARED_LANDMARKS).affordable(
        len(targets), lambda r, m: 6 * r * m * item + matrices * 8 * (2 * m) ** 2, engine
    )
    with budgeted(max_calls, engine), remembered_images(), one_scipy_thread:
        named, sizes = _within_budget(named, X, most, max_calls, rng)
        rows = sample_rows(len(targets), targets, sizes.rows, n_folds or 2, rng)
        seed = 0 if n_folds is None else int(rng.integers(2**31))
        data = SampledData.of(X, rows, None, sizes.landmarks, rng)
        sizes.announce("choose_kernel")
        named = distinct([one.resolved(X, random_state) for one in named])
        here = at_rows(given, rows)
        some = take(X, rows)
        folds, outer, together = nested_folds(cv, targets, rows, copies(some, equal_rows(some)), seed, here)
        compared = Comparison(named, data, targets.at(rows), folds, outer, together, here is not None)
        tested = list(compared.tested(engine))
    return _selection(tested, compared, sizes)


def _within_budget(
    named: list[NamedSimilarity], X: Any, most: SampleSizes, max_calls: int | None, rng: np.random.Generator
) -> tuple[list[NamedSimilarity], SampleSizes]:
    """Return the candidates with the sides that are computed, and the sizes that are within a budget of calls."""
    if max_calls is None:
        return named, most
    looking = calls_to_look(named, X)
    sizes = most.within_calls(calls_for_a_pair(named), max_calls, looking)  # refuses before the first call
    if not looking:
        return named, sizes
    named = with_sides(named, X, rng)
    return named, most.within_calls(calls_for_a_pair(named), max_calls, looking)


def _selection(families: list[list[TestedCandidate]], compared: Comparison, sizes: SampleSizes) -> Selection:
    """Rank the candidates by their errors; ties by their losses, then in the order in which they were given."""
    targets = compared.targets
    of_classes = targets.task == CLASSIFICATION
    wider = compared.folds.widening
    tested = sorted([one for family in families for one in family], key=lambda one: (*one.errors.rank, one.position))
    errors = [compared.independent(one.errors.errors) for one in tested]
    worse = differences(np.stack(errors, axis=1), 0, of_classes, wider)
    rows = [
        Row(
            candidate=one.named.name,
            similarity=one.named.similarity,
            error=error_of(own, of_classes, wider),
            difference=difference,
            as_good=difference.low <= 0.0,
            loss=one.errors.rank[1],
            representation=one.representation,
            penalty=one.errors.penalty,
            seconds=one.seconds,
            n_similarity_calls=one.n_calls,
            shared=one.shared,
        )
        for one, own, difference in zip(tested, errors, worse, strict=True)
    ]
    return Selection(
        best=rows[0].similarity,
        held_out_error=compared.held_out_error(tested),
        table=rows,
        task=targets.task,
        folds=compared.folds.description,
        n_examples=len(targets),
        landmark_indices=compared.data.landmarks,
        notes=sizes.notes,
        n_similarity_calls=sum(family[0].n_calls for family in families),
    )

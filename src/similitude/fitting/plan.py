"""The plan of a fit: one table decides what is compared, on which rows, how it is solved, and how it is evaluated.

Read `CASES` from top to bottom: the first case that applies is taken. What varies with the number of rows, the kind of
objects, the cost of a call, the engine and the user's wishes is decided here and nowhere else; `limits` has the numbers
with their reasons, `facts` what the table looks at, and `costs` the model of time and memory, which is asked when a
plan is printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from similitude.compute.engines import Engine, format_bytes
from similitude.evaluation import FEWEST_NESTED_GROUPS, Pilot, enough_for_folds, folds_of
from similitude.fitting import limits
from similitude.fitting.costs import Cost, Spent, estimated
from similitude.fitting.facts import AS_GIVEN, LEARNED, OF_FAMILY, Facts, Sizes, objects_in_words
from similitude.fitting.model import FittedModel
from similitude.similarity import Similarity
from similitude.support import Result, number_of, plain

FRUGAL_FIT = "frugal"
EXACT_FIT = "exact"
CELL_FIT = "cells"
PILOT_FIT = "pilot"
PRODUCT_FIT = "products"
SAMPLE_FIT = "sample"
PASS_FIT = "pass"
GRAM_FIT = "gram"

AS_ASKED = "as asked for"


@dataclass(frozen=True)
class PlanStep(Result):
    """One line of a plan.

    Attributes
    ----------
    what : str
        What is done.
    why : str
        The reason.
    """

    what: str
    why: str

    def __str__(self) -> str:
        if self.why:
            return f"{self.what}; {self.why}"
        return self.what


@dataclass(frozen=True)
class Plan(Result):
    """How a fit is made, and what it costs.

    Attributes
    ----------
    case : str
        The row of the table that applies.
    rows : str
        What the fit is given.
    similarity, landmarks, model, evaluation : PlanStep
        What is done and why; after the fit, with what was chosen.
    sizes : Sizes
        What the cost is estimated from.
    spent : Spent or None
        After the fit, what it really took.
    scores : tuple of (str, float)
        After the fit, the candidates with their squared errors on rows that they were not fitted to, relative to the
        variance of the targets.
    candidates : {"given", "learned", "family"}
        Where the similarity comes from.
    alternatives : tuple of str
        Further rows of the table that apply; the first row that applies is taken.
    """

    case: str
    rows: str
    similarity: PlanStep
    landmarks: PlanStep
    model: PlanStep
    evaluation: PlanStep
    sizes: Sizes = field(repr=False)
    candidates: str
    alternatives: tuple[str, ...] = ()
    spent: Spent | None = None
    scores: tuple[tuple[str, float], ...] = ()

    @property
    def cost(self) -> Cost:
        """The estimate of all that follows."""
        return estimated(self.case, self.sizes)

    @property
    def seconds(self) -> float:
        """The estimated seconds of the fit, by one thread."""
        return self.cost.seconds

    @property
    def memory(self) -> float:
        """The bytes that the fit takes at most, by estimate."""
        return self.cost.memory

    @property
    def calls(self) -> float:
        """The calls of your functions that the fit makes at most, by estimate."""
        return self.cost.calls

    @property
    def seconds_per_prediction(self) -> float:
        """The estimated seconds to predict one object."""
        return self.cost.seconds_per_prediction

    @property
    def reasons(self) -> dict[str, str]:
        """The reason for each choice, by the name of its line; choices without one are left out."""
        steps = {
            "similarity": self.similarity,
            "landmarks": self.landmarks,
            "model": self.model,
            "evaluation": self.evaluation,
        }
        return {name: step.why for name, step in steps.items() if step.why}

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as dicts, lists, numbers and strings, with its cost in place of the sizes."""
        return {**super().to_dict(), "cost": plain(self.cost)}

    def __str__(self) -> str:
        lines = [self.rows, *(f"{name:<12} {text}" for name, text in self._lines())]
        return "\n".join(lines)

    def _lines(self) -> list[tuple[str, str]]:
        """Return the names of the lines, and what they say."""
        found = [
            ("similarity", str(self.similarity)),
            ("landmarks", str(self.landmarks)),
            ("model", str(self.model)),
            ("evaluated by", str(self.evaluation)),
            ("cost", str(self.cost)),
        ]
        if self.spent is not None:
            found.append(("took", str(self.spent)))
        if self.scores:
            found.append(("compared", ", ".join(f"{loss:.3g} {name}" for name, loss in self.scores)))
        return found

    def html_parts(self) -> tuple[object, ...]:
        """Return the rows of the table that a notebook shows."""
        from similitude.support import facts as table_of_facts

        return self.rows, table_of_facts(self._lines())

    def repeated(self, times: int, why: str) -> Plan:
        """Return the plan of several such fits."""
        model = PlanStep(f"{self.model.what}, fitted {times} times", why)
        return replace(self, model=model, sizes=replace(self.sizes, fits=times * self.sizes.fits))

    def after(self, fit: FittedModel) -> Plan:
        """Return the plan with what the fit chose."""
        similarity = self.similarity
        if fit.chosen or similarity.why != AS_ASKED:
            found = fit.chosen or " and ".join(map(repr, fit.similarities))
            similarity = PlanStep(found, f"chosen from {similarity.what}")
        why = [self.landmarks.why, fit.curve.reason] if self.case == FRUGAL_FIT else [fit.curve.reason]
        n_landmarks = sum(map(len, map(attrgetter("landmarks"), fit.features)))
        return replace(
            self,
            similarity=similarity,
            landmarks=PlanStep(f"{n_landmarks:,}", "; ".join(why)),
            model=PlanStep(f"{self.model.what} ({fit.trial.lam:.3g})", self.model.why),
            scores=fit.scores,
        )


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    purpose: str  # what the case is for
    applies: Callable[[Facts], bool]  # whether the facts are those of the case
    landmarks: Callable[[Facts], PlanStep]
    model: Callable[[Facts], PlanStep]
    # how many landmarks there are, how the equations are solved, and how the result is evaluated
    evaluation: Callable[[Facts], PlanStep]


def _bought(f: Facts) -> PlanStep:
    if f.options.max_calls is not None:
        why = "max_calls is less than comparing all rows takes"
    else:
        why = "a function of pairs may be costly; FromPairs(f, cost=0) says that it is cheap"
    return PlanStep(f"bought in stages, with at most {f.frugal_calls:,} calls", why)


def _every_row(f: Facts) -> PlanStep:
    needed = format_bytes(limits.MATRICES * 8 * f.n**2)
    budget = format_bytes(f.options.engine.budget)
    return PlanStep(f"all {f.n:,} rows", f"an exact fit takes {needed} of the budget of {budget}")


def _every_row_in_cells(f: Facts) -> PlanStep:
    why = "or landmarks, where cells are not clearly better on held-out rows"
    return PlanStep(f"all {f.n:,} rows, in cells of a partition", why)


def _enough_for_pilot(f: Facts) -> PlanStep:
    most = f"all {f.n:,} rows" if f.few else f"{limits.MAX_AUTO_LANDMARKS:,}"
    return PlanStep("twice as many as do as well as all rows of a pilot", f"or {most}, if none do")


def _numbers(f: Facts) -> PlanStep:
    sizes, limit = f.numbers
    if f.options.given is not None or f.options.n_landmarks != "auto":
        return PlanStep(f"{sizes[-1]:,}", AS_ASKED)
    if len(sizes) == 1:
        return PlanStep(f"{sizes[0]:,}", limit)
    doubled = ", ".join(f"{one:,}" for one in sizes)
    return PlanStep(f"{doubled}, until the loss stops falling by a standard error", f"at most so many, because {limit}")


def _cascade(f: Facts) -> PlanStep:
    return PlanStep("a cascade of ridge regressions", "a prediction stops when it is certain")


def _dual(f: Facts) -> PlanStep:
    return PlanStep("ridge regression in dual form, penalty chosen by the pilot", "one Cholesky factor solves it")


def _on_device(f: Facts) -> PlanStep:
    what = "ridge regression by products on the device, penalty chosen on held-out rows"
    if f.proven:
        return PlanStep(what, "the matrix of similarities is not stored")
    return PlanStep(what, "or in one pass, if the similarity turns out not to be positive semi-definite")


def _on_features(f: Facts) -> PlanStep:
    if not f.options.is_ridge:
        return PlanStep(f"{f.options.loss} loss with an {f.options.penalty} penalty", AS_ASKED)
    by = "on held-out rows"
    if f.few:
        by = f"by {f.leaving_out}"
    return PlanStep(f"ridge regression on features, penalty chosen {by}", "the features fit into memory")


def _in_one_pass(f: Facts) -> PlanStep:
    if not f.options.is_ridge:
        return PlanStep(f"{f.options.loss} loss with an {f.options.penalty} penalty", AS_ASKED)
    what = "ridge regression in one pass over all rows, penalty chosen on held-out rows"
    return PlanStep(what, f"choices are made on a sample of {f.rows_chosen_on:,} rows")


def _by_new_folds(f: Facts) -> PlanStep:
    if f.data.groups is not None and f.n_groups < FEWEST_NESTED_GROUPS:
        return PlanStep(f"{f.n_groups} groups, each left out alone", "they are too few for folds of their own")
    if not enough_for_folds(f.n):
        return PlanStep("each row left out alone", "the rows are too few to bound the error on new ones")
    why = "no fold separates a group"
    return PlanStep(f"{folds_of(f.n)} folds, in each of which every choice is made again", _together(f, why))


def _together(f: Facts, of_groups: str) -> str:
    """Return which rows are not separated."""
    if f.data.n_copies:
        copied = f"{number_of(f.data.n_copies, 'row')} repeat others and stay with these"
        return f"{copied}: drop copies, or name what belongs together by groups="
    if f.data.groups is not None:
        return of_groups
    return ""


def _by_held_out(f: Facts) -> PlanStep:
    return PlanStep(f"{f.data.last.evaluating:,} rows held out of every choice", _together(f, "they are whole groups"))


def _by_rows_apart(f: Facts) -> PlanStep:
    if not f.n_apart:
        return _by_new_folds(f)
    most = min(f.n_apart, limits.MOST_EVALUATED)
    return PlanStep(f"up to {most:,} rows that took no part in any choice, each left out alone", _together(f, ""))


def _by_rows_outside_pilot(f: Facts) -> PlanStep:
    if not f.few:
        return _by_held_out(f)
    n = min(f.n_outside_pilot, f.n_single)
    return PlanStep(f"{n:,} rows that took no part in any choice, each left out alone", _together(f, ""))


def _by_frugal_rows(f: Facts) -> PlanStep:
    n = limits.rows_evaluating(limits.rows_compared(f.n))
    about = "about "
    if f.data.groups is None:
        about = ""
    whole = ", and are whole groups"
    if f.data.groups is None:
        whole = ""
    return PlanStep(
        f"{about}{n:,} rows that take no part in any choice", f"they are predicted as new objects are{whole}"
    )


STREAMED = PlanStep("a fifth of each batch, up to 5,000 rows, held out of every choice", "")

CASES = (
    Case(
        FRUGAL_FIT,
        "A function of two objects that may cost money: few, telling landmarks, and predictions that stop early.",
        lambda f: f.frugal_calls is not None,
        _bought,
        _cascade,
        _by_frugal_rows,
    ),
    Case(
        EXACT_FIT,
        "Up to 5,000 vectors or rows of a table: nothing beats learned kernels with every row as a landmark.",
        lambda f: f.learns and f.fits_exactly,
        _every_row,
        _dual,
        _by_rows_apart,
    ),
    Case(
        CELL_FIT,
        "More vectors or rows of a table, in memory: exact fits in cells where these clearly beat landmarks.",
        lambda f: f.learns and f.in_memory and not f.few and f.why_no_cells is None,
        _every_row_in_cells,
        _dual,
        _by_held_out,
    ),
    Case(
        PILOT_FIT,
        "1,000 to 20,000 vectors and one kernel with K(x, x) = 1: a pilot chooses scale, penalty and landmarks.",
        lambda f: f.is_piloted,
        _enough_for_pilot,
        _dual,
        _by_rows_outside_pilot,
    ),
    Case(
        PRODUCT_FIT,
        "Many landmarks on a device: products with the matrix of similarities, which is not stored.",
        lambda f: f.fits_by_products,
        _numbers,
        _on_device,
        _by_held_out,
    ),
    Case(
        SAMPLE_FIT,
        "Rows whose features fit into memory.",
        lambda f: f.data.all_in_memory and f.n <= f.rows_chosen_on,
        _numbers,
        _on_features,
        lambda f: _by_new_folds(f) if f.few else _by_held_out(f),
    ),
    Case(
        PASS_FIT,
        "More rows: choices on a sample, then one pass over all of them.",
        lambda f: True,
        _numbers,
        _in_one_pass,
        _by_held_out,
    ),
)
"""The first case that applies is taken."""


def plan_fit(facts: Facts) -> Plan:
    """Return the plan of a fit; no similarity of more than a few objects is computed."""
    case, *others = filter(lambda one: one.applies(facts), CASES)
    rows = f"{facts.n:,}"
    if not getattr(facts.data.sampling.all_rows, "known", True):
        rows = f"at least {rows}"
    targets = number_of(facts.data.Y.shape[1], facts.options.targets)
    if facts.options.classes:
        targets = f"{facts.n_classes:,} classes"
    every_row = case.name == EXACT_FIT or (case.name == PILOT_FIT and facts.few)
    sizes = Sizes.of(facts, on_features=not every_row and case.name != FRUGAL_FIT)
    return Plan(
        case=case.name,
        rows=f"{rows} {objects_in_words(facts.data.X, facts.options.kind)}, {targets}",
        similarity=_similarity(facts, case.name, sizes),
        landmarks=case.landmarks(facts),
        model=case.model(facts),
        evaluation=STREAMED if facts.options.stream else case.evaluation(facts),
        sizes=sizes,
        candidates=facts.candidates,
        alternatives=tuple(map(attrgetter("name"), others)),
    )


def plan_gram(k: Similarity, objects: str, n: int, outputs: str, penalties: int | None, engine: Engine) -> Plan:
    """Return the plan of ridge regression on the Gram matrix of n objects, with one penalty (None) or several."""
    gram = f"the Gram matrix takes {format_bytes(8 * n**2)} of the budget of {format_bytes(engine.budget)}"
    if penalties is None:
        model = PlanStep("ridge regression in dual form, penalty given", "one Cholesky factor solves it")
        evaluation = PlanStep("nothing", "a list of penalties, or lam='auto', gives leave-one-out errors")
    else:
        chosen = f"ridge regression in dual form, penalty chosen among {penalties} by leave-one-out"
        model = PlanStep(chosen, "one eigendecomposition serves all of them")
        evaluation = PlanStep("leave-one-out of every object", "it follows from the same eigendecomposition")
    return Plan(
        case=GRAM_FIT,
        rows=f"{n:,} {objects}, {outputs}",
        similarity=PlanStep(repr(k), AS_ASKED),
        landmarks=PlanStep(f"all {n:,}", gram),
        model=model,
        evaluation=evaluation,
        sizes=Sizes(n, penalties=penalties or 0),
        candidates=AS_GIVEN,
    )


def _similarity(f: Facts, case: str, sizes: Sizes) -> PlanStep:
    """Return what is compared, and on which rows."""
    given = " and ".join(map(repr, f.options.similarities))
    if f.learns_given:
        return PlanStep(f"{given}, learned from the labels of a pilot", AS_ASKED)
    if f.candidates == LEARNED:
        n = len(f.data.weighted)
        if case == EXACT_FIT:
            n = f.n - f.n_apart
        return PlanStep("Gaussian, Laplace and Matern kernels, plain and learned, and blends", compared_on(n))
    if f.candidates == OF_FAMILY:
        return _of_family(f)
    if not any(map(attrgetter("scaled"), sizes.used)):
        return PlanStep(given, "the rows are too few to learn from" if f.options.automatic else AS_ASKED)
    scales = "its scale is the best of five"
    if case == PILOT_FIT:
        scales = "its scale is chosen on a pilot"
    return PlanStep(given, scales)


def _of_family(f: Facts) -> PlanStep:
    from similitude.kernels import kind_in_words  # loads all kernels

    members = f.data.family(f.options.kind)
    most = min(f.n, limits.rows_tried(f.options.kind == "records"))
    kind = kind_in_words(f.options.kind, members)
    if len(members) == 1 or not limits.can_choose(f.n):
        return PlanStep(repr(members[0]), f"{f.n:,} rows are too few to compare others")
    return PlanStep(f"{len(members)} candidates for {kind}", f"compared by {f.leaving_out} on up to {most:,} rows")


def compared_on(n: int) -> str:
    """Return on which of n rows learned kernels are compared.

    >>> compared_on(400)
    'compared by 4 folds of 400 rows'
    """
    pilot = Pilot.of(n)
    if pilot.folds > 1:
        return f"compared by {pilot.folds} folds of {n:,} rows"
    return f"compared on a pilot of {pilot.size:,} rows"


# While a plan is run.

evaluating: ContextVar[bool] = ContextVar("evaluating", default=True)
"""Whether fits estimate their error on new rows: everywhere but within `without_evaluation`."""


@contextmanager
def without_evaluation() -> Iterator[None]:
    """Return a context in which fits to rows in memory estimate no error on new rows, which takes most of their time.

    The models predict as ever; they lack `held_out_error_`, `constant_error_` and `suspects_`.
    """
    token = evaluating.set(False)
    try:
        yield
    finally:
        evaluating.reset(token)

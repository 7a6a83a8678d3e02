"""Errors on new rows: how often the intervals of ``held_out_error_`` and of ``choose_kernel`` hold the true error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.theory.chances import contradicts
from benchmarks.theory.nouns import Experiment, Finding
from similitude import SimilarityClassifier, SimilarityRegressor, choose_kernel
from similitude.engines import LocalEngine
from similitude.kernels import Gaussian
from similitude.results import Estimate
from similitude.theory.intervals import clopper_pearson

NEW_ROWS = 4000
"""Rows by which the error of a model is measured."""

SAMPLING = 0.008
"""The standard error of a share of these rows."""

COLUMNS = 20
"""Candidates of a choice, each of which looks at one column."""

Drawn = tuple[np.ndarray, np.ndarray]


def null(n: int, rng: np.random.Generator) -> Drawn:
    """Labels without meaning."""
    return 2.0 * rng.normal(size=(n, 3)), rng.integers(2, size=n)


def null_columns(n: int, rng: np.random.Generator) -> Drawn:
    """Labels without meaning, and a column for each candidate."""
    return rng.normal(size=(n, COLUMNS)), rng.integers(2, size=n)


def weak(n: int, rng: np.random.Generator) -> Drawn:
    """Two classes that overlap."""
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int)


def five(n: int, rng: np.random.Generator) -> Drawn:
    """Five classes, of which some neighbors are mistaken for each other."""
    X = rng.normal(size=(n, 2))
    return X, np.digitize(X[:, 0] + 0.1 * rng.normal(size=n), [-1.0, -0.4, 0.4, 1.0])


def line(n: int, rng: np.random.Generator, heavy: bool = False) -> Drawn:
    """A line with normal noise, or with Student's of three degrees of freedom, both of variance 1 and 3."""
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + (rng.standard_t(3, size=n) if heavy else rng.normal(size=n))


def heavy_line(n: int, rng: np.random.Generator) -> Drawn:
    """A line with heavy noise."""
    return line(n, rng, heavy=True)


def one_column(j: int) -> Gaussian:
    """Return a kernel of one column."""
    return Gaussian(0.7).pullback(lambda X: np.ascontiguousarray(X[:, [j]]), batched=True)


def of_model(
    draw: Callable[..., Drawn], n: int, rng: np.random.Generator, copies: int, naive: bool
) -> tuple[Estimate, float]:
    """Fit a model; return what it says of its error on new rows (or what its own rows say), and the error."""
    X, y = (np.repeat(one, copies, axis=0) for one in draw(n // copies, rng))
    classes, how = y.dtype.kind == "i", {"random_state": 0, "engine": LocalEngine(threads=1)}
    model = (SimilarityClassifier if classes else SimilarityRegressor)(Gaussian(1.0), **how).fit(X, y)
    Z, z = draw(NEW_ROWS, rng)
    if classes:
        said = of_counts(float((model.predict(X) != y).mean()), n) if naive else model.held_out_error_
        return said, float((model.predict(Z) != z).mean())
    own = float(((model.predict(X) - y) ** 2).mean())
    spread = own * 1.96 * np.sqrt(2 / n)
    said = Estimate(own, own - spread, own + spread, 0.95, "ESTIMATE") if naive else model.held_out_error_
    noise = 3.0 if draw is heavy_line else 1.0
    return said, float(((model.predict(Z) - Z[:, 0]) ** 2).mean()) + noise


def of_choice(
    draw: Callable[..., Drawn], n: int, rng: np.random.Generator, copies: int, naive: bool
) -> tuple[Estimate, float]:
    """Choose among similarities where no choice is better than another: the error is that of guessing."""
    X, y = (np.repeat(one, copies, axis=0) for one in draw(n // copies, rng))
    candidates = [one_column(j) for j in range(COLUMNS)]
    chosen = choose_kernel(candidates, X, y, random_state=0, engine=LocalEngine(threads=1))
    return of_counts(chosen.table[0].error.value, n) if naive else chosen.held_out_error, 0.5


def of_counts(share: float, n: int) -> Estimate:
    """Return a share with the interval that would hold if nothing had been chosen by it."""
    low, high = clopper_pearson(share * n, n)
    return Estimate(share, float(low), float(high), 0.95, "ESTIMATE")


def covered(
    trials: int,
    rng: np.random.Generator,
    what: str,
    judge: Callable[..., tuple[Estimate, float]],
    draw: Callable[..., Drawn],
    n: int,
    least: float = 0.93,
    copies: int = 1,
    naive: bool = False,
) -> Finding:
    """Count how often the interval holds the error."""
    found = [judge(draw, n, rng, copies, naive) for _ in range(trials)]
    slack = SAMPLING if draw in (null, weak, five) else 0.0
    missed = sum(not said.low - slack <= truth <= said.high + slack for said, truth in found)
    name = "choose_kernel: held_out_error" if judge is of_choice else "held_out_error_"
    return Finding(
        f"Errors on new rows: {name}, {what}",
        f"n = {n}: the interval called 95 % holds the true error in {100 * least:.0f} % of problems or more",
        f"{100 - 100 * missed / trials:.1f} %; {np.mean([said.value for said, _ in found]):.3f} is said on average, "
        f"{np.mean([truth for _, truth in found]):.3f} is true",
        trials,
        not contradicts(missed, trials, 1 - least),
    )


LABELS, COPIES = "labels without meaning", "30 rows copied three times"

EXPERIMENTS = tuple(
    Experiment(
        f"new_rows_{name}",
        covered,
        200 if judge is of_choice else 400,
        short,
        {"what": what, "judge": judge, "draw": draw, **setting},
        {"naive": True},
    )
    for name, short, what, judge, draw, setting in (
        ("null", 12, LABELS, of_model, null, {"n": 60}),
        ("weak", 12, "classes that overlap", of_model, weak, {"n": 100}),
        ("five", 12, "five classes", of_model, five, {"n": 150}),
        ("copies", 12, COPIES, of_model, null, {"n": 90, "copies": 3}),
        ("line", 12, "numbers with normal noise", of_model, line, {"n": 80, "least": 0.92}),
        ("heavy", 12, "numbers with Student's noise", of_model, heavy_line, {"n": 80, "least": 0.88}),
        ("chosen", 8, f"the best of 20, {LABELS}", of_choice, null_columns, {"n": 40}),
        ("chosen_copies", 6, f"the best of 20, {COPIES}", of_choice, null_columns, {"n": 90, "copies": 3}),
    )
)

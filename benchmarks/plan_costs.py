"""Estimates of a plan beside what fits take: ``python -m benchmarks.plan_costs [--folder FOLDER] [--only exact]``.

It fits a small grid of problems for each row of the table of plans, and with a folder also those of
`benchmarks.defaults`, each in a process of its own with one thread, and prints seconds of CPU, memory at the peak of
the fit beyond what was there before, and seconds per prediction, measured and estimated. Letters mark what is far off:
T a time, M memory that was exceeded, P a prediction. ``--json FILE`` keeps what was measured and takes it from there
the next time, and ``--calibrate`` prints constants of `similitude.fitting.costs` that are fitted to it by non-negative
least squares on relative errors.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks import defaults
from benchmarks.child import forget_highest, resident
from similitude import FromPairs, SimilarityClassifier, SimilarityRegressor
from similitude.fitting import Plan, costs
from similitude.kernels import DTW, Gaussian, Laplace, Linear, Spectrum

FACTOR = 3.0
"""Between which multiples an estimate of seconds is taken for right."""

EXCEEDED = 1.2
"""From which multiple of the estimate on memory is exceeded."""

PREDICTED = 1_000
"""Most objects that are predicted, in one call."""

WARM_ROWS = 70
"""Rows of a fit before the measured one, which imports what is needed."""

LETTERS = np.array(list("ACGT"))


class Fit(NamedTuple):
    """A fit to measure: the model, its objects and targets, new objects, and how the model gets them."""

    model: Any
    X: Any
    y: np.ndarray
    new: Any
    given: Callable[[Any, np.ndarray], Callable[[Any], Any]] = defaults.at_once


class _PlannedError(Exception):
    """A plan was made, and is not run."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan.case)
        self.plan = plan


def _vectors(n: int, width: int, classes: int, **params: Any) -> Fit:
    """Return vectors whose first columns count; no classes are numbers."""
    rng = np.random.default_rng(n + width)
    X = rng.standard_normal((n + PREDICTED, width))
    score = np.sin(X[:, 0]) + X[:, 1] * X[:, min(2, width - 1)] + 0.3 * rng.standard_normal(len(X))
    y = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score) if classes else score
    model = SimilarityClassifier if classes else SimilarityRegressor
    return Fit(model(random_state=0, **params), X[:n], y[:n], X[n:])


def _objects(n: int, make: Callable[[np.random.Generator, int], Any], **params: Any) -> Fit:
    """Return objects of two classes."""
    rng = np.random.default_rng(n)
    y = rng.integers(0, 2, n + 200)
    X = [make(rng, int(one)) for one in y]
    return Fit(SimilarityClassifier(random_state=0, **params), X[:n], y[:n], X[n:])


def _string(length: int) -> Callable[[np.random.Generator, int], str]:
    return lambda rng, one: "".join(rng.choice(LETTERS, length, p=[0.3 - 0.1 * one, 0.2 + 0.1 * one, 0.25, 0.25]))


def _series(length: int, channels: int = 1) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda rng, one: (0.2 * one + rng.standard_normal((length, channels))).cumsum(axis=0)


def _set(size: int) -> Callable[[np.random.Generator, int], set[int]]:
    return lambda rng, one: set(rng.integers(0, 30 * size, size) + 5 * size * one)


def _graph(nodes: int) -> Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]:
    def made(rng: np.random.Generator, one: int) -> tuple[np.ndarray, np.ndarray]:
        ends = np.column_stack([np.arange(1, nodes), rng.integers(0, np.arange(nodes - 1) // (1 + one) + 1)])
        return ends, rng.integers(0, 4, nodes)

    return made


def _record(rng: np.random.Generator, one: int) -> dict[str, Any]:
    return {"age": rng.normal() + one, "job": str(rng.integers(5)), "tags": set(map(str, rng.integers(0, 30, 5)))}


def _row(rng: np.random.Generator, one: int) -> dict[str, Any]:
    numbers = {f"x{i}": float(rng.normal() + one * (i < 2)) for i in range(6)}
    return {**numbers, "job": "abcde"[rng.integers(5)], "town": "abcdefgh"[rng.integers(8)]}


def _exact() -> Iterator[tuple[str, Fit]]:
    for n, width, classes in ((100, 5, 2), (200, 30, 3), (500, 10, 2), (900, 60, 0), (900, 10, 10), (1_500, 10, 2)):
        yield f"{n} x {width}, {classes}", _vectors(n, width, classes)
    for n, width, classes in ((3_000, 50, 0), (5_000, 10, 2), (2_000, 200, 5)):
        yield f"{n} x {width}, {classes}", _vectors(n, width, classes)


def _tables() -> Iterator[tuple[str, Fit]]:
    for n in (300, 1_500):
        fit = _objects(n, _row)
        yield f"{n}", fit._replace(X=pd.DataFrame(fit.X), new=pd.DataFrame(fit.new))


def _cells() -> Iterator[tuple[str, Fit]]:
    for n, width, classes in ((8_000, 10, 0), (15_000, 30, 3), (40_000, 8, 0)):
        yield f"{n} x {width}, {classes}", _vectors(n, width, classes)


def _pilot() -> Iterator[tuple[str, Fit]]:
    for n, width, classes in ((1_500, 10, 2), (4_000, 40, 0), (8_000, 10, 0), (15_000, 30, 5)):
        yield f"Gaussian {n} x {width}, {classes}", _vectors(n, width, classes, similarity=Gaussian("median"))
    yield "Laplace 4000 x 10, 0", _vectors(4_000, 10, 0, similarity=Laplace("median"))


def _sample() -> Iterator[tuple[str, Fit]]:
    for n, width, classes in ((100, 5, 2), (400, 10, 0), (800, 30, 3)):
        yield f"Gaussian {n} x {width}, {classes}", _vectors(n, width, classes, similarity=Gaussian("median"))
    for n, width, classes in ((1_000, 20, 2), (6_000, 20, 2), (15_000, 20, 0)):
        yield f"Linear {n} x {width}, {classes}", _vectors(n, width, classes, similarity=Linear())
    for m in (200, 1_000):
        given = {"similarity": Gaussian(1.0), "n_landmarks": m}
        yield f"{m} landmarks, 4000 x 10, 2", _vectors(4_000, 10, 2, **given)
    yield "Spectrum 600 x 100", _objects(600, _string(100), similarity=Spectrum(4))
    yield "DTW 200 x 60", _objects(200, _series(60), similarity=DTW())


def _pass() -> Iterator[tuple[str, Fit]]:
    for n, m in ((40_000, 300), (60_000, 1_000)):
        yield f"{n} x 10, {m} landmarks", _vectors(n, 10, 2, similarity=Gaussian("median"), n_landmarks=m)
    yield "30000 x 10", _vectors(30_000, 10, 0, similarity=Gaussian("median"))


def _family() -> Iterator[tuple[str, Fit]]:
    for n, length in ((50, 40), (200, 300), (1_500, 60), (6_000, 80)):
        yield f"strings {n} x {length}", _objects(n, _string(length))
    for n, length, channels in ((60, 300, 1), (200, 60, 1), (200, 60, 5), (900, 100, 1)):
        yield f"series {n} x {length} x {channels}", _objects(n, _series(length, channels))
    for n, nodes in ((150, 20), (900, 12), (3_000, 30)):
        yield f"graphs {n} x {nodes}", _objects(n, _graph(nodes))
    for n, size in ((300, 10), (2_000, 30)):
        yield f"sets {n} x {size}", _objects(n, _set(size))
    yield "records 400", _objects(400, _record)


def _alike(a: str, b: str) -> float:
    return float(sum(x == y for x, y in zip(a, b, strict=True)))


def _frugal() -> Iterator[tuple[str, Fit]]:
    for n in (150, 600, 3_000):
        yield f"{n}", _objects(n, _string(30), similarity=_alike)
    yield "cheap 400", _objects(400, _string(30), similarity=FromPairs(_alike, cost=0))
    yield "cheap 1500", _objects(1_500, _string(30), similarity=FromPairs(_alike, cost=0))


GRIDS = {
    "exact": _exact,
    "exact tables": _tables,
    "cells": _cells,
    "pilot": _pilot,
    "sample": _sample,
    "pass": _pass,
    "family": _family,
    "frugal": _frugal,
}
"""Problems for the rows of the table of plans."""


def _first_batch(X: Any, y: np.ndarray) -> Callable[[Any], Any]:
    """Return a fit to the first part of a stream, on which all choices are made; a plan knows of no other."""
    first = np.arange(len(y) // defaults.BATCHES)
    return lambda model: model.partial_fit(defaults.take(X, first), y[first])


def _of_defaults(folder: Path, kind: str, split: int) -> Iterator[tuple[str, Fit]]:
    """Yield the problems of `benchmarks.defaults`, with one of their splits."""
    for name, problem in defaults.KINDS[kind](folder):
        numbers = problem.judged == defaults.NUMBERS
        rest = min(PREDICTED, len(problem.y) - problem.n)
        strata = None if numbers else problem.y
        train, test = train_test_split(
            np.arange(len(problem.y)), train_size=problem.n, test_size=rest, stratify=strata, random_state=split
        )
        model = (SimilarityRegressor if numbers else SimilarityClassifier)(random_state=0)
        X, new = defaults.take(problem.X, train), defaults.take(problem.X, test)
        given = _first_batch if kind == "streams" else problem.given
        yield name, Fit(model, X, problem.y[train], new, given)


def planned(fit: Fit) -> tuple[costs.Work, costs.Work, dict[str, Any]]:
    """Return the work of a fit and of a prediction, and the estimate, without the fit."""

    planning = type(fit.model)._planned

    def stop(*args: Any) -> None:
        raise _PlannedError(planning(*args))

    with mock.patch.object(type(fit.model), "_planned", stop):
        try:
            fit.given(fit.X, fit.y)(fit.model)
        except _PlannedError as stopped:
            plan = stopped.plan
    case, sizes = plan.case, plan.sizes
    begun = time.perf_counter()
    cost = plan.cost
    took = time.perf_counter() - begun
    later = costs.work_of_prediction(case, sizes)
    return costs.work_of_fit(case, sizes), later, {**vars(cost), "case": case, "took": took}


def measured(fit: Fit) -> dict[str, float]:
    """Return what a fit and its predictions take."""
    run = fit.given(fit.X, fit.y)
    defaults.give_back()
    forget_highest()
    before = resident()[0]
    begun = time.process_time()
    model = run(fit.model)
    done = time.process_time()
    memory = 1e6 * (resident()[1] - before)
    model.predict(fit.new)
    predicted = (time.process_time() - done) / len(fit.new)
    spent = model.plan_.spent  # None for a stream
    calls = 0 if spent is None else spent.calls
    return {"seconds": done - begun, "memory": memory, "prediction": predicted, "calls": calls}


def in_child(function: Callable[[Fit], Any], fit: Fit) -> Any:
    """Return the result of a function in a copy of this process, so that no fit finds memory of another."""
    context = multiprocessing.get_context("fork")
    receiving, sending = context.Pipe(duplex=False)

    def run() -> None:
        sending.send(function(fit))

    child = context.Process(target=run)
    child.start()
    sending.close()
    try:
        return receiving.recv()
    except EOFError:
        return None
    finally:
        child.join()


def warm(fit: Fit) -> None:
    """Fit to some of the objects, so that all is imported."""
    few = np.arange(min(WARM_ROWS, len(fit.y)))
    new = defaults.take(fit.new, np.arange(min(WARM_ROWS, len(fit.new))))
    if isinstance(fit.y[0], float) or len(np.unique(fit.y[few])) > 1:
        model = clone(fit.model).set_params(n_landmarks="auto")
        model.fit(defaults.take(fit.X, few), fit.y[few]).predict(new)


def calibrated(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the seconds of each kind of work that make relative errors small, none of them negative.

    An estimate that is too small by a factor counts as much as one that is too large by it: rows are weighted by what
    is estimated, too, until that is settled.
    """
    names = list(costs.SECONDS)
    amounts = [row["work"] for row in rows] + [row["later"] for row in rows]
    A = np.array([[one.get(name, 0.0) for name in names] for one in amounts])
    seconds = np.array([row["seconds"] for row in rows] + [row["prediction"] for row in rows])
    found = np.array([costs.SECONDS[name] for name in names])
    for _ in range(50):
        weights = 1.0 / np.sqrt(seconds * np.maximum(A @ found, 1e-3 * seconds))
        scale = np.maximum((A * weights[:, None]).max(axis=0), 1e-300)
        found = nnls(A * weights[:, None] / scale, seconds * weights)[0] / scale
    return dict(zip(names, found.tolist(), strict=True))


def main() -> None:
    """Print a line for each fit, and shares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="data of benchmarks.defaults")
    parser.add_argument("--split", type=int, default=0, help="which split of the data of benchmarks.defaults")
    parser.add_argument("--only", default="", help="groups, separated by commas")
    parser.add_argument("--json", type=Path, help="a file that keeps what was measured")
    parser.add_argument("--calibrate", action="store_true", help="print constants fitted to what was measured")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept: dict[str, Any] = json.loads(given.json.read_text()) if given.json and given.json.exists() else {}
    groups: dict[str, Callable[[], Iterator[tuple[str, Fit]]]] = dict(GRIDS)
    if given.folder:
        groups |= {kind: partial(_of_defaults, given.folder, kind, given.split) for kind in defaults.KINDS}
    rows = []
    heads = [f"{'':46}{'case':8}", "seconds  estimate", "      MB  est.", "     us  est.", "     calls  estimate"]
    print(" ".join(heads))
    with threadpool_limits(1):
        for group, fits in groups.items():
            if given.only and group not in given.only.split(","):
                continue
            for name, fit in fits():
                key = f"{group}: {name}"
                if key not in kept:
                    warm(fit)
                    kept[key] = in_child(measured, fit)
                    if given.json:
                        given.json.write_text(json.dumps(kept, indent=1))
                amounts, later, cost = in_child(planned, fit)
                row = {**kept[key], "work": amounts, "later": later, "group": group, "estimate": cost}
                rows.append(row)
                flag = "" if 1 / FACTOR <= cost["seconds"] / row["seconds"] <= FACTOR else " T"
                flag += "" if row["memory"] <= EXCEEDED * cost["memory"] else " M"
                flag += "" if 1 / FACTOR <= cost["seconds_per_prediction"] / row["prediction"] <= FACTOR else " P"
                print(
                    f"{key:46}{cost['case']:8}{row['seconds']:9.3f}{cost['seconds']:9.3f}{row['memory'] / 1e6:8.0f}"
                    f"{cost['memory'] / 1e6:8.0f}{1e6 * row['prediction']:10.1f}"
                    f"{1e6 * cost['seconds_per_prediction']:9.1f}"
                    f"{row['calls']:9,}{cost['calls']:9,.0f} {1e3 * cost['took']:.1f} ms {flag}",
                    flush=True,
                )
    print_shares(rows)
    if given.calibrate:
        for name, one in calibrated(rows).items():
            print(f"{name:12} {one:.2g}  was {costs.SECONDS[name]:.2g}")


def print_shares(rows: list[dict[str, Any]]) -> None:
    """Print how many estimates are right."""
    ratios = np.array([row["estimate"]["seconds"] / row["seconds"] for row in rows])
    predicted = np.array([row["estimate"]["seconds_per_prediction"] / row["prediction"] for row in rows])
    memory = np.array([row["memory"] / row["estimate"]["memory"] for row in rows])
    for what, one in (("seconds", ratios), ("prediction", predicted)):
        print(f"{what} within a factor of {FACTOR:g}: {((one <= FACTOR) & (one >= 1 / FACTOR)).mean():.0%}; ", end="")
        print(f"quantiles of estimate / measured {np.quantile(one, [0, 0.1, 0.5, 0.9, 1]).round(2)}")
    print(f"memory exceeded by more than {EXCEEDED - 1:.0%}: {(memory > EXCEEDED).mean():.0%}; ", end="")
    print(f"quantiles of measured / estimate {np.quantile(memory, [0, 0.1, 0.5, 0.9, 1]).round(2)}")


if __name__ == "__main__":
    main()

"""How readable explanations are: ``python -m benchmarks.explain``.

For each data set, all with defaults, a model of one half explains the other half, over several splits. *ratio* is the
median of the sum of sizes of influences over the size of score minus base: 1 if nothing cancels, a million if the terms
mean nothing. *six* is the share of rows whose six largest influences have the sign of their sum. *exact* is the largest
difference between the sum and the score. *file* is the size of a saved model over what is allowed, *time* the time of a
fit over that without influences. ``--losses`` does the same for every loss; names limit it to some data sets.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from similitude import SimilarityClassifier, SimilarityRegressor, datasets, save
from similitude.compute import take

SPLITS = 4
"""Random halves of each data set."""

MOST_RATIO, LEAST_SHARE, MOST_GROWTH, MOST_TIME = 6.0, 0.85, 1.3, 1.2
"""Gates: on the ratio, on the share of six, on the file (or 256 bytes per landmark), on the time."""

LOSSES = [("squared", "l2"), ("logistic", "l2"), ("squared_hinge", "l2"), ("squared", "l1"), ("squared_hinge", "l1")]

Case = tuple[str, Callable[..., Any], Any, np.ndarray]


def cases() -> Iterator[Case]:
    """Yield names, estimators, objects and labels."""
    from sklearn import datasets as tables

    for name in ("wine", "breast_cancer", "iris", "digits"):
        X, y = getattr(tables, f"load_{name}")(return_X_y=True)
        yield name, SimilarityClassifier, X, y
        yield f"{name} scaled", SimilarityClassifier, (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12), y
    genes, y = datasets.promoters()
    spectrum = "spectrum(p=6, blended=True).normalized()"
    yield "promoters", lambda **given: SimilarityClassifier(spectrum, **given), genes, np.asarray(y)
    graphs, y = datasets.molecules()
    molecules = "weisfeiler_lehman.normalized()"
    yield "molecules", lambda **given: SimilarityClassifier(molecules, **given), graphs, np.asarray(y)
    X, y = tables.load_diabetes(return_X_y=True)
    yield "diabetes", SimilarityRegressor, X, y


def measured(make: Callable[..., Any], X: Any, y: np.ndarray, seed: int) -> tuple[float, float, float, float, str]:
    """Return ratio, share of six, inexactness, error and kind of explanation of one split."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.sort(order[: len(y) // 2]), np.sort(order[len(y) // 2 :])
    model = make(random_state=seed).fit(take(X, train), y[train])
    new = take(X, test)
    asked = {} if isinstance(model, SimilarityRegressor) else {"against": None}
    why = model.explain(new, **asked)
    scores = model.predict(new) if isinstance(model, SimilarityRegressor) else model.decision_function(new)
    own = (
        scores if isinstance(model, SimilarityRegressor) else np.abs(scores) if scores.ndim == 1 else scores.max(axis=1)
    )
    ratios = [np.abs(one.influences).sum() / abs(one.score - one.base) for one in why]
    six = [np.sign(one.influences[:6].sum()) == np.sign(one.score - one.base) for one in why]
    sums = np.array([one.base + one.influences.sum() + one.rest for one in why])
    inexact = float(np.abs(sums - own).max() / max(1.0, np.abs(own).max()))
    kind = f"{len(why[0].influences)} {'examples' if why[0].counts.max() == 1 else 'groups'}"
    return float(np.median(ratios)), float(np.mean(six)), inexact, float(model.score(new, y[test])), kind


def cost(make: Callable[..., Any], X: Any, y: np.ndarray) -> tuple[float, float]:
    """Return by how much influences let a saved model grow, relative to what is allowed, and a fit take longer."""

    def fitted() -> tuple[Any, float]:
        start = time.perf_counter()
        return make(random_state=0).fit(X, y), time.perf_counter() - start

    quick, slow = [], []
    for _ in range(7):
        model, seconds = fitted()
        slow.append(seconds)
        with (
            mock.patch("similitude.fitting.fit.influence_in_ridge", return_value=None),
            mock.patch("similitude.fitting.penalized.influence_in_refit", new=_unexplained),
        ):
            without, seconds = fitted()
        quick.append(seconds)
    with tempfile.TemporaryDirectory() as folder:
        sizes = []
        for one in (model, without):
            save(one, Path(folder) / "m")
            sizes.append((Path(folder) / "m").stat().st_size)
    allowed = max(MOST_GROWTH * sizes[1], sizes[1] + 256 * model.n_similarity_calls_)
    return sizes[0] / allowed, min(slow) / min(quick)


def _unexplained(options: Any, linear: Any, *rest: Any) -> tuple[Any, None]:
    """Return the model as it is."""
    return linear, None


def main() -> int:
    """Print a table; return 1 if a gate is missed."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--losses", action="store_true", help="every loss, instead of the default")
    options.add_argument("names", nargs="*", help="data sets, by the beginnings of their names; by default all")
    options.add_argument("--no-cost", action="store_true", help="do not measure sizes and times")
    asked = options.parse_args()
    losses = asked.losses
    missed = 0
    print(f"{'':34} ratio   six   exact   score   file   time", flush=True)
    for name, make, X, y in cases():
        if asked.names and not name.startswith(tuple(asked.names)):
            continue
        for loss, penalty in LOSSES if losses else [("auto", "l2")]:
            if losses and make is SimilarityRegressor and loss != "squared":
                continue

            def chosen(make: Any = make, loss: str = loss, penalty: str = penalty, **given: Any) -> Any:
                return make(loss=loss, penalty=penalty, **given)

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [measured(chosen, X, y, seed) for seed in range(1 if losses else SPLITS)]
                ratio, six, exact, score = (float(np.mean([one[i] for one in found])) for i in range(4))
                size, seconds = (0.0, 0.0) if asked.no_cost else cost(chosen, X, y)
            label = f"{name} {loss} {penalty}" if losses else f"{name}, {found[0][4]}"
            bad = [] if losses else [ratio > MOST_RATIO, six < LEAST_SHARE, seconds > MOST_TIME]
            bad += [exact > 1e-9, size > 1]
            missed += any(bad)
            print(
                f"{label:34} {ratio:5.2f}  {six:.2f}  {exact:.0e}  {score:6.3f}  {size:5.2f}  {seconds:5.2f}"
                + ("  MISSED" if any(bad) else ""),
                flush=True,
            )
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

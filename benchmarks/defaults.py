"""Defaults beside what people would use instead: ``python -m benchmarks.defaults FOLDER [--only strings,series]``.

`SimilarityClassifier()` and `SimilarityRegressor()` with no parameter set, on real objects of every kind, five splits
each: strings and texts beside tf-idf with `LinearSVC`, series beside the nearest neighbor by dynamic time warping,
graphs beside a support vector machine on Weisfeiler-Lehman kernels, tables beside one-hot columns with `SVC` and
boosted trees, and numbers to predict from 3,000 rows, 20,000 rows, a million rows in a file and a stream beside boosted
trees, which get all rows at once. The score is the area under the ROC curve for DNA, proteins and rare classes, the
explained share of the variance for numbers, and accuracy otherwise; "behind" says by how many paired standard errors
the default is worse than the better rival.

Two versions of the package are compared by ``--alone --json OLD`` with the one, and then ``--alone --against OLD`` with
the other. The loss is one minus the score, times are those of the fit and of 1,000 predictions, and memory is what
the fit needs at its peak beyond what was there before.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.child import forget_highest, resident
from similitude import SimilarityClassifier, SimilarityRegressor
from similitude.datasets import promoters
from similitude.kernels import DTW, WeisfeilerLehman
from similitude.learners import KernelSVC

SPLITS = 5
BATCHES = 10
"""Number of parts of a stream."""

LABELS = "labels"
RANKS = "ranks"
NUMBERS = "numbers"
"""What predictions are judged by."""

LEAST = {"CPU": 0.01, "wall": 0.01, "predict": 0.001, "memory": 1.0}
"""Seconds and MB that both sides of a ratio get added, because a ratio of next to nothing says nothing."""
LEAST_SQUARES = 1e-6
"""The same for the loss of numbers; that of labels is half an error."""

Fit = Callable[[Any], Any]
"""A function that fits the model that it gets."""


def at_once(X: Any, y: np.ndarray) -> Fit:
    """Return a fit to all rows in memory."""
    return lambda model: model.fit(X, y)


def in_batches(X: Any, y: np.ndarray) -> Fit:
    """Return a fit to one part of the rows after the other."""
    parts = np.array_split(np.arange(len(y)), BATCHES)

    def fit(model: Any) -> Any:
        for part in parts:
            model.partial_fit(take(X, part), y[part])
        return model

    return fit


def from_file(X: pd.DataFrame, y: np.ndarray) -> Fit:
    """Write a Parquet file, and return a fit that reads it in batches."""
    folder = tempfile.TemporaryDirectory()
    X.assign(target=y).to_parquet(Path(folder.name) / "rows.parquet")

    def fit(model: Any) -> Any:
        return model.fit(Path(folder.name) / "rows.parquet", "target")  # the folder stays as long as this function

    return fit


class Problem(NamedTuple):
    """Objects with labels, the number to learn from, what is judged, rivals by name, and how the default gets rows."""

    X: Any
    y: np.ndarray
    n: int
    judged: str
    rivals: dict[str, Callable[[], Any]]
    given: Callable[[Any, np.ndarray], Fit] = at_once


class NearestWarped:
    """The label of the nearest series by dynamic time warping."""

    def fit(self, X: list[np.ndarray], y: np.ndarray) -> NearestWarped:
        self.k, self.X, self.y = DTW().resolve(X, 0), X, y
        return self

    def predict(self, X: list[np.ndarray]) -> np.ndarray:
        return self.y[np.asarray(self.k.cross(X, self.X)).argmax(axis=1)]


def letters() -> Any:
    """Tf-idf of one to four letters."""
    return make_pipeline(TfidfVectorizer(analyzer="char", ngram_range=(1, 4), sublinear_tf=True), LinearSVC())


def words() -> Any:
    """Tf-idf of words and pairs of words."""
    return make_pipeline(TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LinearSVC())


def subtrees() -> Any:
    """A support vector machine on Weisfeiler-Lehman kernels."""
    return KernelSVC(WeisfeilerLehman(3).normalized(), C=10.0)


def strings(folder: Path) -> Iterator[tuple[str, Problem]]:
    X, y = promoters()
    yield "promoters", Problem(list(X), np.asarray(y), 80, RANKS, {"letters": letters})
    for path in sorted(folder.glob("string_*.csv.gz")):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        rivals: dict[str, Any] = {"letters": letters}
        yield path.name[7:-7], Problem(list(table.text), table.label.values, 800, RANKS, rivals)


def texts(folder: Path) -> Iterator[tuple[str, Problem]]:
    for path in sorted(folder.glob("text_*.csv.gz")):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        yield path.name[5:-7], Problem(list(table.text), table.label.values, 800, LABELS, {"words": words})
    titles = pd.read_csv(folder / "biblio_dblp.csv.gz")
    yield "titles", Problem(list(titles.title.astype(str)), titles.venue.values, 800, LABELS, {"words": words})


def series(folder: Path) -> Iterator[tuple[str, Problem]]:
    for path in sorted(folder.glob("ts_*.npz")):
        with np.load(path) as file:
            found: list[np.ndarray] = []
            for part in ("_train", "_test", ""):
                if f"X{part}" in file:
                    found += [one.T if one.ndim == 2 else one[:, None] for one in file[f"X{part}"].astype(float)]
                elif f"ptr{part}" in file:
                    at, values = file[f"ptr{part}"], np.atleast_2d(file[f"values{part}"]).astype(float)
                    found += [values[:, at[i] : at[i + 1]].T for i in range(len(at) - 1)]
            y = file["y"] if "y" in file else np.concatenate([file["y_train"], file["y_test"]])
            n = min(200, len(file["y_train"])) if "y_train" in file else 60
        yield path.name[3:-4], Problem(found, y, n, LABELS, {"1-NN DTW": NearestWarped})


def graphs(folder: Path) -> Iterator[tuple[str, Problem]]:
    for path in sorted(folder.glob("graph_*.npz")):
        with np.load(path) as file:
            at, edges, labels, y = file["node_ptr"], file["edge_index"], file["node_label"], file["y"]
        edges = edges[:, edges[0] < edges[1]]
        edges = edges[:, np.argsort(edges[0], kind="stable")]
        cuts = np.searchsorted(edges[0], at)
        X = [(edges[:, cuts[i] : cuts[i + 1]].T - at[i], labels[at[i] : at[i + 1]]) for i in range(len(y))]
        yield path.name[6:-4], Problem(X, y, min(900, int(0.9 * len(y))), LABELS, {"WL + SVM": subtrees})


def tables(folder: Path) -> Iterator[tuple[str, Problem]]:
    for name, label in (("table_adult_uci", "income"), ("table_attrition", "Attrition"), ("table_mlc_churn", "churn")):
        table = pd.read_csv(folder / f"{name}.csv.gz").dropna(subset=[label]).reset_index(drop=True)
        yield name[6:], Problem(table.drop(columns=label), table[label].values, 1000, LABELS, _of_tables())
    votes = pd.read_csv(folder / "housevotes84.csv.gz")
    yield "votes", Problem(votes.drop(columns="Class"), votes.Class.values, 300, LABELS, _of_tables())


def _of_tables() -> dict[str, Callable[[], Any]]:
    numbers = make_column_selector(dtype_include="number")
    others = make_column_selector(dtype_exclude="number")
    filled = make_pipeline(SimpleImputer(), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="ignore")
    return {
        "one-hot + SVC": lambda: make_pipeline(make_column_transformer((filled, numbers), (one_hot, others)), SVC()),
        "boosted trees": lambda: make_pipeline(
            make_column_transformer(("passthrough", numbers), (ranked(), others)), HistGradientBoostingClassifier()
        ),
    }


def ranked() -> OrdinalEncoder:
    """Numbers of categories, in the order of their names."""
    return OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)


def trees_of_flights() -> Any:
    """Boosted trees on distances, times and numbers of airports."""
    seconds = FunctionTransformer(lambda times: times.astype("int64"))
    columns = make_column_transformer(
        ("passthrough", ["distance"]), (seconds, ["date"]), (ranked(), ["origin", "destination"])
    )
    return make_pipeline(columns, HistGradientBoostingRegressor())


TREES: dict[str, Callable[[], Any]] = {"boosted trees": HistGradientBoostingRegressor}
TREES_OF_CLASSES: dict[str, Callable[[], Any]] = {"boosted trees": HistGradientBoostingClassifier}
TREES_OF_FLIGHTS: dict[str, Callable[[], Any]] = {"boosted trees": trees_of_flights}


def vectors(folder: Path, file: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(folder / file) as stored:
        return stored["X"].astype(float), stored["y"]


def flights(folder: Path) -> tuple[pd.DataFrame, np.ndarray]:
    table = pd.read_parquet(folder / "flights_3m.parquet")
    return table.drop(columns="delay"), table.delay.to_numpy(dtype=float)


def regression(folder: Path) -> Iterator[tuple[str, Problem]]:
    for name in ("bike", "kin40k", "protein", "pumadyn32nm"):
        X, y = vectors(folder, f"uci_{name}.npz")
        yield name, Problem(X, y.ravel(), 3_000, NUMBERS, TREES)


def many(folder: Path) -> Iterator[tuple[str, Problem]]:
    for name in ("kin40k", "protein"):
        X, y = vectors(folder, f"uci_{name}.npz")
        yield f"{name} 20k", Problem(X, y.ravel(), 20_000, NUMBERS, TREES)
    X, y = vectors(folder, "letter.npz")
    yield "letter 16k", Problem(X, y, 16_000, LABELS, TREES_OF_CLASSES)
    X, y = vectors(folder, "adbench_cover.npz")
    yield "cover 20k", Problem(X, y, 20_000, RANKS, TREES_OF_CLASSES)
    table, delays = flights(folder)
    yield "flights 20k", Problem(table, delays, 20_000, NUMBERS, TREES_OF_FLIGHTS)


def million(folder: Path) -> Iterator[tuple[str, Problem]]:
    table, delays = flights(folder)
    yield "flights 1M", Problem(table, delays, 1_000_000, NUMBERS, TREES_OF_FLIGHTS, from_file)


def streams(folder: Path) -> Iterator[tuple[str, Problem]]:
    X, y = vectors(folder, "uci_kin40k.npz")
    yield "kin40k stream", Problem(X, y.ravel(), 20_000, NUMBERS, TREES, in_batches)
    X, y = vectors(folder, "letter.npz")
    yield "letter stream", Problem(X, y, 16_000, LABELS, TREES_OF_CLASSES, in_batches)


KINDS = {
    "strings": strings,
    "texts": texts,
    "series": series,
    "graphs": graphs,
    "tables": tables,
    "regression": regression,
    "many": many,
    "million": million,
    "streams": streams,
}


def take(X: Any, which: np.ndarray) -> Any:
    if isinstance(X, np.ndarray):
        return X[which]
    return X.iloc[which].reset_index(drop=True) if hasattr(X, "iloc") else [X[i] for i in which]


def score(model: Any, judged: str, X: Any, y: np.ndarray) -> float:
    """Return the accuracy, the area under the curve of two classes, or the explained share of the variance."""
    if judged == NUMBERS:
        return 1 - float(np.mean((model.predict(X) - y) ** 2) / y.var())
    if judged == RANKS and len(model.classes_) == 2:
        chances = model.decision_function(X)
        return float(roc_auc_score(y == model.classes_[1], chances))
    return float((model.predict(X) == y).mean())


def give_back() -> None:
    """Return freed memory to the system, so that what a fit needs does not depend on what ran before."""
    gc.collect()
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # of glibc


def measured(problem: Problem, train: np.ndarray, test: np.ndarray) -> dict[str, float]:
    """Return loss, times and memory of the default."""
    make = SimilarityRegressor if problem.judged == NUMBERS else SimilarityClassifier
    fit = problem.given(take(problem.X, train), problem.y[train])
    new = take(problem.X, test)
    give_back()
    forget_highest()
    before = resident()[0]
    begun = time.perf_counter()
    begun_to_fit = time.process_time()
    model = fit(make(random_state=0))
    begun_to_predict = time.process_time()
    wall = time.perf_counter() - begun
    memory = resident()[1] - before
    loss = 1 - score(model, problem.judged, new, problem.y[test])
    done = time.process_time()
    return {
        "loss": loss,
        "least": LEAST_SQUARES if problem.judged == NUMBERS else 0.5 / len(test),
        "CPU": begun_to_predict - begun_to_fit,
        "wall": wall,
        "predict": (done - begun_to_predict) / len(test) * 1_000,
        "memory": memory,
    }


def compare(problem: Problem, splits: int) -> tuple[dict[str, list[float]], list[dict[str, float]]]:
    """Return scores of the default and its rivals on each split, and what was measured of the default."""
    found: dict[str, list[float]] = {}
    runs: list[dict[str, float]] = []
    rest = min(5_000, max(1_500, problem.n // 4), len(problem.y) - problem.n)
    strata = None if problem.judged == NUMBERS else problem.y
    for seed in range(splits):
        train, test = train_test_split(
            np.arange(len(problem.y)), train_size=problem.n, test_size=rest, stratify=strata, random_state=seed
        )
        runs.append(measured(problem, train, test))
        found.setdefault("default", []).append(1 - runs[-1]["loss"])
        for name, make in problem.rivals.items():
            rival = make().fit(take(problem.X, train), problem.y[train])
            value = score(rival, problem.judged, take(problem.X, test), problem.y[test])
            found.setdefault(name, []).append(value)
    return found, runs


def described(found: dict[str, list[float]]) -> str:
    """Return the mean scores, and how far the default is behind the best rival."""
    shown = "  ".join(f"{one} {np.mean(values):.3f}" for one, values in found.items())
    rivals = [one for one in found if one != "default"]
    if not rivals:
        return shown
    best = max(rivals, key=lambda one: float(np.mean(found[one])))
    apart = np.subtract(found[best], found["default"])
    behind = float(apart.mean()) / max(float(apart.std(ddof=1)) / np.sqrt(len(apart)), 1e-9)
    return f"{shown}  behind {behind:+.1f}"


Runs = dict[tuple[str, str, int], dict[str, float]]
"""What was measured, by kind, set and split."""


def kept(path: Path) -> Runs:
    """Return the runs of a file."""
    return {(row.pop("kind"), row.pop("set"), row.pop("split")): row for row in json.loads(path.read_text())}


def keep(path: Path, runs: Runs) -> None:
    """Write runs to a file, beside those of other sets that it holds."""
    if path.exists():
        runs = kept(path) | runs
    rows = [{"kind": kind, "set": name, "split": split, **run} for (kind, name, split), run in runs.items()]
    path.write_text(json.dumps(rows, indent=1) + "\n")


def print_ratios(runs: Runs, others: Runs) -> None:
    """Print loss, times and memory of each set relative to the same splits of another version."""
    common = [one for one in runs if one in others]
    if not common:
        print("no split is in both")
        return
    index = pd.MultiIndex.from_tuples([one[:2] for one in common], names=["kind", "set"])
    mine, theirs = (
        pd.DataFrame([side[one] for one in common], index).groupby(level=[0, 1], sort=False).mean()
        for side in (runs, others)
    )
    ratios = pd.DataFrame({"loss": (mine.loss + mine.least) / (theirs.loss + theirs.least)})
    for one, least in LEAST.items():
        ratios[one] = (mine[one] + least) / (theirs[one] + least)
    print("\nthis run relative to the other: below 1 is better\n" + ratios.round(3).to_string())
    means = np.exp(np.log(ratios).mean())
    print("geometric mean  " + "  ".join(f"{one} {means[one]:.3f}" for one in ratios))
    print("worst set       " + "  ".join(f"{one} {ratios[one].max():.3f} {ratios[one].idxmax()[1]}" for one in ratios))


def main() -> None:
    """Print a line for each set, means for each kind, and ratios to another version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(KINDS), help="kinds of objects, separated by commas")
    parser.add_argument("--sets", default="", help="only sets whose name contains one of these texts")
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--alone", action="store_true", help="leave out the rivals")
    parser.add_argument("--json", type=Path, help="a file that keeps what was measured on each split")
    parser.add_argument("--against", type=Path, help="such a file of another version, to compare with")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    others = kept(given.against) if given.against else {}
    measurements: Runs = {}
    for kind in given.only.split(","):
        means: dict[str, list[float]] = {}
        for name, problem in KINDS[kind](given.folder):
            if not any(part in name for part in given.sets.split(",")):
                continue
            if given.alone:
                problem = problem._replace(rivals={})
            found, runs = compare(problem, given.splits)
            seconds = np.mean([run["CPU"] for run in runs])
            print(f"{kind:10} {name:20} {described(found)}  {seconds:.1f} s", flush=True)
            for one, values in found.items():
                means.setdefault(one, []).append(float(np.mean(values)))
            measurements.update({(kind, name, split): run for split, run in enumerate(runs)})
            if given.json:
                keep(given.json, measurements)
        if means:
            print(
                f"{kind:10} {'mean':20} " + "  ".join(f"{one} {np.mean(values):.3f}" for one, values in means.items())
            )
    if given.against:
        print_ratios(measurements, others)


if __name__ == "__main__":
    main()

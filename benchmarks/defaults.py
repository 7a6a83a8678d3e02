"""Defaults beside what people would use instead: ``python -m benchmarks.defaults FOLDER [--only strings,series]``.

`SimilarityClassifier()` with no parameter set, on real objects of every kind, five splits each: strings and texts
beside tf-idf with `LinearSVC`, series beside the nearest neighbor by dynamic time warping, graphs beside a support
vector machine on Weisfeiler-Lehman kernels, tables beside one-hot columns with `SVC` and boosted trees. The score is
the area under the ROC curve for DNA and proteins, and accuracy otherwise; "behind" says by how many paired standard
errors the default is worse than the better rival.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from similitude import SimilarityClassifier
from similitude.datasets import promoters
from similitude.kernels import DTW, WeisfeilerLehman
from similitude.learners import KernelSVC

SPLITS = 5


class Problem(NamedTuple):
    """Objects with labels, the number to learn from, whether ranks are judged, and rivals by name."""

    X: Any
    y: np.ndarray
    n: int
    by_ranks: bool
    rivals: dict[str, Callable[[], Any]]


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
    yield "promoters", Problem(list(X), np.asarray(y), 80, True, {"letters": letters})
    for path in sorted(folder.glob("string_*.csv.gz")):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        rivals: dict[str, Any] = {"letters": letters}
        yield path.name[7:-7], Problem(list(table.text), table.label.values, 800, True, rivals)


def texts(folder: Path) -> Iterator[tuple[str, Problem]]:
    for path in sorted(folder.glob("text_*.csv.gz")):
        table = pd.read_csv(path, dtype=str, keep_default_na=False)
        yield path.name[5:-7], Problem(list(table.text), table.label.values, 800, False, {"words": words})
    titles = pd.read_csv(folder / "biblio_dblp.csv.gz")
    yield "titles", Problem(list(titles.title.astype(str)), titles.venue.values, 800, False, {"words": words})


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
        yield path.name[3:-4], Problem(found, y, n, False, {"1-NN DTW": NearestWarped})


def graphs(folder: Path) -> Iterator[tuple[str, Problem]]:
    for path in sorted(folder.glob("graph_*.npz")):
        with np.load(path) as file:
            at, edges, labels, y = file["node_ptr"], file["edge_index"], file["node_label"], file["y"]
        edges = edges[:, edges[0] < edges[1]]
        edges = edges[:, np.argsort(edges[0], kind="stable")]
        cuts = np.searchsorted(edges[0], at)
        X = [(edges[:, cuts[i] : cuts[i + 1]].T - at[i], labels[at[i] : at[i + 1]]) for i in range(len(y))]
        yield path.name[6:-4], Problem(X, y, min(900, int(0.9 * len(y))), False, {"WL + SVM": subtrees})


def tables(folder: Path) -> Iterator[tuple[str, Problem]]:
    for name, label in (("table_adult_uci", "income"), ("table_attrition", "Attrition"), ("table_mlc_churn", "churn")):
        table = pd.read_csv(folder / f"{name}.csv.gz").dropna(subset=[label]).reset_index(drop=True)
        yield name[6:], Problem(table.drop(columns=label), table[label].values, 1000, False, _of_tables())
    votes = pd.read_csv(folder / "housevotes84.csv.gz")
    yield "votes", Problem(votes.drop(columns="Class"), votes.Class.values, 300, False, _of_tables())


def _of_tables() -> dict[str, Callable[[], Any]]:
    numbers, others = make_column_selector(dtype_include="number"), make_column_selector(dtype_exclude="number")
    filled = make_pipeline(SimpleImputer(), StandardScaler())
    one_hot, ranked = (
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    )
    return {
        "one-hot + SVC": lambda: make_pipeline(make_column_transformer((filled, numbers), (one_hot, others)), SVC()),
        "boosted trees": lambda: make_pipeline(
            make_column_transformer(("passthrough", numbers), (ranked, others)), HistGradientBoostingClassifier()
        ),
    }


KINDS = {"strings": strings, "texts": texts, "series": series, "graphs": graphs, "tables": tables}


def take(X: Any, which: np.ndarray) -> Any:
    return X.iloc[which].reset_index(drop=True) if hasattr(X, "iloc") else [X[i] for i in which]


def score(model: Any, problem: Problem, test: np.ndarray) -> float:
    """Return the accuracy, or the area under the curve of two classes."""
    X, y = take(problem.X, test), problem.y[test]
    if problem.by_ranks and len(model.classes_) == 2:
        return float(roc_auc_score(y == model.classes_[1], model.decision_function(X)))
    return float((model.predict(X) == y).mean())


def compare(problem: Problem, splits: int) -> tuple[dict[str, list[float]], float]:
    """Return scores of the default and its rivals on each split, and the seconds of the default's fits."""
    found: dict[str, list[float]] = {}
    seconds = 0.0
    for seed in range(splits):
        rest = min(1500, len(problem.y) - problem.n)
        train, test = train_test_split(
            np.arange(len(problem.y)), train_size=problem.n, test_size=rest, stratify=problem.y, random_state=seed
        )
        X, y = take(problem.X, train), problem.y[train]
        begun = time.process_time()
        model = SimilarityClassifier(random_state=0).fit(X, y)
        seconds += (time.process_time() - begun) / splits
        found.setdefault("default", []).append(score(model, problem, test))
        for name, make in problem.rivals.items():
            found.setdefault(name, []).append(score(make().fit(X, y), problem, test))
    return found, seconds


def main() -> None:
    """Print a line for each set, and means for each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default=",".join(KINDS), help="kinds of objects, separated by commas")
    parser.add_argument("--sets", default="", help="only sets whose name contains one of these texts")
    parser.add_argument("--splits", type=int, default=SPLITS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for kind in given.only.split(","):
        means: dict[str, list[float]] = {}
        for name, problem in KINDS[kind](given.folder):
            if not any(part in name for part in given.sets.split(",")):
                continue
            found, seconds = compare(problem, given.splits)
            best = max((one for one in found if one != "default"), key=lambda one: float(np.mean(found[one])))
            apart = np.subtract(found[best], found["default"])
            behind = float(apart.mean()) / max(float(apart.std(ddof=1)) / np.sqrt(len(apart)), 1e-9)
            shown = "  ".join(f"{one} {np.mean(values):.3f}" for one, values in found.items())
            print(f"{kind:8} {name:20} {shown}  behind {behind:+.1f}  {seconds:.1f} s", flush=True)
            for one, values in found.items():
                means.setdefault(one, []).append(float(np.mean(values)))
        print(f"{kind:8} {'mean':20} " + "  ".join(f"{one} {np.mean(values):.3f}" for one, values in means.items()))


if __name__ == "__main__":
    main()

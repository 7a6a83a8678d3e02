"""Accuracy for the money: frugal fits against fits that compare all pairs (``python -m benchmarks.cost FOLDER``).

For each data set and split, `SimilarityClassifier` is fitted with all pairs, and with ``max_calls`` of 40 calls an
example. The table shows which share of the gain over the most frequent class the frugal fit keeps, and how many calls
it makes for each training example and each prediction. All values come from a matrix that is computed beforehand; the
function that is handed over looks them up and counts.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from similitude import FromPairs, Precomputed, SimilarityClassifier
from similitude.datasets import promoters
from similitude.kernels import DTW, Edit, Gaussian

CALLS_AN_EXAMPLE, CALLS_A_PREDICTION, KEPT = 40, 25, 0.95
"""What is asked for."""

Problem = tuple[np.ndarray, np.ndarray, int]
"""The matrix of similarities, labels, and the number of training examples."""


def messages(folder: Path) -> Problem:
    """Short messages: shared trigrams, relative to the geometric mean of their numbers."""
    table = pd.read_csv(folder / "text_sms_spam.csv.gz", dtype=str, keep_default_na=False)
    some = np.random.default_rng(0).permutation(len(table))[:1600]
    bags = [{text[i : i + 3] for i in range(len(text) - 2)} for text in table.text.str.lower().values[some]]
    words = {word: j for j, word in enumerate(sorted(set().union(*bags)))}
    B = np.zeros((len(bags), len(words)), dtype=np.float32)
    for i, bag in enumerate(bags):
        B[i, [words[word] for word in bag]] = 1
    shared = (B @ B.T).astype(float)
    sizes = shared.diagonal()
    return shared / np.sqrt(np.maximum(np.outer(sizes, sizes), 1)), table.label.values[some], 800


def genes(folder: Path) -> Problem:
    """DNA sequences by edit distance."""
    X, y = promoters()
    return Edit().gram(X), np.asarray(y), 80


def blogs(folder: Path) -> Problem:
    """Links from blog to blog: not symmetric."""
    with np.load(folder / "sim_polblogs.npz") as file:
        edges, y = file["edge_index"], file["y"]
    links = np.zeros((len(y), len(y)))
    links[edges[0], edges[1]] = 1
    linked = (links.sum(axis=0) + links.sum(axis=1)) > 0
    return links[np.ix_(linked, linked)], y[linked], 600


def motions(folder: Path) -> Problem:
    """Time series by dynamic time warping."""
    with np.load(folder / "ts_GunPoint.npz") as file:
        X, y = np.vstack([file["X_train"], file["X_test"]]), np.concatenate([file["y_train"], file["y_test"]])
    return DTW().gram(list(X)), y, 100


def digits(folder: Path) -> Problem:
    """Images of digits by a Gaussian."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return Gaussian("median").resolve(X, 0).gram(X), y, 800


def votes(folder: Path) -> Problem:
    """Members of a parliament by the share of equal votes; the rules were not tuned on these."""
    table = pd.read_csv(folder / "housevotes84.csv.gz", dtype=str, keep_default_na=False)
    cast = table.drop(columns="Class").values
    return (cast[:, None] == cast).mean(axis=2), table.Class.values, 200


def traces(folder: Path) -> Problem:
    """Signals of a plant by dynamic time warping; the rules were not tuned on these."""
    with np.load(folder / "ts_Trace.npz") as file:
        X, y = np.vstack([file["X_train"], file["X_test"]]), np.concatenate([file["y_train"], file["y_test"]])
    return DTW().gram(list(X)), y, 100


PROBLEMS: dict[str, Callable[[Path], Problem]] = {
    "messages": messages,
    "promoters": genes,
    "blogs": blogs,
    "GunPoint": motions,
    "digits": digits,
    "votes": votes,
    "Trace": traces,
}


def splits(n: int, n_train: int, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield random training and test rows."""
    for seed in range(number):
        order = np.random.default_rng(seed).permutation(n)
        yield order[:n_train], order[n_train:]


def compare(problem: Problem, number: int) -> np.ndarray:
    """Return accuracies of the majority, of all pairs, of frugal fits, and calls an example and a prediction."""
    K, y, n_train = problem
    calls = [0]

    def looked_up(i: int, j: int) -> float:
        calls[0] += 1
        return float(K[i, j])

    found = []
    for seed, (train, test) in enumerate(splits(len(y), n_train, number)):
        whole = SimilarityClassifier(Precomputed(K), random_state=0).fit(train, y[train]).score(test, y[test])
        frugal = SimilarityClassifier(FromPairs(looked_up), max_calls=CALLS_AN_EXAMPLE * n_train, random_state=seed)
        calls[0] = 0
        frugal.fit(train.tolist(), y[train])
        to_fit, calls[0] = calls[0], 0
        kept = frugal.score(test.tolist(), y[test])
        most = np.unique(y[test], return_counts=True)[1].max() / len(test)
        found.append((most, whole, kept, to_fit / n_train, calls[0] / len(test)))
    return np.array(found)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="holds text_sms_spam.csv.gz, sim_polblogs.npz, and others")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--only", choices=list(PROBLEMS))
    given = parser.parse_args()
    print(f"asked for: {KEPT:.0%} of the gain, {CALLS_AN_EXAMPLE} calls an example, {CALLS_A_PREDICTION} a prediction")
    print("data set    train  majority  all pairs  frugal  share of gain  calls/example  calls/prediction")
    for name in [given.only] if given.only else PROBLEMS:
        problem = PROBLEMS[name](given.folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            most, whole, kept, to_fit, each = compare(problem, given.splits).mean(axis=0)
        share = (kept - most) / (whole - most)
        met = share >= KEPT and to_fit <= CALLS_AN_EXAMPLE and each <= CALLS_A_PREDICTION
        figures = f"{most:8.3f}  {whole:9.3f}  {kept:6.3f}  {share:13.3f}  {to_fit:13.1f}  {each:16.1f}"
        print(f"{name:10s}  {problem[2]:5d}  {figures}{'' if met else '  missed'}", flush=True)


if __name__ == "__main__":
    main()

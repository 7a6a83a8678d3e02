"""Kernels of strings: shared substrings, edit distances, and how well they classify."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gates import checked, faster
from benchmarks.nouns import Check, Data, Dataset, Settings, Task

CORNER = 40
"""Strings that are compared with a plain loop."""
CORNER_OF_EDITS = 20


def random_strings(n: int, length: int, rng: np.random.Generator) -> list[str]:
    """Return strings of the four letters of DNA."""
    return ["".join(letters) for letters in rng.choice(list("ACGT"), (n, length))]


def dna(n: int, p: int) -> Dataset:
    """Return random DNA."""
    return Dataset(f"dna n={n} L=100 p={p}", lambda rng: {"X": random_strings(n, 100, rng), "p": p})


def protein(n: int, p: int, settings: Settings) -> Dataset:
    """Return proteins of SCOP's fold 1.1."""
    file = "string_protein_1.1.csv.gz"

    def make(rng: np.random.Generator) -> Data:
        rows = [text for split, _, text in read(settings, file) if split == "train"]
        return {"X": [rows[i] for i in rng.permutation(len(rows))[:n]], "p": p}

    return Dataset(f"protein n={n} p={p}", make, needs=file)


def read(settings: Settings, file: str) -> list[tuple[str, ...]]:
    """Return the rows of a table of strings, without its names of columns."""
    import csv

    with gzip.open(Path(settings.data or ".") / file, "rt", encoding="utf-8", newline="") as lines:
        return [tuple(row) for row in csv.reader(lines)][1:]


def spectrum_data(settings: Settings) -> list[Dataset]:
    """Return DNA and proteins."""
    n = settings.size(4_000, 1_000)
    proteins = [protein(settings.size(2_339, 600), p, settings) for p in (3, 6)]
    return [*(dna(n, p) for p in (3, 6)), *proteins]


def windows_shared(data: Data) -> np.ndarray:
    """Return how many different substrings the first strings share."""
    p = data["p"]
    sets = [{s[i : i + p] for i in range(len(s) - p + 1)} for s in data["X"][:CORNER]]
    return np.array([[len(a & b) for b in sets] for a in sets], float)


def exact_corner(data: Data, result: Any, truth: np.ndarray) -> Check:
    """Compare the first strings with the truth, exactly."""
    wrong = int(np.count_nonzero(np.asarray(result)[: len(truth), : len(truth)] != truth))
    return Check(float(wrong), f"{wrong} of {truth.size} values wrong", wrong == 0)


PEER = "scikit-learn"

SPECTRUM = Task(
    name="spectrum",
    computes="the number of different substrings of length p that two strings share, all pairs",
    operation="spectrum",
    datasets=spectrum_data,
    truth=windows_shared,
    check=exact_corner,
    gates=(
        faster(8.0, PEER, goal=15.0, where="n=4000 L=100 p=3"),
        faster(4.0, PEER, goal=6.0, where="n=4000 L=100 p=6"),
        faster(4.0, PEER, where="protein n=2339"),
    ),
    at_size=lambda n: dna(n, 4),
    sizes=(500, 1000, 2000, 4000),
    imports=("scipy.sparse",),
)


def edits(data: Data) -> np.ndarray:
    """Return the edit distances of the first strings by the recurrence."""
    from similitude.compute.loops.reference.strings import _edits

    codes = [np.frombuffer(s.encode(), np.uint8) for s in data["X"][:CORNER_OF_EDITS]]
    return np.array([[_edits(a, b) for b in codes] for a in codes], float)


def strings_of_length(n: int, length: int) -> Dataset:
    """Return random DNA of some length."""
    return Dataset(f"dna n={n} L={length}", lambda rng: {"X": random_strings(n, length, rng)})


LEVENSHTEIN = Task(
    name="levenshtein",
    computes="edit distances of all pairs",
    operation="levenshtein",
    datasets=lambda settings: [
        strings_of_length(settings.size(2_000, 600), 100),
        strings_of_length(settings.size(300, 60), 1_000),
    ],
    truth=edits,
    check=exact_corner,
    gates=(faster(3.0, "rapidfuzz", goal=5.0, where="n=2000"),),
    at_size=lambda n: strings_of_length(n, 100),
    sizes=(250, 500, 1000, 2000),
)


SYLLABLES = [first + vowel + last for first in "bdfgklmnrst" for vowel in "aeiou" for last in ("", "n", "r", "s")]
"""What invented names are made of."""

THRESHOLD = 0.85
"""Edit similarity of duplicates."""


def misspelled_names(n: int) -> Dataset:
    """Return invented names, every fourth of them the one before with another letter somewhere."""

    def make(rng: np.random.Generator) -> Data:
        parts = rng.choice(SYLLABLES, (n, 6))
        X = ["".join(one[:3]).title() + " " + "".join(one[3:]).title() for one in parts]
        for i in range(1, n, 4):
            at = int(rng.integers(len(X[i - 1])))
            X[i] = X[i - 1][:at] + str(rng.choice(list("aeiou"))) + X[i - 1][at + 1 :]
        return {"X": X}

    return Dataset(f"names n={n}", make)


def close_pairs(data: Data) -> np.ndarray:
    """Return the close pairs of the first names by the recurrence, in integers: 20 edits <= 3 longer length."""
    lengths = np.array([len(one) for one in data["X"][:CORNER_OF_EDITS]])
    close = 20 * edits(data).astype(int) <= 3 * np.maximum(lengths[:, None], lengths)
    return np.argwhere(np.triu(close, 1))


def same_pairs(data: Data, result: Any, truth: np.ndarray) -> Check:
    """Compare the pairs of the first names with the truth."""
    found = {(int(i), int(j)) for i, j in result if i < j < CORNER_OF_EDITS}
    wrong = len(found ^ {(int(i), int(j)) for i, j in truth})
    return Check(float(wrong), f"{wrong} pairs wrong, {len(truth)} true", wrong == 0)


DUPLICATES = Task(
    name="duplicates",
    computes="all pairs of names with an edit similarity of at least 0.85",
    operation="duplicates",
    datasets=lambda settings: [misspelled_names(settings.size(15_000, 1_000))],
    truth=close_pairs,
    check=same_pairs,
    gates=(faster(5.0, "rapidfuzz", where="n=15000"),),
    threads=(1,),
    in_child=False,
)


def costs_of_edits(data: Data) -> np.ndarray:
    """Return the costs of edits of the first strings by the plain recurrence."""
    from similitude.compute.loops.reference.strings import _best

    codes = [np.frombuffer(s.encode(), np.uint8) for s in data["X"][:4]]
    return np.array([[-_best(-3.0 * (a[:, None] != b), 2.0, 2.0, False) for b in codes] for a in codes])


EDIT_COSTS = Task(
    name="edit_costs",
    computes="the smallest costs of edits, 2 for insertions and deletions and 3 for substitutions, all pairs",
    operation="edit_costs",
    datasets=lambda settings: [strings_of_length(settings.size(300, 100), 100)],
    truth=costs_of_edits,
    check=exact_corner,
)


def texts(n: int) -> Dataset:
    """Return texts of 20 to 100 words, of which few are frequent."""

    def make(rng: np.random.Generator) -> Data:
        vocabulary = np.array(["".join(rng.choice(list("aeioklmnrst"), rng.integers(3, 9))) for _ in range(20_000)])
        numbers = [np.minimum(rng.zipf(1.3, size), 20_000) - 1 for size in rng.integers(20, 100, n)]
        return {"X": [" ".join(vocabulary[row]) for row in numbers]}

    return Dataset(f"texts n={n}", make)


def tfidf(data: Data) -> np.ndarray:
    """Return the cosines of the first texts by scikit-learn, whose weights are those of all texts."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    model = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"\w+").fit(data["X"])
    rows = model.transform(data["X"][:CORNER])
    return np.asarray((rows @ rows.T).toarray())


def close_corner(data: Data, result: Any, truth: np.ndarray) -> Check:
    """Compare the first strings with the truth, up to rounding."""
    error = float(np.abs(np.asarray(result)[: len(truth), : len(truth)] - truth).max())
    return Check(error, f"largest error {error:.0e}", error < 1e-9)


WORDS = Task(
    name="words",
    computes="cosines of tf-idf of words and pairs of words, all pairs of texts",
    operation="words",
    datasets=lambda settings: [texts(settings.size(2_000, 500))],
    truth=tfidf,
    check=close_corner,
    imports=("scipy.sparse",),
)


def subsequences_of(n: int, p: int) -> Dataset:
    """Return random DNA for subsequences of p letters."""
    return Dataset(f"dna n={n} L=100 p={p}", lambda rng: {"X": random_strings(n, 100, rng), "p": p})


def common_subsequences(data: Data) -> np.ndarray:
    """Return the normalized kernel of the first strings by the plain recurrence."""
    from similitude.compute.loops.reference.strings import _common_subsequences

    codes = [np.frombuffer(s.encode(), np.uint8) for s in data["X"][:4]]
    K = np.array([[_common_subsequences(a, b, data["p"], 0.5) for b in codes] for a in codes])
    return np.asarray(K / np.sqrt(np.outer(np.diag(K), np.diag(K))))


SUBSEQUENCES = Task(
    name="subsequences",
    computes="the subsequence kernel with decay 1/2, normalized, all pairs",
    operation="subsequences",
    datasets=lambda settings: [subsequences_of(settings.size(100, 40), p) for p in (3, 5)],
    truth=common_subsequences,
    check=close_corner,
    gates=(faster(4.0, "strkernels", goal=8.0),),
)


def proteins_of(n: int, length: int) -> Dataset:
    """Return random proteins."""

    def make(rng: np.random.Generator) -> Data:
        return {"X": ["".join(letters) for letters in rng.choice(list("ARNDCQEGHILKMFPSTWYV"), (n, length))]}

    return Dataset(f"proteins n={n} L={length}", make)


def best_scores(data: Data) -> np.ndarray:
    """Return the scores of the first strings by the plain recurrence."""
    from similitude.compute.loops.reference.strings import _best
    from similitude.kernels.strings.alignment import as_substitution

    table = as_substitution("blosum62")
    codes = [[table.letters.tolist().index(ord(letter)) for letter in s] for s in data["X"][:4]]
    return np.array([[_best(table.scores[np.ix_(a, b)], 11.0, 1.0, True) for b in codes] for a in codes])


ALIGNED = Task(
    name="aligned",
    computes="scores of the best local alignments under BLOSUM62, all pairs",
    operation="aligned",
    datasets=lambda settings: [proteins_of(settings.size(200, 40), 100)],
    truth=best_scores,
    check=exact_corner,
)


def enhancers(settings: Settings) -> Dataset:
    """Return DNA that the protein EP300 binds, and DNA that it does not, both strands of each, in a given split."""
    file = "string_dna_EP300.csv.gz"

    def make(rng: np.random.Generator) -> Data:
        parts: dict[str, list[tuple[str, int]]] = {"train": [], "test": []}
        for split, label, text in read(settings, file):
            parts[split].append((both_strands(text), int(label)))
        if settings.quick:
            parts = {split: [rows[i] for i in rng.permutation(len(rows))[:300]] for split, rows in parts.items()}
        return _problem(parts["train"], parts["test"], kernel="gapped")

    return Dataset("EP300", make, needs=file)


def both_strands(text: str) -> str:
    """Return DNA and its reverse complement: a protein binds either."""
    upper = text.upper()
    return upper + "-" + upper[::-1].translate(str.maketrans("ACGT", "TGCA"))


def messages(settings: Settings) -> Dataset:
    """Return text messages, spam or not, half of them to learn from."""
    file = "text_sms_spam.csv.gz"

    def make(rng: np.random.Generator) -> Data:
        rows = [(row[-1], int(row[-2] not in ("ham", "0"))) for row in read(settings, file)]
        rows = [rows[i] for i in rng.permutation(len(rows))[: settings.size(5_574, 1_000)]]
        return _problem(rows[::2], rows[1::2], kernel="blended")

    return Dataset("SMS spam", make, needs=file)


def _problem(train: list[tuple[str, int]], test: list[tuple[str, int]], kernel: str) -> Data:
    (X, y), (new, truth) = zip(*train, strict=True), zip(*test, strict=True)
    return {"X": list(X), "y": np.array(y), "new": list(new), "truth": np.array(truth), "kernel": kernel}


def scores(data: Data, result: Any, truth: Any) -> Check:
    """Return the error and one minus the area under the curve."""
    from sklearn.metrics import roc_auc_score

    y, decision = data["truth"], np.asarray(result)
    missing = 1 - float(roc_auc_score(y, decision))
    error = float(np.mean((decision > 0) != (y == y.max())))
    value = missing if data["kernel"] == "gapped" else error
    return Check(value, f"accuracy {1 - error:.4f}, AUC {1 - missing:.4f}", value < 0.1)


STRING_LEARNING = Task(
    name="string_learning",
    computes="a support vector machine on strings: decision values of new ones",
    operation="string_learning",
    datasets=lambda settings: [enhancers(settings), messages(settings)],
    check=scores,
    gates=(
        checked(0.015, "ours: AUC at least 0.985", where="EP300"),
        checked(0.02, "ours: accuracy at least 98 %", where="SMS"),
    ),
    threads=(1,),
    in_child=False,
)


def promoters_data(settings: Settings) -> Dataset:
    """Return promoters and other DNA."""

    def make(rng: np.random.Generator) -> Data:
        from similitude.datasets import promoters

        X, y = promoters()
        return {"X": X, "y": np.asarray(y)}

    return Dataset("promoters n=106", make)


def leave_one_out(data: Data, result: Any, truth: Any) -> Check:
    """Return the share of wrong labels."""
    error = float(np.mean(np.asarray(result) != data["y"]))
    return Check(error, f"accuracy {1 - error:.4f}", error < 0.3)


PROMOTERS = Task(
    name="promoters",
    computes="leave-one-out labels of promoters",
    operation="promoters",
    datasets=lambda settings: [promoters_data(settings)],
    check=leave_one_out,
    gates=(checked(0.12, "ours: accuracy at least 88 %"),),
    threads=(1,),
    in_child=False,
)

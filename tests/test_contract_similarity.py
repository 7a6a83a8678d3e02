"""Every public similarity keeps the contract, and the kit notices the ones that do not."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from similitude import FromBlocks, FromPairs, Precomputed, Similarity, repair
from similitude.checks import check_similarity
from similitude.checks.similarity import grams_elsewhere
from similitude.kernels import (
    DTW,
    Columns,
    Cosine,
    Edit,
    Equal,
    Gapped,
    Gaussian,
    GlobalAlignment,
    Gower,
    Graphlet,
    HistogramIntersection,
    Intersection,
    Jaccard,
    Laplace,
    Linear,
    Matern,
    Mismatch,
    Ordinal,
    OrMissing,
    Polynomial,
    RationalQuadratic,
    SharesAny,
    ShortestPath,
    Sigmoid,
    Spectrum,
    WeisfeilerLehman,
)
from similitude.kernels.series.alignment import WarpingDistance
from similitude.selection import SideBySide
from similitude.similarity import algebra, wrappers
from similitude.validity.spectral_repair import RaisedDiagonal, Repaired

rng = np.random.default_rng(0)
VECTORS = rng.standard_normal((9, 3))
VECTORS.setflags(write=False)
SETS = [{"a", "b"}, {"b", 3}, set(), {3.0, None}, {("x", 1)}, {"a", "b", 3}]
BITS = rng.random((6, 70)) < 0.3
PERSONS = [
    {"age": 30.0, "job": "cook", "tags": {"a", "b"}, "size": "S"},
    {"age": 41.5, "job": "pilot", "tags": {"b"}, "size": "L"},
    {"age": None, "job": "cook", "tags": set(), "size": "M"},
    {"age": 22.0, "job": "judge", "tags": {"b", "c"}, "size": "S"},
]
TABLE = pd.DataFrame(PERSONS).assign(size=lambda X: pd.Categorical(X["size"], ["S", "M", "L"], ordered=True))
BY_COLUMN = {"age": OrMissing(Gaussian()), "job": "equal", "tags": "jaccard"}
WORDS = ["kernel", "colonel", "", "kern", "lek", "kernel"]
SERIES = [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 3.0], [2.0]]
MATRIX = rng.standard_normal((6, 6))
GRAPHS = [
    ([(0, 1), (1, 2), (2, 0)], ["C", "O", "C"]),
    ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], ["C", "C", "O", "N", "C"]),
    ([(0, 1), (0, 2), (0, 3)], ["C", "H", "H", "H"]),
    ([], ["C"]),
    ([], 0),
]


def shared_letters(s: str, t: str) -> int:
    return len(set(s) & set(t))


def lengths(words: list[str]) -> np.ndarray:
    return np.array([[len(word), word.count("e")] for word in words], dtype=float)


EXAMPLES = [
    (Linear(), VECTORS),
    (SideBySide((Gaussian(1.0), Linear()), VECTORS[:4], (1.0, 2.0)), VECTORS),
    (Polynomial(), VECTORS),
    (Polynomial(degree=2, coef0=-1.0, scale=0.5), VECTORS),
    (Gaussian(), VECTORS),
    (Gaussian(2.0), VECTORS.astype(np.float32)),
    (Laplace(), VECTORS),
    (Laplace(norm=1, squared_scale=False), VECTORS),
    (Matern(), VECTORS),
    (Matern(nu=0.5), VECTORS),
    (Matern(nu=np.inf), VECTORS),
    (RationalQuadratic(alpha=0.7), VECTORS),
    (Cosine(), VECTORS),
    (Sigmoid(0.3, 0.1), VECTORS),
    (HistogramIntersection(), np.abs(VECTORS)),
    (Intersection(), SETS),
    (Jaccard(), BITS),
    (Jaccard(), sp.csr_array(BITS.astype(float))),
    (SharesAny(), SETS),
    (Equal(), WORDS),
    (Ordinal(["S", "M", "L"]), ["M", "S", "S", "L"]),
    (OrMissing(Gaussian(), alike=0.5), [1.0, None, 2.5, float("nan"), 1.0]),
    (Columns(BY_COLUMN), PERSONS),
    (Columns({**BY_COLUMN, "size": "ordinal"}, how="sum"), TABLE),
    (Columns({**BY_COLUMN, "tags": lambda s, t: float(s <= t)}, how="product"), TABLE),
    (Columns({"job": "equal", "tags": "shares_any"}, how="max"), PERSONS),
    (Gower(), TABLE.drop(columns="tags")),
    (Gower(strict=True), TABLE[["job", "size"]]),
    (Spectrum(2), WORDS),
    (Gapped(3, 1), WORDS),
    (Mismatch(2, 1), WORDS),
    (Mismatch(2, 1, alphabet="kern"), WORDS),
    (Edit(), WORDS),
    (Spectrum(counts=True, blended=True), WORDS),
    (WeisfeilerLehman(), GRAPHS),
    (ShortestPath(), GRAPHS),
    (Graphlet(), GRAPHS),
    (Graphlet(4, mode="frequency", connected=True), GRAPHS),
    (DTW(), SERIES),
    (WarpingDistance(window=1), SERIES),
    (GlobalAlignment(), SERIES),
    (FromPairs(shared_letters), WORDS),
    (FromPairs(lambda s, t: float(s < t)), WORDS),
    (FromPairs(shared_letters, claims=["SYMMETRIC", "PSD"]), WORDS),
    (FromPairs(lambda x, z: x["a"] * z["b"]), pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 2.0]})),
    (FromBlocks(lambda X, Z: np.minimum.outer(X[:, 0], Z[:, 0])), VECTORS),
    (Precomputed(MATRIX), range(6)),
    (algebra.Sum(Gaussian(), Linear(), Gaussian()), VECTORS),
    (algebra.Product(Gaussian(), Polynomial(2)), VECTORS),
    (algebra.Minimum(Gaussian(1.0), Laplace(1.0)), VECTORS),
    (algebra.Maximum(Gaussian(1.0), Laplace(1.0)), VECTORS),
    (algebra.Scaled(Linear(), -2.0), VECTORS),
    (algebra.Shifted(Linear(), 3.0), VECTORS),
    (algebra.Power(Linear(), 3), VECTORS),
    (algebra.Power(Gaussian(), 0.5), VECTORS),
    (algebra.Power(Linear(), 0), VECTORS),
    (algebra.Absolute(Linear()), VECTORS),
    (algebra.Exponential(Cosine()), VECTORS),
    (wrappers.Normalized(Polynomial()), VECTORS),
    (wrappers.Normalized(FromPairs(shared_letters, claims=["PSD"])), WORDS),
    (wrappers.Symmetrized(FromPairs(lambda s, t: float(s < t))), WORDS),
    (wrappers.Pullback(Gaussian(), len), WORDS),
    (wrappers.Pullback(Gaussian(), lengths, batched=True), WORDS),
    (Gaussian().pullback(len) + Linear().pullback(len) * 2.0 - FromPairs(shared_letters), WORDS),
    (repair(FromPairs(lambda s, t: float(bool(set(s) & set(t)))), WORDS), WORDS),
    (repair(FromPairs(lambda s, t: float(bool(set(s) & set(t)))), WORDS, how="shift"), WORDS),
]
ABSTRACT = {
    "DistanceSimilarity",
    "VectorSimilarity",
    "SetSimilarity",
    "BagSimilarity",
    "_EditDistance",
    "HistogramSimilarity",
    "SeriesSimilarity",
    "Node",
    "NaryNode",
    "Extreme",
    "Wrapped",
}


@pytest.fixture(scope="module")
def grams_of_examples():
    """What another process finds: one for all, as each takes a while to start."""
    return grams_elsewhere(EXAMPLES)


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=lambda number: repr(EXAMPLES[number][0])[:60])
def test_contract(number, grams_of_examples, monkeypatch):
    monkeypatch.setattr("similitude.checks.similarity.grams_elsewhere", lambda _: [grams_of_examples[number]])
    check_similarity(*EXAMPLES[number])


def every_class(cls=Similarity):
    for sub in cls.__subclasses__():
        if sub.__module__.startswith("similitude."):
            yield sub
        yield from every_class(sub)


def test_every_class_has_an_example():
    assert {Repaired, RaisedDiagonal} <= {type(similarity) for similarity, _ in EXAMPLES}
    missing = set(every_class()) - {type(similarity) for similarity, _ in EXAMPLES}
    assert {cls.__name__ for cls in missing} <= ABSTRACT


class Honest(Similarity):
    """A user's own class, as the README shows it."""

    claims = frozenset({"SYMMETRIC", "PSD"})

    def __init__(self, years=5.0):
        self.years = years

    def encode(self, people):
        return np.array([p["age"] for p in people], float)

    def block(self, A, B):
        return np.exp(-(((A[:, None] - B) / self.years) ** 2))


PEOPLE = [{"age": age} for age in (20, 25, 40, 41)]


def test_a_users_own_class_passes():
    check_similarity(Honest(), PEOPLE)


class LiesAboutSymmetry(Honest):
    claims = Honest.claims

    def block(self, A, B):
        return A[:, None] - 0.5 * B


class LiesAboutPSD(Honest):
    claims = Honest.claims

    def block(self, A, B):
        return -np.abs(A[:, None] - B)


class LooksAtTheBatch(Honest):
    def encode(self, people):
        ages = super().encode(people)
        return ages - ages.mean() + ages**2 / ages.sum()


class HashesStrings(Honest):
    def encode(self, people):
        return np.array([float(hash(str(sorted(p.items()))) % 97) for p in people])


class ChangesItsInput(Honest):
    def block(self, A, B):
        A += 1.0
        return np.exp(-(((A[:, None] - B) / self.years) ** 2))


class WorksInItsConstructor(Honest):
    def __init__(self, years=5.0):
        self.years = years * 2


class WrongDiagonal(Honest):
    def diagonal(self, A):
        return np.zeros(len(A))


class ChangesTheObjects(Honest):
    def encode(self, people):
        for person in people:
            person["age"] += 0.0
            person["seen"] = person.get("seen", 0) + 1
        return super().encode(people)


@pytest.mark.parametrize(
    ("similarity", "found"),
    [
        (LiesAboutSymmetry(), "SYMMETRIC|differ"),
        (LiesAboutPSD(), "PSD"),
        (LooksAtTheBatch(), "differ"),
        (HashesStrings(), "another process"),
        (ChangesItsInput(), "differ|changed"),
        (WorksInItsConstructor(), "constructor|get_params"),
        (WrongDiagonal(), "diag"),
        (ChangesTheObjects(), "objects were changed"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_kit_notices(similarity, found):
    with pytest.raises(AssertionError, match=found):
        check_similarity(similarity, [dict(person) for person in PEOPLE])

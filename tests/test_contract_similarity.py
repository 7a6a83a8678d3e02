"""Every public similarity keeps the contract, and the kit notices the ones that do not."""

import numpy as np
import pytest
from market import SIMILARITIES

from similitude import Similarity
from similitude.checks import check_similarity
from similitude.checks.similarity import grams_elsewhere
from similitude.validity.spectral_repair import RaisedDiagonal, Repaired

QUICK = {
    "gaussian",
    "spectrum",
    "weisfeiler-lehman",
    "dtw",
    "jaccard, bits",
    "gower",
    "pairs",
    "precomputed",
    "expression",
}
ABSTRACT = {
    "Auto",  # has no values before it is resolved
    "DistanceSimilarity",
    "VectorSimilarity",
    "AttributeSimilarity",
    "BagSimilarity",
    "WeightedFeatures",
    "WeightedSets",
    "_EditDistance",
    "HistogramSimilarity",
    "ExplicitFeatures",
    "SeriesSimilarity",
    "ElasticSimilarity",
    "Node",
    "NaryNode",
    "Extreme",
    "Wrapped",
    "Learnable",  # has no values before it is learned
    "OfImages",
}


@pytest.fixture(scope="module")
def elsewhere():
    """The Gram matrices that another process finds: one process for all, as each takes a while to start."""
    every = {**SIMILARITIES, "honest": (Honest(), PEOPLE), "hashes": (HashesStrings(), PEOPLE)}
    return dict(zip(every, grams_elsewhere(list(every.values())), strict=True))


@pytest.fixture
def found_elsewhere(elsewhere, monkeypatch):
    """Set which Gram matrix the kit is told that another process found."""
    return lambda name: monkeypatch.setattr(
        "similitude.checks.similarity.grams_elsewhere", lambda asked: [elsewhere[name]]
    )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.quick if name in QUICK else ()) for name in SIMILARITIES]
)
def test_contract(name, found_elsewhere):
    found_elsewhere(name)
    check_similarity(*SIMILARITIES[name])


def every_class(cls=Similarity):
    for sub in cls.__subclasses__():
        if sub.__module__.startswith("similitude."):
            yield sub
        yield from every_class(sub)


def test_every_class_is_on_the_market():
    offered = {type(similarity) for similarity, _ in SIMILARITIES.values()}
    assert {Repaired, RaisedDiagonal} <= offered
    assert {cls.__name__ for cls in set(every_class()) - offered} <= ABSTRACT
    assert set(SIMILARITIES) >= QUICK


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


def test_a_users_own_class_passes(found_elsewhere):
    found_elsewhere("honest")
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
def test_the_kit_notices(similarity, found, found_elsewhere):
    found_elsewhere("hashes" if isinstance(similarity, HashesStrings) else "honest")
    with pytest.raises(AssertionError, match=found):
        check_similarity(similarity, [dict(person) for person in PEOPLE])

"""Claims, reasons and hints hold for the code of the class that states them, and for no code written below it."""

import numpy as np
import pytest
from market import SIMILARITIES

from similitude import FromPairs, Precomputed, Similarity, check_kernel
from similitude.checks import check_similarity
from similitude.compute import Hints, profile_of
from similitude.errors import PairError
from similitude.kernels import DTW, Cosine, Edit, Gaussian, Jaccard, Laplace, Linear, Matern, Polynomial, Spectrum
from similitude.similarity import Absolute, Exponential, Power, Product, Scaled, Shifted, Sum

DECLARED = "FromPairs", "FromBlocks", "Precomputed"
ONE_OF_EACH = list({type(k): k for k, _ in SIMILARITIES.values()}.values())
NODES = [k for k in ONE_OF_EACH if hasattr(k, "combine")]
X = np.random.default_rng(0).normal(size=(12, 2))

each = pytest.mark.parametrize("k", ONE_OF_EACH, ids=lambda k: type(k).__name__)


def below(k, *bases, **written):
    """Return the same similarity as an instance of a subclass with something written in its body."""
    cls = type("Below", (*bases, type(k)), written)
    return cls(**k.get_params(deep=False))


def says_nothing(k):
    return k.claims == frozenset() and k.reason is None and not k.proof().holds


@each
@pytest.mark.parametrize("method", ["block", "encode", "diagonal"])
def test_what_a_class_states_does_not_hold_for_methods_written_below_it(k, method):
    changed = below(k, **{method: lambda self, *given: None})
    hints = changed.hints
    assert (hints.finite, hints.on_tensors, hints.profile) == (False, False, None)
    assert (hints.threadsafe, hints.heavy) == (k.hints.threadsafe, k.hints.heavy)
    if type(k).__name__ not in DECLARED:
        assert says_nothing(changed)


@pytest.mark.parametrize("k", NODES, ids=lambda k: type(k).__name__)
def test_nor_for_another_way_to_combine_the_parts_of_a_node(k):
    changed = below(k, combine=lambda self, *values: -values[0])
    assert says_nothing(changed)
    assert not changed.hints.on_tensors and profile_of(changed) is None


@each
def test_a_subclass_that_overrides_nothing_keeps_all(k):
    for same in (
        below(k),
        below(k, __doc__="Another name.", __repr__=lambda self: "x", check_params=lambda self: None),
    ):
        assert same.claims == k.claims
        assert same.reason == k.reason
        assert same.hints == k.hints
        assert same.proof().holds == k.proof().holds


@pytest.mark.parametrize(
    "k", [k for k in ONE_OF_EACH if type(k).__name__ not in DECLARED], ids=lambda k: type(k).__name__
)
def test_what_is_stated_again_holds(k):
    def block(self, A, B):
        raise NotImplementedError

    claims, hints = frozenset({"SYMMETRIC", "PSD"}), Hints(finite=True, on_tensors=True)
    stated = below(k, block=block, claims=claims, reason="because", hints=hints)
    assert (stated.claims, stated.reason, stated.hints) == (claims, "because", hints)
    only_claims = below(k, block=block, claims=claims)
    assert only_claims.claims == claims and only_claims.reason is None and not only_claims.hints.finite
    assert not only_claims.proof().holds


def test_declared_claims_are_those_of_the_caller():
    class Counted(FromPairs):
        def block(self, A, B):
            return super().block(A, B)

    k = Counted(lambda x, z: float(x == z), claims=["SYMMETRIC", "PSD"])
    assert k.claims == {"SYMMETRIC", "PSD"} and not k.hints.threadsafe
    assert not k.proof().holds
    assert Counted(max).claims == frozenset()


class Negative:
    """A plain mixin."""

    def block(self, A, B):
        return -super().block(A, B)


def test_a_mixin_in_front_changes_the_values_one_behind_does_not():
    assert says_nothing(below(Gaussian(1.0), Negative))
    assert check_kernel(below(Gaussian(1.0), Negative)).verdict == "INVALID"

    class Behind(Gaussian, Negative):
        pass

    assert Behind(1.0).proof().holds and Behind(1.0).hints == Gaussian(1.0).hints


def test_of_two_similarities_the_first_computes_and_speaks():
    class Both(Gaussian, Linear):
        pass

    assert (Both(1.0).claims, Both(1.0).reason) == (Gaussian.claims, Gaussian(1.0).reason)

    class Kernel(Similarity):
        claims = frozenset({"SYMMETRIC", "PSD"})
        reason = "stated without a block"

    class Minus(Similarity):
        objects = "vectors"

        def block(self, A, B):
            return -np.ones((len(A), len(B)))

    class Mixed(Kernel, Minus):
        pass

    assert says_nothing(Mixed())


def test_what_was_stated_for_a_grandparent_does_not_come_back():
    class Squared(Gaussian):
        def block(self, A, B):
            return super().block(A, B) - 2.0

    class Renamed(Squared):
        pass

    assert says_nothing(Renamed(1.0))


@pytest.mark.parametrize(
    ("node", "parts"),
    [
        (Sum, {"k1": Gaussian(1.0), "k2": Linear()}),
        (Product, {"k1": Gaussian(1.0), "k2": Linear()}),
        (Scaled, {"k": Gaussian(1.0), "factor": 2.0}),
        (Shifted, {"k": Gaussian(1.0), "constant": 2.0}),
        (Power, {"k": Gaussian(1.0), "exponent": 2}),
        (Exponential, {"k": Gaussian(1.0)}),
        (Absolute, {"k": Gaussian(1.0)}),
    ],
)
def test_a_node_that_subtracts_is_refuted_not_proven(node, parts):
    subtracts = type("Subtracts", (node,), {"combine": lambda self, first, *others: -first})(**parts)
    assert check_kernel(subtracts, X).verdict == "INVALID"
    assert check_kernel(1.0 + subtracts * Gaussian(1.0), X).verdict != "VALID"


def test_the_premises_of_a_proof_belong_to_it():
    declared = FromPairs(lambda x, z: -1.0, claims=["SYMMETRIC", "PSD"])
    assert says_nothing(below(declared + declared, premises=lambda self: ()))


def test_a_node_takes_a_changed_multiple_for_what_it_is():
    class Halved(Scaled):
        def combine(self, *values):
            return -values[0] / self.factor

    halved = Halved(Gaussian(1.0), 2.0)
    assert (halved + Linear()).claims == frozenset()
    np.testing.assert_allclose((3.0 * halved).gram(X), -1.5 * Gaussian(1.0).gram(X))
    assert not (3.0 * halved).proof().holds


@pytest.mark.parametrize("k", [Gaussian(1.0), Cosine(), Polynomial(2), Laplace(1.0), Matern(1.5, 1.0)])
def test_the_function_of_a_vector_kernel_is_part_of_its_code(k):
    changed = below(k, form=lambda self: ("polynomial", -1.0, 0.0, 1))
    assert says_nothing(changed) and not changed.hints.finite


@pytest.mark.parametrize("k", [Gaussian(1.0), Edit(), Jaccard(), Spectrum(2), DTW(1.0)])
def test_values_of_another_block_are_checked(k):
    objects = {"strings": ["ab", "b"], "sets": [{1}, {2}], "series": [[1.0], [2.0]]}.get(k.objects, X[:2])
    broken = below(k, block=lambda self, A, B: np.full((2, 2), np.nan))
    with pytest.raises(PairError, match="not a finite number"):
        broken.gram(objects)


def test_a_composite_of_ones_own_follows_its_parts(monkeypatch):
    """The kit asks this process, not another one, which takes a while to start."""
    monkeypatch.setattr("similitude.checks.similarity.grams_elsewhere", lambda cases: [k.gram(X) for k, X in cases])

    class Twice(Similarity):
        def __init__(self, k):
            self.k = k

        def encode(self, objects):
            return self.k.encode(objects)

        def block(self, A, B):
            return 2.0 * self.k.block(A, B)

    assert Twice(Gaussian(1.0)).hints == Hints()
    assert Twice(FromPairs(max)).hints == Hints(threadsafe=False)
    assert Twice(Twice(DTW(1.0))).hints == Hints(heavy=True)
    check_similarity(Twice(Precomputed(np.eye(3))), range(3))


def test_profiles_are_those_of_weighted_sums():
    k = 2.0 * (Gaussian(1.0) + Linear()) + Gaussian(1.0) + 3.0
    profile = profile_of(k)
    assert profile.constant == 3.0
    found = [(term.form[0], term.weight, term.part) for term in profile.terms]
    assert found == [("gaussian", 2.0, 0), ("identity", 2.0, 1), ("gaussian", 1.0, 0)]
    assert profile_of(Linear().pullback(abs) + Linear()).terms[0].part == 0
    without = Gaussian(1.0) * Linear(), (Gaussian(1.0) + Linear()).pullback(abs) + Linear(), Matern(1.2, 1.0), Edit()
    assert [profile_of(one) for one in without] == [None] * 4

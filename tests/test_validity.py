"""Verdicts: every case that the sources name, no false alarm, the smallest witness, repairs."""

import itertools
import math
from contextlib import nullcontext

import numpy as np
import pytest
from grids import thin
from hypothesis import given
from hypothesis import strategies as st

from similitude import FromBlocks, FromPairs, Precomputed, Similarity, check_kernel, repair
from similitude.engines import LocalEngine, use_engine
from similitude.errors import BudgetError
from similitude.kernels import Cosine, Gaussian, Laplace, Linear, Polynomial, Sigmoid
from similitude.similarity import calls_per_pair
from similitude.validity.elimination import Witness
from similitude.validity.search import _gram, _lowness
from similitude.validity.verdict import _affordable, _SampledObjects

rng = np.random.default_rng(0)
NUMBERS = rng.standard_normal(60)
PLANE = rng.standard_normal((60, 2))
DOCUMENTS = [({"Ann"}, {"kernels"}), ({"Bob"}, {"kernels", "graphs"}), ({"Cid"}, {"graphs"})]


def share_any(x, z):
    return float(bool(x[0] & z[0] or x[1] & z[1]))


INVALID = [
    ("-<x,z>", lambda x, z: -x * z, NUMBERS, 1),
    ("tanh(xz-1)", lambda x, z: math.tanh(x * z - 1), NUMBERS, 1),
    ("gaussian - poly/2", lambda x, z: math.exp(-((x - z) ** 2) / 2) - 0.5 * (1 + x * z) ** 2, NUMBERS, 1),
    ("(xz-1)^3", lambda x, z: (x * z - 1) ** 3, NUMBERS, 1),
    ("-d^2", lambda x, z: -((x - z) ** 2), NUMBERS, 2),
    ("multiquadric", lambda x, z: math.sqrt(1 + (x - z) ** 2), NUMBERS, 2),
    ("tanh(xz+1)", lambda x, z: math.tanh(x * z + 1), NUMBERS, 2),
    ("max(|x|,|z|)", lambda x, z: max(abs(x), abs(z)), NUMBERS, 2),
    ("exp(-d^4)", lambda x, z: math.exp(-((x - z) ** 4)), NUMBERS, 3),
    ("exp(-d^2.2)", lambda x, z: math.exp(-(abs(x - z) ** 2.2)), NUMBERS, 3),
    ("box", lambda x, z: float(abs(x - z) < 1), NUMBERS, 3),
    ("Epanechnikov", lambda x, z: max(0.0, 1 - (x - z) ** 2), NUMBERS, 3),
    ("|<x,z>|", lambda x, z: abs(float(x @ z)), PLANE, 4),
]
VALID = [
    ("Gaussian", lambda x, z: math.exp(-((x - z) ** 2)), NUMBERS),
    ("Laplace", lambda x, z: math.exp(-abs(x - z)), NUMBERS),
    ("min", min, np.abs(NUMBERS)),
    ("cos", lambda x, z: math.cos(x - z), NUMBERS),
    ("(xz)^3", lambda x, z: (x * z) ** 3, NUMBERS),
]


def holds(witness, f):
    """The witness is what it says: a negative value of the quadratic form, found again by plain Python."""
    a, objects = witness.coefficients, witness.objects
    value = sum(a[i] * a[j] * f(objects[i], objects[j]) for i in range(len(a)) for j in range(len(a)))
    return value == pytest.approx(witness.value) and value < 0 and max(map(abs, a)) == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "f", "X", "size"), INVALID, ids=[case[0] for case in INVALID])
def test_what_is_no_kernel_is_refuted_by_the_smallest_witness(name, f, X, size):
    validity = check_kernel(f, X)
    assert validity.verdict == "INVALID"
    assert len(validity.witness.indices) == size
    assert holds(validity.witness, f)
    for i, x in zip(validity.witness.indices, validity.witness.objects, strict=True):
        np.testing.assert_array_equal(X[i], x)
    assert validity.min_eigenvalue < 0


@pytest.mark.parametrize(("name", "f", "X"), VALID, ids=[case[0] for case in VALID])
def test_no_false_alarm(name, f, X):
    validity = check_kernel(f, X)
    assert validity.verdict == "UNKNOWN"
    assert "searches" in validity.effort
    assert "The proof ends at" in str(validity)


@pytest.mark.deep
@pytest.mark.parametrize(("f", "X"), [case[1:] for case in VALID], ids=[case[0] for case in VALID])
def test_no_false_alarm_after_a_long_search(f, X):
    assert check_kernel(f, X, effort="high").verdict == "UNKNOWN"


@pytest.mark.parametrize(("scale", "offset", "dtype"), thin([1e-6, 1.0, 1e6], [0.0, 1e3], [np.float32, np.float64]))
def test_no_false_alarm_from_rounding(scale, offset, dtype):
    X = (scale * (rng.standard_normal((50, 3)) + offset)).astype(dtype)
    X[25:] = X[:25]

    class Unproven(Similarity):
        """A kernel of which nothing is known."""

        objects = "vectors"

        def __init__(self, k):
            self.k = k

        def encode(self, objects):
            return self.k.encode(objects)

        def block(self, A, B):
            return self.k.block(A, B)

    for k in (Linear(), Polynomial(2), Gaussian(scale), Laplace(scale, squared_scale=False), Cosine()):
        assert check_kernel(Unproven(k), X).verdict == "UNKNOWN", k


def test_documents():
    validity = check_kernel(share_any, DOCUMENTS)
    assert validity.min_eigenvalue == pytest.approx(1 - math.sqrt(2))
    assert validity.witness.indices == (0, 1, 2)
    assert np.abs(validity.witness.coefficients) == pytest.approx([math.sqrt(0.5), 1, math.sqrt(0.5)])
    assert validity.witness.value == pytest.approx(2 - 2 * math.sqrt(2))
    a = np.array([1, -1, 1])
    assert a @ validity.witness.gram @ a == -1
    assert "Whole weights 1, -1, 1 do as well: -1." in str(validity)
    count = FromPairs(lambda x, z: len(x[0] & z[0]) + len(x[1] & z[1]))
    assert check_kernel(count, DOCUMENTS).verdict == "UNKNOWN"


def test_one_point_refutes_the_negative_dot_product():
    validity = check_kernel(-Linear(), [[1.0, 2.0]])
    assert validity.witness.value == -5.0
    assert "no length is negative" in str(validity)


@pytest.mark.parametrize("n", [50, 200, pytest.param(600, marks=pytest.mark.deep)])
def test_the_two_tenths_similarity_is_good_but_no_kernel(n):
    labels = np.arange(n) % 2
    same = labels[:, None] == labels[None, :]
    S = np.triu(np.where(same, rng.uniform(0.2, 1, (n, n)), rng.uniform(-1, 1, (n, n))), 1)
    validity = check_kernel(S + S.T + np.eye(n))
    assert validity.verdict == "INVALID"
    assert len(validity.witness.indices) <= 3


def test_the_algebra_proves_without_data():
    validity = check_kernel((Gaussian() + 2 * Linear() ** 3).exp().normalized())
    assert validity.verdict == "VALID"
    assert validity.proof.holds
    assert validity.witness is None
    assert "Schoenberg" in str(validity)


@pytest.mark.parametrize(
    "k", [-Linear(), Sigmoid(1.0, -1.0), Polynomial(3, coef0=-1.0), Gaussian(1.0) - 0.5 * Polynomial(2), abs(Linear())]
)
def test_similarities_of_vectors_need_no_sample(k):
    validity = check_kernel(k)
    assert validity.verdict == "INVALID"
    assert holds(validity.witness, k)


def test_a_false_claim_is_found_out():
    k = FromPairs(lambda x, z: -abs(x - z), claims=["SYMMETRIC", "PSD"])
    assert check_kernel(k, NUMBERS).verdict == "INVALID"
    asymmetric = FromPairs(lambda x, z: 1.0 + (x < z), claims=["SYMMETRIC", "PSD"])
    assert "not symmetric" in str(check_kernel(asymmetric, NUMBERS))
    true = FromPairs(lambda x, z: x * z, claims=["SYMMETRIC", "PSD"])
    assert check_kernel(true, NUMBERS).verdict == "UNKNOWN"
    assert "declared" in str(check_kernel(true))


def test_an_asymmetric_pair_is_named():
    M = np.eye(5)
    M[1, 3] = 0.5
    validity = check_kernel(M)
    assert validity.verdict == "INVALID"
    assert sorted(validity.witness.indices) == [1, 3]
    assert validity.asymmetry == 0.5
    assert abs(validity.witness.value) == 0.5
    there, back = (M[tuple(validity.witness.indices[::step])] for step in (1, -1))
    assert validity.in_short() == f"K(x, z) = {there:.3g}, K(z, x) = {back:.3g}"


def test_a_whole_matrix_is_decided():
    assert check_kernel(np.array([[2.0, 1.0], [1.0, 2.0]])).verdict == "VALID"
    assert check_kernel(np.array([[1.0, 2.0], [2.0, 1.0]])).verdict == "INVALID"
    assert check_kernel(np.array([[0.0, 1.0], [1.0, 0.0]])).witness.indices == (0, 1)
    assert check_kernel(np.ones((3, 3))).verdict == "UNKNOWN"
    assert check_kernel(np.zeros((3, 3))).verdict == "UNKNOWN"
    assert check_kernel(np.diag([1e9, -1.0])).verdict == "INVALID"


@given(st.integers(0, 10_000), st.integers(2, 7))
def test_the_verdict_on_a_matrix_is_that_of_its_eigenvalues(seed, n):
    numbers = np.random.default_rng(seed).integers(-3, 4, (n, n))
    K = (numbers + numbers.T).astype(float)
    validity = check_kernel(K)
    smallest = np.linalg.eigvalsh(K)[0]
    if smallest > 1e-6:
        assert validity.verdict == "VALID"
    elif smallest < -1e-6:
        assert validity.verdict == "INVALID"
        few = list(validity.witness.indices)
        a = np.array(validity.witness.coefficients)
        assert a @ K[np.ix_(few, few)] @ a == pytest.approx(validity.witness.value)
        assert validity.witness.value < 0
        if len(few) <= 3:
            for fewer in itertools.combinations(range(n), len(few) - 1):
                assert len(fewer) == 0 or np.linalg.eigvalsh(K[np.ix_(fewer, fewer)])[0] > -1e-9


def test_small_values_are_not_hidden_by_large_ones():
    asymmetric = np.array([[1e9, 0, 0], [0, 1, 0.9], [0, 0, 1.0]])
    assert sorted(check_kernel(asymmetric).witness.indices) == [1, 2]
    assert check_kernel(np.array([[1, 0.1003], [0.1, 1]], np.float32)).verdict == "INVALID"
    K = np.diag([1e13, 1.0, 1.0, 1.0])
    K[1, 2] = K[2, 1] = K[2, 3] = K[3, 2] = 1.0
    assert check_kernel(K).witness.indices == (1, 2, 3)
    K = np.diag([1e14, 1.0, 1.0])
    K[1, 2] = K[2, 1] = 5.0
    assert check_kernel(K).witness.indices == (1, 2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, z: x @ z,
        lambda x, z: (1 + x @ z) ** 3,
        lambda x, z: float(np.exp(-((x - z) ** 2).sum() / 500)),
    ],
    ids=["linear", "polynomial", "gaussian"],
)
def test_no_false_alarm_from_objects_in_single_precision(f):
    X = np.random.default_rng(0).standard_normal((80, 5)).astype(np.float32)
    assert check_kernel(f, X).verdict == "UNKNOWN"
    assert check_kernel(f, list(X)).verdict == "UNKNOWN"


def test_search_stays_among_mixtures_of_the_sample():
    U = np.random.default_rng(0).uniform(-1, 1, (200, 2))
    U = U[(U**2).sum(1) < 0.95][:60]
    assert check_kernel(lambda x, z: 1 / (1 - x @ z), U).verdict == "UNKNOWN"
    simplex = np.random.default_rng(0).dirichlet(np.ones(4), 60)[:, :3]
    fourth = FromPairs(lambda x, z: float(x @ z + np.sqrt((1 - x.sum()) * (1 - z.sum()))))
    assert check_kernel(fourth, simplex).verdict == "UNKNOWN"


def test_a_false_claim_of_symmetry_is_found_out_on_a_few_objects():
    k = FromPairs(lambda x, z: math.exp(-((x - z) ** 2)) * (1 if x <= z else 0.5), claims=["SYMMETRIC"])
    assert check_kernel(k, [float(i) for i in range(10)]).verdict == "INVALID"


def test_a_dozen_objects_give_the_smallest_witness():
    for seed in range(60):
        M = np.random.default_rng(seed).standard_normal((9, 9))
        K = M @ M.T / 9 - 0.6 * np.eye(9)
        validity = check_kernel(K)
        if validity.verdict != "INVALID":
            continue
        size = len(validity.witness.indices)
        for fewer in itertools.combinations(range(9), size - 1):
            assert size == 1 or np.linalg.eigvalsh(K[np.ix_(fewer, fewer)])[0] > -1e-7, seed


def test_a_reason_does_not_speak_for_another_block():
    class Negated(Gaussian):
        def block(self, A, B):
            return -super().block(A, B)

    assert not Negated(1.0).proof().holds
    assert check_kernel(Negated(1.0)).verdict == "INVALID"
    assert type(Negated().resolve(PLANE)) is Negated

    class Documented(Gaussian):
        """Another name, the same kernel."""

    assert Documented(1.0).proof().holds


def test_what_rests_on_a_matrix_needs_no_sample():
    assert check_kernel(-1.0 * Precomputed(np.eye(3))).verdict == "INVALID"
    assert "there are no objects beyond the matrix" in check_kernel(np.ones((3, 3))).effort


def test_mutate_takes_tables_and_keeps_its_own_defaults():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]}, index=["x", "y"])

    def mutate(row, step=1.0):
        return {**row, "a": row["a"] - step}

    assert check_kernel(lambda x, z: x["a"] + z["a"], table, mutate=mutate).verdict == "INVALID"
    with pytest.raises(TypeError, match="mutate"):
        check_kernel(lambda x, z: 1.0, [1], mutate="abc")


def test_search_finds_what_the_sample_does_not_show():
    X = np.array([[0.0, 3.0], [3.0, 0.0], [0.0, 0.0]])

    class Dip(Similarity):
        objects = "vectors"

        def encode(self, objects):
            return np.asarray(objects, dtype=float)

        def block(self, A, B):
            near = np.exp(-np.sum((A - 1.0) ** 2, axis=1))[:, None] * np.exp(-np.sum((B - 1.0) ** 2, axis=1))
            return A @ B.T + np.eye(1) - 8.0 * near

    validity = check_kernel(Dip(), X)
    assert validity.verdict == "INVALID"
    assert validity.witness.indices == ()
    assert "found by search" in str(validity)


def test_mutate_searches_among_other_objects():
    def f(s, t):
        return len(set(s) & set(t)) - 3.0 * ("x" in s and "x" in t)

    def mutate(word, random):
        return word + random.choice(list("abx"))

    words = ["a", "ab", "b"]
    assert check_kernel(f, words).verdict == "UNKNOWN"
    validity = check_kernel(f, words, mutate=mutate)
    assert validity.verdict == "INVALID"
    assert "x" in validity.witness.objects[0]
    assert check_kernel(f, words, mutate=lambda word: word + "x").verdict == "INVALID"


def orthogonal_like(n):
    """A witness of n objects, of which only the weights and the number matter."""
    gram = np.full((n, n), -1.0) + 1.5 * np.eye(n)
    return Witness(tuple(range(3, 3 + n)), tuple("abcdefghijklmnop"[:n]), (1.0,) * n, float(gram.sum()), gram)


@pytest.mark.parametrize(("n", "number"), [(2, "Two"), (3, "Three"), (7, "Seven"), (10, "Ten"), (11, "11")])
def test_a_witness_counts_its_objects_in_words(n, number):
    witness = orthogonal_like(n)
    total = 0.5 * n - n * (n - 1)
    assert witness.claim().startswith(f"{number} objects show it: ") and f"is {total:.6g}. " in witness.claim()
    assert "Whole weights" not in witness.claim()
    assert witness.in_short() == f"a squared length of {total:.3g} from {n} objects"
    assert witness.lines()[:2] == ["  c =  1.0000  X[3] = 'a'", "  c =  1.0000  X[4] = 'b'"]
    assert len(witness.lines(shorten=str.upper)) == n and witness.lines(shorten=str.upper)[1].endswith("X[4] = B")
    assert str(witness) == "\n".join([witness.claim(), *witness.lines()])
    shown = witness._repr_html_()
    assert ("K to X[3]" in shown) == (n <= 6) and "weight c" in shown and "X[4]" in shown


def test_a_witness_of_six_objects_is_shown_with_their_similarities():
    assert "K to X[8]" in orthogonal_like(6)._repr_html_() and "K to" not in orthogonal_like(7)._repr_html_()
    elsewhere = Witness((), ("a", "b"), (1.0, -0.5), -1.0, np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert "K to x2" in elsewhere._repr_html_() and "-0.5" in elsewhere._repr_html_()
    assert elsewhere.lines() == ["  c =  1.0000  x1 = 'a'", "  c = -0.5000  x2 = 'b'"]
    assert "Whole weights" not in elsewhere.claim()  # 1, 0 give zero


def test_a_witness_of_one_object_or_an_asymmetric_pair_has_no_weights():
    one = Witness((4,), ("a",), (1.0,), -2.5, np.array([[-2.5]]))
    assert one.in_short() == "K(x, x) = -2.5 < 0" and one.lines() == ["  X[4] = 'a'"]
    assert one.claim().startswith("One object shows it: K(x, x) = -2.5, but")
    two = Witness((), ("a", "b"), (), 1.0, np.array([[0.0, 3.0], [2.0, 0.0]]))
    assert two.in_short() == "K(x, z) = 3, K(z, x) = 2" and two.lines() == ["  x1 = 'a'", "  x2 = 'b'"]
    assert "K(x, z) = 3 but K(z, x) = 2" in two.claim() and "K(x, z) = 3" in two._repr_html_()


def test_a_verdict_is_shown_with_its_reason():
    proven, refuted = check_kernel(Gaussian(1.0)), check_kernel(-Linear(), [[1.0, 2.0]])
    open_ = check_kernel(lambda x, z: math.exp(-((x - z) ** 2)), [0.0, 1.0, 3.0])
    assert proven.in_short() == "proven" and proven.why() == proven.proof.tree()
    assert "VALID" in proven._repr_html_() and "is a kernel" in proven._repr_html_() and "<li" in proven._repr_html_()
    assert "No counterexample" not in proven._repr_html_()
    assert refuted.in_short() == "K(x, x) = -5 < 0" and refuted.why() == str(refuted.witness)
    assert "One object shows it" in refuted._repr_html_() and "known counterexample" not in refuted._repr_html_()
    known = check_kernel(Sigmoid(1.0, -1.0))
    assert known.remark in known.why() and known.remark and known.remark in known._repr_html_()
    assert known.effort == "a known counterexample"
    assert open_.in_short() == "no counterexample found, no proof"
    assert open_.why() == (
        f"No counterexample was found, and no proof. Examined: {open_.effort}. "
        f"The smallest eigenvalue there is {open_.min_eigenvalue:.4g}."
    )
    assert open_.why() in str(open_) and "may or may not be a kernel" in open_._repr_html_()
    nothing = check_kernel(lambda x, z: 1.0)
    assert nothing.verdict == "UNKNOWN" and "eigenvalue" not in nothing.why() and "pass objects X" in nothing.why()


def test_a_sample_says_how_many_of_how_many():
    sample = _SampledObjects.of(np.arange(7.0), 7, np.random.default_rng(0))
    assert str(sample) == "all pairs of 7 objects" and sample.positions.tolist() == list(range(7))
    fewer = _SampledObjects.of(np.arange(1007.0), 6, np.random.default_rng(0))
    assert str(fewer) == "all pairs of 6 of 1,007 objects" and (np.diff(fewer.positions) > 0).all()
    assert len(fewer.positions) == 6 and (fewer.objects == fewer.positions).all()


@pytest.mark.parametrize("each", [1, 3])
def test_as_many_objects_are_compared_as_a_budget_of_calls_allows(each):
    k = FromPairs(lambda x, z: float(x == z), repeats=each)
    assert calls_per_pair(k) == each
    for budget in range(6 * each, 90):
        most = max(n for n in range(20) if n * (n + 1) * each <= budget)
        assert _affordable(k, 1000, budget) == most
        assert _affordable(k, 3, budget) == min(3, most)
    with pytest.raises(BudgetError, match=f"two objects: {6 * each} calls are needed"):
        _affordable(k, 1000, 6 * each - 1)
    assert _affordable(k, 77, None) == 77 and _affordable(Linear(), 77, 1) == 77


@pytest.mark.parametrize(("share", "verdict"), [(0.9, "UNKNOWN"), (1.1, "VALID")])
def test_a_matrix_is_proven_beyond_rounding(share, verdict):
    rounding = 4 * 3 * 2.0**-52 * math.sqrt(2)  # the matrix has the norm sqrt(2)
    found = check_kernel(np.diag([1.0, 1.0, share * rounding]))
    assert found.verdict == verdict and ("above rounding" in str(found)) == (verdict == "VALID")
    apart = np.eye(2)
    apart[0, 1] = share * 4 * 2 * 2.0**-52 * math.sqrt(2)
    assert check_kernel(apart).verdict == ("VALID" if share < 1 else "UNKNOWN")


def test_a_matrix_that_is_not_square_is_not_proven_by_its_square_part():
    found = check_kernel(np.eye(3, 5))
    assert found.verdict == "UNKNOWN" and found.effort.startswith("all pairs of 3 objects")
    assert check_kernel(Precomputed(np.eye(3)), range(2)).verdict == "UNKNOWN"


def test_similarities_of_vectors_are_examined_in_the_plane():
    shapes = set()

    def block(X, Z):
        shapes.add(X.shape)
        return X @ Z.T

    found = check_kernel(FromBlocks(block, objects="vectors"))
    assert found.effort.startswith("all pairs of 60 objects, 15 local searches")
    assert {shape[1] for shape in shapes} == {2}
    assert check_kernel(FromBlocks(lambda X, Z: X @ Z.T, objects="vectors")).effort.startswith(
        "all pairs of 60 objects"
    )


# The search beyond the sample.


def test_a_large_sample_is_announced_and_indices_are_those_of_x():
    X = np.linspace(-1, 1, 3000)
    validity = check_kernel(lambda x, z: -x * z, X[:1200], random_state=3)
    assert "1,000 of 1,200 objects" in validity.effort
    assert X[validity.witness.indices[0]] == validity.witness.objects[0]


def test_results_can_be_stored_and_shown():
    validity = check_kernel(share_any, DOCUMENTS)
    stored = validity.to_dict()
    assert stored["verdict"] == "INVALID"
    assert stored["witness"]["indices"] == [0, 1, 2]
    assert "is not a kernel" in validity._repr_html_()


SPECTRA = {
    "clip": lambda w: np.maximum(w, 0),
    "flip": np.abs,
    "shift": lambda w: w - min(w.min(), 0),
    "square": np.square,
}


@pytest.mark.parametrize("how", SPECTRA)
def test_repair_changes_the_spectrum_as_it_says(how):
    M = rng.standard_normal((30, 30))
    M = M + M.T
    k = repair(Precomputed(M), range(20), how=how)
    w, U = np.linalg.eigh(M[:20, :20])
    np.testing.assert_allclose(k.gram(range(20)), (U * SPECTRA[how](w)) @ U.T, atol=1e-8)
    assert how in k.changes
    assert "negative" in k.changes
    linear_map = {"clip": w > 0, "flip": np.sign(w), "square": w, "shift": np.ones(20)}[how]
    expected = M[20:, :20] @ (U * linear_map) @ U.T
    np.testing.assert_allclose(k.cross(range(20, 30), range(20)), expected, atol=1e-8)


def test_what_repair_returns_is_proven_where_it_can_be():
    assert check_kernel(repair(share_any, DOCUMENTS)).verdict == "VALID"
    shifted = repair(share_any, DOCUMENTS, how="shift")
    assert "PSD" not in shifted.claims
    assert check_kernel(shifted, DOCUMENTS).verdict == "UNKNOWN"


def test_shift_knows_equal_objects():
    k = repair(lambda x, z: float(len(x & z) > 0), [{1, 9}, {9, 17}, {17, 25}], how="shift")
    assert k({0, 8}, {8, 0}) == pytest.approx(math.sqrt(2))
    assert k({0, 8}, {8, 1}) == 1.0
    same = repair(Sigmoid(1.0, -1.0), PLANE.astype(np.float32), how="shift")
    assert same.gram(PLANE.astype(np.float32)).dtype == np.float32


def test_repair_looks_at_its_sample_once_and_keeps_it():
    calls = []

    def length(word):
        calls.append(word)
        return [len(word)]

    words = ["a", "bb", "cccc", "dd"]
    k = repair((Sigmoid(1.0, -1.0)).pullback(length), words)
    k("a", "b")
    before = k("a", "b")
    calls.clear()
    words[0] = "something else"
    assert k("a", "b") == before
    assert len(calls) == 2


def test_repair_of_a_kernel_changes_nothing():
    k = repair(Gaussian(1.0), PLANE)
    np.testing.assert_allclose(k.gram(PLANE), Gaussian(1.0).gram(PLANE), atol=1e-6)
    assert k.changes == "clip: none of 60 eigenvalues was negative; nothing to change"


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("clip", "nothing to change"),
        ("flip", "nothing to change"),
        ("square", "squared, and all others with them"),
        ("shift", "all eigenvalues raised by 0"),
    ],
)
def test_repair_says_what_it_did_to_a_kernel_and_what_it_made(how, said):
    k = repair(Precomputed(np.diag([1.0, 2.0])), range(2), how=how)
    assert k.changes == f"{how}: none of 2 eigenvalues was negative; {said}"
    assert repr(k).startswith("RaisedDiagonal(" if how == "shift" else "Repaired(") and k.changes in repr(k)
    np.testing.assert_allclose(k.gram(range(2)), np.diag([1.0, 4.0] if how == "square" else [1.0, 2.0]), atol=1e-12)
    np.testing.assert_allclose(k.diag(range(2)), [1.0, 4.0] if how == "square" else [1.0, 2.0])


def test_repair_refuses_what_is_not_symmetric_or_too_large():
    M = np.eye(3)
    M[0, 2] = 0.25
    with pytest.raises(ValueError, match=r"objects 0 and 2 differ by 0.25\): repair needs a symmetric similarity"):
        repair(Precomputed(M), range(3))
    M[0, 2], M[2, 0] = 0.25 + 1e-12, 0.25
    assert "none of 3" in repair(Precomputed(M), range(3)).changes
    shift = repair(Precomputed(np.array([[1.0, 2.0], [2.0, 1.0]])), range(2), how="shift")
    assert shift.amount == pytest.approx(1.0) and shift.changes.endswith("all eigenvalues raised by 1")
    assert shift.counterexamples() == [] and not shift.claims
    declared = FromPairs(lambda x, z: 1.0 + (x != z), claims=["SYMMETRIC", "BOUNDED"])
    assert repair(declared, [1, 2], how="shift").claims == {"SYMMETRIC"}


def test_repair_takes_a_sample_whose_matrix_just_fits():
    for memory, fits in ((800, True), (799, False)):
        with use_engine(LocalEngine(threads=1, memory=memory)), nullcontext() if fits else pytest.raises(MemoryError):
            assert repair(Precomputed(np.eye(10)), range(10)).changes.startswith("clip: none of 10")


class ShiftedMatrix(Precomputed):
    """A precomputed matrix that takes more objects than the matrix has rows."""

    def encode(self, objects):
        return super().encode(np.asarray(objects) % len(self.M))


def test_a_subclass_of_a_precomputed_matrix_is_not_checked_as_a_whole():
    M = np.diag([1.0, 2.0, 3.0])
    assert check_kernel(Precomputed(M)).verdict == "VALID"
    assert check_kernel(ShiftedMatrix(M)).verdict != "VALID"


def test_lists_are_not_moved_where_arrays_are():
    """A function of lists may use what only lists have; of a user's arrays it is known that it takes arrays."""
    X = rng.normal(size=(6, 2))
    k = FromPairs(lambda x, z: 1 / (1 + abs(x[0] - z[0]) + abs(x[1] - z[1])))
    assert "Python lists" in check_kernel(k, X.tolist()).effort
    assert "Python lists" not in check_kernel(k, X).effort


def test_lowness_is_relative_to_the_largest_value():
    assert _lowness(np.array([[2.0, 8.0], [8.0, 2.0]])) == pytest.approx(-0.75)
    assert _lowness(np.zeros((2, 2))) == 0.0 and _lowness(None) == 1e6
    assert _lowness(np.array([[1e-9]])) == 1.0

    def undefined(x, z):
        return 1 / x if x < 2 else {"a": 1}[x] if x < 3 else float("nan")

    for x in (0, 2, 3):
        assert _gram(FromPairs(undefined), [x]) is None
    assert _gram(FromPairs(undefined), [1]).tolist() == [[1.0]]

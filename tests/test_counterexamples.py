"""Known counterexamples: exact for every parameter, never against a kernel, refused before data; small witnesses."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from grids import thin
from hypothesis import given
from hypothesis import strategies as st
from market import SIMILARITIES

from similitude import FromPairs, Similarity, SimilarityClassifier, check_kernel, choose_kernel, datasets, repair
from similitude.errors import NotAKernelError
from similitude.kernels import (
    DTW,
    Columns,
    Edit,
    Equal,
    Gaussian,
    Gower,
    Laplace,
    Linear,
    OrMissing,
    Polynomial,
    SharesAny,
    Sigmoid,
    Spectrum,
)
from similitude.learners import KernelRidge, KernelSVC
from similitude.maps import ProjectionMap
from similitude.validity import stored_witness
from similitude.validity.elimination import (
    _Elimination,
    _lowest_set,
)


def form(weights, objects, K):
    """Return the quadratic form of weights, computed with the numbers that K returns."""
    pairs = itertools.product(zip(weights, objects, strict=True), repeat=2)
    return sum(a * b * K(x, z) for (a, x), (b, z) in pairs)


def refuted_exactly(k, K, number):
    """The stored objects, with the weights of the witness, have a negative form under an exact definition K."""
    witness = stored_witness(k)
    assert witness is not None, k
    value = form([number(c) for c in witness.coefficients], witness.objects, K)
    assert value < 0, k
    assert float(value) == pytest.approx(witness.value, rel=1e-6), k
    found = check_kernel(k)
    assert found.verdict == "INVALID" and not found.witness.indices, k


def levenshtein(s, t):
    row = list(range(len(t) + 1))
    for i, a in enumerate(s, start=1):
        row, last = [i], row
        for j, b in enumerate(t, start=1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b)))
    return row[-1]


def test_edit_is_refuted_in_fractions():
    refuted_exactly(Edit(), lambda s, t: 1 - Fraction(levenshtein(s, t), max(len(s), len(t))), Fraction)


def test_shares_any_is_refuted_in_fractions():
    refuted_exactly(SharesAny(), lambda x, z: Fraction(bool(x & z)), Fraction)


SCALES = (1e-12, 1e-3, 0.3, 1.0, 7.0, 1e6)


def tanh(t):
    with localcontext() as context:
        context.prec = 60
        if abs(t) > 200:
            return Decimal(1 if t > 0 else -1)
        e = (2 * t).exp()
        return (e - 1) / (e + 1)


def exact_sigmoid(scale, coef0):
    return lambda x, z: tanh(scale * Decimal(x[0]) * Decimal(z[0]) + coef0)


@pytest.mark.parametrize("coef0", [-50.0, -1.0, -1e-9, 0.0, 1e-9, 0.5, 0.999, 1.0, 1.5, 20.0, 1e4, 1e17])
def test_sigmoid_is_refuted_for_all_parameters_but_constants(coef0):
    for scale in (*SCALES, *(-s for s in SCALES)):
        refuted_exactly(Sigmoid(scale, coef0), exact_sigmoid(Decimal(scale), Decimal(coef0)), Decimal)
    constant = Sigmoid(0.0, coef0)
    if coef0 >= 0:
        assert check_kernel(constant).verdict == "VALID" and stored_witness(constant) is None
        assert np.linalg.eigvalsh(constant.gram([[1.0], [2.0]]))[0] >= -1e-12
    else:
        refuted_exactly(constant, lambda x, z: tanh(Decimal(coef0)), Decimal)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 5, 10])
def test_polynomials_with_negative_coefficients(degree):
    """In one dimension the coefficients of the powers of xz decide: all >= 0, or not a kernel."""
    for scale, coef0 in itertools.product((-3.0, -0.01, 0.0, 0.5, 100.0), (-200.0, -1.0, -1e-3, 0.0, 0.1, 5.0)):
        k = Polynomial(degree, coef0, scale)
        s, c = Fraction(scale), Fraction(coef0)
        powers = [s**n * c ** (degree - n) for n in range(degree + 1)]  # up to positive binomial factors
        if min(powers) >= 0:
            assert stored_witness(k) is None, k
        else:
            refuted_exactly(k, exact_polynomial(s, c, degree), Fraction)


def exact_polynomial(scale, coef0, degree):
    return lambda x, z: (scale * Fraction(x[0]) * Fraction(z[0]) + coef0) ** degree


@pytest.mark.parametrize(
    ("sigma", "window"),
    thin([1e-150, 1e-9, 0.3, 1.0, 50.0, 1e9, 1e150], [None, 1, 2, 100, 1.0, 0.5, 0.25, 0.249, 0.1, 0.01, 0.003]),
)
def test_dtw_is_refuted_by_series_of_equal_length(sigma, window):
    k = DTW(sigma, window)
    witness = stored_witness(k)
    lengths = {len(x) for x in witness.objects}
    assert len(lengths) == 1
    radius = None if window is None else window if isinstance(window, int) else int(window * lengths.pop())

    def exact(x, z):
        return (-Decimal(warped(x[-6:], z[-6:], radius)) / Decimal(sigma)).exp()

    value = form([Decimal(c) for c in witness.coefficients], witness.objects, exact)
    assert value < 0 and float(value) == pytest.approx(witness.value, rel=1e-6)


def warped(x, z, radius):
    """Return the cost of the best path, in exact arithmetic; what precedes are equal zeros."""
    best = {(-1, -1): Fraction(0)}
    for i, j in itertools.product(range(len(x)), range(len(z))):
        if radius is None or abs(i - j) <= radius:
            before = [best[p] for p in ((i - 1, j), (i, j - 1), (i - 1, j - 1)) if p in best]
            best[i, j] = min(before) + (Fraction(x[i]) - Fraction(z[j])) ** 2
    cost = best[len(x) - 1, len(z) - 1]
    return Decimal(cost.numerator) / Decimal(cost.denominator)


def test_dtw_with_a_median_is_refuted_and_with_no_window_left_to_the_data():
    assert stored_witness(DTW()) is not None and check_kernel(DTW()).verdict == "INVALID"
    for window in (0, 0.0):
        assert stored_witness(DTW(1.0, window)) is None
        equal = np.random.default_rng(0).standard_normal((30, 6))
        assert check_kernel(DTW(2.0, window), equal).verdict == "UNKNOWN"
        assert check_kernel(DTW(2.0, window), [[0.0, 1, 2], [0.0, 1, 1, 2], [0.0, 2]]).verdict == "INVALID"


GOWER = [
    ({"a": (0.0, 1.0)}, 2),
    ({"a": (-1e9, 1e-9)}, 2),
    ({"a": "time 2001-01-01 2001-12-31"}, 2),
    ({"a": (0.0, 1.0), "b": "equal text"}, 3),
    ({"a": ["S", "M"], "b": "equal bytes", "c": (1, 2)}, 3),
    ({"a": "equal number", "b": "time 2001-01-01 2001-01-01"}, 3),
    ({"a": (3.0, 3.0), "b": "equal"}, 3),
]


@pytest.mark.parametrize(("ranges", "size"), GOWER)
def test_gower_is_refuted_unless_it_is_strict(ranges, size):
    witness = stored_witness(Gower(ranges))
    assert len(witness.objects) == size
    gram = [[Fraction(1), Fraction(-3)], [Fraction(-3), Fraction(1)]] if size == 2 else None
    gram = gram or [[Fraction(int(i == j or 0 in (i, j))) for j in range(3)] for i in range(3)]
    assert form([Fraction(c) for c in witness.coefficients], range(size), lambda i, j: gram[i][j]) < 0
    np.testing.assert_allclose(witness.gram, np.array(gram, float), atol=1e-9)
    assert check_kernel(Gower(ranges, strict=True)).verdict == "VALID"
    assert stored_witness(Gower(ranges, strict=True)) is None


@pytest.mark.parametrize("ranges", [{"a": "equal"}, {"a": ["S", "M", "L"]}, {"a": (3.0, 3.0)}])
def test_gower_of_one_column_of_categories_is_not_accused(ranges):
    assert stored_witness(Gower(ranges)) is None
    value = {"equal": ["x", "y"], "list": ["S", "M", "L"], "tuple": [3.0, 4.0]}
    kind = "equal" if ranges["a"] == "equal" else type(ranges["a"]).__name__
    rows = [{"a": one} for one in (*value[kind], None)]
    assert check_kernel(Gower(ranges), rows).verdict == "UNKNOWN"


def test_missing_values():
    assert stored_witness(OrMissing(Equal(), -1e-6)).objects == (None,)
    assert stored_witness(OrMissing(Equal(), 0.5)) is None
    assert len(stored_witness(OrMissing(Edit(), 0.5)).objects) == 4


@pytest.mark.parametrize("name", list(SIMILARITIES))
def test_a_kernel_by_proof_has_no_counterexample(name):
    k, X = SIMILARITIES[name]
    k = k.resolve(X)
    if k.proven:
        assert stored_witness(k) is None
    elif stored_witness(k) is not None:
        found = check_kernel(k, X)
        assert found.verdict == "INVALID" and found.witness.value < 0


REFUTED = [
    2 * Edit(),
    Edit() + Edit(),
    Edit() + Spectrum(2),
    Edit().normalized(),
    Edit().symmetrized() + 0.1,
    SharesAny().minimum(SharesAny()),
    OrMissing(SharesAny()),
    Columns({"authors": SharesAny(), "keywords": "shares_any"}, how="max"),
    Columns({"text": Edit(), "title": "edit"}, how="max"),
    Columns({"text": Edit(), "age": Gaussian(1.0)}),
    Columns({"age": Sigmoid(1.0, 3.0), "tags": "jaccard"}, how="product"),
]


@pytest.mark.parametrize("k", REFUTED, ids=repr)
def test_composites_are_refuted_by_their_own_values(k):
    witness = stored_witness(k)
    few = list(range(len(witness.objects)))
    value = form(witness.coefficients, few, lambda i, j: k(witness.objects[i], witness.objects[j]))
    assert value == pytest.approx(witness.value) and value < 0
    assert check_kernel(k).verdict == "INVALID"


def test_nothing_is_concluded_for_composites_that_the_objects_do_not_refute():
    assert stored_witness(Edit() ** 2) is None
    assert stored_witness(Edit() - Edit() + Spectrum(1)) is None
    assert stored_witness(Edit() + 1e3 * Equal()) is None
    assert stored_witness(Edit().pullback(str.lower)) is None
    assert stored_witness(SharesAny() + FromPairs(lambda x, z: 1 / 0)) is None
    assert stored_witness(Sigmoid() + Gaussian()) is None, "the median of other data would give another similarity"
    assert stored_witness(repair(Edit(), ["ab", "ba", "aba", "bab"], how="shift")) is None


def test_a_subclass_that_computes_something_else_does_not_inherit_counterexamples():
    class Squared(Edit):
        def block(self, A, B, out=None):
            return super().block(A, B) ** 2

    class Named(Edit):
        """Another name, the same similarity."""

    class Steeper(Sigmoid):
        def form(self):
            return "polynomial", 1.0, 0.0, 2

    class Mine(Edit):
        def block(self, A, B, out=None):
            return -super().block(A, B)

        def counterexamples(self):
            return [["a"]]

    assert Squared().counterexamples() == [] and Steeper().counterexamples() == []
    assert check_kernel(Squared()).verdict == "UNKNOWN"
    assert len(stored_witness(Named()).objects) == 4
    assert stored_witness(Mine()).value == -1.0


def test_counterexamples_of_a_user_are_computed_not_believed():
    class Believed(Similarity):
        objects = "vectors"

        def __init__(self, k):
            self.k = k

        def encode(self, objects):
            return self.k.encode(objects)

        def block(self, A, B):
            return self.k.block(A, B)

        def counterexamples(self):
            return [["not a vector"], [[1.0], [2.0]], [[np.inf]], []]

    assert stored_witness(Believed(Linear())) is None
    assert stored_witness(Believed(-1.0 * Linear())).objects == ([2.0],)


WORDS = ["ab", "cd", "ef", "ad", "ce", "bf"]


LEARNERS = [(KernelSVC, {}), (KernelRidge, {})]


@pytest.mark.parametrize(("model", "options"), LEARNERS)
def test_learners_refuse_in_every_fold(model, options):
    """On these words edit similarity is positive definite: data alone would accept it."""
    assert np.linalg.eigvalsh(Edit().gram(WORDS))[0] > 0
    for fold in (slice(0, 3), slice(2, 6), slice(0, 6)):
        with pytest.raises(NotAKernelError, match=r"repair\(...\)") as refused:
            model(Edit(), **options).fit(WORDS[fold], [0, 1, 0, 1, 1, 0][fold])
        assert refused.value.witness.objects == ("ab", "ba", "aba", "bab")


@pytest.mark.parametrize(
    ("k", "X", "instead"),
    [
        (Gower(), [{"a": 1.0, "b": "x"}, {"a": 2.0, "b": "y"}], r"Gower\(strict=True\)"),
        (SharesAny(), [{1}, {2}], r"Intersection\(\), is a kernel"),
        (DTW(), [[1.0, 2.0], [2.0, 1.0]], r"GlobalAlignment\(\) is a kernel"),
    ],
)
def test_a_refusal_names_a_kernel_instead(k, X, instead):
    with pytest.raises(NotAKernelError, match=instead):
        KernelSVC(k).fit(X, [0, 1])
    with pytest.raises(NotAKernelError):
        ProjectionMap(k).fit(X)


def test_a_learner_refuses_before_it_looks_at_the_data():
    class Watched(SharesAny):
        """Counts the sets that it has seen."""

        seen = 0

        def resolve(self, X, random_state=None, sample_weight=None):
            Watched.seen = max(Watched.seen, len(X))
            return self

    with pytest.raises(NotAKernelError):
        KernelSVC(Watched()).fit([{"a"}, {"b"}] * 10, [0, 1] * 10)
    assert Watched.seen <= 3


def test_maps_refuse_in_every_fold_and_repairs_are_accepted():
    for fold in (slice(0, 3), slice(2, 6)):
        with pytest.raises(NotAKernelError):
            ProjectionMap(Edit()).fit(WORDS[fold])
        with pytest.raises(NotAKernelError, match="landmarks='uniform'"):
            ProjectionMap(Edit(), n_components=2, landmarks="rpcholesky").fit(WORDS[fold])
        for how in ("clip", "shift"):
            ProjectionMap(repair(Edit(), WORDS, how=how)).fit(WORDS[fold])
            KernelSVC(repair(Edit(), WORDS, how=how)).fit(WORDS, [0, 1, 0, 1, 1, 0])


def test_a_witness_from_the_data_comes_first():
    found = check_kernel(SharesAny(), [{1}, {1, 2}, {2, 3}, {3}])
    assert found.verdict == "INVALID" and len(found.witness.indices) == 3 and not found.remark
    found = check_kernel(SharesAny(), [{1}, {2}])
    assert found.verdict == "INVALID" and found.witness.indices == () and "known counterexample" in str(found)
    assert found.min_eigenvalue == 1.0


def test_the_printed_witness_says_what_the_weights_mean():
    text = str(check_kernel(Edit()))
    assert "UNKNOWN" not in text and "no squared length is negative" in text
    assert "the sum of c_i c_j K(x_i, x_j) is -0.630027" in text
    assert "  c =  1.0000  x1 = 'ab'" in text
    genes = datasets.promoters().objects
    assert max(map(len, check_kernel(Edit(), [10 * gene for gene in genes]).witness.lines())) < 120


@pytest.mark.parametrize("k", [Gaussian() - Laplace(), -1.0 * Gaussian(), Linear() - 1.0])
def test_what_cannot_be_normalized_is_refuted_by_what_it_is_made_of(k):
    X = np.random.default_rng(0).standard_normal((20, 2)) * 0.3
    for whole in (k.normalized(), k.normalized() + Linear(), k.normalized().symmetrized()):
        for found in (check_kernel(whole), check_kernel(whole, X)):
            assert found.verdict == "INVALID"
            assert "normalized form is not defined" in str(found)
            a = np.array(found.witness.coefficients)
            assert a @ found.witness.gram @ a < 0


def test_an_error_that_has_nothing_to_do_with_norms_is_raised():
    def fails(x, z):
        raise ValueError("no value for this pair")

    with pytest.raises(ValueError, match="no value for this pair"):
        check_kernel(abs(Linear()).normalized() + FromPairs(fails), [[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [-1.0, 1.0]])


# The size of witnesses, against backward elimination in its plainest form.


def eliminated(K):
    """Return the number of objects that are left if the least needed is removed while an eigenvalue is negative."""
    kept = list(range(len(K)))
    limit = -1e-7 * np.abs(K).max()
    while len(kept) > 1:
        lowest = []
        for i in kept:
            fewer = [j for j in kept if j != i]
            lowest.append(np.linalg.eigvalsh(K[np.ix_(fewer, fewer)])[0])
        if min(lowest) >= limit:
            break
        kept.pop(int(np.argmin(lowest)))
    return len(kept)


@given(st.integers(0, 10**6), st.integers(3, 30), st.sampled_from(["noise", "power", "words"]))
def test_a_witness_is_not_larger_than_backward_elimination(seed, n, kind):
    rng = np.random.default_rng(seed)
    if kind == "noise":
        N = rng.standard_normal((n, n))
        K = np.eye(n) + 0.15 * (N + N.T)
    elif kind == "power":
        X = rng.standard_normal((n, 3))
        K = np.exp(-(np.abs(X[:, None] - X).sum(axis=2) ** 1.6))
    else:
        K = Edit().gram(["".join(rng.choice(list("acgt"), size=rng.integers(5, 25))) for _ in range(n)])
    if np.linalg.eigvalsh(K)[0] < -1e-6:
        found = check_kernel(K).witness
        assert len(found.indices) <= eliminated(K)
        c = np.array(found.coefficients)
        few = list(found.indices)
        assert c @ K[np.ix_(few, few)] @ c < 0


def many_objects(kind, n, seed):
    rng = np.random.default_rng(seed)
    if kind == "noise":
        N = rng.standard_normal((n, n))
        return np.eye(n) + (0.05 if n < 100 else 0.03) * (N + N.T)
    if kind == "power":
        X = rng.standard_normal((n, 3))
        return np.exp(-(np.abs(X[:, None] - X).sum(axis=2) ** 1.8))
    return Edit().gram(["".join(rng.choice(list("acgt"), size=rng.integers(20, 60))) for _ in range(n)])


@pytest.mark.parametrize("n", [50, *(pytest.param(n, marks=pytest.mark.deep) for n in (80, 150))])
@pytest.mark.parametrize("kind", ["noise", "power", "words"])
def test_witnesses_among_many_objects_are_not_larger_than_backward_elimination(kind, n, monkeypatch):
    monkeypatch.setattr("similitude.validity.elimination.ONE_BY_ONE", 40)  # in portions before
    for seed in range(2 if n < 100 else 5):
        K = many_objects(kind, n, seed)
        if np.linalg.eigvalsh(K)[0] < -1e-6:
            assert len(check_kernel(K).witness.indices) <= eliminated(K)


def test_nine_promoters_refute_edit_similarity():
    genes = datasets.promoters().objects
    witness = check_kernel(Edit(), genes).witness
    assert len(witness.indices) <= 9
    assert form(witness.coefficients, witness.objects, lambda s, t: 1 - levenshtein(s, t) / 57) < 0


def test_estimators_project_a_known_non_kernel_on_no_landmarks():
    """Its Gram matrix is positive semi-definite on few promoters, and not on many: folds would differ by chance."""
    genes, labels = datasets.promoters()
    for n in (5, 40, 60):
        model = SimilarityClassifier(Edit(), n_landmarks=n, random_state=0).fit(genes, labels)
        assert model.representation_.name == "similarities"
        assert ("counterexample of 4 objects" in model.representation_.reason) == (n < 60)
    (row,) = choose_kernel([Edit()], genes[:30:3] + genes[-30::3], [0] * 10 + [1] * 10, random_state=0).table
    assert row.representation.name == "similarities" and "counterexample" in row.representation.reason


def test_of_all_sets_of_a_size_the_one_with_the_lowest_eigenvalue_is_found():
    K = np.eye(6)
    K[1, 4] = K[4, 1] = 3.0  # one negative eigenvalue, -2: the second lowest of a set is never negative
    K[2, 5] = K[5, 2] = 1.5
    assert _lowest_set(K, 2).tolist() == [1, 4]


# Each step of the elimination, against its definition.


class Watched(_Elimination):
    """An elimination in which a set shows something if it has enough objects; the sizes asked for are recorded."""

    def shows(self, positions, lowest=None):
        self.asked.append((len(positions), lowest is not None))
        return len(positions) >= self.enough

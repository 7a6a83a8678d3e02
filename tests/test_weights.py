"""Weights of features, columns and terms: by definition, learned from labels, honest in folds, and odd input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from similitude import (
    SimilarityClassifier,
    SimilarityRegressor,
    check_kernel,
    choose_kernel,
    learn_kernel,
    load,
    save,
)
from similitude.errors import UnresolvedError
from similitude.kernel_learning.weights import weight_problem
from similitude.kernels import (
    Columns,
    Edit,
    Gaussian,
    Gower,
    Intersection,
    Jaccard,
    Spectrum,
    WeisfeilerLehman,
    explicit_map,
)
from similitude.similarity.expressions import parse

RNG = np.random.default_rng(0)
STRINGS = ["banana", "bandana", "", "nab", "ānāā", "日本語日本語", "abcdefghijkl", "xabcdefghij"]
SETS = [{"a", "b"}, {"b", "c", 3}, set(), {"c", ("x", 1)}, {"a", "c", 3}]
BITS = RNG.random((6, 5)) < 0.5
PATH, RING, STAR = (
    ([(0, 1), (1, 2)], ["C", "O", "C"]),
    ([(0, 1), (1, 2), (2, 0)], ["C", "O", "C"]),
    ([(0, 1), (0, 2), (0, 3)], ["C", "O", "N", "C"]),
)
GRAPHS = [PATH, RING, STAR, ([], [])]
KERNELS = [
    (Spectrum(2), STRINGS),
    (Spectrum(3, counts=True), STRINGS),
    (Spectrum(9, blended=True), STRINGS),
    (WeisfeilerLehman(2), GRAPHS),
    (Intersection(), SETS),
    (Intersection(), BITS),
]
IDS = [f"{k!r}, {len(X)}" for k, X in KERNELS]


def dna(n, seed=0, length=100, motif="TATA"):
    """Return random DNA, half of it with a motif, and whether it has one, with an error in ten."""
    rng = np.random.default_rng(seed)
    strings = ["".join(rng.choice(list("ACGT"), length)) for _ in range(n)]
    marked = [text[:10] + motif + text[10 + len(motif) :] if i % 2 else text for i, text in enumerate(strings)]
    return marked, np.array([motif in text for text in marked]) ^ (rng.random(n) < 0.1)


@pytest.mark.parametrize(("k", "X"), KERNELS, ids=IDS)
def test_weights_multiply_the_terms_of_features(k, X):
    table = k.feature_table(X)
    Phi, weights = table.rows.toarray(), np.random.default_rng(1).random(len(table.keys))
    weights[::3] = 0.0
    np.testing.assert_allclose(Phi @ Phi.T, k.gram(X), atol=1e-12)
    named = dict(zip(table.keys, weights.tolist(), strict=True))
    weighted = k.with_params(weights=named)
    np.testing.assert_allclose(weighted.gram(X), (Phi * weights) @ Phi.T, atol=1e-12)
    np.testing.assert_allclose(weighted.diag(X), weighted.gram(X).diagonal(), atol=1e-12)
    np.testing.assert_allclose(weighted.gram(X)[1, 0], weighted(X[1], X[0]), atol=1e-12)
    features = explicit_map(weighted, X)
    np.testing.assert_allclose((features @ features.T).toarray(), weighted.gram(X), atol=1e-12)
    some = dict(list(named.items())[1:3])
    others = np.array([some.get(key, 0.25) for key in table.keys])
    rest = k.with_params(weights=some, default_weight=0.25)
    np.testing.assert_allclose(rest.gram(X), (Phi * others) @ Phi.T, atol=1e-12)


@pytest.mark.parametrize(("k", "X"), [*KERNELS, (Jaccard(), SETS), (Jaccard(), BITS)])
def test_weights_of_one_change_nothing_and_are_proven_saved_and_printed(k, X, tmp_path):
    ones = dict.fromkeys(k.feature_table(X).keys, 1.0)
    weighted = k.with_params(weights=ones)
    np.testing.assert_allclose(weighted.gram(X), k.gram(X), atol=1e-12)
    assert weighted.proven and check_kernel(weighted, X).verdict == "VALID"
    assert pickle.loads(pickle.dumps(weighted)) == weighted
    save(weighted, tmp_path / "k.sim")
    assert load(tmp_path / "k.sim") == weighted and load(tmp_path / "k.sim").fingerprint() == weighted.fingerprint()
    assert f"<{len(ones)} weights>" in repr(weighted) and "weights" not in repr(k)


def test_weights_of_zero_remove_a_feature():
    k = Spectrum(2, weights={"an": 0.0})
    assert k("banana", "bandana") == Spectrum(2)("banana", "bandana") - 1
    assert Intersection(weights={"a": 0.0})({"a", "b"}, {"a", "b"}) == 1
    assert Jaccard(weights={"a": 0.0})({"a", "b"}, {"b"}) == 1.0
    assert Jaccard(weights={"a": 0.0})({"a"}, set()) == 1.0  # without its item it is empty


def test_weighted_jaccard_is_a_share_of_weights():
    weights = {"a": 1.0, "b": 2.5, "c": 0.5, 3: 4.0}
    k = Jaccard(weights=weights)
    for x in SETS:
        for z in SETS:
            both, all_ = (sum(weights.get(item, 1.0) for item in some) for some in (x & z, x | z))
            assert k(x, z) == pytest.approx(both / all_ if all_ else 1.0)


def test_idf_is_that_of_scikit_learn():
    texts = ["kernel methods", "similarity functions", "kernels", "a margin"]
    k = Spectrum(3, counts=True, weights="idf")
    assert k.unresolved() == ["weights"] and k.resolve(texts).unresolved() == []
    tfidf = TfidfVectorizer(analyzer="char", ngram_range=(3, 3)).fit(texts)
    new = ["kernel margins", "nel"]  # scikit-learn drops what it has not seen, here it counts in the norm
    A, B = tfidf.transform(texts), tfidf.transform(new)
    np.testing.assert_allclose(k.normalized().gram(texts), (A @ A.T).toarray(), atol=1e-12)
    seen = k.resolve(texts).with_params(default_weight=0.0)
    np.testing.assert_allclose(seen.normalized().cross(new, texts), (B @ A.T).toarray(), atol=1e-12)
    assert k.resolve(texts).default_weight == pytest.approx((np.log(5) + 1) ** 2)


def test_weights_can_be_written_as_text():
    assert parse("spectrum(p=2, weights={'an': 2.5}, default_weight=0)")("banana", "bandana") == pytest.approx(2.5)
    assert repr(parse("jaccard(weights='idf').learned()")).endswith(".learned()")


def test_subtrees_are_named():
    names = WeisfeilerLehman(1).subtrees([([(0, 1), (1, 2)], ["C", "O", "N"], ["=", 1])])
    assert sorted(names.values()) == ["C", "C(=O)", "N", "N(1:O)", "O", "O(1:N,=C)"]
    assert "*(*,*)" in WeisfeilerLehman(1).subtrees([([(0, 1), (1, 2)],)]).values()
    k = WeisfeilerLehman(3)
    assert set(k.subtrees(GRAPHS)) == set(k.feature_table(GRAPHS).keys)


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (Spectrum(2, weights=[]), TypeError, "weights must be a dict"),
        (Spectrum(2, weights=[1.0, 2.0]), TypeError, "weights must be a dict"),
        (Spectrum(2, weights="tfidf"), TypeError, "or 'idf'"),
        (Spectrum(2, weights={"ab": -1.0}), ValueError, "the weight of 'ab' must be a number >= 0"),
        (Spectrum(2, weights={"ab": np.nan}), ValueError, "the weight of 'ab' must be a number >= 0"),
        (Spectrum(2, weights={"ab": "1"}), ValueError, "the weight of 'ab' must be a number >= 0"),
        (Spectrum(2, weights={"abc": 1.0}), ValueError, "weights name 'abc', and substrings of length 2"),
        (Spectrum(2, blended=True, weights={"": 1.0}), ValueError, "length 1 to 2"),
        (Spectrum(2, weights={3: 1.0}), TypeError, "weights name substrings"),
        (Spectrum(2, weights={"ab": 0.0}, default_weight=0.0), ValueError, "every feature has weight 0"),
        (Spectrum(2, default_weight=0.5), ValueError, "needs weights"),
        (Spectrum(2, weights={"ab": 1.0}, default_weight=-1.0), ValueError, "default_weight must be a number >= 0"),
        (WeisfeilerLehman(weights={"C": 1.0}), TypeError, "as `subtrees` gives them"),
        (Intersection(weights={"a": np.inf}), ValueError, "the weight of 'a'"),
    ],
)
def test_what_weights_cannot_be(k, error, message):
    with pytest.raises(error, match=message):
        k.gram(["ab"])


def test_weights_of_columns_that_rows_of_bits_do_not_have():
    with pytest.raises(ValueError, match="weights name 5: they must name columns, from 0 to 4"):
        Intersection(weights={5: 1.0}).gram(BITS)


@pytest.mark.parametrize("k", [Spectrum(2), Spectrum(2).normalized(), Jaccard()], ids=repr)
def test_gradients_in_features_are_limits_of_differences(k):
    """The model is extended to indicators and counts that are not whole numbers."""
    strings, _ = dna(12, length=8)
    X = [set(text[i : i + 2] for i in range(7)) for text in strings] if isinstance(k, Jaccard) else strings
    problem = weight_problem(k, X, np.arange(12), 0)
    rng = np.random.default_rng(1)
    w, a = rng.random(problem.width) + 0.1, rng.standard_normal((8, 2))
    fitted, judged, Phi = np.arange(8), np.arange(8, 12), problem.table.rows.toarray()

    def f(x):
        Z = Phi[:8]
        shared = (Z * w) @ x
        if isinstance(k, Jaccard):
            return a.T @ (shared / (Z @ w + w @ x - shared))
        if isinstance(k, Spectrum):
            return a.T @ shared
        return a.T @ (shared / np.sqrt((Z**2 @ w) * (w @ x**2)))

    expected, step = np.zeros(problem.width), 1e-6
    for x in Phi[8:]:
        for u, change in enumerate(step * np.eye(problem.width)):
            expected[u] += (((f(x + change) - f(x - change)) / (2 * step)) ** 2).sum() / 4
    seen = Phi[:8].any(axis=0)
    predicted = np.array([f(x) for x in Phi[8:]])
    found = problem.squares(w, fitted, judged, a, predicted)
    np.testing.assert_allclose(found, np.where(seen, expected, 0.0), rtol=1e-4, atol=1e-8)
    for output, added in enumerate(problem.contributions(w, fitted, judged, a)):
        np.testing.assert_allclose(np.asarray(added.sum(axis=1)).ravel(), predicted[:, output], atol=1e-10)


def test_a_planted_motif_is_found_and_helps():
    X, y = dna(500)
    learned = learn_kernel(Spectrum(4).normalized(), X[:300], y[:300], random_state=0)
    assert learned.importance.names[0] == "TATA" and learned.importance.low[0] > 0.15
    assert "TATA" in learned.importance.in_short() and "learned weights" in learned.reason
    assert learned.similarity.proven and learned.similarity.k.default_weight == 0.0
    errors = [
        1 - SimilarityClassifier(k, random_state=0).fit(X[:300], y[:300]).score(X[300:], y[300:])
        for k in (Spectrum(4).normalized(), learned.similarity)
    ]
    assert errors[1] < 0.8 * errors[0]


def test_items_and_subtrees_that_matter_are_named():
    rng = np.random.default_rng(0)
    sets = [{int(item) for item in rng.choice(60, 15, replace=False)} for _ in range(300)]
    y = np.array([(7 in one) + 0.5 * (9 in one) for one in sets]) + 0.05 * rng.standard_normal(300)
    for k in (Intersection(), Jaccard(), Intersection().normalized()):
        learned = learn_kernel(k, sets, y, random_state=0)
        assert set(learned.importance.names[:2]) == {"7", "9"}, k
    pulled = learn_kernel(Intersection().pullback(set), [sorted(one) for one in sets], y, random_state=0)
    assert pulled.importance.names[0] == "7" and pulled.similarity.gram([[7], [7, 9]])[0, 1] > 0
    graphs = [([(i, (i + 1) % 5) for i in range(5)], list(rng.choice(list("CNO"), 5))) for _ in range(200)]
    bonded = ["NO" in "".join(labels + labels[:1]) or "ON" in "".join(labels + labels[:1]) for _, labels in graphs]
    learned = learn_kernel(WeisfeilerLehman(1), graphs, bonded, random_state=0)
    assert any(
        ("N(" in name and "O" in name) or ("O(" in name and "N" in name) for name in learned.importance.names[:4]
    )


@pytest.mark.parametrize("times", [4, pytest.param(8, marks=pytest.mark.deep)])
def test_noise_leaves_equal_weights(times):
    kept = 0
    for seed in range(times):
        X, _ = dna(150, seed)
        y = np.random.default_rng(100 + seed).standard_normal(150)
        kept += "equal weights were kept" in learn_kernel(Spectrum(3).normalized(), X, y, random_state=seed).reason
    assert kept >= times - 1


def mixed(n, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"noise {i}": rng.standard_normal(n) for i in range(8)})
    X["age"], X["job"] = rng.uniform(20, 60, n), rng.choice(["cook", "pilot", "clerk"], n)
    y = np.where(X["job"] == "cook", X["age"] > 35, X["age"] > 50)
    for name in X.columns if missing else ():
        X[name] = X[name].astype(object).where(rng.random(n) >= missing, None)
    return X, y


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_weights_of_gower_are_learned(missing):
    X, y = mixed(400, missing)
    learned = learn_kernel(Gower(), X[:300], y[:300], random_state=0)
    weights = learned.similarity.weights
    assert set(learned.importance.names[:2]) == {"age", "job"} and learned.importance.kind == "columns"
    assert weights["age"] > 2 * max(weights[f"noise {i}"] for i in range(8))
    K = learned.similarity.gram(X[:5])
    np.testing.assert_allclose(K[0, 1], learned.similarity(X.iloc[0].to_dict(), X.iloc[1].to_dict()))


def test_the_weighted_sum_of_parts_is_gower():
    X, _ = mixed(60, 0.2)
    problem = weight_problem(Gower(), X, np.arange(60), 0)
    w, rows = np.random.default_rng(0).random(problem.width), np.arange(60)
    np.testing.assert_allclose(problem.grams(w, rows, rows)[0], problem.whole(w).gram(X), atol=1e-3)


def test_weights_of_columns_and_of_a_sum_are_learned():
    X, y = mixed(300)
    k = Columns({name: "gaussian" if name != "job" else "equal" for name in X.columns})
    learned = learn_kernel(k, X, y, random_state=0)
    assert set(learned.importance.names[:2]) == {"age", "job"} and learned.similarity.proven
    strings, motif = dna(300)
    several = [Spectrum(1).normalized(), Spectrum(4).normalized(), 0.5 * Spectrum(9).normalized()]
    learned = learn_kernel(several, strings, motif, random_state=0)
    assert learned.importance.names[0] == repr(Spectrum(4).normalized()) and learned.similarity.proven
    assert (
        learned.similarity
        == learn_kernel(several[0] + several[1] + several[2], strings, motif, random_state=0).similarity
    )
    assert learned.importance.kind == "similarities"


@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        ([], ValueError, "empty list"),
        (Edit(), TypeError, "learns the metric of"),
        (Spectrum(2, weights={"AC": 1.0}), ValueError, "has weights already"),
        (Jaccard().normalized(), TypeError, "leave .normalized\\(\\) out"),
        (Spectrum(2) - 0.5 * Spectrum(3), ValueError, "negative factor"),
        (Columns({"a": "equal"}, how="product"), ValueError, "mean or a sum"),
    ],
)
def test_what_has_no_weights_to_learn(k, error, message):
    with pytest.raises(error, match=message):
        learn_kernel(k, *dna(30))


def test_labels_that_teach_nothing():
    X, y = dna(30)
    with pytest.raises(ValueError, match="two classes"):
        learn_kernel(Spectrum(3), X, np.ones(30, int))
    with pytest.raises(ValueError, match="how='full' learns a matrix"):
        learn_kernel(Spectrum(3), X, y, how="full")
    assert "too few" in learn_kernel(Spectrum(3), X[:10], y[:10]).reason
    assert "same features" in learn_kernel(Spectrum(3), [""] * 40, np.arange(40) % 2).reason
    assert "same features" in learn_kernel(Spectrum(3), ["abcabc"] * 40, np.arange(40) % 2).reason
    assert "same features" in learn_kernel(WeisfeilerLehman(), [([], [])] * 40, np.arange(40) % 2).reason
    some_empty = ["" if i % 3 == 0 else text for i, text in enumerate(X * 2)]
    assert np.isfinite(learn_kernel(Spectrum(3).normalized(), some_empty, np.r_[y, y], random_state=0).rounds[-1].loss)


def test_nothing_has_values_before_it_is_learned():
    k = Spectrum(3).learned()
    assert k.proven and repr(k) == f"{Spectrum(3)!r}.learned()"
    for use in (
        lambda: k.gram(["abc"]),
        lambda: k("abc", "abe"),
        lambda: SimilarityClassifier(Edit().learned()).fit(*dna(30)),
    ):
        with pytest.raises(
            (UnresolvedError, TypeError), match=r"learned from labels|still to be fixed|learns the metric"
        ):
            use()


def test_estimators_learn_inside_their_folds():
    X, y = dna(120)
    plain, learned = (
        SimilarityClassifier(k, random_state=0).fit(X, y)
        for k in (Spectrum(4).normalized(), Spectrum(4).normalized().learned())
    )
    assert learned.held_out_error_.value < plain.held_out_error_.value
    assert learned.guarantee_.grade == "NONE" and "what counts: " in str(learned.plan_)
    assert "TATA" in learned.similarity_.k.weights
    numbers = SimilarityRegressor(Spectrum(4).learned(), random_state=0).fit(X, y.astype(float))
    assert numbers.held_out_error_.value < 0.2


@pytest.mark.deep
def test_choose_kernel_learns_inside_its_folds():
    X, y = dna(160)
    chosen = choose_kernel({"words": Spectrum(4).normalized(), "letters": Edit()}, X, y, learn=True, random_state=0)
    assert chosen.table[0].candidate == "words, learned" and len(chosen.table) == 3
    assert chosen.best.k.weights["TATA"] > 1
    with pytest.raises(ValueError, match="none of the similarities has a metric or weights to learn"):
        choose_kernel([Edit()], X, y, learn=True)
    vectors = np.random.default_rng(0).standard_normal((120, 6))
    alone = choose_kernel([Gaussian().learned()], vectors, np.sin(3 * vectors[:, 0]), random_state=0)
    assert alone.best.metric is not None and alone.held_out_error.value < 0.3


@pytest.mark.parametrize(("times", "least"), [(2, 0.4), pytest.param(4, 0.44, marks=pytest.mark.deep)])
def test_labels_without_meaning_are_not_flattered(times, least):
    """Weights fit noise; what the folds say of it stays at chance."""
    errors = []
    for seed in range(times):
        X, _ = dna(80, seed)
        y = np.random.default_rng(50 + seed).permutation(80) % 2
        k = Spectrum(3).normalized()
        if seed % 2:
            errors.append(choose_kernel([k], X, y, learn=True, random_state=seed).held_out_error.value)
        else:
            errors.append(SimilarityClassifier(k.learned(), random_state=seed).fit(X, y).held_out_error_.value)
    assert least < np.mean(errors) < 1.05 - least


@pytest.mark.parametrize("k", [Spectrum(3, weights="idf"), Intersection(weights="idf")], ids=repr)
def test_weights_of_objects_without_features_are_those_of_new_features(k):
    nothing, one = (["", "a"], ["abc"]) if k.objects == "strings" else ([set(), set()], [{"a"}])
    resolved = k.resolve(nothing)
    assert resolved.weights == {} and resolved.default_weight == pytest.approx((np.log(3) + 1) ** 2)
    assert resolved(one[0], one[0]) == pytest.approx(resolved.default_weight)

"""similarity="auto" for objects of every kind: what is recognized, what is tried, and what labels choose."""

import networkx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from similitude import (
    SimilarityClassifier,
    SimilarityRegressor,
    as_similarity,
    assess,
    attribution,
    check_kernel,
    load,
    save,
)
from similitude.evaluation import path
from similitude.fitting.members import Family, left_out_loss, products_of_features
from similitude.kernels import (
    DTW,
    Auto,
    Convolutions,
    Edit,
    Gaussian,
    Jaccard,
    Spectrum,
    default_similarity,
    family_of,
    kind_of_objects,
    pilot_rows,
)
from similitude.learners import KernelRidge, KernelSVC, SimilarityKNeighborsClassifier
from similitude.linear.gram import LOWEST_POWER, PER_DECADE
from similitude.maps import LandmarkMap, ProjectionMap
from similitude.similarity.expressions import parse

rng = np.random.default_rng(0)

GRAPHS = [([(0, 1)], ["a", "b"]), ([(0, 1), (1, 2)], ["a", "a", "b"])]
OBJECTS = {
    "vectors": np.eye(3),
    "rows of equal length": [[1.0, 2.0], [3.0, 4.0]],
    "a frame of numbers": pd.DataFrame({"a": [1.0, 2.0], "b": [3, 4]}),
    "strings": ["ab", "cd"],
    "an array of strings": np.array(["ab", "cd"]),
    "a column of strings": pd.Series(["ab", "cd"]),
    "bytes": [b"ab", b"cd"],
    "sets": [{1, 2}, frozenset({2})],
    "rows of unequal length": [[1.0, 2.0, 3.0], [1.0]],
    "an array of three dimensions": np.zeros((3, 4, 2)) + np.arange(3)[:, None, None],
    "tables of time and channel": [np.zeros((3, 2)), np.ones((4, 2))],
    "tuples of edges": GRAPHS,
    "networkx": [networkx.path_graph(3), networkx.cycle_graph(4)],
    "a frame with a missing value": pd.DataFrame({"a": [1.0, None], "b": [3, 4]}),
    "a frame with categories": pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}),
    "dicts": [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}],
}
KINDS = dict(
    zip(
        OBJECTS,
        ["vectors"] * 3 + ["strings"] * 4 + ["sets"] + ["series"] * 3 + ["graphs"] * 2 + ["table"] * 3,
        strict=True,
    )
)


@pytest.mark.parametrize("what", OBJECTS)
def test_objects_are_recognized_and_have_a_kernel(what):
    X = OBJECTS[what]
    assert kind_of_objects(X) == KINDS[what]
    k = default_similarity(X)
    assert k.proven and k.objects == KINDS[what]
    assert parse(repr(k)) == k  # as the command line names it
    assert as_similarity("auto").resolve(X, 0) == k.resolve(X, 0)
    K = as_similarity("auto").gram(X)
    assert K.shape == (len(X), len(X))
    assert np.linalg.eigvalsh(K).min() > -1e-9
    assert check_kernel("auto", X).verdict == "VALID"


def test_all_members_of_a_family_take_the_objects():
    for what, X in OBJECTS.items():
        for k in family_of(KINDS[what], X):
            assert k.gram(X).shape == (len(X), len(X)), (what, k)


@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_loss_is_that_of_models_without_each_row(weighted):
    n = 12
    X = rng.normal(size=(n, 3))
    Y = np.column_stack([X[:, 0] + 0.3 * rng.normal(size=n), X[:, 1] ** 2])
    weights = rng.uniform(0.2, 3.0, n) if weighted else np.ones(n)
    K = X @ X.T
    w = weights / weights.sum()
    mean_square = float(np.sum(w[:, None] * (Y - w @ Y) ** 2))
    means = K @ w
    centered = np.sqrt(w)[:, None] * (K - means[:, None] - means + w @ means) * np.sqrt(w)
    losses = []
    for multiple in path(PER_DECADE, LOWEST_POWER):
        penalty, total = multiple * np.trace(centered), 0.0
        for i in range(n):
            others = np.arange(n) != i
            F = np.column_stack([X[others], np.ones(n - 1)])
            root = np.sqrt(w[others])[:, None]
            A = (root * F).T @ (root * F) + penalty * np.diag([1.0, 1.0, 1.0, 0.0])
            coefficients = np.linalg.solve(A, (root * F).T @ (root * Y[others]))
            total += w[i] * float(np.sum((Y[i] - np.r_[X[i], 1.0] @ coefficients) ** 2))
        losses.append(total)
    np.testing.assert_allclose(left_out_loss(K, Y, weights), min(losses) / mean_square, rtol=1e-5)


def test_similarities_that_are_no_kernels_are_features():
    K = Edit().gram(["kernel", "colonel", "kern"])
    np.testing.assert_allclose(products_of_features(Edit(), K), K @ K / 3)
    assert products_of_features(Spectrum(2), K) is K


def words_with_gaps(n):
    """Return strings in which one class has a motif with two letters in its middle that vary."""
    y = np.arange(n) % 2
    X = ["".join(rng.choice(list("ACGT"), 40)) for _ in range(n)]
    motif = [f"GAT{''.join(rng.choice(list('ACGT'), 2))}CA" for _ in range(n)]
    return [one[:10] + word + one[17:] if of else one for one, word, of in zip(X, motif, y, strict=True)], y


def test_labels_choose_the_member_that_tells(without_evaluation):
    X, y = words_with_gaps(150)
    model = SimilarityClassifier(random_state=0).fit(X, y)
    assert "Gapped" in repr(model.similarity_)
    assert model.plan_.similarity.what.startswith("for strings")
    assert "with each of 150 rows left out" in str(model.plan_)


def test_narrow_time_warping_is_a_power():
    X = list(rng.normal(size=(25, 8)).cumsum(axis=1))
    from similitude.compute.engines import LocalEngine

    family = Family.of((DTW(),), X, np.arange(25), 0, LocalEngine(threads=1))
    assert not family.tried  # one member alone is not compared
    wide, narrow, _ = Family.of((DTW(), Gaussian(1.0)), X, np.arange(25), 0, LocalEngine(threads=1)).tried
    resolved = DTW().resolve(X, 0)
    assert wide.similarity == DTW()
    assert narrow.similarity.sigma == 0.25 * resolved.sigma
    np.testing.assert_allclose(narrow.products, (K := narrow.similarity.gram(X)) @ K / 25, rtol=1e-9)


def test_matrices_of_members_follow_from_those_of_their_parts():
    from similitude.compute.engines import LocalEngine

    X = ["".join(rng.choice(list("ACGT"), 5 + i % 12)) for i in range(25)]
    members = (0.5 * Spectrum(3).normalized() + 0.5 * Edit(), Spectrum(3).normalized(), Edit())
    for one in Family.of(members, X, np.arange(25), 0, LocalEngine(threads=1)).tried:
        np.testing.assert_allclose(
            one.products, products_of_features(one.similarity, one.similarity.gram(X)), rtol=1e-12
        )


def test_costly_members_are_tried_on_a_pilot(monkeypatch):
    """Time warping is computed on fewer rows, and compared there with the best of the others."""
    from similitude.compute.engines import LocalEngine

    y, members = np.arange(40) % 2, (Convolutions(84), Convolutions(168), DTW())
    X = [rng.normal(size=50) + 3.0 * np.sin((1 + of) * np.arange(50) / 9) for of in y]
    assert pilot_rows(members, X) == 40
    for budget, tried in ((450, [40, 40]), (720, [40, 40, 24, 24])):  # a pilot of 18 rows would tell nothing
        monkeypatch.setattr("similitude.kernels.automatic.families.PAIR_BUDGET", budget)
        family = Family.of(members, X, np.arange(40), 0, LocalEngine(threads=1))
        assert [len(one.products) for one in family.tried] == tried
    choice = family.chosen(y[:, None].astype(float), np.ones(40))
    assert [n for n, _ in choice.comparisons] == [40, 24]
    assert any(isinstance(k, DTW) for k, _ in choice.comparisons[-1][1])
    assert "on 40 rows" in choice.reason


def test_many_rows_screen_members_on_half_of_them():
    from similitude.compute.engines import LocalEngine

    X, y = words_with_gaps(200)
    members = family_of("strings", X)
    family = Family.of(members, X, np.arange(200), 0, LocalEngine(threads=1))
    choice = family.chosen(y[:, None].astype(float), np.ones(200))
    first, last = choice.comparisons
    assert (first[0], last[0]) == (100, 200)
    assert len(first[1]) == len(members) > len(last[1]) == 2
    for k, loss in last[1]:
        member = next(one for one in family.tried if one.similarity is k)
        assert loss == pytest.approx(left_out_loss(member.products, y[:, None].astype(float), np.ones(200)))


def test_equal_rows_are_tried_once():
    from similitude.compute.engines import LocalEngine

    X = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(30)]
    family = Family.of(family_of("strings", X), X + X[:10], np.arange(40), 0, LocalEngine(threads=1))
    assert family.rows.tolist() == list(range(30))
    assert all(one.products.shape == (30, 30) for one in family.tried)


def test_members_that_folds_choose_are_those_of_the_tried_rows():
    """What data fix is known from the trial: the resolved member gives the same matrix."""
    from similitude.compute.engines import LocalEngine

    X = list(rng.normal(size=(25, 12)).cumsum(axis=1))
    for one in Family.of(family_of("series", X), X, np.arange(25), 0, LocalEngine(threads=1)).tried:
        assert not one.resolved.unresolved()
        np.testing.assert_allclose(
            one.products, products_of_features(one.similarity, one.resolved.gram(X)), rtol=1e-6, atol=1e-9
        )


def test_an_error_by_folds_does_not_trust_the_choice():
    """On labels that mean nothing, the best of a family looks good on the rows that chose it, and only there."""
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = ["".join(rng.choice(list("ACGT"), 12)) for _ in range(60)]
        errors.append(SimilarityClassifier(random_state=seed).fit(X, np.arange(60) % 2).held_out_error_.value)
    assert 0.45 < np.mean(errors) < 0.56


def test_few_rows_have_the_first_member():
    X = ["kernel", "kerning", "kernels", "margin", "margins", "marginal"]
    model = SimilarityClassifier().fit(X, list("kkkmmm"))
    assert model.similarity_ == default_similarity(X)
    assert "too few to compare" in str(model.plan_)
    assert model.predict(["kern", "margin."]).tolist() == ["k", "m"]


@pytest.mark.parametrize("kind", ["strings", "sets", "series", "graphs"])
def test_every_estimator_takes_every_kind(kind, tmp_path):
    y = np.arange(24) % 2
    X = {
        "strings": [("ab" if of else "cd") * 3 + "".join(rng.choice(list("abcd"), 4)) for of in y],
        "sets": [set(rng.choice(20, 5).tolist()) | {100 + int(of)} for of in y],
        "series": [np.sin((1 + of) * np.arange(rng.integers(8, 14))) + 0.1 * rng.normal() for of in y],
        "graphs": [networkx.cycle_graph(4 + i % 5) if of else networkx.star_graph(4 + i % 5) for i, of in enumerate(y)],
    }[kind]
    model = SimilarityClassifier(random_state=0).fit(X, y)
    assert (model.predict(X) == y).all()
    save(model, tmp_path / "model.sim")
    again = load(tmp_path / "model.sim")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert SimilarityRegressor(random_state=0).fit(X, y.astype(float)).score(X, y) > 0.8
    for learner in (KernelSVC(), SimilarityKNeighborsClassifier()):
        assert clone(learner).fit(X, y).score(X, y) > 0.9
    assert KernelRidge().fit(X, y.astype(float)).score(X, y) > 0.5
    assert LandmarkMap(n_components=5, random_state=0).fit_transform(X).shape == (24, 5)
    assert ProjectionMap(n_components=3, random_state=0).fit(X).transform(X[:2]).shape[0] == 2
    assert assess("auto", X, y, random_state=0).p_value.value < 0.05


def test_vectors_keep_the_gaussian_kernel():
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2
    assert KernelSVC().fit(X, y).kernel_ == Gaussian().resolve(X)
    assert KernelSVC().set_params(kernel__sigma=2.0).kernel == Gaussian(2.0)


@pytest.mark.parametrize(
    ("X", "named"),
    [
        (["a", "b", "c", "d"], "strings, which 'auto' compares by 0.5.Spectrum"),
        ([{1}, {2}, {1, 2}, {3}], "sets, which 'auto' compares by Jaccard"),
        (pd.DataFrame({"a": [1.0, None, 2.0, 3.0]}), "X is a table .*, which 'auto' compares by Tabular"),
        (pd.DataFrame({"a": list("xyxy")}), "X is a table .*, which 'auto' compares by Tabular"),
        (GRAPHS * 2, "graphs, which 'auto' compares by WeisfeilerLehmanAssignment"),
        ([[1.0], [1.0, 2.0], [3.0], [1.0, 4.0]], "series, which 'auto' compares by Convolutions"),
    ],
)
def test_an_error_names_what_suits_the_objects(X, named):
    for estimator in (KernelSVC("gaussian"), SimilarityClassifier("gaussian")):
        with pytest.raises((TypeError, ValueError), match=named):
            estimator.fit(X, [0, 1, 0, 1])


def test_an_error_of_the_right_kind_is_left_alone():
    with pytest.raises(ValueError, match="NaN") as caught:
        KernelSVC("gaussian").fit([[1.0], [np.nan]], [0, 1])
    assert "'auto' compares" not in str(caught.value)
    assert Jaccard().objects == "sets"


def test_a_kind_can_be_given():
    rng = np.random.default_rng(1)
    X = np.array([np.sin((1 + i % 2) * np.arange(40) / 3 + rng.uniform(0, 6)) for i in range(40)])
    assert kind_of_objects(X) == "vectors"
    assert kind_of_objects(list(X)) == "series"
    model = SimilarityClassifier(Auto(kind="series"), random_state=0).fit(X, np.arange(40) % 2)
    assert model.plan_.similarity.what.startswith("for series")
    assert as_similarity("auto(kind='series')") == Auto(kind="series")
    with pytest.raises(ValueError, match="kind must be one of"):
        SimilarityClassifier(Auto(kind="waves")).fit(X, np.arange(40) % 2)


def test_mean_of_windows_and_substrings_is_attributed_to_letters():
    X, y = words_with_gaps(60)
    model = SimilarityClassifier("0.5*spectrum(p=3).normalized() + 0.5*gapped(7, 2).normalized()", random_state=0)
    model.fit(X, y)
    found = attribution(model, X[1])
    score = float(model.decision_function(X[1:2])[0]) * (1 if found.prediction == 1 else -1)
    assert found.values.sum() + found.base == pytest.approx(score, abs=1e-9)
    assert np.abs(found.values[10:17]).sum() > 1.3 * np.abs(found.values[20:27]).sum()

"""Landmark, projection and compact maps: the paper's identities, its sizes, streams, and bad input."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from similitude import FromBlocks, FromPairs, Precomputed, bounds
from similitude.engines import LocalEngine
from similitude.errors import NotAKernelError
from similitude.estimators import SimilarityRegressor
from similitude.kernels import Edit, Gaussian, Linear, Polynomial, Sigmoid, explicit_map
from similitude.landmarks.projection import (
    choose_representation,
    not_projected,
)
from similitude.landmarks.rules import Reservoir
from similitude.maps import CompactMap, LandmarkMap, ProjectionMap
from similitude.results import CONDITIONAL, NONE

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 4))
Y = np.where(X[:, 0] > 0, "yes", "no")


def share_a_letter(s, t):
    return float(bool(set(s) & set(t)))


# The identities of the paper.


def test_landmark_features_are_similarities():
    m = LandmarkMap("linear", landmarks=[[1.0, 0.0], [1.0, 1.0]]).fit([[5.0, 5.0]])
    assert m.transform([[2.0, 3.0]]).tolist() == [[2.0, 5.0]]
    assert m.landmark_indices_ is None


def test_projection_of_the_plane_is_the_plane():
    m = ProjectionMap("linear", landmarks=[[1.0, 0.0], [1.0, 1.0]]).fit([[5.0, 5.0]])
    assert m.factor_.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert np.allclose(m.transform([[2.0, 3.0]]), [[2.0, 3.0]])


def test_projection_loses_what_is_orthogonal():
    F = ProjectionMap("linear", landmarks=[[1.0, 0, 0], [1.0, 1.0, 0]]).fit([[0.0, 0, 1]]).transform([[2.0, 3.0, 4.0]])
    assert np.allclose(F, [[2.0, 3.0]]) and np.sum(F**2) < 29


def test_dependent_landmarks_are_dropped():
    S = np.array([[1.0, 0], [1, 0], [0, 2], [1, 1], [0, 0]])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(S @ S.T)
    m = ProjectionMap("linear", landmarks=S).fit(S)
    F = m.transform([[3.0, -1.0]])
    assert m.rank_ == 2 and len(m.landmarks_) == 2
    assert np.allclose(np.sum(F**2), 10)
    assert np.allclose(m.transform(S) @ F[0], S @ [3.0, -1.0])


@given(st.integers(1, 40), st.integers(1, 6), st.integers(0, 2**32 - 1), st.sampled_from(["linear", "gaussian"]))
def test_projection_reproduces_the_kernel_on_landmarks(m, d, seed, name):
    local = np.random.default_rng(seed)
    Z = local.integers(-2, 3, (m, d)).astype(float)  # many duplicates
    kernel = Linear() if name == "linear" else Gaussian(1.5)
    assume(Z.any() or name != "linear")
    p = ProjectionMap(kernel, landmark_indices=np.arange(m)).fit(Z)
    new = local.standard_normal((7, d))
    F, L = p.transform(new), p.transform(Z)
    assert np.allclose(F @ L.T, kernel.cross(new, Z), atol=1e-6)
    assert (np.sum(F**2, axis=1) <= kernel.diag(new) + 1e-8).all()
    assert np.allclose(np.sum(L**2, axis=1), kernel.diag(Z), atol=1e-6)


def test_projection_is_nystroem_up_to_a_rotation():
    peer = Nystroem(gamma=0.3, n_components=20, random_state=0).fit(X)
    ours = ProjectionMap(Gaussian.from_gamma(0.3), landmark_indices=peer.component_indices_).fit(X)
    F, G = ours.transform(X), peer.transform(X)
    assert np.allclose(F @ F.T, G @ G.T)


def test_projection_in_single_precision_stays_close():
    m = ProjectionMap(Gaussian(), n_components=40)
    single = m.fit(X.astype(np.float32)).transform(X.astype(np.float32))
    double = m.fit(X).transform(X)
    assert single.dtype == np.float32
    assert np.abs(single @ single.T - double @ double.T).max() < 1e-5


def test_a_representation_is_chosen_by_what_the_landmarks_show():
    k = FromPairs(lambda x, z: 1.0)
    asked = choose_representation(Linear(), None, "both", False)
    assert asked.side == "both" and asked.reason == "side='both' was asked for"
    assert choose_representation(Linear(), None, "auto", True).reason == "penalty='l1' chooses among landmarks"
    assert choose_representation(Linear(), None, "auto", False).name == "projection"
    unknown = choose_representation(k, None, "auto", False)
    assert (unknown.name, unknown.side) == ("similarities", "left") and "no Gram matrix" in unknown.reason
    for single, each in ((False, 1e-10), (True, 2.0**-23)):
        limit = 2 * each * 0.25
        for share, name in ((0.99, "projection"), (1.01, "similarities")):
            M = 0.25 * np.eye(2)
            M[0, 1] = share * limit
            found = [choose_representation(k, M, side, False, single) for side in ("auto", "left")]
            assert [one.name for one in found] == [name] * 2
            assert [one.side for one in found] == (["both", "left"] if share > 1 else ["left"] * 2)
            M = np.diag([0.25, -share * limit])
            assert choose_representation(k, M, "auto", False, single).name == name
    assert (
        "K(l0, l1) = 3 and K(l1, l0) = 1"
        in choose_representation(k, np.array([[1.0, 3], [1, 1]]), "auto", False).reason
    )
    assert not_projected(np.zeros((3, 3))).reason == "it is zero on 3 landmarks"
    assert not_projected(np.diag([1.0, -0.5])).reason.endswith("an eigenvalue on 2 landmarks is -0.5")


def test_compact_map_is_the_projection_times_a_random_matrix():
    two = CompactMap(n_components=6, n_landmarks=20, random_state=3).fit(X)
    one = ProjectionMap(landmark_indices=two.landmark_indices_).fit(X)
    assert np.allclose(two.transform(X), one.transform(X) @ two.sketch_.matrix().T)
    assert two.sketch_.matrix().nbytes > len(pickle.dumps(two.sketch_))


def test_johnson_lindenstrauss_of_explicit_features():
    phi = explicit_map(Polynomial(2), X)
    distortion, k = 0.5, bounds.johnson_lindenstrauss(0.5, 0.01)
    wide = np.hstack([phi] * 30) / np.sqrt(30)
    F = CompactMap("linear", n_components=min(k, 14), n_landmarks=60).fit_transform(wide)
    assert F.shape[1] <= np.linalg.matrix_rank(phi)
    tall = rng.standard_normal((200, 400)) / 20
    G = CompactMap("linear", n_components=k, n_landmarks=200).fit_transform(tall)
    before, after = _squared_distances(tall), _squared_distances(G)
    kept = (after >= (1 - distortion) * before) & (after <= (1 + distortion) * before)
    assert kept[np.triu_indices(200, 1)].mean() >= 0.99


def _squared_distances(Z):
    return ((Z[:, None, :] - Z[None, :, :]) ** 2).sum(axis=2)


# Sides.


def test_sides_of_an_asymmetric_similarity():
    k = FromPairs(lambda x, z: float(x[0] * z[1]))
    K = np.outer(X[:, 0], X[:, 1])
    left, right, both = (LandmarkMap(k, landmark_indices=[4, 9], side=side).fit_transform(X) for side in SIDES)
    assert np.allclose(left, K[:, [4, 9]]) and np.allclose(right, K[[4, 9]].T)
    assert np.allclose(both, np.hstack([left, right]))


SIDES = ("left", "right", "both")


# Sizes and promises.


def test_theorem_sizes_are_used_and_said():
    big = np.random.default_rng(1).standard_normal((700, 3))
    m = ProjectionMap(Gaussian(1.0), epsilon=0.1, margin=0.5, delta=0.05).fit(big)
    assert m.guarantee_.numbers["landmarks_drawn"] == 560 == bounds.landmarks(0.1, 0.5, 0.05)
    assert m.guarantee_.grade == CONDITIONAL and "margin 0.25" in m.guarantee_.statement
    assert "assumed: some separator of the classes has margin 0.5" in str(m.guarantee_)


def test_fewer_landmarks_than_the_theorem_asks_promise_nothing():
    with pytest.warns(UserWarning, match="n_components = 560 exceeds the 60 objects of X: 60 used"):
        m = LandmarkMap(epsilon=0.1, margin=0.5).fit(X)
    assert m.guarantee_.grade == NONE and "560" in m.guarantee_.statement


@pytest.mark.parametrize(
    "fit",
    [
        lambda: LandmarkMap(n_components=100).fit(X),
        lambda: LandmarkMap(n_components=100).fit_transform(X),
        lambda: make_pipeline(LandmarkMap(n_components=100)).fit(X),
        lambda: CompactMap(Gaussian(1.0), n_components=100).fit(X),
        lambda: SimilarityRegressor(n_landmarks=100).fit(X, X[:, 0]),
    ],
)
def test_a_warning_of_too_many_landmarks_names_the_line_of_the_user(fit):
    with pytest.warns(UserWarning, match="= 100 exceeds") as caught:
        fit()
    lines = {(one.filename, one.lineno) for one in caught if "exceeds" in str(one.message)}
    assert lines == {(__file__, fit.__code__.co_firstlineno)}


def test_without_a_margin_the_smallest_covered_one_is_named():
    big = np.random.default_rng(1).standard_normal((700, 3))
    m = LandmarkMap(Gaussian(1.0), n_components=600).fit(big)
    margin = m.guarantee_.numbers["margin"]
    assert m.guarantee_.grade == CONDITIONAL and bounds.landmarks(0.1, margin, 0.05) <= 600
    assert bounds.landmarks(0.1, margin * 0.99, 0.05) > 600
    assert LandmarkMap(n_components=20).fit(big).guarantee_.grade == NONE


@pytest.mark.parametrize("rule", ["diverse", "stratified"])
def test_chosen_landmarks_are_no_independent_draws(rule):
    m = LandmarkMap(Gaussian(1.0), n_components=59, landmarks=rule, epsilon=0.9, margin=1.0).fit(X, np.arange(60) % 2)
    assert m.guarantee_.grade == NONE and f"rule '{rule}'" in m.guarantee_.statement


@pytest.mark.parametrize("kind", [LandmarkMap, ProjectionMap, CompactMap])
def test_a_width_from_the_rows_promises_nothing(kind):
    ask, many = {"epsilon": 0.9, "margin": 1.0}, np.random.default_rng(0).standard_normal((90, 2))
    assert kind(Gaussian(1.0), **ask).fit(many).guarantee_.grade == CONDITIONAL
    found = kind(Gaussian("median"), **ask).fit(many).guarantee_
    assert found.grade == NONE and "sigma was computed from the rows" in found.statement


def test_no_kernel_is_promised_nothing_and_its_eigenvalue_is_named():
    many = np.random.default_rng(0).standard_normal((600, 2))
    found = LandmarkMap(Sigmoid(), n_components=500).fit(many).guarantee_
    assert found.grade == NONE and "an eigenvalue on 100 landmarks is -" in found.statement


def test_a_known_counterexample_counts_where_landmarks_show_none():
    found = LandmarkMap(Edit(), n_components=500).fit(["a", "b"] * 300).guarantee_
    assert found.grade == NONE and "a counterexample of 4 objects is known" in found.statement


@pytest.mark.parametrize("kind", [LandmarkMap, ProjectionMap])
def test_positive_semi_definite_on_landmarks_is_evidence_only(kind):
    many = np.random.default_rng(0).standard_normal((600, 2))
    found = kind(FromBlocks(lambda A, B: A @ B.T, objects="vectors"), n_components=500).fit(many).guarantee_
    assert found.grade == CONDITIONAL
    kernel = next(one for one in found.premises if one.text == "the similarity is a kernel")
    assert kernel.state == "assumed" and ("100" if kind is LandmarkMap else "500") in kernel.evidence


def test_compact_map_promises_a_quarter_of_the_margin_only_when_wide_enough():
    big = np.random.default_rng(1).standard_normal((2000, 3))
    ask = {"epsilon": 0.2, "margin": 1.0, "delta": 0.2}
    kept = CompactMap(Gaussian(0.05), **ask).fit(big)
    assert kept.guarantee_.grade == CONDITIONAL and "margin 0.25" in kept.guarantee_.statement
    assert kept.sketch_ is None  # the theorem's dimension exceeds the rank: the first stage is left as it is
    few = CompactMap(Gaussian(0.05), n_components=9, **ask).fit(big)
    assert few.guarantee_.grade == NONE and few.n_features_out_ == 9
    assert few.guarantee_.numbers["features_practical"] == bounds.compact_dimension(0.2, 1.0, 0.2, practical=True)


def test_more_components_than_rank_are_said():
    with pytest.warns(UserWarning, match="exceeds the rank 4"):
        m = CompactMap("linear", n_components=10, n_landmarks=30).fit(X)
    assert m.transform(X).shape == (60, 4)
    assert ProjectionMap("linear", n_components=30).fit(X).rank_ == 4


# Streams.


def test_a_reservoir_is_fair():
    counts = np.zeros(12)
    for seed in range(3000):
        kept = Reservoir(4, np.random.default_rng(seed))
        for batch in (range(0, 3), range(3, 4), range(4, 12)):
            kept.add(list(batch))
        counts[kept.positions] += 1
        assert sorted(kept.objects) == sorted(kept.positions)
    assert abs(counts / 3000 - 4 / 12).max() < 4 * np.sqrt(4 / 12 * 8 / 12 / 3000)


@pytest.mark.parametrize("make", [LandmarkMap, ProjectionMap])
@pytest.mark.parametrize("stored", [np.asarray, pd.DataFrame, lambda x: x.astype(np.float32)])
def test_partial_fit_takes_a_stream(make, stored):
    m = make(n_components=7, random_state=1)
    for start in range(0, 60, 9):
        m.partial_fit(stored(X[start : start + 9]))
    assert np.allclose(m.landmarks_, np.asarray(stored(X))[m.landmark_indices_])
    assert m.transform(stored(X)).shape == (60, 7)
    again = pickle.loads(pickle.dumps(m)).partial_fit(stored(X))
    assert again._reservoir.seen == 120


def test_partial_fit_of_strings_and_its_limits():
    m = LandmarkMap(FromPairs(share_a_letter), n_components=2).partial_fit(["ab", "cd"]).partial_fit(["ef"])
    assert m.transform(["a"]).shape == (1, 2)
    with pytest.raises(ValueError, match="uniform"):
        LandmarkMap(landmarks="diverse").partial_fit(X)


# scikit-learn's ways.


def test_grid_search_reaches_into_the_kernel():
    search = GridSearchCV(
        make_pipeline(ProjectionMap(n_components=15), LogisticRegression()),
        {"projectionmap__kernel__sigma": [0.5, 2.0], "projectionmap__n_components": [5, 15]},
        cv=3,
    ).fit(X, Y)
    assert search.best_score_ > 0.8


def test_clone_keeps_what_is_left_open_and_the_engine():
    engine = LocalEngine(threads=1)
    m = clone(ProjectionMap(Gaussian(), engine=engine).fit(X))
    assert m.kernel == Gaussian("median") and m.engine is engine and not hasattr(m, "kernel_")


def test_a_named_kernel_becomes_one_when_its_parameter_is_set():
    m = ProjectionMap("gaussian").set_params(kernel__sigma=2.0)
    assert m.kernel == Gaussian(2.0)


def test_output_as_a_data_frame():
    frame = pd.DataFrame(X, columns=list("abcd"), index=range(100, 160))
    F = LandmarkMap(n_components=3).set_output(transform="pandas").fit_transform(frame)
    assert list(F.columns) == ["landmarkmap0", "landmarkmap1", "landmarkmap2"] and F.index[0] == 100


def test_precomputed_needs_fewer_landmarks_than_objects():
    K = Gaussian(1.0).gram(X)
    m = ProjectionMap("precomputed", n_components=10).fit(K[:40, :40])
    same = ProjectionMap(Gaussian(1.0), landmark_indices=m.landmark_indices_).fit(X[:40])
    assert np.allclose(m.transform(K[40:, :40]), same.transform(X[40:]))
    by_index = ProjectionMap(Precomputed(K), landmark_indices=m.landmark_indices_).fit(np.arange(40))
    assert np.allclose(by_index.transform(np.arange(40, 60)), same.transform(X[40:]))


def test_precomputed_is_sliced_on_both_sides_by_cross_validation():
    K = Gaussian(1.0).gram(X)
    model = make_pipeline(ProjectionMap("precomputed", n_components=10), LogisticRegression())
    found = GridSearchCV(model, {"projectionmap__n_components": [5, 10]}, cv=3).fit(K, Y)
    assert found.best_score_ > 0.7


def test_a_small_budget_gives_the_same_features():
    whole = ProjectionMap(n_components=30).fit(X)
    small = ProjectionMap(n_components=30, engine=LocalEngine(memory="60KiB", threads=2)).fit(X)
    assert np.allclose(whole.transform(X), small.transform(X))


# Bad input.


WORDS = ["ab", "bc", "cd"]


def test_duplicates_only_one_point_and_nothing():
    assert ProjectionMap(Gaussian(1.0)).fit(np.ones((5, 2))).rank_ == 1
    assert ProjectionMap(Gaussian(1.0)).fit(np.ones((1, 2))).transform([[1.0, 1.0]]).tolist() == [[1.0]]
    with pytest.raises(ValueError, match="nothing to project on"):
        ProjectionMap("linear").fit(np.zeros((3, 2)))


def test_an_indefinite_gram_is_refused_with_its_witness():
    with pytest.raises(NotAKernelError, match="LandmarkMap") as error:
        ProjectionMap(FromPairs(share_a_letter)).fit(WORDS)
    assert sorted(error.value.witness.indices) == [0, 1, 2]
    assert LandmarkMap(FromPairs(share_a_letter)).fit_transform(WORDS).shape == (3, 3)
    declared = FromPairs(share_a_letter, claims=["SYMMETRIC", "PSD"])
    with pytest.raises(NotAKernelError):
        ProjectionMap(declared).fit(WORDS)
    with pytest.raises(NotAKernelError):
        ProjectionMap("precomputed").fit(np.array([[1.0, 2.0], [2.0, 1.0]]))


def test_components_are_columns_so_that_both_sides_share_the_landmarks():
    def lopsided(x, z):
        return float(np.tanh(x @ z) + 0.2 * x[0])

    both = LandmarkMap(lopsided, n_components=6, side="both", random_state=0).fit(X)
    assert both.transform(X).shape[1] == both.n_features_out_ == 6 and both.rank_ == len(both.landmarks_) == 3
    left = LandmarkMap(lopsided, landmark_indices=both.landmark_indices_).fit(X)
    right = LandmarkMap(lopsided, landmark_indices=both.landmark_indices_, side="right").fit(X)
    np.testing.assert_array_equal(both.transform(X), np.hstack([left.transform(X), right.transform(X)]))
    with pytest.raises(ValueError, match="n_components must be even, got 5"):
        LandmarkMap(lopsided, n_components=5, side="both").fit(X)
    with pytest.raises(ValueError, match="n_components asks for 3 landmarks but 2 were given"):
        LandmarkMap(lopsided, n_components=6, side="both", landmark_indices=[0, 1]).fit(X)

"""SimilarityIndex: the same as comparing all pairs, or said to be less; and what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners import INDEXES, with_similarity
from market import KINDS
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from similitude import FromPairs, load, save
from similitude.errors import NotAKernelError, PairError
from similitude.kernels import DTW, Edit, Gaussian, Jaccard, Linear
from similitude.kernels.vectors.radial import DistanceBounds
from similitude.learners import KernelKMeans, SimilarityIndex, SimilarityKNeighborsClassifier

rng = np.random.default_rng(0)
WORDS = ["kernel", "kernels", "colonel", "sieve", "sieves", "steve"]


def brute(k, X, Q, wanted, own=False):
    """Return the most similar objects by the whole matrix, ties by index."""
    K = np.array(k.gram(X) if own else k.cross(Q, X), float)
    if own:
        np.fill_diagonal(K, -np.inf)
    order = np.argsort(-K, axis=1, kind="stable")[:, :wanted]
    return order, np.take_along_axis(K, order, axis=1)


def agrees(k, X, Q, wanted, threshold):
    """Check that an exact index finds what all pairs give."""
    index = SimilarityIndex(k, method="exact").fit(X)
    k = index.similarity_
    for found, expected in (
        (index.nearest(Q, wanted), brute(k, X, Q, wanted)),
        (index.nearest(None, len(X) - 1), brute(k, X, X, len(X) - 1, own=True)),
    ):
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found[0], expected[0])
    i, j, values = index.pairs(threshold)
    K = np.asarray(k.gram(X), float)
    expected = np.nonzero(np.triu(threshold <= K, 1))
    np.testing.assert_array_equal(np.stack([i, j]), np.stack(expected))
    np.testing.assert_allclose(values, K[expected], rtol=1e-12)


texts = st.lists(st.text("abcé ", max_size=9), min_size=3, max_size=14)
sets = st.lists(st.sets(st.integers(0, 9), max_size=5), min_size=3, max_size=14)


@settings(max_examples=25)
@given(texts, texts, st.floats(0, 1))
def test_edit_by_bounds_is_edit_by_all_pairs(X, Q, threshold):
    agrees(Edit(), X, Q, 3, threshold)


@settings(max_examples=25)
@given(sets, sets, st.floats(0, 1))
def test_jaccard_by_bounds_is_jaccard_by_all_pairs(X, Q, threshold):
    agrees(Jaccard(), X, Q, 3, threshold)


@settings(max_examples=15)
@given(st.integers(0, 10**6), st.sampled_from([None, 0, 2, 0.2]), st.integers(1, 2), st.booleans())
def test_warping_by_bounds_is_warping_by_all_pairs(seed, window, channels, ragged):
    draw = np.random.default_rng(seed)
    X, Q = (draw.normal(size=(n, 12, channels)).cumsum(axis=1).round(1) for n in (12, 4))
    if ragged:
        X, Q = ([one[: draw.integers(1, 13)] for one in some] for some in (X, Q))
    agrees(DTW(sigma=5.0, window=window), X, Q, 3, 0.3)


def test_distances_of_long_vectors_by_axes_are_those_of_all_pairs():
    basis = rng.normal(size=(5, 80))
    X, Q = (rng.normal(size=(n, 5)) @ basis + 0.1 * rng.normal(size=(n, 80)) for n in (120, 10))
    agrees(Gaussian(), X, Q, 4, 0.5)
    index = SimilarityIndex(Gaussian(), method="exact").fit(X)
    index.nearest(Q, 1)
    assert index.method_ == "bounds" and index.n_evaluated_ < 10 * 120 / 2


@pytest.mark.parametrize("kind", KINDS)
def test_an_index_takes(kind):
    similarity, X = KINDS[kind]
    index = with_similarity(INDEXES[0], similarity).fit(X)
    n = index.n_samples_fit_
    values = index.nearest(X, n)[1]
    assert values.shape == (n, n) and (np.diff(values, axis=1) <= 0).all()


def test_other_similarities_compare_all_pairs():
    X = rng.normal(size=(30, 2))
    index = SimilarityIndex(Linear()).fit(X)
    found, values = index.nearest(X[:5], 4)
    expected = brute(Linear(), X, X[:5], 4)
    np.testing.assert_array_equal(found, expected[0])
    np.testing.assert_allclose(values, expected[1])
    assert (index.method_, index.exact_, index.n_evaluated_) == ("all pairs", True, 150)


def test_a_subclass_with_another_block_has_no_bounds():
    class Opposite(Edit):
        claims = frozenset({"SYMMETRIC"})

        def block(self, A, B):
            return 1.0 - super().block(A, B)

    assert Edit().bounds(Edit().encode(WORDS)) is not None
    assert Opposite().bounds(Opposite().encode(WORDS)) is None
    assert SimilarityIndex(Opposite()).fit(WORDS).nearest(["kernel"], 1)[0][0, 0] != 0


def test_the_query_comes_first_and_pairs_need_symmetry():
    asked = []
    k = FromPairs(lambda s, t: asked.append((s, t)) or float(len(s) - len(t)))
    index = SimilarityIndex(k).fit(["a", "bbb"])
    found, values = index.nearest(["xx"], 2)
    assert (found.tolist(), values.tolist()) == ([[0, 1]], [[1.0, -1.0]])
    assert set(asked) == {("xx", "a"), ("xx", "bbb")}
    with pytest.raises(ValueError, match="does not claim to be symmetric"):
        index.pairs(0.5)
    assert SimilarityIndex(k.symmetrized()).fit(["a", "bbb"]).duplicates(0.0)[0].tolist() == [0, 1]


def test_groups_are_linked_by_chains_of_pairs():
    index = SimilarityIndex(Edit()).fit(["abcd", "zzz", "abce", "abfe", "zzy", "q"])
    assert [group.tolist() for group in index.duplicates(0.75)] == [[0, 2, 3]]
    assert [group.tolist() for group in index.duplicates(0.6)] == [[0, 2, 3], [1, 4]]
    assert index.duplicates(2.0) == []


def clustered(n, dimension=8):
    """Return vectors around a few centers, far from uniform as data are."""
    draw = np.random.default_rng(3)
    return draw.normal(size=(20, dimension))[draw.integers(0, 20, n)] * 2 + draw.normal(size=(n, dimension))


def test_a_graph_finds_most_neighbors_from_few_pairs():
    X, calls = clustered(1500), []

    def near(s, t):
        calls.append(1)
        return float(-((s - t) @ (s - t)))

    class Near(Gaussian):
        """The same without a loop in Python."""

    graph = SimilarityIndex(Near(sigma=3.0), method="approximate", random_state=0).fit(X)
    expected = brute(Gaussian(3.0), X, X, 5, own=True)[0]
    recall = np.mean([np.isin(a, b).mean() for a, b in zip(expected, graph.nearest(None, 5)[0], strict=True)])
    assert (graph.method_, graph.exact_) == ("graph", False) and "no bounds" in graph.reason_
    assert recall > 0.8 and graph.n_evaluated_ <= 0.14 * 1500 * 1499 / 2
    again = SimilarityIndex(Near(sigma=3.0), method="approximate", random_state=0).fit(X)
    np.testing.assert_array_equal(again.nearest(X[:5] + 0.01, 3)[0], graph.nearest(X[:5] + 0.01, 3)[0])
    few = SimilarityIndex(FromPairs(near, claims=["SYMMETRIC"])).fit(list(X[:30]))
    assert few.exact_ and not calls


def own_recall(index, k, X, wanted=10):
    """Return the share of values in the graph that are as large as the true ones."""
    least = brute(k, X, X, wanted, own=True)[1][:, -1:]
    return np.mean(index.nearest(None, wanted)[1] >= least - 1e-9)


def test_a_graph_calls_both_ways_unless_symmetry_is_claimed():
    X, asked = [float(x) for x in clustered(300, 1)[:, 0]], []

    def lean(s, t):
        asked.append((s, t))
        return -abs(s - t) + 0.01 * (s > t)

    one = SimilarityIndex(FromPairs(lean), method="approximate", random_state=0).fit(X)
    assert one.method_ == "graph" and one.n_evaluated_ == len(asked)
    assert {(t, s) for s, t in asked} == set(asked)
    assert own_recall(one, FromPairs(lean), X) > 0.95
    indices, values = one.nearest(None, 3)
    assert [lean(X[5], X[j]) for j in indices[5]] == values[5].tolist()


def test_the_estimated_recall_of_a_graph_is_that_of_all_objects():
    X = np.random.default_rng(4).normal(size=(1200, 40))

    class Hidden(Gaussian):
        """Without bounds, of vectors that have no structure: a graph finds only some neighbors."""

    index = SimilarityIndex(Hidden(6.0), method="approximate", random_state=1).fit(X)
    estimate = float(index.reason_.split("it found ")[1].split("%")[0]) / 100
    truth = own_recall(index, Gaussian(6.0), X)
    assert truth < 0.9 and abs(estimate - truth) < 0.2


def test_neighbors_among_themselves_start_from_bounds():
    X = clustered(400, 80)
    index = SimilarityIndex(Gaussian(), method="approximate", random_state=0).fit(X)
    before = index.n_evaluated_
    assert own_recall(index, index.similarity_, X) > 0.95
    after = index.n_evaluated_
    assert before < after <= before + 100 * 400
    index.nearest(None, 5)
    assert index.n_evaluated_ == after


@pytest.mark.parametrize("n", [3, 5, 30])
def test_a_graph_of_few_objects_has_all_neighbors(n):
    X = clustered(n, 2)
    index = SimilarityIndex(Gaussian(1.0), method="approximate", random_state=0).fit(X)
    wanted = min(n - 1, 20)
    assert (index.method_, own_recall(index, Gaussian(1.0), X, wanted)) == ("graph", 1.0)


def test_bounds_that_say_nothing_give_way_to_a_graph():
    class Vacuous(DistanceBounds):
        def upper(self, A, B):
            return np.ones((len(A), len(B)))

    class Weak(Gaussian):
        def bounds(self, A):
            return Vacuous(self, A)

    X = clustered(1000, 3)
    index = SimilarityIndex(Weak(1.0), method="approximate", random_state=0).fit(X)
    assert (index.method_, index.exact_) == ("graph", False) and "it found" in index.reason_
    assert "bounds leave 99.90%" in index.reason_ and own_recall(index, Gaussian(1.0), X) > 0.95


def test_pairs_at_the_threshold_count():
    """Every number of edits in 20 letters, 3 of 20 are 0.85, is found at its own similarity and not above."""
    longest, letters = 20, "abcdefghijklmnopqrst"
    for edits_made in range(1, longest):
        X = [letters, "-" * edits_made + letters[edits_made:]]
        assert len(SimilarityIndex(Edit()).fit(X).pairs(1 - edits_made / longest)[0]) == 1
        assert len(SimilarityIndex(Edit()).fit(X).pairs(1 - (edits_made - 0.5) / longest)[0]) == 0


def test_a_short_list_says_what_it_found_in_a_trial():
    X = clustered(400, 80)
    index = SimilarityIndex(Gaussian(), method="approximate", random_state=0).fit(X)
    assert (index.method_, index.exact_) == ("short list", False) and "of the 10 nearest" in index.reason_
    found = index.nearest(X[:20], 1)[0][:, 0]
    assert (found == np.arange(20)).all()


def test_saved_and_loaded(tmp_path):
    for k, X in ((Edit(), WORDS), (Gaussian(), clustered(2100)[:, :3])):
        index = SimilarityIndex(k, method="approximate", random_state=0).fit(X)
        before = index.nearest(X[:2], 2)
        save(index, tmp_path / "index.sim")
        again = load(tmp_path / "index.sim")
        for one, other in zip(before, again.nearest(X[:2], 2), strict=True):
            np.testing.assert_array_equal(one, other)
        assert again.reason_ == index.reason_
    assert clone(index).get_params()["method"] == "approximate"


def test_what_is_refused():
    index = SimilarityIndex(Edit())
    with pytest.raises(NotFittedError):
        index.nearest(["a"], 1)
    for X in ([], "words"):
        with pytest.raises((ValueError, TypeError), match="X "):
            index.fit(X)
    index.fit(WORDS)
    for k in (7, 0, 1.5, True):
        with pytest.raises(ValueError, match=r"k = 7 is more|k must be an integer"):
            index.nearest(["a"], k)
    with pytest.raises(ValueError, match="besides the object itself"):
        index.nearest(None, 6)
    for threshold in (np.nan, np.inf, "high", None):
        with pytest.raises(ValueError, match="threshold must be"):
            index.pairs(threshold)
    with pytest.raises(ValueError, match="method must be"):
        SimilarityIndex(Edit(), method="fast").fit(WORDS)
    with pytest.raises(ValueError, match=r"Precomputed\(M\) on indices"):
        SimilarityIndex("precomputed").fit(np.eye(3))
    undefined = FromPairs(lambda s, t: np.nan if s == t == "b" else 1.0, claims=["SYMMETRIC"])
    with pytest.raises(PairError, match=r"pair \(0, 1\)"):
        SimilarityIndex(undefined).fit(["a", "b"]).nearest(["b"], 1)


def test_one_nearest_neighbor_by_warping_and_what_has_no_distance():
    draw = np.random.default_rng(0)
    X = np.sin(np.arange(40) / 4 + draw.random((30, 1))) + 0.1 * draw.normal(size=(30, 40))
    X[::2] **= 3
    y = np.arange(30) % 2
    for window in (None, 0.1):
        k = DTW(window=window)
        model = SimilarityKNeighborsClassifier(k, n_neighbors=1).fit(X[:20], y[:20])
        expected = np.argmin(k.distances(X[20:], X[:20]), axis=1)
        np.testing.assert_array_equal(model.kneighbors(X[20:], return_distance=False)[:, 0], expected)
        np.testing.assert_array_equal(model.predict(X[20:]), y[:20][expected])
        assert model.validity_.verdict == "INVALID"
    with pytest.raises(ValueError, match="gives no distances: use return_distance=False"):
        model.kneighbors(X)
    with pytest.raises(ValueError, match="gives no distances: use weights='uniform'"):
        SimilarityKNeighborsClassifier(DTW(), weights="distance").fit(X, y)
    with pytest.raises(NotAKernelError, match="SimilarityKMedoids finds clusters by any similarity"):
        KernelKMeans(DTW(), n_clusters=2).fit(X)


def test_duplicates_on_the_command_line(tmp_path, capsys):
    from similitude.cli import main

    (tmp_path / "some.fasta").write_text(">a\nACGT\n>b\nACGA\n>c\nTTTTTT\n")
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["duplicates", str(tmp_path / "some.fasta"), "--similarity", "edit", "--threshold", "0.7"])
    assert capsys.readouterr().out.splitlines()[:3] == [
        "1 group of duplicates with 2 of 3 rows",
        "  row 0: 'ACGT'",
        "  row 1: 'ACGA'",
    ]

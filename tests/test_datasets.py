"""The data sets that ship with the package."""

import hashlib
import importlib
import inspect
import re
import subprocess
import sys
from collections import Counter
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from similitude import FromBlocks, Precomputed, SimilarityClassifier, check_kernel, datasets, margin
from similitude.kernels import DTW, Gaussian, Gower, Polynomial, Spectrum, WeisfeilerLehman
from similitude.learners import KernelSVC

ROOM = importlib.import_module("similitude.data.datasets")


def shares(a: datasets.Paper, b: datasets.Paper) -> float:
    return float(bool(a.authors & b.authors or a.keywords & b.keywords))


def test_iris_is_150_flowers_of_three_species():
    X, y = datasets.iris()
    assert X.shape == (150, 4) and X.dtype == np.float64
    assert y.shape == (150,) and y.dtype.kind == "U"
    assert Counter(y.tolist()) == {"setosa": 50, "versicolor": 50, "virginica": 50}
    assert (X > 0).all() and (X < 10).all()


def test_iris_has_the_values_that_fisher_printed():
    X, _ = datasets.iris()
    np.testing.assert_allclose(X.mean(axis=0), [5.843333, 3.057333, 3.758, 1.199333], atol=1e-6)
    assert X[34].tolist() == [4.9, 3.1, 1.5, 0.2]
    assert X[37].tolist() == [4.9, 3.6, 1.4, 0.1]


def test_promoters_are_106_strings_of_57_letters():
    X, y = datasets.promoters()
    assert len(X) == len(set(X)) == 106
    assert {len(x) for x in X} == {57}
    assert set("".join(X)) == set("acgt")
    assert y.shape == (106,) and y.dtype.kind == "U"
    assert Counter(y.tolist()) == {"+": 53, "-": 53}


def test_papers_are_complete():
    papers = datasets.papers().objects
    assert len(papers) == 34
    assert len({paper.title for paper in papers}) == len(papers)
    assert [paper.year for paper in papers] == sorted(paper.year for paper in papers)
    for paper in papers:
        assert paper.title and paper.authors and 2 <= len(paper.keywords) <= 4, paper
        assert all(part and part == part.strip() for part in (paper.title, *paper.authors, *paper.keywords))
        assert all(keyword == keyword.lower() for keyword in paper.keywords)
        assert 1900 < paper.year < 2030


def test_papers_are_values():
    first, again = datasets.papers().objects, datasets.papers().objects
    assert first == again and len(set(first + again)) == len(first)
    with pytest.raises(FrozenInstanceError):
        first[0].year = 2000


def test_a_paper_prints_as_a_citation():
    paper = datasets.Paper("A Title", frozenset({"Blum", "Balcan"}), frozenset({"similarity"}), 2006)
    assert str(paper) == "Balcan, Blum (2006): A Title"


def test_sharing_an_author_or_a_keyword_is_not_transitive():
    by_title = {paper.title: paper for paper in datasets.papers().objects}
    a = by_title["Weisfeiler-Lehman Graph Kernels"]
    b = by_title["A Kernel Two-Sample Test"]
    c = by_title["Theory of Reproducing Kernels"]
    assert shares(a, b) == shares(b, c) == 1.0
    assert shares(a, c) == 0.0


def test_sharing_an_author_or_a_keyword_is_no_kernel():
    papers = datasets.papers().objects
    gram = np.array([[shares(a, b) for b in papers] for a in papers])
    assert (gram == gram.T).all() and (np.diag(gram) == 1.0).all()
    assert np.linalg.eigvalsh(gram)[0] < -0.4


def test_three_papers_give_the_matrix_of_the_source():
    by_title = {paper.title: paper for paper in datasets.papers().objects}
    three = [
        by_title[title]
        for title in ("Weisfeiler-Lehman Graph Kernels", "A Kernel Two-Sample Test", "Theory of Reproducing Kernels")
    ]
    gram = np.array([[shares(a, b) for b in three] for a in three])
    assert gram.tolist() == [[1, 1, 0], [1, 1, 1], [0, 1, 1]]
    np.testing.assert_allclose(np.linalg.eigvalsh(gram), [1 - np.sqrt(2), 1, 1 + np.sqrt(2)])
    a = np.array([1, -1, 1])
    assert a @ gram @ a == -1 and np.linalg.det(gram) == pytest.approx(-1)


# What every data set has.

REAL = {
    # name: kind, objects, labels, license, SHA-256 of the file
    "adult": ("table", 1000, {"<=50K": 768, ">50K": 232}, "CC BY 4.0", "8bef20de9b393460"),
    "iris": ("vectors", 150, {"setosa": 50, "versicolor": 50, "virginica": 50}, "CC BY 4.0", "9cc1c345c71bcc9b"),
    "messages": ("strings", 800, {"ham": 693, "spam": 107}, "CC BY 4.0", "f79f79f99997aa4b"),
    "molecules": ("graphs", 150, {"soluble": 75, "insoluble": 75}, "CC0 1.0", "11f4f725bb49f11c"),
    "papers": (
        "sets",
        34,
        {"algorithms": 12, "choice": 4, "objects": 7, "scale": 4, "theory": 7},
        "CC0 1.0",
        "c334169ae8468bee",
    ),
    "promoters": ("strings", 106, {"+": 53, "-": 53}, "CC BY 4.0", "baf5bdd74c8f02cc"),
    "vowels": ("series", 144, {f"speaker{i}": 16 for i in range(1, 10)}, "CC BY 4.0", "bd44ecc1d6f46bc7"),
}
SAMPLES = {
    "rings": lambda seed=None: datasets.rings(random_state=seed),
    "beyond_two": lambda seed=None: datasets.beyond_two(random_state=seed),
    "two_groups": lambda seed=None: datasets.two_groups(30, random_state=seed),
}
README = datasets.path("iris").with_name("README.md")


@pytest.mark.parametrize("name", REAL)
def test_real_data_sets_are_as_told(name):
    kind, n, labels, license, digest = REAL[name]
    data = getattr(datasets, name)()
    assert (data.name, data.kind, data.license) == (name, kind, license)
    assert len(data.objects) == len(data.labels) == n
    assert data.labels.dtype.kind == "U" and Counter(data.labels.tolist()) == labels
    assert hashlib.sha256(datasets.path(name).read_bytes()).hexdigest()[:16] == digest


@pytest.mark.parametrize("name", REAL)
def test_sources_and_licenses_are_stated(name):
    data = getattr(datasets, name)()
    _, _, section = README.read_text(encoding="utf-8").partition(f"## {datasets.path(name).name}\n")
    section = section.partition("\n## ")[0]
    assert f"License: {data.license}." in section and "- Source: " in section
    if data.license == "CC BY 4.0":  # asks for the source, and for what was changed
        (doi,) = re.findall(r"https://doi\.org/\S+(?=;)", data.source)
        assert doi in section and "- Changes: " in section
    assert f"| `{datasets.path(name).name}` | `datasets.{name}()` |" in README.read_text(encoding="utf-8")


def test_the_table_of_the_module_is_complete():
    functions = [name for name in datasets.__all__ if inspect.isfunction(getattr(datasets, name)) and name != "path"]
    rows = {line.split("`")[1]: line for line in ROOM.__doc__.splitlines() if line.startswith("| `")}
    assert sorted(rows) == functions
    for name, (kind, n, _, license, _) in REAL.items():
        assert f"| {kind} | {n:,} |" in rows[name] and f"| {datasets.path(name).name} | {license} |" in rows[name]


def test_the_files_are_small():
    folder = README.parent
    shipped = {path.name for path in folder.iterdir() if path.suffix in (".csv", ".jsonl", ".ts")}
    assert shipped == {datasets.path(name).name for name in REAL} | {"molecules.csv"}
    assert sum((folder / name).stat().st_size for name in shipped) < 600_000
    assert not any(b"\r" in (folder / name).read_bytes() for name in shipped)


@pytest.mark.parametrize("name", [*REAL, *SAMPLES])
def test_a_data_set_unpacks_and_prints(name):
    data = (SAMPLES.get(name) or getattr(datasets, name))()
    X, y = data
    assert X is data.objects and y is data.labels
    first, description, source, license = str(data).splitlines()
    assert first.startswith(f"{name} ({data.kind}): {len(y)} objects, labels ")
    assert description == data.description and description.endswith((".", "?", ".)"))
    assert source == f"Source: {data.source}" and license == f"License: {data.license}"
    assert repr(data) == f"<Dataset {first}>"
    assert first[:20] in data._repr_html_() and "<=" not in data._repr_html_()
    with pytest.raises(FrozenInstanceError):
        data.labels = None


def test_a_data_set_is_no_sequence_of_objects():
    with pytest.raises(TypeError, match=r"X must be a sequence of objects .* got Dataset"):
        Gaussian().gram(datasets.iris())


def test_each_call_gives_arrays_of_its_own():
    datasets.iris().objects[:] = 0
    assert datasets.iris().objects.min() > 0


def test_a_path_that_is_not_there():
    with pytest.raises(ValueError, match=r"name must be one of .*'adult'.*, got"):
        datasets.path("wine")
    assert all(datasets.path(name).is_file() for name in REAL)


def test_data_sets_load_no_heavy_library():
    program = (
        "import sys; from similitude import datasets as d; d.iris(), d.vowels(), d.molecules(), d.papers(), d.rings()\n"
        "print([m for m in ('pandas', 'scipy', 'sklearn') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"


def test_without_pandas_the_table_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"adult.* pip install 'similitude\[cli\]'"):
        datasets.adult()


def test_messages_are_different_and_of_one_line():
    X, _ = datasets.messages()
    assert len(set(X)) == 800 and not any("\n" in x for x in X)
    assert all(x.strip() for x in X)


def test_adult_has_numbers_categories_and_missing_values():
    X, _ = datasets.adult()
    numbers = X.select_dtypes("number").columns.tolist()
    assert numbers == ["age", "fnlwgt", "education_num", "capital_gain", "capital_loss", "hours_per_week"]
    missing = X.isna().sum()
    assert missing[missing > 0].to_dict() == {"workclass": 62, "occupation": 62, "native_country": 18}
    assert all(name.isidentifier() for name in X.columns)


def test_vowels_have_12_channels_and_unequal_lengths():
    X, y = datasets.vowels()
    assert {x.shape[1] for x in X} == {12} and all(np.isfinite(x).all() for x in X)
    assert (min(map(len, X)), max(map(len, X))) == (7, 26)
    assert X[0][0, :3].tolist() == [1.861, -0.207, 0.262]
    assert y.tolist() == sorted(y)


@pytest.mark.parametrize(
    ("name", "similarity", "at_least"),
    [
        ("iris", "gaussian", 0.93),
        ("messages", Spectrum(4), 0.9),
        ("adult", Gower(), 0.79),
        ("vowels", DTW(), 0.9),
        ("molecules", WeisfeilerLehman(1).normalized(), 0.8),
    ],
)
def test_each_kind_can_be_learned(name, similarity, at_least):
    X, y = getattr(datasets, name)()
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[::2], order[1::2]
    part = (lambda rows: X.iloc[rows]) if name == "adult" else lambda rows: [X[i] for i in rows]
    model = SimilarityClassifier(similarity, random_state=0).fit(part(train), y[train])
    assert model.score(part(test), y[test]) >= at_least


# The toy problems of Balcan and Blum.


def by_definition(problem, x, weights):
    """The gap of one object, as a loop over what it is compared with."""
    total = {label: sum(problem.masses[problem.labels == label]) for label in (1, -1)}
    mean = {1: 0.0, -1: 0.0}
    for other, label in enumerate(problem.labels):
        mean[label] += problem.masses[other] / total[label] * weights[other] * problem.similarities[x, other]
    return mean[problem.labels[x]] - mean[-problem.labels[x]]


def test_figure_3_1_has_the_gaps_of_the_paper():
    problem = datasets.figure_3_1()
    np.testing.assert_allclose(problem.gaps(), [1.25, -0.25, 1.25])
    for a in (0.0, 0.3, 1.0):  # one of many best weights for each a
        np.testing.assert_allclose(problem.gaps([a, 1, (1 - a) / 2]), 0.25)
    assert margin("linear", problem.points, problem.labels).value == pytest.approx(0.5)
    np.testing.assert_allclose(problem.similarities, problem.points @ problem.points.T)
    np.testing.assert_allclose(problem.masses, [0.25, 0.25, 0.5])


def test_no_weights_give_figure_3_1_a_larger_gap():
    problem = datasets.figure_3_1()
    unit = np.array([problem.gaps(one) for one in np.eye(3)]).T  # gaps are linear in the weights
    found = linprog(
        [0, 0, 0, -1], A_ub=np.c_[-unit, np.ones(3)], b_ub=np.zeros(3), bounds=[(0, 1)] * 3 + [(None, None)]
    )
    assert -found.fun == pytest.approx(0.25)


@pytest.mark.parametrize(("positive", "left"), [(0.5, 0.5), (0.9, 0.2), (0.98, 0.5)])
def test_masses_of_figure_3_1(positive, left):
    problem = datasets.figure_3_1(positive, left)
    assert problem.masses[problem.labels == 1].sum() == pytest.approx(positive)
    assert problem.masses[0] == pytest.approx(positive * left)
    weights = np.array([0.3, 0.7, 0.1])
    np.testing.assert_allclose(problem.gaps(weights), [by_definition(problem, x, weights) for x in range(3)])


def test_two_points_are_those_of_footnote_7():
    problem = datasets.two_points()
    assert problem.mean_similarity(1, 1) == problem.mean_similarity(-1, -1) == pytest.approx(0.25)
    assert problem.mean_similarity(1, -1) == problem.mean_similarity(-1, 1) == pytest.approx(-0.25)
    assert problem.weak_gap == problem.balanced_gap == pytest.approx(0.5)
    at = {point: problem.masses[problem.points[:, 0] == point] for point in (1, -1)}
    assert sum(max(masses) for masses in at.values()) == pytest.approx(0.75)  # the best anyone can do
    np.testing.assert_allclose(problem.similarities, np.outer(problem.points, problem.points))


@pytest.mark.parametrize(("positive", "alike", "gap", "error"), [(0.9, 0.063, 0.05, 0.5108), (0.8, 0.12, 0.054, 0.526)])
def test_the_unbalanced_problem_has_a_gap_and_the_rule_errs_on_more_than_half(positive, alike, gap, error):
    problem = datasets.unbalanced(positive, alike)
    assert problem.weak_gap == pytest.approx(gap, abs=1e-3)
    right = 0.5 + problem.gaps() / 4  # + with probability (1 + g)/2, g half the difference of the means
    assert 1 - problem.masses @ right == pytest.approx(error, abs=1e-4)
    assert problem.balanced_gap == pytest.approx((alike - 1) / 2)


def test_expectations_are_means_of_many_draws():
    rng = np.random.default_rng(0)
    problem = datasets.FewObjects(np.array([0.2, 0.5, 0.3]), np.array([1, -1, 1]), rng.uniform(-1, 1, (3, 3)))
    a, b = problem.draw(40000, rng), problem.draw(40000, rng)
    values, same = problem.similarities[a, b], problem.labels[a] == problem.labels[b]
    assert problem.weak_gap == pytest.approx(values[same].mean() - values[~same].mean(), abs=0.03)
    for own, other in [(1, 1), (1, -1), (-1, 1), (-1, -1)]:
        among = (problem.labels[a] == own) & (problem.labels[b] == other)
        assert problem.mean_similarity(own, other) == pytest.approx(values[among].mean(), abs=0.03)
    np.testing.assert_allclose(np.bincount(a) / len(a), problem.masses, atol=0.01)
    positives = problem.draw(4000, rng, label=1)
    assert set(positives.tolist()) == {0, 2} and np.mean(positives == 0) == pytest.approx(0.4, abs=0.03)


def test_few_objects_can_be_used_as_a_similarity():
    problem = datasets.unbalanced()
    drawn = problem.draw(10, random_state=1)
    K = FromBlocks(problem.kernel).gram(drawn)
    np.testing.assert_array_equal(K, problem.similarities[drawn][:, drawn])
    assert (problem.draw(10, random_state=1) == drawn).all() and (problem.draw(10, random_state=2) != drawn).any()
    with pytest.raises(FrozenInstanceError):
        problem.masses = None


@pytest.mark.parametrize("n", [2, 7, 50])
def test_two_groups_by_definition(n):
    K, y = datasets.two_groups(n, random_state=3)
    assert (K == K.T).all() and (np.diag(K) == 1).all() and (np.abs(K) <= 1).all()
    same = np.equal.outer(y, y) & ~np.eye(n, dtype=bool)
    assert (K[same] == 0.2).all()
    assert np.sum(y == 1) - np.sum(y == -1) in (0, 1)
    again, labels = datasets.two_groups(n, random_state=3)
    assert (again == K).all() and (labels == y).all()
    wide, y = datasets.two_groups(n, least=0.2, most=0.9, random_state=3)
    within = wide[np.equal.outer(y, y) & ~np.eye(n, dtype=bool)]
    assert ((within >= 0.2) & (within <= 0.9)).all()


def test_two_groups_is_good_and_no_kernel():
    for seed in range(20):
        n = 200
        K, y = datasets.two_groups(n, random_state=seed)
        own = [np.mean([K[i, j] for j in range(n) if j != i and y[j] == y[i]]) for i in range(n)]
        gaps = own - np.array([K[i, y != y[i]].mean() for i in range(n)])
        deviation = np.sqrt(2 / (3 * n))
        assert (gaps >= 0.2 - 5 * deviation).all() and np.mean(gaps >= 0.2 - 3 * deviation) > 0.98
        assert gaps.mean() == pytest.approx(0.2, abs=0.02)
        assert np.linalg.eigvalsh(K)[0] < -9


def test_the_share_of_indefinite_matrices_of_six():
    indefinite = [
        np.linalg.eigvalsh(datasets.two_groups(6, random_state=seed).objects)[0] < -1e-9 for seed in range(400)
    ]
    assert np.mean(indefinite) == pytest.approx(0.96, abs=0.03)


def test_problems_refuse_what_is_no_mass():
    with pytest.raises(ValueError, match="label 0"):
        datasets.two_points().draw(3, label=0)


# The toy problems of the lectures.


def separable(X, y, intercept=True):
    """Is there a w (and b) with y (<w, x> + b) >= 1?"""
    features = np.column_stack([X, np.ones(len(X))]) if intercept else X
    answer = linprog(
        np.zeros(features.shape[1]), A_ub=-y[:, None] * features, b_ub=-np.ones(len(y)), bounds=(None, None)
    )
    assert answer.status in (0, 2)
    return answer.status == 0


def products(X):
    """The squares and products of the coordinates."""
    return np.stack([X[:, i] * X[:, j] for i in range(X.shape[1]) for j in range(i, X.shape[1])], axis=1)


@pytest.mark.parametrize("seed", range(5))
def test_beyond_two_is_separable_by_the_square_only(seed):
    X, y = datasets.beyond_two(random_state=seed)
    assert (y == np.where(np.abs(X[:, 0]) < 2, -1, 1)).all()
    assert not separable(X, y) and separable(np.column_stack([X, X**2]), y)
    assert (np.sign(X[:, 0] ** 2 - 4) == y).all()


def test_the_threshold_that_the_lecture_prints_is_wrong_for_some():
    X, y = datasets.beyond_two(10_000)
    wrong = np.sign(X[:, 0] ** 2 - 5) != y
    assert (wrong == ((np.abs(X[:, 0]) >= 2) & (X[:, 0] ** 2 < 5))).all()
    assert wrong.mean() == pytest.approx((np.sqrt(5) - 2) / 4, abs=0.01)
    assert np.mean(y == 1) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("n_features", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_rings_are_separable_by_squares_and_products_only(n_features, seed):
    X, y = datasets.rings(n_features=n_features, random_state=seed)
    assert not separable(X, y) and separable(products(X), y)
    assert not separable(products(X), y, intercept=False)  # directions say nothing
    assert separable((X**2).sum(axis=1, keepdims=True), y)
    radii = np.linalg.norm(X, axis=1)
    assert ((np.abs(radii - 1) <= 0.2) == (y == -1)).all() and ((np.abs(radii - 2) <= 0.2) == (y == 1)).all()


def test_kernels_of_degree_two_do_what_the_map_does():
    X, y = datasets.rings(60)
    assert margin(Polynomial(2), X, y).value > 0
    assert KernelSVC(Polynomial(2), hard=True).fit(X, y).score(X, y) == 1.0
    X, y = datasets.beyond_two(60)
    assert KernelSVC(Polynomial(2), C=1e4).fit(X, y).score(X, y) == 1.0
    assert KernelSVC("linear", C=1e4).fit(X, y).score(X, y) < 0.8


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_seeded(name):
    draw = SAMPLES[name]
    for seed in (None, 3):
        assert np.array_equal(draw(seed).objects, draw(seed).objects)
        assert np.array_equal(draw(seed).labels, draw(seed).labels)
    assert not np.array_equal(draw(3).objects, draw(4).objects)


@given(st.integers(1, 40), st.integers(2, 6), st.integers(0, 5))
def test_rings_of_any_size(n, n_features, seed):
    X, y = datasets.rings(n, n_features, random_state=seed)
    assert X.shape == (n, n_features) and np.sum(y == 1) - np.sum(y == -1) in (0, 1)


def test_the_objects_of_two_groups_are_a_matrix_for_precomputed():
    K, y = datasets.two_groups(60)
    assert check_kernel(Precomputed(K), range(60)).verdict == "INVALID"
    model = SimilarityClassifier("precomputed").fit(K, y)
    assert model.score(K, y) > 0.9

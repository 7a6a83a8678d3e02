"""One small fitted model of every kind that can be saved, with objects to ask it about."""

import warnings
from dataclasses import dataclass

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from market import SIMILARITIES
from objectives import OBJECTIVES

from similitude import (
    FromBlocks,
    FromPairs,
    Precomputed,
    Similarity,
    SimilarityClassifier,
    SimilarityMultilabelClassifier,
    SimilarityOrdinalClassifier,
    SimilarityRegressor,
    assess,
    check_kernel,
    choose_kernel,
    combine,
    cost_curve,
    drift_test,
    error_at_margin,
    learn_kernel,
    margin,
    two_sample_test,
)
from similitude.datasets import Paper, atoms, figure_3_1, lower_bound
from similitude.estimators import without_evaluation
from similitude.kernels import (
    DTW,
    Auto,
    Columns,
    Edit,
    Gaussian,
    GlobalAlignment,
    Gower,
    Graphlet,
    Jaccard,
    Laplace,
    Linear,
    Polynomial,
    RandomWalk,
    SharesAny,
    ShortestPath,
    Spectrum,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
    WeisfeilerLehmanEdges,
)
from similitude.learners import (
    AlignmentVote,
    ClusterNumber,
    KernelKMeans,
    KernelOneClassSVM,
    KernelPerceptron,
    KernelRanker,
    KernelRidge,
    KernelRidgeClassifier,
    KernelSGDSVC,
    KernelSVC,
    KernelSVR,
    KreinSVC,
    MarginPerceptron,
    OnlineKernelClassifier,
    OnlineKernelRegressor,
    RepresenterClassifier,
    RepresenterRegressor,
    SeparatorLP,
    SimilarityDensityClusters,
    SimilarityIndex,
    SimilarityKMedoids,
    SimilarityKNeighborsClassifier,
    SimilarityKNeighborsRegressor,
    SimilarityLinkage,
    SimilarityNovelty,
    SimilarityVote,
    SpectralClusters,
    WeakSimilarityVote,
)
from similitude.learners.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    OwnLoss,
    Quantile,
    Squared,
    SquaredHinge,
)
from similitude.learners.representer import Norm, OwnRegularizer, SquaredNorm
from similitude.linear import SmoothQuantile
from similitude.maps import (
    CompactMap,
    FourierMap,
    KernelPCA,
    LandmarkMap,
    PolynomialSketchMap,
    ProjectionMap,
    SpectralEmbedding,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((60, 3))
TWO = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
THREE = np.array(["left", "middle", "right"])[np.digitize(X[:, 0] + 0.5 * X[:, 1] ** 2, [-0.2, 0.7])]
GRAM = Gaussian(1.0).gram(X)
Y = np.sin(2 * X[:, 0]) + X[:, 1]
WORDS = ["".join(rng.choice(list("abcdé"), rng.integers(1, 12))) for _ in range(40)]
STARTS = np.array([word[0] < "c" for word in WORDS])
GRAPHS = [nx.path_graph(n) for n in range(2, 12)] + [nx.cycle_graph(n) for n in range(3, 13)]
for number, graph in enumerate(GRAPHS):
    nx.set_node_attributes(graph, {node: "ab"[(node + number) % 2] for node in graph}, "label")
ATTRIBUTED = [graph.copy() for graph in GRAPHS]
for graph in ATTRIBUTED:
    nx.set_node_attributes(graph, {node: [float(node), float(node % 3)] for node in graph}, "attributes")
SHAPE = ["path"] * 10 + ["cycle"] * 10
SERIES = [np.cumsum(rng.standard_normal(rng.integers(3, 9))) for _ in range(20)]
SETS = [set(map(int, rng.integers(0, 9, rng.integers(1, 5)))) for _ in range(20)]
HALVES = ["x"] * 10 + ["y"] * 10
TABLE = pd.DataFrame(
    {
        "age": np.where(np.arange(20) % 7 == 3, np.nan, rng.integers(20, 60, 20)),
        "job": pd.Categorical(rng.choice(["cook", "pilot", "judge"], 20), ["judge", "cook", "pilot"], ordered=True),
        "town": rng.choice(["Ulm", "Bonn"], 20),
    },
    index=[f"row {i}" for i in range(20)],
)

PAPERS = [
    Paper(f"On {i}", frozenset({"AB"[i % 2]}), frozenset({f"topic {i % 3}", "kernels"}), 1990 + i) for i in range(20)
]


def lopsided(A, B):
    return np.tanh(A @ B.T) + 0.4 * (A[:, :1] - B[:, 1])


def shared(s, t):
    return float(len(set(s) & set(t)))


def length(word):
    return [float(len(word)), float(word.count("a"))]


def topics(paper):
    return paper.authors | paper.keywords


def quartic(y, f):
    return (y - f) ** 4


def quartic_slope(y, f):
    return 4 * (f - y) ** 3


class Ages(Similarity):
    """A user's own similarity."""

    claims = frozenset({"SYMMETRIC", "PSD"})
    reason = "a Gaussian of one number"

    def __init__(self, years=5.0):
        self.years = years

    def encode(self, people):
        return np.array([person.age for person in people], float)

    def block(self, A, B):
        return np.exp(-(((A[:, None] - B) / self.years) ** 2))


@dataclass(frozen=True)
class Person:
    """A user's own kind of object."""

    age: float
    name: str


PEOPLE = [Person(float(age), f"person {age}") for age in rng.integers(1, 90, 30)]
FUNCTIONS = {f.__name__: f for f in (lopsided, shared, length, topics, quartic, quartic_slope, Ages, Person)}
LOPSIDED = FromBlocks(lopsided, objects="vectors")


def in_batches(model, labels, **options):
    model.partial_fit(X[:30], labels[:30], **options)
    return model.partial_fit(X[30:], labels[30:])


def without_evaluation_fit(model, objects, labels):
    """Fit without the error on new rows, which takes most of the time and is the same Estimate in all models."""
    with without_evaluation():
        return model.fit(objects, labels)


def estimators():
    yield "ridge", SimilarityClassifier().fit(X, TWO), X
    yield "three", SimilarityClassifier("gaussian", class_weight="balanced", random_state=3).fit(X, THREE), X
    yield "eight classes", SimilarityClassifier("gaussian", n_landmarks=10).fit(X, np.arange(len(X)) % 8), X
    for objective in ("logistic", "squared_hinge", "l1"):
        model = SimilarityClassifier("gaussian", n_landmarks=10, **OBJECTIVES[objective])
        yield objective, without_evaluation_fit(model, X, THREE), X
    yield "lopsided", SimilarityClassifier(LOPSIDED, side="both").fit(X, TWO), X
    yield "several", SimilarityClassifier([Gaussian(), LOPSIDED, "linear"]).fit(X, THREE), X
    yield "precomputed", SimilarityClassifier("precomputed").fit(X @ X.T, TWO), X[:9] @ X.T
    yield "indices", SimilarityClassifier(Precomputed(sp.csr_array(X @ X.T))).fit(np.arange(60), TWO), np.arange(60)
    yield "stream", in_batches(SimilarityClassifier(), TWO, classes=["other", "same"]), X
    yield "unlabeled", SimilarityClassifier(unlabeled=X[:20], n_landmarks=10).fit(X, TWO), X
    yield "own landmarks", SimilarityClassifier(landmarks=X[:5]).fit(X, TWO), X
    yield "words", SimilarityClassifier(FromPairs(shared)).fit(WORDS, STARTS), WORDS
    yield "frugal", SimilarityClassifier(FromPairs(shared), max_calls=20 * len(WORDS)).fit(WORDS, STARTS), WORDS
    yield "frugal", SimilarityClassifier(FromPairs(shared), max_calls=900).fit(WORDS, STARTS), WORDS
    yield "spectrum", SimilarityClassifier(Spectrum(2) + 0.5 * Edit()).fit(WORDS, STARTS), WORDS
    yield "automatic", SimilarityClassifier(Auto(kind="graphs")).fit(GRAPHS, SHAPE), GRAPHS
    yield "graphs", SimilarityClassifier(WeisfeilerLehman()).fit(GRAPHS, SHAPE), GRAPHS
    edged = [(list(one.edges), None, None, None, [[float(u * v)] for u, v in one.edges]) for one in GRAPHS]
    yield "attributes of edges", SimilarityClassifier(WeisfeilerLehmanEdges(1)).fit(edged, SHAPE), edged
    yield "assignments", SimilarityClassifier(WeisfeilerLehmanAssignment(1, [0.5, 1.0])).fit(GRAPHS, SHAPE), GRAPHS
    yield "attributes", SimilarityClassifier(ShortestPath(Gaussian())).fit(ATTRIBUTED, SHAPE), ATTRIBUTED
    yield "walks", SimilarityClassifier(RandomWalk()).fit(GRAPHS, SHAPE), GRAPHS
    yield "learned weights", without_evaluation_fit(SimilarityClassifier(Spectrum(2).learned()), WORDS, STARTS), WORDS
    weighted = SimilarityClassifier(WeisfeilerLehman(weights="idf").normalized())
    yield "weighted subtrees", weighted.fit(GRAPHS, SHAPE), GRAPHS
    yield "weighted sets", SimilarityClassifier(Jaccard(weights="idf")).fit(SETS, HALVES), SETS
    yield "graphlets", SimilarityClassifier(Graphlet()).fit(GRAPHS, SHAPE), GRAPHS
    yield "series", SimilarityClassifier(DTW()).fit(SERIES, HALVES), SERIES
    yield "alignment", SimilarityClassifier(GlobalAlignment()).fit(SERIES, HALVES), SERIES
    yield "sets", SimilarityClassifier(Jaccard()).fit(SETS, HALVES), SETS
    yield "gower", SimilarityClassifier(Gower()).fit(TABLE, HALVES), TABLE
    columns = Columns({"job": "ordinal", "town": Edit()})
    yield "columns", SimilarityClassifier(columns).fit(TABLE, HALVES), TABLE
    yield "polars", SimilarityClassifier(Gower()).fit(pl.from_pandas(TABLE.reset_index(drop=True)), HALVES), None
    yield (
        "pandas",
        SimilarityClassifier("gaussian").fit(pd.DataFrame(X, columns=list("abc")), TWO),
        pd.DataFrame(X, columns=list("abc")),
    )
    yield "sparse", SimilarityClassifier().fit(sp.csr_array(X), TWO), sp.csr_array(X)
    yield "float32", SimilarityClassifier("gaussian").fit(X.astype(np.float32), TWO), X.astype(np.float32)
    yield "papers", SimilarityClassifier(SharesAny().pullback(topics)).fit(PAPERS, HALVES), PAPERS
    yield "people", SimilarityClassifier(Ages()).fit(PEOPLE, [p.age > 40 for p in PEOPLE]), PEOPLE
    perceptron = KernelPerceptron(FromPairs(shared)).partial_fit(WORDS[:20], STARTS[:20], classes=[False, True])
    yield "words one by one", perceptron.partial_fit(WORDS[20:], STARTS[20:]), WORDS
    yield "regressor", SimilarityRegressor("gaussian").fit(X, Y), X
    yield "automatic", SimilarityRegressor("auto", random_state=0).fit(X, Y), X
    several = SimilarityRegressor(penalty="l1", n_landmarks=10)
    yield "several outputs", without_evaluation_fit(several, X, np.stack([Y, -Y], axis=1)), X
    quantiles = SimilarityRegressor("gaussian", loss="quantile", quantile=0.8, n_landmarks=20)
    yield "quantiles", without_evaluation_fit(quantiles, X, Y), X
    yield "several labels", SimilarityMultilabelClassifier("gaussian", n_landmarks=20).fit(X, (X > 0) * 1), X
    yield "grades", SimilarityOrdinalClassifier("gaussian", n_landmarks=20).fit(X, np.digitize(Y, [-0.5, 0.5])), X
    yield "regressor stream", in_batches(SimilarityRegressor(), Y), X


def learners():
    yield SimilarityVote(LOPSIDED).fit(X, TWO)
    yield SimilarityVote(weights=np.linspace(0.0, 1.0, 60)).fit(X, THREE)
    yield WeakSimilarityVote(random_state=np.random.default_rng(3)).fit(X, TWO)
    yield AlignmentVote().fit(X, TWO)
    yield KernelPerceptron(epochs=2, average=True).fit(X, THREE)
    yield KernelPerceptron(budget=10, tie="ge0").fit(X, TWO)
    yield in_batches(KernelPerceptron(), TWO, classes=["other", "same"])
    yield in_batches(KernelPerceptron(Gaussian(1.0) + Laplace(1.0)), THREE, classes=["left", "middle", "right"])
    yield MarginPerceptron(Gaussian(0.3)).fit(X, THREE)
    yield KernelSVC().fit(X, THREE)
    yield KernelSVC(lam=0.01, class_weight="balanced").fit(X, TWO)
    yield KernelSVC("gaussian", hard=True).fit(X, TWO)
    yield KreinSVC().fit(X, TWO)
    yield KernelSVR().fit(X, Y)
    yield KernelSGDSVC(n_iter=100, random_state=np.random.RandomState(3)).fit(X, TWO)
    yield RepresenterClassifier().fit(X, THREE)
    yield RepresenterClassifier(loss="hinge", regularizer=Norm()).fit(X, TWO)
    yield RepresenterRegressor(loss=Huber(0.5)).fit(X, Y)
    yield RepresenterRegressor(loss=Quantile(0.3), n_landmarks=20).fit(X, Y)
    yield RepresenterRegressor(loss=SmoothQuantile(0.3, 0.1), n_landmarks=20).fit(X, Y)
    yield RepresenterRegressor(loss=(quartic, quartic_slope)).fit(X, Y)
    yield KernelRidge(lam="auto").fit(X, Y)
    yield KernelRanker(lam=0.1).fit(X, Y)
    yield OnlineKernelClassifier(budget=10).fit(X, THREE)
    yield OnlineKernelRegressor(budget=10).fit(X, Y)
    yield KernelRidge(lam=[0.1, 1.0], fit_intercept=False).fit(X, np.stack([Y, -Y], axis=1))
    yield KernelRidgeClassifier().fit(X, THREE)
    yield SimilarityKNeighborsClassifier(n_neighbors=3).fit(X, THREE)
    yield SimilarityKNeighborsRegressor(weights="distance").fit(X, Y)
    yield SimilarityIndex(Gaussian(), method="approximate", random_state=0).fit(X)
    yield KernelKMeans(n_clusters=3, random_state=0).fit(X)
    yield KernelKMeans(n_clusters=3, n_landmarks=20, random_state=0).fit(X)
    yield SimilarityKMedoids(n_clusters=3).fit(X)
    yield SpectralClusters(n_clusters=2).fit(X)
    yield SpectralClusters(n_clusters=2, n_landmarks=20).fit(X)
    yield SimilarityLinkage(n_clusters=3).fit(X)
    yield SimilarityDensityClusters().fit(X)
    yield KernelOneClassSVM(nu=0.2).fit(X)
    yield SimilarityNovelty(LOPSIDED, level=0.1, random_state=0).fit(X)


def votes():
    """Similarities of every kind with what they make of objects."""
    for name, (similarity, objects) in SIMILARITIES.items():
        n = objects.shape[0] if hasattr(objects, "shape") else len(objects)
        yield name, SimilarityVote(similarity).fit(objects, np.arange(n) % 2), objects


def bare():
    """What is a parameter or an object, and no model."""
    yield from (Hinge(), SquaredHinge(), Logistic(), Squared(), EpsilonInsensitive(0.2), SquaredNorm())
    yield from (OwnLoss((quartic, quartic_slope)), OwnRegularizer((length, quartic)))
    yield ClusterNumber(1, {2: 0.4, 3: 0.3}, {}, "no number of clusters is stable")
    yield from (figure_3_1(), lower_bound(), atoms(0.3, 0.2), PAPERS[0], PEOPLE)


def precomputed():
    """Learners of a matrix: what they are asked about has a column for each training object."""
    yield KernelKMeans("precomputed", n_clusters=3, random_state=0).fit(GRAM)
    yield SimilarityKMedoids("precomputed", n_clusters=3).fit(GRAM)
    yield KernelPerceptron("precomputed").fit(GRAM, TWO)
    yield SimilarityKNeighborsClassifier("precomputed").fit(GRAM, TWO)
    yield KernelPCA("precomputed").fit(GRAM)


def maps():
    yield LandmarkMap(n_components=10, random_state=0).fit(X)
    yield LandmarkMap(LOPSIDED, n_components=6, side="both").fit(X)
    yield LandmarkMap(n_components=5).partial_fit(X[:20]).partial_fit(X[20:])
    yield LandmarkMap(landmarks=X[:4]).fit(X).set_output(transform="pandas")
    yield ProjectionMap(n_components=8, landmarks="rpcholesky").fit(X)
    yield ProjectionMap(n_components=8, epsilon=0.3, margin=0.5, delta=0.1).fit(X)
    for projection in ("gaussian", "sign", "sparse", "hadamard"):
        yield CompactMap(n_components=4, n_landmarks=12, projection=projection).fit(X)
    for kind in ("plain", "orthogonal", "structured"):
        yield FourierMap(n_components=20, kind=kind).fit(X)
    yield FourierMap(Laplace(), n_components=20, kind="plain").fit(X)
    yield PolynomialSketchMap(Polynomial(3), n_components=32).fit(X)
    yield PolynomialSketchMap(Linear() + 1.0, n_components=8).fit(X)
    yield KernelPCA(n_components=3, fit_inverse_transform=True).fit(X)
    yield SpectralEmbedding(n_neighbors=8).fit(X)


def results():
    model = SimilarityClassifier("gaussian").fit(X, TWO)
    yield check_kernel(Gaussian())
    yield check_kernel(FromPairs(shared), WORDS)
    yield check_kernel(LOPSIDED, X)
    yield check_kernel(SharesAny(), [{"a"}, {"a", "b"}, {"b"}])
    yield margin(Gaussian(0.3), X, TWO)
    yield margin(Gaussian(0.3), X, TWO, bias=True)
    yield error_at_margin(KernelSVC().fit(X, TWO), X, TWO)
    yield assess(Gaussian(), X, TWO)
    yield choose_kernel({"gaussian": Gaussian(), "linear": Linear()}, X, TWO)
    yield combine([Gaussian(), Linear()], X, TWO)
    yield learn_kernel(Gaussian(), X, Y)
    yield cost_curve(FromPairs(shared), WORDS, STARTS)
    yield SimilarityClassifier(FromPairs(shared), max_calls=900).fit(WORDS, STARTS).early_stops(WORDS)
    yield model.explain(X[:2])
    yield from (model.representation_, model.guarantee_, model.landmark_curve_)
    yield Gaussian().proof()
    yield two_sample_test("auto", X[:30], X[30:], n_permutations=19)
    yield drift_test(Spectrum(2), WORDS[:20], WORDS[20:], n_permutations=39, batches=list("ab") * 10)


def everything():
    """Yield every example as a name, a model, and objects or None."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some of these small fits deserve one
        yield from estimators()
        yield from ((f"learner {i} {type(one).__name__}", one, X) for i, one in enumerate(learners()))
        yield from ((f"matrix {i} {type(one).__name__}", one, GRAM[:9]) for i, one in enumerate(precomputed()))
        yield from ((f"map {i} {type(one).__name__}", one, X) for i, one in enumerate(maps()))
        separable = np.vstack([X, X + 20.0])
        yield from ((f"vote {name}", one, objects) for name, one, objects in votes())
        yield from ((f"similarity {name}", *example) for name, example in SIMILARITIES.items())
        yield from ((f"bare {i} {type(one).__name__}", one, None) for i, one in enumerate(bare()))
        yield "separator", SeparatorLP().fit(separable, np.repeat([0, 1], 60)), separable
        yield from ((f"result {i} {type(one).__name__}", one, None) for i, one in enumerate(results()))

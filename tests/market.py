"""The similarity market: every public similarity with a few objects, and a small sample of every kind of object.

Contracts, engines and saved models are tested on what is here, so that a new similarity or a new kind of object is
entered once. Only NumPy and SciPy are required: entries that need another package are left out where it is missing.
"""

import contextlib

import numpy as np
import scipy.sparse as sp

import similitude.similarity.algebra as algebra
import similitude.similarity.wrappers as wrappers
from similitude import FromBlocks, FromPairs, Precomputed, Similarity, repair, use_engine
from similitude.compute.blocks import BlockTask
from similitude.compute.encodings import count
from similitude.kernels import (
    DTW,
    ERP,
    MSM,
    TWE,
    Aligned,
    Columns,
    Convolutions,
    Cosine,
    Derivative,
    Edit,
    Equal,
    Gapped,
    Gaussian,
    GlobalAlignment,
    Gower,
    Graphlet,
    HistogramIntersection,
    Intersection,
    Jaccard,
    Laplace,
    Linear,
    LocalAlignment,
    Matern,
    MeanOf,
    Mismatch,
    Ordinal,
    OrMissing,
    Partitioned,
    Polynomial,
    RandomWalk,
    RationalQuadratic,
    SharesAny,
    ShortestPath,
    Sigmoid,
    Signature,
    SoftDTW,
    Spectrum,
    Subsequence,
    Tabular,
    WeisfeilerLehman,
    WeisfeilerLehmanAssignment,
    WeisfeilerLehmanEdges,
    Words,
)
from similitude.kernels.series.elastic import ElasticDistance
from similitude.selection import SideBySide

nx = pd = pl = None
with contextlib.suppress(ImportError):
    import networkx as nx
with contextlib.suppress(ImportError):
    import pandas as pd
with contextlib.suppress(ImportError):
    import polars as pl

rng = np.random.default_rng(0)
VECTORS = rng.standard_normal((9, 3))
VECTORS.setflags(write=False)
DIRECTIONS = np.array([[1.0, 0.5], [0.0, 2.0], [-1.0, 0.0]])
SETS = [{"a", "b"}, {"b", 3}, set(), {3.0, None}, {("x", 1)}, {"a", "b", 3}]
BITS = rng.random((6, 70)) < 0.3
PERSONS = [
    {"age": 30.0, "job": "cook", "tags": {"a", "b"}, "size": "S"},
    {"age": 41.5, "job": "pilot", "tags": {"b"}, "size": "L"},
    {"age": None, "job": "cook", "tags": set(), "size": "M"},
    {"age": 22.0, "job": "judge", "tags": {"b", "c"}, "size": "S"},
]
BY_COLUMN = {"age": OrMissing(Gaussian()), "job": "equal", "tags": "jaccard"}
WORDS = ["kernel", "colonel", "", "kern", "lek", "kernel"]
SENTENCES = ["A kernel.", "the kernel, a KERNEL", "", "colonel of the corn", "?!", "The corn"]
PROTEINS = ["HEAGAWGHEE", "PAWHEAE", "", "MKV", "HEAGAWGHEE", "WWX*"]
UNUSUAL = ["", "a", "aA", "naïve ", "日本語日本", "😀😁😀😁", "a\0b\0a\0b", "ab" * 40, "\ud800x", "a"]
SERIES = [[0.0, 1.0, 2.0], [0.0, 0.0, 1.0, 3.0], [2.0]]
CHANNELS = [rng.standard_normal((n, 2)) for n in (3, 5, 4, 8)]
MATRIX = rng.standard_normal((6, 6))
GRAPHS = [
    ([(0, 1), (1, 2), (2, 0)], ["C", "O", "C"]),
    ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], ["C", "C", "O", "N", "C"]),
    ([(0, 1), (0, 2), (0, 3)], ["C", "H", "H", "H"]),
    ([], ["C"]),
    ([], 0),
]
ATTRIBUTED = [
    (*graph, None, np.array([[float(v), float(v % 2)] for v in range(size)]).reshape(-1, 2))
    for graph, size in zip(GRAPHS, [3, 5, 4, 1, 0], strict=True)
]
EDGE_ATTRIBUTED = [
    (*graph, None, None, [[float(u + v), float(u * v)] for u, v in graph[0]] or None) for graph in GRAPHS
]


def shared_letters(s, t):
    return len(set(s) & set(t))


def shares_a_letter(s, t):
    return float(bool(set(s) & set(t)))


def precedes(s, t):
    return float(s < t)


def lengths(words):
    return np.array([[len(word), word.count("e")] for word in words], dtype=float)


def smaller_of_the_first(X, Z):
    return np.minimum.outer(X[:, 0], Z[:, 0])


def of_columns(x, z):
    return x["a"] * z["b"]


SIMILARITIES: dict[str, tuple[Similarity, object]] = {
    "linear": (Linear(), VECTORS),
    "side by side": (SideBySide((Gaussian(1.0), Linear()), VECTORS[:4], (1.0, 2.0)), VECTORS),
    "polynomial": (Polynomial(), VECTORS),
    "polynomial, indefinite": (Polynomial(degree=2, coef0=-1.0, scale=0.5), VECTORS),
    "gaussian": (Gaussian(), VECTORS),
    "gaussian, float32": (Gaussian(2.0), VECTORS.astype(np.float32)),
    "gaussian, sparse": (Gaussian(), sp.csr_array(VECTORS)),
    "gaussian, weights": (Gaussian(metric=[0.0, 1.0, 2.0]), VECTORS),
    "gaussian, metric, float32": (Gaussian(2.0, metric=DIRECTIONS), VECTORS.astype(np.float32)),
    "laplace": (Laplace(), VECTORS),
    "laplace, city block, weights": (Laplace(norm=1, metric=[1.0, -2.0, 0.5]), VECTORS),
    "matern, sparse, weights": (Matern(metric=np.array([1.0, 0.0, 2.0])), sp.csr_array(VECTORS)),
    "rational quadratic, sparse, metric": (RationalQuadratic(metric=DIRECTIONS), sp.csr_array(VECTORS)),
    "laplace, city block": (Laplace(norm=1, squared_scale=False), VECTORS),
    "partitioned": (Partitioned(Gaussian(), DIRECTIONS.T[:1], [0.1]), VECTORS),
    "partitioned, metrics, float32": (
        Partitioned(Matern(length=2.0), np.eye(3), np.zeros(3), np.linspace(0.5, 2.0, 36).reshape(4, 3, 3)),
        VECTORS.astype(np.float32),
    ),
    "matern": (Matern(), VECTORS),
    "matern, nu = 1/2": (Matern(nu=0.5), VECTORS),
    "matern, nu = inf": (Matern(nu=np.inf), VECTORS),
    "matern, nu = 0.7": (Matern(nu=0.7), VECTORS),
    "rational quadratic": (RationalQuadratic(alpha=0.7), VECTORS),
    "cosine": (Cosine(), VECTORS),
    "sigmoid": (Sigmoid(0.3, 0.1), VECTORS),
    "histograms": (HistogramIntersection(), np.abs(VECTORS)),
    "histograms, sparse": (HistogramIntersection(), sp.csr_array(np.abs(VECTORS))),
    "intersection": (Intersection(), SETS),
    "intersection, weighted": (Intersection({"a": 2.5, "b": 0.0}, default_weight=0.5), SETS),
    "jaccard, bits": (Jaccard(), BITS),
    "jaccard, sparse": (Jaccard(), sp.csr_array(BITS.astype(float))),
    "shares any": (SharesAny(), SETS),
    "equal": (Equal(), WORDS),
    "ordinal": (Ordinal(["S", "M", "L"]), ["M", "S", "S", "L"]),
    "or missing": (OrMissing(Gaussian(), alike=0.5), [1.0, None, 2.5, float("nan"), 1.0]),
    "columns": (Columns(BY_COLUMN), PERSONS),
    "columns, largest": (Columns({"job": "equal", "tags": "shares_any"}, how="max"), PERSONS),
    "spectrum": (Spectrum(2), WORDS),
    "spectrum, idf": (Spectrum(2, weights="idf"), WORDS),
    "spectrum, weighted": (Spectrum(3, blended=True, weights={"a": 0.0, "ab": 2.5}, default_weight=0.3), UNUSUAL),
    "spectrum, blended counts": (Spectrum(counts=True, blended=True), WORDS),
    "spectrum, unusual strings": (Spectrum(3, blended=True), UNUSUAL),
    "gapped": (Gapped(3, 1), WORDS),
    "gapped, unusual strings": (Gapped(4, 2), UNUSUAL),
    "mismatch": (Mismatch(2, 1), WORDS),
    "mismatch, alphabet": (Mismatch(2, 1, alphabet="kern"), WORDS),
    "mismatch, unusual strings": (Mismatch(3, 1), UNUSUAL),
    "words": (Words(), SENTENCES),
    "words, pieces": (Words(1, (2, 4), weights={"kernel": 2.5, "~el ": 0.0}), SENTENCES),
    "words, unusual strings": (Words(2, (2, 3), weights=None), UNUSUAL),
    "subsequence": (Subsequence(2), WORDS),
    "subsequence, unusual strings": (Subsequence(3, decay=0.9).normalized(), UNUSUAL),
    "local alignment": (LocalAlignment(), PROTEINS),
    "local alignment, unusual strings": (LocalAlignment((1, -1), 2.0, 1.0, beta=0.2), UNUSUAL),
    "local alignment, no kernel of letters": (LocalAlignment({"aa": 0, "ab": 1, "bb": 0}), ["ab", "a", "", "bbab"]),
    "aligned": (Aligned(), PROTEINS),
    "aligned, whole strings": (Aligned((2, -1), 1.5, 0.5, local=False), UNUSUAL),
    "edit": (Edit(), WORDS),
    "edit, costs": (Edit((1, 2, 2)), WORDS),
    "edit, symmetric costs": (Edit((1.0, 1.0, 1.5)), UNUSUAL),
    "edit, unusual strings": (Edit(), UNUSUAL),
    "weisfeiler-lehman": (WeisfeilerLehman(), GRAPHS),
    "weisfeiler-lehman, idf": (WeisfeilerLehman(weights="idf"), GRAPHS),
    "optimal assignment": (WeisfeilerLehmanAssignment(), GRAPHS),
    "optimal assignment, depths": (WeisfeilerLehmanAssignment(2, [0.0, 1.0, 0.5]), GRAPHS),
    "random walk": (RandomWalk(), GRAPHS),
    "random walk, no labels": (RandomWalk(0.1), [graph[:1] for graph in GRAPHS]),
    "shortest path": (ShortestPath(), GRAPHS),
    "shortest path, attributes": (ShortestPath(attributes=Gaussian()), ATTRIBUTED),
    "weisfeiler-lehman, attributes": (WeisfeilerLehman(2, attributes=Gaussian(0.5)), ATTRIBUTED),
    "weisfeiler-lehman, edges": (WeisfeilerLehmanEdges(), EDGE_ATTRIBUTED),
    "graphlet": (Graphlet(), GRAPHS),
    "graphlet, frequencies": (Graphlet(4, mode="frequency", connected=True), GRAPHS),
    "dtw": (DTW(), SERIES),
    "dtw, window": (DTW(sigma=2.0, window=0.5), CHANNELS),
    "warping distance": (ElasticDistance(DTW(1.0, window=1)), SERIES),
    "soft dtw": (SoftDTW(gamma=0.5), SERIES),
    "soft dtw, channels": (SoftDTW(gamma=2.0, sigma=3.0), CHANNELS),
    "msm": (MSM(c=0.5), SERIES),
    "msm, channels": (MSM(sigma=2.0, window=0.5), CHANNELS),
    "erp": (ERP(), SERIES),
    "erp, float32": (ERP(g=0.5, sigma=2.0), [one.astype(np.float32) for one in CHANNELS]),
    "twe": (TWE(nu=0.1), SERIES),
    "twe, channels": (TWE(lmbda=0.5, sigma=4.0), CHANNELS),
    "derivative": (Derivative(DTW()), SERIES),
    "derivative of a kernel": (Derivative(GlobalAlignment()) + GlobalAlignment(), CHANNELS),
    "convolutions": (Convolutions(n_features=168), SERIES),
    "convolutions, channels": (Convolutions(n_features=100), CHANNELS),
    "signature": (Signature(), SERIES),
    "signature, channels": (Signature(2, time=False), CHANNELS),
    "global alignment": (GlobalAlignment(), SERIES),
    "global alignment, float32": (GlobalAlignment(0.7), [one.astype(np.float32) for one in CHANNELS]),
    "series combined": (GlobalAlignment() * DTW(sigma=30.0) + 0.5, SERIES),
    "series normalized": (DTW().normalized(), CHANNELS),
    "mean of": (MeanOf(Gaussian()), CHANNELS),
    "mean of strings": (MeanOf(Edit()), [["ab", "abc"], ["b"], ["abba", "cab", "ab"]]),
    "pairs": (FromPairs(shared_letters), WORDS),
    "pairs, not symmetric": (FromPairs(precedes), WORDS),
    "pairs, declared a kernel": (FromPairs(shared_letters, claims=["SYMMETRIC", "PSD"]), WORDS),
    "blocks": (FromBlocks(smaller_of_the_first), VECTORS),
    "precomputed": (Precomputed(MATRIX), range(6)),
    "precomputed, sparse": (Precomputed(sp.csr_array(MATRIX)), range(6)),
    "sum": (algebra.Sum(Gaussian(), Linear(), Gaussian()), VECTORS),
    "product": (algebra.Product(Gaussian(), Polynomial(2)), VECTORS),
    "minimum": (algebra.Minimum(Gaussian(1.0), Laplace(1.0)), VECTORS),
    "maximum": (algebra.Maximum(Gaussian(1.0), Laplace(1.0)), VECTORS),
    "scaled": (algebra.Scaled(Linear(), -2.0), VECTORS),
    "shifted": (algebra.Shifted(Linear(), 3.0), VECTORS),
    "cube": (algebra.Power(Linear(), 3), VECTORS),
    "root": (algebra.Power(Gaussian(), 0.5), VECTORS),
    "power zero": (algebra.Power(Linear(), 0), VECTORS),
    "absolute": (algebra.Absolute(Linear()), VECTORS),
    "exponential": (algebra.Exponential(Cosine()), VECTORS),
    "normalized": (wrappers.Normalized(Polynomial()), VECTORS),
    "cached pairs": (FromPairs(shared_letters, batch=None, workers=2).cached(), WORDS),
    "cached": (Gaussian().pullback(len).cached(), WORDS),
    "normalized pairs": (wrappers.Normalized(FromPairs(shared_letters, claims=["PSD"])), WORDS),
    "symmetrized": (wrappers.Symmetrized(FromPairs(precedes)), WORDS),
    "pullback": (wrappers.Pullback(Gaussian(), len), WORDS),
    "pullback, batched": (wrappers.Pullback(Gaussian(), lengths, batched=True), WORDS),
    "expression": (Gaussian().pullback(len) + Linear().pullback(len) * 2.0 - FromPairs(shared_letters), WORDS),
    "repaired": (repair(FromPairs(shares_a_letter), WORDS), WORDS),
    "repaired by a shift": (repair(FromPairs(shares_a_letter), WORDS, how="shift"), WORDS),
}
"""Every public similarity, and every node that combines or wraps similarities, with objects that it compares."""

if pd is not None:
    TABLE = pd.DataFrame(PERSONS).assign(size=lambda X: pd.Categorical(X["size"], ["S", "M", "L"], ordered=True))
    FRAME = pd.DataFrame({"a": [1.0, 2.0, 0.5], "b": [3, 4, 5]}, index=["x", "y", "z"])
    SIMILARITIES |= {
        "columns, sum": (Columns({**BY_COLUMN, "size": "ordinal"}, how="sum"), TABLE),
        "tabular": (Tabular(Gaussian(), ranks=True), TABLE.drop(columns="tags")),
        "columns, weights": (Columns(BY_COLUMN, weights={"age": 2.0, "tags": 0.0}), TABLE),
        "gower, weights": (Gower(weights={"job": 0.5, "age": 0.0}), TABLE.drop(columns="tags")),
        "columns, product": (Columns({**BY_COLUMN, "tags": lambda s, t: float(s <= t)}, how="product"), TABLE),
        "gower": (Gower(), TABLE.drop(columns="tags")),
        "gower, strict": (Gower(strict=True), TABLE[["job", "size"]]),
        "gaussian, pandas": (Gaussian(), FRAME),
        "histograms, pandas": (HistogramIntersection(), FRAME),
        "pairs of rows": (FromPairs(of_columns), FRAME),
    }
    if pl is not None:
        SIMILARITIES["shifted, polars"] = (Linear() + 1.0, pl.from_pandas(FRAME))


# One small sample of every kind of object, with a similarity that every learner and every map can use.

N = 14
SAMPLE = np.random.default_rng(1).standard_normal((N, 3))
LONGER_WORDS = ["kernel", "colonel", "kern", "lek", "margin", "map", "maps", "gram", "grammar", "ram", "mark", "key"]
LONGER_WORDS += ["one", "on"]
TWO = np.array(["a", "b"] * (N // 2))
THREE = np.array((["a", "b", "c"] * N)[:N])
NUMBERS = SAMPLE[:, 0]


def alike(s, t):
    return float(len(set(s) & set(t))) + (s == t)


def size_of_graph(graph):
    return [float(graph.number_of_edges()), float(graph.number_of_nodes())]


def total_and_length(x):
    return [x.sum(), len(x)]


def column_a(row):
    return row["a"]


def product_of_a(x, z):
    return x["a"] * z["a"]


KINDS: dict[str, tuple[object, object]] = {
    "vectors": (Gaussian(), SAMPLE),
    "float32": (Laplace(), SAMPLE.astype(np.float32)),
    "lists": (Gaussian(), SAMPLE.tolist()),
    "sparse": (Gaussian(), sp.csr_array(SAMPLE)),
    "strings": (alike, LONGER_WORDS),
    "ragged": (Gaussian().pullback(total_and_length), [np.linspace(-1.0, n, n) for n in range(1, N + 1)]),
    "dicts": (Gaussian().pullback(column_a), [{"a": float(v)} for v in SAMPLE[:, 0]]),
    "indices": (Precomputed(SAMPLE @ SAMPLE.T), np.arange(N)),
}
"""Fourteen objects of every kind, with a similarity of them."""

if nx is not None:
    graphs = [nx.path_graph(n) for n in range(2, 9)] + [nx.cycle_graph(n) for n in range(3, 10)]
    KINDS["graphs"] = (Gaussian().pullback(size_of_graph), graphs)
if pd is not None:
    KINDS["pandas"] = (Gaussian(), pd.DataFrame(SAMPLE, columns=["a", "b", "c"]))
    KINDS["rows"] = (FromPairs(product_of_a), pd.DataFrame(SAMPLE, columns=["a", "b", "c"]))
if pl is not None:
    KINDS["polars"] = (Gaussian(), pl.DataFrame(SAMPLE, schema=["a", "b", "c"]))


# Engines.

TELLING = {
    *("gaussian, float32", "gaussian, sparse", "jaccard, bits", "shares any", "columns", "spectrum, idf"),
    *("edit, unusual strings", "weisfeiler-lehman", "dtw", "pairs", "precomputed, sparse", "expression", "repaired"),
    *("cached pairs", "tabular", "pairs of rows", "shifted, polars"),
}
"""Similarities of each kind of objects, and of each way to pass them on to other processes."""


def agree_on(engine, name, tolerance=1e-12):
    """Check that an engine gives the Gram matrix, cross matrix and diagonal of one thread, and the tiles of it."""
    k, objects = SIMILARITIES[name]
    k, A = k.prepare(objects)
    plain, diagonal = np.asarray(k.gram(objects)), np.asarray(k.diag(objects))
    halves = [slice(0, count(A) // 2), slice(count(A) // 2, count(A))]
    tiles = [(down, right) for down in halves for right in halves]
    found = [np.asarray(one) for one in engine.run(BlockTask(k), A, A, tiles)]
    pieces = np.block([found[:2], found[2:]])
    with use_engine(engine):
        whole, cross, own = k.gram(objects), k.cross(objects, objects), k.diag(objects)
    allowed = tolerance * max(1.0, float(np.abs(plain).max()))
    for what, one, expected in (
        ("tiles", pieces, plain),
        ("gram", whole, plain),
        ("cross", cross, plain),
        ("diagonal", own, diagonal),
    ):
        np.testing.assert_allclose(one, expected, rtol=0, atol=allowed, err_msg=f"{what} of {name} on {engine!r}")

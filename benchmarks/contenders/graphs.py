"""Who computes with graphs."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np

from benchmarks.nouns import OURS, Contender, SelfTimed


class Ours(Contender):
    name = OURS

    def weisfeiler_lehman(self, graphs, iterations):
        from similitude.kernels import WeisfeilerLehman

        return WeisfeilerLehman(iterations).gram(graphs)

    def optimal_assignment(self, graphs, iterations):
        from similitude.kernels import WeisfeilerLehmanAssignment

        return WeisfeilerLehmanAssignment(iterations).gram([graph[:2] for graph in graphs])

    def shortest_path(self, graphs):
        from similitude.kernels import ShortestPath

        return ShortestPath().gram(graphs)

    def graph_hopper(self, graphs, gamma):
        from similitude.kernels import Gaussian, ShortestPath

        return ShortestPath(attributes=Gaussian.from_gamma(gamma)).gram(graphs)

    def random_walk(self, graphs, decay):
        from similitude.kernels import RandomWalk

        return RandomWalk(decay).gram([graph[:2] for graph in graphs])

    def graphlets(self, graphs):
        from similitude.compute import loops
        from similitude.kernels import Graphlet
        from similitude.kernels.graphs import as_graphs

        read, types = as_graphs(graphs), {p: Graphlet(p).types for p in (3, 4)}
        start = time.perf_counter()
        counts = [loops.graphlets(read.structure, p, one.of_code, one.contains) for p, one in types.items()]
        seconds = time.perf_counter() - start
        return SelfTimed(
            seconds, np.hstack([some[:, types[p].connected] for p, some in zip(types, counts, strict=True)])
        )

    def graph_accuracy(self, graphs, y, iterations, C, inner, splits):
        from sklearn.model_selection import RepeatedStratifiedKFold

        from similitude.kernels import WeisfeilerLehman

        grams = [WeisfeilerLehman(h).normalized().gram(graphs) for h in iterations]
        folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=splits, random_state=0).split(y, y)
        return sum(_right(grams, y, C, inner, train, test) for train, test in folds) / (len(y) * splits)


def _right(grams: Any, y: Any, C: Any, inner: int, train: Any, test: Any) -> int:
    """Choose Gram matrix and C by cross-validation within the training part; count right predictions elsewhere."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.svm import SVC

    folds = StratifiedKFold(inner, shuffle=True, random_state=0)
    searches = [
        GridSearchCV(SVC(kernel="precomputed"), {"C": C}, cv=folds, refit=False).fit(K[np.ix_(train, train)], y[train])
        for K in grams
    ]
    best = max(range(len(grams)), key=lambda h: searches[h].best_score_)
    K, model = grams[best], SVC(kernel="precomputed", **searches[best].best_params_)
    predicted = model.fit(K[np.ix_(train, train)], y[train]).predict(K[np.ix_(test, train)])
    return int((predicted == y[test]).sum())


class OursFromEdges(Contender):
    """The same counts, reading the graphs from edges as well."""

    name = f"{OURS} from edges"
    packages = ("similitude.kernels",)

    def graphlets(self, graphs):
        from similitude.kernels import Graphlet

        return np.hstack([Graphlet(p, connected=True).encode(graphs) for p in (3, 4)])


def networkx_graphs(graphs: Any) -> list[Any]:
    """Return graphs of networkx with the labels of their nodes."""
    import networkx

    made = [networkx.Graph(edges.tolist()) for edges, _ in graphs]
    for graph, (_, labels) in zip(made, graphs, strict=True):
        graph.add_nodes_from((node, {"label": label}) for node, label in enumerate(labels.tolist()))
    return made


class OursFromNetworkx(Contender):
    """The same matrix, from graphs of networkx."""

    name = f"{OURS} (networkx)"
    packages = ("networkx", "similitude.kernels")

    def weisfeiler_lehman(self, graphs, iterations):
        from similitude.kernels import WeisfeilerLehman

        read = networkx_graphs(graphs)
        start = time.perf_counter()
        K = WeisfeilerLehman(iterations).gram(read)
        return SelfTimed(time.perf_counter() - start, K)


class GraKeLFromNetworkx(Contender):
    name = "GraKeL (networkx)"
    packages = ("networkx", "grakel")
    uses_threads = False

    def weisfeiler_lehman(self, graphs, iterations):
        library, read = self.library, networkx_graphs(graphs)
        kernel = library.WeisfeilerLehman(n_iter=iterations, base_graph_kernel=library.VertexHistogram)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            K = kernel.fit_transform(library.graph_from_networkx(read, node_labels_tag="label"))
        return SelfTimed(time.perf_counter() - start, K)


class GraKeL(Contender):
    name = "GraKeL"
    packages = ("grakel",)
    uses_threads = False

    def _read(self, graphs: Any) -> list[Any]:
        pairs = (edges.tolist() + edges[:, ::-1].tolist() for edges, *_ in graphs)
        return [
            [[(u, v) for u, v in both], dict(enumerate(labels.tolist()))]
            for both, (_, labels, *_) in zip(pairs, graphs, strict=True)
        ]

    def _timed(self, kernel: Any, graphs: Any) -> SelfTimed:
        read = self._read(graphs)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            K = kernel.fit_transform(read)
        return SelfTimed(time.perf_counter() - start, K)

    def weisfeiler_lehman(self, graphs, iterations):
        kernel = self.library.WeisfeilerLehman(n_iter=iterations, base_graph_kernel=self.library.VertexHistogram)
        return self._timed(kernel, graphs)

    def optimal_assignment(self, graphs, iterations):
        return self._timed(self.library.WeisfeilerLehmanOptimalAssignment(n_iter=iterations), graphs)

    def random_walk(self, graphs, decay):
        return self._timed(self.library.RandomWalkLabeled(lamda=decay), graphs)

    def shortest_path(self, graphs):
        return self._timed(self.library.ShortestPath(), graphs)

    def graph_hopper(self, graphs, gamma):
        kernel = self.library.GraphHopper(kernel_type=("gaussian", gamma))
        return self._timed(kernel, [(edges, attributes) for edges, *_, attributes in graphs])


class IGraph(Contender):
    name = "igraph"
    packages = ("igraph",)
    uses_threads = False

    def graphlets(self, graphs):
        read = [self.library.Graph(n=len(labels), edges=edges.tolist()) for edges, labels in graphs]
        start = time.perf_counter()
        counts = [graph.motifs_randesu(size=3) + graph.motifs_randesu(size=4) for graph in read]
        seconds = time.perf_counter() - start
        counts = np.array(counts)
        return SelfTimed(seconds, counts[:, np.isfinite(counts).all(axis=0)])

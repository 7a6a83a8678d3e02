"""The contenders: small adapters that call a library as its users would.

An operation is a method that takes a task's data by name. To take part in a task, have its operation. Each module
holds one family of operations; here they come together.
"""

from benchmarks.contenders import (
    cluster,
    embedding,
    fits,
    graphs,
    hypotheses,
    learners,
    machine,
    matrices,
    objects,
    series,
    streams,
    strings,
    tables,
)
from benchmarks.nouns import Contender


class Ours(
    cluster.Ours,
    embedding.Ours,
    fits.Ours,
    graphs.Ours,
    hypotheses.Ours,
    learners.Ours,
    machine.Ours,
    matrices.Ours,
    objects.Ours,
    series.Ours,
    streams.Ours,
    strings.Ours,
    tables.Ours,
):
    packages = ("similitude.learners", "similitude.maps", "similitude.estimators")


class ScikitLearn(
    embedding.ScikitLearn,
    learners.ScikitLearn,
    machine.ScikitLearn,
    matrices.ScikitLearn,
    streams.ScikitLearn,
    strings.ScikitLearn,
):
    packages = ("sklearn.cluster", "sklearn.svm", "sklearn.kernel_approximation", "sklearn.metrics.pairwise")
    on_one_thread = (
        *("laplace", "sparse_gram", "spectrum"),
        *("svc", "svc_classes", "svc_predict", "machine_defaults", "one_class", "novelty"),  # by LIBSVM
    )


class ScikitLearnIntelex(learners.ScikitLearnIntelex, matrices.ScikitLearnIntelex):
    packages = ("sklearnex.svm", "sklearnex", "onedal.primitives")


class Gemm(machine.Gemm, matrices.Gemm):
    pass


class TsLearn(learners.TsLearn, series.TsLearn):
    packages = ("tslearn.metrics", "tslearn.clustering")
    compiles = True


ALL: tuple[Contender, ...] = (
    Ours(),
    matrices.OursBlock(),
    matrices.OursKernels(),
    matrices.OursEstimator(),
    streams.OursInMemory(),
    streams.OursWithCheckpoints(),
    cluster.OneWorker(),
    cluster.InMemory(),
    ScikitLearn(),
    ScikitLearnIntelex(),
    matrices.SciPy(),
    matrices.Torch(),
    matrices.NumPy(),
    fits.BoostedTrees(),
    embedding.IsolationForest(),
    embedding.LocalOutlierFactor(),
    machine.Clip(),
    machine.Flip(),
    machine.Shift(),
    machine.Square(),
    machine.Neighbors(),
    Gemm(),
    strings.RapidFuzz(),
    strings.Strkernels(),
    strings.Biopython(),
    TsLearn(),
    series.Aeon(),
    series.OneGram(),
    series.PairByPair(),
    series.PySigLib(),
    series.IISignature(),
    graphs.OursFromEdges(),
    graphs.OursFromNetworkx(),
    graphs.GraKeL(),
    graphs.GraKeLFromNetworkx(),
    graphs.IGraph(),
    objects.WholeGram(),
    hypotheses.OursSixWidths(),
    hypotheses.Hyppo(),
    learners.KMedoids(),
    learners.Eigen(),
    matrices.BareLoop(),
    tables.Blas(),
    tables.SparseProduct(),
    tables.GowerPackage(),
)


def named(name: str) -> Contender:
    """Return the contender of that name."""
    return next(one for one in ALL if one.name == name)


def that_can(operation: str) -> list[Contender]:
    """Return every contender that has the operation."""
    return [one for one in ALL if hasattr(one, operation)]

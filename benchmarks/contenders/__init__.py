"""The contenders: small adapters that call a library as its users would.

An operation is a method that takes a task's data by name. To take part in a task, have its operation. Each module
holds one family of operations; here they come together.
"""

from benchmarks.contenders import graphs, learners, matrices
from benchmarks.nouns import Contender


class Ours(graphs.Ours, learners.Ours, matrices.Ours):
    packages = ("similitude.learners", "similitude.maps")


class ScikitLearn(learners.ScikitLearn, matrices.ScikitLearn):
    packages = ("sklearn.cluster", "sklearn.svm", "sklearn.kernel_approximation", "sklearn.metrics.pairwise")


class ScikitLearnIntelex(learners.ScikitLearnIntelex, matrices.ScikitLearnIntelex):
    packages = ("sklearnex.svm", "sklearnex", "onedal.primitives")


ALL: tuple[Contender, ...] = (
    Ours(),
    matrices.OursBlock(),
    matrices.OursKernels(),
    ScikitLearn(),
    ScikitLearnIntelex(),
    matrices.SciPy(),
    matrices.Torch(),
    matrices.NumPy(),
    learners.TsLearn(),
    graphs.OursFromEdges(),
    graphs.GraKeL(),
    graphs.IGraph(),
    matrices.Gemm(),
    learners.Eigen(),
    matrices.BareLoop(),
)


def named(name: str) -> Contender:
    """Return the contender of that name."""
    return next(one for one in ALL if one.name == name)


def that_can(operation: str) -> list[Contender]:
    """Return every contender that has the operation."""
    return [one for one in ALL if hasattr(one, operation)]

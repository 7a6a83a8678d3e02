"""Learn from any kernel or similarity function."""

import importlib
from typing import Any

_PUBLIC = {
    "compute": "show_versions",
    "engines": "DaskEngine DistributedEngine Engine LocalEngine TorchEngine current_engine use_engine",
    "estimators": """
        CostCurve EarlyStops Explanation Explanations Representation SimilarityClassifier SimilarityMultilabelClassifier
        SimilarityOrdinalClassifier SimilarityRegressor Uncertainty cost_curve
    """,
    "export": "to_onnx",
    "fitting": "Plan PlanStep",
    "goodness": "Goodness Margin MarginCurve alignment assess error_at_margin margin",
    "hypotheses": "DriftResult KernelFinding TellingObject TestResult drift_test independence_test two_sample_test",
    "kernel_learning": "learn_kernel",
    "kernels": """
        Aligned Auto Columns Convolutions Cosine DTW Derivative ERP Edit Equal Gapped Gaussian GlobalAlignment Gower
        Graphlet HistogramIntersection Intersection Jaccard Laplace Linear LocalAlignment MSM Matern MeanOf Mismatch
        OrMissing Ordinal Partitioned Polynomial RandomWalk RationalQuadratic SharesAny ShortestPath Sigmoid Signature
        SoftDTW Spectrum Subsequence TWE Tabular WeisfeilerLehman WeisfeilerLehmanAssignment WeisfeilerLehmanEdges Words
        explicit_dimension explicit_map
    """,
    "learners": """
        AlignmentVote ClusterNumber KernelKMeans KernelOneClassSVM KernelPerceptron KernelRanker KernelRidge
        KernelRidgeClassifier KernelSGDSVC KernelSVC KernelSVR KreinSVC MarginPerceptron MistakeBound
        OnlineKernelClassifier OnlineKernelRegressor RepresenterClassifier RepresenterRegressor SeparatorLP
        SimilarityDensityClusters SimilarityIndex SimilarityKMedoids SimilarityKNeighborsClassifier
        SimilarityKNeighborsRegressor SimilarityLinkage SimilarityNovelty SimilarityVote SpectralClusters
        WeakSimilarityVote choose_clusters
    """,
    "maps": "CompactMap FourierMap KernelPCA LandmarkMap PolynomialSketchMap ProjectionMap SpectralEmbedding",
    "persistence": "load save",
    "relevance": "Attribution Importance attribution importance",
    "report": "Findings investigate write_report",
    "results": "Curve Estimate Guarantee Premise",
    "selection": "Selection SideBySide choose_kernel combine",
    "similarity": "Bounds FromBlocks FromPairs Hints Precomputed Proof Similarity as_similarity",
    "validity": "Validity Witness check_kernel repair",
}
"""Public names by room. A room is imported when one of its names is used; type checkers read `__init__.pyi`."""

_ROOM_OF = {name: room for room, names in _PUBLIC.items() for name in names.split()}

__all__ = [
    "FromBlocks",
    "FromPairs",
    "Precomputed",
    "Similarity",
    "SimilarityClassifier",
    "SimilarityMultilabelClassifier",
    "SimilarityOrdinalClassifier",
    "SimilarityRegressor",
    "alignment",
    "as_similarity",
    "assess",
    "attribution",
    "check_kernel",
    "choose_kernel",
    "combine",
    "cost_curve",
    "drift_test",
    "error_at_margin",
    "importance",
    "independence_test",
    "learn_kernel",
    "load",
    "margin",
    "repair",
    "save",
    "show_versions",
    "to_onnx",
    "two_sample_test",
    "use_engine",
    "write_report",
]
"""What most programs need, and all that a star imports."""

_MODULES = (
    "bounds",
    "checks",
    "datasets",
    "engines",
    "errors",
    "files",
    "kernels",
    "learners",
    "maps",
    "report",
    "results",
    "sources",
)


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(importlib.import_module(f"similitude.{_ROOM_OF[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"similitude.{name}")
    if name == "__version__":
        from importlib.metadata import version  # takes longer to import than all of this module

        return version("similitude")
    raise AttributeError(f"module 'similitude' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_ROOM_OF, *_MODULES, "__version__"])

"""Learn from any kernel or similarity function."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from similitude.compute import show_versions
    from similitude.compute.engines import use_engine
    from similitude.estimators import (
        SimilarityClassifier,
        SimilarityMultilabelClassifier,
        SimilarityOrdinalClassifier,
        SimilarityRegressor,
        cost_curve,
    )
    from similitude.export import to_onnx
    from similitude.goodness import alignment, assess, error_at_margin, margin
    from similitude.hypotheses import drift_test, independence_test, two_sample_test
    from similitude.kernel_learning import learn_kernel
    from similitude.persistence import load, save
    from similitude.relevance import attribution, importance
    from similitude.report import write_report
    from similitude.selection import choose_kernel, combine
    from similitude.similarity import FromBlocks, FromPairs, Precomputed, Similarity, as_similarity
    from similitude.validity import check_kernel, repair

_ROOMS = {
    "FromBlocks": "similarity",
    "FromPairs": "similarity",
    "Precomputed": "similarity",
    "Similarity": "similarity",
    "SimilarityClassifier": "estimators",
    "SimilarityMultilabelClassifier": "estimators",
    "SimilarityOrdinalClassifier": "estimators",
    "SimilarityRegressor": "estimators",
    "alignment": "goodness",
    "as_similarity": "similarity",
    "assess": "goodness",
    "attribution": "relevance",
    "check_kernel": "validity",
    "choose_kernel": "selection",
    "combine": "selection",
    "cost_curve": "estimators",
    "drift_test": "hypotheses",
    "error_at_margin": "goodness",
    "importance": "relevance",
    "independence_test": "hypotheses",
    "learn_kernel": "kernel_learning",
    "load": "persistence",
    "margin": "goodness",
    "repair": "validity",
    "save": "persistence",
    "show_versions": "compute",
    "to_onnx": "export",
    "two_sample_test": "hypotheses",
    "use_engine": "compute.engines",
    "write_report": "report",
}

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
    if name in _ROOMS:
        return getattr(importlib.import_module(f"similitude.{_ROOMS[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"similitude.{name}")
    raise AttributeError(f"module 'similitude' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])

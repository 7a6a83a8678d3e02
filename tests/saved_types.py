"""What the registry of saved types must say, derived from the package; run it to write the table anew."""

import ast
import dataclasses
import functools
import importlib
import inspect
import sys
import textwrap
from pathlib import Path

from sklearn.base import BaseEstimator

import similitude
from similitude.persistence.objects import OF_THE_ENGINE
from similitude.results import Result
from similitude.scikit import SimilarityEstimator
from similitude.similarity import Similarity
from similitude.similarity.parameters import Parametric

REGISTRY = Path(similitude.__file__).parent / "persistence" / "registry.py"
HELD = """
    data.datasets.Atoms data.datasets.FewObjects data.datasets.LowerBound data.datasets.Paper learners.neighbor_search.SquaredLengths
    linear.moments.Moments estimators.streams.Model estimators.streams.Stream
    landmarks.features.Coordinates landmarks.features.View
    landmarks.features.Weighted maps.fourier.Waves maps.frequencies.Matrix maps.frequencies.Structured
    landmarks.chosen_landmarks.Chosen maps.polynomial_sketch.Form maps.polynomial_sketch.TensorSketch
    landmarks.reservoir.Reservoir
    maps.sketches.Sketch
"""
"""What models, maps and similarities hold beside each other; encodings are made anew and no part of a file."""

LEFT_OUT = {"AssessedSimilarity", "Envelope", "SimilarityEstimator", "BagSimilarity", "HistogramSimilarity", "Extreme"}
"""What lives only as long as a fit, and what others are made from."""

FROM_OUTSIDE = {
    "SimilarityEstimator": ["n_features_in_", "feature_names_in_"],
    "SeparatorLP": ["n_features_in_", "feature_names_in_"],
    "FeatureMap": ["_sklearn_output_config", "_n_features_out"],
    "KernelKMeans": ["_sklearn_output_config"],
    "LandmarkEstimator": ["_so_far", "_coordinates"],
}
"""Attributes that are not set by a method of the class itself."""


def modules():
    """Import every module below the command line and the checks, and yield it."""
    root = Path(similitude.__file__).parent
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts and parts[0] not in ("cli", "checks", "persistence", "report", "compute"):
            yield importlib.import_module(".".join(("similitude", *parts)))


@functools.cache
def stored_classes():
    """Return every class of the package that a saved model can hold."""
    found = {}
    for module in modules():
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__ and is_stored(cls):
                found[name_of(cls)] = cls
    for name in HELD.split():
        home, _, cls = f"similitude.{name}".rpartition(".")
        found[f"{home}.{cls}"] = getattr(importlib.import_module(home), cls)
    return found


def name_of(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def is_stored(cls):
    if inspect.isabstract(cls) or cls.__name__ in LEFT_OUT or cls.__name__.startswith("_"):
        return False
    if issubclass(cls, Result):
        return dataclasses.is_dataclass(cls)
    if issubclass(cls, Similarity):
        return True
    return issubclass(cls, (Parametric, BaseEstimator)) and ("__init__" in vars(cls) or not cls.__subclasses__())


def attributes(cls):
    """Return the names of the attributes that an object of a class can have."""
    if dataclasses.is_dataclass(cls):
        return sorted(field.name for field in dataclasses.fields(cls))
    found = set()
    for one in cls.__mro__:
        if one.__module__.startswith("similitude."):
            found |= set_in(one) | set(FROM_OUTSIDE.get(one.__name__, ()))
    if issubclass(cls, SimilarityEstimator):
        found.add("kernel_" if "kernel" in found else "similarity_")
    not_stored = (property, functools.cached_property)
    found -= set(OF_THE_ENGINE)
    return sorted(name for name in found if not isinstance(getattr(cls, name, None), not_stored))


def set_in(cls):
    """Return the names that the methods of a class set on ``self``."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    targets = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    return {node.attr for node in targets if isinstance(node.value, ast.Name) and node.value.id == "self"} | {
        name for name in ("_claims",) if cls.__name__ == "Declared"
    }


def table():
    """Return the registry as it should be: a line for each class, with its attributes."""
    lines = []
    for name, cls in sorted(stored_classes().items()):
        line = f"{name.removeprefix('similitude.')}: {' '.join(attributes(cls))}".rstrip()
        lines += textwrap.wrap(line, 118, subsequent_indent="    ")
    return "\n" + "\n".join(lines) + "\n"


if __name__ == "__main__":
    before, start, rest = REGISTRY.read_text().partition('TABLE = """')
    REGISTRY.write_text(before + start + table() + rest[rest.index('"""') :])
    sys.stdout.write(f"{len(stored_classes())} types\n")

"""The closed list of classes that saved models may contain, derived from the package; run it to write the list anew."""

import dataclasses
import functools
import importlib
import inspect
import sys
import textwrap
from pathlib import Path

from sklearn.base import BaseEstimator

import similitude
from similitude.results import Result
from similitude.similarity import Similarity
from similitude.similarity.parameters import Parametric

REGISTRY = Path(similitude.__file__).parent / "persistence" / "registry.py"
ROOMS = """
    data estimators fitting goodness hypotheses kernel_learning kernels landmarks learners linear maps selection
    similarity support validity
""".split()  # noqa: SIM905
HELD = """
    data.Atoms data.FewObjects data.LowerBound data.Paper fitting.BlendInfluence fitting.Cascade
    fitting.CascadeInfluence fitting.ClassCalibration fitting.ClassInfluence fitting.ErrorCalibration
    fitting.ExampleInfluence fitting.GroupInfluence fitting.LandmarkModel fitting.LandmarkVariance
    fitting.PairWork fitting.ProfileRidge fitting.Sizes
    fitting.RankedScores fitting.Spread fitting.Stage fitting.Stream fitting.ValueRange
    fitting.WeightedLandmarks fitting.Groups
    landmarks.LandmarkFeatures landmarks.Landmarks landmarks.Reservoir learners.Distances
    learners.NeighborGraph learners.SquaredLengths
    linear.GroupMoments linear.Moments maps.Form maps.Matrix maps.Sketch maps.Structured maps.TensorSketch maps.Waves
    similarity.PairStore
""".split()  # noqa: SIM905
"""What models, maps and similarities contain besides each other; encodings are not stored."""

LEFT_OUT = {
    "AssessedSimilarity",
    "BagSimilarity",
    "LandmarkEstimator",
    "WeightedFeatures",
    "WeightedSets",
    "BaseNeighbors",
    "CacheInformation",
    "Cost",
    "DistanceSimilarity",
    "Envelope",
    "Extreme",
    "HistogramSimilarity",
    "LandmarkPredictor",
    "MultinomialLogistic",
    "Representer",
    "SimilarityEstimator",
    "Spent",
    "TestedObjects",
    "VectorSimilarity",
}
"""Classes that live only during a fit, or are not saved with it, and base classes."""


def modules():
    """Import every module whose classes may be stored, and yield it."""
    root = Path(similitude.__file__).parent
    for path in sorted(path for room in ROOMS for path in (root / room).rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        yield importlib.import_module(".".join(("similitude", *(part for part in parts if part != "__init__"))))


@functools.cache
def stored_classes():
    """Return the classes that a saved model can contain, by module and name."""
    own = [(module, cls) for module in modules() for cls in vars(module).values() if inspect.isclass(cls)]
    return {(m.__name__, cls.__name__): cls for m, cls in own if cls.__module__ == m.__name__ and is_stored(cls)}


def is_stored(cls):
    if inspect.isabstract(cls) or cls.__name__ in LEFT_OUT or cls.__name__.startswith("_"):
        return False
    if f"{cls.__module__.split('.')[1]}.{cls.__name__}" in HELD or issubclass(cls, Similarity):
        return True
    if issubclass(cls, Result):
        return dataclasses.is_dataclass(cls)
    return issubclass(cls, (Parametric, BaseEstimator)) and ("__init__" in vars(cls) or not cls.__subclasses__())


def table():
    """Return the list as the registry should have it: a line per room, or per module if its room does not export it."""
    names = {}
    for (module, name), cls in sorted(stored_classes().items()):
        room = module.split(".")[1]
        is_exported = getattr(importlib.import_module(f"similitude.{room}"), name, None) is cls
        names.setdefault(room if is_exported else module.removeprefix("similitude."), []).append(name)
    lines = [
        textwrap.wrap(f"{place}: {' '.join(sorted(names[place]))}", 118, subsequent_indent="    ")
        for place in sorted(names)
    ]
    return "\n" + "\n".join(part for line in lines for part in line) + "\n"


if __name__ == "__main__":
    before, start, rest = REGISTRY.read_text().partition('TABLE = """')
    REGISTRY.write_text(before + start + table() + rest[rest.index('"""') :])
    sys.stdout.write(f"{len(stored_classes())} classes\n")

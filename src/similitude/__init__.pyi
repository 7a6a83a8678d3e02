# ruff: noqa: F403, I001
"""Learn from any kernel or similarity function."""

from similitude import (
    bounds as bounds,
    checks as checks,
    datasets as datasets,
    engines as engines,
    errors as errors,
    files as files,
    kernels as kernels,
    learners as learners,
    maps as maps,
    report as report,
    results as results,
    sources as sources,
)
from similitude.compute import (
    show_versions as show_versions,
)
from similitude.engines import (
    DaskEngine as DaskEngine,
    DistributedEngine as DistributedEngine,
    Engine as Engine,
    LocalEngine as LocalEngine,
    TorchEngine as TorchEngine,
    current_engine as current_engine,
    use_engine as use_engine,
)
from similitude.estimators import *
from similitude.export import (
    to_onnx as to_onnx,
)
from similitude.fitting import (
    Plan as Plan,
    PlanStep as PlanStep,
)
from similitude.goodness import (
    Goodness as Goodness,
    Margin as Margin,
    MarginCurve as MarginCurve,
    alignment as alignment,
    assess as assess,
    error_at_margin as error_at_margin,
    margin as margin,
)
from similitude.hypotheses import *
from similitude.kernel_learning import (
    learn_kernel as learn_kernel,
)
from similitude.kernels import *
from similitude.learners import *
from similitude.maps import *
from similitude.persistence import (
    load as load,
    save as save,
)
from similitude.relevance import *
from similitude.report import *
from similitude.results import (
    Curve as Curve,
    Estimate as Estimate,
    Guarantee as Guarantee,
    Premise as Premise,
)
from similitude.selection import (
    Selection as Selection,
    SideBySide as SideBySide,
    choose_kernel as choose_kernel,
    combine as combine,
)
from similitude.similarity import (
    Bounds as Bounds,
    FromBlocks as FromBlocks,
    FromPairs as FromPairs,
    Hints as Hints,
    Precomputed as Precomputed,
    Proof as Proof,
    Similarity as Similarity,
    as_similarity as as_similarity,
)
from similitude.validity import (
    Validity as Validity,
    Witness as Witness,
    check_kernel as check_kernel,
    repair as repair,
)

__version__: str

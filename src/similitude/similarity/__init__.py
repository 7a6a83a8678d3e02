"""Contract 1: similarities, what is claimed of them, their algebra, and adapters for whatever a user brings."""

from similitude.compute import Hints
from similitude.similarity.adapters import (
    FromBlocks,
    FromPairs,
    Precomputed,
    as_similarity,
    calls_per_pair,
    calls_taken,
    cost_per_call,
    may_be_costly,
    user_functions,
)
from similitude.similarity.algebra import (
    Absolute,
    Exponential,
    Maximum,
    Minimum,
    Node,
    Power,
    Product,
    Scaled,
    Shifted,
    Sum,
    hints_of_parts,
)
from similitude.similarity.automatic import Auto
from similitude.similarity.bounds import Bounds, Candidates
from similitude.similarity.cached import (
    Cached,
    CacheInformation,
    cache_information,
    exported_pairs,
    merge_caches,
    prune_cache,
)
from similitude.similarity.claims import (
    BOUNDED,
    KERNEL,
    PSD,
    SYMMETRIC,
    UNIT_DIAGONAL,
    UNIT_KERNEL,
    Proof,
)
from similitude.similarity.contract import Similarity, check_claims, image, remembered_images
from similitude.similarity.feature_space import finite_diagonal as finite_diagonal
from similitude.similarity.feature_space import kernel_distance as kernel_distance
from similitude.similarity.meter import (
    Calls,
    Meter,
    budgeted,
    check_max_calls,
    metered,
    phase,
    phases_reported_to,
    progress_line,
)
from similitude.similarity.pair_store import PairStore
from similitude.similarity.parameters import Parametric
from similitude.similarity.parameters import stated as stated
from similitude.similarity.wrappers import Learnable, Normalized, Pullback, Symmetrized, Wrapped
from similitude.similarity.wrappers import OfImages as OfImages

__all__ = [
    "BOUNDED",
    "KERNEL",
    "PSD",
    "SYMMETRIC",
    "UNIT_DIAGONAL",
    "UNIT_KERNEL",
    "Absolute",
    "Auto",
    "Bounds",
    "CacheInformation",
    "Cached",
    "Calls",
    "Candidates",
    "Exponential",
    "FromBlocks",
    "FromPairs",
    "Hints",
    "Learnable",
    "Maximum",
    "Meter",
    "Minimum",
    "Node",
    "Normalized",
    "PairStore",
    "Parametric",
    "Power",
    "Precomputed",
    "Product",
    "Proof",
    "Pullback",
    "Scaled",
    "Shifted",
    "Similarity",
    "Sum",
    "Symmetrized",
    "Wrapped",
    "as_similarity",
    "budgeted",
    "cache_information",
    "calls_per_pair",
    "calls_taken",
    "check_claims",
    "check_max_calls",
    "cost_per_call",
    "exported_pairs",
    "hints_of_parts",
    "image",
    "may_be_costly",
    "merge_caches",
    "metered",
    "phase",
    "phases_reported_to",
    "progress_line",
    "prune_cache",
    "remembered_images",
    "user_functions",
]

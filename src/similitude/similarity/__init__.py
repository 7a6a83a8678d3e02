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
from similitude.similarity.feature_space import finite_diagonal, kernel_distance
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
from similitude.similarity.parameters import Parametric, stated
from similitude.similarity.wrappers import Learnable, Normalized, OfImages, Pullback, Symmetrized, Wrapped

__all__ = ["Auto", "Bounds", "FromBlocks", "FromPairs", "Hints", "Precomputed", "Proof", "Similarity", "as_similarity"]

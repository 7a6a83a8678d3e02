"""How matrices of similarities are computed: encodings, blocks, hints, compiled loops and engines."""

from similitude.compute.blocks import Blocks, BlockTask, check_fits, finite_block, run_on_strips, strips
from similitude.compute.encodings import (
    FLOATS,
    LARGEST_EXACT,
    Encoding,
    as_matrix,
    as_numpy,
    as_objects,
    beside,
    check_columns,
    check_objects,
    concatenated,
    count,
    first_nonfinite,
    in_memory,
    in_precision,
    is_column,
    is_distributed,
    is_sparse,
    is_table,
    is_tensor,
    itemsize,
    join,
    join_all,
    keys,
    moved,
    namespace,
    nbytes,
    rows,
    stacked,
    take,
    tensor_in,
    warn_if_rounded,
)
from similitude.compute.hints import Hints, Profile, profile_of
from similitude.compute.versions import show_versions

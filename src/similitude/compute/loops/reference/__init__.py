"""The readable loops: the specification and test oracle of the compiled ones, used if those were not built."""

from similitude.compute.loops.reference.bags import (
    neighbor_bags,
    set_bits,
    shared_features,
    term_bags,
    term_keys,
    window_bags,
)
from similitude.compute.loops.reference.elastic import erp, msm, soft_dtw, twe
from similitude.compute.loops.reference.graphs import (
    graphlets,
    keyed_products,
    labeled_walks,
    shortest_paths,
    weisfeiler_lehman,
)
from similitude.compute.loops.reference.matrices import cos_sin, hadamard, mirror, worst_triple
from similitude.compute.loops.reference.series import (
    convolutions,
    dtw,
    dtw_pairs,
    global_alignment,
    outside_ranges,
    self_alignment,
    signatures,
)
from similitude.compute.loops.reference.sets import candidates, common_bits, count_bits, of_shared, shared_bits
from similitude.compute.loops.reference.solvers import add_rows, perceptron_pass, pick, smo, swap_medoids
from similitude.compute.loops.reference.strings import (
    best_alignment,
    levenshtein,
    levenshtein_pairs,
    self_subsequences,
    self_sum_alignments,
    subsequences,
    sum_alignments,
)
from similitude.compute.loops.reference.tables import gower
from similitude.compute.loops.reference.vectors import (
    apply,
    of_products,
    of_sparse_sums,
    of_sums,
    sparse_dense_products,
    sparse_products,
)

LOOPS = [name for name, loop in list(globals().items()) if callable(loop)]
"""The names of all loops."""

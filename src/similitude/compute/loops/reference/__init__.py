"""The readable loops: the specification and test oracle of the compiled ones, used if those were not built."""

from similitude.compute.loops.reference.elastic import erp, msm, soft_dtw, twe
from similitude.compute.loops.reference.graphs import (
    graphlets,
    keyed_products,
    labeled_walks,
    shortest_paths,
    weisfeiler_lehman,
)
from similitude.compute.loops.reference.matrices import cos_sin, hadamard, mirror, worst_triple
from similitude.compute.loops.reference.series import convolutions, dtw, global_alignment, self_alignment, signatures
from similitude.compute.loops.reference.sets import common_bits, count_bits, of_shared, shared_bits
from similitude.compute.loops.reference.solvers import add_rows, perceptron_pass, pick, smo, swap_medoids
from similitude.compute.loops.reference.strings import (
    best_alignment,
    levenshtein,
    neighbor_bags,
    self_subsequences,
    self_sum_alignments,
    set_bits,
    shared_features,
    subsequences,
    sum_alignments,
    term_bags,
    term_keys,
    window_bags,
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

__all__ = [
    "add_rows",
    "apply",
    "best_alignment",
    "common_bits",
    "convolutions",
    "cos_sin",
    "count_bits",
    "dtw",
    "erp",
    "global_alignment",
    "gower",
    "graphlets",
    "hadamard",
    "keyed_products",
    "labeled_walks",
    "levenshtein",
    "mirror",
    "msm",
    "neighbor_bags",
    "of_products",
    "of_shared",
    "of_sparse_sums",
    "of_sums",
    "perceptron_pass",
    "pick",
    "self_alignment",
    "self_subsequences",
    "self_sum_alignments",
    "set_bits",
    "shared_bits",
    "shared_features",
    "shortest_paths",
    "signatures",
    "smo",
    "soft_dtw",
    "sparse_dense_products",
    "sparse_products",
    "subsequences",
    "sum_alignments",
    "swap_medoids",
    "term_bags",
    "term_keys",
    "twe",
    "weisfeiler_lehman",
    "window_bags",
    "worst_triple",
]

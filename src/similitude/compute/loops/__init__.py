"""Inner loops: arrays in, arrays out.

Each loop stands twice: compiled, for every instruction set that the machine may have, and readable in
``reference``. The best compiled one is chosen at import. ``SIMILITUDE_SIMD=baseline|avx2|avx512`` forces an
instruction set, ``SIMILITUDE_LOOPS=reference`` the readable twins.
"""

import os

from similitude.compute.loops.reference import CSR
from similitude.compute.loops.reference_strings import Bags, Patterns

WHY_REFERENCE = "SIMILITUDE_LOOPS=reference" if os.environ.get("SIMILITUDE_LOOPS") == "reference" else ""
if not WHY_REFERENCE:
    try:
        import similitude.compute.loops._compiled as _compiled
    except ImportError as error:
        WHY_REFERENCE = f"no compiled module: {error}"

COMPILED = not WHY_REFERENCE
if COMPILED:
    from similitude.compute.loops.compiled import (
        add_rows,
        apply,
        common_bits,
        cos_sin,
        count_bits,
        hadamard,
        mirror,
        of_products,
        of_sparse_sums,
        of_sums,
        perceptron_pass,
        smo,
        sparse_dense_products,
        sparse_products,
        worst_triple,
    )
    from similitude.compute.loops.compiled_graphs import graphlets, keyed_products, shortest_paths, weisfeiler_lehman
    from similitude.compute.loops.compiled_series import dtw, global_alignment, self_alignment
    from similitude.compute.loops.compiled_sets import of_shared, shared_bits
    from similitude.compute.loops.compiled_strings import (
        levenshtein,
        neighbor_bags,
        set_bits,
        shared_features,
        window_bags,
    )
    from similitude.compute.loops.compiled_tables import gower

    if os.environ.get("SIMILITUDE_SIMD"):
        try:
            _compiled.choose(os.environ["SIMILITUDE_SIMD"])
        except ValueError as error:
            raise ValueError(f"SIMILITUDE_SIMD: {error}") from None
    IN_USE = f"compiled ({_compiled.in_use()})"
else:
    from similitude.compute.loops.reference import (
        add_rows,
        apply,
        common_bits,
        cos_sin,
        count_bits,
        hadamard,
        mirror,
        of_products,
        of_sparse_sums,
        of_sums,
        perceptron_pass,
        smo,
        sparse_dense_products,
        sparse_products,
        worst_triple,
    )
    from similitude.compute.loops.reference_graphs import graphlets, keyed_products, shortest_paths, weisfeiler_lehman
    from similitude.compute.loops.reference_series import dtw, global_alignment, self_alignment
    from similitude.compute.loops.reference_sets import of_shared, shared_bits
    from similitude.compute.loops.reference_strings import (
        levenshtein,
        neighbor_bags,
        set_bits,
        shared_features,
        window_bags,
    )
    from similitude.compute.loops.reference_tables import gower

    IN_USE = f"reference ({WHY_REFERENCE})"

__all__ = [
    "COMPILED",
    "CSR",
    "IN_USE",
    "Bags",
    "Patterns",
    "add_rows",
    "apply",
    "common_bits",
    "cos_sin",
    "count_bits",
    "dtw",
    "global_alignment",
    "gower",
    "graphlets",
    "hadamard",
    "keyed_products",
    "levenshtein",
    "mirror",
    "neighbor_bags",
    "of_products",
    "of_shared",
    "of_sparse_sums",
    "of_sums",
    "perceptron_pass",
    "self_alignment",
    "set_bits",
    "shared_bits",
    "shared_features",
    "shortest_paths",
    "smo",
    "sparse_dense_products",
    "sparse_products",
    "weisfeiler_lehman",
    "window_bags",
    "worst_triple",
]

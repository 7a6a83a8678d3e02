"""The importance of columns for the model, on examples that it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from similitude.compute import take
from similitude.relevance import importance
from similitude.report.findings.columns import ColumnValues
from similitude.report.findings.held_out import LEVEL, FoldModel
from similitude.report.findings.inputs import Inputs
from similitude.report.limits import MAX_CALLS, MAX_CALLS_OF_A_FUNCTION, MAX_PERMUTED
from similitude.support import ESTIMATE, Estimate


def with_importance(
    inputs: Inputs, columns: Sequence[ColumnValues], models: Sequence[FoldModel]
) -> tuple[tuple[ColumnValues, ...], tuple[str, ...]]:
    """Return columns with their importance by permutation, measured in some of the folds on what was held out.

    Also return a note if only some of the held-out examples were used.
    """
    passes = max(1, 2 * len(columns))
    tests = [one for one in models if len(one.test)][: max(1, 120 // passes)]
    landmarks = max(one.model.n_similarity_calls_ for one in tests)
    most = MAX_CALLS if inputs.similarity.hints.threadsafe else MAX_CALLS_OF_A_FUNCTION
    if inputs.spare is not None:
        most = min(most, inputs.spare // 4)  # a quarter: landmarks may be compared in both directions
    rows = most // max(1, passes * landmarks * len(tests))
    sizes = [min(rows, len(one.test), MAX_PERMUTED) for one in tests]
    if not columns or not landmarks or sum(sizes) < 20:
        return tuple(columns), ()
    measures = [_importance(inputs, one, size) for one, size in zip(tests, sizes, strict=True)]
    weights = np.array(sizes)[:, None] / sum(sizes)
    pairs = list(zip(measures, weights, strict=True))
    values = np.sum([one.values * w for one, w in pairs], axis=0)
    reach = np.sqrt(np.sum([((one.high - one.values) * w) ** 2 for one, w in pairs], axis=0))
    ends = zip(values.tolist(), (values - reach).tolist(), (values + reach).tolist(), strict=True)
    estimates = [Estimate(*one, LEVEL, ESTIMATE) for one in ends]
    tested = sum(len(one.test) for one in models)
    few = f"the importance of columns was measured on {sum(sizes):,} of {tested:,} held-out examples"
    found = tuple(
        replace(one, finding=replace(one.finding, importance=measured))
        for one, measured in zip(columns, estimates, strict=True)
    )
    return found, (few,) if sum(sizes) < tested else ()


def _importance(inputs: Inputs, one: FoldModel, size: int) -> Any:
    rows = np.sort(inputs.rng().permutation(one.test)[:size])
    y = inputs.y[rows]
    return importance(one.model, take(inputs.X, rows), y, n_repeats=2, random_state=inputs.seed)

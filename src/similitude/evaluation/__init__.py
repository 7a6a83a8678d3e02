"""Evaluation on rows that a model was not fitted to: splits, targets, losses and intervals; no kernels."""

from similitude.evaluation.held_out import (
    HELD_OUT_SHARE,
    LEAVE_ONE_OUT,
    MOST_HELD_OUT,
    LastRows,
    Trial,
    error_of_classes,
    error_of_numbers,
    n_fitted,
    n_held_out,
    n_judged,
)
from similitude.evaluation.splits import (
    FEWEST_GROUPS_APART,
    FEWEST_NESTED_GROUPS,
    assign_folds,
    check_groups,
    dealt_folds,
    equals_judged_together,
    fewest_groups,
    fold_pairs,
    folds_of,
    groups_for_fit,
    groups_of_classes,
    groups_of_equals,
    groups_with_copies,
    hold_out_groups,
    in_first_groups,
    joined_groups,
    last_groups,
    one_of_each,
    random_part,
    rarest_in_group,
    set_apart,
    shuffled_pairs,
)
from similitude.evaluation.targets import CLASSIFICATION, MOST_INTEGER_CLASSES, REGRESSION, TaskTargets, infer_task

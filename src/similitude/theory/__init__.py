"""Bounds of the theory as functions of numbers, and exact confidence intervals."""

from similitude.theory import bounds
from similitude.theory.bounds import (
    BALCAN_BLUM,
    BALCAN_BLUM_VEMPALA,
    DELTA,
    margin_perceptron_updates,
    perceptron_mistakes,
)
from similitude.theory.intervals import (
    LEVEL,
    clopper_pearson,
    conformal_quantile,
    conformal_rank,
    dkw_radius,
    highest_level,
    proportion,
)

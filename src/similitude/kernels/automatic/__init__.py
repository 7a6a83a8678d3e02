"""What similarity="auto" stands for: the kind of the objects, and the similarities that suit objects of this kind."""

from similitude.kernels.automatic.families import (
    FAMILIES,
    PAIR_BUDGET,
    default_similarity,
    family_of,
    kind_in_words,
    pair_cost,
    pilot_rows,
    suggestion,
)
from similitude.kernels.automatic.kinds import kind_of_objects, neighbors_are_alike

"""Is it a kernel? A proof, the smallest counterexample, or a record of the search; and the repair of similarities.

By Mercer's condition (Balcan, lecture notes 10-315, Theorem 2; Baros, Kernel Methods, Lemma 1) a function is a kernel
if and only if it is symmetric and sum_ij a_i a_j K(x_i, x_j) >= 0 for all finite sets of objects and all weights a.
"""

from similitude.validity.elimination import Tolerance, Witness, asymmetric_pair
from similitude.validity.spectral_repair import repair
from similitude.validity.verdict import Validity, check_gram, check_kernel, stored_witness

__all__ = [
    "Tolerance",
    "Validity",
    "Witness",
    "asymmetric_pair",
    "check_gram",
    "check_kernel",
    "repair",
    "stored_witness",
]

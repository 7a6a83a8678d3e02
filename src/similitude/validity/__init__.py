"""Is it a kernel? A proof, the smallest counterexample, or what was tried; and how to repair what is none.

By Mercer's condition (Balcan, lecture notes 10-315, Theorem 2; Baros, Kernel Methods, Lemma 1) a function is a
kernel if and only if it is symmetric and sum_ij a_i a_j K(x_i, x_j) >= 0 for all finite sets of objects and all
weights a. ``verdict`` asks the algebra first and then looks for a counterexample, ``witness`` finds the smallest
one in a matrix, ``search`` looks for one beyond the sample, ``repaired`` makes a kernel of an indefinite similarity.
"""

from similitude.validity.repaired import repair
from similitude.validity.verdict import Validity, check_gram, check_kernel
from similitude.validity.witness import Witness

__all__ = ["Validity", "Witness", "check_gram", "check_kernel", "repair"]

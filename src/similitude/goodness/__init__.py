"""How good a similarity is for given labels: Definitions 2 to 5 of Balcan and Blum, alignment and margins.

``gaps`` is Definition 2 (unweighted), ``weighted`` is Definitions 3 and 4 (weights fitted on some examples and tested
on others), ``class_means`` is Definition 5 (on average), ``alignments`` compares with the labels as a whole, and
``margins`` is about kernels. ``sampling`` chooses the examples, ``resampling`` computes intervals, and ``assessment``
combines it all, with the numbers of examples in the theorems.
"""

from similitude.goodness.alignments import SIGNIFICANT, alignment
from similitude.goodness.assessment import Goodness, assess
from similitude.goodness.margins import Margin, MarginCurve, error_at_margin, margin
from similitude.goodness.sampling import stratified

__all__ = [
    "SIGNIFICANT",
    "Goodness",
    "Margin",
    "MarginCurve",
    "alignment",
    "assess",
    "error_at_margin",
    "margin",
    "stratified",
]

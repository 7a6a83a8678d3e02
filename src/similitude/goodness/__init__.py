"""Is the similarity good for these labels? Definitions 2 to 5 of Balcan and Blum, and alignment, with intervals.

``gaps`` is Definition 2 (all objects count alike), ``weighting`` and ``certificates`` are Definitions 3 and 4 (objects
count by weights, fitted on some examples and tried on others), ``class_means`` is Definition 5 (on average),
``alignments`` and ``permutation`` compare with the labels as a whole, ``separability`` looks at margins, ``sizes`` at
what the theorems would ask for. ``samples`` decides who is looked at, ``resampling`` makes the intervals, and
``assessment`` puts it all together.
"""

from similitude.goodness.alignments import alignment
from similitude.goodness.assessment import Goodness, assess

__all__ = ["Goodness", "alignment", "assess"]

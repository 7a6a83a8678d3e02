"""Faults on purpose: processes killed and interrupted at random moments, full disks, odd clocks, too little memory.

``make faults`` runs all of them, ``make soak`` a long series of fits and predictions. Whatever happens, the result must
be the same model, or a clear error with nothing lost.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"  # children are forked, and the threads of BLAS would not be

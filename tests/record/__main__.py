"""``PYTHONPATH=tests python -m record``."""

import os
import sys

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def main():
    for name in THREADS:  # sums by several threads have other last digits; set before NumPy is imported
        os.environ[name] = "1"
    from record import freeze

    return freeze.main()


if __name__ == "__main__":
    sys.exit(main())

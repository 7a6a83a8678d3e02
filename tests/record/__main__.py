"""``PYTHONPATH=tests python -m record``."""

import sys

from record.freeze import main

sys.exit(main())

"""What every room may use: errors, results, validation, fingerprints, randomness, atomic writes.

Nothing here imports NumPy before it is used, so that the command line starts quickly.
"""

from similitude.support.atomic_write import *  # noqa: F403
from similitude.support.errors import *  # noqa: F403
from similitude.support.fingerprints import *  # noqa: F403
from similitude.support.randomness import *  # noqa: F403
from similitude.support.results import *  # noqa: F403
from similitude.support.validation import *  # noqa: F403
from similitude.support.versions import *  # noqa: F403

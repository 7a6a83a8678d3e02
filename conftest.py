"""What every test run shares: how hard hypothesis tries, and which modules have nothing to import."""

import os

from hypothesis import settings

from similitude.loops import COMPILED

settings.register_profile("default", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("deep", deadline=None, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

collect_ignore_glob = [] if COMPILED else ["src/similitude/loops/compiled*.py"]

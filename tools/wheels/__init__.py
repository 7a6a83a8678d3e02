"""Wheels of a release: ``python -m tools.wheels``."""

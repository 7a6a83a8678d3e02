"""Similarities of strings: shared substrings, and edits."""

from similitude.kernels.strings.edit import Edit
from similitude.kernels.strings.substrings import Gapped, Mismatch, Spectrum

__all__ = ["Edit", "Gapped", "Mismatch", "Spectrum"]

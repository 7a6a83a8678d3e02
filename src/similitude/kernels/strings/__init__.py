"""Similarities of strings: shared substrings, shared words, and edits."""

from similitude.kernels.strings.edit import Edit
from similitude.kernels.strings.substrings import Gapped, Mismatch, Spectrum
from similitude.kernels.strings.words import Words

__all__ = ["Edit", "Gapped", "Mismatch", "Spectrum", "Words"]

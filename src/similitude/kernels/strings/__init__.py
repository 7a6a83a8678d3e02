"""Similarities of strings: shared substrings, subsequences and words, alignments, and edits."""

from similitude.kernels.strings.alignment import Aligned, LocalAlignment
from similitude.kernels.strings.edit import Edit
from similitude.kernels.strings.substrings import Gapped, Mismatch, Spectrum, Subsequence
from similitude.kernels.strings.words import Words

"""Results as plain numbers, texts and lists, which JSON keeps and two runs can compare."""

import dataclasses
import hashlib
import json
import math
import re

import numpy as np

DIGITS, DIGITS_IN_TEXTS = 12, 6
"""Significant digits of numbers, and of numbers inside texts, which are compared letter by letter."""

NOTHING = 1e-14
"""Smaller numbers are rounding errors of zero."""

LONGEST = 700
"""Letters that are kept of a text that is no transcript; a digest stands for the rest."""

LONGEST_LIST, KEPT = 8, 3
"""The length up to which lists of a transcript are kept whole, and how many of a longer one are."""

LONG_NUMBER = re.compile(r"-?\d+\.\d{5,}(?:e[+-]?\d+)?|-?\d+\.\d+e[+-]?\d+")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def plain(value):
    """Return a value as JSON knows it."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return number(float(value))
    if isinstance(value, str):
        return shortened(tidy(str(value)))
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if dataclasses.is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return shortened(tidy(repr(value)))


def number(value):
    """Return a number with twelve significant digits."""
    if not math.isfinite(value):
        return str(value)
    return 0.0 if abs(value) < NOTHING else float(f"{value:.{DIGITS}g}")


def tidy(text):
    """Return a text without addresses in memory, its long numbers rounded."""
    return LONG_NUMBER.sub(rounded, ADDRESS.sub("", text))


def rounded(found):
    return f"{float(found[0]):.{DIGITS_IN_TEXTS}g}"


def shortened(text):
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}... and more: {digest(text.encode())}"


def digest(content):
    return hashlib.sha256(content).hexdigest()[:12]


def shortened_lists(value):
    """Return JSON with long lists cut: a digest of numbers with few digits stands for the rest."""
    if isinstance(value, dict):
        return {name: shortened_lists(one) for name, one in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) <= LONGEST_LIST:
        return [shortened_lists(one) for one in value]
    whole = tidy(json.dumps(value)).encode()
    return [*(shortened_lists(one) for one in value[:KEPT]), f"and {len(value) - KEPT} more: {digest(whole)}"]


def size(value):
    """Return the logarithm of a positive number that may be tiny, such as a penalty: its digits count, too."""
    return number(math.log10(value)) if value > 0 else number(value)

"""Text as people may see it: control characters and marks without width are shown, not obeyed."""

import re

_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of text
    r"\u180e\u200b\u2028\u2029\u2060-\u2064\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # no width, or lines of their own
    r"\ud800-\udfff]"
)


def printable(text: object) -> str:
    r"""Escape control characters, except tabs and line ends, marks of the direction of text, and others without width.

    The joiners of zero width stay, because words of some languages are written with them.

    >>> printable("red: \x1b[31m, \N{RIGHT-TO-LEFT OVERRIDE}backwards")
    'red: \\x1b[31m, \\u202ebackwards'
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))


LONG_NUMBER = re.compile(r"(?:(?<=[=(\[*])|(?<=, ))(-?\d+\.\d{5,}(?:e[-+]?\d+)?)(?![\w.])")
"""A number of many digits, in an expression."""


def short_numbers(text: str) -> str:
    """Return an expression with four significant digits of each number, for people to read.

    >>> short_numbers("0.5*Gaussian(sigma=0.7071067811865476, metric=[1.52, 0.12345678])")
    '0.5*Gaussian(sigma=0.7071, metric=[1.52, 0.1235])'
    """
    return LONG_NUMBER.sub(lambda found: f"{float(found[1]):.4g}", text)

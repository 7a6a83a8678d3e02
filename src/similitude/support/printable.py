"""Text as people may see it: control characters and marks that turn the direction of text are shown, not obeyed."""

import re

_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: object) -> str:
    r"""Escape control characters, except tabs and line ends, and marks of the direction of text.

    >>> printable("red: \x1b[31m, \N{RIGHT-TO-LEFT OVERRIDE}backwards")
    'red: \\x1b[31m, \\u202ebackwards'
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), str(text))

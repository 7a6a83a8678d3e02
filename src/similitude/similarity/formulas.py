"""What a class of similarities computes, for notebooks: the first sentence of its docstring, formulas in letters."""

from __future__ import annotations

import re

from similitude.support import Html, escaped, in_letters, joined

_INLINE, _DISPLAYED = re.compile(r":math:`([^`]*)`"), re.compile(r"\.\. math:: ([kK]\([^\n]*)|:math:`([kK]\([^`]*)")

_INDEX = re.compile(r"([_^])(?:\(([^()]*)\)|(\w+))")
"""An index or a power that is not written in small digits."""


def meaning_of(kind: type) -> Html:
    """Return the first sentence of a class of similarities, and the formula that follows if there is none in it.

    Parameters may change what is computed; the sentence is about the class.

    >>> from similitude.kernels import Cosine
    >>> meaning_of(Cosine)
    'The cosine of the angle, <i>K(x, z) = ⟨x, z⟩ / (|x| |z|)</i>; zero for a zero vector.'
    """
    doc = vars(kind).get("__doc__") or ""
    pieces = _INLINE.split(" ".join(doc.split("\n\n")[0].split()))  # text and formulas in turn
    shown = [_shown(piece) if i % 2 else escaped(piece.replace("`", "")) for i, piece in enumerate(pieces)]
    displayed = _DISPLAYED.search(doc) if len(pieces) == 1 else None
    if displayed is not None:
        every = (displayed[1] or displayed[2]).split(r"\qquad")
        one = ([part for part in every if part.strip().startswith("K(")] or every)[0]
        shown.append(Html(f"<br>{_shown(one.strip(' ,.'))}"))
    return joined(*shown)


def _shown(latex: str) -> Html:
    """Return a formula of LaTeX in letters, raised and lowered ones among them."""
    return Html(f"<i>{_INDEX.sub(_raised_or_lowered, str(escaped(in_letters(latex))))}</i>")


def _raised_or_lowered(found: re.Match[str]) -> str:
    kind = "sub" if found[1] == "_" else "sup"
    return f"<{kind}>{found[2] or found[3]}</{kind}>"

"""What a class of similarities computes, for notebooks: the first sentence of its docstring, formulas in letters."""

# ruff: noqa: RUF001, RUF002  (the letters of formulas look like others)

from __future__ import annotations

import re

from similitude.support import Html, escaped, joined

_INLINE, _DISPLAYED = re.compile(r":math:`([^`]*)`"), re.compile(r"\.\. math:: ([kK]\([^\n]*)|:math:`([kK]\([^`]*)")

_ATOM = re.compile(r"\w(_\w)?|[\w, ]+\([^()]*\)|√\(.*\)")
"""What needs no brackets above or below a line of division."""

_SYMBOLS = {
    r"\,": " ",
    **dict.fromkeys((r"\!", r"\left", r"\right", r"\big", r"\Big", r"\bigl", r"\bigr"), ""),
    r"\langle": "⟨",
    r"\rangle": "⟩",
    r"\cap": " ∩ ",
    r"\cup": " ∪ ",
    r"\cdot": " · ",
    r"\sum": "Σ",
    r"\prod": "Π",
    r"\in": " ∈ ",
    r"\infty": "∞",
    r"\ell": "ℓ",
    r"\le": " ≤ ",
    r"\ge": " ≥ ",
    **{rf"\{name}": name for name in ("exp", "max", "min", "tanh", "log", "ln")},
    r"\alpha": "α",
    r"\beta": "β",
    r"\Gamma": "Γ",
    r"\delta": "δ",
    r"\kappa": "κ",
    r"\lambda": "λ",
    r"\nu": "ν",
    r"\pi": "π",
    r"\phi": "φ",
    r"\sigma": "σ",
    r"\Sigma": "Σ",
    r"\top": "⊤",
}
"""What stands for a command of LaTeX."""


def meaning_of(kind: type) -> Html:
    """Return the first sentence of a class of similarities, and the formula that follows if there is none in it.

    Parameters may change what is computed; the sentence is about the class.

    >>> from similitude.kernels import Gaussian
    >>> meaning_of(Gaussian)
    'The Gaussian kernel, <i>K(x, z) = exp(−|x − z|<sup>2</sup> / (2σ<sup>2</sup>))</i>.'
    """
    doc = vars(kind).get("__doc__") or ""
    pieces = _INLINE.split(" ".join(doc.split("\n\n")[0].split()))  # text and formulas in turn
    shown = [in_letters(piece) if i % 2 else escaped(piece.replace("`", "")) for i, piece in enumerate(pieces)]
    displayed = _DISPLAYED.search(doc) if len(pieces) == 1 else None
    if displayed is not None:
        every = (displayed[1] or displayed[2]).split(r"\qquad")
        one = ([part for part in every if part.strip().startswith("K(")] or every)[0]
        shown.append(Html(f"<br>{in_letters(one.strip(' ,.'))}"))
    return joined(*shown)


def in_letters(latex: str) -> Html:
    """Return a formula of LaTeX with letters, raised and lowered ones among them; as it is if a command is unknown."""
    text = re.sub(r"\\(?:mathrm|text)\{([^{}]*)\}", r"\1", latex.replace("-", "−").replace("'", "′"))
    text = re.sub(r"(\\langle) |(\\[A-Za-z]+|\\[,!])", lambda one: _SYMBOLS.get(one[1] or one[2], one[0]), text)
    text, before = str(escaped(text)), ""
    while text != before:  # from the inside out
        before = text
        text = re.sub(r"\\sqrt\{([^{}]*)\}", r"√(\1)", text)
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", _fraction, text)
        text = re.sub(r"\^(?:\{([^{}]*)\}|([\w⊤]))", r"<sup>\1\2</sup>", text)
        text = re.sub(r"_(?:\{([^{}]*)\}|(\w))", r"<sub>\1\2</sub>", text)
    clear = not re.search(r"[\\{}^_]", text)
    return Html(f"<i>{re.sub(r' +', ' ', text)}</i>") if clear else Html(f"<code>{escaped(latex)}</code>")


def _fraction(found: re.Match[str]) -> str:
    above, below = [one if _ATOM.fullmatch(one) else f"({one})" for one in found.groups()]
    return f"{above} / {below}"

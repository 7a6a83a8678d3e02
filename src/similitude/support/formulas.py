r"""Formulas of docstrings, which are LaTeX, in letters that a terminal shows."""

from __future__ import annotations

# ruff: noqa: RUF001, RUF002 (Greek letters are meant)
import re
from collections.abc import Iterator

SYMBOLS = {
    "sum": ("Σ", "sum"),
    "prod": ("Π", "prod"),
    "int": ("∫", "int"),
    "in": (" ∈ ", " in "),
    "cap": (" ∩ ", " & "),
    "cup": (" ∪ ", " | "),
    "le": (" ≤ ", " <= "),
    "ge": (" ≥ ", " >= "),
    "cdot": (" · ", " * "),
    "cdots": (" ⋯ ", " ... "),
    "dots": ("…", "..."),
    "langle": ("⟨", "<"),
    "rangle": ("⟩", ">"),
    "infty": ("∞", "infinity"),
    "top": ("ᵀ", "T"),
    "ell": ("ℓ", "l"),
    "alpha": ("α", "alpha"),
    "beta": ("β", "beta"),
    "gamma": ("γ", "gamma"),
    "Gamma": ("Γ", "Gamma"),
    "delta": ("δ", "delta"),
    "epsilon": ("ε", "epsilon"),
    "kappa": ("κ", "kappa"),
    "lambda": ("λ", "lambda"),
    "nu": ("ν", "nu"),
    "pi": ("π", "pi"),
    "rho": ("ρ", "rho"),
    "phi": ("φ", "phi"),
    "sigma": ("σ", "sigma"),
    "Sigma": ("A", "A"),  # an alphabet: the letter would be taken for a sum
    **{name: ("", "") for name in ("left", "right", "Big", "big")},
    **{name: ("  ", "  ") for name in ("qquad", "quad")},
}
"""Commands of LaTeX in Unicode and in ASCII; those that are missing stand for themselves (exp, max)."""

POWERS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
SPACE = {",": " ", ";": " ", " ": " ", "!": ""}

_LATEX_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\s+|.")
_LATEX_ATOM = re.compile(r"[\w.]+|\w*[(⟨|][^()⟨⟩|]*[)⟩|]")


def in_letters(formula: str, ascii_only: bool = False) -> str:
    r"""Return a formula of LaTeX in letters.

    >>> in_letters(r"K(x, z) = \exp(-|x - z|^2 / (2\sigma^2))")
    'K(x, z) = exp(-|x - z|² / (2σ²))'
    >>> in_letters(r"K(x, z) = \exp(-|x - z|^2 / (2\sigma^2))", ascii_only=True)
    'K(x, z) = exp(-|x - z|^2 / (2 sigma^2))'
    >>> in_letters(r"\sum_{u \in x \cap z} \frac{1 + n}{\sqrt{w_u}}")
    'Σ_(u ∈ x ∩ z) (1 + n)/√(w_u)'
    """
    closer = re.sub(r"(\\langle)\s+|\s+(\\rangle)", r"\1{}\2", formula)
    found = "".join(_parts(iter(_LATEX_TOKEN.findall(closer)), ascii_only, None))
    return re.sub(r" +", " ", found).strip()


def _parts(tokens: Iterator[str], ascii_only: bool, end: str | None) -> Iterator[str]:
    """Yield what the tokens up to the end stand for."""
    before = ""
    for token in tokens:
        if token == end:
            return
        part = _part(token, tokens, ascii_only)
        is_name = before.isalpha() and len(before) > 1  # ln, sigma
        if token == r"\frac" and is_name:
            part = f"({part})"
        elif part[:1].isalnum() and token not in "_^":
            is_next_name = len(part) > 1 and part.isalpha() and before[-1:].isalnum()
            if is_name or is_next_name:
                part = f" {part}"
        before = part
        yield part


def _part(token: str, tokens: Iterator[str], ascii_only: bool) -> str:
    if token == "{":
        return "".join(_parts(tokens, ascii_only, "}"))
    if token in "_^":
        return _script(token, _argument(tokens, ascii_only), ascii_only)
    if not token.startswith("\\"):
        return " " if token.isspace() else token
    name = token[1:]
    if name == "frac":
        above = _argument(tokens, ascii_only)
        below = _argument(tokens, ascii_only)
        return f"{_in_brackets(above)}/{_in_brackets(below)}"
    if name == "binom":
        return f"C({_argument(tokens, ascii_only)}, {_argument(tokens, ascii_only)})"
    if name == "sqrt":
        return f"{'sqrt' if ascii_only else '√'}({_argument(tokens, ascii_only)})"
    if name in ("mathrm", "text", "operatorname"):
        return _argument(tokens, ascii_only)
    return SPACE[name] if name in SPACE else SYMBOLS.get(name, (name, name))[ascii_only]


def _argument(tokens: Iterator[str], ascii_only: bool) -> str:
    token = next((one for one in tokens if not one.isspace()), "")
    return re.sub(r" +", " ", _part(token, tokens, ascii_only)).strip() if token else ""


def _script(sign: str, text: str, ascii_only: bool) -> str:
    """Return an index or a power: digits are raised where the letters allow it, others stand in brackets."""
    if sign == "^" and not ascii_only:
        if text == "ᵀ":
            return text
        if re.fullmatch(r"-?\d+", text):
            return text.translate(POWERS)
    return f"{sign}{text}" if re.fullmatch(r"(\d+|[^\W\d_]+)'?", text) else f"{sign}({text})"


def _in_brackets(text: str) -> str:
    return text if _LATEX_ATOM.fullmatch(text) or text.startswith("√(") else f"({text})"

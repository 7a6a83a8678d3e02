"""A similarity in notebooks: what it computes, its parameters, its claims and what is known of each."""

from __future__ import annotations

import re
from typing import Any

from similitude.similarity.claims import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL
from similitude.similarity.parameters import Parametric
from similitude.support import Html, bullets, card, escaped, facts, in_letters, joined, paragraph, table, tag

_INLINE = re.compile(r":math:`([^`]*)`")
_DISPLAYED = re.compile(r"\.\. math:: ([kK]\([^\n]*)|:math:`([kK]\([^`]*)")

_INDEX = re.compile(r"([_^])(?:\(([^()]*)\)|(\w+))")
"""An index or a power that is not written in small digits."""


def meaning_of(kind: type) -> Html:
    """Return the first sentence of a class of similarities, and the formula that follows if there is none in it."""
    doc = vars(kind).get("__doc__") or ""
    pieces = _INLINE.split(" ".join(doc.split("\n\n")[0].split()))  # text and formulas in turn
    shown = [_shown(piece) if i % 2 else escaped(piece.replace("`", "")) for i, piece in enumerate(pieces)]
    displayed = _DISPLAYED.search(doc)
    if displayed is not None and len(pieces) == 1:
        every = (displayed[1] or displayed[2]).split(r"\qquad")
        one = ([part for part in every if part.strip().startswith("K(")] or every)[0]
        shown.append(Html(f"<br>{_shown(one.strip(' ,.'))}"))
    return joined(*shown)


def _shown(latex: str) -> Html:
    """Return a formula of LaTeX in letters, raised and lowered ones among them."""

    def raised_or_lowered(found: re.Match[str]) -> str:
        kind = {"_": "sub", "^": "sup"}[found[1]]
        return f"<{kind}>{found[2] or found[3]}</{kind}>"

    return Html(f"<i>{_INDEX.sub(raised_or_lowered, str(escaped(in_letters(latex))))}</i>")


_MEANINGS = {
    SYMMETRIC: "symmetric: K(x, z) = K(z, x)",
    UNIT_DIAGONAL: "unit diagonal: K(x, x) = 1",
    BOUNDED: "bounded: -1 ≤ K(x, z) ≤ 1",
}


def similarity_card(k: Any) -> str:
    """Return what notebooks show of a similarity."""
    proof = k.proof()
    parts = [paragraph(meaning_of(type(k)))]
    written = _written_params(k)
    if written:
        later = [name for name in k.unresolved() if name in written]
        written |= {name: f"{written[name]} (to be resolved from data)" for name in later}
        parts.append(facts(written.items(), caption="Parameters"))
    others = [(text, tag("not " * (claim not in k.claims) + "claimed"), "") for claim, text in _MEANINGS.items()]
    parts.append(table(("claim", "status", "why"), [_kernel(k, proof), *others]))
    if proof.holds and proof.premises:
        parts += [paragraph("Proof that it is a kernel:"), bullets([proof.html_tree()])]
    return card(repr(k), *parts)


def _written_params(k: Parametric, prefix: str = "") -> dict[str, str]:
    """Return the parameters, those of parts as ``set_params`` names them."""
    found: dict[str, str] = {}
    values = k.get_params(deep=False)
    for name, text in k.written_params().items():
        part = values.get(name)
        if isinstance(part, Parametric):
            found |= _written_params(part, f"{prefix}{name}__")
        else:
            found[prefix + name] = text
    return found


def _kernel(k: Any, proof: Any) -> tuple[object, ...]:
    """Return what is known about whether it is a kernel."""
    name = "positive semi-definite: a kernel"
    if proof.holds:
        return name, tag("proven"), "see the proof below" if proof.premises else proof.reason
    if {SYMMETRIC, PSD} <= k.claims:
        return name, tag("declared"), "; ".join([f"{gap.similarity}: {gap.reason}" for gap in proof.gaps()])
    if k.counterexamples():
        return name, tag("refuted"), joined(k.reason or "a counterexample is known", "; check_kernel shows it")
    return name, tag("unknown"), k.reason or "nothing is claimed; check_kernel looks for a counterexample"

"""Claims that a similarity can make, and the proof that it is a kernel.

=================  ====================================================================
SYMMETRIC          K(x, z) = K(z, x)
PSD                every Gram matrix is positive semi-definite: K is a kernel
UNIT_DIAGONAL      K(x, x) = 1
BOUNDED            -1 <= K(x, z) <= 1, the range that Balcan and Blum (2006) assume
=================  ====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from similitude.support import Html, Result, bullets, escaped, joined, paragraph, shortened, tag

SYMMETRIC = "SYMMETRIC"
PSD = "PSD"
UNIT_DIAGONAL = "UNIT_DIAGONAL"
BOUNDED = "BOUNDED"

CLAIMS = frozenset({SYMMETRIC, PSD, UNIT_DIAGONAL, BOUNDED})
KERNEL = frozenset({SYMMETRIC, PSD})
"""The claims of a kernel."""

UNIT_KERNEL = CLAIMS
"""The claims of a kernel of features of length 1."""


@dataclass(frozen=True)
class Proof(Result):
    """The proof that a similarity is a kernel, as a tree of reasons, or the nodes at which it fails.

    Attributes
    ----------
    similarity : str
        The similarity of this node, as text.
    holds : bool
        Whether it is proven to be a kernel.
    reason : str
        The rule that makes it a kernel, or why no rule applies.
    premises : tuple of Proof
        The proofs that the rule depends on.
    """

    similarity: str
    holds: bool
    reason: str
    premises: tuple[Proof, ...] = ()

    def gaps(self) -> Iterator[Proof]:
        """Yield the nodes at which the proof fails: no rule applies although all their premises are proven."""
        open_premises = [premise for premise in self.premises if not premise.holds]
        for premise in open_premises:
            yield from premise.gaps()
        if not self.holds and not open_premises:
            yield self

    def tree(self, indent: str = "") -> str:
        """Return the reasons as a tree of lines."""
        return "\n".join(self._lines(indent, indent))

    def __str__(self) -> str:
        if self.holds:
            return f"{self.similarity} is a kernel:\n{self.tree('  ')}"
        ends = "; ".join(f"{gap.similarity}: {gap.reason}" for gap in self.gaps())
        return f"No proof that {self.similarity} is a kernel. The proof ends at {ends}."

    def __repr__(self) -> str:
        return str(self)

    def html_parts(self) -> Sequence[object]:
        """Return what is proven, and the tree of reasons; or where the proof ends."""
        if not self.holds:
            ends = bullets([joined(_code(gap.similarity), f": {gap.reason}") for gap in self.gaps()])
            title = joined("No proof that ", _code(self.similarity), " is a kernel")
            return title, paragraph("The proof ends at"), ends
        return joined(tag("proven"), " ", _code(self.similarity), " is a kernel"), bullets([self.html_tree()])

    def html_tree(self) -> Html:
        """Return the reasons as nested lists."""
        shown = [joined(_code(one.similarity), ": ", one.html_tree()) for one in self.premises[:8]]
        if len(self.premises) > 8:
            shown.append(joined(f"and {len(self.premises) - 8:,} more parts"))
        return joined(self.reason, bullets(shown)) if shown else joined(self.reason)

    def _lines(self, first: str, rest: str) -> Iterator[str]:
        yield f"{first}{self.reason}"
        for number, premise in enumerate(self.premises, start=1):
            branch, below = ("└─ ", "   ") if number == len(self.premises) else ("├─ ", "│  ")
            lines = premise._lines("", "")
            yield f"{rest}{branch}{premise.similarity}: {next(lines)}"
            yield from (f"{rest}{below}{line}" for line in lines)


def _code(text: str) -> Html:
    return Html(f"<code>{escaped(shortened(text))}</code>")

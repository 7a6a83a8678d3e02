"""The algebra of similarities: nodes that combine values pair by pair and propagate claims by the closure rules.

Closed (kernels in, kernel out): c K for c >= 0, sums, products, integer powers, exp, adding c >= 0, normalization and
pullback (the last two in ``wrappers``). Not closed: differences, negative factors, absolute values, minima, maxima and
other powers; these are similarities, but nothing proves them to be kernels. Sources: Balcan, lecture notes 10-315,
section 1.2.3 (sums, products); Schoelkopf and Smola, Learning with Kernels, 2002, section 13.1 (the others).
"""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any, ClassVar

import numpy as np

from similitude.compute import Encoding, Hints, Profile, namespace, profile_of
from similitude.similarity.claims import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL, UNIT_KERNEL
from similitude.similarity.contract import Similarity
from similitude.support import check_number

Claims = frozenset[str]


def finite(number: Any) -> float:
    """Return a number that a similarity may be combined with."""
    if not math.isfinite(number):
        raise ValueError(f"a similarity combines with finite numbers only, got {number}")
    return float(number)


def kept_claims(claims: Claims, **kept: bool) -> Claims:
    """Return those claims that a node keeps of its part."""
    return frozenset(claim for claim in claims if kept.get(claim, False))


def hints_of_parts(
    profile: Callable[[Any], Profile | None] | None = None, cells: Callable[[Any], Any] | None = None
) -> Any:
    """Return the property `hints` of a similarity whose ``block`` is NumPy or torch code on the blocks of its parts."""

    def hints(self: Similarity) -> Hints:
        parts = [part.hints for part in self.parts()]
        return Hints(
            heavy=any(part.heavy for part in parts),
            on_tensors=all(part.on_tensors for part in parts),
            threadsafe=all(part.threadsafe for part in parts),
            profile=profile,
            cells=cells and cells(self),
        )

    return property(hints)


class Node(Similarity):
    """A similarity computed from the values of its parts, pair by pair; equal leaves are encoded and computed once."""

    stated_for = (*Similarity.stated_for, "combine")

    @abstractmethod
    def combine(self, *values: Any) -> Any:
        """Return the values of the node from those of its parts, which are left unchanged."""

    @property
    def objects(self) -> str:
        """The kind of objects that all parts take."""
        return _common_objects(self.parts())

    def encode(self, objects: Any) -> Encoding:
        """Return a tuple with one encoding per different leaf; leaves without parts first, whose checks are cheap."""
        leaves = _leaves(self)
        order = sorted(range(len(leaves)), key=lambda i: len(leaves[i].parts()))
        encodings = {i: leaves[i].encode(objects) for i in order}
        return tuple(encodings[i] for i in range(len(leaves)))

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the values of the node, from one block per different leaf."""
        leaves = _leaves(self)
        values = [leaf.block(a, b) for leaf, a, b in zip(leaves, A, B, strict=True)]
        with np.errstate(all="ignore"):  # a value that is not finite raises later, naming its pair
            return _evaluate(self, leaves, values)

    def diagonal(self, A: Encoding) -> Any:
        """Return the diagonal of the node, from one diagonal per different leaf."""
        leaves = _leaves(self)
        return _evaluate(self, leaves, [leaf.diagonal(a) for leaf, a in zip(leaves, A, strict=True)])


def _leaves(node: Similarity) -> list[Similarity]:
    """Return the different leaves of a tree of nodes; their encodings make up that of the root."""
    if not isinstance(node, Node):
        return [node]
    found: list[Similarity] = []
    for part in node.parts():
        found += [leaf for leaf in _leaves(part) if leaf not in found]
    return found


def _evaluate(node: Similarity, leaves: Sequence[Similarity], values: Sequence[Any]) -> Any:
    if not isinstance(node, Node):
        return values[leaves.index(node)]
    return node.combine(*(_evaluate(part, leaves, values) for part in node.parts()))


def _common_objects(parts: Sequence[Similarity]) -> str:
    kinds = sorted({part.objects for part in parts} - {"any"})
    if len(kinds) > 1:
        raise TypeError(f"parts of one similarity must take the same objects, these take {' and '.join(kinds)}")
    return kinds[0] if kinds else "any"


def _profile(node: Node, factor: float = 1.0, constant: float = 0.0) -> Profile | None:
    """Return the sum of the profiles of the parts, scaled and shifted; None if a part has none."""
    leaves = _leaves(node)
    total = Profile(())
    for part in node.parts():
        profile = profile_of(part)
        places: dict[int | None, int] = {None: 0}
        if isinstance(part, Node):
            places = {i: leaves.index(leaf) for i, leaf in enumerate(_leaves(part))}
        elif part in leaves:
            places = {None: leaves.index(part)}
        if profile is None or not {term.part for term in profile.terms} <= places.keys():
            return None
        total = total + profile.moved(places)
    return total.scaled(float(factor)) + Profile((), float(constant))


class NaryNode(Node):
    """A node with any number of parts, which are its parameters ``k1``, ``k2``, …."""

    def __init__(self, *parts: Similarity, **named: Similarity) -> None:
        self._parts = parts + tuple(named[name] for name in sorted(named, key=lambda name: int(name[1:])))

    @classmethod
    def of(cls, *parts: Similarity) -> Similarity:
        """Return the node of these parts; parts that are nodes of the same class are replaced by their parts."""
        for part in parts:
            if not isinstance(part, Similarity):
                raise TypeError(f"expected a similarity, got {type(part).__name__}")
        opened = [inner for part in parts for inner in (part.parts() if type(part) is cls else (part,))]
        _common_objects(opened)
        return cls(*opened)

    def parts(self) -> tuple[Similarity, ...]:
        """Return the parts."""
        return self._parts

    def _params(self) -> dict[str, Any]:
        return {f"k{number}": part for number, part in enumerate(self._parts, start=1)}

    def _names_of_parts(self) -> Iterable[str]:
        return self._params()

    def _set_param(self, name: str, value: Any) -> None:
        position = int(name[1:]) - 1
        self._parts = (*self._parts[:position], value, *self._parts[position + 1 :])

    def _in_every_part(self, *claims: str) -> Claims:
        return frozenset(claims).intersection(*(part.claims for part in self._parts))


class Sum(NaryNode):
    """The sum K1 + K2 + …."""

    reason = "a sum of kernels is a kernel: its features are those of all parts, side by side"
    hints = hints_of_parts(_profile)

    @property
    def claims(self) -> Claims:
        """Symmetry and PSD if all parts have them; range and diagonal if the weights are those of a mean."""
        scaled = [part if type(part) is Scaled else Scaled(part, 1.0) for part in self._parts]
        weights = [part.factor for part in scaled]
        claimed = [part.k.claims for part in scaled]
        return kept_claims(
            frozenset.intersection(*claimed),
            SYMMETRIC=True,
            PSD=min(weights) >= 0,
            BOUNDED=sum(map(abs, weights)) <= 1 + 1e-12,
            UNIT_DIAGONAL=math.isclose(sum(weights), 1.0),
        )

    def combine(self, *values: Any) -> Any:
        """Return the sum."""
        return reduce(operator.add, values)

    def __repr__(self) -> str:
        first, *others = self._parts
        text = repr(first)
        for part in others:
            written = in_brackets(part, below=(Shifted,))
            text += f" - {written[1:]}" if written.startswith("-") else f" + {written}"
        return text


class Product(NaryNode):
    """The product K1 * K2 * …."""

    reason = "a product of kernels is a kernel: its features are the products of theirs, pair by pair"
    hints = hints_of_parts()

    @property
    def claims(self) -> Claims:
        """The claims of all parts."""
        return self._in_every_part(SYMMETRIC, PSD, UNIT_DIAGONAL, BOUNDED)

    def combine(self, *values: Any) -> Any:
        """Return the product."""
        return reduce(operator.mul, values)

    def __repr__(self) -> str:
        return "*".join(in_brackets(k, below=(Sum, Shifted, Scaled)) for k in self._parts)


class Extreme(NaryNode):
    """The minimum or the maximum of several similarities, pair by pair."""

    name: str
    hints = hints_of_parts()

    @property
    def claims(self) -> Claims:
        """All but PSD."""
        return self._in_every_part(SYMMETRIC, UNIT_DIAGONAL, BOUNDED)

    @property
    def reason(self) -> str:
        """Why it need not be a kernel."""
        return f"the {self.name} of kernels need not be a kernel"

    def combine(self, *values: Any) -> Any:
        """Return the minimum or the maximum."""
        return reduce(getattr(namespace(values[0]), self.name), values)

    def __repr__(self) -> str:
        return ".".join([in_brackets(self._parts[0]), *(f"{self.name}({part!r})" for part in self._parts[1:])])


class Minimum(Extreme):
    """The minimum of K1, K2, …, pair by pair."""

    name = "minimum"


class Maximum(Extreme):
    """The maximum of K1, K2, …, pair by pair."""

    name = "maximum"


class Scaled(Node):
    """The multiple factor * K."""

    def __init__(self, k: Similarity, factor: float) -> None:
        self.k = k
        self.factor = factor

    _checks: ClassVar = {"factor": check_number}
    hints = hints_of_parts(lambda node: _profile(node, factor=node.factor))

    @property
    def claims(self) -> Claims:
        """Symmetry; PSD for a factor >= 0, the range for one in [-1, 1], the diagonal for 1."""
        c = self.factor
        return kept_claims(self.k.claims, SYMMETRIC=True, PSD=c >= 0, BOUNDED=abs(c) <= 1, UNIT_DIAGONAL=c == 1)

    @property
    def reason(self) -> str:
        """The rule for this factor."""
        if self.factor < 0:
            return "a negative multiple of a kernel need not be a kernel"
        return "a kernel times c >= 0 is a kernel: its features times sqrt(c)"

    def combine(self, *values: Any) -> Any:
        """Return the multiple."""
        return values[0] * float(self.factor)

    def __repr__(self) -> str:
        sign = "-" if self.factor == -1 else f"{float(self.factor)!r}*"
        return sign + in_brackets(self.k, below=(Sum, Shifted, Scaled, Product))


class Shifted(Node):
    """K plus a constant."""

    def __init__(self, k: Similarity, constant: float) -> None:
        self.k = k
        self.constant = constant

    _checks: ClassVar = {"constant": check_number}
    hints = hints_of_parts(lambda node: _profile(node, constant=node.constant))

    @property
    def claims(self) -> Claims:
        """Symmetry; PSD for a constant >= 0."""
        return self.k.claims & ({SYMMETRIC, PSD} if self.constant >= 0 else {SYMMETRIC})

    @property
    def reason(self) -> str:
        """The rule for this constant."""
        if self.constant < 0:
            return "a kernel minus a constant need not be a kernel"
        return "a constant c >= 0 added to a kernel adds the feature sqrt(c)"

    def combine(self, *values: Any) -> Any:
        """Return the sum."""
        return values[0] + float(self.constant)

    def __repr__(self) -> str:
        return f"{self.k!r} {'+-'[self.constant < 0]} {abs(float(self.constant))!r}"


class Power(Node):
    """The power K ** exponent."""

    def __init__(self, k: Similarity, exponent: float) -> None:
        self.k = k
        self.exponent = exponent

    _checks: ClassVar = {"exponent": check_number}
    hints = hints_of_parts()

    @property
    def _is_polynomial(self) -> bool:
        return self.exponent >= 0 and float(self.exponent).is_integer()

    @property
    def claims(self) -> Claims:
        """All for a non-negative integer exponent, all but PSD for another positive one."""
        if self.exponent == 0:
            return UNIT_KERNEL
        is_bounded = self.exponent > 0
        return kept_claims(
            self.k.claims, SYMMETRIC=True, PSD=self._is_polynomial, BOUNDED=is_bounded, UNIT_DIAGONAL=True
        )

    @property
    def reason(self) -> str:
        """The rule for this exponent."""
        if self.exponent == 0:
            return "the constant 1 is the kernel of the single feature 1"
        if self._is_polynomial:
            return "a whole power of a kernel is a product of kernels"
        return "a power that is not a whole number >= 0 need not be a kernel"

    def premises(self) -> tuple[Similarity, ...]:
        """Return the part; none for K ** 0, which is always a kernel."""
        return () if self.exponent == 0 else (self.k,)

    def combine(self, *values: Any) -> Any:
        """Return the power."""
        return values[0] ** (int(self.exponent) if self._is_polynomial else float(self.exponent))

    def __repr__(self) -> str:
        return f"{in_brackets(self.k)}**{self.exponent!r}"


class Absolute(Node):
    """The absolute value of K."""

    def __init__(self, k: Similarity) -> None:
        self.k = k

    reason = "the absolute value of a kernel need not be a kernel"
    hints = hints_of_parts()

    @property
    def claims(self) -> Claims:
        """All but PSD."""
        return self.k.claims - {PSD}

    def combine(self, *values: Any) -> Any:
        """Return the absolute value."""
        return abs(values[0])

    def __repr__(self) -> str:
        return f"abs({self.k!r})"


class Exponential(Node):
    """The exponential of K."""

    def __init__(self, k: Similarity) -> None:
        self.k = k

    reason = "exp of a kernel is a limit of sums of its powers with coefficients 1/n! >= 0"
    hints = hints_of_parts()

    @property
    def claims(self) -> Claims:
        """Symmetry and PSD."""
        return self.k.claims & {SYMMETRIC, PSD}

    def combine(self, *values: Any) -> Any:
        """Return the exponential."""
        return namespace(values[0]).exp(values[0])

    def __repr__(self) -> str:
        return f"{in_brackets(self.k)}.exp()"


def in_brackets(k: Similarity, *, below: tuple[type, ...] = (Sum, Shifted, Scaled, Product, Power)) -> str:
    """Return the text of a part beside an operator or a method; nodes in `below`, which bind less, get brackets."""
    return f"({k!r})" if isinstance(k, below) else repr(k)

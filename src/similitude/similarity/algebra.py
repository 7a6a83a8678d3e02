"""The algebra of similarities: small nodes that combine values and carry claims by the closure rules.

Closed (kernels in, kernel out): c K for c >= 0, sums, products, integer powers, exp, adding c >= 0, normalization,
pull-back (the last two in ``wrappers``). Not closed: differences, negative factors, absolute values, minima, maxima
and other powers: possible as similarities, but nothing then proves them kernels. Sources: Balcan, lecture notes 10-315,
section 1.2.3 (sums, products); Schoelkopf and Smola, Learning with Kernels, 2002, section 13.1 (the others).
"""

from __future__ import annotations

import math
import operator
from abc import abstractmethod
from collections.abc import Sequence
from functools import reduce
from numbers import Integral
from typing import Any

import numpy as np

from similitude.compute.encodings import Encoding, namespace
from similitude.compute.engines.profiles import Profile
from similitude.similarity.base import Similarity
from similitude.similarity.claims import BOUNDED, PSD, SYMMETRIC, UNIT_DIAGONAL

Claims = frozenset[str]


def add(left: Similarity, right: Similarity | float) -> Similarity:
    """Return left + right; nested sums become one."""
    if isinstance(right, Similarity):
        return Sum.of(left, right)
    return left if right == 0 else Shifted(left, _finite(right))


def multiply(left: Similarity, right: Similarity | float) -> Similarity:
    """Return left * right; nested products become one, factors multiply."""
    if isinstance(right, Similarity):
        return Product.of(left, right)
    if isinstance(left, Scaled):
        return Scaled(left.k, _finite(left.factor * _finite(right)))
    return Scaled(left, _finite(right))


def power(k: Similarity, exponent: float) -> Similarity:
    """Return k ** exponent."""
    return Power(k, int(exponent) if isinstance(exponent, Integral) else _finite(exponent))


class Node(Similarity):
    """A value made from the values of parts, pair by pair.

    Leaves that occur several times in the tree of nodes are encoded once, and computed once per tile.
    """

    @abstractmethod
    def combine(self, *values: Any) -> Any:
        """Return the node's value from its parts' values, leaving those unchanged."""

    @property
    def objects(self) -> str:
        """What all parts take."""
        return _common_objects(self.parts())

    @property
    def threadsafe(self) -> bool:
        """Whether threads gain: only if no part calls a user's Python function."""
        return all(part.threadsafe for part in self.parts())

    def works_on_tensors(self) -> bool:
        """Tell whether a device can run every part."""
        return all(part.works_on_tensors() for part in self.parts())

    def profile(self) -> Profile | None:
        """Return the profile of sums, multiples and shifts of parts that have one."""
        return _profile(self, _leaves(self))

    def joined(self, profiles: Sequence[Profile]) -> Profile | None:
        """Return the node's profile from its parts'; None where a weighted sum cannot express it."""
        return None

    def encode(self, objects: Any) -> Encoding:
        """Return a tuple: one encoding per different leaf; plain leaves first, whose checks are cheap."""
        leaves = _leaves(self)
        order = sorted(range(len(leaves)), key=lambda i: len(leaves[i].parts()))
        encodings = {i: leaves[i].encode(objects) for i in order}
        return tuple(encodings[i] for i in range(len(leaves)))

    def block(self, A: Encoding, B: Encoding) -> Any:
        """Return the node's values, from one block per different leaf."""
        leaves = _leaves(self)
        values = [leaf.block(a, b) for leaf, a, b in zip(leaves, A, B, strict=True)]
        with np.errstate(all="ignore"):  # a value that is not finite raises later, naming its pair
            return _evaluate(self, leaves, values)

    def diagonal(self, A: Encoding) -> Any:
        """Return the node's diagonal, from one diagonal per different leaf."""
        leaves = _leaves(self)
        return _evaluate(self, leaves, [leaf.diagonal(a) for leaf, a in zip(leaves, A, strict=True)])


def _leaves(node: Similarity) -> list[Similarity]:
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


def _profile(node: Similarity, leaves: Sequence[Similarity]) -> Profile | None:
    if not isinstance(node, Node):
        known = node.described()
        return None if known is None else known.at(leaves.index(node))
    profiles = [_profile(part, leaves) for part in node.parts()]
    return None if None in profiles else node.joined([one for one in profiles if one is not None])


def _common_objects(parts: Sequence[Similarity]) -> str:
    kinds = sorted({part.objects for part in parts} - {"any"})
    if len(kinds) > 1:
        raise TypeError(f"parts of one similarity must take the same objects, these take {' and '.join(kinds)}")
    return kinds[0] if kinds else "any"


def _finite(number: Any) -> float:
    if not math.isfinite(number):
        raise ValueError(f"a similarity combines with finite numbers only, got {number}")
    return float(number)


class Joined(Node):
    """A node of any number of parts, named ``k1``, ``k2``, … as parameters."""

    def __init__(self, *parts: Similarity, **named: Similarity) -> None:
        self._parts = parts + tuple(named[name] for name in sorted(named, key=lambda name: int(name[1:])))

    @classmethod
    def of(cls, *parts: Similarity) -> Similarity:
        """Return the node of these parts, with nested nodes of the same class opened."""
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

    def _set_param(self, name: str, value: Any) -> None:
        position = int(name[1:]) - 1
        self._parts = (*self._parts[:position], value, *self._parts[position + 1 :])

    def _in_every_part(self, *claims: str) -> Claims:
        return frozenset(claims).intersection(*(part.claims for part in self._parts))


class Sum(Joined):
    """The sum K1 + K2 + …."""

    @property
    def claims(self) -> Claims:
        """Symmetry and PSD of all parts; range and diagonal where the weights are those of a mean."""
        weights = [part.factor if isinstance(part, Scaled) else 1.0 for part in self._parts]
        cores = [(part.k if isinstance(part, Scaled) else part).claims for part in self._parts]
        everywhere = frozenset.intersection(*cores)
        kept = {
            SYMMETRIC: True,
            PSD: min(weights) >= 0,
            BOUNDED: sum(map(abs, weights)) <= 1 + 1e-12,
            UNIT_DIAGONAL: math.isclose(sum(weights), 1.0),
        }
        return frozenset(claim for claim in everywhere if kept[claim])

    reason = "a sum of kernels is a kernel: its features are those of all parts, side by side"

    def combine(self, *values: Any) -> Any:
        """Add the parts."""
        return reduce(operator.add, values)

    def joined(self, profiles: Sequence[Profile]) -> Profile:
        """Add the profiles."""
        return reduce(operator.add, profiles)

    def __repr__(self) -> str:
        first, *others = self._parts
        text = repr(first)
        for part in others:
            written = in_brackets(part, below=(Shifted,))
            text += f" - {written[1:]}" if written.startswith("-") else f" + {written}"
        return text


class Product(Joined):
    """The product K1 * K2 * …."""

    @property
    def claims(self) -> Claims:
        """Whatever all parts claim."""
        return self._in_every_part(SYMMETRIC, PSD, UNIT_DIAGONAL, BOUNDED)

    reason = "a product of kernels is a kernel: its features are the products of theirs, pair by pair"

    def combine(self, *values: Any) -> Any:
        """Multiply the parts."""
        return reduce(operator.mul, values)

    def __repr__(self) -> str:
        return "*".join(in_brackets(k, below=(Sum, Shifted, Scaled)) for k in self._parts)


class Extreme(Joined):
    """The smallest or the largest of several similarities, pair by pair."""

    name: str

    @property
    def claims(self) -> Claims:
        """All but PSD."""
        return self._in_every_part(SYMMETRIC, UNIT_DIAGONAL, BOUNDED)

    @property
    def reason(self) -> str:
        """Why it is no kernel."""
        return f"the {self.name} of kernels need not be a kernel"

    def combine(self, *values: Any) -> Any:
        """Take the smallest or largest part."""
        return reduce(getattr(namespace(values[0]), self.name), values)

    def __repr__(self) -> str:
        return ".".join([in_brackets(self._parts[0]), *(f"{self.name}({part!r})" for part in self._parts[1:])])


class Minimum(Extreme):
    """The smallest of K1, K2, …, pair by pair."""

    name = "minimum"


class Maximum(Extreme):
    """The largest of K1, K2, …, pair by pair."""

    name = "maximum"


class Scaled(Node):
    """The multiple factor * K."""

    def __init__(self, k: Similarity, factor: float) -> None:
        self.k = k
        self.factor = factor

    @property
    def claims(self) -> Claims:
        """Symmetry always, PSD for a factor >= 0, the range for one in [-1, 1], the diagonal for 1."""
        kept = {
            SYMMETRIC: True,
            PSD: self.factor >= 0,
            BOUNDED: abs(self.factor) <= 1,
            UNIT_DIAGONAL: self.factor == 1,
        }
        return frozenset(claim for claim in self.k.claims if kept[claim])

    @property
    def reason(self) -> str:
        """The rule for this factor."""
        if self.factor < 0:
            return "a negative multiple of a kernel need not be a kernel"
        return "a kernel times c >= 0 is a kernel: its features times sqrt(c)"

    def combine(self, *values: Any) -> Any:
        """Multiply by the factor."""
        return values[0] * float(self.factor)

    def joined(self, profiles: Sequence[Profile]) -> Profile:
        """Multiply the profile."""
        return profiles[0].scaled(float(self.factor))

    def __repr__(self) -> str:
        sign = "-" if self.factor == -1 else f"{float(self.factor)!r}*"
        return sign + in_brackets(self.k, below=(Sum, Shifted, Scaled, Product))


class Shifted(Node):
    """K with a constant added."""

    def __init__(self, k: Similarity, constant: float) -> None:
        self.k = k
        self.constant = constant

    @property
    def claims(self) -> Claims:
        """Symmetry always, PSD for a constant >= 0."""
        return self.k.claims & ({SYMMETRIC, PSD} if self.constant >= 0 else {SYMMETRIC})

    @property
    def reason(self) -> str:
        """The rule for this constant."""
        if self.constant < 0:
            return "a kernel minus a constant need not be a kernel"
        return "a constant c >= 0 added to a kernel adds the feature sqrt(c)"

    def combine(self, *values: Any) -> Any:
        """Add the constant."""
        return values[0] + float(self.constant)

    def joined(self, profiles: Sequence[Profile]) -> Profile:
        """Shift the profile."""
        return profiles[0].shifted(float(self.constant))

    def __repr__(self) -> str:
        return f"{self.k!r} {'-' if self.constant < 0 else '+'} {abs(float(self.constant))!r}"


class Power(Node):
    """The power K ** exponent."""

    def __init__(self, k: Similarity, exponent: float) -> None:
        self.k = k
        self.exponent = exponent

    @property
    def _is_polynomial(self) -> bool:
        return self.exponent >= 0 and float(self.exponent).is_integer()

    @property
    def claims(self) -> Claims:
        """All for a whole exponent >= 0, everything but PSD for another positive one."""
        if self.exponent == 0:
            return frozenset({SYMMETRIC, PSD, UNIT_DIAGONAL, BOUNDED})
        kept = {SYMMETRIC: True, PSD: self._is_polynomial, BOUNDED: self.exponent > 0, UNIT_DIAGONAL: True}
        return frozenset(claim for claim in self.k.claims if kept[claim])

    @property
    def reason(self) -> str:
        """The rule for this exponent."""
        if self.exponent == 0:
            return "the constant 1 is the kernel of the single feature 1"
        if self._is_polynomial:
            return "a whole power of a kernel is a product of kernels"
        return "a power that is not a whole number >= 0 need not be a kernel"

    def premises(self) -> tuple[Similarity, ...]:
        """Return the part; K ** 0 rests on nothing."""
        return () if self.exponent == 0 else (self.k,)

    def combine(self, *values: Any) -> Any:
        """Raise to the power."""
        return values[0] ** (int(self.exponent) if self._is_polynomial else float(self.exponent))

    def __repr__(self) -> str:
        return f"{in_brackets(self.k)}**{self.exponent!r}"


class Absolute(Node):
    """The absolute value of K."""

    def __init__(self, k: Similarity) -> None:
        self.k = k

    @property
    def claims(self) -> Claims:
        """All but PSD."""
        return frozenset(self.k.claims - {PSD})

    reason = "the absolute value of a kernel need not be a kernel"

    def combine(self, *values: Any) -> Any:
        """Take the absolute value."""
        return abs(values[0])

    def __repr__(self) -> str:
        return f"abs({self.k!r})"


class Exponential(Node):
    """The exponential of K."""

    def __init__(self, k: Similarity) -> None:
        self.k = k

    @property
    def claims(self) -> Claims:
        """Symmetry and PSD."""
        return self.k.claims & {SYMMETRIC, PSD}

    reason = "exp of a kernel is a limit of sums of its powers with coefficients 1/n! >= 0"

    def combine(self, *values: Any) -> Any:
        """Exponentiate."""
        return namespace(values[0]).exp(values[0])

    def __repr__(self) -> str:
        return f"{in_brackets(self.k)}.exp()"


def in_brackets(k: Similarity, *, below: tuple[type, ...] = (Sum, Shifted, Scaled, Product, Power)) -> str:
    """Write a part so that an operator or a method can stand next to it; `below` are those that bind less."""
    return f"({k!r})" if isinstance(k, below) else repr(k)

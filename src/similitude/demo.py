"""The library shown on small real data: a few similarities, and whether each is a kernel."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from similitude import datasets
from similitude.adapters import FromPairs
from similitude.kernels import Gaussian, Linear, Polynomial, Sigmoid
from similitude.similarity import Similarity
from similitude.validity import Validity, check_kernel


@dataclass(frozen=True)
class Example:
    """One row of the demo: a similarity of some objects, in words, the verdict, and whether to tell it in full."""

    objects: str
    similarity: str
    validity: Validity
    told: bool


def share_any(x: datasets.Paper, z: datasets.Paper) -> float:
    """Return 1 if two papers share an author or a keyword, else 0 (Balcan and Blum, 2006, section 1)."""
    return float(bool(x.authors & z.authors or x.keywords & z.keywords))


def resemblance(s: str, t: str) -> float:
    """Return the ratio of matching letters that Python's difflib finds."""
    return difflib.SequenceMatcher(None, s, t, autojunk=False).ratio()


def common_words(s: str, t: str) -> int:
    """Return the number of different three-letter words that two strings share."""
    return len({s[i : i + 3] for i in range(len(s) - 2)} & {t[i : i + 3] for i in range(len(t) - 2)})


def authors_and_keywords(papers: list[datasets.Paper]) -> np.ndarray:
    """Return one 0/1 feature per author and keyword, so that the dot product counts what two papers share."""
    vocabulary = sorted({item for paper in datasets.papers().objects for item in paper.authors | paper.keywords})
    return np.array([[float(item in paper.authors | paper.keywords) for item in vocabulary] for paper in papers])


def examples() -> Iterator[Example]:
    """Yield the rows of the demo, each when its verdict is found."""
    flowers, papers, genes = (one().objects for one in (datasets.iris, datasets.papers, datasets.promoters))
    rows: list[tuple[str, str, Any, Any, bool]] = [
        ("iris", "Gaussian", Gaussian(), flowers, False),
        ("iris", "Gaussian * (1 + <x, z>)²", Gaussian() * (Linear() + 1) ** 2, flowers, True),
        ("iris", "Gaussian - (1 + <x, z>)²/2", Gaussian() - 0.5 * Polynomial(2), flowers, False),
        ("iris", "tanh(<x, z>/100 - 1)", Sigmoid(scale=0.01, coef0=-1.0), flowers, False),
        ("papers", "share an author or keyword", share_any, papers, True),
        ("papers", "how many they share", Linear().pullback(authors_and_keywords, batched=True), papers, False),
        ("DNA", "difflib's matching ratio", resemblance, genes, True),
        ("DNA", "common three-letter words", common_words, genes, True),
    ]
    for objects, name, similarity, X, told in rows:
        yield Example(objects, name, check_kernel(similarity, X), told)


def indefinite_example() -> tuple[Similarity, list[datasets.Paper]]:
    """Return a natural similarity that is no kernel, and the objects that show it."""
    return FromPairs(share_any, claims=["SYMMETRIC"]), datasets.papers().objects

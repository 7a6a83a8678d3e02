"""Similarity of texts by their words and by pieces of words, weighted by how rare they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from similitude.compute import Encoding, Hints, as_objects, loops
from similitude.compute.loops import TermArrays
from similitude.kernels.feature_weights import FeatureTable, WeightedFeatures, proof_with_weights, roots_of_weights
from similitude.kernels.ragged import Histograms
from similitude.kernels.strings.letters import as_letters, as_text
from similitude.similarity import BOUNDED, KERNEL, image
from similitude.support import brief, check_integer

WORD = re.compile(r"\w+")
"""A word: letters, digits and underscores without anything between."""

PIECE = "~"
"""What the key of a piece of a word begins with; no word contains it."""


class Words(WeightedFeatures):
    r"""The cosine of tf-idf: texts are similar if they share words, and rare words count for more.

    .. math:: K(s, t) = \frac{\langle\phi(s), \phi(t)\rangle}{|\phi(s)|\,|\phi(t)|}, \qquad
        \phi_u(s) = \sqrt{w_u}\,(1 + \ln n_u(s)),

    where :math:`n_u(s) \ge 1` is the number of times that the term u occurs in s, :math:`\phi_u(s) = 0` if it does not,
    and :math:`\sqrt{w_u}` is its inverse document frequency (Salton and Buckley 1988). Terms are runs of words, and
    pieces of words if `letters` is given, which are robust to endings and misspellings.

    Texts are lower-cased first (``str.lower``). A word is a run of letters, digits and underscores; what is between
    words only separates them. A text without any term, such as an empty one, has K = 0 with every text, itself
    included. Bytes are read as the code points of the same value (latin-1).

    Parameters
    ----------
    words : int
        The largest number of consecutive words that make a term: 1 for words alone, 2 also for pairs such as "new
        york"; 0 for none.
    letters : pair of int, or None
        The smallest and the largest number of letters of pieces of words, where each word has a space before and after
        it: (3, 5) gives " ke", "ker", …, "nel ". A word that is shorter with its spaces is a piece by itself. None: no
        pieces.
    weights : dict, "idf" or None
        A number :math:`w_u \ge 0` for some terms, given as text: ``"new york"``, and ``"~ke"`` for the piece "ke".
        ``"idf"``: on the texts it is resolved on, the square of :math:`\ln\frac{1 + n}{1 + n_u} + 1`, where :math:`n_u`
        of n texts have the term. None: all terms count equally.
    default_weight : float
        The weight of all other terms; ``"idf"`` sets it to that of a term that no text has.

    Notes
    -----
    With words alone the values between texts that it is resolved on are those of scikit-learn's ``TfidfVectorizer(
    ngram_range=(1, words), sublinear_tf=True, token_pattern=r"\w+")``. That drops terms of new texts which it has not
    seen; here they count in the norm of the new text. Terms are represented by 64-bit digests: two of a million
    different terms collide with probability 3e-8, and the kernel remains a kernel.

    Examples
    --------
    >>> from similitude.kernels import Words
    >>> texts = ["The cat sat.", "A cat sat down", "stock prices fell", ""]
    >>> Words().gram(texts).round(2)
    array([[1.  , 0.39, 0.  , 0.  ],
           [0.39, 1.  , 0.  , 0.  ],
           [0.  , 0.  , 1.  , 0.  ],
           [0.  , 0.  , 0.  , 0.  ]])
    >>> k = Words(words=1, letters=(3, 4)).resolve(texts)
    >>> round(k("cats sitting", "the cat sits"), 2)
    0.31
    """

    objects = "strings"
    claims = KERNEL | {BOUNDED}
    hints = Hints(finite=True)
    reason = proof_with_weights(
        "a dot product of explicit features, one for each term: a function of how often it occurs, scaled to length 1"
    )

    def __init__(
        self,
        words: int = 2,
        letters: tuple[int, int] | None = None,
        weights: Mapping[str, float] | str | None = "idf",
        default_weight: float = 1.0,
    ) -> None:
        self.words = words
        self.letters = letters
        self.weights = weights
        self.default_weight = default_weight

    def check_params(self) -> None:
        """Validate the lengths of terms and the weights."""
        longest = check_integer("words", self.words, 0)
        if self.letters is not None:
            if not isinstance(self.letters, (tuple, list)) or len(self.letters) != 2:
                raise ValueError(f"letters must be None or a pair such as (3, 5), got {brief(self.letters)}")
            low, high = (check_integer("letters", n, 1) for n in self.letters)
            if low > high:
                raise ValueError(f"letters must be a smallest and a largest length, got {brief(self.letters)}")
        elif longest == 0:
            raise ValueError("words=0 and letters=None leave no terms: give one of them")
        super().check_params()

    def check_key(self, key: Any) -> None:
        """Refuse a key that is no term."""
        if not isinstance(key, str):
            raise TypeError(f"weights name terms, which are texts, got {brief(key)}")
        if key.startswith(PIECE):
            if self.letters is None or not 1 <= len(key) - 1 <= self.letters[1]:
                raise ValueError(f"weights name the piece {brief(key)}, and letters={brief(self.letters)}")
        elif not 1 <= len(_words(key)) <= self.words or " ".join(_words(key)) != key:
            raise ValueError(
                f"weights name {brief(key)}: a term is 1 to {self.words} words in lower case with one space between "
                f"them, or a piece of a word after {PIECE!r}"
            )

    def written_params(self) -> dict[str, str]:
        """Return the parameters as `repr` shows them; no weights are not the default here."""
        return {"words": "", "letters": "", "weights": "None"} | super().written_params()

    def _key_params(self) -> tuple[Any, ...]:
        return int(self.words), tuple(self.letters or ())

    def encode(self, objects: Any) -> Encoding:
        """Return the terms of each text with their values, as vectors of length 1, or 0 for a text without terms."""
        counted = self._counted(objects)
        found = Histograms(counted.starts, counted.keys[counted.columns], counted.counts)
        if isinstance(self.weights, Mapping):
            roots = roots_of_weights(self, counted.keys, self._known_terms, self._key_params())
            found = found.scaled(roots[counted.columns])
        norms = np.sqrt(found.squared_norms())
        return found.scaled(1.0 / norms[found.owners])

    def _known_terms(self) -> np.ndarray:
        if not self.weights:
            return np.zeros(0, np.uint64)
        terms = as_letters(list(self.weights))
        return loops.term_keys(terms.text, terms.starts)

    def _counted(self, objects: Any) -> TermArrays:
        shortest, longest = self.letters or (1, 0)
        return image(_term_counter(int(self.words), int(shortest), int(longest)), objects, batched=True)

    def block(self, A: Encoding, B: Encoding, out: Any = None) -> Any:
        """Return the cosines."""
        values = A.products(B, out)
        return np.minimum(values, 1.0, out=values)  # above 1 only by rounding

    def diagonal(self, A: Encoding) -> Any:
        """Return 1, or 0 for a text without terms."""
        return np.minimum(A.lengths, 1).astype(float)

    def features(self, objects: Any, like: Any = None) -> Any:
        """Return a sparse matrix with a column per term that occurs in `like`, and one for the norm of all others."""
        A = self.encode(objects)
        return A.features(A if like is None or like is objects else self.encode(like))

    def feature_table(self, objects: Any) -> FeatureTable:
        """Return the values of terms without weights and norms, and the terms."""
        from scipy.sparse import csr_array

        found = self._counted(objects)
        shape = len(found.starts) - 1, len(found.keys)
        names = found.names.astype("<u4", copy=False).tobytes().decode("utf-32-le").split("\n")[:-1]
        return FeatureTable(csr_array((found.counts, found.columns, found.starts), shape=shape), names)

    def feature_names(self, objects: Any, keys: Sequence[Any]) -> list[str]:
        """Return the terms; pieces of words in quotes."""
        return [repr(key[1:]) if key.startswith(PIECE) else key for key in keys]


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return WORD.findall(text.lower())


@cache
def _term_counter(words: int, shortest: int, longest: int) -> Callable[[Any], TermArrays]:
    """Return the function that counts terms of these sizes, always the same one, so that its values are remembered."""

    def counted(objects: Any) -> TermArrays:
        texts = as_letters([as_text(i, one).lower() for i, one in enumerate(as_objects(objects))])
        found = loops.term_bags(_only_words(texts.text), texts.starts, words, shortest, longest)
        return found._replace(counts=1.0 + np.log(found.counts))

    return counted


def _only_words(text: np.ndarray) -> np.ndarray:
    """Return the code points of a text with spaces for all that do not belong to words."""
    kept: np.ndarray = np.full(int(text.max(initial=0)) + 1, ord(" "), np.uint32)
    seen: np.ndarray = np.zeros(len(kept), bool)
    seen[text] = True
    for letter in np.flatnonzero(seen).tolist():
        if WORD.fullmatch(chr(letter)):
            kept[letter] = letter
    return kept[text]

"""Similarities written as texts: ``spectrum(p=3) + 0.5*edit()``, read by a small grammar of our own."""

from __future__ import annotations

from similitude.similarity import Similarity
from similitude.similarity.expressions.building import NAMES, Builder, FromModule
from similitude.similarity.expressions.pointing import pointed
from similitude.similarity.expressions.reading import read
from similitude.support.errors import ExpressionError

__all__ = ["DEFAULTS", "NAMES", "ExpressionError", "parse"]

LONGEST = 10_000
"""Characters of a text at most."""

DEFAULTS = {
    "vectors": "gaussian",
    "strings": "spectrum(p=6, blended=True).normalized()",
    "graphs": "weisfeiler_lehman(iterations=3).normalized()",
    "series": "global_alignment",
    "sets": "jaccard",
    "table": "gower",
}
"""What to try first for each kind of objects.

Each takes every object of its kind and leaves nothing to be chosen; all but Gower's are kernels. For strings it is the
substrings of up to six letters that both have, so that short words have some too, divided by the norms, because long
strings share more; on promoters, longer DNA, proteins and messages it is among the best of its relatives.
"""


def parse(text: str, function: FromModule | None = None) -> Similarity:
    """Return the similarity that a text says; nothing in it is executed.

    It is written as in Python: names (``gaussian``, or ``Gaussian`` as similarities are printed) with arguments or
    without, numbers, texts, tuples, lists, sets and dicts, ``+ - * / **`` with brackets, ``abs(...)``, and the methods
    ``.normalized() .symmetrized() .exp() .minimum(k) .maximum(k)``. The columns of a table may stand as keywords:
    ``columns(age=gaussian, job=equal, how="product")``; in a dict where their names are no identifiers.

    Parameters
    ----------
    text : str
        At most 10,000 characters.
    function : callable, optional
        ``function(module, name)`` returns the similarity that ``module:name`` stands for; None: that is refused.

    Raises
    ------
    ExpressionError
        If the text says no similarity. The message shows the text, with a caret under the character that is wrong.

    Examples
    --------
    >>> from similitude.similarity.expressions import parse
    >>> parse("spectrum(p=3).normalized() + 0.5*edit")
    Spectrum(p=3, counts=False, blended=False).normalized() + 0.5*Edit()
    >>> parse("columns(age=gaussian(sigma=5), job=or_missing(equal))")
    Columns({'age': Gaussian(sigma=5), 'job': OrMissing(k=Equal(), alike=0.0)}, how='mean')
    >>> parse("2*gaussan")
    Traceback (most recent call last):
        ...
    similitude.support.errors.ExpressionError: there is no similarity called 'gaussan'; did you mean 'gaussian'?
      2*gaussan
        ^
    """
    if not isinstance(text, str):
        raise TypeError(f"expected a text, got {type(text).__name__}")
    if not text.strip():
        raise ExpressionError("the text is empty; expected a similarity such as gaussian(sigma=2)")
    if len(text) > LONGEST:
        raise pointed(f"the text has {len(text):,} characters; at most {LONGEST:,} are read", text, LONGEST)
    try:
        return Builder(text, function).similarity(read(text))
    except RecursionError as error:  # the caller stands deep in calls already
        raise ExpressionError("the text holds more inside each other than can be read here") from error

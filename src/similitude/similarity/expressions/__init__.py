"""Similarities written as expressions such as ``spectrum(p=3) + 0.5*edit()``."""

from __future__ import annotations

from similitude.similarity import Similarity
from similitude.similarity.expressions.building import NAMES, Builder, FromModule
from similitude.similarity.expressions.scanning import SPACES, pointed
from similitude.support import ExpressionError

__all__ = ["DEFAULTS", "NAMES", "ExpressionError", "parse"]

LONGEST = 10_000
"""Maximum number of characters of an expression."""

DEFAULTS = {
    "vectors": "gaussian",
    "strings": "spectrum(p=6, blended=True).normalized()",
    "graphs": "weisfeiler_lehman(iterations=3).normalized()",
    "series": "global_alignment",
    "sets": "jaccard",
    "table": "gower",
}
"""The similarity to try first for each kind of objects.

Each accepts every object of its kind and has no parameter to choose; all but Gower's are kernels. For strings it
compares the substrings of up to six letters, so that short words share some too, and normalizes, because long strings
share more; on promoters, longer DNA, proteins and messages it is among the best of the string kernels.
"""


def parse(text: str, function: FromModule | None = None) -> Similarity:
    """Return the similarity that an expression describes; nothing in it is executed.

    It is written as in Python: names (``gaussian``, or ``Gaussian`` as similarities are printed) with or without
    arguments, numbers, strings, tuples, lists, sets and dicts, ``+ - * / **`` with brackets, ``abs(...)``, and the
    methods ``.normalized() .symmetrized() .exp() .minimum(k) .maximum(k)``. The columns of a table may be given as
    keywords: ``columns(age=gaussian, job=equal, how="product")``, or in a dict where their names are not identifiers.

    Parameters
    ----------
    text : str
        At most 10,000 characters.
    function : callable, optional
        ``function(module, name)`` returns the similarity that ``module:name`` stands for; None: that is refused.

    Raises
    ------
    ExpressionError
        If the text does not describe a similarity. The message shows the text, with a caret below the error.

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
        raise TypeError(f"expected an expression as a string, got {type(text).__name__}")
    if not text.strip():
        raise ExpressionError("the expression is empty; expected a similarity such as gaussian(sigma=2)")
    if len(text) > LONGEST:
        raise pointed(
            f"the expression has {len(text):,} characters, more than the maximum of {LONGEST:,}", text, LONGEST
        )
    try:
        return Builder(text.strip(SPACES), function).similarity()
    except (RecursionError, MemoryError) as error:  # the stack of the caller is deep already, or that of the parser
        raise ExpressionError("the expression is nested too deeply to be parsed here") from error

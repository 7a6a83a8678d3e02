"""Grids of parameters of which `make test` runs a few telling cells, and `make deep` every one."""

from itertools import combinations, product

import pytest


def thin(*axes, together=1):
    """Return every combination of values, all but a few marked deep.

    The few show each value of each axis; with ``together=2`` each pair of values of two axes, and so on.
    """
    cells = list(product(*map(range, map(len, axes))))
    shown = {cell: set(combinations(enumerate(cell), together)) for cell in cells}
    missing = set().union(*shown.values())
    kept = set()
    while missing:
        best = max(cells, key=lambda cell: len(shown[cell] & missing))  # the first of the best
        kept.add(best)
        missing -= shown[best]
    values = {cell: [axis[i] for axis, i in zip(axes, cell, strict=True)] for cell in cells}
    return [pytest.param(*values[cell], marks=() if cell in kept else pytest.mark.deep) for cell in cells]


def examples(number):
    """Return settings for a property that is tried on this number of examples, in `make deep` on as many as any."""
    from hypothesis import settings  # the tests of a GPU do without

    usual = settings().max_examples
    return settings(max_examples=max(number, usual) if usual > 15 else number)

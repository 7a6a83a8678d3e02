"""Choosing among similarities, and combining several into one."""

from similitude.selection.choosing import choose_kernel
from similitude.selection.combining import combine
from similitude.selection.reading import CLASSIFICATION, REGRESSION
from similitude.selection.side_by_side import SideBySide
from similitude.selection.tables import Row, Selection

__all__ = ["Row", "Selection", "SideBySide", "choose_kernel", "combine"]

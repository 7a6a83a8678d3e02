"""Choosing among similarities, and combining several into one."""

from similitude.selection.choosing import choose_kernel
from similitude.selection.combining import combine
from similitude.selection.selection_result import Row, Selection
from similitude.selection.side_by_side import SideBySide

__all__ = ["Row", "Selection", "SideBySide", "choose_kernel", "combine"]

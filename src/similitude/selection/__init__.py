"""Choosing among similarities, and combining several into one."""

from similitude.selection.choosing import Row, Selection, choose_kernel
from similitude.selection.combining import SideBySide, combine

__all__ = ["Row", "Selection", "SideBySide", "choose_kernel", "combine"]

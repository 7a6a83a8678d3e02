"""Text in Arrow arrays that is not UTF-8, found before it is read."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any


def text_problem(batch: Any, before: int = 0) -> str:
    """Return which column of a record batch holds text that is not UTF-8, and what to do; nothing if none does.

    `before` is the number of rows before the batch.
    """
    invalid = import_module("pyarrow").ArrowInvalid
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            column.validate(full=True)
        except invalid as error:
            found = re.search(r"Invalid UTF8 sequence at string index (\d+)$", str(error).strip())
            if found is None:
                raise
            row = f" in row {before + int(found[1])}" if str(error).startswith("Invalid UTF8") else ""
            return f"column {name!r} holds text that is not UTF-8{row}: write it again as UTF-8, or as bytes"
    return ""

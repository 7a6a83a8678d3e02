"""What goes wrong with a saved model."""

from __future__ import annotations

import importlib
from typing import Any

from similitude.support.errors import SavedModelError


def library(name: str) -> Any:
    """Return a library that a model's objects belong to, or say in one line how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise SavedModelError(f"the model holds objects that need {name}: pip install {name}") from error

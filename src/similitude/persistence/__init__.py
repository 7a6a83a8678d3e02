"""Saved models: files without pickle that load without running any code from the file."""

from similitude.persistence.model_files import Information, functions_of, information, load, model_bytes, save
from similitude.persistence.user_code import Needed

__all__ = [
    "Information",
    "Needed",
    "functions_of",
    "information",
    "load",
    "model_bytes",
    "save",
]

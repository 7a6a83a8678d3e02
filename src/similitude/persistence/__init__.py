"""Saved models: files without pickle that load without running any code from the file."""

from similitude.persistence.model_files import Information, information, load, save
from similitude.persistence.model_files import functions_of as functions_of
from similitude.persistence.model_files import model_bytes as model_bytes
from similitude.persistence.user_code import Needed

__all__ = [
    "Information",
    "Needed",
    "information",
    "load",
    "save",
]

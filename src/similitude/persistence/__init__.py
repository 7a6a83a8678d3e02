"""Models as files: saved without pickle, loaded without running anything that the file brings."""

from similitude.persistence.functions import Needed
from similitude.persistence.model_files import Information, information, load, save

__all__ = ["Information", "Needed", "information", "load", "save"]

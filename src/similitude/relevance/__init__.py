"""What in an object mattered: the importance of columns, and the attribution of a prediction to parts of an object."""

from similitude.relevance.part_attribution import Attribution, attribution
from similitude.relevance.column_importance import Importance, importance

__all__ = ["Attribution", "Importance", "attribution", "importance"]

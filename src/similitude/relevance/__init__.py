"""What in an object mattered: the importance of columns, and the attribution of a prediction to parts of an object."""

from similitude.relevance.column_importance import Importance, importance
from similitude.relevance.drawings import html_of, text_of
from similitude.relevance.part_attribution import Attribution, attribution

__all__ = ["Attribution", "Importance", "attribution", "html_of", "importance", "text_of"]

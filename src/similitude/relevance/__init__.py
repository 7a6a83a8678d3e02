"""What in an object mattered: the importance of columns, and the attribution of a prediction to parts of an object."""

from similitude.relevance.column_importance import Importance, importance
from similitude.relevance.drawings import drawing_of as drawing_of
from similitude.relevance.drawings import shade as shade
from similitude.relevance.drawings import text_of as text_of
from similitude.relevance.drawings import thinned as thinned
from similitude.relevance.graph_layout import MOST_DRAWN_NODES as MOST_DRAWN_NODES
from similitude.relevance.graph_layout import framed_positions as framed_positions
from similitude.relevance.part_attribution import Attribution, attribution
from similitude.relevance.part_attribution import attributions as attributions
from similitude.relevance.parts import kind_of_object as kind_of_object
from similitude.relevance.parts import parts_of as parts_of

__all__ = ["Attribution", "Importance", "attribution", "importance"]

"""The types that are stored as plain parts, by package and name."""

from __future__ import annotations

from similitude.persistence import graphs, standard_forms, tables
from similitude.persistence.plain_forms import PlainForm

FORMS: dict[str, PlainForm] = {**standard_forms.STANDARD_FORMS, **graphs.GRAPH_FORMS, **tables.TABLE_FORMS}

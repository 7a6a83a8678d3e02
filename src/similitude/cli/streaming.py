"""A file that does not fit into memory, as a source that is read in batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from similitude.cli.inputs import default_similarity, labels_of, parsed, taken_kind

if TYPE_CHECKING:
    from similitude.cli.options import Kind
    from similitude.cli.output import Output
    from similitude.data.files import Data
    from similitude.similarity import Similarity


def streamed(
    out: Output, source: str, text: str | None, trust: bool, label: str | None, object: str | None, kind: Kind | None
) -> tuple[Data, str, Similarity]:
    """Return what `chosen_similarity` would, with a source in place of the objects; only the labels are in memory."""
    from similitude.data import files
    from similitude.data.sources import Source

    asked = None if text is None else parsed(text, trust)
    taken = taken_kind([] if asked is None else [asked], label, object, kind)
    out.note(f"{source} does not fit into memory: it is read in batches, for labels, for a sample, and to compare")
    labels = []
    with out.working(f"reading the labels of {source}"):
        for data in files.batches(source, label=label, object=object, kind=taken):
            out.note_each(data.notes)
            labels.append(labels_of(data))
    schema = data.schema

    def objects() -> Iterator[Any]:
        return (one.objects for one in files.batches(source, schema=schema))

    y = np.concatenate(labels)
    if text is None or asked is None:
        text, asked = default_similarity(out, schema.kind)
    return files.Data(Source(objects, labels=y), y, schema), text, asked

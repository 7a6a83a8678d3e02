"""Files as people have them, read into the objects that similarities take; and predictions written to files."""

from similitude.data.files import (
    KINDS,
    Data,
    Schema,
    batches,
    read,
    write,
    writer,
)

__all__ = [
    "KINDS",
    "Data",
    "Schema",
    "batches",
    "read",
    "write",
    "writer",
]

"""Files, read into the objects that similarities take; and columns such as predictions written to files."""

from similitude.data.files import KINDS, Data, Schema, batches, read, write, writer

__all__ = ["KINDS", "Data", "Schema", "batches", "read", "write", "writer"]

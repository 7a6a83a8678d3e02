"""Rows from anywhere: files, sources that are read in batches, and small data sets."""

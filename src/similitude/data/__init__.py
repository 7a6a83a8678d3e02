"""Rows from anywhere: sources that are read in batches, files, and small data sets."""

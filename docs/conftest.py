"""Examples in the pages are run by pytest; the scripts beside them are not modules to look into."""

collect_ignore_glob = ["*.py"]

"""pytest runs the examples in the pages, and does not collect the scripts beside them."""

collect_ignore_glob = ["*.py"]

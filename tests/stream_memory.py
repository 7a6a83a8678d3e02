"""The peak of memory of a fit to a source, in a process of its own: ``python stream_memory.py KIND ROWS BUDGET``."""

import json
import multiprocessing
import sys
import tempfile
from pathlib import Path

import numpy as np

COLUMNS = 10
ROWS_AT_ONCE = 100_000


def peak_memory():
    """Return the peak of memory of this program in MiB; getrusage may tell that of the program that started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def made_rows(n):
    """Yield rows and targets in parts, so that writing them takes little memory."""
    for start in range(0, n, ROWS_AT_ONCE):
        rows = min(ROWS_AT_ONCE, n - start)
        X = np.random.default_rng(start).standard_normal((rows, COLUMNS))
        yield X, np.sin(X[:, 0]) + X[:, 1]


def write_npy(path, n, width=None):
    out = np.lib.format.open_memmap(path, mode="w+", dtype=float, shape=(n,) if width is None else (n, width))
    start = 0
    for X, y in made_rows(n):
        out[start : start + len(y)] = y if width is None else X
        start += len(y)
        out.flush()


def record_batches(n):
    import pyarrow as pa

    for X, y in made_rows(n):
        yield pa.record_batch({**{f"c{j}": np.ascontiguousarray(X[:, j]) for j in range(COLUMNS)}, "y": y})


def write_parquet(path, n):
    """Write one row group of all rows, the worst case."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_batches(record_batches(n)).combine_chunks()
    pq.write_table(table, path, row_group_size=n)


def write_arrow(path, n):
    """Write one record batch of all rows, the worst case."""
    import pyarrow as pa

    table = pa.Table.from_batches(record_batches(n)).combine_chunks()
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def write_csv(path, n):
    import pyarrow as pa
    import pyarrow.csv

    batches = record_batches(n)
    first = next(batches)
    with pa.csv.CSVWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def write(kind, folder, n):
    """Write the files of one kind of source."""
    if kind in ("map", "part of a map", "columns first", "shards"):
        (folder / "rows").mkdir()
        write_npy(folder / "rows" / "X_0.npy", n, COLUMNS)
        write_npy(folder / "rows" / "y_0.npy", n)
    if kind == "columns first":
        X = np.load(folder / "rows" / "X_0.npy", mmap_mode="r")
        out = np.lib.format.open_memmap(folder / "F.npy", mode="w+", dtype=float, shape=X.shape, fortran_order=True)
        out[:] = X
        out.flush()
    if kind in ("parquet", "lazy"):
        write_parquet(folder / "t.parquet", n)
    if kind in ("arrow", "arrow file"):
        write_arrow(folder / "t.arrow", n)
    if kind == "csv":
        write_csv(folder / "t.csv", n)


def opened(kind, folder, n):
    """Return the source and its labels."""
    X, y = folder / "rows" / "X_0.npy", folder / "rows" / "y_0.npy"
    if kind == "map":
        return np.load(X, mmap_mode="r"), y
    if kind == "part of a map":
        return np.load(X, mmap_mode="r")[5:], np.load(y, mmap_mode="r")[5:]
    if kind == "columns first":
        return np.load(folder / "F.npy", mmap_mode="r"), y
    if kind == "shards":
        return folder / "rows", None
    if kind == "parquet":
        return folder / "t.parquet", "y"
    if kind == "arrow":
        import pyarrow.dataset

        return pyarrow.dataset.dataset(folder / "t.arrow", format="ipc"), "y"
    if kind == "lazy":
        import polars

        return polars.scan_parquet(folder / "t.parquet"), "y"
    if kind in ("csv", "arrow file"):
        from similitude import files

        path = folder / f"t.{kind.split()[0]}"
        return lambda: ((one.objects, one.labels) for one in files.batches(path, label="y")), None
    if kind == "long strings":
        return lambda: strings(n), None
    return lambda: made_rows(n), None


def strings(n):
    """Yield texts of 20,000 letters."""
    for start in range(0, n, 500):
        rng = np.random.default_rng(start)
        yield [bytes(rng.integers(97, 101, 20_000, dtype=np.uint8)).decode() for _ in range(500)], rng.random(500)


def main(kind, n, budget):
    """Fit to the source, and print the peak of memory in MiB, and that before."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writer = multiprocessing.get_context("spawn").Process(target=write, args=(kind, folder, n))
        writer.start()  # what writing takes does not count
        writer.join()
        from similitude import SimilarityRegressor
        from similitude.engines import LocalEngine
        from similitude.kernels import Gaussian, Spectrum

        k = Spectrum(3) if kind == "long strings" else Gaussian(sigma=3.0)
        before = peak_memory()
        engine = LocalEngine(threads=1, memory=f"{budget}MiB")
        SimilarityRegressor(k, n_landmarks=50, engine=engine).fit(*opened(kind, folder, n))
        peak = peak_memory()
        print(json.dumps({"peak": peak, "before": before}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

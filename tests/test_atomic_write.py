"""Files appear complete or not at all, and nothing stays behind, not even after a kill -9."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import pytest

from similitude import FromPairs, files, load, save
from similitude.data.files import check_writable
from similitude.errors import FileError, PairError, SavedModelError
from similitude.kernels import Gaussian
from similitude.support import check_place, complete_file, remove_abandoned

WRITER = """
    import os, signal, sys
    from pathlib import Path
    from similitude.support import complete_file

    with complete_file(Path(sys.argv[1])) as file:
        file.write(b"half")
        file.flush()
        print("writing", flush=True)
        sys.stdin.readline()
"""


def writing(place):
    """Start a process that waits in the middle of a write."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(place)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    return process


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed on Windows")
def test_what_a_killed_process_left_is_removed_by_the_next_write_and_what_a_living_one_writes_is_not(tmp_path):
    place, other = tmp_path / "killed", tmp_path / "living"
    killed, living = writing(place), writing(other)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert len(list(tmp_path.glob(".similitude-*.part"))) == 2
    save(Gaussian(1.0), tmp_path / "model.sim")
    assert len(list(tmp_path.glob(".similitude-*.part"))) == 1  # of the living one
    living.communicate("go on\n", timeout=60)
    assert living.returncode == 0 and other.read_bytes() == b"half"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["living", "model.sim"]


def test_other_files_are_left_alone(tmp_path):
    others = [".similitude-notes.part", "similitude-0123456789abcdef.part", ".sums.part"]
    for name in others:
        (tmp_path / name).write_text("mine")
    remove_abandoned(tmp_path)
    save(Gaussian(1.0), tmp_path / "model.sim")
    assert {one.name for one in tmp_path.iterdir()} == {*others, "model.sim"}


def test_threads_that_write_into_one_folder_do_not_disturb_each_other(tmp_path):
    failures = []

    def write(number):
        try:
            for i in range(40):
                with complete_file(tmp_path / str(number)) as file:
                    file.write(b"%d" % i)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=[i]) for i in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert failures == [] and [(tmp_path / str(i)).read_bytes() for i in range(4)] == [b"39"] * 4
    assert len(list(tmp_path.iterdir())) == 4


def test_a_file_that_is_removed_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    lock, removed = fcntl.flock, []

    def late(file, how):
        if not removed:
            removed.append(file.name)
            os.unlink(file.name)
        return lock(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with complete_file(tmp_path / "file") as file:
        file.write(b"whole")
    assert removed and (tmp_path / "file").read_bytes() == b"whole"


def test_a_file_system_without_locks_is_written_to(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def unsupported(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", unsupported)
    with complete_file(tmp_path / "file") as file:
        file.write(b"whole")
        remove_abandoned(tmp_path)  # cannot tell, and leaves it
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_matrix_that_was_not_finished_leaves_nothing(tmp_path):
    def fails(x, z):
        return 1.0 / (ord(z) - ord("b"))

    with pytest.raises(PairError, match="division by zero"):
        FromPairs(fails).gram(["a", "b"], out=tmp_path / "gram.npy")
    assert list(tmp_path.iterdir()) == []


# Full disks and impossible names.


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.parquet", "a.arrow"])
@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_a_full_disk_is_a_clear_error(name, when, tmp_path, monkeypatch):
    monkeypatch.setattr(os, when, full)
    with pytest.raises(FileError, match=rf"{name}: cannot be written: No space left on device"):
        files.write(tmp_path / name, {"x": range(10)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is always full")
@pytest.mark.parametrize("n", [1, 100_000])
def test_a_full_device_is_a_clear_error(n, tmp_path):
    with pytest.raises(FileError, match="/dev/full: cannot be written: No space left on device"):
        files.write("/dev/full", {"x": range(n)})


LIMITED = """
    import resource, sys
    from similitude import files
    from similitude.errors import FileError

    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    for path in sys.argv[1:]:
        try:
            files.write(path, {"x": [f"{i * 7919 % 100_003:x} {i}" for i in range(100_000)]})
        except FileError as error:
            print(error)
"""


@pytest.mark.skipif(os.name == "nt", reason="no limits")
def test_a_limit_that_is_met_while_rows_are_written(tmp_path):
    names = ["a.csv", "a.csv.gz", "a.parquet", "a.arrow"]
    command = [sys.executable, "-c", textwrap.dedent(LIMITED), *(tmp_path / name for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert len(said) == len(names) and list(tmp_path.iterdir()) == []
    assert all(f"{name}: cannot be written: " in line for name, line in zip(names, said, strict=True))


def test_errors_of_the_caller_pass_unchanged(tmp_path):
    def interrupted():
        with files.writer(tmp_path / "a.csv") as add:
            add({"x": [1]})
            raise ConnectionError("mine")

    with pytest.raises(ConnectionError, match="mine"):
        interrupted()
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_names_the_file_whoever_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"No space left on device: .*report"), complete_file(tmp_path / "report"):
        pass


@pytest.mark.parametrize("path", ["\0", "a\0b.sim", "\ud800", 5, None, b"a.sim"])
def test_what_cannot_be_a_path(path, tmp_path):
    for call in (load, lambda path: save(Gaussian(1.0), path)):
        with pytest.raises(SavedModelError, match="path of a file"):
            call(path)


def test_names_with_null_characters():
    for call in (lambda: files.write("a\0.csv", {"x": [1]}), lambda: check_writable("\0")):
        with pytest.raises(FileError, match="contains a null character"):
            call()
    with pytest.raises(FileError, match="no such file"):
        files.read("a\0.csv")
    with pytest.raises(ValueError, match="contains a null character"):
        check_place(Path("a\0.sim"))

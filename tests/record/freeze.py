"""Freeze what the library does today, and tell later what is different.

``PYTHONPATH=tests python -m record freeze`` writes the record, ``check`` compares. ``--only PATTERN`` takes some of the
entries, such as ``'fits/pilot*'`` or ``genes``.
"""

import argparse
import fnmatch
import json
import platform
import re
import time
import warnings
from pathlib import Path

import numpy as np
import scipy
import sklearn

from record.cases import CASES
from record.plain import plain
from record.surface import refusals, saved, signatures
from record.transcripts import transcripts
from similitude import use_engine
from similitude.compute import loops
from similitude.engines import LocalEngine

FILE = Path(__file__).with_name("record.json")

ABOUT = "about"
"""The entry that says where the record was made; it is not compared."""

TOLERANCE = 1e-9
"""The most that numbers of magnitude one may differ, and larger ones by their magnitude."""

SLOW = 1.0
"""Seconds from which on an entry that is no fit is printed."""

MOST_PRINTED = 400
"""Differences that are printed; the others are counted."""


def entries():
    """Return functions that make the entries, by name."""
    parts = {
        "signatures": signatures(),
        "fits": CASES,
        "saved": saved(),
        "refusals": refusals(),
        "transcripts": transcripts(),
    }
    return {f"{part}/{name}": make for part, found in parts.items() for name, make in found.items()}


def made(make):
    """Make an entry by one thread and within a fixed memory, and keep the warnings that it gives."""
    with warnings.catch_warnings(record=True) as given, use_engine(LocalEngine(threads=1, memory="4GiB")):
        warnings.simplefilter("always")
        found = make()
    said = sorted({f"{one.category.__name__}: {plain(str(one.message))}" for one in given})
    if said and isinstance(found, dict):
        found = {**found, "warnings": said}
    return json.loads(json.dumps(found))


def about():
    """Return the versions, the loops and the processor on which arithmetic depends."""
    return {
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
        "loops": "compiled" if loops.IN_USE else "readable",
        "machine": platform.machine(),
        "processor": processor(),
    }


def processor():
    """Return the processor, whose caches and instructions BLAS chooses its loops by."""
    facts = Path("/proc/cpuinfo")
    models = re.findall(r"^model name\s*: (.*)$", facts.read_text(), re.M) if facts.exists() else []
    return (models or [platform.processor()])[0]


def read():
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}


def write(record):
    """Write one entry a line, by name."""
    lines = [f"{json.dumps(name)}: {json.dumps(record[name], ensure_ascii=False)}" for name in sorted(record)]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def differences(name, before, now, key=""):
    """Yield entry, key, before, now and the relative difference of all that differs."""
    if isinstance(before, dict) and isinstance(now, dict):
        for one in sorted({*before, *now}):
            inner = f"{key}.{one}" if key else one
            if one not in before or one not in now:
                yield name, inner, before.get(one, "(missing)"), now.get(one, "(missing)"), None
            else:
                yield from differences(name, before[one], now[one], inner)
    elif isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for i, pair in enumerate(zip(before, now, strict=True)):
            yield from differences(name, *pair, f"{key}[{i}]")
    elif are_numbers(before, now):
        apart = abs(now - before) / max(1.0, abs(before))
        if apart > TOLERANCE:
            yield name, key, before, now, apart
    elif before != now:
        yield name, key, before, now, None


def are_numbers(*values):
    return all(isinstance(one, (int, float)) and not isinstance(one, bool) for one in values)


def in_words(difference):
    name, key, before, now, apart = difference
    size = "" if apart is None else f"  ({apart:.1e})"
    return f"{name}  {key}\n    before  {shown(before)}\n    now     {shown(now)}{size}"


def shown(value):
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:300]}..."


def asked_for(name, pattern):
    return pattern in name or fnmatch.fnmatch(name, pattern)


def timed(name, make):
    """Make an entry, and print how long a fit, or anything slow, takes."""
    start = time.perf_counter()
    found = made(make)
    seconds = time.perf_counter() - start
    if name.startswith("fits/") or seconds > SLOW:
        print(f"{seconds:7.2f} s  {name}", flush=True)
    return found


def freeze(pattern):
    """Write the entries that a pattern matches; those that are no more leave the record."""
    known = entries()
    record = {name: found for name, found in read().items() if name in known}
    for name, make in known.items():
        if asked_for(name, pattern):
            record[name] = timed(name, make)
    write({**record, ABOUT: about()})
    print(f"{len(record):,} entries, {FILE.stat().st_size / 1e3:.0f} kB")
    return 0


def check(pattern):
    """Print what differs from the record, and return 1 if anything does."""
    record, known = read(), entries()
    if record.get(ABOUT) != about():
        print(f"the record was made elsewhere: {record.get(ABOUT)}, here: {about()}")
    found = []
    for name in sorted(({*record} - {ABOUT}) - {*known}):
        if asked_for(name, pattern):
            found.append((name, "", "(an entry)", "(missing)", None))
    for name, make in known.items():
        if asked_for(name, pattern):
            now = timed(name, make)
            found.extend(differences(name, record[name], now) if name in record else [(name, "", None, "(new)", None)])
    for one in found[:MOST_PRINTED]:
        print(in_words(one))
    largest = max((one[4] for one in found if one[4] is not None), default=0.0)
    print(f"{len(found):,} differences in {len({one[0] for one in found}):,} entries; of numbers at most {largest:.1e}")
    return 1 if found else 0


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m record", description=__doc__)
    parser.add_argument("what", choices=("freeze", "check"))
    parser.add_argument("--only", default="", metavar="PATTERN", help="entries whose name contains or matches it")
    asked = parser.parse_args(arguments)
    start = time.perf_counter()
    code = freeze(asked.only) if asked.what == "freeze" else check(asked.only)
    print(f"{time.perf_counter() - start:.0f} s")
    return code

"""Plain forms of Python's numbers and dates, NumPy's dtypes and random generators, and SciPy's sparse matrices."""

from __future__ import annotations

import functools
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from similitude.persistence.plain_forms import Parts, PlainForm, attributes, library
from similitude.support import SavedModelError

GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
SEED_PARTS = ("entropy", "spawn_key", "pool_size", "n_children_spawned")


# Numbers.


def _fraction(numerator: int, denominator: int) -> Fraction:
    if type(numerator) is not int or type(denominator) is not int:  # a text such as "1e9" would be written out
        raise SavedModelError("a fraction is not one of whole numbers")
    return Fraction(numerator, denominator)


def _work_of_fraction(parts: Parts, size: int) -> int:
    return size + size**2 // 1024  # the greatest common divisor


# Dates.


def standard_zone(moment: Any) -> Any:
    """Return a time whose zone is of pytz in the zone of the standard library with the same name."""
    zone: Any = getattr(moment, "tzinfo", None)
    is_pytz = type(zone).__module__.split(".")[0] == "pytz" and zone.zone is not None
    return moment.astimezone(_zone(zone.zone)) if is_pytz and hasattr(moment, "astimezone") else moment


def _zone(key: str) -> Any:
    from zoneinfo import ZoneInfo

    return ZoneInfo(key)


def _moment_parts(value: Any) -> Parts:
    value = standard_zone(value)
    return {"text": value.replace(tzinfo=None).isoformat(), "zone": value.tzinfo, "fold": value.fold}


def _moment(kind: Any, text: str, zone: Any, fold: int) -> Any:
    return kind.fromisoformat(text).replace(tzinfo=zone, fold=fold)


def _timezone(offset: timedelta, name: str) -> timezone:
    unnamed = timezone(offset)
    return unnamed if unnamed.tzname(None) == name else timezone(offset, name)


# NumPy and SciPy.


def _sparse_parts(value: Any) -> Parts:
    if len(value.shape) != 2:
        raise SavedModelError(f"is a sparse array of {len(value.shape)} dimensions: only two can be stored")
    names = ("row", "col") if value.format == "coo" else ("indices", "indptr")
    return {"shape": value.shape, "data": value.data, **{name: getattr(value, name) for name in names}}


def _sparse(kind: str, shape: Any, data: Any, **places: Any) -> Any:
    make = getattr(library("scipy.sparse"), kind)
    if kind.startswith("coo"):
        return make((data, (places["row"], places["col"])), shape=shape)
    matrix = make((data, places["indices"], places["indptr"]), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


def _generator_parts(value: np.random.Generator) -> Parts:
    source: Any = value.bit_generator
    name, seed = type(source).__name__, getattr(source, "seed_seq", None)
    if name not in GENERATORS:
        raise SavedModelError(f"draws by {name}, which cannot be stored: use np.random.default_rng(seed)")
    state = None if seed is None else {part: getattr(seed, part) for part in SEED_PARTS}
    return {"name": name, "state": source.state, "seed": state}


def _generator(name: str, state: Any, seed: Any) -> np.random.Generator:
    if name not in GENERATORS:
        raise SavedModelError(f"there is no random generator called {str(name)[:40]!r}")
    source = getattr(np.random, name)(0 if seed is None else np.random.SeedSequence(**seed))
    source.state = state
    return np.random.Generator(source)


def _work_of_generator(parts: Parts, size: int) -> int:
    """Return the work of mixing the words of a seed, at most one for each byte, into each word of its pool."""
    pool = 0 if parts["seed"] is None else max(0, int(parts["seed"]["pool_size"]))
    return size + pool * (pool + size)


def _random_state_parts(value: np.random.RandomState) -> Parts:
    state: Any = value.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        raise SavedModelError(f"draws by {state['bit_generator']}, which cannot be stored: use an integer seed")
    return {"state": state}


def _random_state(state: Any) -> np.random.RandomState:
    made = np.random.RandomState(0)
    made.set_state(state)
    return made


def _dtype_parts(value: np.dtype) -> Parts:
    if value.names or value.kind == "T":
        raise SavedModelError(f"is the dtype {value}, which cannot be stored")
    return {"text": value.str}


_bounds = attributes("start", "stop", "step")
_bytes = PlainForm(lambda value: {"array": np.frombuffer(bytes(value), np.uint8)}, lambda array: array.tobytes())

STANDARD_FORMS = {
    "builtins.int": PlainForm(lambda value: {"hex": f"{value:x}"}, lambda hex: int(hex, 16)),
    "builtins.float": PlainForm(lambda value: {"text": repr(value)}, lambda text: float(text)),
    "builtins.complex": PlainForm(attributes("real", "imag"), complex),
    "builtins.bytes": _bytes,
    "builtins.bytearray": PlainForm(_bytes.parts, lambda array: bytearray(array.tobytes())),
    "builtins.range": PlainForm(_bounds, lambda start, stop, step: range(start, stop, step)),
    "builtins.slice": PlainForm(_bounds, lambda start, stop, step: slice(start, stop, step)),
    "decimal.Decimal": PlainForm(lambda value: {"text": str(value)}, lambda text: Decimal(text)),
    "fractions.Fraction": PlainForm(attributes("numerator", "denominator"), _fraction, _work_of_fraction),
    "datetime.date": PlainForm(attributes("year", "month", "day"), date),
    "datetime.timedelta": PlainForm(attributes("days", "seconds", "microseconds"), timedelta),
    "datetime.datetime": PlainForm(_moment_parts, functools.partial(_moment, datetime)),
    "datetime.time": PlainForm(_moment_parts, functools.partial(_moment, time)),
    "datetime.timezone": PlainForm(
        lambda value: {"offset": value.utcoffset(None), "name": value.tzname(None)}, _timezone
    ),
    "zoneinfo.ZoneInfo": PlainForm(attributes("key"), _zone),
    "numpy.Generator": PlainForm(_generator_parts, _generator, _work_of_generator),
    "numpy.RandomState": PlainForm(_random_state_parts, _random_state),
    **{
        f"numpy.{type(np.dtype(code)).__name__}": PlainForm(_dtype_parts, lambda text: np.dtype(text))
        for code in "?bhilqBHILQefdgFDGSUVMmO"
    },
    **{
        f"scipy.{form}_{kind}": PlainForm(_sparse_parts, functools.partial(_sparse, f"{form}_{kind}"))
        for form in ("csr", "csc", "bsr", "coo")
        for kind in ("array", "matrix")
    },
}

"""Dates and times, of Python and of pandas."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta, timezone
from typing import Any

from similitude.persistence.problems import library

MOMENTS: dict[str, Any] = {"date": date, "datetime": datetime, "time": time}


def _of_python(value: Any) -> Any:
    """Return a moment whose zone is one of pytz, as before pandas 3, in Python's zone of the same name."""
    zone: Any = getattr(value, "tzinfo", None)
    if type(zone).__module__.split(".")[0] != "pytz" or zone.zone is None or not hasattr(value, "astimezone"):
        return value
    return value.astimezone(_read_place(None, {"key": zone.zone}))


def _write_moment(w: Any, value: Any, path: str) -> dict[str, Any]:
    value = _of_python(value)
    zone = getattr(value, "tzinfo", None)
    bare = value if zone is None else value.replace(tzinfo=None)
    return {
        "is": type(value).__name__,
        "text": bare.isoformat(),
        "zone": w.value(zone, f"{path}.tzinfo"),
        "fold": getattr(value, "fold", 0),
    }


def _read_moment(r: Any, node: Any) -> Any:
    read = MOMENTS[node["is"]].fromisoformat(node["text"])
    if node["is"] == "date":
        return read
    return read.replace(tzinfo=r.value(node["zone"]), fold=node["fold"])


def _write_zone(w: Any, value: timezone, path: str) -> dict[str, Any]:
    return {"is": "timezone", "offset": w.value(value.utcoffset(None), path), "name": value.tzname(None)}


def _read_zone(r: Any, node: Any) -> timezone:
    made = timezone(r.value(node["offset"]))
    return made if made.tzname(None) == node["name"] else timezone(r.value(node["offset"]), node["name"])


def _read_place(r: Any, node: Any) -> Any:
    from zoneinfo import ZoneInfo

    return ZoneInfo(node["key"])


def _write_timestamp(w: Any, value: Any, path: str) -> dict[str, Any]:
    value = _of_python(value)
    return {"is": "pandas timestamp", "moment": w.value(value.asm8, path), "zone": w.value(value.tzinfo, path)}


def _read_timestamp(r: Any, node: Any) -> Any:
    made, zone = library("pandas").Timestamp(r.value(node["moment"])), r.value(node["zone"])
    return made if zone is None else made.tz_localize("UTC").tz_convert(zone)


def _read_timedelta(r: Any, node: Any) -> Any:
    return library("pandas").Timedelta(r.value(node["span"]))


def _read_missing(r: Any, node: Any) -> Any:
    pandas = library("pandas")
    return pandas.NaT if node["name"] == "NaT" else pandas.NA


WRITERS = {
    **{("datetime", name): _write_moment for name in MOMENTS},
    ("datetime", "timedelta"): lambda w, value, path: {
        "is": "timedelta",
        "parts": [value.days, value.seconds, value.microseconds],
    },
    ("datetime", "timezone"): _write_zone,
    ("zoneinfo", "ZoneInfo"): lambda w, value, path: {"is": "zone", "key": value.key},
    ("pandas", "Timestamp"): _write_timestamp,
    ("pandas", "Timedelta"): lambda w, value, path: {"is": "pandas timedelta", "span": w.value(value.asm8, path)},
    ("pandas", "NaTType"): lambda w, value, path: {"is": "pandas missing", "name": "NaT"},
    ("pandas", "NAType"): lambda w, value, path: {"is": "pandas missing", "name": "NA"},
}

READERS = {
    **dict.fromkeys(MOMENTS, _read_moment),
    "timedelta": lambda r, node: timedelta(*node["parts"]),
    "timezone": _read_zone,
    "zone": _read_place,
    "pandas timestamp": _read_timestamp,
    "pandas timedelta": _read_timedelta,
    "pandas missing": _read_missing,
}

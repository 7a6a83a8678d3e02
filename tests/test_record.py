"""What the library does today is what the record says: signatures and the quickest fits, by `make deep` all of it."""

import pytest
from record import freeze
from record.cases import CASES, QUICK

RECORD, ENTRIES = freeze.read(), freeze.entries()


def names(part):
    return [name for name in ENTRIES if name.startswith(f"{part}/")]


def check(name):
    """Check an entry against the record, and show each difference."""
    found = freeze.differences(name, RECORD[name], freeze.made(ENTRIES[name]))
    assert not [print(freeze.in_words(one)) or one[1] for one in found]


def skip_elsewhere():
    """Digits depend on BLAS, and these on the processor: elsewhere another record would be right."""
    if RECORD[freeze.ABOUT] != freeze.about():
        pytest.skip("the record was made with other versions, or on another processor")


def test_every_entry_is_recorded():
    assert set(ENTRIES) == set(RECORD) - {freeze.ABOUT}


@pytest.mark.parametrize("name", names("signatures"))
def test_record_of_signatures(name):
    check(name)


@pytest.mark.parametrize("case", sorted(QUICK))
def test_record_of_quick_fits(case):
    skip_elsewhere()
    check(f"fits/{case}")


@pytest.mark.deep
@pytest.mark.parametrize("case", sorted(set(CASES) - QUICK))
def test_record_of_fits(case):
    skip_elsewhere()
    check(f"fits/{case}")


@pytest.mark.deep
@pytest.mark.parametrize("part", ["saved", "refusals", "transcripts"])
def test_record_of_the_rest(part):
    skip_elsewhere()
    for name in names(part):
        check(name)


def test_differences_are_found_beyond_the_tolerance():
    before = {"a": [1.0, 1e6], "b": "x", "c": True, "d": [1, 2]}
    now = {"a": [1.0 + 1e-10, 1e6 + 1e-2], "b": "y", "c": True, "d": [1]}
    found = {one[1]: one[2:4] for one in freeze.differences("name", before, now)}
    assert found == {"a[1]": (1e6, 1e6 + 1e-2), "b": ("x", "y"), "d": ([1, 2], [1])}
    assert not list(freeze.differences("name", before, before))

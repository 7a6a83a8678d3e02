"""Inputs that fuzzing kept are read, or refused by the error that is documented, quickly."""

import time

import fuzz_targets
import pytest

LONGEST = 5.0


@pytest.mark.parametrize("name", fuzz_targets.TARGETS)
def test_the_corpus_is_read_or_refused(name):
    inputs = sorted((fuzz_targets.CORPUS / name).iterdir())
    assert inputs
    for path in inputs:
        began = time.process_time()
        try:
            fuzz_targets.run(name, path.read_bytes())
        except Exception as error:
            raise AssertionError(f"{path} gives {type(error).__name__}: {error}") from error
        assert time.process_time() - began < LONGEST, path

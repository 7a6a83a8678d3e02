"""Build the wheels of a release into ``dist``, audit them, and test those that can be run here.

    python -m tools.wheels [--only NAME ...] [--no-tests]

Names are those of targets.py, and ``pure``. Needs Python 3.10 to 3.13, and for the tests on arm64 mmdebstrap and
qemu-aarch64-static. The rest comes from the package index: zig, which compiles for every platform, and the programs
that judge wheels.
"""

from __future__ import annotations

import argparse
import shutil
import time
from pathlib import Path

from tools.wheels import building, checking
from tools.wheels.targets import STABLE, TARGETS, TESTED_ON, VERSIONS, Target

DIST = Path("dist").absolute()

USUAL = ["pure", "linux-x86_64", "linux-aarch64"]
"""What is built unless something else is asked for: the other targets are not tested by this program."""


def main() -> None:
    """Build, audit and test what was asked for, and print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=USUAL, choices=["pure", *TARGETS])
    parser.add_argument("--versions", nargs="*", default=list(VERSIONS), choices=VERSIONS)
    parser.add_argument("--no-tests", action="store_true", help="build and audit only")
    asked = parser.parse_args()
    DIST.mkdir(exist_ok=True)
    start = time.monotonic()

    def say(*words: object) -> None:
        print(f"{time.monotonic() - start:6.0f} s ", *words, flush=True)

    sdist = building.build_sdist(DIST)
    source = building.unpacked(sdist)
    say(sdist.name)
    for name in asked.only:
        if name == "pure":
            wheel = building.build_pure(source, DIST)
            say(wheel.name)
            checking.audit_contents(wheel, source)
            if not asked.no_tests:
                say("  ", checking.test_here(wheel, STABLE))
            continue
        for version in asked.versions:
            wheel = building.build_wheel(source, TARGETS[name], version, DIST)
            say(wheel.name)
            checking.audit_contents(wheel, source)
            checking.audit(wheel, TARGETS[name])
            say("   audited")
            for tested in () if asked.no_tests else TESTED_ON[version]:
                say("  ", f"Python {tested}:", _test(wheel, TARGETS[name], tested))


def _test(wheel: Path, target: Target, version: str) -> str:
    """Test a wheel on a version of Python, or say why it is not."""
    if target.name == "linux-x86_64":
        return checking.test_here(wheel, version)
    if target.name == "linux-aarch64" and version in checking.DEBIAN and shutil.which("mmdebstrap"):
        return checking.test_emulated(wheel, version)
    return "not run: there is no such Python here"


if __name__ == "__main__":
    main()

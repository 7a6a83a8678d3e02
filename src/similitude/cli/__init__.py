"""The command line, ``similitude``.

``app`` collects the commands, one module each, and runs one; ``options`` defines the options that they share,
``inputs`` reads files, similarities and labels, ``output`` writes for people or as JSON, and ``errors`` turns
exceptions into messages and exit codes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from os import _exit

from similitude.support import a_call_goes_on, missing_extra


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line, by default with the arguments of the process, and exit."""
    try:
        import rich  # noqa: F401 (both belong to the extra: fail here, in one place)
        import typer  # noqa: F401
    except ImportError:
        sys.exit(f"similitude: {missing_extra('cli', 'the command line')}")
    try:
        from similitude.cli.app import exit_code
    except KeyboardInterrupt:  # while the commands are still being imported
        sys.exit(130)
    code = exit_code(sys.argv[1:] if arguments is None else list(arguments))
    if a_call_goes_on():
        _exit(code)  # the streams are flushed
    sys.exit(code)

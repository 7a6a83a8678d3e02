"""The command line, ``similitude``: from a file to a prediction without opening an editor.

``app`` gathers the commands, one module each; ``options`` says what they share; ``inputs`` reads the files, the
similarity and the labels and says what was inferred; ``output`` writes for a person or as JSON; ``problems`` turns
whatever goes wrong into one or two lines and an exit code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from similitude.support.errors import missing_extra


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Parameters
    ----------
    arguments : sequence of str, optional
        Default: those of the process.
    """
    try:
        import rich  # noqa: F401 (both belong to the extra: fail here, in one place)
        import typer  # noqa: F401
    except ImportError:
        sys.exit(f"similitude: {missing_extra('cli', 'the command line')}")
    from similitude.cli.problems import exit_code

    sys.exit(exit_code(sys.argv[1:] if arguments is None else list(arguments)))

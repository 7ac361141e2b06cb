"""Entry point of the console script `weftlens`: checks that the imported packages are ours, then
hands over to the commands. Must import only the standard library before that check.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from workflows.cli.exit_codes import INTERRUPTED, PROBLEM
from workflows.cli.ownership import foreign_packages


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        arguments: words of the command line; those of the process when None.

    Returns:
        0 when all went well, 1 when a problem was found, 2 when the command was called wrongly, 130
        when the user ended it.
    """
    foreign = foreign_packages()
    if foreign:
        for message in foreign:
            sys.stderr.write(f"weftlens: {message}\n")
        return PROBLEM
    try:
        from workflows.cli.app import run_app

        return run_app(sys.argv[1:] if arguments is None else list(arguments))
    except KeyboardInterrupt:  # while this loaded; a command has its own way to end
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())

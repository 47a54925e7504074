"""The door of the command line:  main(arguments) → exit code  (row O4).

    0  done      1  the data or the model cannot be used      2  the command was not understood      130  interrupted

typer and rich are the extra ``separatrix[app]``, imported when a command is run; ``doctor`` does without them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from separatrix.app.errors import guarded


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are sentences on standard error.

    >>> main(["separability", "enjoy-sport"])
    the classes are separated by column 'Sky=Rainy' (coefficient → −∞)
    0
    """
    given = list(sys.argv[1:] if arguments is None else arguments)

    def work() -> int:
        try:
            from separatrix.app.commands import app
        except ModuleNotFoundError as error:
            if error.name not in ("typer", "rich"):
                raise
            if given[:1] == ["doctor"]:
                from separatrix.app.doctor.bare import main as doctor

                return doctor(given[1:])
            raise ImportError(
                'the command line needs typer and rich: pip install "separatrix[app]"'
            ) from None
        code = app(given or ["--help"], prog_name="separatrix", standalone_mode=False)
        return code if isinstance(code, int) else 0

    return guarded(work)


if __name__ == "__main__":
    sys.exit(main())

"""``python -m separatrix`` is the command ``separatrix``."""

from __future__ import annotations

import sys

from separatrix.app.cli import main

if __name__ == "__main__":
    sys.exit(main())

"""Entry point of ``python -m recassay``, the same as the command ``recassay``."""

from __future__ import annotations

from recassay.cli import main

if __name__ == "__main__":
    main()

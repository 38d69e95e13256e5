"""``python -m recassay`` is ``recassay``."""

from __future__ import annotations

from recassay.cli import main

if __name__ == "__main__":
    main()

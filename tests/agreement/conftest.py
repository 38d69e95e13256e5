"""The peers import libraries that live in environments of their own: nothing here is collected but the tests."""

from __future__ import annotations

import sys
from pathlib import Path

collect_ignore_glob = ["peers/*", "record.py", "record_ranx.py", "answer_adversarial.py"]

sys.path.insert(0, str(Path(__file__).parent))

"""The profile of each library, from the TOML file of its name in this folder."""

from __future__ import annotations

import tomllib
from pathlib import Path

from recassay.profiles.base import PROFILES, Exclusion, Profile

for file in sorted(Path(__file__).parent.glob("*.toml")):
    about = tomllib.loads(file.read_text(encoding="utf-8"))
    about["excludes"] = tuple(
        Exclusion(one["why"], tuple(one.get("metrics", ())), one.get("when", "always"))
        for one in about.get("excludes", ())
    )
    PROFILES.add(Profile(file.stem, **{**about, "differs": tuple(about["differs"])}), module=__name__)

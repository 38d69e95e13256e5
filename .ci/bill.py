"""Write a software bill of materials (CycloneDX 1.5) of recassay and of all it needs, as installed here."""

from __future__ import annotations

import json
import re
import sys
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9._-]+")
DIST = Path(__file__).parents[1] / "dist"


def needed(root: str) -> list[Distribution]:
    """Return a distribution and all that it needs without extras, by name."""
    found: dict[str, Distribution] = {}
    waiting = [root]
    while waiting:
        name = waiting.pop()
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            continue
        try:
            found[key] = distribution(name)
        except PackageNotFoundError:  # for another system or another Python
            continue
        wanted = [one for one in found[key].requires or () if "extra ==" not in one]
        waiting += [match[0] for one in wanted if (match := NAME.match(one))]
    return [found[key] for key in sorted(found)]


def component(one: Distribution) -> dict[str, object]:
    """Return the entry of a distribution."""
    name, about = one.metadata["Name"], one.metadata
    stated = about.get("License-Expression") or about.get("License") or ""
    entry: dict[str, object] = {
        "type": "library",
        "name": name,
        "version": one.version,
        "purl": f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{one.version}",
    }
    return entry | ({"licenses": [{"license": {"name": stated.splitlines()[0][:80]}}]} if stated else {})


def main() -> int:
    """Write the bill, and say where it is."""
    others = [component(one) for one in needed("recassay") if one.metadata["Name"].lower() != "recassay"]
    bill = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    bill |= {"metadata": {"component": component(distribution("recassay"))}, "components": others}
    DIST.mkdir(exist_ok=True)
    target = DIST / f"recassay-{distribution('recassay').version}.cdx.json"
    target.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    print(f"{target}: recassay and {len(others)} packages that it needs")
    return 0


if __name__ == "__main__":
    sys.exit(main())

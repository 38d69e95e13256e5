"""Look up known holes in the exact versions that are tested; say how many the package index could not answer for."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

PINS = Path(__file__).parents[1] / "requirements" / f"newest-{sys.version_info[0]}.{sys.version_info[1]}.txt"
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def main() -> int:
    """Return 1 if a version that is pinned has a known hole."""
    with tempfile.TemporaryDirectory() as folder:
        python = str(Path(folder) / "bin" / "python")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        if subprocess.run([python, *PIP, "install", "pip-audit"], capture_output=True, check=False).returncode:
            print("no audit: pip-audit cannot be installed from this index")
            return 0
        options = ["--no-deps", "--disable-pip", "--format", "json", "--progress-spinner", "off"]
        command = [python, "-m", "pip_audit", "--requirement", str(PINS), *options]
        found = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    try:
        packages = json.loads(found.stdout)["dependencies"]
    except ValueError:
        print(f"no audit: {(found.stderr.strip().splitlines() or ['pip-audit said nothing'])[-1][:200]}")
        return 0
    unknown = sum("skip_reason" in package for package in packages)
    print(f"{len(packages) - unknown} of {len(packages)} packages audited; the index does not answer for {unknown}")
    holes = [(package["name"], package["version"], hole) for package in packages for hole in package.get("vulns", ())]
    for name, version, hole in holes:
        fixed = ", ".join(hole["fix_versions"]) or "no version yet"
        print(f"{name} {version}: {hole['id']}, fixed in {fixed}")
    return int(bool(holes))


if __name__ == "__main__":
    sys.exit(main())

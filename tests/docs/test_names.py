"""Every name of recassay that a page mentions, in its text or in its code, exists."""

import builtins
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import recassay
from recassay.metrics.registry import METRICS

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")} - {ROOT / "CHANGELOG.md"})  # it names the past
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
DOTTED = re.compile(r"\b(?:ra|recassay)(?:\.[A-Za-z_]\w*)+")
IMPORT = re.compile(r"^(?:>>> )?\s*from (recassay[\w.]*) import (\([^)]*\)|[^\n#]*)", re.MULTILINE)
CLASS = re.compile(r"([A-Z]+[a-z]\w*)(?:\(.*\))?")
GROUPS = set(re.findall(r'group="([\w.]+)"', "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))))
NOT_OURS = {
    "EmbeddingQAFinetuneDataset",
    "InformationRetrievalEvaluator",
    "RankingEvaluator",
    "Edges",
    "Formula",
    "Libraries",
    "Reference",
    "MapInArrow",
    "Bewertung",
    "ItemID",
}


def exists(name):
    """Return whether a dotted name leads to something: a module, or an attribute or a field of one."""
    parts = re.sub(r"^ra\b", "recassay", name).split(".")
    for last in range(len(parts), 0, -1):  # a module and a function may have the same name
        try:
            value = importlib.import_module(".".join(parts[:last]))
        except ImportError:
            continue
        for part in parts[last:]:
            if not hasattr(value, part):
                value = part in getattr(value, "__dataclass_fields__", ())
                break
            value = getattr(value, part)
        if value:
            return True
    return False


@pytest.fixture(scope="module")
def known():
    """Return every name that any module has, and those of Python and of metrics."""
    modules = map(importlib.import_module, (one.name for one in pkgutil.walk_packages(recassay.__path__, "recassay.")))
    return {name for module in modules for name in vars(module)} | set(dir(builtins)) | set(METRICS.names) | NOT_OURS


def mentioned(text):
    """Return the dotted names in the Python code and in the text of a page, and the classes that the text names."""
    code = "\n".join(body for language, body in FENCE.findall(text) if language in ("python", "pycon"))
    spans = INLINE.findall(FENCE.sub("", text))
    dotted = {name for part in (code, *spans) for name in DOTTED.findall(part)}
    for module, names in IMPORT.findall(code):
        dotted |= {f"{module}.{one.split()[0]}" for one in names.strip("()\n ").split(",") if one.strip()}
    return dotted, {match[1] for span in spans if (match := CLASS.fullmatch(span))}


def test_every_name_on_the_page_exists(known):
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        dotted, classes = mentioned(text)
        assert [name for name in sorted(dotted - GROUPS) if not exists(name)] == []
        assert [name for name in sorted(classes - known) if f"class {name}" not in text] == []


def test_a_name_that_is_gone_is_seen(known):
    code = "```python\nfrom recassay.models import Gone as there, ALS\nra.play\n```\n"
    text = f"`ra.models.Recommends`, `Recommends(3)`\n\n{code}"
    dotted, classes = mentioned(text)
    assert [name for name in sorted(dotted) if not exists(name)] == ["ra.models.Recommends", "recassay.models.Gone"]
    assert classes - known == {"Recommends"}
    assert exists("ra.types.Finding.code")
    assert exists("recassay.protocols.ranking.Ranking")

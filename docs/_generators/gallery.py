"""``gallery``: a page per paper from its stored results in ``reproductions``, with its figures, and the first page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from recassay.reproduction.paper import WORDS, Case, ClaimVerdict, PaperClaim, read_paper
from recassay.reproduction.run import FIGURES, LOCK, Reproduction, read_reproduction

HOME = Path(__file__).resolve().parents[2] / "reproductions"
MOST_CASES = 16  # that the page lists of one claim


def pages() -> dict[str, str]:
    """Return the text of every page and figure by its path."""
    files = [read_paper(path) for path in sorted(HOME.glob("*.yaml"))]
    found = [read_reproduction(file, file.results) for file in files if (file.results / LOCK).is_file()]
    made = {"gallery/index.md": gallery_index(found)}
    for one in found:
        made[f"gallery/{one.file.name}.md"] = gallery_page(one)
        for figure in sorted((one.file.results / FIGURES).glob("*.svg")):
            made[f"gallery/{one.file.name}-{figure.stem}.svg"] = figure.read_text(encoding="utf-8")
    return made


def gallery_page(found: Reproduction) -> str:
    """Return the page of a paper in Markdown; its figures ``PAPER-FIGURE.svg`` are beside it."""
    paper, name = found.file.paper, found.file.name
    seconds = sum(found.seconds.values())
    lines = [f"# {paper.title}", "", paper.reference, "", paper.about.strip(), "", f"{_tally(found)}", ""]
    lines += ["| verdict | claim | ours | paper |", "| --- | --- | --- | --- |"]
    for one in found.verdicts:
        claim = paper.claims[one.name]
        link = f"[{_cell(claim.claim)}](#{one.name.replace('_', '-')})"
        lines.append(f"| **{one.word}** | {link} | {_cell(one.ours)} | {_cell(claim.of_paper)} |")
    lines += ["", "```text", f"recassay reproduce {name} --data DIR -o {name}", "```", ""]
    lines += [f"{paper.needs.strip()} The stored results took {_duration(seconds)} to make.", ""]
    for one in found.verdicts:
        lines += _section(one, paper.claims[one.name])
    for key, figure in paper.figures.items():
        lines += [f"## {figure.title}", "", f"![{figure.title}]({name}-{key}.svg)", "", figure.caption, ""]
    lines += _made_from(found)
    return "\n".join(lines)


def _section(verdict: ClaimVerdict, claim: PaperClaim) -> list[str]:
    lines = [f"## {verdict.name.replace('_', ' ').capitalize()}", "", f"{claim.claim} ({claim.where})", ""]
    lines += [f"**{verdict.word[:1].upper()}{verdict.word[1:]}.** {_reasons(claim)}".strip(), ""]
    if claim.value is None:
        return lines
    lines += [f"Stated before: {accepted(claim)}. {claim.tolerance}".strip(), ""]
    if claim.paper is not None:
        lines += [f"The paper: {claim.paper}.", ""]
    several, published = len(verdict.cases) > 1, any(case.paper is not None for case in verdict.cases)
    heads = ["case"] * several + ["ours"] + ["paper"] * published + ["holds"]
    lines += [_row(heads), _row(["---"] * len(heads))]
    for case in verdict.cases[:MOST_CASES]:
        lines.append(_row([case.what] * several + [str(case)] + [f"{case.paper}"] * published + [_holds(case)]))
    if len(verdict.cases) > MOST_CASES:
        held = sum(case.holds is True for case in verdict.cases)
        lines += ["", f"These are the first {MOST_CASES} of {len(verdict.cases)} cases, of which {held} hold."]
    return [*lines, ""]


def _reasons(claim: PaperClaim) -> str:
    return " ".join(text.strip() for text in (claim.unchecked, claim.unlike, claim.why) if text)


def accepted(claim: PaperClaim) -> str:
    """Return which values confirm a claim, in words.

    >>> accepted(PaperClaim(claim="c", where="w", value="SELECT", at_least=0.5))
    'confirmed if it is at least 0.5'
    """
    if claim.within is not None:
        return f"confirmed if it is within {claim.within:g} of the paper's number"
    bounds = [("at least", claim.at_least), ("at most", claim.at_most)]
    limits = [f"{words} {value:g}" for words, value in bounds if value is not None]
    return f"confirmed if it is {' and '.join(limits)}"


def _holds(case: Case) -> str:
    return {True: "yes", False: "no", None: "the interval crosses the bound"}[case.holds]


def _tally(found: Reproduction) -> str:
    """Return how often each verdict is given, on the paper's claims and on those that were added to them."""
    theirs, added = ([one.word for one in found.verdicts if found.added(one) is new] for new in (False, True))
    counted = f"**{_counts(theirs)}.**"
    return f"{counted} Added to the paper's claims: {_counts(added)}." if added else counted


def _counts(words: Sequence[str]) -> str:
    return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))


def _made_from(found: Reproduction) -> list[str]:
    """Return lines of Markdown on the data, versions and code that the results were made from."""
    lines = ["## What the numbers were made from", "", "| source | what | seconds |", "| --- | --- | --- |"]
    for name, seconds in found.seconds.items():
        lines.append(f"| {name} | {_source(found, name)} | {seconds:g} |")
    versions = ", ".join(f"{library} {number}" for library, number in found.lock["versions"].items())
    return [*lines, "", f"{versions}; the code of commit `{found.lock['code']}`.", ""]


def _source(found: Reproduction, name: str) -> str:
    lock, source = found.lock["sources"].get(name), found.file.paper.sources[name]
    if lock is None:
        return f"computed ({source.kind})"
    if "file" in lock:
        return f"`{lock['file']}`, {lock['rows']:,} rows, digest `{lock['fingerprint'][:12]}`"
    if "study" in lock:
        logs = ", ".join(
            f"{one['name']} ({one['events']:,} events, `{one['fingerprint'][:12]}`)" for one in lock["data"]
        )
        failed = f"; without {', '.join(lock['failed'])}, which failed" if "failed" in lock else ""
        return f"`studies/{lock['study']}` on {logs}{failed}"
    return "generated"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 90 else f"{seconds / 60:.0f} minutes"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def gallery_index(papers: Sequence[Reproduction]) -> str:
    """Return the first page of the gallery: a row per paper."""
    lines = [
        "# Gallery", "",
        "Published claims, checked: every number here was made by the command on its page. Tolerances are part of the "
        "paper's file in `reproductions/`, where a claim is added. [Reproduce a paper](../howto/reproduce-a-paper.md) "
        "says how verdicts are made. Questions that a page adds to the paper's claims are not counted. "
        "Times are wall times on two cores that did other work too.", "",
        f"| paper | {' | '.join(WORDS)} |", f"| --- |{' --- |' * len(WORDS)}",
    ]  # fmt: skip
    for one in papers:
        words = [verdict.word for verdict in one.verdicts if not one.added(verdict)]
        counts = [str(words.count(word)) for word in WORDS]
        lines.append(f"| [{one.file.paper.title}]({one.file.name}.md) | {' | '.join(counts)} |")
    return "\n".join([*lines, ""])

"""``recassay list`` and ``recassay explain``: what there is, and what it means."""

from __future__ import annotations

from typing import Annotated

import typer

from recassay.cli import _common, _options

KINDS = (
    "metrics", "models", "sequence-models", "splits", "filters", "sequences", "protocols", "designs", "experiments",
    "estimators", "detectors", "checks", "profiles",
)  # fmt: skip


def list_names(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help="metrics, models, sequence-models, splits, filters, sequences, protocols, designs, experiments, "
            "estimators, detectors, checks or profiles",
        ),
    ] = "metrics",
    as_json: _options.AsJson = False,
) -> None:
    """List what there is: metrics, models, splits, estimators and everything else that has a name.

    Example: recassay list detectors
    """
    from recassay.errors import UsageError
    from recassay.report import listing
    from recassay.spec import suggest

    if kind not in KINDS:
        raise UsageError("U107", f"there is no list of '{kind}'", where="recassay list", hint=suggest(kind, KINDS))
    rows = listing.entries(kind)
    if as_json:
        _common.print_json([entry.to_dict() for entry in rows])
    else:
        _common.console().print(listing.listing_table(kind, rows))


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="Anything in a list, or the code of an error: ndcg, ALS, P1R, lenskit, C001, I201, ..."
        ),
    ],
    as_json: _options.AsJson = False,
) -> None:
    """Explain one name: formula, parameters, edge policy, reference, and which libraries agree or differ.

    Example: recassay explain ndcg
    """
    from recassay.report import listing

    found = listing.explanation(name)
    if as_json:
        _common.print_json(found.to_dict())
    else:
        _common.console().print(listing.explanation_text(found))

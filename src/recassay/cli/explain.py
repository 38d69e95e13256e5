"""``recassay list`` and ``recassay explain``: names that are available, and their documentation."""

from dataclasses import asdict
from typing import Annotated

import typer

from recassay.cli import _common, _options
from recassay.naming.grammar import require_known

KINDS = (
    "metrics", "models", "sequence-models", "splits", "filters", "sequences", "protocols", "designs", "experiments",
    "estimators", "detectors", "checks", "profiles", "formats",
)  # fmt: skip


def list_names(
    kind: Annotated[
        str,
        typer.Argument(
            metavar="KIND",
            help=f"What to list: {_options.listed(KINDS)}.",
            autocompletion=_options.complete_words(KINDS),
        ),
    ] = "metrics",
    as_json: _options.AsJson = False,
) -> None:
    """List the available metrics, models, splits, estimators and everything else that has a name.

    Example: recassay list detectors
    """
    from recassay.report import listing

    require_known(kind, KINDS, "U107", f"there is no list of '{kind}'", where="recassay list")
    rows = listing.entries(kind)
    _common.show(as_json, lambda: list(map(asdict, rows)), lambda: listing.listing_table(kind, rows))


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Any listed name, or an error code: ndcg, ALS, P1R, lenskit, C001, I201, ...",
            autocompletion=_options.complete_everything,
        ),
    ],
    as_json: _options.AsJson = False,
) -> None:
    """Explain one name: formula, parameters, edge cases, reference, and which libraries agree or differ.

    Example: recassay explain ndcg
    """
    from recassay.report import listing

    page = listing.explain(name)
    _common.show(as_json, lambda: asdict(page), lambda: listing.explanation_text(page))

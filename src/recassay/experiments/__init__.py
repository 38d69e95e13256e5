"""Experiments: the effect of sparsity, popularity and target sets on metrics, and the trade-offs of diversity."""

from __future__ import annotations

from recassay.experiments.base import Experiment, Trial, trial
from recassay.experiments.popularity import Formulas as formulas  # noqa: N813
from recassay.experiments.popularity import Popularity as popularity  # noqa: N813
from recassay.experiments.rerankers import Contest as sudden_death  # noqa: N813
from recassay.experiments.rerankers import Costs as trade_off  # noqa: N813
from recassay.experiments.rerankers import Cutoffs as cutoffs  # noqa: N813
from recassay.experiments.rerankers import DiversityClaims as diversity_claims  # noqa: N813 - it reads like a verb
from recassay.experiments.target_sets import Percentiles as percentiles  # noqa: N813
from recassay.experiments.target_sets import Sampling as sampling_curve  # noqa: N813
from recassay.experiments.target_sets import Sparsity as sparsity  # noqa: N813
from recassay.experiments.target_sets import TargetSize as target_size  # noqa: N813
from recassay.naming.registry import Registry

REGISTRY: Registry[type[Experiment]] = Registry(
    "experiment", "recassay.experiments", Experiment, group="recassay.experiments"
)
parse = REGISTRY.parse
parse_list = REGISTRY.parse_list

__all__ = [
    "Experiment",
    "Trial",
    "cutoffs",
    "diversity_claims",
    "formulas",
    "parse",
    "parse_list",
    "percentiles",
    "popularity",
    "sampling_curve",
    "sparsity",
    "sudden_death",
    "target_size",
    "trade_off",
    "trial",
]
__dir__ = __all__.copy  # what `dir` lists

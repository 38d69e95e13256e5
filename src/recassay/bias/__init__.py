"""Experiments: how much of a number is sparsity, popularity or the target set, and what diversity costs and gains."""

from __future__ import annotations

from recassay.bias.base import Experiment, Line, Trial
from recassay.bias.contest import Contest as sudden_death  # noqa: N813 - an experiment reads like a verb
from recassay.bias.cutoffs import Cutoffs as cutoffs  # noqa: N813
from recassay.bias.formulas import Formulas as formulas  # noqa: N813
from recassay.bias.home_and_away import Homes as home_and_away  # noqa: N813
from recassay.bias.percentiles import Percentiles as percentiles  # noqa: N813
from recassay.bias.popularity import Popularity as popularity  # noqa: N813
from recassay.bias.sampling import Sampling as sampling_curve  # noqa: N813
from recassay.bias.sparsity import Sparsity as sparsity  # noqa: N813
from recassay.bias.sparsity import TargetSize as target_size  # noqa: N813
from recassay.bias.trade_off import Costs as trade_off  # noqa: N813
from recassay.bias.trial import trial
from recassay.bias.weight import Weight as choose_weight  # noqa: N813
from recassay.named import Registry

REGISTRY = Registry("experiment", "recassay.bias", Experiment)
parse = REGISTRY.parse
parse_list = REGISTRY.parse_list

__all__ = [
    "REGISTRY",
    "Experiment",
    "Line",
    "Trial",
    "choose_weight",
    "cutoffs",
    "formulas",
    "home_and_away",
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

"""Bias experiments: how much of a number is sparsity, popularity, or the size of the target set."""

from __future__ import annotations

from recassay.bias.base import Experiment, Line, Trial
from recassay.bias.formulas import Formulas as formulas  # noqa: N813 - an experiment reads like a verb
from recassay.bias.percentiles import Percentiles as percentiles  # noqa: N813
from recassay.bias.popularity import Popularity as popularity  # noqa: N813
from recassay.bias.sampling import Sampling as sampling_curve  # noqa: N813
from recassay.bias.sparsity import Sparsity as sparsity  # noqa: N813
from recassay.bias.sparsity import TargetSize as target_size  # noqa: N813
from recassay.bias.trial import trial
from recassay.named import Registry

REGISTRY = Registry("experiment", "recassay.bias", Experiment)
parse = REGISTRY.parse
parse_list = REGISTRY.parse_list

__all__ = [
    "REGISTRY",
    "Experiment",
    "Line",
    "Trial",
    "formulas",
    "parse",
    "parse_list",
    "percentiles",
    "popularity",
    "sampling_curve",
    "sparsity",
    "target_size",
    "trial",
]

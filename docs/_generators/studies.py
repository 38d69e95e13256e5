"""``reference/study-files.md``: the keys of a study file, from the schema that reads them."""

from __future__ import annotations

import typing
from typing import Any, Literal

from annotated_types import Ge, Gt, Lt
from pydantic.fields import FieldInfo

from recassay.study.config.schema import Compare, ConfigSection, Data, Judge, OverTimeConfig, Study, Tune

PAGE = """\
# Study files

A study is a YAML file that `recassay run` reads; [how to run a study](../howto/run-a-study.md) shows one at work. Unknown
keys and values of the wrong kind are errors that name the line. A value where a list may stand is a list of one.

## Top level

{top}

- `data` is a mapping with the keys below, or a list of them.
- `filters`, `split`, `protocol` and `models` are written as in Python: `core(users=5, items=5)`,
  `random(test=0.2, seed=7)`, `PureSVD(factors=20)`. `recassay list` has what there is, `recassay explain NAME` says what one of
  them is. Quote what has a comma in it.
- `models` is a list, or a mapping of names of your own to models. A path in it names [run files](../howto/run-a-study.md#lists-of-another-program),
  with `{{data}}`, `{{split}}`, `{{fold}}` and `{{seed}}` for their place and `*` for several systems.
- A `design` is judged on the splits that suit it: `U1R` and `UAR` on `uniform_items`, designs of all items (`AI`) on the
  others. One that suits none is an error.
- `protocol: sequence(k=5)` asks for [generated sequences](../howto/evaluate-sequences.md#all-of-it-in-a-file): `sequences`
  beside the data says how they are made, `split` how they are cut; `designs` and `experiments` are for ranked lists.
- `protocol: prequential(at=10)` plays [streams](../howto/evaluate-streams.md#all-of-it-in-a-file): there is no `split`, every event
  is test first and training then; `designs` and `experiments` are for ranked lists, `over_time` for streams.
- A seed is added to the seed of every model that has one: with `seeds: [0, 1]`, `Random(seed=3)` is run with 3 and 4. The
  seed of a split is that of the split alone.
- `{{name}}` in a text stands for the value that `parameters` give the name, and `recassay run --set name=value` gives it
  another: `models: {{gru: "GRU(epochs={{epochs}})"}}` with `parameters: {{epochs: 200}}` runs shorter with `--set epochs=20`.
- The keys under `quick` replace those of the same name as a whole.

## data

{data}

A name is looked up in the folder of `--data`, or else of `RECASSAY_DATA`: `DIR/NAME/ratings.*` (then
`sequences`, then `events`), then `DIR/NAME.*`, Parquet before the other [formats](formats.md). With `table: shop/clicks` it is
`DIR/shop/clicks.*`, and the name is only what the data is called. Columns are recognised as everywhere.

## judge

{judge}

## compare

{compare}

On streams the test is McNemar's for metrics of 0 and 1 and Student's t for others, unless `test` is there; p is corrected over
all pairs on all streams of the study.

## over_time

Of streams alone. Each `metric` has to be one of the `metrics`.

{over_time}

## tune

Of streams alone: [settings of models](../howto/evaluate-streams.md#settings-chosen-on-the-first-part) are chosen on
each.

{tune}
"""


def pages() -> dict[str, str]:
    """Return the text of the page by its path."""
    parts = {"top": Study, "data": Data, "judge": Judge, "compare": Compare, "over_time": OverTimeConfig, "tune": Tune}
    return {"reference/study-files.md": PAGE.format(**{name: table(part) for name, part in parts.items()})}


def table(part: type[ConfigSection]) -> str:
    """Return a table of the keys of one mapping."""
    lines = ["| key | kind | default | meaning |", "| --- | --- | --- | --- |"]
    for name, key in part.model_fields.items():
        lines.append(f"| `{name}` | {kind_of(key)} | {default_of(key)} | {key.description} |")
    return "\n".join(lines)


def kind_of(key: FieldInfo) -> str:
    """Return the kind of a value in words, with its bounds."""
    bounds = {Gt: "above {0.gt}", Ge: "{0.ge} or more", Lt: "below {0.lt}"}
    told = [bounds[type(one)].format(one) for one in key.metadata if type(one) in bounds]
    return ", ".join([worded(key.annotation), *told])


def worded(kind: Any) -> str:
    """Return a type in words."""
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return " or ".join(f"`{word}`" for word in inside)
    if origin is list:
        return f"list of {plural(inside[0])}"
    if origin is dict:
        return "mapping" if inside[1] is Any else f"mapping of names to {plural(inside[1])}"
    if inside:
        return " or ".join(worded(one) for one in inside if one is not type(None))
    return {str: "text", int: "whole number", float: "number"}.get(kind, "mapping")


def plural(kind: Any) -> str:
    """Several of a type in words."""
    return {str: "texts", int: "whole numbers"}.get(kind, "mappings")


def default_of(key: FieldInfo) -> str:
    """Return the default of a key as text."""
    if key.is_required():
        return "required"
    default = key.default
    if isinstance(default, ConfigSection) or default in (None, {}, [], ""):
        return "–"
    return f"`{default[0] if isinstance(default, list) and len(default) == 1 else default}`"

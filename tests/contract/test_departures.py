"""Every declared departure from a paper has a paper, one sentence, and a literal form that can be used."""

from __future__ import annotations

import pytest

from recassay import designs
from recassay.metrics.registry import parse_metric
from recassay.naming.departures import PAPERS, Departure, departs
from recassay.report.departures import HEADING, Declared, departures_of
from recassay.report.listing import NAMED, departures, explanation

EVERY = departures()


def test_there_are_departures_from_several_papers() -> None:
    assert {one.departure.paper for one in EVERY} >= {"target-sets", "sampled-metrics", "sequeval"}


@pytest.mark.parametrize("one", EVERY, ids=lambda one: f"{one.kind} {one.name}")
def test_a_departure_is_one_sentence_about_a_known_paper(one: Declared) -> None:
    sentence = one.departure.sentence
    assert one.departure.paper in PAPERS
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("one", [one for one in EVERY if one.departure.literal], ids=lambda one: one.departure.literal)
def test_the_literal_form_of_a_departure_parses(one: Declared) -> None:
    registries = {named.registry.noun: named.registry for named in NAMED.values()}
    literal = one.departure.literal
    if one.kind == "metric":
        assert str(parse_metric(literal)) == literal
    elif one.kind == "design":
        assert str(designs.parse(literal)) == literal
    elif one.kind == "function":
        assert literal.startswith(f"{one.name}(")
    else:
        assert str(registries[one.kind].parse(literal))


@pytest.mark.parametrize("one", [one for one in EVERY if one.kind != "function"], ids=lambda one: one.name)
def test_explain_prints_the_departures_of_a_name(one: Declared) -> None:
    assert one.departure.sentence in explanation(one.name).sections[HEADING]


def test_a_function_declares_departures_by_a_decorator() -> None:
    differs = Departure("sequeval", "It differs.")

    @departs(differs)
    def some() -> None: ...

    assert departures_of(some) == (differs,)

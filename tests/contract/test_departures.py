"""Every declared departure from a paper has a paper, one sentence, and a literal form that can be used."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import recassay as ra
from recassay import designs
from recassay.data.synthetic import log as made_up
from recassay.metrics.registry import parse_metric
from recassay.naming.named import PAPERS, Departure, departs
from recassay.report.listing import DEPARTS, NAMED, departures_of, explain

DOCS = Path(__file__).resolve().parents[2] / "docs"
if str(DOCS) not in sys.path:
    sys.path.insert(0, str(DOCS))

from _generators.departures import Declared, departures, run_by  # noqa: E402

EVERY = departures()
FORMS = {one.departure.literal: one for one in EVERY if one.departure.literal}
SAMPLED = (["sampled-metrics-beauty", "sampled-metrics"], ["sampled-metrics"])
# The studies and the reproductions that run a paper's form; no study has any other form in its file.
RUN = {
    "BiasedMF()": (["target-sets-claims", "target-sets"], ["target-set-biases"]),
    "RatingKNN()": (["target-sets-claims", "target-sets"], ["target-set-biases"]),
    "MMR(form='max', norm='none')": (["diversity", "sudden-death-toys", "sudden-death"], ["sudden-death"]),
    "xQuAD(norm='none')": (["diversity", "sudden-death-toys", "sudden-death"], ["sudden-death"]),
    "GRU(length=None)": (["sequeval-playlists"], []),
    "GRU(loss='softmax')": SAMPLED,
    "GRU(batch=512, loss='softmax')": SAMPLED,
    "NARM(loss='softmax')": SAMPLED,
    "NARM(batch=512, loss='softmax')": SAMPLED,
    "SASRec(loss='binary')": SAMPLED,
    "SASRec(length=200, dropout=0.2, loss='binary')": (["sampled-metrics"], ["sampled-metrics"]),
    "next_item(keep_seen='unsampled')": SAMPLED,
    "ra.compare_over_time(fewest=0, exact=False)": ([], ["prequential"]),
    "BPRMF(learns='user')": (["prequential"], ["prequential"]),
    "UKNN(stale=True)": (["prequential"], ["prequential"]),
    "SPAD(norm='none')": (["diversity", "sudden-death-toys", "sudden-death"], ["sudden-death"]),
}


def test_there_are_departures_from_several_papers() -> None:
    assert {one.departure.paper for one in EVERY} >= {"target-sets", "sampled-metrics", "sequeval"}


def runs_and_truth() -> dict[str, object]:
    return {"runs": {"a": {"ann": ["q", "x"]}, "b": {"ann": ["x", "q"]}}, "truth": {"ann": ["x"]}}


def played_runs() -> dict[str, object]:
    log = made_up(users=30, items=20, events=300, seed=1)
    fold = ra.split.random(test=0.2)(log)[0]
    runs = [ra.play(model, fold, ra.protocols.ranking(k=20)) for model in (ra.models.Popular(), ra.models.Random())]
    return {"runs": runs, "designs": "TI-1R-NN(5)", "metrics": "hit@10"}


def played_streams() -> dict[str, object]:
    fold = ra.split.random(test=0.9)(made_up(users=30, items=20, events=300, seed=1))[0]
    models = (ra.models.parse("StreamPopular"), ra.models.parse("Recent"))
    streams = [ra.play(model, fold, ra.protocols.prequential(at=5)) for model in models]
    return {"a": streams, "metric": "recall@5", "window": 20}


ARGUMENTS = {"ra.sudden_death": runs_and_truth, "ra.judge": played_runs, "ra.compare_over_time": played_streams}


@pytest.mark.parametrize("literal", FORMS)
def test_a_form_of_a_paper_is_run_by_these_studies_and_reproductions(literal: str) -> None:
    assert run_by(FORMS[literal]) == RUN.get(literal, ([], []))


def test_every_form_that_is_said_to_be_run_is_declared() -> None:
    assert RUN.keys() <= FORMS.keys()


@pytest.mark.parametrize("network", [ra.models.SASRec, ra.models.BERT4Rec])
def test_the_settings_that_a_network_declares_are_its_preset(network: type) -> None:
    forms = [one.literal for one in departures_of(network) if one.literal]
    assert network.preset("ml-1m") in [ra.models.parse(form) for form in forms]  # type: ignore[attr-defined]


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
        call = ast.parse(literal, mode="eval").body
        assert isinstance(call, ast.Call)
        assert ast.unparse(call.func) == one.name
        form = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
        assert form
        assert getattr(ra, one.name.removeprefix("ra."))(**ARGUMENTS[one.name](), **form)
    else:
        assert str(registries[one.kind].parse(literal))


@pytest.mark.parametrize("one", [one for one in EVERY if one.kind != "function"], ids=lambda one: one.name)
def test_explain_prints_the_departures_of_a_name(one: Declared) -> None:
    assert one.departure.sentence in explain(one.name).sections[DEPARTS]


def test_a_function_declares_departures_by_a_decorator() -> None:
    differs = Departure("sequeval", "It differs.")

    @departs(differs)
    def some() -> None: ...

    assert departures_of(some) == (differs,)

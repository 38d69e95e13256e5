"""What a library says to adversarial input, user by user, as JSON: `python answer_adversarial.py LIBRARY SEED...`.

ranx runs uncompiled here, which is much quicker than to compile it. Its sort is then numba's own, in Python: NumPy's,
which it would call, orders ties otherwise. What compiled ranx makes is recorded by record_ranx.py.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from adversarial import CUTOFFS, adversarial, as_dicts
from same import SAME

Values = dict[str, dict[str, float]]  # by their name of a measure, then by user


def measures(profile: str) -> dict[str, str]:
    """Their name -> ours, at every cut-off."""
    return {theirs.format(k=k): ours.format(k=k) for theirs, ours in SAME[profile].items() for k in CUTOFFS}


def pytrec_eval(case: dict[str, Any]) -> Values:
    import pytrec_eval

    measure_names = {name.replace("_cut_", "_cut.") for name in measures("trec_eval")}
    measure_names = {name if "cut" in name else _dotted(name) for name in measure_names}
    found = pytrec_eval.RelevanceEvaluator(case["truth"], measure_names).evaluate(as_dicts(case["rows"]))
    return {name: {user: values[name] for user, values in found.items()} for name in measures("trec_eval")}


def _dotted(name: str) -> str:
    stem, _, k = name.rpartition("_")
    return f"{stem}.{k}" if stem and k.isdecimal() else name


def ir_measures(case: dict[str, Any]) -> Values:
    import ir_measures

    names = {ir_measures.parse_measure(name): name for name in measures("ir_measures")}
    qrels = [ir_measures.Qrel(u, i, gain) for u, judged in case["truth"].items() for i, gain in judged.items()]
    run = [ir_measures.ScoredDoc(user, item, score) for user, item, _, score in case["rows"]]
    found: Values = {name: {} for name in names.values()}
    for row in ir_measures.iter_calc(list(names), qrels, run):
        found[names[row.measure]][row.query_id] = row.value
    return found


def ranx(case: dict[str, Any]) -> Values:
    import numpy as np
    import ranx
    from numba.core import config
    from numba.misc.quicksort import make_py_quicksort

    if config.DISABLE_JIT:
        sort = make_py_quicksort(is_argsort=True).run_quicksort
        ranx.data_structures.common.typed_list_argosrt = lambda values: sort(np.array(values))
    qrels, run = ranx.Qrels(case["truth"]), ranx.Run(as_dicts(case["rows"]))
    names = list(measures("ranx"))
    ranx.evaluate(qrels, run, names, make_comparable=True)
    return {name: {user: float(value) for user, value in run.scores[name].items()} for name in names}


ANSWER = {"pytrec_eval": pytrec_eval, "ir_measures": ir_measures, "ranx": ranx}


def main(library: str, *seeds: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answers = {seed: ANSWER[library](adversarial(int(seed))) for seed in seeds}
    print(json.dumps(answers))


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Systems of a study without names of their own are named by class and parameters."""

import pytest

from recassay.study.plan.parsing import read_plan

STUDY = """\
study: small
data: {{path: log.csv}}
split: random(test=0.2)
models: {models}
metrics: [recall@5]
"""


@pytest.mark.parametrize(
    ("models", "names"),
    [
        ("['UserKNN(neighbours=100)', Popular]", ["UserKNN", "Popular"]),
        (
            "['UserKNN(neighbours=100)', 'UserKNN(neighbours=50)', UserKNN, Popular]",
            ["UserKNN(neighbours=100)", "UserKNN(neighbours=50)", "UserKNN", "Popular"],
        ),
        (
            "['mine.py:Mine(depth=3)', 'mine.py:Mine(depth=4)']",
            ["Mine(depth=3)", "Mine(depth=4)"],
        ),
    ],
)
def test_parameters_are_named_as_written_where_systems_of_one_class_differ(tmp_path, models, names):
    (tmp_path / "log.csv").write_text("user,item\n" + "".join(f"{n % 9},{n}\n" for n in range(99)))
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def __init__(self, depth):\n        pass\n    def fit(self, log):\n        pass\n"
    )
    (tmp_path / "study.yaml").write_text(STUDY.format(models=models))
    assert [system.name for system in read_plan(tmp_path / "study.yaml").systems] == names

"""YAML with limits: bombs, cycles, depth and wrong tags are errors with a reason."""

import pytest

from recassay.data.io.yaml_text import YamlError, parse_yaml

LAUGHS = "\n".join(
    [f"a0: &a0 [{', '.join('x' * 9)}]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)]
)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (LAUGHS, "expands to more than"),
        ("&a {b: *a}", "contains itself"),
        ("[" * 3000, "nested levels"),
        ("a: 2001-99-99", "wrong form"),
        ("a: !!int x", "wrong form"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
        ("a: [", "expected"),
        ("x" * ((1 << 22) + 1), "characters"),
        ("\x00", "special characters"),
    ],
)
def test_what_is_refused(text, why):
    with pytest.raises(YamlError, match=why):
        parse_yaml(text)


def test_anchors_are_allowed():
    assert parse_yaml("base: &b {x: 1}\nmine: {<<: *b, y: 2}")[0]["mine"] == {"x": 1, "y": 2}

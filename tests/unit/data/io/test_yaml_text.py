"""YAML with limits: bombs, cycles, depth and wrong tags are errors with a reason."""

import pytest

from recassay.data.io.documents import YamlError, parse_yaml

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


def test_a_whole_number_that_cannot_be_printed_is_refused_in_its_line():
    with pytest.raises(YamlError, match="line 2: a whole number has 5,002 characters"):
        parse_yaml(f"a: 1\nb: [0x{'f' * 5000}]")
    assert parse_yaml(f"a: 0x{'f' * 16}")[0] == {"a": 2**64 - 1}
    assert parse_yaml(f"a: '{'7' * 5000}'")[0] == {"a": "7" * 5000}

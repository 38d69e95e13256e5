"""Equal identities give equal streams, other identities other streams, on every machine."""

import re
from pathlib import Path

import numpy as np
import pytest

import recassay
from recassay.rng import derive, derive_seed


def test_a_stream_is_what_it_always_was():
    assert derive_seed(7, "bootstrap", 3) == 0x87703C3B12C803B261AB82B77AAFA73B
    assert derive(7, "bootstrap", 3).integers(10**9, size=3).tolist() == [607257050, 657603065, 165756591]


@pytest.mark.parametrize(
    "other", [(8, "a", 1), (7, "b", 1), (7, "a", 2), (7, "a", "1"), (7, "a1"), (7, "a"), (7, 1, "a"), (7, "a", 1, "")]
)
def test_another_identity_has_another_stream(other):
    assert derive_seed(7, "a", 1) != derive_seed(*other)
    assert derive(7, "a", 1).random() != derive(*other).random()


def test_the_same_identity_has_the_same_stream():
    first, again = derive(7, "a", 1), derive(7, "a", 1)
    np.testing.assert_array_equal(first.random(50), again.random(50))


def test_parts_do_not_run_into_each_other():
    assert derive_seed(1, "ab", "c") != derive_seed(1, "a", "bc")


def test_no_other_module_makes_random_numbers():
    for path in Path(recassay.__file__).parent.rglob("*.py"):
        if path.name != "rng.py":
            code = re.sub(r"np\.random\.Generator", "", path.read_text())
            assert not re.search(r"np\.random|numpy\.random|import random\b|default_rng", code), path

"""What a test says of an error that it expects: its code, which no two mistakes share."""

from contextlib import contextmanager

import pytest

from recassay.errors import RecassayError


@contextmanager
def refused(code, match=None):
    """Expect an error of recassay with a code, and with words that match."""
    with pytest.raises(RecassayError, match=match) as caught:
        yield caught
    assert caught.value.code == code

"""What the tests of the readers share."""

import io
import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def pipe_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Give a function that puts bytes where standard input is read."""

    def put(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put

"""Fixtures shared by the tests of readers."""

import io
import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def pipe_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Return a function that replaces standard input by the given bytes."""

    def put(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))

    return put

"""Real corpora, next to the checkout or in the folder HEADSCOPE_DATA; tests skip without them."""

import os
from pathlib import Path

import pytest

_DATA = Path(os.environ.get("HEADSCOPE_DATA", Path(__file__).parents[2].parent / "shared" / "data"))


def data(name: str) -> Path:
    """Return a file of the shared data, or skip the test."""
    path = _DATA / name
    if not path.exists():
        pytest.skip(f"{name} is not here; set HEADSCOPE_DATA to the folder that holds it")
    return path

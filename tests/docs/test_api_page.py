"""docs/reference/api.md matches the docstrings."""

import importlib.util
from pathlib import Path

import headscope
import headscope_train

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_is_current_and_names_all_that_is_public():
    found = importlib.util.spec_from_file_location("make_api", DOCS / "make" / "api.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    written = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    assert written == module.page(), "docs/reference/api.md is not what the docstrings say; run `make docs`"
    for name in headscope.__all__:
        if not name.startswith("__"):
            assert f"### `hs.{name}`" in written
    for name in headscope_train.__all__:
        assert f"### `headscope_train.{name}`" in written

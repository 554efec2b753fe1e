"""docs/reference/tables.md matches the schemas."""

import importlib.util
import re
from pathlib import Path

import pytest

from support.stand_ins import schemas

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def written():
    return (DOCS / "reference" / "tables.md").read_text(encoding="utf-8")


def test_the_page_is_current(written):
    found = importlib.util.spec_from_file_location("make_tables", DOCS / "make" / "tables.py")
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    assert written == module.page(), "docs/reference/tables.md is not what the schemas say; run `make docs`"


@pytest.mark.parametrize("name", schemas())
def test_the_page_names_each_column(written, name):
    (part,) = re.findall(rf"^### `{name}`\n(.*?)(?=^##|\Z)", written, re.MULTILINE | re.DOTALL)
    schema = schemas()[name]
    rows = re.findall(r"^\| `(\w+)` \|", part, re.MULTILINE)
    assert rows == schema.names
    for column in schema.columns:
        assert column.meaning
        assert f"| `{column.name}` | {column.dtype} | {column.unit} | {column.meaning}" in part

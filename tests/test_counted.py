"""A number and its noun agree in messages: one document, two documents."""

import ast
from pathlib import Path

import pytest

import headscope
from headscope.visible import count

ROOT = Path(headscope.__file__).parent
NOUNS = ("documents", "segments", "sentences", "mentions", "windows", "inputs")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((0, "head"), "0 heads"),
        ((1, "head"), "1 head"),
        ((3072, "head"), "3,072 heads"),
        ((1, "mention has", "mentions have"), "1 mention has"),
        ((1200, "mention has", "mentions have"), "1,200 mentions have"),
    ],
)
def test_a_number_and_its_noun(given, said):
    assert count(*given) == said


def plurals(tree):
    """Yield the line of each f-string that writes a number right before one of the plural nouns."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.JoinedStr):
            continue
        for part, after in zip(node.values, node.values[1:]):
            if isinstance(part, ast.FormattedValue) and isinstance(after, ast.Constant):
                word = str(after.value).removeprefix(" ").split(" ")[0].rstrip(".,;:)")
                grouped = part.format_spec is not None and ast.unparse(part.format_spec) == "f','"
                if grouped and str(after.value).startswith(" ") and word in NOUNS:
                    yield node.lineno


def test_no_sentence_can_say_1_documents():
    found = {
        path.relative_to(ROOT).as_posix(): lines
        for path in sorted(ROOT.rglob("*.py"))
        if (lines := sorted({*plurals(ast.parse(path.read_text(encoding="utf-8")))}))
    }
    assert not found, f"write count(number, noun) of headscope.visible in place of a number and a plural: {found}"


def test_the_search_sees_what_it_looks_for():
    assert [*plurals(ast.parse('f"read {n:,} documents, {m:,} of them"'))] == [1]
    assert not [*plurals(ast.parse('f"read {count(n)}; {n:,} of all documents"'))]

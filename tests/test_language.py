"""The field's words: American spelling everywhere, and no name or phrase that was given up comes back."""

import ast
import re
from dataclasses import fields
from functools import cache
from itertools import chain
from pathlib import Path

import pytest

from headscope.declarations.option import options_of
from headscope.declarations.run_options import RunOptions
from headscope.statistics.statistic_catalog import STATISTICS
from headscope.visible import visible
from headscope_train.training_options import TrainOptions
from support.stand_ins import schemas

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "headscope"
TRAINER = ROOT / "packages" / "headscope-train" / "src"
MODULES = [*sorted(SOURCE.rglob("*.py")), *sorted(TRAINER.rglob("*.py"))]
READ = {".py", ".mjs", ".js", ".css", ".html", ".md", ".toml"}
WRITTEN = [
    path
    for top in ("src", "docs", "tests", "benchmarks", "packages", "README.md", "CONTRIBUTING.md", "SECURITY.md")
    for path in (sorted((ROOT / top).rglob("*")) if (ROOT / top).is_dir() else [ROOT / top])
    if path.suffix in READ and path != Path(__file__)
    if not {"node_modules", "words"} & {*path.relative_to(ROOT).parts}
]
# American and British: a stem of the British spelling, which begins a word or a part of a name.
BRITISH = {
    "behavior": "behaviour",
    "color": "colour",
    "tokenize": "tokenis",
    "catalog": "catalogue",
    "neighbor": "neighbour",
    "labeled": "labelled(?!by)",
    "center": "centre",
    "gray": "grey",
    "normalize": "normalis",
    "standardize": "standardis",
    "favor": "favour",
    "initialize": "initialis",
    "serialize": "serialis",
    "optimize": "optimis(e|i[nz])",
    "summarize": "summaris",
    "recognize": "recognis",
    "organize": "organis",
}
# Names that outsiders could not guess, with what each thing is called now.
GIVEN_UP = {
    "few_words": "shorten",
    "heeded": "layout_accumulators",
    "evenly": "uniform_baseline",
    "KeptShards": "ShardCheckpoint",
    "OneScan": "SharedScan",
    "ScanFound": "a scan found by its name",
    "Elsewhere": "ShardExecutor",
    "awake": "active",
    "seated": "sink attention",
    "at_work": "arc_examples",
}
# Options that were renamed: what they are called now.
GIVEN_UP_OPTIONS = {"limit": "max_inputs", "pieces": "pooling"}
# Tables and their columns that were renamed.
GIVEN_UP_COLUMNS = {
    "clearest": "top_examples",
    "joined": "continues_word",
    "n": "n_inputs, n_rows: what it counts",
    "of": "side",
    "says": "description",
    "tenth": "decile",
}
# Statistics that were renamed.
GIVEN_UP_STATISTICS = {"any_punctuation": "punctuation", "sink": "sink_logit"}
# No noun of the field: a value is called by what it is.
NO_NOUNS = ("own", "place", "one", "found", "told", "asked", "held", "seen", "made", "given")


@cache
def identifiers(path):
    """Return the names that a module defines or assigns, with their lines."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.append((node.name, node.lineno))
            case ast.arg():
                names.append((node.arg, node.lineno))
            case ast.Attribute(ctx=ast.Store()):
                names.append((node.attr, node.lineno))
            case ast.Name(ctx=ast.Store()):
                names.append((node.id, node.lineno))
    return names


def places(word):
    """Return where the source gives a thing this name, and which modules have it."""
    named = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in MODULES
        for name, line in identifiers(path)
        if name.strip("_") == word
    ]
    return named + [str(path.relative_to(ROOT)) for path in MODULES if path.stem == word]


@pytest.mark.parametrize("american", BRITISH)
def test_spelling_is_american(american):
    british = re.compile(rf"(?<![a-z]){BRITISH[american]}", re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {visible(line.strip()[:80])}"
        for path in WRITTEN
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").split("\n"), 1)
        if british.search(line)
    ]
    assert not found, f"write {american}:\n" + "\n".join(found[:20])


@pytest.mark.parametrize("word", GIVEN_UP)
def test_names_that_were_given_up_stay_away(word):
    assert not places(word), f"call it {GIVEN_UP[word]}"


@pytest.mark.parametrize("word", NO_NOUNS)
def test_values_are_called_by_what_they_are(word):
    called = [
        f"{path.relative_to(ROOT)}:{line}" for path in MODULES for name, line in identifiers(path) if name == word
    ]
    assert not called, f"{word} says nothing of the value"


@pytest.mark.parametrize("option", GIVEN_UP_OPTIONS)
def test_options_that_were_renamed_stay_away(option):
    known = {*options_of(RunOptions), *(each.name for each in fields(TrainOptions))}
    assert option not in known, f"call it {GIVEN_UP_OPTIONS[option]}"
    assert GIVEN_UP_OPTIONS[option] in known


@pytest.mark.parametrize("column", GIVEN_UP_COLUMNS)
def test_columns_that_were_renamed_stay_away(column):
    tables = [name for name, schema in schemas().items() if column in (name, *schema.names)]
    assert not tables, f"call it {GIVEN_UP_COLUMNS[column]}"


@pytest.mark.parametrize("statistic", GIVEN_UP_STATISTICS)
def test_statistics_that_were_renamed_stay_away(statistic):
    assert statistic not in STATISTICS, f"call it {GIVEN_UP_STATISTICS[statistic]}"
    assert GIVEN_UP_STATISTICS[statistic] in STATISTICS


def test_a_name_that_was_given_up_would_be_found(tmp_path):
    module = tmp_path / "module.py"
    module.write_text("class A:\n    def heeded(self, evenly):\n        self.few = few_words = 1\n")
    assert {name for name, _ in identifiers(module)} == {"A", "heeded", "self", "evenly", "few", "few_words"}


def test_columns_and_options_are_named_in_snake_case():
    columns = chain.from_iterable(schema.names for schema in schemas().values())
    wrong = [
        name for name in {*schemas(), *columns, *options_of(RunOptions)} if not re.fullmatch(r"[a-z][a-z0-9_]*", name)
    ]
    assert not wrong

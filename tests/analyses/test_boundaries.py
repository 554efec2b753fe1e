"""Modules outside an analysis neither import it, nor read its tables, nor name its figures."""

import ast
from pathlib import Path

import pytest

import headscope
from headscope.analyses.for_report import every_part, functions_of
from headscope.present.head_functions import DIRECTIONS
from headscope.reporting.export import export_figures
from headscope.scans.declarations.analysis_list import ANALYSES, STAGES, of_table
from support import mock_inputs
from support.measured import with_parts
from support.mock_behaviors import with_behaviors
from support.mock_distances import with_distances
from support.mock_distribution import with_distribution
from support.mock_effect_kept import with_effect_kept
from support.mock_effects import with_effects
from support.mock_explanation import with_explanation
from support.mock_importance import with_importance
from support.mock_joint import with_joint_effects
from support.mock_norms import with_norms
from support.mock_pca import with_pca
from support.mock_probes import with_probes
from support.stand_ins import schemas, stand_in

ROOT = Path(headscope.__file__).parent
FOLDERS = {analysis.name for analysis in ANALYSES}
FIGURES = {figure.name for parts in every_part() for figure in parts.figures}
# Names of stages and corpora, which any module may use, except as names of tables.
ASKED = {*STAGES, *(corpus for stage in STAGES.values() for corpus in stage.corpora)}
READS = ("table", "tables")

# Tables that other modules may name, with the reason.
ROLES = "roles of heads, which all analyses and pages build on, are read from it"
CARDS = "the sentences that every head is drawn on, in the report and on its card"
MAY_NAME = {
    "present/study.py": {"stats": ROLES, "examples": CARDS},
    "reporting/atlas_page.py": {"examples": CARDS},
    "reporting/card_sentences.py": {"top_examples": CARDS},
    "scans/examples/example_tables.py": {"examples": CARDS, "top_examples": CARDS},
    "scans/examples/top_examples.py": {"top_examples": "the accumulator of these sentences, by the name of its state"},
}


def outside():
    """Yield every module outside the analyses, by its path from the package."""
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not any(name.startswith(f"analyses/{folder}/") for folder in FOLDERS):
            yield name, ast.parse(path.read_text())


def imported(tree):
    """Names of modules that a module imports, also inside its functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def analyses_imported(tree):
    """Yield the analyses that a module imports, or names in a string."""
    names = [*imported(tree), *(text for text in texts(tree) if " " not in text)]
    for name in names:
        parts = name.replace(":", ".").split(".")
        if parts[:2] == ["headscope", "analyses"] and len(parts) > 2 and parts[2] in FOLDERS:
            yield parts[2]


def texts(tree):
    """Yield every string of a module except docstrings, including pieces of f-strings."""
    documents = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            yield node.value


def tables_read(tree):
    """Yield names of tables: `run.tables.get(name)`, `study.table(name)`, `result.tables[name]`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            by_get = node.func.attr == "get" and isinstance(owner, ast.Attribute) and owner.attr in READS
            given = node.args[:1] if node.func.attr in READS or by_get else []
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            given = [node.slice] if node.value.attr in READS else []
        else:
            continue
        yield from (one.value for one in given if isinstance(one, ast.Constant))


def named(tree):
    """Return the tables and figures of analyses that a module names."""
    return {text for text in texts(tree) if text in ({*of_table()} | FIGURES) - ASKED} | (
        {*tables_read(tree)} & {*of_table()}
    )


def test_no_other_module_imports_an_analysis():
    found = {name: sorted({*analyses_imported(tree)}) for name, tree in outside()}
    wrong = {name: folders for name, folders in found.items() if folders}
    assert not wrong, wrong


def test_the_list_names_each_analysis_once():
    folders = [path.parent.name for path in (ROOT / "analyses").glob("*/analysis.py")]
    here = [analysis.name for analysis in ANALYSES if not analysis.package]
    assert sorted(folders) == sorted(here)


def test_no_other_module_names_a_table_or_figure_of_an_analysis():
    found = {name: named(tree) for name, tree in outside()}
    wrong = {name: sorted(names - {*MAY_NAME.get(name, ())}) for name, names in found.items()}
    wrong = {name: names for name, names in wrong.items() if names}
    assert not wrong, wrong
    idle = {name: {*known} - found[name] for name, known in MAY_NAME.items()}
    assert not any(idle.values()), f"exceptions that are no longer needed: {idle}"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("from headscope.analyses.probes.facts import PAGE", ({"probes"}, set())),
        ("def f():\n    import headscope.analyses.stats.tables", ({"stats"}, set())),
        ("load('headscope.analyses.distances.facts')", ({"distances"}, set())),
        ("from headscope.scans.declarations.analysis_list import ANALYSES", (set(), set())),
        ("run.tables.get('coref')", (set(), {"coref"})),
        ("result.tables['gap']", (set(), {"gap"})),
        ("study.tables.get('probes')", (set(), {"probes"})),
        ("stages = ('coref', 'gap', 'stats')", (set(), set())),
        ("NAMES = ('head_map', 'figure-6')", (set(), {"head_map", "figure-6"})),
        ("'''head_map'''", (set(), set())),
    ],
)
def test_the_search_finds_imports_and_names(code, expected):
    tree = ast.parse(code)
    assert ({*analyses_imported(tree)}, named(tree)) == expected


def test_tables_have_one_name_and_one_maker():
    names = [schema.name for analysis in ANALYSES for stage in analysis.stages for schema in analysis.tables(stage)]
    assert len(names) == len(set(names))
    figures = [figure.name for parts in every_part() for figure in parts.figures]
    assert len(figures) == len(set(figures))


@pytest.mark.slow
def test_every_figure_that_is_declared_is_exported(tmp_path):
    everything = mock_inputs.section_4(2, 3)
    for more in (
        with_norms,
        with_importance,
        with_probes,
        with_distances,
        with_behaviors,
        with_distribution,
        with_pca,
        with_explanation,
        with_effects,
        with_effect_kept,
        with_joint_effects,
    ):
        everything = more(everything)
    # Other tables are made from their schemas.
    others = {name: stand_in(schema) for name, schema in schemas().items() if name not in everything.tables}
    everything = with_parts(everything, **others)
    written = {path.stem for path in export_figures(everything, tmp_path, columns="one")}
    assert written >= FIGURES
    assert all(any(name == one or name.startswith(f"{one}-") for one in FIGURES) for name in written)


def test_what_a_run_was_asked_to_find_has_the_names_that_its_heads_find():
    """The names in the roles are those of the relations, which say what they are called."""
    run = mock_inputs.section_4()
    names = {name for finds in run.roles["finds"] for name in finds}
    relations = {scores.function.name: scores for scores in functions_of(run) if scores.function.is_relation}
    assert names <= {*relations}
    assert {scores.function.role for scores in relations.values()} == {"syntax", "coreference"}
    ways = {way for one in relations.values() if one.heads is not None and "direction" in one.heads
            for way in one.heads["direction"]}  # fmt: skip
    assert ways == {*DIRECTIONS}

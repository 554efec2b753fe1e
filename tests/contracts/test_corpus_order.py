"""No table depends on the order of documents or their division into files, to the byte.

Documents are read in the order of their ids, which are hashes of their content, so that inputs, batches and sums are
the same to the last digit. For a corpus too large for memory, draws and groups are the same, and numbers to 1e-5: a
batch of another shape changes the last digits of float32.
"""

from dataclasses import dataclass
from itertools import pairwise
from random import Random

import pandas as pd
import pytest

from headscope.installing import demo_treebank
from headscope.running.stages import measure, stages_of
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.model_folders import save_tiny_masked_lm

pytestmark = pytest.mark.slow

PARTS = ("text", "treebank", "coref")
DOCUMENTS = 11


@dataclass(frozen=True)
class Corpora:
    """The written documents of each corpus, one of them twice."""

    text: list[str]
    treebank: list[str]
    coref: list[str]


@pytest.fixture(scope="module")
def corpora():
    blocks = demo_treebank().read_text(encoding="utf-8").split("# newdoc id")[1:]
    trees = [f"# newdoc id{block}" for block in blocks[:DOCUMENTS]]
    lines = [
        [line.removeprefix("# text = ") for line in block.splitlines() if line.startswith("# text")]
        for block in blocks[DOCUMENTS : 3 * DOCUMENTS]
    ]
    text = ["\n".join(each) + "\n\n" for each in lines]
    mentions = [f"# newdoc id{block}" for block in blocks[3 * DOCUMENTS : 4 * DOCUMENTS]]
    return Corpora([*text, text[3]], [*trees, trees[3]], [*mentions, mentions[3]])


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_tiny_masked_lm(tmp_path_factory.mktemp("order") / "model")


def write(folder, corpora, orders, cuts):
    """Write each corpus in an order of its documents, cut into files."""
    options = {}
    for part in PARTS:
        documents = getattr(corpora, part)
        ordered = [documents[place] for place in orders[part]]
        ends = [0, *sorted(cuts[part]), len(ordered)]
        paths = []
        for number, (first, last) in enumerate(pairwise(ends)):
            path = folder / f"{part}-{number}{'.txt' if part == 'text' else '.conllu'}"
            path.write_text("".join(ordered[first:last]), encoding="utf-8")
            paths.append(str(path))
        options[part] = tuple(paths)
    return options


def measured(model, files, **options):
    options = files | options
    run = prepare(RunOptions(model=str(model), max_length=48, seed=1, controls=1, **options))
    results = list(measure(run))
    assert [result.name for result in results] == [stage.name for stage in stages_of(run)]
    return {name: table for result in results for name, table in result.tables.items()}


@pytest.fixture(scope="module")
def as_written(tmp_path_factory, corpora, model):
    folder = tmp_path_factory.mktemp("written")
    tables = measured(model, write(folder, corpora, places(), {part: [] for part in PARTS}))
    assert len(tables) > 20
    assert "explanation" in tables
    return tables


def places():
    """Return the indices of the documents of each corpus."""
    return {part: list(range((2 if part == "text" else 1) * DOCUMENTS + 1)) for part in PARTS}


REVERSED = {part: each[::-1] for part, each in places().items()}


def shuffled():
    """Return a random order and a different number of files for each corpus."""
    generator = Random(1)
    orders = {part: generator.sample(each, len(each)) for part, each in places().items()}
    return orders, {part: set(generator.sample(range(1, DOCUMENTS + 1), files)) for files, part in enumerate(PARTS)}


@pytest.mark.parametrize(
    "arranged", [(REVERSED, {part: {3, 7} for part in PARTS}), shuffled()], ids=["reversed", "shuffled"]
)
def test_the_order_of_documents_and_files_moves_no_number(tmp_path, corpora, model, as_written, arranged):
    tables = measured(model, write(tmp_path, corpora, *arranged))
    assert list(tables) == list(as_written)
    for name, table in tables.items():
        pd.testing.assert_frame_equal(table, as_written[name], check_exact=True, obj=name)


def test_of_a_corpus_that_is_not_held_draws_are_the_same_and_numbers_to_float32(tmp_path, corpora, model, monkeypatch):
    monkeypatch.setattr("headscope.corpora.reading.MOST_HELD", 0)
    tables = []
    for name, orders in {"as written": places(), "reversed": REVERSED}.items():
        (tmp_path / name).mkdir()
        files = write(tmp_path / name, corpora, orders, {part: [] for part in PARTS})
        tables.append(measured(model, files, stages=("stats",), max_inputs=20)["stats"])
    pd.testing.assert_frame_equal(*tables, check_exact=False, rtol=1e-5, atol=1e-5)

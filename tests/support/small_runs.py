"""Small runs: one of three quick stages, measured once and remembered; options of runs that are cut into shards."""

import pytest

from headscope.running import writing
from headscope.running.writing import write_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_bert, save_tiny_masked_lm

STAGES = ["stats", "distances", "map"]
STORY = "The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n\n" * 6


def small_run(base):
    """Prepare a run over a few sentences with a tiny random model, both made in `base`."""
    (base / "text.txt").write_text(STORY)
    model = save_tiny_bert(base / "tiny")
    return prepare(
        RunOptions(
            model=str(model), text=(str(base / "text.txt"),), packing="single", max_length=32, stages=tuple(STAGES)
        )
    )


def measured_once(run, out):
    """Write a run, and return what each stage found."""
    kept, measure = {}, writing.measure_stage
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "measure_stage", lambda stage, *rest: kept.setdefault(stage.name, measure(stage, *rest)))
        write_run(run, out)
    return kept


def remember(found, patch):
    """Let stages be measured by looking up what they found; return the list that their names go to."""
    names = []

    def again(stage, *_):
        names.append(stage.name)
        return found[stage.name]

    patch.setattr(writing, "measure_stage", again)
    return names


def sharded_options(folder, *, repeats, documents=0, **options):
    """Write a text, and a treebank with mentions where it has documents; return options of a run over them.

    Args:
        folder: of the files and of a tiny random model.
        repeats: how often the text says the same two documents.
        documents: number of those of the treebank, which is read for mentions, too.
        **options: of the run.
    """
    text = "The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left, and it was seen no more.\n\n"
    (folder / "text.txt").write_text(text * repeats)
    annotated = (str(folder / "dev.conllu"),) if documents else ()
    if documents:
        (folder / "dev.conllu").write_text(demo_conllu(1, documents), encoding="utf-8")
    of_corpora = {"text": (str(folder / "text.txt"),), "treebank": annotated, "coref": annotated}
    shaping = {"loss": "mlm", "max_length": 64, "batch_size": 4, "shard_minutes": 0}
    shaping |= {"effect_inputs": 16, "joint_inputs": 4}  # a pass for each head, and for each set of heads
    return RunOptions(model=str(save_tiny_masked_lm(folder / "tiny")), **{**of_corpora, **shaping, **options})

"""Small runs: a run of quick stages that is measured once and reused, and options of runs that are cut into shards."""

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
    """Write a run, and return the result of each stage."""
    kept, measure = {}, writing.measure_stage
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "measure_stage", lambda stage, *rest: kept.setdefault(stage.name, measure(stage, *rest)))
        write_run(run, out)
    return kept


def remember(found, patch):
    """Replace the measurement of stages by a lookup of their results; return the list of the requested names."""
    names = []

    def again(stage, *_):
        names.append(stage.name)
        return found[stage.name]

    patch.setattr(writing, "measure_stage", again)
    return names


def sharded_options(folder, *, repeats, documents=0, **options):
    """Write a text, and if `documents` is not 0 a treebank with mentions; return options of a run over them.

    Args:
        folder: folder of the files and of a tiny random model.
        repeats: number of repetitions of the text's two documents.
        documents: number of documents of the treebank, which is also read for mentions.
        **options: further options of the run.
    """
    text = "The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left, and it was seen no more.\n\n"
    (folder / "text.txt").write_text(text * repeats)
    annotated = (str(folder / "dev.conllu"),) if documents else ()
    if documents:
        (folder / "dev.conllu").write_text(demo_conllu(1, documents), encoding="utf-8")
    of_corpora = {"text": (str(folder / "text.txt"),), "treebank": annotated, "coref": annotated}
    shaping = {"loss": "mlm", "max_length": 64, "batch_size": 4, "shard_minutes": 0}
    shaping |= {
        "effect_inputs": 16,
        "joint_inputs": 4,
    }  # these analyses need a pass for each head, and for each set of heads
    return RunOptions(model=str(save_tiny_masked_lm(folder / "tiny")), **{**of_corpora, **shaping, **options})

"""A run of three quick stages, and what each of them finds, kept so that measuring again takes no time."""

import pytest

from headscope.declarations.run_options import RunOptions
from headscope.prepare.prepared_run import prepare
from headscope.running import writing
from headscope.running.writing import write_run
from support.model_folders import save_tiny_bert

STAGES = ["stats", "distances", "map"]
STORY = "The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n\n" * 6


def small_run(base):
    """Prepare a run over a few sentences with a tiny random model, both made in `base`."""
    (base / "text.txt").write_text(STORY)
    model = save_tiny_bert(base / "tiny")
    return prepare(
        RunOptions(
            model=str(model),
            text=(str(base / "text.txt"),),
            packing="single",
            max_length=32,
            stages=tuple(STAGES),
        )
    )


def measured_once(run, out):
    """Write a run, and return what each stage found."""
    kept, measure = {}, writing.measure_stage
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            writing, "measure_stage", lambda stage, *rest: kept.setdefault(stage.name, measure(stage, *rest))
        )
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

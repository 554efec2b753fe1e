"""What the sources that run a model share: a model whose layers vary is stopped by either, and comes back as it was."""

from dataclasses import replace

import pytest

from headscope.analyses.importance.compute import ImportanceAccumulator
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.errors import ModelError
from headscope.models.losses import ask_of
from support.inputs import made_up_segments, vocabulary
from support.task_models import tiny_task_model, tokenizer_of


@pytest.mark.parametrize("gradients", [False, True], ids=["forward", "backward"])
def test_more_layers_than_were_examined_are_refused(gradients):
    model = tiny_task_model("bert")
    anatomy = examine(model, vocabulary())
    fewer = replace(anatomy, calls=anatomy.calls[:-1])
    batches = [made_up_segments(2)]
    before = model.config._attn_implementation
    if gradients:
        ask = ask_of("mlm", tokenizer_of("bert"), anatomy)
        source = GradientSource(model, fewer, vocabulary(), batches, ask)
        accumulator = ImportanceAccumulator(anatomy.layout)
    else:
        source = ModelSource(model, fewer, vocabulary(), batches)
        accumulator = StatsAccumulator(anatomy.layout)
    with pytest.raises(
        ModelError, match=r"^the model computed more layers than it did at the start; its layers must not vary$"
    ):
        scan(source, [accumulator])
    assert model.config._attn_implementation == before
    assert len(accumulator.sums) == 0

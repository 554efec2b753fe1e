"""The tap leaves a model as it found it, and scans do not meet."""

import threading

import pytest
import torch

from headscope.analyses.stats.compute import stats_table
from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.model.tap import Tap
from headscope.attention.scan import scan
from headscope.errors import ModelError
from support.inputs import made_up_segments, vocabulary
from support.tiny_models import tiny_model


def state_of(model):
    return (
        [m.training for m in model.modules()],
        [p.requires_grad for p in model.parameters()],
        [getattr(m.config, "_attn_implementation", None) for m in model.modules() if hasattr(m, "config")],
        torch.is_grad_enabled(),
        [len(m._forward_pre_hooks) for m in model.modules()],
    )


def prepared(family):
    """A model in a state of the user's own: partly in training, partly frozen, with sdpa."""
    model = tiny_model(family)
    if type(model)._can_set_attn_implementation():
        model.set_attn_implementation("sdpa")
    for number, module in enumerate(model.modules()):
        module.training = number % 2 == 0
    next(model.parameters()).requires_grad_(False)
    return model


@pytest.mark.parametrize("family", ["bert", "t5", "gpt2", "deberta-v2", "falcon"])
def test_a_users_model_gets_everything_back(family):
    model = prepared(family)
    before = state_of(model)
    anatomy = examine(model, vocabulary())
    assert state_of(model) == before
    scan(ModelSource(model, anatomy, vocabulary(), [made_up_segments(3)]), [StatsAccumulator(anatomy.layout)])
    assert state_of(model) == before


@pytest.mark.parametrize("family", ["bert", "t5", "deberta-v2"])
def test_also_after_an_error(family):
    model = prepared(family)
    anatomy = examine(model, vocabulary())
    before = state_of(model)

    class Breaks(StatsAccumulator):
        def update(self, tile):
            raise RuntimeError("on purpose")

    source = ModelSource(model, anatomy, vocabulary(), [made_up_segments(3)])
    with pytest.raises(RuntimeError, match="on purpose"):
        scan(source, [Breaks(anatomy.layout)])
    assert state_of(model) == before
    accumulator = StatsAccumulator(anatomy.layout)
    scan(source, [accumulator])
    assert len(accumulator.sums) == 3


def test_scans_of_two_models_at_once_do_not_meet():
    segments = made_up_segments(40, seed=3)
    models = [tiny_model("bert"), tiny_model("electra")]
    anatomies = [examine(model, vocabulary()) for model in models]

    def run(number, into):
        accumulator = StatsAccumulator(anatomies[number].layout)
        groups = [segments[i : i + 2] for i in range(0, len(segments), 2)]
        scan(ModelSource(models[number], anatomies[number], vocabulary(), groups), [accumulator])
        into[number] = stats_table(accumulator.compute())

    alone, together = {}, {}
    for number in range(2):
        run(number, alone)
    threads = [threading.Thread(target=run, args=(number, together)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(2):
        assert (together[number].value - alone[number].value).abs().max() < 1e-6
    assert not alone[0].value.equals(alone[1].value)


def test_the_same_model_twice_at_once_is_refused():
    model = tiny_model("bert")
    with Tap(model, lambda call: call.eager()[0]), pytest.raises(ModelError) as refused, Tap(model, lambda call: None):
        pass
    assert str(refused.value) == (
        "this model is being scanned already; wait for that scan to end, or load the model a second time"
    )


def test_without_a_listener_the_registered_function_is_eager():
    """Somebody set attn_implementation to ours outside a scan: they get the model's own eager attention."""
    model = tiny_model("bert")
    ids = torch.randint(5, 90, (2, 7))
    with torch.no_grad():
        model.set_attn_implementation("eager")
        expected = model(ids).last_hidden_state
        with Tap(model, lambda call: call.eager()[0]):
            pass
        model.set_attn_implementation("headscope")
        torch.testing.assert_close(model(ids).last_hidden_state, expected)


def test_weights_that_are_no_map_of_queries_by_keys_are_refused():
    from transformers import LongformerConfig, LongformerModel

    config = LongformerConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        vocab_size=99,
        attention_window=[4],
        max_position_embeddings=80,
    )
    with pytest.raises(
        ModelError, match=r"^LongformerModel gives no attention weights: .*\(its weights are not query by key\)$"
    ):
        examine(LongformerModel(config).eval(), vocabulary())

"""Models whose numbers padding changes (convolutions read into it): only inputs of one length share a batch."""

from collections import Counter

import numpy as np
import pytest
import torch
import transformers as tf

from headscope.attention.model.examination import examine
from headscope.attention.model.gradients import GradientSource
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.attention.word_rows import word_states
from headscope.encoding.batching import of_one_length
from headscope.encoding.loss_questions import Question
from headscope.models.forward_inputs import model_inputs
from support.inputs import PAD, eager_maps, made_up_segments, vocabulary
from support.tiny_models import TEXT_SIZES, VOCABULARY, shared_tiny_model

_SIZES = {
    **TEXT_SIZES,
    "num_hidden_layers": 2,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 80,
    "initializer_range": 0.2,
    "pad_token_id": PAD,
}
CONFIGS = {
    "convbert": lambda: tf.ConvBertConfig(**_SIZES, embedding_size=32, head_ratio=1),
    "mobilebert": lambda: tf.MobileBertConfig(
        **_SIZES, embedding_size=16, true_hidden_size=16, intra_bottleneck_size=16
    ),
}
SEGMENTS = made_up_segments(9, seed=21, longest=12)


def model_of(family, auto=tf.AutoModel):
    torch.manual_seed(0)
    model = auto.from_config(CONFIGS[family]()).float().eval()
    with torch.no_grad():  # as in trained checkpoints, padding has an embedding of its own
        model.get_input_embeddings().weight[PAD].normal_(0.0, 0.3)
    return model


class Keep:
    span, needs = "rows", frozenset({"weights", "gradient"})

    def __init__(self, *fields):
        self.fields, self.found, self.batches = fields, {}, []

    def begin(self, batch):
        self.batches.append([len(segment) for segment in batch.segments])

    def update(self, tile):
        for item, document in enumerate(tile.queries.documents):
            valid = tile.queries.valid[item]
            for name in self.fields:
                self.found[document, tile.layer, name] = getattr(tile, name)[item][:, valid][:, :, valid]

    def end(self, batch):
        pass


@pytest.mark.parametrize("family", CONFIGS)
def test_padding_would_change_these_so_equal_lengths_alone_share_a_batch(family):
    model = model_of(family)
    anatomy = examine(model, vocabulary())
    assert anatomy.together == "equal"
    keep = Keep("weights")
    ModelSource(model, anatomy, vocabulary(), [SEGMENTS[:5], SEGMENTS[5:]]).run(keep, {"weights", "statistics"})
    apart = 0.0
    _, padded, _ = model_inputs(SEGMENTS, anatomy, vocabulary())
    together = eager_maps(model, **padded)["self"]
    for item, segment in enumerate(SEGMENTS):
        _, inputs, _ = model_inputs([segment], anatomy, vocabulary())
        for layer, theirs in enumerate(eager_maps(model, **inputs)["self"]):
            torch.testing.assert_close(keep.found[segment.document, layer, "weights"], theirs[0], atol=1e-5, rtol=0)
            number = len(segment)
            apart = max(apart, float((together[layer][item, :, :number, :number] - theirs[0]).abs().max()))
    assert apart > 1e-3  # the model is one that the defect would show in
    assert all(len(set(lengths)) == 1 for lengths in keep.batches)
    assert Counter(length for lengths in keep.batches for length in lengths) == Counter(map(len, SEGMENTS))


def test_hidden_states_are_those_of_each_input_alone():
    model = model_of("convbert")
    anatomy = examine(model, vocabulary())
    for state in word_states(model, anatomy, vocabulary(), [SEGMENTS]):
        (alone,) = word_states(model, anatomy, vocabulary(), [[state.segment]])
        np.testing.assert_allclose(state.vectors, alone.vectors, atol=1e-5)


def test_gradients_are_those_of_each_input_alone():
    model = model_of("mobilebert", tf.AutoModelForMaskedLM)
    anatomy = examine(model, vocabulary())
    assert anatomy.together == "equal"
    found = []
    for batches in ([SEGMENTS], [[segment] for segment in SEGMENTS]):

        def ask(segment):
            return Question(segment=segment, targets=segment.ids)

        keep = Keep("weights", "gradient")
        scan(GradientSource(model, anatomy, vocabulary(), batches, ask), [keep])
        found.append(keep.found)
    together, alone = found
    assert together.keys() == alone.keys()
    for key, own in alone.items():
        torch.testing.assert_close(together[key], own, atol=1e-5 * max(1.0, float(own.abs().max())), rtol=0)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "bart", "deberta-v2", "bloom"])
def test_others_are_padded(family):
    assert examine(shared_tiny_model(family), vocabulary()).together == "padded"


def test_a_model_that_chooses_its_keys_is_not_padded():
    """What its indexer gives is often tied at 0, and how many keys there are decides which of the tied are chosen."""
    config = tf.DeepseekV32Config(
        **{**_SIZES, "num_hidden_layers": 1}, num_key_value_heads=4, q_lora_rank=16, kv_lora_rank=16, v_head_dim=8,
        qk_rope_head_dim=8, qk_nope_head_dim=8, index_topk=64, index_n_heads=4, index_head_dim=16,
        first_k_dense_replace=1,
    )  # fmt: skip
    assert examine(tf.DeepseekV32Model(config).eval(), vocabulary()).together == "equal"


def test_a_batch_is_cut_in_order():
    items = ["ab", "c", "de", "f", ""]
    assert list(of_one_length(items, together="padded")) == [items]
    assert list(of_one_length(items, together="equal")) == [["ab", "de"], ["c", "f"], [""]]
    assert list(of_one_length(items, together="alone")) == [[item] for item in items]
    assert list(of_one_length(items, together="equal", lengths=lambda item: item[:1])) == [[item] for item in items]

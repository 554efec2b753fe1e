"""Hidden states of words against transformers' own, sentence by sentence, the pieces averaged by a loop."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.attention.model.examination import examine
from headscope.attention.word_rows import word_states, words_of
from headscope.encoding.batching import length_buckets
from headscope.errors import ModelError
from support.inputs import made_up_segments, vocabulary
from support.tiny_models import shared_tiny_model, tiny_model


def alone(model, segment):
    """The states of one segment without padding, `[layer, token, width]`, as transformers gives them."""
    inputs = {"input_ids": torch.from_numpy(segment.ids)[None]}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = torch.from_numpy(segment.token_types)[None]
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    with torch.no_grad():
        out = model(**inputs, output_hidden_states=True)
    states = out.encoder_hidden_states if model.config.is_encoder_decoder else out.hidden_states
    return torch.stack(states)[:, 0].numpy()


@pytest.mark.parametrize("family", ["bert", "distilbert", "albert", "gpt2", "llama", "t5", "bart", "deberta-v2"])
def test_words_have_the_mean_of_their_pieces_in_every_layer(family):
    model = shared_tiny_model(family)
    known = vocabulary()
    segments = made_up_segments(7, seed=2)
    found = list(word_states(model, examine(model, known), known, length_buckets(segments, batch_size=3)))
    assert sorted(state.segment.document for state in found) == sorted(s.document for s in segments)
    for state in found:
        states, segment = alone(model, state.segment), state.segment
        assert state.vectors.shape == (len(states), words_of(segment), states.shape[2])
        assert state.vectors.dtype == np.float32
        for word in range(words_of(segment)):
            pieces = [token for token, own in enumerate(segment.word_ids) if own == word]
            assert state.known[word] == bool(pieces)
            expected = states[:, pieces].mean(1) if pieces else np.zeros_like(states[:, 0])
            np.testing.assert_allclose(state.vectors[:, word], expected, atol=2e-5)


def test_a_word_without_pieces_has_zeros_and_is_not_known():
    model, known = shared_tiny_model("bert"), vocabulary()
    (segment,) = made_up_segments(1, seed=5)
    words = words_of(segment)
    # A word after the last piece, and one between two others.
    shifted = np.where(segment.word_ids > 0, segment.word_ids + 1, segment.word_ids)
    longer = replace(segment, word_ids=shifted, words=("x",) * (words + 2))
    (before,) = word_states(model, examine(model, known), known, [[segment]])
    (after,) = word_states(model, examine(model, known), known, [[longer]])
    assert before.known[1:].all()
    np.testing.assert_array_equal(after.known, [before.known[0], False, *before.known[1:], False])
    assert not after.vectors[:, [1, words + 1]].any()
    np.testing.assert_array_equal(np.delete(after.vectors, [1, words + 1], axis=1), before.vectors)


def test_a_model_is_left_as_it_was():
    model, known = tiny_model("bert"), vocabulary()
    model.train()
    before = model.config._attn_implementation
    batches = [[segment] for segment in made_up_segments(3)]
    one, two = ([next(iter(word_states(model, examine(model, known), known, batches)))] for _ in range(2))
    assert model.training
    assert model.config._attn_implementation == before
    # Nothing was dropped out.
    np.testing.assert_array_equal(one[0].vectors, two[0].vectors)


def test_states_that_overflow_are_refused():
    model, known = tiny_model("bert"), vocabulary()
    anatomy = examine(model, known)
    with torch.no_grad():
        model.encoder.layer[1].output.dense.weight.fill_(float("nan"))
    segment = replace(made_up_segments(1)[0], index=4)
    with pytest.raises(ModelError) as refused:
        list(word_states(model, anatomy, known, [[segment]]))
    assert str(refused.value) == (
        "layer 2 gives hidden states that are NaN or infinite, in segment 5 of document doc0; the weights or the "
        "input overflow: try --dtype float32, and check the checkpoint"
    )


def test_a_model_without_hidden_states_is_refused():
    model, known = tiny_model("bert"), vocabulary()
    anatomy = replace(examine(model, known), encoder_decoder=True, decoder_start=0)

    class Silent(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.config = model, model.config

        def forward(self, input_ids, **_):
            return {}

    with pytest.raises(ModelError) as refused:
        list(word_states(Silent(), anatomy, known, [made_up_segments(2)]))
    assert str(refused.value) == (
        "Silent gives no hidden states: expected a transformers model with output_hidden_states; choose another for "
        "the structural probe"
    )

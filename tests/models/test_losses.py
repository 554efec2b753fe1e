"""Losses: transformers' own values, the right one for each kind of model, and logits only where they are asked for."""

import numpy as np
import pytest
import torch

from headscope.attention.model.examination import examine
from headscope.encoding.denoising import Denoising, MaskedTokens
from headscope.encoding.loss_questions import NO_TARGET, NextToken
from headscope.errors import OptionError
from headscope.models.forward_inputs import model_inputs
from headscope.models.losses import ask_of, asked_logits, choose_loss, loss_of, segment_losses
from support.inputs import made_up_segments, vocabulary
from support.task_models import loss_of_family, tiny_task_model, tokenizer_of


def test_a_hand_worked_loss():
    """Two segments: targets with probabilities 1/2 and 1/4, and one of 1/8."""
    half, quarter, eighth = ([p, 1 - p, 0.0] for p in (0.5, 0.25, 0.125))
    logits = torch.tensor([half, quarter, eighth], dtype=torch.float64).log()
    targets = torch.tensor([[0, NO_TARGET, 0], [NO_TARGET, 0, NO_TARGET], [NO_TARGET] * 3])
    expected = [(np.log(2) + np.log(4)) / 2, np.log(8), 0.0]
    np.testing.assert_allclose(segment_losses(logits, targets).numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "bart"])
def test_the_loss_of_a_segment_is_transformers_own(family):
    model, vocab = tiny_task_model(family), vocabulary()
    anatomy = examine(model, vocab)
    ask = ask_of(loss_of(anatomy), tokenizer_of(family), anatomy)
    for segment in made_up_segments(4, seed=5, longest=15):
        question = ask(segment)
        decoders = None if question.decoder is None else [question.decoder]
        _, inputs, _ = model_inputs([question.segment], anatomy, vocab, decoders=decoders)
        targets = torch.from_numpy(question.targets)[None]
        # Causal models shift the labels themselves.
        labels = inputs["input_ids"] if anatomy.layout[0].kind == "decoder" else targets
        with torch.no_grad():
            expected = model(**inputs, labels=labels).loss
            logits = model(**inputs).logits
        own = segment_losses(logits[targets != NO_TARGET], targets)
        np.testing.assert_allclose(float(own[0]), float(expected), rtol=1e-6)


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "modernbert", "gpt2", "gemma2", "t5", "bart"])
def test_logits_are_computed_only_where_they_are_asked_for(family):
    model = tiny_task_model(family)
    ids = torch.randint(5, 90, (2, 7), generator=torch.Generator().manual_seed(0))
    inputs = {"input_ids": ids, **({"decoder_input_ids": ids} if family in ("t5", "bart") else {})}
    asked = torch.zeros(2, 7, dtype=torch.bool)
    asked[0, [1, 4]] = asked[1, 6] = True
    with torch.no_grad():
        whole = model(**inputs).logits
        with asked_logits(model, asked):
            some = model(**inputs).logits
        again = model(**inputs).logits
    assert some.shape == (3, whole.shape[-1])
    torch.testing.assert_close(some, whole[asked], rtol=1e-9, atol=1e-9)
    assert torch.equal(again, whole)


def test_another_shape_is_left_as_it_is():
    model = tiny_task_model("bert")
    ids = torch.randint(5, 90, (2, 7))
    with torch.no_grad(), asked_logits(model, torch.ones(2, 5, dtype=torch.bool)):
        assert model(input_ids=ids).logits.shape[:2] == (2, 7)


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2", "llama", "t5", "bart"])
def test_each_kind_has_its_loss(family):
    anatomy = examine(tiny_task_model(family), vocabulary())
    own = loss_of_family(family)
    assert loss_of(anatomy) == own
    assert choose_loss("none", anatomy, name="it") == choose_loss(own, anatomy, name="it") == own
    expected = {"mlm": MaskedTokens, "clm": NextToken, "denoise": Denoising}[own]
    assert type(ask_of(own, tokenizer_of(family), anatomy, seed=3)) is expected


@pytest.mark.parametrize(
    ("family", "asked", "text"),
    [
        ("gpt2", "mlm", "loss mlm is for encoders, and tiny is a decoder; choose loss clm"),
        ("bert", "clm", "loss clm is for decoders, and tiny is an encoder; choose loss mlm"),
        ("bert", "denoise", "loss denoise is for encoder-decoders, and tiny is an encoder; choose loss mlm"),
        ("t5", "clm", "loss clm is for decoders, and tiny is an encoder-decoder; choose loss denoise"),
    ],
)
def test_a_loss_for_another_kind_is_refused(family, asked, text):
    with pytest.raises(OptionError) as refused:
        choose_loss(asked, examine(tiny_task_model(family), vocabulary()), name="tiny")
    assert str(refused.value) == text

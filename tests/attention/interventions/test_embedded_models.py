"""Every head of the embedded models, against plain transformers with a hook on its output projection."""

import numpy as np
import pytest
import torch

from headscope.attention.head_id import HeadId
from headscope.attention.interventions.effect_source import EffectSource
from headscope.attention.interventions.replacement import Zero
from headscope.attention.model.examination import examine
from headscope.attention.scan import scan
from headscope.encoding.encoder import Encoder
from headscope.models.losses import ask_of
from headscope.models.task_heads import load_task_model
from support.by_hook import effect_of, hooked, logs_of
from support.effects import KeepEffects

TEXTS = (
    ["The old bridge was closed, and nobody crossed it.", "It opened again on Tuesday."],
    ["She gave him the book that he had lost in Paris.", "He thanked her."],
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "loss", "package"), [(None, "mlm", "headscope_minilm"), ("headscope-decoder", "clm", "headscope_decoder")]
)
def test_all_heads(name, loss, package):
    pytest.importorskip(package, reason="the embedded model's package is not installed")
    loaded = load_task_model(name, loss=loss, device="cpu")
    encoder = Encoder(loaded.tokenizer)
    anatomy = examine(loaded.model, encoder.vocabulary)
    segments = [
        encoder.segment(*encoder.pieces(list(text)), document=f"d{number}", index=0)
        for number, text in enumerate(TEXTS)
    ]
    ask, keep = ask_of(loss, loaded.tokenizer, anatomy), KeepEffects()
    source = EffectSource(loaded.model, anatomy, encoder.vocabulary, [segments], ask, fits=[lambda _: Zero()])
    scan(source, [keep])
    (part,) = anatomy.layout
    assert source.passes == 1 + part.heads * (part.layers + 1) / 2
    for segment in segments:
        question = ask(segment)
        logs = logs_of(loaded.model, anatomy, question)
        for layer, head in np.ndindex(part.layers, part.heads):
            with hooked(loaded.model, anatomy, {HeadId.at(part.kind, layer, head): torch.zeros_like}):
                changed = logs_of(loaded.model, anatomy, question)
            expected = effect_of(logs, changed, question)
            *of_loss, of_logit = keep.heads[segment.document, 0, part.kind, layer][head, 0].tolist()
            assert of_loss == pytest.approx(expected[:2], abs=1e-5 * keep.losses[segment.document, 0])
            # A logit is of tens, and rounded to a millionth of that in single precision, however small the loss is.
            assert of_logit == pytest.approx(expected[2], abs=2e-5)

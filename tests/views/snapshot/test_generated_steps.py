"""Attention as `generate` returns it, steps of layers: joined, and compared with one pass over the whole text."""

import numpy as np
import pytest
import torch
import transformers as tf

import headscope as hs
from headscope import bertviz
from headscope.errors import AttentionError, InputError
from headscope.views.given_arrays import raw_view
from support.inputs import eager_maps
from support.tiny_models import CONFIGS
from support.translators import SOURCE, translator
from support.views import rows

NEW = 4
PROMPT = [5, 6, 7, 8, 9]
ASKED = {"max_new_tokens": NEW, "min_new_tokens": NEW, "output_attentions": True, "return_dict_in_generate": True}


def writer(family, **more):
    torch.manual_seed(0)
    config = CONFIGS[family]()
    config.update({"pad_token_id": 1, **more})
    model = tf.AutoModelForCausalLM.from_config(config, attn_implementation="eager").float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.mul_(5)
    return model


def written(model, **how):
    ids = torch.tensor([PROMPT])
    out = model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, **ASKED, **how)
    return out.sequences[0].tolist(), out.attentions


HOW = {
    "a cache that grows": ("gpt2", {}, {}),
    "grouped heads": ("llama", {}, {}),
    "no cache": ("gpt2", {}, {"use_cache": False}),
    "a cache of fixed size": ("llama", {}, {"cache_implementation": "static"}),
    "a window": ("mistral", {"sliding_window": 3}, {}),
}


@pytest.mark.parametrize("case", HOW)
def test_steps_are_joined(case):
    """The oracle: transformers' own eager weights of the whole text in one pass, which a causal model gives too."""
    family, config, how = HOW[case]
    model = writer(family, **config)
    ids, steps = written(model, **how)
    assert len(steps) == NEW
    (read,) = eager_maps(model, input_ids=torch.tensor([ids[:-1]])).values()
    expected = torch.cat(read).numpy()
    for tokens in ([f"t{i}" for i in ids], [f"t{i}" for i in ids[:-1]]):
        (kind,) = raw_view(attention=steps, tokens=tokens).kinds
        assert kind.kind == "decoder"
        np.testing.assert_allclose(kind.weights, expected, atol=1e-5)
        assert kind.queries.tokens == tuple(f"t{i}" for i in ids[:-1])  # the last one was not read
        assert kind.queries.generated == len(PROMPT)
        later = np.triu(np.ones((len(ids) - 1, len(ids) - 1), dtype=bool), 1)
        assert not kind.weights[:, :, later].any()


def test_views_of_all_makes_take_them(tmp_path):
    ids, steps = written(writer("gpt2"))
    tokens = [f"t{i}" for i in ids]
    hs.head_view(attention=steps, tokens=tokens).save(tmp_path / "page.html")
    assert "t9" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert bertviz.head_view(steps, tokens, html_action="return").data


def test_one_step_is_the_prompt():
    ids, steps = written(writer("gpt2"))
    (kind,) = raw_view(attention=steps[:1], tokens=[f"t{i}" for i in ids[: len(PROMPT)]]).kinds
    np.testing.assert_array_equal(kind.weights, torch.cat(steps[0]).numpy())


def test_an_encoder_decoder_has_three_kinds(tmp_path):
    model, tokenizer = translator("nllb", tmp_path)
    model.set_attn_implementation("eager")
    given = tokenizer(SOURCE, return_tensors="pt")
    out = model.generate(**given, do_sample=False, **ASKED)
    ids = out.sequences[0].tolist()
    view = raw_view(
        encoder_attention=out.encoder_attentions,
        decoder_attention=out.decoder_attentions,
        cross_attention=out.cross_attentions,
        encoder_tokens=[f"s{i}" for i in given["input_ids"][0].tolist()],
        decoder_tokens=[f"t{i}" for i in ids],
    )
    expected = eager_maps(model, **given, decoder_input_ids=torch.tensor([ids[:-1]]))
    for kind in view.kinds:
        np.testing.assert_allclose(kind.weights, torch.cat(expected[kind.kind]).numpy(), atol=1e-5)
    assert view.kinds[1].queries.generated == 1
    assert view.kinds[2].keys.generated is None


def said(error, steps, **given):
    with pytest.raises(error) as refused:
        raw_view(attention=steps, **({"tokens": ["a"] * 6} | given))
    return str(refused.value)


def test_what_cannot_be_joined_is_refused_in_words():
    rng = np.random.default_rng(0)

    def steps(*shapes, layers=2):
        return tuple(tuple(rows(rng, *shape) for _ in range(layers)) for shape in shapes)

    fine = (1, 2, 5, 5), (1, 2, 1, 6)
    assert raw_view(attention=steps(*fine), tokens=["a"] * 6).kinds[0].weights.shape == (2, 2, 6, 6)
    for texts in (2, 3):
        several = steps((texts, 2, 5, 5), (texts, 2, 1, 6))
        assert said(AttentionError, several) == (
            f"decoder attention is what generate returns for {texts} texts (inputs, beams or returned sequences); "
            "expected one: call generate with one input, num_beams=1 and num_return_sequences=1"
        )
    assert said(AttentionError, steps((1, 2, 5, 5), (1, 2, 2, 7))) == (
        "step 2 of decoder attention has weight on keys beyond the 6 tokens that were read; expected what generate "
        "returns as attentions"
    )
    assert said(AttentionError, steps((1, 2, 5, 5), (1, 2, 2, 6))) == (
        "step 2 of decoder attention has 2 rows; expected one, that of the token that was read last: call generate "
        "without an assistant model"
    )
    by_layer = tuple(zip(*steps(*fine), strict=True))
    assert said(AttentionError, by_layer) == (
        "step 1 of decoder attention has 2 layers of the shapes (1, 2, 1, 6), (1, 2, 5, 5); expected as many as step 1 "
        "(2), with the same heads and rows: what generate returns as attentions"
    )
    uneven = (*steps((1, 2, 5, 5)), *steps((1, 2, 1, 6), layers=1))
    assert said(AttentionError, uneven).startswith(
        "step 2 of decoder attention has 1 layers of the shapes (1, 2, 1, 6)"
    )
    for lost in (((), ()), ((None, None), (None, None)), (*steps((1, 2, 5, 5)), (None, None))):
        assert said(AttentionError, lost).startswith("there are no weights in decoder attention; give")
    assert said(AttentionError, steps(*fine), tokens=["a"] * 8) == (
        "encoder attention is 6 queries by 6 keys, and there are 8 and 8 tokens; give the tokens that the model read, "
        "special tokens included"
    )
    assert said(InputError, steps(*fine), tokens=None).startswith("attention needs tokens")

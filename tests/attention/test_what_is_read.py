"""Of a model whose attention is read in part, or not at all: what is said, in words and not in tracebacks."""

import numpy as np
import pytest
import torch
import transformers as tf

from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.model.trial_batch import TrialBatch
from headscope.errors import ModelError
from headscope.models.in_memory import model_in_memory
from support.inputs import PAD, eager_maps, made_up_segments, vocabulary
from support.kept_tiles import KeptTiles
from support.tiny_models import VOCABULARY, shared_tiny_model, tiny_model
from support.tiny_tokenizers import tiny_tokenizer

_SIZES = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 80,
    "pad_token_id": PAD,
}
_PICTURE = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 48}


def examined(model):
    return examine(model.eval(), vocabulary(has_cls=False))


def test_longt5_says_that_its_encoder_is_not_read():
    config = tf.LongT5Config(
        d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, vocab_size=VOCABULARY, decoder_start_token_id=0,
        pad_token_id=PAD, local_radius=4,
    )  # fmt: skip
    anatomy = examined(tf.LongT5Model(config))
    assert [part.kind for part in anatomy.layout] == ["decoder", "cross"]
    assert anatomy.notes == (
        "the model's encoder attention is not read: it gives none, or weights of windows or blocks in place of each "
        "query's weights over all keys",
    )


def test_a_hybrid_says_which_of_the_models_layers_have_attention():
    config = tf.JambaConfig(
        **_SIZES, num_hidden_layers=6, num_key_value_heads=2, attn_layer_period=3, attn_layer_offset=1,
        num_experts=1, num_experts_per_tok=1, mamba_d_state=4, use_mamba_kernels=False,
    )  # fmt: skip
    anatomy = examined(tf.JambaModel(config))
    assert [(part.kind, part.layers) for part in anatomy.layout] == [("decoder", 2)]
    assert anatomy.notes == ("decoder layers are counted among those with attention: 1, 2 are the model's 2, 5",)
    assert anatomy.layout[0].model_layers == (2, 5)
    assert anatomy.layout[0].record() == {"kind": "decoder", "layers": 2, "heads": 4, "own": [2, 5]}


def test_a_layer_that_gives_no_map_is_left_out():
    """MiniMax's lightning layers give sums of keys and values, as wide as a head, in the place of weights."""
    config = tf.MiniMaxConfig(
        **_SIZES, num_hidden_layers=3, num_key_value_heads=2, num_local_experts=2, head_dim=8, block_size=16,
        layer_types=["full_attention", "linear_attention", "full_attention"],
    )  # fmt: skip
    torch.manual_seed(0)
    model = tf.MiniMaxModel(config).eval()
    for path in (None, "fallback"):
        anatomy = examine(model, vocabulary(has_cls=False), path=path)
        assert [(part.kind, part.layers) for part in anatomy.layout] == [("decoder", 2)]
        assert anatomy.notes == (
            "1 of the model's layers give no weights of each query over all keys",
            "decoder layers are counted among those with attention: 1, 2 are the model's 1, 3",
        )
        (segment,) = made_up_segments(1)
        keep = KeptTiles()
        ModelSource(model, anatomy, vocabulary(has_cls=False), [[segment]]).run(keep, {"weights", "statistics"})
        ids = torch.from_numpy(segment.ids)[None]
        theirs = eager_maps(model, input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)["self"]
        for tile, expected in zip(keep.tiles, (theirs[0], theirs[2]), strict=True):
            torch.testing.assert_close(tile.weights, expected, atol=2e-5, rtol=0)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "bart", "bloom", "distilbert", "albert"])
def test_nothing_is_said_where_all_is_read(family):
    anatomy = examine(shared_tiny_model(family), vocabulary())
    assert anatomy.notes == ()
    assert all(part.record().keys() == {"kind", "layers", "heads"} for part in anatomy.layout)


def picture_model():
    return tf.ViTModel(tf.ViTConfig(**_PICTURE, image_size=8, patch_size=4))


def sound_model():
    return tf.ASTModel(tf.ASTConfig(**_PICTURE, max_length=32, num_mel_bins=16))


@pytest.mark.parametrize(("make", "takes"), [(picture_model, "pixel_values"), (sound_model, "input_values")])
def test_models_of_pictures_and_sound_are_refused(make, takes):
    model = make()
    for look in (examined, lambda model: model_in_memory(model, tiny_tokenizer())):
        with pytest.raises(ModelError) as refused:
            look(model)
        assert str(refused.value).startswith(f"{type(model).__name__} reads no text: it takes {takes}")
        assert "; expected a model that takes token ids (input_ids); these families work: BERT," in str(refused.value)


def test_perceiver_reads_no_token_ids():
    config = tf.PerceiverConfig(
        d_latents=16, d_model=16, num_latents=4, num_blocks=1, num_self_attends_per_block=1,
        num_self_attention_heads=2, num_cross_attention_heads=2,
    )  # fmt: skip
    with pytest.raises(ModelError, match=r"^PerceiverModel reads no text: it takes inputs, attention_mask; expected"):
        examined(tf.PerceiverModel(config))


def test_text_and_pictures_together_are_refused():
    config = tf.CLIPConfig(
        text_config={**_SIZES, "num_hidden_layers": 1},
        vision_config={**_PICTURE, "image_size": 8, "patch_size": 4},
        projection_dim=16,
    )
    with pytest.raises(ModelError) as refused:
        examined(tf.CLIPModel(config))
    assert str(refused.value).startswith(
        "CLIPModel cannot be run on token ids alone with its attention given out (AttributeError: "
    )


def test_canine_cannot_read_short_inputs():
    config = tf.CanineConfig(
        hidden_size=32, num_hidden_layers=1, num_attention_heads=4, intermediate_size=48, max_position_embeddings=64,
        local_transformer_stride=8,
    )  # fmt: skip
    with pytest.raises(ModelError, match=r"^CanineModel cannot be run on an input of two tokens \("):
        examined(tf.CanineModel(config))


def test_heads_that_differ_by_layer_are_refused():
    model, known = shared_tiny_model("bert"), vocabulary()
    anatomy = examine(model, known)
    trial = TrialBatch(model, anatomy, known, vocabulary_size=VOCABULARY)
    whole = trial.weights

    def differing(inputs):
        first, *others = whole(inputs)["encoder"]
        return {"encoder": [first[:, :2], *others]}

    trial.weights = differing
    with pytest.raises(ModelError) as refused:
        trial.eager_weights()
    assert str(refused.value).startswith(
        "BertModel has 2 and 4 heads in different layers; expected as many in every layer: choose another model;"
    )


def test_the_meta_device_is_refused():
    with torch.device("meta"):
        model = tf.BertModel(tf.BertConfig(**_SIZES, num_hidden_layers=1))
    for look in (examined, lambda model: model_in_memory(model, tiny_tokenizer())):
        with pytest.raises(ModelError) as refused:
            look(model)
        assert str(refused.value) == (
            "BertModel has no numbers: it lies on the meta device, as a model made to be filled later does; load its "
            "weights with from_pretrained"
        )


@pytest.mark.parametrize("how", ["in place", "wrapped"])
def test_a_compiled_model_is_read_uncompiled_and_left_compiled(how):
    plain, model = shared_tiny_model("bert"), tiny_model("bert")
    if how == "in place":
        model.compile(backend="eager")
    else:
        model = torch.compile(model, backend="eager")
    loaded = model_in_memory(model, tiny_tokenizer())
    before = loaded.model._compiled_call_impl
    assert (before is not None) == (how == "in place")
    found = []
    for each in (plain, loaded.model):
        anatomy = examine(each, vocabulary())
        assert anatomy.path == "fused"
        keep = KeptTiles()
        ModelSource(each, anatomy, vocabulary(), [made_up_segments(2)]).run(keep, {"weights", "statistics"})
        found.append(np.stack([tile.weights.numpy() for tile in keep.tiles]))
    np.testing.assert_array_equal(*found)
    assert loaded.model._compiled_call_impl is before

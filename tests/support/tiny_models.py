"""Tiny random models of every family, created without downloads or trained weights."""

import functools

import torch
import transformers as tf

VOCABULARY = 99
TEXT_SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
_TEXT = {**TEXT_SIZES, "vocab_size": VOCABULARY, "max_position_embeddings": 80}
_T5 = {
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 2,
    "num_decoder_layers": 3,
    "num_heads": 4,
    "vocab_size": VOCABULARY,
    "decoder_start_token_id": 0,
}
BART_SIZES = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
}
_BART = {**BART_SIZES, "vocab_size": VOCABULARY, "max_position_embeddings": 80}
_DISTIL = {
    "dim": 32,
    "n_layers": 3,
    "n_heads": 4,
    "hidden_dim": 48,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 80,
}
_LOCAL = {**_TEXT, "global_attn_every_n_layers": 2, "local_attention": 6, "pad_token_id": 1}
_GROUPED = {**_TEXT, "num_key_value_heads": 2}
_GPT2 = {"n_embd": 32, "n_layer": 3, "n_head": 4, "vocab_size": VOCABULARY, "n_positions": 80}

CONFIGS = {
    "bert": lambda: tf.BertConfig(**_TEXT),
    "distilbert": lambda: tf.DistilBertConfig(**_DISTIL),
    "roberta": lambda: tf.RobertaConfig(**_TEXT),
    "electra": lambda: tf.ElectraConfig(**_TEXT, embedding_size=16),
    "albert": lambda: tf.AlbertConfig(**_TEXT, embedding_size=16),
    "gpt2": lambda: tf.GPT2Config(**_GPT2),
    "llama": lambda: tf.LlamaConfig(**_GROUPED),
    "t5": lambda: tf.T5Config(**_T5),
    "bart": lambda: tf.BartConfig(**_BART),
    "modernbert": lambda: tf.ModernBertConfig(**_LOCAL),
    "deberta-v2": lambda: tf.DebertaV2Config(
        **_TEXT, relative_attention=True, pos_att_type=["p2c", "c2p"], type_vocab_size=0
    ),
    "mpnet": lambda: tf.MPNetConfig(**_TEXT),
    "xlm-roberta": lambda: tf.XLMRobertaConfig(**_TEXT),
    "camembert": lambda: tf.CamembertConfig(**_TEXT),
    "gpt_neox": lambda: tf.GPTNeoXConfig(**_TEXT),
    "opt": lambda: tf.OPTConfig(
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        ffn_dim=48,
        vocab_size=VOCABULARY,
        max_position_embeddings=80,
        word_embed_proj_dim=32,
    ),
    "mistral": lambda: tf.MistralConfig(**_GROUPED, sliding_window=6),
    "qwen3": lambda: tf.Qwen3Config(**_GROUPED, head_dim=8),
    "gemma2": lambda: tf.Gemma2Config(**_GROUPED, head_dim=8, sliding_window=6),
    "phi3": lambda: tf.Phi3Config(**_GROUPED, pad_token_id=1),
    "bloom": lambda: tf.BloomConfig(hidden_size=32, n_layer=3, n_head=4, vocab_size=VOCABULARY),
    "falcon": lambda: tf.FalconConfig(
        hidden_size=32, num_hidden_layers=3, num_attention_heads=4, vocab_size=VOCABULARY, alibi=False
    ),
}
# The path by which attention is read in each family.
PATHS = {
    **dict.fromkeys(CONFIGS, "fused"),
    "gemma2": "eager",
    **dict.fromkeys(("deberta-v2", "mpnet", "bloom", "falcon"), "fallback"),
}


def tiny_model(family: str, *, sharp: float = 8.0) -> torch.nn.Module:
    """Return a model of a family; query and key weights are scaled up so that attention is not uniform."""
    torch.manual_seed(sum(map(ord, family)))
    config = CONFIGS[family]()
    config.pad_token_id = 1
    model = tf.AutoModel.from_config(config).float().eval()
    if family == "t5":
        sharp = 2.0  # T5 does not scale its scores
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if any(
                part in name
                for part in ("query", "key", "q_proj", "k_proj", "q_lin", "k_lin", ".q.", ".k.", "c_attn", "Wqkv")
            ):
                parameter.mul_(sharp)
    return model


@functools.cache
def shared_tiny_model(family: str) -> torch.nn.Module:
    """Return a family's model, shared by tests that do not change it."""
    return tiny_model(family)

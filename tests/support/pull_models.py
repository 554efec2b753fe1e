"""Tiny random models for the sources of scores, in which every weight and bias of the model matters."""

import functools

import torch
import transformers as tf
from torch import nn

from headscope.attention.model.examination import examine
from support import causal_models, tiny_models
from support.inputs import PAD, vocabulary

_GROUPED, _TEXT = tiny_models._GROUPED, tiny_models._TEXT
EXTRA = {
    "cohere": lambda: tf.CohereConfig(**_GROUPED),
    "phi": lambda: tf.PhiConfig(**_TEXT),
    "glm": lambda: tf.GlmConfig(**_GROUPED, head_dim=8),
    "stablelm": lambda: tf.StableLmConfig(**_GROUPED, qk_layernorm=True),
    "granite": lambda: tf.GraniteConfig(
        **_GROUPED, residual_multiplier=0.3, embedding_multiplier=3.0, attention_multiplier=0.5
    ),
    "exaone4": lambda: tf.Exaone4Config(**_GROUPED, sliding_window=6),
    "starcoder2": lambda: tf.Starcoder2Config(**_GROUPED),
    "llama_biases": lambda: tf.LlamaConfig(**_GROUPED, attention_bias=True, mlp_bias=True),
}
CONFIGS = {**tiny_models.CONFIGS, **causal_models.CONFIGS, **EXTRA}
REFUSED = sorted(family for family, path in tiny_models.PATHS.items() if path == "fallback")
FAMILIES = sorted(set(CONFIGS) - set(REFUSED))
# Families whose layers have the same structure as another family's.
ALIKE = (
    "camembert",
    "distilbert",
    "electra",
    "mistral",
    "mixtral",
    "opt",
    "phi3",
    "roberta",
    "starcoder2",
    "xlm-roberta",
)


@functools.cache
def pull_model(family):
    """Return a model without a task head, with large weights, nonzero biases and norms that are not 1."""
    config = CONFIGS[family]()
    config.pad_token_id, config.bos_token_id, config.eos_token_id = PAD, None, None
    if hasattr(config, "query_pre_attn_scalar"):
        config.query_pre_attn_scalar = 8
    model = tf.AutoModel.from_config(config).float().eval()
    tables = {id(part.weight) for part in model.modules() if isinstance(part, nn.Embedding)}
    generator = torch.Generator().manual_seed(sum(map(ord, family)))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            drawn = torch.randn(parameter.shape, generator=generator)
            if parameter.ndim == 1:
                parameter.add_(0.3 * drawn)
            elif "conv" not in name:
                parameter.copy_(drawn if id(parameter) in tables else 1.8 * config.hidden_size**-0.5 * drawn)
    return model


@functools.cache
def pull_anatomy(family):
    """Return the anatomy of that model."""
    return examine(pull_model(family), vocabulary())

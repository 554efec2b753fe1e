"""Tiny random decoders of families with unusual parts: experts, post-attention norms, gates, attention-free layers."""

import torch
import transformers as tf

from support.inputs import PAD
from support.tiny_models import _GROUPED

_EXPERTS = {"num_experts_per_tok": 2}
CONFIGS = {
    "mixtral": lambda: tf.MixtralConfig(**_GROUPED, num_local_experts=4, **_EXPERTS),
    "olmo2": lambda: tf.Olmo2Config(**_GROUPED, eos_token_id=2),
    "gemma3": lambda: tf.Gemma3TextConfig(
        **_GROUPED,
        head_dim=8,
        sliding_window=6,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
    ),
    "qwen3_next": lambda: tf.Qwen3NextConfig(
        **{**_GROUPED, "num_hidden_layers": 4},
        **_EXPERTS,
        head_dim=8,
        num_experts=4,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        linear_num_key_heads=2,
        linear_num_value_heads=4,
        layer_types=["linear_attention", "full_attention"] * 2,
    ),
}


def tiny_causal_model(family: str, *, dtype: torch.dtype = torch.float64) -> torch.nn.Module:
    """Return a model of one of these families with its language-model head and sharp attention."""
    torch.manual_seed(sum(map(ord, family)))
    config = CONFIGS[family]()
    config.pad_token_id = PAD
    model = tf.AutoModelForCausalLM.from_config(config).float().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "q_proj" in name or "k_proj" in name:
                parameter.mul_(8.0)
            elif "proj" in name or "experts" in name:
                parameter.mul_(4.0)
    return model.to(dtype)

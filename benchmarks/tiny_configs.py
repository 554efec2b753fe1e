"""Small configurations of any architecture, derived by shrinking transformers' default configuration."""

from typing import Any

VOCABULARY = 256
_WIDTH, _HEADS, _HEAD_WIDTH, _LAYERS = 32, 4, 8, 3

# Sizes of a configuration's numbers, by the names that model families use for them.
_SIZES: tuple[tuple[int, tuple[str, ...]], ...] = (
    (_WIDTH, (
        "hidden_size", "d_model", "dim", "n_embd", "embed_dim", "emb_dim", "embedding_size", "word_embed_proj_dim",
        "input_embedding_size", "output_embedding_size", "true_hidden_size", "d_latents", "embedding_dim",
        "encoder_hidden_dim", "attention_hidden_size", "lru_width", "projection_dim", "hidden_dim_proj",
        "out_hidden_size", "pooler_hidden_size", "kv_hidden_size", "entity_emb_size",
    )),
    (_HEADS, (
        "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
        "decoder_attention_heads", "attention_heads", "num_encoder_attention_heads",
        "num_decoder_attention_heads", "swa_num_attention_heads", "mamba_n_heads", "mamba_num_heads",
        "index_n_heads", "linear_num_key_heads", "linear_num_value_heads", "linear_num_heads",
        "num_self_attention_heads", "num_cross_attention_heads",
    )),
    (_HEAD_WIDTH, (
        "head_dim", "attention_head_dim", "kv_channels", "d_kv", "d_head", "v_head_dim", "qk_rope_head_dim",
        "qk_nope_head_dim", "attention_head_size", "swa_head_dim", "swa_v_head_dim", "mamba_headdim",
        "linear_key_head_dim", "linear_value_head_dim", "linear_head_dim", "rotary_dim",
        "global_head_dim", "hidden_size_per_layer_input",
        "query_pre_attn_scalar", "d_rel", "sliding_window", "local_attention",
        "attention_window_size", "sliding_window_size", "attention_chunk_size",
    )),
    (16, (
        "index_head_dim", "mamba_d_head", "mamba_head_dim", "qk_head_dim", "q_lora_rank", "kv_lora_rank",
        "o_lora_rank", "mamba_d_state", "state_size", "ssm_state_size", "mamba_chunk_size", "chunk_size",
        "intra_bottleneck_size", "adapter_rank", "laurel_rank", "mamba_dt_rank", "time_step_rank",
        "num_buckets", "relative_attention_num_buckets", "block_size", "local_radius", "global_block_size",
        "num_landmarks", "segment_means_seq_len", "hash_code_len", "d_inner_half",
    )),
    (48, (
        "intermediate_size", "d_ff", "ffn_dim", "hidden_dim", "n_inner", "encoder_ffn_dim", "decoder_ffn_dim",
        "d_inner", "ffn_hidden_size", "moe_intermediate_size", "shared_expert_intermediate_size",
        "shared_intermediate_size", "intermediate_size_mlp", "expert_ffn_hidden_size", "feed_forward_size",
        "dense_intermediate_size", "moe_shared_expert_intermediate_size", "prompt_mid_dim", "dim_ff",
        "router_hidden_size", "mlp_hidden_size", "pooler_output_size", "moe_hidden_size", "ffn_size",
    )),
    (_LAYERS, (
        "num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers",
        "num_decoder_layers", "num_encoder_layers", "depth", "l_layers", "x_layers", "r_layers", "num_blocks",
        "num_hidden_groups_", "num_self_attends_per_block",
    )),
    (4, ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts", "num_quantizers", "prompt_length")),
    (2, (
        "num_experts_per_tok", "moe_topk", "moe_k", "top_k_experts", "num_hash", "num_codebooks", "moe_top_k",
        "index_topk_blocks",
    )),
    (1, ("n_group", "topk_group", "first_k_dense_replace", "num_expert_group", "mamba_n_groups", "n_groups",
        "zero_expert_num", "num_kv_shared_layers_")),
    (6, ("index_topk",)),
    (128, ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "n_ctx",
          "max_source_positions", "max_target_positions", "max_encoder_position_embeddings",
          "max_decoder_position_embeddings", "image_size", "max_text_positions")),
    (VOCABULARY, ("vocab_size", "src_vocab_size", "tgt_vocab_size", "vocab_size_per_layer_input",
                 "decoder_vocab_size", "entity_vocab_size", "pronunciation_vocab_size", "shape_vocab_size")),
)  # fmt: skip
_TINY = {name: size for size, names in _SIZES for name in names}
_GROUPS = ("num_key_value_heads", "num_query_groups", "swa_num_key_value_heads", "multi_query_group_num")
_GEMMA = {"head_dim": 8, "global_head_dim": 16, "num_global_key_value_heads": 1, "num_hidden_layers": 4,
          "sliding_window_pattern": 2, "layer_types": None}  # fmt: skip
_ROPE = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 1, 1]}
_LOCAL = ["sliding_attention", "full_attention"] * 2
_RANDOM = {"initializer_range": 0.25, "init_std": 0.25, "initializer_factor": 1.0}
# Settings that shrinking by name gets wrong, by family.
_OWN: dict[str, dict[str, Any]] = {
    "bamba": {"attn_layer_indices": [1], "mamba_n_heads": 4, "mamba_d_head": 16},
    "granitemoehybrid": {"layer_types": ["mamba", "attention", "mamba"], "mamba_n_heads": 4, "mamba_d_head": 16},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "num_hidden_layers": 4},
    "mobilebert": {"initializer_range": 0.1, "true_hidden_size": 16, "intra_bottleneck_size": 16, "embedding_size": 16},
    "mpnet": {"relative_attention_num_buckets": 32},
    "led": {"attention_window": [8, 8, 8]},
    "longformer": {"attention_window": [8, 8, 8]},
    "vits": {"speaking_rate": 100.0},  # random weights would generate minutes of speech
    "xmod": {"default_language": "en_XX"},
    "zamba2": {"n_mamba_heads": 4, "mamba_expand": 2, "attention_head_dim": 16,
               "attention_hidden_size": 64, "mamba_headdim": 16,
               "num_hidden_layers": 4,
               "layers_block_type": ["mamba", "hybrid"] * 2, "hybrid_layer_ids": [1, 3]},
    "big_bird": {"attention_type": "original_full"},
    "bigbird_pegasus": {"attention_type": "original_full"},
    "cohere_compass_text": {"layer_types": _LOCAL, "num_hidden_layers": 4,
                            "rope_parameters": dict.fromkeys(["sliding_attention", "full_attention"], _ROPE)},
    "dbrx": {"attn_config": {"kv_n_heads": 2, "rope_theta": 10000.0, "clip_qkv": 8.0},
             "ffn_config": {"ffn_hidden_size": 48}},
    "bailing_hybrid": {"num_experts_per_tok": 2, "n_group": 1, "topk_group": 1},
    "kimi_linear": {"num_experts_per_token": 2},
    "deepseek_v4": {"layer_types": ["sliding_attention", "compressed_sparse_attention", "sliding_attention"]},
    "deepseek_v2": {"num_experts_per_tok": 2},
    "step3p7_text": {"sliding_window": 8},
    "dots1": {"num_key_value_heads": 2, "n_shared_experts": 1, "n_routed_experts": 4, "num_experts_per_tok": 2},
    "esm": {"vocab_size": VOCABULARY, "mask_token_id": 3, "pad_token_id": 1},
    "esmc": {"num_key_value_heads": 4},
    "falcon_h1": {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16},
    "qwen4_exp_text": {"indexer_compress_ratio": 2, "indexer_budget": 6, "indexer_n_heads": 4,
                       "indexer_kv_heads": 1, "indexer_head_dim": 8},
    "funnel": {"block_sizes": [2, 2], "num_decoder_layers": 2},
    "gemma3n_text": {"num_kv_shared_layers": 0, "num_hidden_layers": 4, "layer_types": _LOCAL,
                     "activation_sparsity_pattern": [0.0] * 4},
    "gemma4_text": {**_GEMMA},
    "gemma4_unified_text": {**_GEMMA},
    "embedding_gemma2_text": {**_GEMMA},
    "neomme": {"layer_types": _LOCAL, "num_hidden_layers": 4, "default_long_sliding_window": 12, "sliding_window": 6},
    "glm5_next_text": {"index_kpool": 2, "num_key_value_heads": 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 2]], "num_layers": 4, "window_size": 6},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 2, "num_hidden_layers": 4},
    "mamba2": {"num_heads": 4, "head_dim": 16, "expand": 2},
    "nemotron": {"num_key_value_heads": 2},
    "reformer": {"axial_pos_embds": False},
    "zamba": {"attention_head_dim": 16, "attention_hidden_size": 64, "num_hidden_layers": 6,
              "layers_block_type": ["mamba", "hybrid", "mamba", "mamba", "hybrid", "mamba"]},
    "cosmos3_edge_text": {"rope_parameters": _ROPE},
    "qwen2_vl_text": {"rope_parameters": _ROPE},
    "qwen2_5_vl_text": {"rope_parameters": _ROPE},
    "paddleocr_vl_text": {"rope_parameters": _ROPE},
    "hunyuan_vl_text": {"rope_parameters": {**_ROPE, "mrope_section": [1, 1, 1, 1]}},
    "glm4v_text": {"rope_parameters": {**_ROPE, "partial_rotary_factor": 1.0}},
    "glm4v_moe_text": {"rope_parameters": {**_ROPE, "partial_rotary_factor": 1.0}},
    "glm_image_text": {"rope_parameters": {**_ROPE, "partial_rotary_factor": 1.0}},
    "glm_ocr_text": {"rope_parameters": {**_ROPE, "partial_rotary_factor": 1.0}},
    "mistral4": {"head_dim": 8, "qk_head_dim": 16, "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}},
}  # fmt: skip


def tiny_config(family: str) -> Any:
    """Return a configuration with 3 layers of 4 heads and a width of 32, where the family allows it.

    Args:
        family: its `model_type`.
    """
    from transformers import CONFIG_MAPPING

    return _shrunk(CONFIG_MAPPING[family], own=_OWN.get(family, {}))


def _shrunk(cls: Any, *, own: dict[str, Any]) -> Any:
    """Rebuild a class's default configuration with small numbers."""
    given = cls()
    named = {getattr(cls, "attribute_map", {}).get(name, name) for name in given.to_dict()}
    options: dict[str, Any] = {}
    tokens = VOCABULARY - 1
    for name in sorted(named):
        try:
            value = getattr(given, name, None)
        except RuntimeError:  # a size that differs by layer
            continue
        if name == "head_dim" and value is None:
            options[name] = _HEAD_WIDTH
        elif type(value) is int and name in _TINY:
            options[name] = min(value, _TINY[name]) if _TINY[name] < 16 else _TINY[name]
        elif type(value) is int and name in _GROUPS:
            options[name] = 2 if value > 1 else 1
        elif name.endswith(("token_id", "token_index")) and type(value) is int and value >= VOCABULARY - 64:
            options[name], tokens = tokens, tokens - 1
        elif name in _RANDOM and isinstance(value, float):
            options[name] = _RANDOM[name]
        elif (
            name in ("layer_types", "layers_block_type", "mlp_layer_types", "indexer_types")
            and isinstance(value, list)
            and value
        ):
            kinds = list(dict.fromkeys(value))
            options[name] = (kinds * _LAYERS)[: max(_LAYERS, len(kinds))]
        elif _is_config(value):
            options[name] = _shrunk(type(value), own=_OWN.get(value.model_type, {}))
    if type(getattr(given, "kv_lora_rank", None)) is int and "num_key_value_heads" in options:
        options["num_key_value_heads"] = _HEADS  # every head derives its own keys from the shared latent
    for name in ("layer_types", "layers_block_type", "mlp_layer_types", "indexer_types"):
        for count in ("num_hidden_layers", "n_layer", "num_layers"):
            if name in options and count in options:
                options[count] = len(options[name])
    return cls(**{**options, **own})


def _is_config(value: Any) -> bool:
    from transformers import PreTrainedConfig

    return isinstance(value, PreTrainedConfig)

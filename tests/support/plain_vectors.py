"""Queries, keys and outputs of transformers' own modules in float64, one segment at a time, without headscope."""

from copy import deepcopy

import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

from headscope.encoding.batching import collate

SIDES = ("query", "key", "output")


def plain_vectors(model, known, segments):
    """Return the `query`, `key` and `output` of each segment and layer, `[head, token, width]` (keys by group).

    Args:
        model: a Bert or a Llama.
        known: its vocabulary.
        segments: inputs.

    Returns:
        `[segment][layer][side]`.
    """
    exact = deepcopy(model).double().eval()
    exact.set_attn_implementation("eager")
    bert = model.config.model_type == "bert"
    layers = exact.encoder.layer if bert else exact.layers
    found = []
    for segment in segments:
        info = collate([segment], known, decoder=not known.has_cls).info
        seen, turned, hooks = [{} for _ in layers], [], []

        def keep(place, side, *, after, seen=seen):
            def take(module, given, answer=None):
                seen[place][side] = (answer if after else given[0])[0]

            return take

        for place, layer in enumerate(layers):
            own = layer.attention.self if bert else layer.self_attn
            query, key = (own.query, own.key) if bert else (own.q_proj, own.k_proj)
            out = layer.attention.output.dense if bert else own.o_proj
            hooks.append(query.register_forward_hook(keep(place, "query", after=True)))
            hooks.append(key.register_forward_hook(keep(place, "key", after=True)))
            hooks.append(out.register_forward_pre_hook(keep(place, "output", after=False)))
        if not bert:
            hooks.append(
                exact.rotary_emb.register_forward_hook(lambda _, __, answer, turned=turned: turned.append(answer))
            )
        types = {"token_type_ids": torch.as_tensor(segment.token_types)[None]} if bert else {}
        with torch.inference_mode():
            exact(input_ids=info.ids, attention_mask=info.valid.long(), **types)
        for hook in hooks:
            hook.remove()
        width = model.config.hidden_size // model.config.num_attention_heads
        for own in seen:
            for side in SIDES:
                own[side] = own[side].unflatten(-1, (-1, width)).transpose(0, 1)
            if not bert:
                query, key = apply_rotary_pos_emb(own["query"][None], own["key"][None], *turned[0])
                own["query"], own["key"] = query[0], key[0]
        found.append(seen)
    return found

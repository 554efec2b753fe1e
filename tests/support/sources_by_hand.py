"""The parts of queries and keys by source, from a model's own modules by name, without headscope.

Norms are frozen: each part is divided by the deviation of the norm's actual input. Sources are named as in
headscope: part, kind, layer and head.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import torch

TOKEN, POSITION, SEGMENT, BIAS, OUTPUT_BIAS, ENCODER = (
    (part, "", -1, -1) for part in ("token", "position", "segment", "bias", "output_bias", "encoder")
)


@dataclass
class LayerByHand:
    """The parts of a layer's queries and keys by source, `[head, token, width]`, and the other terms of its scores."""

    kind: str
    layer: int
    queries: dict
    keys: dict
    scaling: float
    bias: np.ndarray | None = None


@dataclass
class Seen:
    """The inputs and outputs of each module of a model, by its name."""

    read: dict = field(default_factory=dict)
    made: dict = field(default_factory=dict)


def first_tensor(values):
    """Return the first tensor among some arguments, without the batch axis, as float64."""
    found = next((each for each in values if isinstance(each, torch.Tensor)), None)
    return None if found is None else found.detach().double()[0]


@contextmanager
def looked_at(model):
    """Record each module's inputs and outputs inside the `with` block."""
    seen, hooks = Seen(), []
    for name, part in model.named_modules():

        def keep(_, given, named, answer, name=name):
            seen.read[name] = first_tensor((*given, *named.values()))
            seen.made[name] = first_tensor(answer if isinstance(answer, tuple) else (answer,))
            if name.endswith("rotary_emb"):
                seen.made[name] = tuple(each.double()[0] for each in answer)

        hooks.append(part.register_forward_hook(keep, with_kwargs=True))
    try:
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def plus(stream, source, value):
    """Return a stream with a value added to the part of a source."""
    return {**stream, source: stream.get(source, 0) + value}


def layer_normed(stream, read, norm):
    """Return the parts after a LayerNorm: each is centered, all are divided by the same deviation."""
    deviation = torch.sqrt(((read - read.mean(-1, keepdim=True)) ** 2).mean(-1, keepdim=True) + norm.eps)
    weight, bias = norm.weight.detach().double(), norm.bias.detach().double()
    parts = {source: (part - part.mean(-1, keepdim=True)) / deviation * weight for source, part in stream.items()}
    return plus(parts, BIAS, bias.expand_as(read))


def rms_normed(stream, read, norm):
    """Return the parts after an RMSNorm: all are divided by the same root mean square."""
    size = torch.sqrt((read**2).mean(-1, keepdim=True) + norm.variance_epsilon)
    return {source: part / size * norm.weight.detach().double() for source, part in stream.items()}


def projected(stream, weight, bias, heads, *, change=lambda part: part):
    """Return each source's part of queries or keys, `[head, token, width]`; `weight` is `[width of stream, ...]`."""
    parts = {source: part @ weight.detach().double() for source, part in stream.items()}
    if bias is not None:
        tokens = len(next(iter(parts.values())))
        parts = plus(parts, BIAS, bias.detach().double().expand(tokens, -1))
    return {
        source: change(part.reshape(len(part), heads, -1).transpose(0, 1)).numpy() for source, part in parts.items()
    }


def with_heads(stream, read, weight, bias, kind, layer, heads):
    """Return the stream with each head's output and the bias of the output projection added."""
    weight, width = weight.detach().double(), read.shape[-1] // heads
    for head in range(heads):
        rows = slice(head * width, (head + 1) * width)
        stream = plus(stream, ("head", kind, layer, head), read[:, rows] @ weight[rows])
    return stream if bias is None else plus(stream, OUTPUT_BIAS, bias.detach().double().expand(len(read), -1))


def bert_by_hand(model, seen):
    """Yield the layers of a BERT, with norms after attention and after each MLP."""
    heads = model.config.num_attention_heads
    stream = {
        TOKEN: seen.made["embeddings.word_embeddings"],
        POSITION: seen.made["embeddings.position_embeddings"],
        SEGMENT: seen.made["embeddings.token_type_embeddings"],
    }
    stream = layer_normed(stream, seen.read["embeddings.LayerNorm"], model.embeddings.LayerNorm)
    for layer, block in enumerate(model.encoder.layer):
        at, own = f"encoder.layer.{layer}", block.attention.self
        queries, keys = (projected(stream, part.weight.T, part.bias, heads) for part in (own.query, own.key))
        yield LayerByHand("encoder", layer, queries, keys, (own.query.out_features // heads) ** -0.5)
        output = block.attention.output
        read = seen.read[f"{at}.attention.output.dense"]
        stream = with_heads(stream, read, output.dense.weight.T, output.dense.bias, "encoder", layer, heads)
        stream = layer_normed(stream, seen.read[f"{at}.attention.output.LayerNorm"], output.LayerNorm)
        stream = plus(stream, ("mlp", "encoder", layer, -1), seen.made[f"{at}.output.dense"])
        stream = layer_normed(stream, seen.read[f"{at}.output.LayerNorm"], block.output.LayerNorm)


def gpt2_by_hand(model, seen):
    """Yield the layers of a GPT-2, with norms before attention and one projection for queries, keys and values."""
    heads, width = model.config.n_head, model.config.n_embd
    stream = {TOKEN: seen.made["wte"], POSITION: seen.made["wpe"].expand_as(seen.made["wte"])}
    for layer, block in enumerate(model.h):
        normed = layer_normed(stream, seen.read[f"h.{layer}.ln_1"], block.ln_1)
        weight, bias = block.attn.c_attn.weight, block.attn.c_attn.bias
        queries, keys = (
            projected(normed, weight[:, part], bias[part], heads) for part in (slice(width), slice(width, 2 * width))
        )
        yield LayerByHand("decoder", layer, queries, keys, (width // heads) ** -0.5)
        output = block.attn.c_proj
        read = seen.read[f"h.{layer}.attn.c_proj"]
        stream = with_heads(stream, read, output.weight, output.bias, "decoder", layer, heads)
        stream = plus(stream, ("mlp", "decoder", layer, -1), seen.made[f"h.{layer}.mlp"])


def turned(seen) -> Callable:
    """Return the rotary embedding of queries and keys, which rotates the halves of the width against each other."""
    cosine, sine = seen.made["rotary_emb"]

    def turn(part):
        half = part.shape[-1] // 2
        return part * cosine + torch.cat([-part[..., half:], part[..., :half]], dim=-1) * sine

    return turn


def llama_by_hand(model, seen):
    """Yield the layers of a Llama or Qwen 3: RMSNorm, rotary embeddings, shared keys, optional query-key norms."""
    heads, turn = model.config.num_attention_heads, turned(seen)
    groups = model.config.num_key_value_heads
    stream = {TOKEN: seen.made["embed_tokens"]}
    for layer, block in enumerate(model.layers):
        at, own = f"layers.{layer}", block.self_attn
        normed = rms_normed(stream, seen.read[f"{at}.input_layernorm"], block.input_layernorm)
        both = []
        for side, number in (("q", heads), ("k", groups)):
            part = getattr(own, f"{side}_proj")

            def change(parts, side=side, at=at, own=own):
                if hasattr(own, f"{side}_norm"):
                    norm = getattr(own, f"{side}_norm")
                    read = seen.read[f"{at}.self_attn.{side}_norm"].transpose(0, 1)
                    parts = rms_normed({TOKEN: parts}, read, norm)[TOKEN]
                return turn(parts)

            both.append(projected(normed, part.weight.T, part.bias, number, change=change))
        queries, keys = both
        keys = {source: part.repeat(heads // groups, axis=0) for source, part in keys.items()}
        yield LayerByHand("decoder", layer, queries, keys, own.head_dim**-0.5)
        read, output = seen.read[f"{at}.self_attn.o_proj"], own.o_proj
        stream = with_heads(stream, read, output.weight.T, output.bias, "decoder", layer, heads)
        stream = plus(stream, ("mlp", "decoder", layer, -1), seen.made[f"{at}.mlp"])


def t5_by_hand(model, seen):
    """Yield the layers of a T5, with a position bias, and cross attention to the encoder's final states."""
    heads = model.config.num_heads
    final = {ENCODER: seen.made["encoder.final_layer_norm"]}
    for stack, blocks in (("encoder", model.encoder.block), ("decoder", model.decoder.block)):
        stream = {TOKEN: seen.embedded[stack]}
        for layer, block in enumerate(blocks):
            at = f"{stack}.block.{layer}.layer"
            for number, part in enumerate(block.layer):
                read = seen.read[f"{at}.{number}.layer_norm"]
                normed = rms_normed(stream, read, part.layer_norm)
                last = number == len(block.layer) - 1
                if last:
                    kind = "encoder" if stack == "encoder" else "cross"
                    stream = plus(stream, ("mlp", kind, layer, -1), seen.made[f"{at}.{number}.DenseReluDense"])
                    continue
                cross = number == 1
                kind, name = ("cross", "EncDecAttention") if cross else (stack, "SelfAttention")
                own = getattr(part, name)
                queries = projected(normed, own.q.weight.T, None, heads)
                keys = projected(final if cross else normed, own.k.weight.T, None, heads)
                bias = np.zeros((heads, len(read), next(iter(keys.values())).shape[1]))
                if not cross:
                    first = blocks[0].layer[0].SelfAttention
                    bias = first.compute_bias(len(read), len(read))[0].detach().double().numpy()
                yield LayerByHand(kind, layer, queries, keys, 1.0, bias)
                stream = with_heads(
                    stream, seen.read[f"{at}.{number}.{name}.o"], own.o.weight.T, None, kind, layer, heads
                )


BY_HAND = {"bert": bert_by_hand, "gpt2": gpt2_by_hand, "llama": llama_by_hand, "qwen3": llama_by_hand, "t5": t5_by_hand}


def layers_by_hand(model, family, inputs):
    """Return the layers of a model that reads one input, each with the parts of its queries and keys by source.

    Args:
        model: a model without a head for a task.
        family: name of a family in `BY_HAND`.
        inputs: the model's arguments.
    """
    with torch.no_grad(), looked_at(model) as seen:
        model(**inputs)
        if family == "t5":
            ids = {"encoder": inputs["input_ids"], "decoder": inputs["decoder_input_ids"]}
            seen.embedded = {stack: model.shared.weight.detach().double()[own[0]] for stack, own in ids.items()}
        return list(BY_HAND[family](model, seen))

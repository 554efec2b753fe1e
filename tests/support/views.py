"""Small hand-made attention views, and a reader of payloads written from the format's description."""

import base64
import zlib

import numpy as np

from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from headscope.views.kept_layers import NeuronLayer


def rows(rng, *shape, causal=False):
    """Return random rows of weights that sum to 1."""
    scores = 3 * rng.normal(size=shape)
    if causal:
        scores = np.where(np.tril(np.ones(shape[-2:], dtype=bool)), scores, -np.inf)
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return (exponentials / exponentials.sum(-1, keepdims=True)).astype(np.float32)


def hand_made() -> np.ndarray:
    """Return one layer, two heads, three tokens with fixed targets, [layer, head, query, key].

    Head 1: every token attends to the one before it, the first to itself. Head 2: 0.75 at token 3, 0.25 at token 1.
    """
    maps = np.zeros((1, 2, 3, 3), dtype=np.float32)
    maps[0, 0, [0, 1, 2], [0, 0, 1]] = 1
    maps[0, 1, :, 2], maps[0, 1, :, 0] = 0.75, 0.25
    return maps


def hand_made_view() -> AttentionSnapshot:
    axis = Axis(tokens=("[CLS]", "play", "##ing"), words=(None, 0, 0), word_text=("playing",), special=(0,))
    maps = KindMaps(kind="encoder", weights=hand_made(), queries=axis, roles=(("previous", None),))
    return AttentionSnapshot(title="By hand", model="hand-made", kinds=(maps,))


def pair_view(*, layers=(2, 4), heads=3, seed=0) -> AttentionSnapshot:
    """Return a pair of sentences with hostile tokens, and two layers of a deeper model with queries and keys."""
    rng = np.random.default_rng(seed)
    tokens = ("[CLS]", "the", "cat", "</script><script>alert(1)", "[SEP]", "a\u202eb", "play", "##ing", "[SEP]")
    axis = Axis(
        tokens=tokens,
        words=(None, 0, 1, 2, None, 3, 4, 4, None),
        word_text=("the", "cat", "</script><script>alert(1)", "a\u202eb", "playing"),
        segment_b=5,
        special=(0, 4, 8),
    )
    neuron = tuple(neuron_layer(rng, heads=heads, queries=9, keys=9, scaling=0.5) for _ in layers)
    weights = np.stack([layer.weights for layer in neuron])
    maps = KindMaps(kind="encoder", weights=weights, queries=axis, layers=layers, neuron=neuron)
    return AttentionSnapshot(title="A pair", model="tiny", kinds=(maps,))


def neuron_layer(rng, *, heads, queries, keys, width=4, groups=None, scaling=1.0, bias=0, softcap=None, causal=False):
    """Return random queries and keys; `bias` is the number of heads with their own bias (0: none)."""
    groups = groups or heads
    return NeuronLayer(
        queries=rng.normal(size=(heads, queries, width)).astype(np.float32),
        keys=rng.normal(size=(groups, keys, width)).astype(np.float32),
        groups=tuple(head * groups // heads for head in range(heads)),
        scaling=scaling,
        bias=rng.normal(size=(bias, queries, keys)).astype(np.float32) if bias else None,
        softcap=softcap,
        visible=np.tril(np.ones((queries, keys), dtype=bool)) if causal else None,
    )


def three_kinds_view(*, seed=1) -> AttentionSnapshot:
    """Return an encoder, a decoder (generated tokens, grouped keys, bias, soft-cap, mask) and cross attention."""
    rng = np.random.default_rng(seed)
    source = Axis(tokens=("The", "house", "is", "small", "</s>"), special=(4,))
    target = Axis(tokens=("<pad>", "Das", "Haus", "ist"), special=(0,), generated=1)
    encoder = neuron_layer(rng, heads=2, queries=5, keys=5, bias=2)
    decoder = neuron_layer(rng, heads=2, groups=1, queries=4, keys=4, bias=1, softcap=2.5, causal=True, scaling=0.25)
    return AttentionSnapshot(
        title="A translation",
        model="tiny-t5",
        kinds=(
            KindMaps(kind="encoder", weights=encoder.weights[None], queries=source, neuron=(encoder,)),
            KindMaps(kind="decoder", weights=decoder.weights[None], queries=target, neuron=(decoder,)),
            KindMaps(
                kind="cross",
                weights=rows(rng, 1, 2, 4, 5),
                queries=target,
                keys=source,
                no_neuron="Nobody kept these queries and keys.",
            ),
        ),
    )


def read_bytes(packed):
    content = base64.b64decode(packed["data"])
    if packed["encoding"] == "deflate-raw+base64":
        return zlib.decompress(content, wbits=-15)
    assert packed["encoding"] == "base64"
    return content


def read_layer(content, heads, queries, keys):
    """Read one layer's bytes value by value: [head, query, key]."""
    size = heads * queries * keys
    padded = size + (4 - size % 4) % 4
    codes = np.frombuffer(content, np.uint8, count=size).reshape(heads, queries, keys)
    maxima = np.frombuffer(content, "<f4", offset=padded).reshape(heads, queries, 1)
    return maxima * (codes / 255.0) ** 2


def read_maps(told):
    """Return every layer's weights of one kind of a payload, [layer, head, query, key]."""
    queries = len(told["queries"]["tokens"])
    keys = len((told["keys"] or told["queries"])["tokens"])
    return np.stack([read_layer(read_bytes(layer), told["heads"], queries, keys) for layer in told["maps"]])


def read_neuron(told, layer):
    """Return queries, keys, bias and mask of one layer of a kind's neuron part."""
    queries = len(told["queries"]["tokens"])
    keys = len((told["keys"] or told["queries"])["tokens"])
    part = told["neuron"]["layers"][layer]
    content, at, width = read_bytes(part), 0, told["neuron"]["width"]

    def take(kind, *shape):
        nonlocal at
        size = int(np.prod(shape)) * np.dtype(kind).itemsize
        values = np.frombuffer(content[at : at + size], kind).reshape(shape)
        at += size + (4 - size % 4) % 4
        return values

    q = take("<f2", told["heads"], queries, width)
    k = take("<f2", max(part["groups"]) + 1, keys, width)
    bias = take("<f2", *part["parts"]["bias"]) if part["parts"]["bias"] else None
    mask = take(np.uint8, queries, keys) if part["parts"]["mask"] else None
    assert at == len(content)
    return q, k, bias, mask

"""Made-up attention that resembles a model's, with a known behavior for each head, for tests and pictures of pages."""

import numpy as np

from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from headscope.views.kept_layers import NeuronLayer

FIRST = ["[CLS]", "the", "committ", "##ee", "quietly", "approved", "the", "new", "budget", ".", "[SEP]"]
SECOND = ["she", "still", "had", "her", "doubts", "about", "it", ".", "[SEP]"]
STORY = ["Once", "upon", "a", "time", "there", "was", "a", "small", "river", "that", "nobody", "had", "named", "."]
HOSTILE = [
    "[CLS]",
    "</script><script>alert(1)</script>",
    "\"'><img src=x onerror=alert(2)>",
    "שלום",
    "\u202egnp.exe",
    "👩‍👩‍👧",
    "\u200b",
    "x" * 5000,
    "&amp;",
    "e" + "\u0301" * 30,
    "",
    "[SEP]",
]


def softmax(scores):
    exponentials = np.exp(scores - scores.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def head_scores(name, tokens, rng, *, causal=False):
    """Return noisy scores [query, key] of a head with the behavior of that name."""
    n = len(tokens)
    scores = rng.normal(scale=0.8, size=(n, n))
    rows = np.arange(n)
    if name == "previous":
        scores[rows[1:], rows[:-1]] += 7
        scores[0, 0] += 7
    elif name == "next":
        scores[rows[:-1], rows[1:]] += 6
    elif name == "sep":
        scores[:, [i for i, token in enumerate(tokens) if token == "[SEP]"]] += 5
    elif name == "cls":
        scores[:, 0] += 5
    elif name == "mixed":
        scores += 3 * rng.normal(size=(n, n))
    if causal:
        scores = np.where(np.tril(np.ones((n, n), dtype=bool)), scores, -np.inf)
    return scores


def word_ids(tokens):
    """Return the word of each WordPiece token; None for special tokens."""
    words, texts = [], []
    for token in tokens:
        if token.startswith("[") and token.endswith("]"):
            words.append(None)
            continue
        if token.startswith("##") and texts:
            texts[-1] += token[2:]
        else:
            texts.append(token)
        words.append(len(texts) - 1)
    return tuple(words), tuple(texts)


def sentence_pair(*, layers=3, heads=4, seed=0, neuron=True):
    """Return a sentence pair with heads of known roles (previous, next, [SEP], broad) and matching queries and keys."""
    rng = np.random.default_rng(seed)
    tokens = FIRST + SECOND
    words, texts = word_ids(tokens)
    axis = Axis(
        tokens=tuple(tokens),
        words=words,
        word_text=texts,
        segment_b=len(FIRST),
        special=tuple(i for i, word in enumerate(words) if word is None),
    )
    names = ["previous", "next", "sep", "broad", "cls", "mixed"]
    roles = tuple(tuple(names[(layer + head) % 6] for head in range(heads)) for layer in range(layers))
    scores = np.stack([[head_scores(role, tokens, rng) for role in row] for row in roles])
    parts = ()
    if neuron:
        parts = tuple(_factored(layer) for layer in scores)
        weights = np.stack([part.weights for part in parts])
    else:
        weights = softmax(scores)
    kind = KindMaps(kind="encoder", weights=weights.astype(np.float32), queries=axis, roles=roles, neuron=parts)
    return AttentionSnapshot(title="The committee quietly approved the new budget.", model="made/maps", kinds=(kind,))


def _factored(scores, *, scaling=0.25):
    """Return queries and keys whose scaled products approximate these scores [head, query, key], by truncated SVD."""
    width = 16
    left, values, right = np.linalg.svd(scores / scaling)
    root = np.sqrt(values[:, :width])
    return NeuronLayer(
        queries=(left[:, :, :width] * root[:, None]).astype(np.float32),
        keys=(right[:, :width].swapaxes(1, 2) * root[:, None]).astype(np.float32),
        groups=tuple(range(len(scores))),
        scaling=scaling,
    )


def long_text(*, tokens=512, layers=2, heads=12, seed=0):
    """Return a long text on which each head attends to a few positions, as trained heads do."""
    rng = np.random.default_rng(seed)
    vocabulary = ["of", "the", "town", "river", "which", "was", "built", "after", "war", "people", ",", "stone"]
    names = ["[CLS]", *rng.choice(vocabulary, size=tokens - 2), "[SEP]"]
    scores = 2.2 * rng.normal(size=(layers, heads, tokens, tokens)).astype(np.float32)
    near = np.abs(np.subtract.outer(np.arange(tokens), np.arange(tokens)))
    scores += 4 * np.exp(-near / 6)
    scores[..., 0] += 3
    axis = Axis(tokens=tuple(map(str, names)), special=(0, tokens - 1))
    kind = KindMaps(kind="encoder", weights=softmax(scores).astype(np.float32), queries=axis)
    return AttentionSnapshot(title=f"A text of {tokens} tokens", model="made/maps", kinds=(kind,))


def generated(*, tokens=14, start=6, layers=2, heads=4, seed=2):
    """Return a decoder's view in which the tokens from `start` on were generated."""
    rng = np.random.default_rng(seed)
    names = (STORY * (1 + tokens // len(STORY)))[:tokens]
    roles = ["previous", "mixed", "cls", "broad"]
    scores = np.stack(
        [[head_scores(roles[h % 4], names, rng, causal=True) for h in range(heads)] for _ in range(layers)]
    )
    axis = Axis(tokens=tuple(names), generated=start)
    kind = KindMaps(kind="decoder", weights=softmax(scores).astype(np.float32), queries=axis)
    return AttentionSnapshot(title="Once upon a time there was", model="made/decoder", kinds=(kind,))


def hostile(*, heads=3, seed=3):
    """Return tokens that imitate markup, reverse the text direction or are very long."""
    rng = np.random.default_rng(seed)
    scores = np.stack([[head_scores("mixed", HOSTILE, rng) for _ in range(heads)]])
    axis = Axis(tokens=tuple(HOSTILE), special=(0, len(HOSTILE) - 1))
    kind = KindMaps(kind="encoder", weights=softmax(scores).astype(np.float32), queries=axis)
    return AttentionSnapshot(title="</title><script>alert(3)</script>", model="<b>bold</b>", kinds=(kind,))

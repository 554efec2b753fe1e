"""A snapshot of the attention of one input: tokens, weights, and the queries and keys behind the weights.

Arrays are numpy arrays, so that tensors of any framework can be used; this module does not need a model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from headscope.attention.head_id import KINDS, head_label
from headscope.attention.row_checks import wrong_row
from headscope.errors import AttentionError, InputError
from headscope.views.kept_layers import NeuronLayer, WrittenNorms

SINK = "[sink]"
"""Label of a learned sink among the tokens."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """The tokens along one side of a map.

    Attributes:
        tokens: each token as text, `[token]`.
        words: the word of each token, 0-based in order of appearance; None for a token that is a word of its own
            (special tokens). `()` if words are unknown.
        word_text: each word as text, `[word]`.
        segment_b: first position of the second text of a pair; None without one.
        generated: first generated position; None without generated text.
        special: positions of special tokens, ascending.
        unknown: positions of tokens that the model does not know, ascending: `tokens` has the original text there.
        words_note: explanation if some words are the tokenizer's; empty if all are those of the text.
        sink: position of a learned sink, a key without a token, which is the last (`beside_sink`); None without a sink.

    Raises:
        InputError: a position lies outside the tokens, or words do not fit them.
    """

    tokens: tuple[str, ...]
    words: tuple[int | None, ...] = ()
    word_text: tuple[str, ...] = ()
    segment_b: int | None = None
    generated: int | None = None
    special: tuple[int, ...] = ()
    unknown: tuple[int, ...] = ()
    words_note: str = ""
    sink: int | None = None

    def __post_init__(self) -> None:
        n = len(self.tokens)
        if not n:
            raise InputError("there are no tokens to draw; expected at least one")
        if self.words and len(self.words) != n:
            raise InputError(f"expected a word id (or None) for each of {n} tokens, got {len(self.words)}")
        for word in self.words:
            if word is not None and not 0 <= word < len(self.word_text):
                raise InputError(f"word id {word} has no text; expected ids below {len(self.word_text)}")
        if self.segment_b is not None and not 0 < self.segment_b < n:
            raise InputError(
                f"the second text cannot begin at position {self.segment_b}; expected 1 to {n - 1}, the first token "
                "being position 0"
            )
        if self.generated is not None and not 0 <= self.generated <= n:
            raise InputError(f"generated text cannot begin at position {self.generated} of {n} tokens")
        for name, positions in {"special": self.special, "unknown": self.unknown}.items():
            if any(not 0 <= position < n for position in positions):
                raise InputError(f"{name} tokens are at {list(positions)}; expected positions below {n}")
        if self.sink not in (None, n - 1):
            raise InputError(f"a learned sink follows the tokens, at {n - 1}; got {self.sink}")

    def __len__(self) -> int:
        return len(self.tokens)

    def beside_sink(self) -> Axis:
        """Return the axis of these tokens as keys, with a learned sink appended."""
        n = len(self)
        return replace(
            self,
            tokens=(*self.tokens, SINK),
            words=(*self.words, None) if self.words else (),
            special=(*self.special, n),
            sink=n,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class KindMaps:
    """All maps of one kind of attention.

    Attributes:
        kind: `encoder` (bidirectional self-attention), `decoder` (causal) or `cross`.
        weights: weights after the softmax, float32 `[layer, head, query, key]`.
        queries: the attending tokens.
        keys: the attended tokens; None if they equal the queries. With a learned sink, the keys are an axis of their
            own.
        layers: the 1-based label of each layer; all from 1 when empty.
        heads: the 1-based label of each head; all from 1 when empty.
        roles: each head's role, `[layer][head]`; empty if unknown.
        neuron: queries, keys and the other parts of each layer's scores; empty if unknown.
        no_neuron: the reason why they are unknown, as a sentence for the reader.
        written: norms of the heads' outputs for each token; None if unknown.

    Raises:
        AttentionError: the values are not attention weights, or do not fit the tokens.
        InputError: labels or roles do not fit the maps.
    """

    kind: str
    weights: NDArray[np.float32]
    queries: Axis
    keys: Axis | None = None
    layers: tuple[int, ...] = ()
    heads: tuple[int, ...] = ()
    roles: tuple[tuple[str | None, ...], ...] = ()
    neuron: tuple[NeuronLayer, ...] = ()
    no_neuron: str | None = None
    written: WrittenNorms | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind {self.kind!r} is not known; choose one of {', '.join(KINDS)}")
        if self.kind == "cross" and self.keys is None:
            raise InputError("cross attention looks from one text at another; expected the tokens of both")
        if self.weights.ndim != 4:
            raise AttentionError(
                f"expected {self.kind} attention as layer, head, query, key (four axes), got {self.weights.ndim} axes"
            )
        n_layers, n_heads, rows, columns = self.weights.shape
        if not n_layers or not n_heads:
            raise AttentionError(
                f"{self.kind} attention has {n_layers} layers of {n_heads} heads; expected one at least"
            )
        if (rows, columns) != (len(self.queries), len(self.key_axis)):
            raise AttentionError(
                f"{self.kind} attention is {rows} queries by {columns} keys, and there are {len(self.queries)} and "
                f"{len(self.key_axis)} tokens; give the tokens that the model read, special tokens included"
            )
        object.__setattr__(self, "layers", self.layers or tuple(range(1, n_layers + 1)))
        object.__setattr__(self, "heads", self.heads or tuple(range(1, n_heads + 1)))
        if len(self.layers) != n_layers or len(self.heads) != n_heads:
            raise InputError(
                f"{len(self.layers)} layer and {len(self.heads)} head labels were given for {n_layers} layers of "
                f"{n_heads} heads of {self.kind} attention"
            )
        if self.roles and (len(self.roles) != n_layers or any(len(row) != n_heads for row in self.roles)):
            raise InputError(f"expected a role (or None) for each of {n_layers} x {n_heads} {self.kind} heads")
        if self.neuron and len(self.neuron) != n_layers:
            raise InputError(f"expected queries and keys of {n_layers} layers, got those of {len(self.neuron)}")
        self._check_weights()

    @property
    def key_axis(self) -> Axis:
        """The attended tokens."""
        return self.queries if self.keys is None else self.keys

    @property
    def causal(self) -> bool:
        """True if no token attends to a later one."""
        square = self.keys is None or self.keys.sink is not None
        n = len(self.queries)
        later = np.triu(np.ones((n, n), dtype=bool), 1)
        return square and n > 1 and not any(layer[:, :, :n][:, later].any() for layer in self.weights)

    def _check_weights(self) -> None:
        for layer, maps in zip(self.layers, self.weights):
            # Sums below 1 are accepted: a view may show part of a text, or a model whose heads drop some weight.
            if (wrong := wrong_row(maps, partly=True)) is not None:
                head, row = wrong.index
                raise AttentionError(
                    f"{self.kind} attention of head {head_label(layer, self.heads[head])}, row {row + 1} {wrong.what}: "
                    "give attention after the softmax"
                )
        if not self.weights.any():
            raise AttentionError(
                f"{self.kind} attention is 0 in every layer and head; expected rows that sum to 1: give attention "
                "after the softmax"
            )


@dataclass(frozen=True, kw_only=True, eq=False)
class AttentionSnapshot:
    """The attention of one input, of every kind that the model has.

    Attributes:
        title: title of the page.
        model: the model's name; empty if unknown.
        kinds: encoder, decoder and cross attention, those that the model has.
        notes: sentences for the user.
        generated: the generated text; empty without one.

    Raises:
        InputError: no kind, or the same kind twice.
    """

    title: str
    model: str
    kinds: tuple[KindMaps, ...]
    notes: tuple[str, ...] = ()
    generated: str = ""

    @property
    def words_notes(self) -> tuple[str, ...]:
        """Notes on words that are the tokenizer's instead of the text's; each sentence once."""
        axes = [axis for kind in self.kinds for axis in (kind.queries, kind.key_axis)]
        return tuple(dict.fromkeys(axis.words_note for axis in axes if axis.words_note))

    def __post_init__(self) -> None:
        names = [kind.kind for kind in self.kinds]
        if not names or len(set(names)) < len(names):
            raise InputError(f"expected each kind of attention once, got {', '.join(names) or 'none'}")

"""Facts on each token id: its text, its frequency in the run's text, and its kind of word."""

from codecs import getincrementaldecoder
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import delimiters_of
from headscope.analyses.explanation.row_block import Doubles, Integers, Singles
from headscope.encoding.tokenizer.token_names import piece_bytes, piece_text

COMPONENTS = 24
"""Number of principal components of the token embeddings that describe the kind of a word."""
_FARTHEST = 4.0  # standard deviations of a component; rare tokens lie far out
_AT_ONCE = 8192  # embeddings that are converted together


@dataclass(frozen=True, kw_only=True, eq=False)
class VocabularyFacts:
    """Facts on each token id.

    Attributes:
        texts: the text of each id without the tokenizer's marks; empty for special tokens, ids without a token, and ids
            that are pieces of a character.
        pieces: the bytes of each id that is a piece of a character, or ends or begins with one.
        delimiters: `Delimiter` of each id, `[id]`.
        log_frequency: natural logarithm of the number of occurrences in a million tokens of the text, at least 0,
            `[id]`.
        hidden: id of the mask token; -1 without one.
        embeddings: the model's table of token embeddings, a tensor; None if there is none.
        components: the leading principal components of the embeddings, each of variance 1 over the tokens of the text
            without special tokens, `[id, component]`; None without embeddings or counts.
    """

    texts: tuple[str, ...]
    delimiters: NDArray[np.uint8]
    log_frequency: Doubles
    hidden: int = -1
    pieces: Mapping[int, bytes] = field(default_factory=dict)
    embeddings: Any = None
    components: Singles | None = None

    @classmethod
    def of_names(cls, named: Mapping[int, str], *, special: Collection[int] = ()) -> "VocabularyFacts":
        """Read the facts from the names of tokens.

        Args:
            named: the tokenizer's name of each id: `##ing`, `Ġthe`, `▁the`.
            special: ids of special tokens, which have no text.
        """
        size = max(named, default=-1) + 1
        texts, pieces = [""] * size, {}
        for token_id, piece in zip(named, piece_bytes(list(named.values())), strict=True):
            if token_id not in special:
                texts[token_id] = _stripped(piece_text(piece))
                if piece and not texts[token_id]:
                    pieces[token_id] = piece
        delimiters = delimiters_of(named, special=special)[:size]
        return cls(texts=tuple(texts), pieces=pieces, delimiters=delimiters, log_frequency=np.zeros(size))

    @classmethod
    def of_model(cls, model: Any, tokenizer: Any) -> "VocabularyFacts":
        """Read the vocabulary of a transformers tokenizer, and the embeddings of its model."""
        named = {int(number): str(token) for token, number in tokenizer.get_vocab().items()}
        facts = cls.of_names(named, special={int(token_id) for token_id in tokenizer.all_special_ids})
        mask = getattr(tokenizer, "mask_token_id", None)
        try:
            table = model.get_input_embeddings().weight.detach()
        except (NotImplementedError, AttributeError):  # hashed characters
            table = None
        if table is not None and (table.device.type == "meta" or not table.is_floating_point()):
            table = None  # offloaded, or quantized
        return replace(facts, embeddings=table, hidden=-1 if mask is None else int(mask))

    def with_counts(self, counts: Integers) -> "VocabularyFacts":
        """Return the same facts with the frequencies of a text, and the components of its embeddings.

        Args:
            counts: number of occurrences of each id, `[id]`; ids beyond the array do not occur.
        """
        padded = np.zeros(len(self.texts), dtype=np.float64)
        padded[: len(counts)] = counts[: len(padded)]
        frequency = np.log(np.maximum(padded * (1e6 / max(1.0, padded.sum())), 1.0))
        components = None
        if self.embeddings is not None:
            is_text = np.array([bool(text) for text in self.texts[: len(self.embeddings)]], dtype=bool)
            is_text[[token_id for token_id in self.pieces if token_id < len(is_text)]] = True
            components = principal_components(self.embeddings, padded[: len(is_text)] * is_text)
        return replace(self, log_frequency=frequency, components=components)

    def kinds(self, ids: Integers) -> Singles:
        """Return the components of some tokens, `[token, component]`; 0 for ids without an embedding."""
        assert self.components is not None
        known = (ids >= 0) & (ids < len(self.components))
        return np.where(known[:, None], self.components[np.where(known, ids, 0)], np.float32(0))

    @cached_property
    def mean_log_frequency(self) -> float:
        """The mean of `log_frequency` over the tokens of the text."""
        counts = np.where(self.log_frequency > 0, np.exp(self.log_frequency), 0.0)
        return float(counts @ self.log_frequency / max(1.0, counts.sum()))

    def texts_of(self, ids: Iterable[int]) -> list[str]:
        """Return the text of each token of an input: the characters that it completes, without white space around them.

        A byte-level tokenizer splits `Ä` into two tokens. The first has no text, no case and no length; the second is
        `Ä`.

        Args:
            ids: ids of consecutive tokens of a text; ids beyond the tokenizer's have no text.
        """
        decoder, out = getincrementaldecoder("utf-8")(errors="ignore"), []
        for token_id in ids:
            if token_id in self.pieces:
                out.append(_stripped(decoder.decode(self.pieces[token_id])))
            else:
                decoder.reset()
                out.append(self.texts[token_id] if 0 <= token_id < len(self.texts) else "")
        return out

    def of(self, values: NDArray[Any], ids: Integers) -> NDArray[Any]:
        """Look up a fact of tokens, `[token]`; 0 for ids beyond the tokenizer's."""
        known = ids < len(values)
        return np.where(known, values[np.where(known, ids, 0)], 0)


def _stripped(text: str) -> str:
    """Strip white space around a text; a text of white space alone is returned as it is."""
    return text.strip() or text


def principal_components(table: Any, counts: Doubles) -> Singles | None:
    """Compute the leading principal components of token embeddings over a text, `[id, component]`.

    Each component has mean 0 and variance 1 over the tokens of the text, and a sign that makes its largest weight
    positive. Values are clipped at 4 standard deviations. The directions are those of the singular value decomposition
    of the embeddings of the tokens that occur, weighted by their counts.

    Args:
        table: embeddings, a tensor `[id, width]`.
        counts: number of occurrences of each id, `[id]`.

    Returns:
        The components; None if fewer than `COMPONENTS` tokens occur, or if the embeddings are narrower.
    """
    ids = np.flatnonzero(counts[: len(table)])
    if min(len(ids), table.shape[1]) < COMPONENTS:
        return None
    weights = counts[ids] / counts[ids].sum()
    embedded = _plain(table[ids])
    center = weights @ embedded
    scaled = np.sqrt(weights)[:, None] * (embedded - center)
    if len(ids) <= table.shape[1]:
        values, left = np.linalg.eigh(scaled @ scaled.T)
        directions = scaled.T @ left[:, ::-1][:, :COMPONENTS]
        directions /= np.maximum(np.linalg.norm(directions, axis=0), 1e-12)
    else:
        values, right = np.linalg.eigh(scaled.T @ scaled)
        directions = right[:, ::-1][:, :COMPONENTS]
    largest = directions[np.abs(directions).argmax(0), np.arange(COMPONENTS)]
    directions *= np.sign(largest)
    directions /= np.sqrt(np.maximum(values[::-1][:COMPONENTS], 1e-12))
    parts = [(_plain(table[at : at + _AT_ONCE]) - center) @ directions for at in range(0, len(table), _AT_ONCE)]
    return np.asarray(np.clip(np.concatenate(parts), -_FARTHEST, _FARTHEST).astype(np.float32))


def _plain(embeddings: Any) -> Doubles:
    """Convert a tensor to an array of doubles."""
    return np.asarray(embeddings.cpu().double().numpy())

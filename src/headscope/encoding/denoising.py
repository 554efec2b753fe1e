"""Predictions of hidden tokens: masked language modeling, and span denoising for encoder-decoders."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.loss_questions import NO_TARGET, Question, generator_of, written
from headscope.encoding.segment import NO_WORD, Segment
from headscope.errors import ModelError

SHARE = 0.15
MASKED, RANDOM = 0.8, 0.1  # shares of the hidden tokens; the rest are left unchanged
SENTINEL_SHARE = 0.15  # T5's
INFILLING_SHARE = 0.3  # BART's
SPAN = 3.0  # tokens in a span, on average


class MaskedTokens:
    """Hide 15% of a segment's tokens and ask for them, as in BERT's training (80% mask, 10% random, 10% unchanged).

    Special tokens are neither hidden nor drawn. Of n other tokens the nearest whole number to 0.15 n is hidden, at
    least one. The random draws depend only on the segment's document, its index and the seed, so that neither batches
    nor order change them.

    Args:
        tokenizer: a transformers tokenizer.
        seed: seed of the random draws.

    Raises:
        ModelError: the tokenizer has no mask token.
    """

    def __init__(self, tokenizer: Any, *, seed: int = 0) -> None:
        if tokenizer.mask_token_id is None:
            raise ModelError(
                f"{type(tokenizer).__name__} has no mask token, which masked language modeling needs; expected the "
                "tokenizer of a model trained on it, or choose another loss"
            )
        self.mask = int(tokenizer.mask_token_id)
        self.special = special_ids(tokenizer)
        everything = np.unique(list(tokenizer.get_vocab().values()))
        self.ordinary: NDArray[np.int64] = everything[~np.isin(everything, self.special)].astype(np.int64)
        self.seed = seed

    def __call__(self, segment: Segment) -> Question | None:
        """Make a segment's question; None for a segment with only special tokens."""
        places = np.flatnonzero(~np.isin(segment.ids, self.special))
        if not len(places):
            return None
        generator = generator_of(segment, seed=self.seed)
        number = max(1, round(SHARE * len(places)))
        hidden = np.sort(generator.permutation(places)[:number])
        lots = generator.random(number)
        drawn = self.ordinary[generator.integers(len(self.ordinary), size=number)]
        shown = np.where(lots < MASKED, self.mask, np.where(lots < MASKED + RANDOM, drawn, segment.ids[hidden]))
        ids, targets = segment.ids.copy(), np.full(len(segment), NO_TARGET, dtype=np.int64)
        targets[hidden] = ids[hidden]
        ids[hidden] = shown
        return Question(segment=replace(segment, ids=ids), targets=targets)


def special_ids(tokenizer: Any) -> NDArray[np.int64]:
    """Return the ids of a tokenizer's special tokens."""
    return np.array(sorted(set(tokenizer.all_special_ids)), dtype=np.int64)


class Denoising:
    """Hide spans of a segment from the encoder, and ask the decoder to write them.

    With T5's sentinels a span becomes `<extra_id_0>`, the next `<extra_id_1>` ..., and the decoder writes each
    sentinel followed by its span, and one more sentinel at the end (Raffel et al. 2020, section 3.1.4). If there is
    only a mask token, a span becomes one mask, and the decoder writes the whole text (Lewis et al. 2020, "text
    infilling", without its empty spans). Special tokens are never hidden. The random draws depend only on the segment's
    document, its index and the seed.

    Args:
        tokenizer: a transformers tokenizer.
        start: id with which the decoder begins; None for the last token that it writes (mBART).
        seed: seed of the random draws.

    Raises:
        ModelError: the tokenizer has neither sentinels nor a mask token.
    """

    def __init__(self, tokenizer: Any, *, start: int | None, seed: int = 0) -> None:
        vocabulary = tokenizer.get_vocab()
        self.sentinels: list[int] = []
        while (name := f"<extra_id_{len(self.sentinels)}>") in vocabulary:
            self.sentinels.append(int(vocabulary[name]))
        self.by_sentinel = len(self.sentinels) >= 2
        self.mask: int | None = None if self.by_sentinel else tokenizer.mask_token_id
        if not self.by_sentinel and self.mask is None:
            raise ModelError(
                f"{type(tokenizer).__name__} has neither sentinels (<extra_id_0> ...) nor a mask token, which span "
                "denoising needs; expected the tokenizer of a T5 or BART, or labels of your own (ImportanceMeasurement)"
            )
        self.end: int | None = tokenizer.eos_token_id
        self.special = special_ids(tokenizer)
        self.start = start
        self.seed = seed

    def __call__(self, segment: Segment) -> Question | None:
        """Make a segment's question; None for a segment with only special tokens."""
        places = np.flatnonzero(~np.isin(segment.ids, self.special))
        if not len(places):
            return None
        share = SENTINEL_SHARE if self.by_sentinel else INFILLING_SHARE
        hidden = np.zeros(len(segment), dtype=bool)
        hidden[places] = span_places(len(places), share=share, generator=generator_of(segment, seed=self.seed))
        spans = runs(hidden)
        if self.by_sentinel:
            spans = spans[: len(self.sentinels) - 1]  # the last sentinel closes the answer
        shown = self._shown(segment, spans)
        targets, words = self._answer(segment, spans) if self.by_sentinel else (segment.ids, segment.word_ids)
        decoder = written(segment, targets, words, start=self.start)
        return Question(segment=shown, targets=targets, decoder=decoder)

    def _shown(self, segment: Segment, spans: list[slice]) -> Segment:
        """Return the segment with one token in place of each span."""
        keep = np.ones(len(segment), dtype=bool)
        ids, words = segment.ids.copy(), segment.word_ids.copy()
        for number, span in enumerate(spans):
            keep[span.start + 1 : span.stop] = False
            ids[span.start] = self.sentinels[number] if self.mask is None else self.mask
            words[span.start] = NO_WORD
        return replace(segment, ids=ids[keep], token_types=segment.token_types[keep], word_ids=words[keep])

    def _answer(self, segment: Segment, spans: list[slice]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the tokens that T5's decoder writes, and their word ids."""
        ids: list[int] = []
        words: list[int] = []
        for number, span in enumerate(spans):
            ids += [self.sentinels[number], *segment.ids[span].tolist()]
            words += [NO_WORD, *segment.word_ids[span].tolist()]
        ids += [self.sentinels[len(spans)]] + ([] if self.end is None else [self.end])
        words += [NO_WORD] * (len(ids) - len(words))
        return np.array(ids, dtype=np.int64), np.array(words, dtype=np.int64)


def span_places(number: int, *, share: float, generator: np.random.Generator) -> NDArray[np.bool_]:
    """Draw the tokens of `number` tokens that are in spans, `[token]` bool.

    The nearest whole number to `share` of them is hidden, at least one, in spans of 3 on average that do not touch.
    """
    hidden = min(max(1, round(share * number)), number)
    rest = number - hidden
    spans = min(max(1, round(hidden / SPAN)), rest + 1)
    lengths = 1 + _parts(hidden - spans, spans, generator)
    gaps = _parts(rest - (spans - 1), spans + 1, generator)
    gaps[1:-1] += 1  # at least one token is shown between spans
    out = np.zeros(number, dtype=bool)
    at = 0
    for gap, length in zip(gaps, lengths):
        out[at + gap : at + gap + length] = True
        at += int(gap + length)
    return out


def runs(mask: NDArray[np.bool_]) -> list[slice]:
    """Return the runs of True in a mask; special tokens between hidden ones split a span in two."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
    return [slice(int(a), int(b)) for a, b in edges.reshape(-1, 2)]


def _parts(total: int, number: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Split a total into `number` whole numbers from 0, with all splits equally likely."""
    bars = np.sort(generator.choice(total + number - 1, size=number - 1, replace=False))
    return np.diff(np.concatenate([[-1], bars, [total + number - 1]])) - 1

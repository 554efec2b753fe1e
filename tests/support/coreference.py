"""Made-up documents with mentions of entities, and a tokenizer of whole words."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from headscope.analyses.coref.gap import GapSums
from headscope.analyses.coref.mentions import FIELD, Mentions, MentionTable
from headscope.analyses.coref.mentions import mention_table as table_of
from headscope.analyses.coref.sums import CoreferenceSums
from headscope.encoding.segment import Segment
from support.inputs import made_up_segments


def word_tokenizer(words: Sequence[str], *, dropped: str = "") -> PreTrainedTokenizerFast:
    """Return a tokenizer with one token per word, between `[CLS]` and `[SEP]`; the letters of `dropped` are deleted."""
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *dict.fromkeys(words)]
    backend = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if dropped:
        backend.normalizer = normalizers.Replace(dropped, "")
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend, cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]"
    )


def mention_table(*, words: int, allowed: np.ndarray | None = None, **columns: np.ndarray) -> MentionTable:
    """The table of mentions in any order, which it sorts by start, longer ones first; all are candidates by default."""
    columns["allowed"] = np.ones(len(columns["heads"]), dtype=bool) if allowed is None else allowed
    order = np.lexsort((-columns["ends"], columns["starts"]))
    return table_of(Mentions(**{name: column[order] for name, column in columns.items()}), words)


def with_mentions(segment: Segment, rng: np.random.Generator) -> Segment:
    """Give a segment random mentions whose heads are words with tokens."""
    known = np.unique(segment.word_ids[segment.word_ids >= 0])
    if not len(known):
        return segment
    number = int(rng.integers(0, 8))
    heads = rng.choice(known, size=number)
    starts = np.maximum(0, heads - rng.integers(0, 3, size=number))
    words = int(known.max()) + 1
    table = mention_table(
        starts=starts,
        ends=np.minimum(words, heads + 1 + rng.integers(0, 3, size=number)),
        heads=heads,
        entities=rng.integers(0, 3, size=number),
        types=rng.integers(1, 4, size=number),
        words=words,
    )
    names = np.array(["he", "she", "Ann", "the", "queen", "it"])
    return replace(segment, words=tuple(rng.choice(names, size=words).tolist()), fields={FIELD: table})


def segments_with_mentions(
    number: int, *, seed: int = 0, longest: int = 20, documents: int | None = None
) -> list[Segment]:
    """Return made-up segments of mixed length, some of them without mentions."""
    rng = np.random.default_rng(seed)
    made = made_up_segments(number, seed=seed, longest=longest, documents=documents)
    return [with_mentions(segment, rng) for segment in made]


def hits_frame(results: Sequence[CoreferenceSums]) -> pd.DataFrame:
    """Return every head's and baseline's sums over all documents as one table, for the contract of accumulators."""
    rows = []
    for sums in results:
        counts = sums.counts.sum(0)
        for place, hits in np.ndenumerate(sums.hits.sum(0)):
            rows.append((sums.kind, *place, float(hits), int(counts[place[-1]])))
        for place, hits in np.ndenumerate(sums.baselines.sum(0)):
            rows.append((sums.kind, -1, *place, float(hits), int(counts[place[-1]])))
    return pd.DataFrame(rows, columns=["kind", "layer", "head", "type", "hits", "n"])


def marks_frame(results: Sequence[GapSums]) -> pd.DataFrame:
    """Return the sums of GAP over all documents as one table, for the contract of accumulators."""
    rows = []
    for sums in results:
        counts = zip(sums.rows.sum(0), sums.true.sum(0))
        n = [(int(whole), int(true)) for whole, true in counts]
        for place, right in np.ndenumerate(sums.right.sum(0)):
            rows.append((sums.kind, *place, float(right), *n[place[-1]]))
        for place, right in np.ndenumerate(sums.baselines.sum(0)):
            rows.append((sums.kind, -1, *place, float(right), *n[place[-1]]))
    return pd.DataFrame(rows, columns=["kind", "layer", "head", "gender", "right", "rows", "true"])

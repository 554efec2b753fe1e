"""Inputs of made-up tokens, to see how a model behaves."""

import torch

from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import Vocabulary


def made_up_segment(length: int, vocabulary: Vocabulary, *, size: int, generator: torch.Generator) -> Segment:
    """Return an input of random tokens, none of them padding.

    Args:
        length: in tokens.
        vocabulary: of the tokenizer.
        size: ids are below it.
        generator: of the tokens.
    """
    ids = torch.randint(0, size, (length,), generator=generator)
    ids = torch.where(ids == vocabulary.pad_id, (ids + 1) % size, ids)
    zeros = torch.zeros_like(ids).numpy()
    return Segment(document="probe", index=0, ids=ids.numpy(), token_types=zeros, word_ids=zeros)

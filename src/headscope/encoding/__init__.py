"""Words to sub-words, and segments to batches."""

from headscope.encoding.batching import Batch, collate, length_buckets
from headscope.encoding.encoder import Encoder
from headscope.encoding.packing import Packer, PackingCounts
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.encoding.vocabulary import KeyClass, Vocabulary

__all__ = [
    "Batch",
    "Encoder",
    "KeyClass",
    "Packer",
    "PackingCounts",
    "Segment",
    "SegmentInfo",
    "Vocabulary",
    "collate",
    "length_buckets",
]

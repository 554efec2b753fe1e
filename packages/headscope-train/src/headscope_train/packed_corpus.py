"""A corpus as packed inputs: five bytes a token, so that a large corpus fits in memory."""

from array import array
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from headscope.corpora.document import CorpusDigest, Document
from headscope.encoding.line_packing import Packer
from headscope.encoding.segment import Segment
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.visible import count
from headscope_train.running_text import RunningText

MOST_HELD_OUT = 1000
"""Largest number of inputs that are evaluated at each checkpoint."""


@dataclass(frozen=True, kw_only=True)
class PackedInputs:
    """Inputs stored one after another.

    Attributes:
        ids: token ids, special tokens included, int32 `[token]`.
        types: 0 or 1 for the texts of a pair, uint8 `[token]`.
        starts: start of each input, and end of the last, int64 `[input + 1]`.
        documents: index of each input's document among documents with inputs, from 0, int64 `[input]`.
        keys: hash of each input's document, its position in it, and the seed, uint64 `[input]`.
        hash: hash of the documents read, 32 hex digits.
        read: number of documents read.
        left_out: number of inputs that could not be built, by reason.
    """

    ids: NDArray[np.int32]
    types: NDArray[np.uint8]
    starts: NDArray[np.int64]
    documents: NDArray[np.int64]
    keys: NDArray[np.uint64]
    hash: str
    read: int
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.documents)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of tokens of each input, `[input]`."""
        return np.diff(self.starts)

    def of(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Return an input's ids and token types, `[token]`."""
        part = slice(self.starts[index], self.starts[index + 1])
        return self.ids[part], self.types[part]


def pack_inputs(
    documents: Iterable[Document],
    packer: Packer,
    *,
    max_inputs: int | None = None,
    seed: int = 0,
    known: KnownPieces | None = None,
) -> PackedInputs:
    """Read documents into packed inputs, at most `max_inputs` of them; `known` counts the pieces the tokenizer knows.

    Raises:
        InputError: no input could be built, or the tokenizer knows almost none of the text; the message explains it.
    """
    digest = CorpusDigest(documents)
    segments = packer.pack(digest, max_inputs=max_inputs)
    return _packed(
        segments if known is None else known.watch(segments),
        digest,
        packer.counts.skipped,
        seed=seed,
        remedy="a document of one line needs --packing single",
    )


def pack_passages(
    documents: Iterable[Document],
    text: RunningText,
    *,
    max_inputs: int | None = None,
    seed: int = 0,
    known: KnownPieces | None = None,
) -> PackedInputs:
    """Read documents into packed inputs of running text; otherwise as `pack_inputs`."""
    digest = CorpusDigest(documents)
    segments = text.cut(digest, max_inputs=max_inputs, seed=seed)
    return _packed(
        segments if known is None else known.watch(segments),
        digest,
        text.skipped,
        seed=seed,
        remedy="expected documents of two tokens or more",
    )


def _packed(
    segments: Iterable[Segment], digest: CorpusDigest, skipped: Counter[str], *, seed: int, remedy: str
) -> PackedInputs:
    """Collect inputs as they are generated; the generator fills `digest` and `skipped` meanwhile."""
    ids, types = array("i"), array("B")
    starts, keys, places = array("q", [0]), array("Q"), array("q")
    ordinals: dict[str, int] = {}
    for segment in segments:
        ids.frombytes(segment.ids.astype(np.int32).tobytes())
        types.frombytes(segment.token_types.astype(np.uint8).tobytes())
        starts.append(len(ids))
        places.append(ordinals.setdefault(segment.document, len(ordinals)))
        keys.append(_key(segment.document, segment.index, seed))
    left_out = dict(sorted(skipped.items()))
    if not places:
        why = "; ".join(f"{reason}: {number:,}" for reason, number in left_out.items())
        raise InputError(
            f"no input could be built from {count(digest.documents, 'document')} ({why or 'all lines are empty'}); "
            f"{remedy}"
        )
    return PackedInputs(
        ids=np.frombuffer(ids, dtype=np.int32),
        types=np.frombuffer(types, dtype=np.uint8),
        starts=np.array(starts, dtype=np.int64),
        documents=np.array(places, dtype=np.int64),
        keys=np.array(keys, dtype=np.uint64),
        hash=digest.hexdigest,
        read=digest.documents,
        left_out=left_out,
    )


def _key(document: str, index: int, seed: int) -> int:
    digest = blake2b(f"{seed} {index} {document}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def hold_out(inputs: PackedInputs, *, share: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split the inputs into a training and a held-out set, by whole documents chosen by their hash.

    The held-out set is a share of the documents, but at least 10 documents if that is at most a fifth of them, because
    intervals need 10. With one document, it is a share of its inputs. It has at most 1,000 inputs, but at least one
    document.

    Returns:
        Indices of inputs, `[train]` and `[held out]`, each in the corpus's order; no held-out inputs for a share of 0.

    Raises:
        InputError: the training set or the held-out set would be empty.
    """
    everything = np.arange(len(inputs))
    if share == 0:
        return everything, everything[:0]
    if len(inputs) < 2:
        raise InputError(
            "the corpus makes one input, and one is needed to train on and one to measure on; give more text, or "
            "--held-out 0"
        )
    count = int(inputs.documents[-1]) + 1
    if count == 1:
        number = min(max(1, round(share * len(inputs))), len(inputs) - 1, MOST_HELD_OUT)
        chosen = np.sort(np.argsort(inputs.keys, kind="stable")[:number])
        return np.setdiff1d(everything, chosen), chosen
    first = np.searchsorted(inputs.documents, np.arange(count))  # the key of a document is that of its first input
    order = np.argsort(inputs.keys[first], kind="stable")
    number = max(1, round(share * count), min(FEWEST_DOCUMENTS, count // 5))
    number = min(number, count - 1)
    sizes = np.bincount(inputs.documents, minlength=count)[order[:number]]
    number = max(1, int(np.searchsorted(np.cumsum(sizes), MOST_HELD_OUT, side="right")))
    is_held_out = np.isin(inputs.documents, order[:number])
    return np.flatnonzero(~is_held_out), np.flatnonzero(is_held_out)

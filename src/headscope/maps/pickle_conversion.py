"""Convert the original's pickles to a folder of maps, and back."""

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from headscope.corpora.document import Numbering, document_id
from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD
from headscope.encoding.tokenizer.token_names import piece_bytes, piece_text
from headscope.encoding.vocabulary import KeyClass, punctuation_class
from headscope.errors import InputError, OptionError
from headscope.maps.index import MapEntry, MapsIndex, Tokens, maps_folder
from headscope.maps.map_shards import rows_of
from headscope.maps.maps_source import MapsSource
from headscope.maps.pickles import read_original_pickle, write_original_pickle
from headscope.models.anatomy import KindLayout

NO_PLACE_FOR_SINKS = (
    "holds attention beside a learned sink, and the original's pickle has no place for one: its rows sum to 1"
)
# As written by the original's BERT.
_CLASSES = {"[CLS]": KeyClass.CLS, "[SEP]": KeyClass.SEP, ".": KeyClass.PERIOD_COMMA, ",": KeyClass.PERIOD_COMMA}


def pickle_to_maps(
    path: str | Path,
    folder: str | Path,
    *,
    encoder: Encoder | None = None,
    name: str | None = None,
    replace: bool = False,
) -> int:
    """Write the maps of an original pickle as a folder of maps (float16), and return their number.

    Each entry is a separate document. Maps that are all zero above the diagonal belong to a decoder. If
    an entry's attention is by word, its words and two special tokens become the tokens of the map, and its
    `tokens` stay in its fields.

    Args:
        path: the pickle; it is held in memory.
        folder: folder to create.
        encoder: encoder of the model that made the maps, for the ids and classes of tokens. Without it, classes are
            those of BERT's `[CLS]`, `[SEP]`, `.` and `,`, and tokens are numbered in order of appearance.
        name: name of the model, for the record.
        replace: whether an existing folder at `folder` is replaced.

    Raises:
        InputError: the pickle does not have this format; or a token is not in the encoder's vocabulary.
        OutputError: `folder` exists and may not be replaced.
    """
    entries = read_original_pickle(path)
    layers, heads = entries[0]["attns"].shape[:2]
    by_word = any(not _row_a_token(entry) for entry in entries)
    if by_word:
        _check_all_by_word(entries, path)
    causal = not any(np.triu(entry["attns"], 1).any() for entry in entries)
    special: dict[str, str | None] = {"cls": "[CLS]", "sep": "[SEP]"}
    if encoder is not None:
        special = {"cls": encoder.vocabulary.cls_name, "sep": encoder.vocabulary.sep_name}
    index = MapsIndex(
        model={"name": name or "unknown", "revision": None, "weights": None, "family": None},
        special=special,
        layout=(KindLayout("decoder" if causal else "encoder", layers, heads),),
        store="float16",
        word_level="first" if by_word else None,  # the original's code runs `first`
        signature={},
    )
    numbers: dict[str, int] = {}
    numbering = Numbering()
    with maps_folder(folder, index, replace=replace) as writer:
        for ordinal, entry in enumerate(entries):
            words = entry.get("words", [])
            fields = {key: _jsonable(value) for key, value in entry.items() if key not in ("attns", "tokens", "words")}
            if by_word:
                fields["tokens"] = entry["tokens"]
                tokens = _named_tokens([entry["tokens"][0], *words, entry["tokens"][-1]], numbers, by_word=True)
            elif encoder is not None:
                tokens = _known_tokens(entry["tokens"], encoder, f"{path}, entry {ordinal + 1}", causal=causal)
            else:
                tokens = _named_tokens(entry["tokens"], numbers, by_word=False)
            if words and len(set(tokens.word_ids) - {NO_WORD}) != len(words):
                # The tokens do not show their words: the words are kept as a field, but not used as the words of the
                # rows.
                fields["words"] = words
                words = []
            writer.add(
                MapEntry(
                    document=numbering.unique(
                        document_id(json.dumps([tokens.tokens, fields]).encode() + entry["attns"].tobytes())
                    ),
                    index=0,
                    input=tokens,
                    token_types=[0] * len(tokens),  # as the original feeds its model
                    words=words,
                    fields=fields,
                ),
                {index.layout[0].kind: entry["attns"]},
            )
    return len(entries)


def _row_a_token(entry: dict[str, Any]) -> bool:
    return bool(entry["attns"].shape[2] == len(entry["tokens"]))


def _check_all_by_word(entries: list[dict[str, Any]], path: str | Path) -> None:
    """Refuse a pickle with both forms: an entry whose rows are tokens would be read as if they were words."""
    for number, entry in enumerate(entries, 1):
        if entry["attns"].shape[2] != len(entry.get("words", [])) + 2:
            other = next(position for position, each in enumerate(entries, 1) if not _row_a_token(each))
            raise InputError(
                f"{path}, entry {number}: its attention is by token and that of entry {other} by word; keep the two "
                "in files of their own"
            )


def _named_tokens(names: list[str], numbers: dict[str, int], *, by_word: bool) -> Tokens:
    """Describe tokens by their names only."""
    word, word_ids = count(), []
    current, texts = NO_WORD, map(piece_text, piece_bytes(names))
    for position, name in enumerate(names):
        special = position in (0, len(names) - 1) if by_word else name in ("[CLS]", "[SEP]")
        if not special and (by_word or not name.startswith("##") or current == NO_WORD):
            current = next(word)
        word_ids.append(NO_WORD if special else current)
    return Tokens(
        tokens=names,
        ids=[numbers.setdefault(name, len(numbers)) for name in names],
        classes=[int(_CLASSES.get(name, punctuation_class(text))) for name, text in zip(names, texts, strict=True)],
        word_ids=word_ids,
    )


def _known_tokens(names: list[str], encoder: Encoder, origin: str, *, causal: bool) -> Tokens:
    """Describe tokens by the model's vocabulary."""
    segment = encoder.segment_of_tokens(names, document="", index=0, origin=origin)
    return Tokens(
        tokens=names,
        ids=segment.ids.tolist(),
        classes=encoder.vocabulary.of(segment.ids, decoder=causal).tolist(),
        word_ids=segment.word_ids.tolist(),
    )


def _jsonable(value: Any) -> Any:
    """Return a field in a form that JSON can hold: arrays as lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    if isinstance(value, dict):
        return {key: _jsonable(item) for key, item in value.items()}
    return value


def maps_to_pickle(folder: str | Path, path: str | Path, *, replace: bool = False) -> tuple[int, int]:
    """Write a folder of maps as the original's code would have: float16, with one segment at a time in memory.

    Returns:
        The number of entries written, and the number left out: entries by word in which a word has no row (it has
        no piece, or shares one), since the original's readers count rows as words.

    Raises:
        OptionError: the model has more than one kind of attention, or a learned sink, which the format cannot hold.
        InputError: the folder is not a folder of complete maps.
        OutputError: `path` exists and may not be replaced.
    """
    source = MapsSource(folder)
    if len(source.layout) != 1:
        kinds = ", ".join(part.kind for part in source.layout)
        raise OptionError(
            f"{folder} holds attention of several kinds ({kinds}), and the original's pickle has place for one; "
            "keep the folder of maps"
        )
    if source.layout[0].sinks:
        raise OptionError(f"{folder} {NO_PLACE_FOR_SINKS}; keep the folder of maps")
    left_out = 0

    def entries() -> Iterator[dict[str, Any]]:
        nonlocal left_out
        for entry in source.index.entries:
            if not _row_a_word(entry, by_word=source.index.word_level is not None):
                left_out += 1
                continue
            (attns,) = source.maps(entry).values()
            words = {"words": entry.words} if entry.words else {}
            fields = {name: value for name, value in entry.fields.items() if name != "attns"}
            yield {**words, "attns": attns, "tokens": entry.input.tokens, **fields}

    written = write_original_pickle(path, entries(), replace=replace)
    return written, left_out


def _row_a_word(entry: MapEntry, *, by_word: bool) -> bool:
    if not by_word or not entry.words:
        return True
    rows = [word for word in rows_of(entry.input, by_word=True).word_ids if word != NO_WORD]
    return rows == list(range(len(entry.words)))

"""Read the index of a folder of saved maps; every part is checked before it is used."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from headscope.attention.head_id import KINDS
from headscope.encoding.choices import POOLINGS
from headscope.encoding.segment import NO_WORD
from headscope.encoding.vocabulary import KeyClass
from headscope.errors import InputError
from headscope.maps import index_schema as take
from headscope.maps.index import FORMAT, INDEX, STORES, VERSION, MapEntry, MapsIndex, Mask, Shard, Tokens
from headscope.models.anatomy import KindLayout
from headscope.storage.bounded import MOST_PARTS, UnreadableFileError, read_json
from headscope.visible import described

_AGAIN = "extract the maps again"
# An index takes some 80 bytes per token, the maps of any real model over 10,000; reading 1 byte may take 20 of memory.
_ALWAYS_READ = 32 << 20
_BYTES_A_PART = 16  # minimum size of each list or object of an index
_DEPTH = take.MOST_DEPTH + 8  # for a corpus entry's fields, and the lists around them
_SHARD = take.record(file=take.shard_file, bytes=take.whole(high=1 << 50), hash=take.hash_of)
_MASK = take.record(shard=take.whole(), name=take.name_of, rows=take.whole(), keys=take.whole())
_MODEL = {"name": take.text, **dict.fromkeys(("revision", "weights", "family", "origin"), take.or_null(take.text))}
_TOKENS = take.record(
    tokens=take.all_of(take.text),
    ids=take.wholes(),
    classes=take.wholes(high=len(KeyClass) - 1),
    word_ids=take.wholes(low=NO_WORD),
)
_ENTRY = take.record(
    document=take.name_of,
    index=take.whole(),
    input=_TOKENS,
    decoder=take.or_null(_TOKENS),
    token_types=take.wholes(high=255),
    words=take.all_of(take.text),
    shortened=take.flag,
    fields=take.plain,
    shard=take.whole(),
    name=take.name_of,
    masks=take.mapping,
)


def read_index(folder: Path) -> MapsIndex:
    """Read `index.json`.

    Raises:
        InputError: the index is missing, not one of saved maps, of another version, or damaged; names the place of the
            error.
    """
    path = folder / INDEX
    maps = sum(each.stat().st_size for each in folder.glob("*.safetensors") if each.is_file())
    try:
        most = max(_ALWAYS_READ, maps)
        content = read_json(path, most=most, depth=_DEPTH, parts=max(MOST_PARTS, most // _BYTES_A_PART))
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"{folder} holds no saved maps: expected a folder with {INDEX}, as headscope extract writes it when "
            "it finishes; give that folder"
        ) from None
    except UnreadableFileError as error:
        raise InputError(f"{path} is damaged (it {error.problem}); {_AGAIN}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is not an index of saved maps; give a folder that headscope extract wrote")
    if content.get("version") != VERSION:
        raise InputError(
            f"{path} has version {described(content.get('version'))} of saved maps, expected version {VERSION}; "
            f"use the headscope that wrote it, or {_AGAIN} with this one"
        )
    try:
        return _index(content)
    except KeyError as error:
        raise InputError(f"{path} is damaged (it lacks {error}); {_AGAIN}") from None
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); {_AGAIN}") from None


def _index(content: Mapping[str, Any]) -> MapsIndex:
    model, signature = take.plain(content["model"], "model"), take.plain(content["signature"], "signature")
    for name, check in _MODEL.items():
        if name in model:
            check(model[name], f"the model's {name}")
    take.mapping(signature.get("options", {}), "the signature's options")
    for name, part in take.mapping(signature.get("corpus", {}), "the signature's corpus").items():
        take.scalar(part, f"the signature's corpus, {described(name)}")
    special = take.plain(content["special"], "special")
    for name, part in special.items():
        take.or_null(take.text)(part, f"the special token {described(name)}")
    head = MapsIndex(
        model=model,
        special=special,
        layout=tuple(map(_layout, take.listed(content["layout"], "layout"))),
        store=take.one_of(*STORES)(content["store"], "store"),
        word_level=take.or_null(take.one_of(*POOLINGS))(content["word_level"], "word_level"),
        signature=signature,
        shards=tuple(Shard(**part) for part in take.all_of(_SHARD)(content["shards"], "shards")),
        masks=tuple(Mask(**part) for part in take.all_of(_MASK)(content["masks"], "masks")),
    )
    kinds = [part.kind for part in head.layout]
    if not kinds or len(set(kinds)) < len(kinds):
        raise ValueError(f"layout: expected each kind of attention once, found {', '.join(kinds) or 'none'}")
    if "cross" in kinds and not {"encoder", "decoder"} <= set(kinds):
        raise ValueError(f"layout: expected cross attention beside an encoder and a decoder, found {', '.join(kinds)}")
    _check_once([shard.file for shard in head.shards], "file of the shards")
    values = take.listed(content["entries"], "entries")
    entries = tuple(_entry(each, f"entry {number}", head) for number, each in enumerate(values, 1))
    if not entries:
        raise ValueError("entries: expected at least one segment, found none")
    _check_once([f"{entry.index} of document {entry.document}" for entry in entries], "segment")
    _check_once([f"{entry.name} of shard {entry.shard}" for entry in entries], "name of maps")
    return replace(head, entries=entries)


def _check_once(values: list[str], what: str) -> None:
    value, number = Counter(values).most_common(1)[0] if values else ("", 0)
    if number > 1:
        raise ValueError(f"expected each {what} once, found {value} {number} times")


def _layout(value: Any) -> KindLayout:
    number = take.whole(low=1, high=take.MOST_HEADS)
    checks = {"kind": take.one_of(*KINDS), "layers": number, "heads": number}
    checks |= {name: take.wholes() for name in ("sinks", "own") if isinstance(value, dict) and name in value}
    part = take.record(**checks)(value, "layout")
    sinks, own, last = part.get("sinks", []), part.get("own", []), part["layers"] - 1
    is_ascending = all(numbers == sorted(set(numbers)) for numbers in (sinks, own))
    if not is_ascending or max(sinks, default=0) > last or len(own) not in (0, part["layers"]) or 0 in own:
        raise ValueError("layout: expected ascending numbers of layers for sinks and own")
    if (heads_in_all := part["layers"] * part["heads"]) > take.MOST_HEADS:
        raise ValueError(f"layout: expected at most {take.MOST_HEADS:,} heads, found {heads_in_all:,}")
    return KindLayout(part["kind"], part["layers"], part["heads"], sinks=tuple(sinks), model_layers=tuple(own))


def _entry(value: Any, where: str, head: MapsIndex) -> MapEntry:
    part = _ENTRY(value, where)
    sides = {side: None if part[side] is None else Tokens(**part[side]) for side in ("input", "decoder")}
    entry = MapEntry(**part | sides)
    kinds = {kind.kind: kind.layers for kind in head.layout}
    if ("encoder" in kinds and "decoder" in kinds) != (entry.decoder is not None):
        raise ValueError(f"{where}: expected tokens of a decoder beside those of an encoder, and only there")
    for tokens in filter(None, (entry.input, entry.decoder)):
        # Word ids refer to the given words, or to those of the text if none were given.
        take.wholes(low=NO_WORD, high=(len(entry.words) or take.MOST_WORDS) - 1)(tokens.word_ids, f"{where}, word_ids")
        if len(tokens) == 0 or len({len(each) for each in vars(tokens).values()}) > 1:
            raise ValueError(f"{where} has lists of different length, or no tokens")
    if entry.token_types and len(entry.token_types) != len(entry.input):
        raise ValueError(f"{where} has lists of different length")
    take.whole(high=len(head.shards) - 1)(entry.shard, f"{where}, shard")
    for kind, numbers in entry.masks.items():
        if kind not in kinds:
            raise ValueError(f"{where}: expected masks of {', '.join(kinds)} attention, found {described(kind)}")
        masks = take.all_of(take.or_null(take.whole(high=len(head.masks) - 1)))(numbers, f"{where}, {kind} masks")
        if len(masks) != kinds[kind]:
            raise ValueError(f"{where}: expected {kinds[kind]} {kind} masks, one for each layer, found {len(masks)}")
        for mask in [head.masks[number] for number in {*masks} - {None}]:
            take.whole(high=len(head.shards) - 1)(mask.shard, f"{mask.name}, shard")
            if (mask.rows, mask.keys) != (size := head.size(entry, kind)):
                raise ValueError(
                    f"{where}: expected a mask of {size[0]:,} rows and {size[1]:,} keys for {kind} attention, found "
                    f"one of {mask.rows:,} and {mask.keys:,}"
                )
    return entry

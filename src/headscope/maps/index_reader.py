"""Read the index of a folder of saved maps; every part is checked before it is used."""

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

_AGAIN = "extract the maps again"
# An index takes some 80 bytes per token, the maps of any real model over 10,000; reading 1 byte may take 20 of memory.
_ALWAYS_READ = 32 << 20
_BYTES_A_PART = 16  # minimum size of each list or object of an index
_DEPTH = take.MOST_DEPTH + 8  # for a corpus entry's fields, and the lists around them
_SCALARS = (str, int, float, bool, type(None))
_TOKENS = ("tokens", "ids", "classes", "word_ids")
_ENTRY = (
    *("document", "index", "input", "decoder", "token_types", "words", "shortened", "fields"),
    *("shard", "name", "masks"),
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
            f"{path} has version {take.shown(content.get('version'))} of saved maps, expected version {VERSION}; "
            f"use the headscope that wrote it, or {_AGAIN} with this one"
        )
    try:
        return _index(content)
    except KeyError as error:
        raise InputError(f"{path} is damaged (it lacks {error}); {_AGAIN}") from None
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); {_AGAIN}") from None


def _index(content: Mapping[str, Any]) -> MapsIndex:
    head = MapsIndex(
        model=_model(content["model"]),
        special={
            name: take.text_or_none(value, f"the special token {take.shown(name)}")
            for name, value in take.plain(content["special"], "special").items()
        },
        layout=tuple(_layout(each) for each in take.listed(content["layout"], "layout")),
        store=str(take.one_of(content["store"], STORES, "store")),
        word_level=take.one_of(content["word_level"], (*POOLINGS, None), "word_level"),
        signature=_signature(content["signature"]),
        shards=tuple(_shard(each) for each in take.listed(content["shards"], "shards")),
        masks=tuple(_mask(each) for each in take.listed(content["masks"], "masks")),
    )
    kinds = [part.kind for part in head.layout]
    if not kinds or len(set(kinds)) < len(kinds):
        raise ValueError(f"layout: expected each kind of attention once, found {', '.join(kinds) or 'none'}")
    if "cross" in kinds and not {"encoder", "decoder"} <= set(kinds):
        raise ValueError(f"layout: expected cross attention beside an encoder and a decoder, found {', '.join(kinds)}")
    files = [shard.file for shard in head.shards]
    if twice := _twice(files):
        raise ValueError(f"shards: expected each file once, found {twice} twice")
    entries = tuple(
        _entry(each, number, head) for number, each in enumerate(take.listed(content["entries"], "entries"), 1)
    )
    if not entries:
        raise ValueError("entries: expected at least one segment, found none")
    if twice := _twice([(entry.document, entry.index) for entry in entries]):
        raise ValueError(f"segment {twice[1] + 1} of document {twice[0]} is there twice")
    if twice := _twice([(entry.shard, entry.name) for entry in entries]):
        raise ValueError(f"two segments have the maps named {twice[1]!r}")
    return replace(head, entries=entries)


def _twice(values: list[Any]) -> Any:
    """Return a value that occurs twice, or None."""
    earlier = set()
    for value in values:
        if value in earlier:
            return value
        earlier.add(value)
    return None


def _model(value: Any) -> dict[str, Any]:
    model = take.plain(value, "model")
    take.text(model.get("name", ""), "the model's name")
    for name in ("revision", "weights", "family", "origin"):
        take.text_or_none(model.get(name), f"the model's {name}")
    return model


def _signature(value: Any) -> dict[str, Any]:
    signature = take.plain(value, "signature")
    take.mapping(signature.get("options", {}), "the signature's options")
    for name, part in take.mapping(signature.get("corpus", {}), "the signature's corpus").items():
        if not isinstance(part, _SCALARS):
            raise ValueError(
                f"the signature's corpus, {take.named(name)}: expected a text or a number, found {take.named(part)}"
            )
    return signature


def _layout(value: Any) -> KindLayout:
    more = [name for name in ("sinks", "own") if isinstance(value, dict) and name in value]
    part = take.record(value, ("kind", "layers", "heads", *more), "layout")
    if part["kind"] not in KINDS:
        raise ValueError(f"attention of kind {take.shown(part['kind'])}")
    layers = take.whole(part["layers"], f"{part['kind']} layers", low=1, high=take.MOST_HEADS)
    heads = take.whole(part["heads"], f"{part['kind']} heads", low=1, high=take.MOST_HEADS // layers)
    sinks = take.wholes(part.get("sinks", []), f"{part['kind']} sinks", high=layers - 1)
    model_layers = take.wholes(part.get("own", []), f"{part['kind']} layers of its own", low=1)
    for numbers, name in ((sinks, "sinks"), (model_layers, "layers of its own")):
        if numbers != sorted(set(numbers)):
            raise ValueError(f"{part['kind']} {name}: expected ascending numbers, found {numbers}")
    if model_layers and len(model_layers) != layers:
        raise ValueError(f"{part['kind']} layers of its own: expected {layers} numbers, found {len(model_layers)}")
    return KindLayout(
        kind=part["kind"], layers=layers, heads=heads, sinks=tuple(sinks), model_layers=tuple(model_layers)
    )


def _shard(value: Any) -> Shard:
    part = take.record(value, ("file", "bytes", "hash"), "a shard")
    file = take.shard_file(part["file"])
    size = take.whole(part["bytes"], f"the bytes of {file}", high=1 << 50)
    return Shard(file=file, bytes=size, hash=take.hash_of(part["hash"], f"the hash of {file}"))


def _mask(value: Any) -> Mask:
    part = take.record(value, ("shard", "name", "rows", "keys"), "a mask")
    name = take.name_of(part["name"], "a mask's name")
    numbers = {key: take.whole(part[key], f"{name}, {key}") for key in ("shard", "rows", "keys")}
    return Mask(name=name, **numbers)


def _entry(value: Any, number: int, head: MapsIndex) -> MapEntry:
    part = take.record(value, _ENTRY, f"entry {number}")
    document = take.name_of(part["document"], f"the document of entry {number}")
    index = take.whole(part["index"], f"the index of entry {number}")
    where = f"segment {index + 1} of document {document}"
    words = take.texts(part["words"], f"{where}, words")
    kinds = [kind.kind for kind in head.layout]
    decoder = None
    if "encoder" in kinds and "decoder" in kinds:
        decoder = _tokens(part["decoder"], words, where)
    elif part["decoder"] is not None:
        raise ValueError(f"{where} has tokens of a decoder, and the maps are of {', '.join(kinds)} attention")
    entry = MapEntry(
        document=document,
        index=index,
        input=_tokens(part["input"], words, where),
        decoder=decoder,
        token_types=take.wholes(part["token_types"], f"{where}, token_types", high=255),
        words=words,
        shortened=take.flag(part["shortened"], f"{where}, shortened"),
        fields=take.plain(part["fields"], f"{where}, fields"),
        shard=take.whole(part["shard"], f"{where}, shard"),
        name=take.name_of(part["name"], f"{where}, name"),
        masks=_mask_numbers(part["masks"], where, head),
    )
    if entry.token_types and len(entry.token_types) != len(entry.input):
        raise ValueError(f"{where} has lists of different length")
    if entry.shard >= len(head.shards):
        raise ValueError(f"{where} lies nowhere")
    _check_mask_sizes(entry, where, head)
    return entry


def _tokens(value: Any, words: list[str], where: str) -> Tokens:
    part = take.record(value, _TOKENS, f"{where}, its tokens")
    # Word ids refer to the given words, or to those of the text if none were given.
    most = len(words) or take.MOST_WORDS
    tokens = Tokens(
        tokens=take.texts(part["tokens"], f"{where}, tokens"),
        ids=take.wholes(part["ids"], f"{where}, ids"),
        classes=take.wholes(part["classes"], f"{where}, classes", high=len(KeyClass) - 1),
        word_ids=take.wholes(part["word_ids"], f"{where}, word_ids", low=NO_WORD, high=most - 1),
    )
    if len({len(each) for each in vars(tokens).values()}) > 1:
        raise ValueError(f"{where} has lists of different length")
    if not tokens.tokens:
        raise ValueError(f"{where} has no tokens")
    return tokens


def _mask_numbers(value: Any, where: str, head: MapsIndex) -> dict[str, list[int | None]]:
    """Return the masks of a segment's layers; refuse masks that are missing, or of unknown layers or kinds."""
    layers = {part.kind: part.layers for part in head.layout}
    masks = take.mapping(value, f"{where}, masks")
    for kind, numbers in masks.items():
        if kind not in layers:
            raise ValueError(f"{where} has masks of kind {take.shown(kind)}")
        if len(take.listed(numbers, f"{where}, {kind} masks")) != layers[kind]:
            raise ValueError(f"{where} lacks masks")
        mask_numbers = take.wholes([each for each in numbers if each is not None], f"{where}, {kind} masks")
        if any(number >= len(head.masks) for number in mask_numbers):
            raise ValueError(f"{where} lies nowhere")
    return masks


def _check_mask_sizes(entry: MapEntry, where: str, head: MapsIndex) -> None:
    for kind, numbers in entry.masks.items():
        size = head.size(entry, kind)
        for mask in {number: head.masks[number] for number in numbers if number is not None}.values():
            if (mask.rows, mask.keys) != size:
                raise ValueError(
                    f"{where}: expected a mask of {size[0]:,} rows and {size[1]:,} keys for {kind} attention, found "
                    f"one of {mask.rows:,} and {mask.keys:,}"
                )
            if mask.shard >= len(head.shards):
                raise ValueError(f"{mask.name} lies nowhere")

"""Tokenizers that name other files or classes, or that grow far beyond the size of their file."""

import base64
import functools
import json
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from support.hostile import Case
from support.hostile_model_folders import changed, in_json, whole_folder, without, written

OUTSIDE = "/dev/zero"
DOUBLES = {"type": "Replace", "pattern": {"Regex": "[a-z]"}, "content": "aa"}
TEMPLATES = "additional_chat_templates"


def growing_definition() -> str:
    """Return a tokenizer.json that doubles a text 40 times."""
    definition = json.loads((whole_folder() / "tokenizer.json").read_text())
    return json.dumps({**definition, "normalizer": {"type": "Sequence", "normalizers": [DOUBLES] * 40}})


def named_files() -> Iterator[Case]:
    """Yield configurations whose keys make transformers open other files than the checked ones."""
    config = "tokenizer_config.json"
    named = {
        "fast_tokenizer_files": ["tokenizer.4.0.0.json"],
        "gguf_file": OUTSIDE,
        "init_inputs": [OUTSIDE],
        "vocab": OUTSIDE,
        "merges": OUTSIDE,
        "sp_model_kwargs.model_file": OUTSIDE,
        "sp_model_kwargs.model_proto": OUTSIDE,
        "mecab_kwargs.mecab_option": f"-r {OUTSIDE}",
        "sudachi_kwargs.sudachi_config_path": OUTSIDE,
        "sudachi_kwargs.sudachi_resource_dir": OUTSIDE,
    }
    for key, value in named.items():
        outer, _, inner = key.partition(".")
        says = f"names other files to read ({key})"
        yield changed(f"names-{key}", says, in_json(config, **{outer: {inner: value} if inner else value}))
    for key in ("configuration_files", "transformers_weights"):
        says = f"names other files to read ({key})"
        yield changed(f"names-{key}", says, in_json("config.json", **{key: ["config.4.0.0.json"]}))
    for key in ("gguf_file", "vocab", "merges", "sp_model_kwargs", "vocab_file"):
        yield changed(f"names-no-{key}", None, in_json(config, **{key: None}))
    yield changed("names-author's", None, in_json(config, tokenizer_file="/home/me/tokenizer.json"))
    for key in ("tokenizer_file", "vocab_file", "sp_model_kwargs", "chat_template", "\x1b[31m"):
        says = "special_tokens_map.json names other files to read ("
        yield changed(f"map-{key[1:]}", says, in_json("special_tokens_map.json", **{key: OUTSIDE}))
    yield changed("map-of-tokens", None, in_json("special_tokens_map.json", unk_token="[UNK]", pad_token=None))


def other_classes() -> Iterator[Case]:
    """Yield folders whose tokenizer class is not a tokenizer, or is a pair of them."""
    for name in ("RagTokenizer", "BertModel", "AutoModel", "AutoTokenizer", "GenerationConfig", "pipeline", "models"):
        for file in ("tokenizer_config.json", "config.json"):
            taken_out = in_json("tokenizer_config.json", tokenizer_class=...)
            changes = (taken_out, in_json(file, tokenizer_class=name))
            yield changed(f"class-{name}-{file}", f"its tokenizer is of the class {name}", *changes)
    taken_out = in_json("tokenizer_config.json", tokenizer_class=...)
    yield changed("class-of-rag", "of the class RagTokenizer", taken_out, in_json("config.json", model_type="rag"))


def texts() -> Iterator[Case]:
    """Yield lone surrogates, which no file can hold, and chat templates that lead out of their folder."""
    files = ("config.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.json")
    for file in (*files, "generation_config.json"):
        yield changed(
            f"half-{file}", f"{file} holds half a character (a lone surrogate, U+D83D)", in_json(file, a_token="\ud83d")
        )
    config = "tokenizer_config.json"
    for name in ("../evil", "/tmp/evil", "a/b", "..\\evil", ".", "a\0b"):
        for templates in ({name: "a"}, [{"name": name, "template": "a"}]):
            says = "has a chat template that is not a text under a plain name"
            kind = type(templates).__name__
            yield changed(f"template-{kind}-{name!r}", says, in_json(config, chat_template=templates))
    for name, value in {"number": 5, "list": ["a"], "nested": {"a": {"b": "c"}}, "null": {"a": None}}.items():
        says = "has a chat template that is not a text under a plain name"
        yield changed(f"template-{name}", says, in_json(config, chat_template=value))
    for name, value in {"text": "{{ a }}", "texts": {"default": "a", "tool use": "b"}, "none": None}.items():
        yield changed(f"template-{name}", None, in_json(config, chat_template=value))


def _template(name: str, make: Callable[[Path], object]) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        (folder / TEMPLATES).mkdir()
        make(folder / TEMPLATES / name)

    return change


def sparse(path: Path, size: int = 8 << 30) -> None:
    """Make a sparse file, of 8 GiB by default."""
    with path.open("wb") as file:
        file.truncate(size)


def files() -> Iterator[Case]:
    """Yield huge sparse files and FIFOs wherever transformers looks for files."""
    says = f"has {8 << 30:,} bytes; expected at most "
    for file in ("chat_template.jinja", "tekken.json", "any.model", "target.spm", "word_shape.json", "bpe.codes"):
        yield changed(f"endless-{file}", says, lambda folder, file=file: sparse(folder / file))
    yield changed("endless-template-below", says, _template("tool.jinja", sparse))
    fifo = "tool.jinja is a FIFO; expected a regular file"
    yield changed("fifo-template-below", fifo, _template("tool.jinja", os.mkfifo))
    yield changed("template-below", None, _template("tool.jinja", lambda path: path.write_text("a")))
    yield changed("endless-weights-of-others", None, lambda folder: sparse(folder / "pytorch_model.bin"))


def field(number: int, content: bytes) -> bytes:
    """Return a bytes field of a protocol buffer."""
    length, size = b"", len(content)
    while size >= 128:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def sentence_piece(*pieces: bytes, table: bytes = b"") -> bytes:
    """Return a SentencePiece model of these pieces, with a table of replacements."""
    scored = (field(1, field(1, piece) + b"\x15" + struct.pack("<f", -1.0)) for piece in pieces)
    return b"".join(scored) + (field(3, field(2, table)) if table else b"")


def tiktoken(*pieces: bytes) -> bytes:
    """Return the content of a tiktoken file."""
    lines = (base64.b64encode(piece) + f" {number}".encode() for number, piece in enumerate(pieces))
    return b"\n".join(lines)


def vocabularies() -> Iterator[Case]:
    """Yield vocabularies with very long pieces, whose splits are all tried, and with tokens generated from a number."""
    long, says = [bytes([65 + number % 26]) * (60_000 + number) for number in range(20)], "has pieces of up to 60,0"
    grows = struct.pack("<I", 4) + bytes(4) + b"x" * 5000 + b"\0"
    only = without("tokenizer.json", "vocab.txt")
    for name in ("tokenizer.model", "spiece.model", "any.model"):
        with_vocabulary = written("vocab.txt", "a\nb\n") if name == "any.model" else lambda folder: None
        for kind, content in {"sentence-piece": sentence_piece(*long), "tiktoken": tiktoken(*long)}.items():
            yield changed(f"{kind}-{name}", says, only, with_vocabulary, written(name, content))
    tekken = {"vocab": [{"rank": 0, "token_bytes": base64.b64encode(piece).decode()} for piece in long]}
    yield changed("tekken", "tekken.json has pieces of up to ", written("tekken.json", json.dumps(tekken)))
    yield changed(
        "table-that-grows", "makes 5,000 letters of one", written("tokenizer.model", sentence_piece(table=grows))
    )
    for name, content in {"empty": b"", "random": bytes(range(256)) * 999, "cut": sentence_piece(*long)[:7]}.items():
        yield changed(f"no-vocabulary-{name}", None, written("other.model", content))
    config = "tokenizer_config.json"
    for key in ("extra_ids", "offset", "num_madeup_words"):
        for number in (10**9, 10**300, 1e18):
            says = f"tokens to its vocabulary ({key})"
            yield changed(f"{key}-{number:.0e}", says, in_json(config, **{key: number}))
    decoder = {"3000000": {"content": "x"}}
    yield changed("added-far", "adds a token with the id 3000000", in_json(config, added_tokens_decoder=decoder))
    yield changed("added-beside-far", "adds a token with the id ", in_json("added_tokens.json", x=10**30))
    many = {f"t{number}": number for number in range(150_000)}
    yield changed("added-beside", "adds 150,000 tokens", written("added_tokens.json", json.dumps(many)))
    for key in ("additional_special_tokens", "extra_special_tokens"):
        yield changed(f"added-{key}", "adds 150,000 tokens", in_json(config, **{key: list(many)}))
    yield changed("template-around", "puts 1,000,001 tokens around a text", functools.partial(_around, 1000, 1000))
    yield changed("texts-around", "puts 2,001 tokens around a text", functools.partial(_around, 2000, 1))


def _around(pieces: int, ids: int, folder: Path) -> None:
    path = folder / "tokenizer.json"
    definition = json.loads(path.read_text())
    text = {"Sequence": {"id": "A", "type_id": 0}}
    definition["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}] * pieces + [text],
        "pair": [text, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2] * ids, "tokens": ["[CLS]"] * ids}},
    }
    path.write_text(json.dumps(definition))


def every_case() -> Iterator[Case]:
    """Yield all folders that must be refused or loaded without harm."""
    for make in (named_files, other_classes, texts, files, vocabularies):
        yield from make()

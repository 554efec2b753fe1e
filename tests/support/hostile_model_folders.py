"""Model folders that are damaged, absurd or try to run code; each is a changed copy of one whole folder."""

import functools
import itertools
import json
import pickle
import shutil
import struct
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from support.hostile import Case

MARKER = "HEADSCOPE_HOSTILE_MARKER"
OWN_CODE = "needs code of its own"
Change = Callable[[Path], object]


@functools.cache
def whole_folder() -> Path:
    """Return the folder of a saved two-layer BERT with a vocabulary of letters; tests only copy it."""
    import torch
    from transformers import BertConfig, BertForMaskedLM

    from support.tiny_models import VOCABULARY
    from support.tiny_tokenizers import tiny_tokenizer

    folder = Path(tempfile.mkdtemp(prefix="headscope-whole-"))
    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        vocab_size=VOCABULARY,
        max_position_embeddings=200,
    )
    BertForMaskedLM(config).save_pretrained(folder)
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    tokenizer.save_pretrained(folder)
    return folder


def copied(folder: Path, *changes: Change) -> Path:
    """Return a copy of the whole folder with changes made in it."""
    made = folder / "model"
    shutil.copytree(whole_folder(), made)
    for change in changes:
        change(made)
    return made


def changed(name: str, says: str | None, *changes: Change) -> Case:
    """Return the case of a changed copy."""
    return Case(name, lambda folder: copied(folder, *changes), says)


def in_json(file: str, **values: object) -> Change:
    """Set values in a JSON file of the folder; the value `...` removes a key."""

    def change(folder: Path) -> None:
        path = folder / file
        given = json.loads(path.read_text()) if path.is_file() else {}
        merged = {key: value for key, value in {**given, **values}.items() if value is not ...}
        path.write_text(json.dumps(merged))

    return change


def written(file: str, content: bytes | str) -> Change:
    """Return the change that writes a file of the folder."""
    data = content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
    return lambda folder: (folder / file).write_bytes(data)


def without(*files: str) -> Change:
    """Return the change that removes files from the folder."""
    return lambda folder: [(folder / file).unlink(missing_ok=True) for file in files]


def _program(folder: Path) -> None:
    """Write a module whose import leaves a marker, under every name that the references use."""
    code = f"import os, pathlib\npathlib.Path(os.environ['{MARKER}']).touch()\n"
    code += "class Evil:\n    pass\n"
    for name in ("evil.py", "modeling_evil.py", "tokenization_evil.py", "configuration_evil.py"):
        (folder / name).write_text(code)


_MODEL_MAP = {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil", "AutoModelForMaskedLM": "evil.Evil"}
_TOKENIZER_MAP = {"AutoTokenizer": ["evil.Evil", "evil.Evil"]}


def _upstream(given: dict) -> dict:
    def far(value):
        return [far(each) for each in value] if isinstance(value, list) else f"other/repo--{value}"

    return {key: far(value) for key, value in given.items()}


def code_folders() -> Iterator[Case]:
    """Yield folders that cannot be loaded without running code from them or from a repository that they name."""
    for far, label in ((dict, "local"), (_upstream, "other-repo")):
        own = {"model_type": "evil", "auto_map": far(_MODEL_MAP)}
        mapped = {"auto_map": far(_TOKENIZER_MAP), "tokenizer_class": "EvilTokenizer"}
        yield changed(f"config-{label}", OWN_CODE, _program, in_json("config.json", **own))
        yield changed(f"tokenizer-{label}", OWN_CODE, _program, in_json("tokenizer_config.json", **mapped))
    yield changed(
        "config-without-family", OWN_CODE, _program, in_json("config.json", model_type=..., auto_map=_MODEL_MAP)
    )
    yield changed(
        "tokenizer-old-list",
        OWN_CODE,
        _program,
        in_json("tokenizer_config.json", auto_map=["evil.Evil", None], tokenizer_class="EvilTokenizer"),
    )
    for key in ("attn_implementation", "_attn_implementation", "experts_implementation"):
        yield changed(f"kernel-{key}", OWN_CODE, _program, in_json("config.json", **{key: "evil/kernel:attention"}))
    yield changed(
        "kernel-in-a-part", OWN_CODE, in_json("config.json", text_config={"attn_implementation": {"": "evil/kernel"}})
    )


def known_families_with_code() -> Iterator[Case]:
    """Yield folders that name a known family and code: transformers' own class is used, no code runs."""
    maps = {"local": dict, "other-repo": _upstream}
    for label, far in maps.items():
        yield changed(f"config-{label}", None, _program, in_json("config.json", auto_map=far(_MODEL_MAP)))
        yield changed(
            f"tokenizer-{label}", None, _program, in_json("tokenizer_config.json", auto_map=far(_TOKENIZER_MAP))
        )
        yield changed(
            f"tokenizer-without-class-{label}",
            None,
            _program,
            in_json("tokenizer_config.json", auto_map=far(_TOKENIZER_MAP), tokenizer_class=...),
        )
        yield changed(
            f"both-{label}",
            None,
            _program,
            in_json("config.json", auto_map=far({**_MODEL_MAP, **_TOKENIZER_MAP})),
            in_json("tokenizer_config.json", auto_map=far(_TOKENIZER_MAP)),
        )
    yield changed(
        "generate",
        None,
        lambda f: (f / "custom_generate").mkdir(),
        _program,
        written("custom_generate/generate.py", "1/0"),
    )


_LAYER_KEYS = ("num_hidden_layers",)
_SIZE_KEYS = ("hidden_size", "vocab_size", "num_attention_heads", "intermediate_size", "max_position_embeddings")
_KEYS = (*_LAYER_KEYS, *_SIZE_KEYS)
_ABSURD = {
    "billion": 10**9,
    "of-400-digits": 10**400,
    "negative": -3,
    "text": "12",
    "escape": "\x1b[31m12",
    "fraction": 2.5,
    "infinite": float("inf"),
    "nan": float("nan"),
    "true": True,
    "object": {"a": 1},
    "list-of-text": ["1", "2"],
}


def config_numbers() -> Iterator[Case]:
    """Yield configurations with impossible sizes."""
    for key, (name, value) in itertools.product(_KEYS, _ABSURD.items()):
        yield changed(f"{key}-{name}", f"config.json gives {key} as ", in_json("config.json", **{key: value}))
    for key in ("hidden_size", "vocab_size", "intermediate_size"):
        # These numbers are within bounds but would make a model of gigabytes.
        yield changed(f"{key}-gigabytes", "makes a model of", in_json("config.json", **{key: 1 << 24}))
        yield changed(
            f"{key}-other", "could not be loaded: its weights have other shapes", in_json("config.json", **{key: 32})
        )
    yield changed(
        "max_position_embeddings-zero",
        "max_position_embeddings as 0",
        in_json("config.json", max_position_embeddings=0),
    )
    yield changed("layers-zero", "", in_json("config.json", num_hidden_layers=0))
    yield changed("heads-zero", "could not be loaded", in_json("config.json", num_attention_heads=0))
    yield changed("heads-that-do-not-fit", "could not be loaded", in_json("config.json", num_attention_heads=7))
    yield changed("a-part-that-is-none", "names a part for text", in_json("config.json", text_config={"vocab_size": 9}))
    yield changed("layers-null", "num_hidden_layers as null", in_json("config.json", num_hidden_layers=None))
    yield changed("layers-more-than-tensors", "and the weights hold", in_json("config.json", num_hidden_layers=900))
    yield changed("layers-lacking", "the checkpoint lacks", in_json("config.json", num_hidden_layers=3))
    yield changed("labels-ten-million", "num_labels as 10,000,000", in_json("config.json", num_labels=10_000_000))
    many = {str(number): "x" for number in range(120_000)}
    yield changed("labels-named", "names 120,000 labels", in_json("config.json", id2label=many))
    yield changed(
        "part-of-a-billion-layers",
        "num_layers as 1,000,000,000",
        in_json("config.json", text_config={"num_layers": 10**9}),
    )
    for family in ("gpt2", "llama", "albert", "modernbert", "gemma2", "qwen3", "t5"):
        key = {"gpt2": "n_layer", "t5": "num_layers"}.get(family, "num_hidden_layers")
        yield changed(
            f"{family}-of-a-billion-layers",
            f"{key} as 1,000,000,000",
            in_json("config.json", model_type=family, **{key: 10**9}),
        )


def config_fields() -> Iterator[Case]:
    """Yield configurations with values of a wrong type, which must be refused in words, whichever library notices."""
    wrong = {"number": 5, "list": [1], "object": {"a": {}}, "escape": "\x1b[2J\u202e", "long": "x" * 100_000}
    for key, (name, value) in itertools.product(
        ("model_type", "architectures", "hidden_act", "auto_map", "quantization_config"), wrong.items()
    ):
        ignored = key == "architectures" or (key == "auto_map" and name != "number")
        yield changed(f"{key}-{name}", None if ignored else "", in_json("config.json", **{key: value}))
    yield changed(
        "family-unknown", "of a family that transformers does not know", in_json("config.json", model_type="evil")
    )
    for value in ("../evil.bin", "adapter_model.bin", "other.safetensors.index.json"):
        yield changed(
            f"weights-named-{value.replace('/', '-')}",
            "names other files to read (transformers_weights)",
            in_json("config.json", transformers_weights=value),
        )


_BROKEN_JSON = {
    "garbage": (b"\x93\x00\xff\x1b[31m", "is not JSON"),
    "empty": (b"", "is not JSON"),
    "cut": (b'{"model_type": "be', "is not JSON"),
    "utf-16": ('{"a": 1}'.encode("utf-16"), "is not JSON"),
    "list": (b"[1, 2]", "holds a list; expected an object"),
    "null": (b"null", "holds null; expected an object"),
    "text": (b'"bert"', "holds the text 'bert'; expected an object"),
    "deep": (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "is nested more than 50 deep"),
    "deep-objects": (b'{"a":' * 200 + b"1" + b"}" * 200, "is nested more than 50 deep"),
    "long-number": (b'{"a": ' + b"9" * 5000 + b"}", "is not JSON"),
}
JSON_FILES = (
    "config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "generation_config.json",
)


def json_files() -> Iterator[Case]:
    """Yield each of the small files, broken in each way."""
    for file, (name, (content, says)) in itertools.product(JSON_FILES, _BROKEN_JSON.items()):
        yield changed(f"{file}-{name}", says, written(file, content))
    for file in JSON_FILES:
        yield changed(f"{file}-200-MB", "has 200,000,000 bytes", functools.partial(_sparse, file, 200_000_000))
    yield changed(
        "config-a-folder", "has no config.json", without("config.json"), lambda f: (f / "config.json").mkdir()
    )
    yield changed(
        "adapter-alone", "holds an adapter alone", without("config.json"), written("adapter_config.json", "{}")
    )
    yield changed("adapter-beside", "holds an adapter beside its model", written("adapter_config.json", "{}"))


def _sparse(file: str, size: int, folder: Path) -> None:
    with (folder / file).open("wb") as opened:
        opened.truncate(size)


class _Touch:
    """Leave a marker when an unpickler runs code."""

    def __reduce__(self):
        return (eval, (f"open(__import__('os').environ['{MARKER}'], 'w')",))


def _torch_pickle() -> bytes:
    import io

    import torch

    file = io.BytesIO()
    torch.save({"weight": _Touch()}, file)
    return file.getvalue()


def _header(text: bytes, *, length: int | None = None, data: bytes = b"") -> bytes:
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def _contents() -> Iterator[tuple[str, bytes, str]]:
    """Yield contents of weight files that must be refused."""
    yield "empty", b"", "is not a safetensors file"
    yield "short", b"\x01\x00", "is not a safetensors file"
    yield "pickle", pickle.dumps({"weight": _Touch()}), "is a pickle inside"
    yield "old-pickle", pickle.dumps({"weight": _Touch()}, protocol=2), "is a pickle inside"
    yield "torch-pickle", _torch_pickle(), "is a pickle inside"
    yield "text-pickle", pickle.dumps({"weight": _Touch()}, protocol=0), "is not a safetensors file"
    yield "garbage", bytes(range(256)) * 9, "is not a safetensors file"
    yield (
        "lfs-pointer",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
        "is not a safetensors file",
    )
    yield "endless-header", _header(b"{}", length=(1 << 64) - 1), "is not a safetensors file"
    yield "cut-header", _header(b"{}", length=5000), "is cut off: its header has 5,000 bytes"
    yield "header-no-json", _header(b"\x1b[31m{{{{"), "is cut off or no safetensors file"
    yield "header-a-list", _header(b"[1, 2] "), "is cut off or no safetensors file"
    yield "header-deep", _header(b'{"a":' + b"[" * 100_000), "is cut off or no safetensors file"
    tensor = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}
    for name, other in {
        "offsets-beyond": {"data_offsets": [0, 1 << 40]},
        "offsets-negative": {"data_offsets": [-16, 0]},
        "offsets-crossed": {"data_offsets": [16, 0]},
        "shape-endless": {"shape": [1 << 60, 1 << 60]},
        "shape-negative": {"shape": [-4]},
        "shape-of-text": {"shape": "4"},
        "type-unknown": {"dtype": "EVIL"},
        "data-missing": {},
    }.items():
        yield (name, _header(json.dumps({"weight": {**tensor, **other}}).encode()), "is cut off or no safetensors file")


def weight_contents() -> Iterator[Case]:
    """Yield every content, as the only file of weights and as a shard that an index names."""
    for name, content, says in _contents():
        yield changed(f"one-file-{name}", says, written("model.safetensors", content))
        yield changed(
            f"shard-{name}",
            says,
            without("model.safetensors"),
            written("one.safetensors", content),
            written("model.safetensors.index.json", json.dumps({"weight_map": {"weight": "one.safetensors"}})),
        )
    shard = (
        "shard-00001-model-00001-of-00001.safetensors"  # transformers reads this shard in place of model.safetensors
    )
    yield changed("distributed", f"{shard} is part of a distributed checkpoint", written(shard, b"\0"))
    yield changed("one-file-truncated", "is cut off or no safetensors file", _truncate)
    yield changed("none-of-the-model", "the checkpoint lacks", written("model.safetensors", _header(b"{}")))


def _truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def weight_indices() -> Iterator[Case]:
    """Yield indexes of shards that lead outside the folder, to pickles, or nowhere."""
    files = {
        "pickle": ("pytorch_model.bin", "which is not a safetensors file; pickled weights are never read"),
        "pickle-pt": ("model.pt", "which is not a safetensors file; pickled weights are never read"),
        "gguf": ("model.gguf", "which is not a safetensors file"),
        "no-ending": ("model", "which is not a safetensors file"),
        "upper": ("model.SAFETENSORS", "which is not a safetensors file"),
        "above": ("../evil.safetensors", "which is not a file of this folder"),
        "absolute": ("/etc/passwd", "which is not a file of this folder"),
        "below": ("deep/evil.safetensors", "which is not a file of this folder"),
        "windows": ("..\\evil.safetensors", "which is not a file of this folder"),
        "zero": ("a\0.safetensors", "which is not a file of this folder"),
        "address": ("https://evil.example/a.safetensors", "which is not a file of this folder"),
        "dots": ("..", "which is no"),
        "empty": ("", "which is no"),
        "missing": ("absent.safetensors", "which is missing"),
        "escape": ("\x1b[31m.safetensors", "which is missing"),
        "number": (5, "which is not a safetensors file"),
        "null": (None, "which is not a safetensors file"),
        "list": (["one.safetensors"], "which is not a safetensors file"),
    }
    for name, (file, says) in files.items():
        yield _index(f"to-{name}", says, {"weight_map": {"weight": file}})
    for name, value in {"list": ["a"], "text": "a.safetensors", "null": None, "number": 3, "empty": {}}.items():
        yield _index(f"map-{name}", "has no weight_map", {"weight_map": value})
    yield _index("map-missing", "has no weight_map", {})
    for name, (content, says) in _BROKEN_JSON.items():
        if name != "long-number":
            yield changed(
                f"index-{name}", says, without("model.safetensors"), written("model.safetensors.index.json", content)
            )


def _index(name: str, says: str, content: dict) -> Case:
    return changed(
        name,
        says,
        without("model.safetensors"),
        written("pytorch_model.bin", _torch_pickle()),
        written("model.pt", _torch_pickle()),
        written("model.safetensors.index.json", json.dumps(content)),
    )


def tokenizer_files() -> Iterator[Case]:
    """Yield faults of tokenizer.json, including its longest input."""
    for name, (content, says) in _BROKEN_JSON.items():
        yield changed(f"definition-{name}", f"tokenizer.json {says}", written("tokenizer.json", content))
    yield changed("definition-object", "tokenizer.json has no model", written("tokenizer.json", "{}"))
    yield changed("definition-of-lists", "lists and objects", written("tokenizer.json", b"[" + b"[]," * 5_000_000))
    part = "could not be loaded, for its tokenizer is not as it should be"
    for name, content in {
        "other-type": b'{"version": "1.0", "model": {"type": "Evil", "vocab": {}}}',
        "bpe-of-nothing": b'{"version":"1.0","model":{"type":"BPE","vocab":{"a":0},"merges":["b c"]}}',
        "ids-of-text": b'{"version":"1.0","model":{"type":"WordLevel","vocab":{"a":"0"},"unk_token":"a"}}',
        "ids-negative": b'{"version":"1.0","model":{"type":"WordLevel","vocab":{"a":-1},"unk_token":"a"}}',
    }.items():
        whole = content[:-1] + b', "added_tokens": []}'
        yield changed(f"definition-{name}", part, written("tokenizer.json", whole))
    yield changed(
        "definition-200-MB", "has 200,000,000 bytes", functools.partial(_sparse, "tokenizer.json", 200_000_000)
    )
    yield changed("vocabulary-200-MB", "has 200,000,000 bytes", functools.partial(_sparse, "vocab.txt", 200_000_000))
    yield changed("none", "has no tokenizer", without("tokenizer.json", "vocab.txt"))
    yield changed("added-150,000", "adds 150,00", functools.partial(_add_tokens, 150_000, 5))
    yield changed("added-of-megabytes", "has texts of 6,000,000 letters", functools.partial(_add_tokens, 10, 600_000))
    long = {"5": {"content": "x" * 5_000_000}}
    yield changed(
        "added-beside", "has texts of 5,000,000 letters", in_json("tokenizer_config.json", added_tokens_decoder=long)
    )
    yield changed("ids-beyond-the-model", "the tokenizer has token ids up to", functools.partial(_add_tokens, 50, 5))
    for name, value in {
        "text": "512",
        "escape": "\x1b[31m",
        "negative": -1,
        "zero": 0,
        "nan": float("nan"),
        "minus-infinite": float("-inf"),
        "true": True,
        "list": [512],
        "object": {},
    }.items():
        yield changed(
            f"longest-{name}", "model_max_length as ", in_json("tokenizer_config.json", model_max_length=value)
        )
    for name, value in {
        "null": None,
        "endless": 10**30,
        "of-400-digits": 10**400,
        "infinite": float("inf"),
        "fraction": 128.0,
        "missing": ...,
    }.items():
        yield changed(f"longest-{name}", None, in_json("tokenizer_config.json", model_max_length=value))
    for name, value in {"number": 5, "list": ["a"], "object": {}}.items():
        yield changed(f"class-{name}", "", in_json("tokenizer_config.json", tokenizer_class=value))


def _add_tokens(number: int, length: int, folder: Path) -> None:
    path = folder / "tokenizer.json"
    given = json.loads(path.read_text())
    first = max(given["model"]["vocab"].values()) + 10
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    given["added_tokens"] += [
        {"id": first + place, "content": f"{place}".ljust(length, "x"), **flags} for place in range(number)
    ]
    path.write_text(json.dumps(given))


def names() -> Iterator[tuple[str, str]]:
    """Yield invalid model names and the message for each."""
    yield "", "names no model"
    yield "  ", "names no model"
    yield "\n", "names no model"
    yield "\x1b[31m/a/b", "no model folder at"
    yield "/nowhere\x1b]0;evil\x07", "no model folder at"
    yield "a\0b", ""
    yield "x" * 5000, ""
    yield "../" * 2000, "no model folder at"
    yield "a/b/c", "no model folder at"
    yield "~/model", "no model folder at"
    yield "org/na me", ""
    yield "\u202eevil/model", ""


def every_case() -> Iterator[Case]:
    """Yield all folders that must be refused or loaded without harm."""
    for make in (config_numbers, config_fields, json_files, weight_contents, weight_indices, tokenizer_files):
        yield from make()

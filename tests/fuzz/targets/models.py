"""Model folders: loaded, and examined with a sentence. No folder may run code, whatever its files name."""

import json
from pathlib import Path

from fuzz.sample import Sample, read_sample
from fuzz.target import Check, Target
from headscope.models.load_model import load_tokenizer
from headscope.views.snapshot_of import reader_of
from support.tiny_models import tiny_model
from support.tiny_tokenizers import tiny_tokenizer

_CODE = (
    "from fuzz import canary\ncanary.sing('a model folder')\n"
    "class Own:\n    def __init__(self, *a, **k):\n        canary.sing('a class of it')\n"
)
_MAPS = {
    "config.json": {"AutoConfig": "own.Own", "AutoModel": "own.Own", "AutoTokenizer": ["own.Own", None]},
    "tokenizer_config.json": {"AutoTokenizer": ["own.Own", "own.Own"]},
}


def _seeds(folder: Path) -> list[Sample]:
    found: list[Sample] = []
    for family in ("bert", "gpt2", "t5"):
        tiny_model(family).save_pretrained(folder / family)
        tiny_tokenizer(family).save_pretrained(folder / family)
        found.append(read_sample(folder / family))
    plain = found[0]
    for name, auto_map in _MAPS.items():
        for model_type in ("bert", "own"):
            told = {**json.loads(plain[name]), "auto_map": auto_map, "model_type": model_type}
            found.append({**plain, name: json.dumps(told).encode(), "own.py": _CODE.encode()})
    pickled = {**plain, "pytorch_model.bin": b"cfuzz.canary\nsing\n(tR."}
    del pickled["model.safetensors"]
    reached = json.dumps({"metadata": {}, "weight_map": {"x": "pytorch_model.bin"}}).encode()
    return [*found, pickled, {**pickled, "model.safetensors.index.json": reached}]


def _look(folder: Path) -> Check:
    def run(given: Path) -> None:
        reader_of(str(given), device="cpu").view("The cat sat on the mat.")

    return run


def _tokenizer(folder: Path) -> Check:
    def run(given: Path) -> None:
        load_tokenizer(str(given))

    return run


TARGETS = [
    Target(name="models", seeds=_seeds, prepare=_look),
    Target(name="tokenizers", seeds=_seeds, prepare=_tokenizer),
]

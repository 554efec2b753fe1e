"""The paper's own numbers, and whether a model is the paper's."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_NAMES = ("bert-base-uncased", "bert-base-cased")
_SHAPE = {"layers": 12, "heads": 12}


def paper_numbers() -> dict[str, Any]:
    """Return the figures of Clark et al. 2019 that the project keeps."""
    numbers: dict[str, Any] = json.loads(
        (files("headscope") / "data" / "clark2019.json").read_text(encoding="utf-8")
    )
    return numbers


def is_bert_base(manifest: Mapping[str, Any]) -> bool:
    """Whether a run's model is the paper's BERT-base, by its name and its shape.

    The name alone could be a folder's; the shape alone fits many models.
    """
    model = manifest["signature"]["model"]
    name = str(model["name"]).rstrip("/").split("/")[-1].lower()
    shape = [{"layers": kind["layers"], "heads": kind["heads"]} for kind in manifest["kinds"]]
    return name in _NAMES and model["family"] == "bert" and shape == [_SHAPE]

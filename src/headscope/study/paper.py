"""The paper's own numbers, and a check that a model is the paper's."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

_NAMES = tuple(f"{owner}bert-base-{case}" for owner in ("google-bert/", "") for case in ("uncased", "cased"))
_SHAPE = {"kind": "encoder", "layers": 12, "heads": 12}


def paper_numbers() -> dict[str, Any]:
    """Return the numbers of Clark et al. 2019 that the project stores."""
    numbers: dict[str, Any] = json.loads((files("headscope") / "data" / "clark2019.json").read_text(encoding="utf-8"))
    return numbers


def is_bert_base(manifest: Mapping[str, Any]) -> bool:
    """Return True if a run's model is the paper's BERT-base, by its name on the hub and its shape.

    A local folder may have any name, and the shape alone fits many models.
    """
    model = manifest["signature"]["model"]
    return (
        model.get("origin") == "hub"
        and str(model["name"]).lower() in _NAMES
        and model["family"] == "bert"
        and list(manifest["kinds"]) == [_SHAPE]
    )

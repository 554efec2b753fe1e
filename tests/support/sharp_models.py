"""Tiny models with sharp attention: heads with fresh random weights attend almost uniformly and all alike."""

from pathlib import Path

import torch

SHARPER = 14.0


def sharpen(folder: Path) -> Path:
    """Scale the query and key weights of a BERT in a folder up, in place, and return the folder."""
    from transformers import AutoModel

    model = AutoModel.from_pretrained(folder)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(("query.weight", "key.weight")):
                parameter.mul_(SHARPER)
    model.save_pretrained(folder)
    return folder

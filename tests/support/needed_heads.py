"""Tiny random models whose loss depends on where their heads look."""

import torch

SHARPER = 40.0


def sharper(folder, auto, names):
    """Write a tiny model whose heads look somewhere and whose loss depends on it."""
    model = auto.from_pretrained(folder)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(names) and parameter.ndim > 1:
                parameter.mul_(SHARPER)
            if name.endswith("transform.dense.weight"):
                parameter.neg_()  # by chance uniform attention would lower the loss of this random model
    model.save_pretrained(folder)
    return str(folder)

"""Tables of positions that a model computes, and that checkpoints leave out on purpose (Marian, Pegasus, RoFormer)."""

import copy
from collections.abc import Collection
from typing import Any

import torch
from torch import nn


def computed_tables(model: Any, missing: Collection[str]) -> frozenset[str]:
    """Return the missing weights that the model's own initializer computes, so that none of them is random.

    transformers declares such tables in `_keys_to_ignore_on_save`, but only on the class with a head, so that the base
    model reports them as missing.

    Args:
        model: a transformers model that was just loaded.
        missing: the names of the weights that its checkpoint lacks.
    """
    modules = {f"{name}.weight": module for name, module in model.named_modules()}
    return frozenset(name for name in missing if name in modules and _is_computed(model, modules[name]))


@torch.no_grad()
def _is_computed(model: Any, module: nn.Module) -> bool:
    """Return True if a table gets the same numbers each time it is initialized, and they differ from row to row."""
    if not isinstance(module, nn.Embedding):
        return False
    draws = []
    with torch.random.fork_rng(devices=[]):
        for _ in range(2):
            table = copy.deepcopy(module).to_empty(device="cpu")
            table.weight.fill_(float("nan"))  # stays NaN if the initializer does not compute it
            model._init_weights(table)
            draws.append(table.weight)
    return torch.equal(*draws) and not torch.equal(draws[0][:1].expand_as(draws[0]), draws[0])

"""What the decoder's heads do, by plain loops: previous token, first token, and induction on repeated random tokens.

    python packages/headscope-decoder/recipe/heads.py FOLDER TEXT.txt

Rows of the text are those after the first, on inputs of at most 256 tokens; each behavior is the mean weight over its
rows, and of every head the best is named, 1-based `layer-head`. A model of the same shape with random weights stands
beside.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

LENGTH = 256
STRETCH, DRAWS = 64, 8
"""Random tokens that are repeated once, and how many such inputs are drawn."""


def attention(model: Any, ids: list[int]) -> Tensor:
    """Return transformers' own eager weights of one input, `[layer, head, query, key]`."""
    with torch.no_grad():
        found = model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
    return torch.stack([layer[0] for layer in found])


def on_text(model: Any, inputs: list[list[int]]) -> dict[str, Tensor]:
    """Return the mean weight on the token before and on the first token, each `[layer, head]`."""
    sums, rows = {"previous": torch.zeros(()), "first": torch.zeros(())}, 0
    for ids in inputs:
        weights = attention(model, ids)
        for row in range(1, len(ids)):
            sums["previous"] = sums["previous"] + weights[:, :, row, row - 1]
            sums["first"] = sums["first"] + weights[:, :, row, 0]
            rows += 1
    return {name: total / rows for name, total in sums.items()}


def repeated_inputs(tokenizer: Any, *, seed: int = 0) -> Iterator[list[int]]:
    """Yield `<s>` and 64 random pieces, twice."""
    special = set(tokenizer.all_special_ids)
    pieces = torch.tensor([number for number in range(len(tokenizer)) if number not in special])
    generator = torch.Generator().manual_seed(seed)
    for _ in range(DRAWS):
        drawn = pieces[torch.randint(len(pieces), (STRETCH,), generator=generator)].tolist()
        yield [tokenizer.bos_token_id, *drawn, *drawn]


def induction(model: Any, tokenizer: Any, *, seed: int = 0) -> Tensor:
    """Return the mean weight, over the second copy, on keys right after an earlier copy of the row's token."""
    total, rows = torch.zeros(()), 0
    for ids in repeated_inputs(tokenizer, seed=seed):
        weights = attention(model, ids)
        for row in range(len(ids) - STRETCH, len(ids)):
            after = [key for key in range(1, row + 1) if ids[key - 1] == ids[row]]
            total = total + weights[:, :, row, after].sum(-1)
            rows += 1
    return total / rows


def text_inputs(tokenizer: Any, path: Path) -> list[list[int]]:
    """Return the documents of a text, a block each, as one input each: `<s>` and lines with line feeds between."""
    blocks = [block for block in path.read_text(encoding="utf-8").split("\n\n") if block.strip()]
    return [tokenizer(block.strip(), truncation=True, max_length=LENGTH)["input_ids"] for block in blocks]


def behaviors(model: Any, tokenizer: Any, text: Path) -> dict[str, Tensor]:
    """Return all three, `[layer, head]` each."""
    found = on_text(model, text_inputs(tokenizer, text))
    return {**found, "induction": induction(model, tokenizer)}


def best(values: Tensor) -> tuple[str, float]:
    """Return the head with the highest value, and that."""
    place = int(values.argmax())
    layer, head = divmod(place, values.shape[1])
    return f"{layer + 1}-{head + 1}", float(values.flatten()[place])


def load(folder: Path, *, trained: bool = True) -> tuple[Any, Any]:
    """Return the model, in float32 and with eager attention, and its tokenizer; `trained` False: random weights."""
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    family: Any = AutoModelForCausalLM
    if trained:
        model = family.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    else:
        torch.manual_seed(0)
        config = AutoConfig.from_pretrained(folder)
        model = family.from_config(config, attn_implementation="eager", dtype=torch.float32)
    return model.eval(), AutoTokenizer.from_pretrained(folder)


if __name__ == "__main__":
    folder, text = map(Path, sys.argv[1:])
    for trained in (True, False):
        found = behaviors(*load(folder, trained=trained), text)
        words = ", ".join(f"{name} {best(each)[0]} {best(each)[1]:.3f}" for name, each in found.items())
        print(f"{'trained' if trained else 'random weights'}: {words}")

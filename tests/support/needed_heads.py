"""Tiny random models whose loss depends on their attention."""

from pathlib import Path

import torch
import transformers as tf

from support.model_folders import WHOLE, save_tiny_gpt2, save_tiny_masked_lm

SHARPER = 40.0
LINES = [
    "The old bridge was closed, and nobody crossed it.",
    "It opened again on a Tuesday in spring.",
    "A dog came by and slept in the sun, as dogs do.",
    "The rain began to fall before they left.",
    "Nobody knew the way, so they asked a child.",
]
DOCUMENTS = 24


def write_documents(path: Path) -> tuple[str]:
    """Write `DOCUMENTS` documents of 2 or 3 of the lines, each under its own heading."""
    documents = [[LINES[(place + at) % 5] for at in range(2 + place % 2)] for place in range(DOCUMENTS)]
    path.write_text("\n\n".join(f"Day {n}.\n" + "\n".join(lines) for n, lines in enumerate(documents)) + "\n")
    return (str(path),)


def sharper_bert(folder: Path, *, heads: int = 2) -> str:
    names = ("query.weight", "key.weight", "value.weight", "output.dense.weight", "word_embeddings.weight")
    return sharper(save_tiny_masked_lm(folder, heads=heads, pieces=WHOLE), tf.BertForMaskedLM, names)


def sharper_gpt2(folder: Path) -> str:
    names = ("c_attn.weight", "c_proj.weight", "wte.weight")
    return sharper(save_tiny_gpt2(folder, LINES), tf.GPT2LMHeadModel, names)


def sharper(folder, auto, names):
    """Write a tiny model with sharp attention, on which its loss depends."""
    model = auto.from_pretrained(folder)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(names) and parameter.ndim > 1:
                parameter.mul_(SHARPER)
            if name.endswith("transform.dense.weight"):
                parameter.neg_()  # without this, uniform attention would happen to lower the loss of this random model
    model.save_pretrained(folder)
    return str(folder)

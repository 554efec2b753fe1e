"""Mutations of inputs: some of their files change, each in a way that fits its format."""

import struct
from pathlib import PurePath
from random import Random

from fuzz.ingredients import Ingredients
from fuzz.mutate_binary import mutate_packed, mutate_pickle, mutate_table, mutate_tensors
from fuzz.mutate_json import mutate_tree
from fuzz.mutate_text import LONGEST, mutate_bytes, mutate_lines
from fuzz.sample import Sample

_BLIND = 0.2  # share of changes that treat a file as plain bytes, whatever its format


def mutate(sample: Sample, rng: Random, use: Ingredients, others: list[Sample]) -> Sample:
    """Return a sample with one to three changes; `others` provide parts to insert."""
    changed = dict(sample)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if len(changed) > 1 and rng.random() < 0.08:
            _files(changed, rng)
            continue
        name = rng.choice(sorted(changed))
        lender = rng.choice(others)
        other = lender.get(name) or lender[rng.choice(sorted(lender))]
        content = mutate_file(name, changed[name], rng, use, other)
        changed[name] = content if len(content) <= LONGEST else content[:LONGEST]
    return changed


def mutate_file(name: str, content: bytes, rng: Random, use: Ingredients, other: bytes) -> bytes:
    """Return a changed file; the ending of its name gives its format."""
    ending = PurePath(name).suffix
    if rng.random() < _BLIND:
        return mutate_bytes(content, rng, use, other)
    changed: bytes | None = None
    if ending == ".gz":
        inner = name.removesuffix(".gz")
        changed = mutate_packed(content, rng, lambda plain: mutate_file(inner, plain, rng, use, plain))
    elif ending == ".pkl":
        changed = mutate_pickle(content, rng, use)
    elif ending == ".parquet":
        changed = mutate_table(content, rng, use)
    elif ending == ".safetensors":
        changed = mutate_tensors(content, rng, use)
    elif ending == ".json":
        changed = mutate_tree(content, rng, use)
    elif ending == ".jsonl":
        lines = content.split(b"\n")
        at = rng.randrange(len(lines))
        if (line := mutate_tree(lines[at], rng, use)) is not None:
            changed = b"\n".join([*lines[:at], line, *lines[at + 1 :]])
    elif ending == ".request":
        head, between, body = content.partition(b"\r\n\r\n")
        if body and rng.random() < 0.6 and (made := mutate_tree(body, rng, use)) is not None:
            length = b"content-length: %d" % len(body)
            changed = head.replace(length, b"content-length: %d" % len(made)) + between + made
    if changed is not None:
        return changed
    if ending in (".pkl", ".parquet", ".safetensors", ".gz"):
        return mutate_bytes(content, rng, use, other)
    return mutate_lines(content, rng, use, other)


def _files(changed: Sample, rng: Random) -> None:
    """Delete, empty, swap or copy one file among several."""
    names = sorted(changed)
    name, other = rng.choice(names), rng.choice(names)
    match rng.randrange(5):
        case 0 | 1:
            del changed[name]
        case 2:
            changed[name] = b""
        case 3:
            changed[name], changed[other] = changed[other], changed[name]
        case _:
            changed[name] = struct.pack("<Q", rng.getrandbits(64))

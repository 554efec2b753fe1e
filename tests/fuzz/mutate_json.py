"""Mutations of JSON as a tree: values of other types, missing or repeated keys, deep nesting."""

import copy
import json
from random import Random
from typing import Any

from fuzz.ingredients import Ingredients

# These placeholders are replaced in the text, since json.dumps cannot write their values.
_DEEP, _LONG = "\u0001deep\u0001", "\u0001long\u0001"
_KEYS = (
    *("text", "words", "tokens", "heads", "relns", "auto_map", "__class__", "kind", "name", ""),
    *("fast_tokenizer_files", "configuration_files", "sp_model_kwargs", "chat_template", "vocab_file", "extra_ids"),
)


def mutate_tree(content: bytes, rng: Random, use: Ingredients) -> bytes | None:
    """Return changed JSON, or None if the content is not JSON or another mutation should change it."""
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return None
    box = [tree]
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        _change(box, rng, use)
    if rng.random() < 0.05:
        box[0] = _another(box[0], rng, use)
    try:
        text = json.dumps(box[0], ensure_ascii=rng.random() < 0.5)
    except (ValueError, RecursionError, TypeError):
        return None
    deep = rng.choice((60, 1000, 100_000))
    text = text.replace(json.dumps(_DEEP), "[" * deep + "]" * deep).replace(json.dumps(_LONG), "9" * 5000)
    text = text.replace(_DEEP, "deep").replace(_LONG, "long")
    if rng.random() < 0.05:  # a repeated key: most parsers use the last
        text = text.replace("{", '{"words": 3, "kinds": [], "layers": -1, ', 1)
    return text.encode("utf-8", "surrogatepass")


def _change(box: list[Any], rng: Random, use: Ingredients) -> None:
    """Change one value inside the box."""
    places = list(_places(box))
    holder, key = rng.choice(places)
    match rng.randrange(9):
        case 0 if len(places) > 1 and holder is not box:
            del holder[key]
        case 1:
            other, at = rng.choice(places)
            holder[key] = copy.deepcopy(other[at])
        case 2 if isinstance(holder, dict):
            holder[rng.choice((*_KEYS, *use.texts))] = holder.pop(key)
        case 3:
            holder[key] = rng.choice((_DEEP, _LONG))
        case 4:
            # Lengthen only once: nested lists of 300 would fill the memory.
            holder[key] = [holder[key]] * (300 if len(places) < 300 and rng.random() < 0.3 else 1)
        case 5 if isinstance(holder, list) and holder is not box:
            holder.insert(rng.randint(0, len(holder)), copy.deepcopy(holder[key]))
        case 6 if isinstance(holder, dict):
            holder[rng.choice((*_KEYS, *use.texts))] = rng.choice(use.values)
        case _:
            holder[key] = _another(holder[key], rng, use)


def _another(value: Any, rng: Random, use: Ingredients) -> Any:
    """Return a value of another type, or an unexpected one of the same type."""
    if rng.random() < 0.5:
        return copy.deepcopy(rng.choice(use.values))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        if abs(value) > 1e300:  # neither float() nor str() accepts such an int
            return str(rng.choice(use.numbers[:20]))
        return rng.choice((*use.numbers, value + 1, value - 1, -value, value * 2, value / 3))
    if isinstance(value, str):
        return rng.choice((*use.texts, value * 2, value[:-1], value.upper(), value + rng.choice(use.texts)))
    return None if rng.random() < 0.5 else type(value)()


def _places(box: list[Any]) -> list[tuple[Any, Any]]:
    """Return every (holder, key or position) below a list; at most some thousand."""
    found: list[tuple[Any, Any]] = []
    waiting: list[Any] = [box]
    while waiting and len(found) < 5000:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found

"""Keep the case of the input, whatever the tokenizer would do with it."""

import copy
import json
from typing import Any

from tokenizers import Tokenizer


def keep_case(tokenizer: Any) -> Any:
    """Return a copy of a fast tokenizer that does not lower-case (the original code's `--cased`).

    BERT's normalizer, which strips accents when it lower-cases, keeps those too; a `Lowercase` step is left
    out. A tokenizer that keeps case already, or has no fast backend, comes back as it was.
    """
    if not getattr(tokenizer, "is_fast", False):
        return tokenizer
    definition = json.loads(tokenizer.backend_tokenizer.to_str())
    kept = _cased(definition["normalizer"])
    if kept == definition["normalizer"]:
        return tokenizer
    definition["normalizer"] = kept
    cased = copy.deepcopy(tokenizer)
    # The backend's parts can be set one by one only: take the normalizer over from a whole tokenizer.
    cased.backend_tokenizer.normalizer = Tokenizer.from_str(json.dumps(definition)).normalizer
    return cased


def _cased(step: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a normalizer's definition without what changes case."""
    if step is None or step["type"] == "Lowercase":
        return None
    if step["type"] == "BertNormalizer" and step["lowercase"]:
        return {**step, "lowercase": False, "strip_accents": None}
    if step["type"] == "Sequence":
        steps = [kept for each in step["normalizers"] if (kept := _cased(each)) is not None]
        return {**step, "normalizers": steps}
    return step

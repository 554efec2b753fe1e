"""Keep the case of the input, whatever the tokenizer's normalizer does."""

import copy
import json
from typing import Any

from tokenizers import Tokenizer


def keep_case(tokenizer: Any) -> Any:
    """Return a copy of a fast tokenizer that does not lower-case (the original code's `--cased`).

    BERT's normalizer, which strips accents when it lower-cases, keeps accents, too; a `Lowercase` step is
    removed. A tokenizer that keeps case already, or has no fast backend, is returned unchanged.
    """
    if not getattr(tokenizer, "is_fast", False):
        return tokenizer
    definition = json.loads(tokenizer.backend_tokenizer.to_str())
    kept = _cased(definition["normalizer"])
    if kept == definition["normalizer"]:
        return tokenizer
    definition["normalizer"] = kept
    cased = copy.deepcopy(tokenizer)
    # Parts of a backend can only be replaced one by one: copy the normalizer from a whole tokenizer.
    cased.backend_tokenizer.normalizer = Tokenizer.from_str(json.dumps(definition)).normalizer
    return cased


def _cased(step: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a normalizer's definition without the steps that change case."""
    if step is None or step["type"] == "Lowercase":
        return None
    if step["type"] == "BertNormalizer" and step["lowercase"]:
        return {**step, "lowercase": False, "strip_accents": None}
    if step["type"] == "Sequence":
        steps = [kept for each in step["normalizers"] if (kept := _cased(each)) is not None]
        return {**step, "normalizers": steps}
    return step

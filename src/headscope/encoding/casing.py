"""Keep the case of the input, whatever the tokeniser would do with it."""

import copy
import json
from typing import Any

from tokenizers import Tokenizer


def keep_case(tokeniser: Any) -> Any:
    """Return a copy of a fast tokeniser that does not lower-case (the original code's `--cased`).

    BERT's normaliser, which strips accents when it lower-cases, keeps those too; a `Lowercase` step is left
    out. A tokeniser that keeps case already, or has no fast backend, comes back as it was.
    """
    if not getattr(tokeniser, "is_fast", False):
        return tokeniser
    definition = json.loads(tokeniser.backend_tokenizer.to_str())
    kept = _cased(definition["normalizer"])
    if kept == definition["normalizer"]:
        return tokeniser
    definition["normalizer"] = kept
    cased = copy.deepcopy(tokeniser)
    # The backend's parts can be set one by one only: take the normaliser over from a whole tokeniser.
    cased.backend_tokenizer.normalizer = Tokenizer.from_str(json.dumps(definition)).normalizer
    return cased


def _cased(step: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a normaliser's definition without what changes case."""
    if step is None or step["type"] == "Lowercase":
        return None
    if step["type"] == "BertNormalizer" and step["lowercase"]:
        return {**step, "lowercase": False, "strip_accents": None}
    if step["type"] == "Sequence":
        steps = [kept for each in step["normalizers"] if (kept := _cased(each)) is not None]
        return {**step, "normalizers": steps}
    return step

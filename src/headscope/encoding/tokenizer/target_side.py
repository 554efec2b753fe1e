"""The tokenizer of a decoder's text: translation models may use other pieces or a language code for the target."""

import copy
from typing import Any

from headscope.errors import ModelError


def target_tokenizer(tokenizer: Any) -> Any:
    """Return a tokenizer that cuts texts as `tokenizer(text_target=...)` does.

    This is the tokenizer itself if source and target are cut alike, else a copy: the caller's stays in source mode.

    Raises:
        ModelError: the tokenizer needs the target's language, and it is not set.
    """
    if not hasattr(tokenizer, "_switch_to_target_mode"):
        return tokenizer
    if getattr(tokenizer, "is_fast", False):
        target = copy.deepcopy(tokenizer)
    else:
        # A deep copy of Marian's tokenizer reads its files again, which may be gone.
        target = object.__new__(type(tokenizer))
        target.__dict__.update(tokenizer.__dict__)
    try:
        target._switch_to_target_mode()
    except (KeyError, ValueError) as error:
        raise ModelError(
            f"{type(tokenizer).__name__} does not cut a target text (tgt_lang is {tokenizer.tgt_lang!r}); set the "
            "language of the decoder's text: tokenizer.tgt_lang, or tgt_lang in tokenizer_config.json"
        ) from error
    target._in_target_context_manager = True  # prevents a call from switching it back
    return target


def target_note(tokenizer: Any) -> str | None:
    """Return a note if the tokenizer gives the target the language code of the source, else None."""
    source = getattr(tokenizer, "src_lang", None)
    if source is None or getattr(tokenizer, "tgt_lang", source) is not None:
        return None
    return (
        f"the tokenizer names no target language, so that the decoder's text is marked as {source}; set "
        "tokenizer.tgt_lang, or tgt_lang in tokenizer_config.json"
    )

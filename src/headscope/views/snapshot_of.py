"""Snapshots for the command line and notebooks: a model's attention on a text, or given attention."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.encoding.choices import LOADING
from headscope.errors import ModelError, OptionError
from headscope.visible import short_name

if TYPE_CHECKING:
    from headscope.views.attention_snapshot import AttentionSnapshot
    from headscope.views.capture import AttentionReader


_ATTENTION = ("attention", "encoder_attention", "decoder_attention", "cross_attention")
_RAW = (*_ATTENTION, "tokens", "encoder_tokens", "decoder_tokens", "sentence_b_start", "include_heads")
"""Arguments that belong to given attention."""


def reader_of(model: Any = None, *, tokenizer: Any = None, writes: bool = False, **loading: Any) -> AttentionReader:
    """Return a model ready to read a text.

    Args:
        model: hub name or folder, None for the embedded model, a result of `load_model`, or a transformers model with
            its `tokenizer`.
        tokenizer: tokenizer of a transformers model.
        writes: True if the model will generate text, which needs its head.
        loading: `revision`, `dtype`, `device` and `device_map`, as for `load_model`.

    Raises:
        HeadscopeError: the model cannot be loaded or examined.
    """
    from headscope.models.load_model import LoadedModel, load_model
    from headscope.models.task_heads import load_writer
    from headscope.views.capture import AttentionReader

    if isinstance(model, AttentionReader):
        return model
    if isinstance(model, LoadedModel):
        return AttentionReader(model)
    if model is None or isinstance(model, str | Path):
        load = load_writer if writes else load_model
        return AttentionReader(load(model, **loading))
    if not hasattr(model, "config") or tokenizer is None:
        raise OptionError(
            f"model is a {type(model).__name__}; expected a hub name, a folder, what headscope.load_model returns, or "
            "a transformers model together with its tokenizer"
        )
    name = str(getattr(model.config, "name_or_path", "") or type(model).__name__)
    return AttentionReader(LoadedModel(model=model, tokenizer=tokenizer, name=short_name(name)))


def take_snapshot(
    model: Any = None,
    text: str | None = None,
    text_b: str | None = None,
    *,
    include_layers: Sequence[int] | None = None,
    tokenizer: Any = None,
    neuron: bool | None = None,
    **more: Any,
) -> AttentionSnapshot:
    """Return a view of a model's attention on a text, or of attention that was computed elsewhere.

    Args:
        model: as for `reader_of`.
        text: text that the model reads.
        text_b: the second text of a pair.
        include_layers: labels of the layers to keep, from 1; all when None.
        tokenizer: tokenizer of a transformers model.
        neuron: True to include queries and keys, which the neuron view needs; None includes those of short texts.
        **more: for a model, `decoder_text`, `generate`, `max_length`, `too_long` (see `ReadingRequest`), `revision`,
            `dtype` and `device`; otherwise given attention, its tokens, `sentence_b_start` and `include_heads` (labels
            from 1): see `raw_view`.

    Raises:
        ModelError: `neuron` is True, and the model does not provide queries and keys.
        HeadscopeError: another argument is invalid; the message explains it.
    """
    raw = {name: more.pop(name) for name in _RAW if name in more}
    if any(raw.get(name) is not None for name in _ATTENTION):
        if text is not None or model is not None or more:
            named = ["model"] * (model is not None) + ["text"] * (text is not None) + list(more)
            raise OptionError(
                f"both attention and {named[0]} were given; give attention with its tokens, or a model with a text"
            )
        if neuron:
            raise OptionError(
                "the neuron view needs queries and keys, which weights alone do not tell; give a model and a text"
            )
        from headscope.views.given_arrays import raw_view

        return raw_view(**raw, include_layers=include_layers)
    if text is None:
        raise OptionError(
            "there is nothing to look at; give a text for the model to read, or attention with its tokens"
        )
    loading = {name: more.pop(name) for name in LOADING if name in more}
    reader = reader_of(model, tokenizer=tokenizer, writes=bool(more.get("generate")), **loading)
    view = reader.view(text, text_b, layers=tuple(include_layers or ()), neuron=neuron, **more)
    refused = [kind.no_neuron for kind in view.kinds if kind.no_neuron]
    if neuron and len(refused) == len(view.kinds):
        raise ModelError(str(refused[0]).rstrip("."))
    return view

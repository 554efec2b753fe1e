"""BertViz's neuron view, for every family whose queries and keys headscope can read."""

from __future__ import annotations

from typing import Any

from headscope.bertviz.showing import scheme_of, show_page


def show(
    model: Any,
    model_type: str,
    tokenizer: Any,
    sentence_a: str,
    sentence_b: str | None = None,
    display_mode: str = "dark",
    layer: int | None = None,
    head: int | None = None,
    html_action: str = "view",
) -> Any:
    """Draw the computation of a head's weights from queries and keys.

    Args:
        model: any transformers model that uses transformers' attention interface: BERT, RoBERTa, GPT-2, Llama, T5 ...
        model_type: ignored; the model's configuration has its type.
        tokenizer: the model's tokenizer.
        sentence_a: the text.
        sentence_b: the second text of a pair.
        display_mode: `light` or `dark`.
        layer: the layer to open with, from 0.
        head: the head to open with, from 0.
        html_action: `view` displays the view in a notebook; `return` returns an object whose `data` is the page.

    Raises:
        HeadscopeError: the model's queries and keys cannot be read, or a number or text is invalid.
    """
    from headscope.views.snapshot_of import take_snapshot

    scheme = scheme_of(display_mode)
    view = take_snapshot(model, sentence_a, sentence_b, tokenizer=tokenizer, neuron=True)
    return show_page(view, "neuron", html_action=html_action, scheme=scheme, layer=layer, head=head)

"""BertViz's model view."""

from __future__ import annotations

from typing import Any

from headscope.bertviz.showing import scheme_of, show_page


def model_view(
    attention: Any = None,
    tokens: Any = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    display_mode: str = "dark",
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Any = None,
    decoder_tokens: Any = None,
    include_layers: Any = None,
    include_heads: Any = None,
    html_action: str = "view",
) -> Any:
    """Draw every layer and head as a small picture.

    Args:
        attention: self-attention, a tensor a layer, `[1, head, query, key]`, or what `generate` returns; with `tokens`.
        tokens: the tokens of `attention`.
        sentence_b_start: position of the second sentence's first token, from 0.
        prettify_tokens: True to remove marks such as `Ġ` from the tokens.
        display_mode: `light` or `dark`.
        encoder_attention: encoder attention of an encoder-decoder, with `encoder_tokens`.
        decoder_attention: decoder attention of an encoder-decoder, with `decoder_tokens`.
        cross_attention: cross attention of an encoder-decoder, with both token lists.
        encoder_tokens: tokens of the encoder.
        decoder_tokens: tokens of the decoder.
        include_layers: the layers to keep, from 0; all when None.
        include_heads: the heads to keep, from 0; all when None.
        html_action: `view` displays the view in a notebook; `return` returns an object whose `data` is the page.

    Raises:
        HeadscopeError: the attention, the tokens or a number is invalid.
    """
    from headscope.views.snapshot.given_arrays import raw_view

    scheme = scheme_of(display_mode)
    view = raw_view(
        attention=attention,
        tokens=tokens,
        sentence_b_start=sentence_b_start,
        encoder_attention=encoder_attention,
        decoder_attention=decoder_attention,
        cross_attention=cross_attention,
        encoder_tokens=encoder_tokens,
        decoder_tokens=decoder_tokens,
        include_layers=include_layers,
        include_heads=include_heads,
        count_from=0,
        readable=prettify_tokens,
    )
    return show_page(view, "model", html_action=html_action, scheme=scheme)

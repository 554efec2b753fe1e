"""BertViz's head view and model view, and the display or return of a page by its `html_action`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from headscope.errors import OptionError
from headscope.palette import SCHEMES

if TYPE_CHECKING:
    from headscope.views.attention_snapshot import AttentionSnapshot


ACTIONS = ("view", "return")


def show_page(
    view: AttentionSnapshot,
    name: str,
    *,
    html_action: str,
    scheme: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    heads: Sequence[int] | None = None,
) -> Any:
    """Display a view, or return its page.

    Args:
        view: the attention to draw.
        name: name of the view that the page opens with.
        html_action: `view` or `return`.
        scheme: `light` or `dark`; the reader's system decides when None.
        layer, head: the layer and the head to open with, from 0 as in BertViz.
        heads: several heads to open with, from 0.

    Raises:
        OptionError: another action, the layer or a head does not exist, or there is no notebook.
    """
    from headscope.views.attention_page import StaticPage, attention_page
    from headscope.views.state import opening

    if html_action not in ACTIONS:
        raise OptionError(f"html_action {html_action!r} is not known; choose one of {', '.join(ACTIONS)}")
    kind = view.kinds[0]
    layers = _labels("layer", [layer], kind.layers)
    labels = _labels("head", [head], kind.heads) + _labels("heads", [] if heads is None else heads, kind.heads)
    state = opening(view, name, layer=layers[0] if layers else None, heads=labels)
    page = StaticPage(attention_page(view, state=state, scheme=scheme), title=view.title)
    if html_action == "return":
        return page
    page.display()
    return None


def scheme_of(display_mode: str) -> str:
    """Check and return BertViz's display mode.

    Raises:
        OptionError: it is neither light nor dark.
    """
    if display_mode not in SCHEMES:
        raise OptionError(f"display_mode {display_mode!r} is not known; choose one of {', '.join(SCHEMES)}")
    return display_mode


def _labels(option: str, numbers: Iterable[int | None], known: Sequence[int]) -> tuple[int, ...]:
    """Return the labels of layers or heads, from 1, for BertViz's numbers from 0; None is left out."""
    labels = tuple(int(number) + 1 for number in numbers if number is not None)
    wrong = [label for label in labels if label not in known]
    if wrong:
        raise OptionError(
            f"{option} names {wrong[0] - 1}, which is not here; expected {known[0] - 1} to {known[-1] - 1}, the first "
            "being 0 as BertViz counts"
        )
    return labels


def head_view(
    attention: Any = None,
    tokens: Any = None,
    sentence_b_start: int | None = None,
    prettify_tokens: bool = True,
    layer: int | None = None,
    heads: Any = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Any = None,
    decoder_tokens: Any = None,
    include_layers: Any = None,
    html_action: str = "view",
) -> Any:
    """Draw attention as lines between tokens, heads in colors.

    Args:
        attention: self-attention, a tensor a layer, `[1, head, query, key]`, or what `generate` returns; with `tokens`.
        tokens: the tokens of `attention`.
        sentence_b_start: position of the second sentence's first token, from 0.
        prettify_tokens: True to remove marks such as `Ġ` from the tokens.
        layer: the layer to open with, from 0.
        heads: the heads to open with, from 0; all when None.
        encoder_attention: encoder attention of an encoder-decoder, with `encoder_tokens`.
        decoder_attention: decoder attention of an encoder-decoder, with `decoder_tokens`.
        cross_attention: cross attention of an encoder-decoder, with both token lists.
        encoder_tokens: tokens of the encoder.
        decoder_tokens: tokens of the decoder.
        include_layers: the layers to keep, from 0; all when None.
        html_action: `view` displays the view in a notebook; `return` returns an object whose `data` is the page.

    Raises:
        HeadscopeError: the attention, the tokens or a number is invalid.
    """
    from headscope.views.given_arrays import raw_view

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
        count_from=0,
        readable=prettify_tokens,
    )
    return show_page(view, "head", html_action=html_action, layer=layer, heads=heads)


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
    from headscope.views.given_arrays import raw_view

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

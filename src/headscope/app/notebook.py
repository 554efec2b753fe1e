"""Views in a notebook: `hs.head_view("gpt2", "some text")`, or of attention that is there already.

A view is a widget where anywidget is installed, and the offline page in a frame of its own where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headscope.views.attention_page import attention_page
from headscope.views.catalogue import needs_neuron
from headscope.views.figure_call import figure_call
from headscope.views.snapshot.snapshot_of import look
from headscope.views.state import opening
from headscope.views.static_page import HEIGHT, StaticPage

if TYPE_CHECKING:
    from headscope.views.snapshot.snapshot import AttentionView


def head_view(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw attention as lines between tokens, heads in colours.

    Args:
        model: hub name or folder, None for the embedded model, what `load_model` returns, or a transformers model with
            its `tokenizer`.
        text: what the model reads.
        text_b: the second text of a pair.
        **options: of the text: `decoder_text`, `generate` (tokens to write), `max_length`, `too_long`; of the model:
            `tokenizer`, `revision`, `dtype`, `device`; in place of a model and a text: `attention` with `tokens` and
            `sentence_b_start`, or `encoder_attention`, `decoder_attention` and `cross_attention` with `encoder_tokens`
            and `decoder_tokens`; of the view: `include_layers`, `kind`, `layer`, `heads` (labels from 1), `words`,
            `height` in pixels, `state` (what a view copied), `static=True` for the page instead of the widget.

    Returns:
        What a notebook shows; `save(path)` writes the page.

    Raises:
        HeadscopeError: something is not as it should be; the text says what.
    """
    return _view("head", model, text, text_b, **options)


def model_view(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw every layer and head as a small picture; takes what `head_view` takes."""
    return _view("model", model, text, text_b, **options)


def neuron_view(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw how a head's weights come about from queries and keys; takes what `head_view` takes, but needs a model.

    Raises:
        ModelError: the model does not hand over its queries and keys.
    """
    return _view("neuron", model, text, text_b, **options)


def heatmap(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw the text with each token shaded by its attention; takes what `head_view` takes."""
    return _view("heatmap", model, text, text_b, **options)


def matrix_view(model: Any = None, text: str | None = None, text_b: str | None = None, **options: Any) -> Any:
    """Draw one head's weights as a matrix of queries by keys; takes what `head_view` takes."""
    return _view("matrix", model, text, text_b, **options)


def _view(
    name: str,
    model: Any,
    text: str | None,
    text_b: str | None,
    *,
    kind: str | None = None,
    layer: int | None = None,
    heads: Sequence[int] = (),
    words: bool = False,
    state: str | None = None,
    height: int = HEIGHT,
    static: bool = False,
    **given: Any,
) -> Any:
    view = look(model, text, text_b, neuron=needs_neuron(name) or None, **given)
    if state is None:
        state = opening(view, name, kind=kind, layer=layer, heads=heads, words=words)
    return show(
        view, state=state, height=height, static=static, call=figure_call(model, text, text_b, **given)
    )


def show(
    view: AttentionView, *, state: str = "", height: int = HEIGHT, static: bool = False, call: str = ""
) -> Any:
    """Return a view as a notebook shows it: the widget, or the page where anywidget is not installed.

    Args:
        view: the attention of one input.
        state: what it shows first, from `opening`.
        height: of the drawing, in pixels.
        static: whether to take the page in any case.
        call: the arguments of the Python call that made the view.
    """
    if not static:
        try:
            from headscope.app.widget import AttentionWidget
        except ImportError:
            pass
        else:
            return AttentionWidget(view, state=state, height=height, call=call)
    return StaticPage(attention_page(view, state=state, call=call), title=view.title, height=height)

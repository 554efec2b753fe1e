"""Views in a notebook, of a model on a text or of attention that is there already.

A view is a widget where anywidget is installed, and the offline page in a frame of its own where it is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headscope.views.attention_page import attention_page
from headscope.views.figure_call import figure_call
from headscope.views.snapshot.snapshot_of import take_snapshot
from headscope.views.state import opening
from headscope.views.static_page import HEIGHT, StaticPage
from headscope.views.view_catalog import needs_neuron

if TYPE_CHECKING:
    from headscope.views.snapshot.attention_snapshot import AttentionSnapshot


def view_of(
    name: str,
    text: str | None,
    text_b: str | None,
    *,
    model: Any,
    kind: str | None = None,
    layer: int | None = None,
    heads: Sequence[int] = (),
    words: bool = False,
    state: str | None = None,
    height: int = HEIGHT,
    static: bool = False,
    **snapshot_options: Any,
) -> Any:
    """Return a view by its name, as `hs.head_view` describes what it takes, as a notebook shows it."""
    view = take_snapshot(model, text, text_b, neuron=needs_neuron(name) or None, **snapshot_options)
    if state is None:
        state = opening(view, name, kind=kind, layer=layer, heads=heads, words=words)
    return show(
        view, state=state, height=height, static=static, call=figure_call(text, text_b, model=model, **snapshot_options)
    )


def show(
    view: AttentionSnapshot, *, state: str = "", height: int = HEIGHT, static: bool = False, call: str = ""
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

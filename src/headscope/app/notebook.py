"""Views in a notebook, of a model on a text or of given attention.

A view is a widget if anywidget is installed, and otherwise the offline page in a frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headscope.views.attention_page import HEIGHT, StaticPage, attention_page
from headscope.views.snapshot.snapshot_of import take_snapshot
from headscope.views.state import figure_call, opening
from headscope.views.view_catalog import needs_neuron


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
    """Return a view by its name, with the arguments of `hs.head_view`, as an object that a notebook displays."""
    view = take_snapshot(model, text, text_b, neuron=needs_neuron(name) or None, **snapshot_options)
    if state is None:
        state = opening(view, name, kind=kind, layer=layer, heads=heads, words=words)
    call = figure_call(text, text_b, model=model, **snapshot_options)
    if not static:
        try:
            from headscope.app.widget import AttentionWidget
        except ImportError:
            pass
        else:
            return AttentionWidget(view, state=state, height=height, call=call)
    return StaticPage(attention_page(view, state=state, call=call), title=view.title, height=height)

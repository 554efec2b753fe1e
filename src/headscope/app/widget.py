"""The views as a notebook widget (JupyterLab, VS Code, Colab, marimo). Needs anywidget."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, ClassVar

import anywidget
import traitlets

from headscope.views.attention_page import ATTENTION_STYLE, HEIGHT, attention_page, frame, save_page
from headscope.views.attention_snapshot import AttentionSnapshot
from headscope.views.bundle import script, source
from headscope.views.markup import json_text
from headscope.views.view_payload import payload

MOST_FALLBACK = 8_000_000
"""Maximum size in bytes of a page that is saved in the notebook for programs that cannot run widgets."""


class AttentionWidget(anywidget.AnyWidget):
    """A view in a cell of a notebook.

    Attributes:
        state: current view, as `view=head&layer=2`; it follows the reader's clicks, and can be set.
        height: height of the drawing, in pixels.

    Args:
        view: attention of one input.
        state: initial state.
        height: height of the drawing, in pixels.
        call: arguments of the Python call that made the view.
    """

    _esm: ClassVar[str] = script("views/attention_widget.js") + "\nexport default { render };\n"

    data = traitlets.Bytes(read_only=True).tag(sync=True)
    style = traitlets.Unicode(source(ATTENTION_STYLE), read_only=True).tag(sync=True)
    state = traitlets.Unicode().tag(sync=True)
    height = traitlets.Int(HEIGHT).tag(sync=True)

    def __init__(self, view: AttentionSnapshot, *, state: str = "", height: int = HEIGHT, call: str = "") -> None:
        self.view = view
        self.call = call
        data = payload(view)
        data["call"] = call
        super().__init__(state=state, height=height)
        self.set_trait("data", json_text(data).encode("utf-8"))

    def __repr__(self) -> str:
        return f"<headscope view of {self.view.title!r}: {self.state}>"

    def save(self, path: str | Path) -> Path:
        """Write the current view as one page that opens offline; return its path. Errors are those of `save_page`."""
        return save_page(path, self._page())

    def _page(self) -> str:
        return attention_page(self.view, state=self.state, call=self.call)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, and the page for programs that cannot run widgets."""
        shown = super()._repr_mimebundle_(**kwargs)
        if shown is None:
            return None
        bundle, *metadata = shown
        page = self._page()
        title = self.view.title
        small = len(page) <= MOST_FALLBACK
        fallback = (
            frame(page, title=title, height=self.height)
            if small
            else f"<p>{html.escape(title)}: this view is too large to be kept in the notebook; run its cell again.</p>"
        )
        return {**bundle, "text/plain": repr(self), "text/html": fallback}, *metadata

"""The attention of one input as a page: one offline file with all views."""

from __future__ import annotations

from headscope.views.html_page import Page, assemble
from headscope.views.markup import el
from headscope.views.snapshot.attention_snapshot import AttentionSnapshot
from headscope.views.view_payload import payload
from headscope.visible import titled

ENTRY = "views/attention_page.js"
ATTENTION_STYLE = "views/attention.css"


def attention_page(
    view: AttentionSnapshot,
    *,
    state: str = "",
    call: str = "",
    neuron: bool = True,
    compress: bool = True,
    scheme: str | None = None,
) -> str:
    """Return a view as one self-contained HTML page, which loads nothing and runs only its own script.

    Args:
        view: the attention of one input.
        state: initial state of the page, from `opening`; a state in the address has precedence.
        call: the arguments of the Python call that made the view, for the page's "copy figure code".
        neuron: True to include queries and keys, if they are known.
        compress: True to deflate arrays; browsers since 2023 can inflate them.
        scheme: `light` or `dark` regardless of the reader's system; None follows the system.
    """
    data = payload(view, neuron=neuron, compress=compress)
    data["state"] = state
    data["call"] = call
    body = [
        el("main", id="app"),
        el("noscript", el("p", "The views are drawn by a script; switch JavaScript on to see them.")),
    ]
    model = titled(view.model) if view.model else ""
    return assemble(
        Page(
            title=" · ".join(part for part in (titled(view.title), model) if part),
            body=body,
            data={"attention": data},
            entry=ENTRY,
            styles=("core/base.css", ATTENTION_STYLE),
            scheme=scheme,
        )
    )

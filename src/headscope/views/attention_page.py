"""The attention of one input as an offline page with all views, and that page in a notebook cell."""

from __future__ import annotations

import html
import importlib
from pathlib import Path
from typing import Any

from headscope.errors import OptionError, OutputError
from headscope.storage.files import in_words, place_text
from headscope.views.attention_snapshot import AttentionSnapshot
from headscope.views.markup import Page, assemble, el
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


HEIGHT = 640


class StaticPage:
    """One self-contained HTML page.

    Attributes:
        data: HTML of the page; saved to a file, it opens in any browser, offline.
        title: title of the page.
        height: height of its frame in a notebook, in pixels.
    """

    def __init__(self, data: str, *, title: str, height: int = HEIGHT) -> None:
        self.data = data
        self.title = title
        self.height = height

    def __repr__(self) -> str:
        return f"<headscope view of {self.title!r}, {len(self.data.encode('utf-8', 'replace')) / 1e6:.1f} MB>"

    def _repr_html_(self) -> str:
        return frame(self.data, title=self.title, height=self.height)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file and return its path; errors as for `save_page`."""
        return save_page(path, self.data)

    def display(self) -> None:
        """Show the page in the notebook.

        Raises:
            OptionError: IPython is not installed, so the page cannot be displayed.
        """
        try:
            ipython: Any = importlib.import_module("IPython.display")
        except ImportError as error:
            raise OptionError(
                "there is no notebook to display the view in (IPython is not installed); use html_action='return' and "
                "write its data to a file"
            ) from error
        ipython.display(self)


def save_page(path: Any, page: str) -> Path:
    """Write a page to a file atomically, and return its path.

    Raises:
        OptionError: `path` is not a path, or is a folder.
        OutputError: the file cannot be written.
    """
    if not isinstance(path, str | Path):
        raise OptionError(f'path is a {type(path).__name__}; expected that of a file, as "view.html"')
    if Path(path).is_dir():
        raise OptionError(f'{path or "."} is a folder; expected a file, as "{Path(path) / "view.html"}"')
    try:
        place_text(Path(path), page)
    except OSError as error:
        raise OutputError(in_words(error)) from error
    return Path(path)


def frame(page: str, *, title: str, height: int) -> str:
    """Return an `<iframe>` that holds a page, isolated from the document around it.

    The page may run its own script and offer files to save; it can reach neither the notebook nor the network.
    """
    return (
        f'<iframe title="{html.escape(title, quote=True)}" sandbox="allow-scripts allow-downloads" '
        f'style="width:100%;height:{height}px;border:0" srcdoc="{html.escape(page, quote=True)}"></iframe>'
    )

"""Display of a page in a notebook, or its return: BertViz's `html_action`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headscope.errors import OptionError
from headscope.palette import SCHEMES

if TYPE_CHECKING:
    from headscope.views.snapshot.attention_snapshot import AttentionSnapshot

ACTIONS = ("view", "return")


def show_page(
    view: AttentionSnapshot,
    name: str,
    *,
    html_action: str,
    scheme: str | None = None,
    layer: int | None = None,
    heads: Sequence[int] = (),
) -> Any:
    """Display a view, or return its page.

    Args:
        view: the attention to draw.
        name: name of the view that the page opens with.
        html_action: `view` or `return`.
        scheme: `light` or `dark`; the reader's system decides when None.
        layer: label of the layer to open with.
        heads: labels of the heads to open with.

    Raises:
        OptionError: another action, or there is no notebook.
    """
    from headscope.views.attention_page import StaticPage, attention_page
    from headscope.views.state import opening

    if html_action not in ACTIONS:
        raise OptionError(f"html_action {html_action!r} is not known; choose one of {', '.join(ACTIONS)}")
    state = opening(view, name, layer=layer, heads=heads)
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


def layer_label(view: AttentionSnapshot, layer: int | None) -> int | None:
    """Return the label of a layer, from 1, for BertViz's index from 0.

    Raises:
        OptionError: the layer does not exist.
    """
    return None if layer is None else _labels("layer", [layer], view.kinds[0].layers)[0]


def head_labels(view: AttentionSnapshot, option: str, heads: Sequence[int] | None) -> tuple[int, ...]:
    """Return the labels of heads, from 1, for BertViz's indices from 0; empty for None.

    Raises:
        OptionError: a head does not exist.
    """
    return () if heads is None else _labels(option, heads, view.kinds[0].heads)


def _labels(option: str, numbers: Sequence[int], known: Sequence[int]) -> tuple[int, ...]:
    labels = tuple(int(number) + 1 for number in numbers)
    wrong = [label for label in labels if label not in known]
    if wrong:
        raise OptionError(
            f"{option} names {wrong[0] - 1}, which is not here; expected {known[0] - 1} to {known[-1] - 1}, the first "
            "being 0 as BertViz counts"
        )
    return labels

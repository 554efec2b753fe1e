"""`headscope view`: a model's attention on one text, as a page that opens offline."""

import re
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.app.cli.printing import say
from headscope.app.options import typed as o
from headscope.app.options.beside_run import VIEW
from headscope.declarations.option import choose
from headscope.errors import OptionError
from headscope.storage.files import check_file_place
from headscope.views.view_catalog import needs_neuron, view_names

VIEWS = view_names()
_OPTIONS = {option.name: option for option in VIEW}
MOST_RANGES = 1_000
_LABEL = re.compile(r"[1-9]\d{0,3}")


def command(
    which: Annotated[
        str,
        typer.Argument(metavar=f"[{'|'.join(VIEWS)}]", help="The view that the page opens with."),
    ] = VIEWS[0],
    model: o.Model = None,
    revision: o.Revision = None,
    text: Annotated[
        str | None,
        typer.Option(
            help="The text to read, or a file of it; a line of the demonstration text when not given.",
            show_default=False,
        ),
    ] = None,
    text_b: Annotated[
        str | None, typer.Option("--text-b", help="The second text of a pair.", show_default=False)
    ] = None,
    decoder_text: Annotated[str | None, o.info(_OPTIONS["decoder_text"])] = None,
    generate: Annotated[int, o.info(_OPTIONS["generate"])] = 0,
    layer: Annotated[int | None, o.info(_OPTIONS["layer"])] = None,
    head: Annotated[
        str | None,
        typer.Option(help="The heads that the page opens with, as 3 or 1-4,8.", show_default=False),
    ] = None,
    include_layers: Annotated[
        str | None,
        typer.Option("--include-layers", help="Keep only these layers, as 1-3,7.", show_default=False),
    ] = None,
    word_level: Annotated[
        bool, typer.Option("--word-level", help="Open with words in place of pieces.")
    ] = False,
    no_compress: Annotated[
        bool, typer.Option("--no-compress", help="Write a page that browsers from before 2023 can read.")
    ] = False,
    max_length: Annotated[int | None, o.info(_OPTIONS["max_length"])] = None,
    too_long: Annotated[str, o.info(_OPTIONS["too_long"])] = "error",
    dtype: o.Dtype = "float32",
    device: o.Device = "auto",
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("attention.html"),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Write over a file that is there, without asking.")
    ] = False,
) -> None:
    """Write a page of a model's attention on one text.

    It holds all views in one file, and loads nothing from the network.
    """
    choose("view", which, VIEWS)
    heads, layers = numbers("--head", head), numbers("--include-layers", include_layers)
    check_file_place("--out", out)
    if not overwrite:
        check_overwriting(out)

    from headscope.app.cli.typed_text import text_or_file
    from headscope.storage.files import place_text
    from headscope.views.attention_page import attention_page
    from headscope.views.figure_call import figure_call
    from headscope.views.snapshot.snapshot_of import take_snapshot
    from headscope.views.state import opening

    read = demonstration() if text is None else text_or_file("--text", text)
    text_b, decoder_text = text_or_file("--text-b", text_b), text_or_file("--decoder-text", decoder_text)
    chosen: dict[str, Any] = {
        "decoder_text": decoder_text,
        "generate": generate,
        "include_layers": layers,
        "max_length": max_length,
        "revision": revision,
    }
    view = take_snapshot(
        model,
        read,
        text_b,
        neuron=needs_neuron(which) or None,
        too_long=too_long,
        dtype=dtype,
        device=device,
        **chosen,
    )
    state = opening(view, which, layer=layer, heads=heads, words=word_level)
    call = figure_call(model, read, text_b, **chosen)
    page = attention_page(view, state=state, call=call, compress=not no_compress)
    place_text(out, page)
    for note in view.notes:
        say(f"note: {note}")
    if view.generated:
        say(f"generated: {view.generated}")
    weights = sum(kind.weights.size for kind in view.kinds)
    say(f"view: {out} ({weights:,} weights, {len(page.encode()) / 1e6:.1f} MB)")


def numbers(option: str, value: str | None) -> tuple[int, ...]:
    """Read `1-3,7` as 1, 2, 3, 7; nothing as nothing.

    Raises:
        OptionError: it is not of that form.
    """
    labels: list[int] = []
    parts = [] if value is None else value.split(",")
    if len(parts) > MOST_RANGES:
        raise OptionError(
            f"{option} lists {len(parts):,} numbers and ranges; expected at most {MOST_RANGES:,}"
        )
    for part in parts:
        first, dash, last = part.strip().partition("-")
        if not _LABEL.fullmatch(first) or (dash and not _LABEL.fullmatch(last)):
            raise OptionError(
                f"{option} {value!r} is no list of numbers; expected numbers from 1 and ranges, as 1-3,7"
            )
        labels += range(int(first), int(last or first) + 1)
    return tuple(labels)


def check_overwriting(out: Path) -> None:
    """Ask, on a terminal, before a file is written over; elsewhere write over pages of headscope alone.

    Raises:
        OptionError: the file is to stay as it is.
    """
    from headscope.views.html_page import is_page

    if not out.is_file():
        return
    if on_terminal():
        if typer.confirm(f"{out} is there already; write over it?", err=True):
            return
        raise OptionError(f"{out} was left as it is; give another --out")
    if not is_page(out):
        raise OptionError(
            f"--out {out} is there already, and is no page of headscope; give another file, or --overwrite"
        )


def on_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def demonstration() -> str:
    """Return a sentence of the demonstration text."""
    from headscope.corpora.demo import demo_text

    return demo_text().read_text(encoding="utf-8").split("\n", 1)[0]

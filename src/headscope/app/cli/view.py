"""`headscope view`: a model's attention on one text, as a page that opens offline."""

import re
import sys
from dataclasses import replace
from itertools import accumulate, islice
from pathlib import Path
from typing import Annotated, Any

import typer

from headscope.app import typed as o
from headscope.app.beside_run import OUT_FOLDER, RUN, VIEW
from headscope.app.cli.printing import say
from headscope.corpora.document import Document
from headscope.corpora.files import SUFFIXES
from headscope.corpora.opening import missing
from headscope.corpora.reading import read_corpus
from headscope.encoding.choices import LOADING
from headscope.errors import OptionError, nearest
from headscope.scans.declarations.option import Option, choose, switch
from headscope.storage.files import check_file_place
from headscope.storage.places import exists
from headscope.views.bundle import needs_neuron, view_names
from headscope.visible import shorten

_MOST_CHARACTERS = 1_000_000
_MOST_WORDS = 100
"""Maximum number of words of whole lines that are taken from a file, as a view shows them at once."""
VIEWS = view_names()
_OPTIONS = {option.name: option for option in VIEW}
MOST_RANGES = 1_000
_LABEL = re.compile(r"[1-9]\d{0,3}")
_TEXT = Option(
    name="text", group="corpora", help="Text to read, or a file; a line of the demonstration text when not given."
)
_TEXT_B = Option(name="text_b", group="corpora", help="Second text of a pair.")
_HEADS = Option(name="head", group="other", help="Heads shown first, such as 3 or 1-4,8.")
_LAYERS = Option(name="include_layers", group="other", help="Keep only these layers, such as 1-3,7.")
_WORD_LEVEL = switch("word_level", "Open with words in place of pieces.")
_NO_COMPRESS = switch("no_compress", "Write a page that browsers from before 2023 can read.", group="output")
_OUT = replace(OUT_FOLDER, kind=Path, default=Path("attention.html"), help="Page to write.")
_OVERWRITE = switch("overwrite", "Write over a file that is there, without asking.")


def text_or_file(option: str, typed: str) -> str:
    """Return a text as it was typed, or the first lines of a file that was named (`-`: standard input).

    These are whole lines of its first document, with up to 100 words in total, or one longer line.

    Raises:
        InputError: the name has the ending of a text file and no such file exists, or the file cannot be read.
        OptionError: a folder was named, or a document longer than any view shows.
    """
    if not _is_name(option, typed):
        return typed
    first, *others = islice(read_corpus(typed), 2)
    text, lines = _text_of(first)
    if len(text) > _MOST_CHARACTERS:
        part = "line" if lines else "document"
        raise OptionError(
            f"{option} {typed}: its first {part} has {len(text):,} characters; expected at most "
            f"{_MOST_CHARACTERS:,}, a sentence or some: put each on a line of its own, or type the words"
        )
    if lines < len(first.lines):
        say(f"note: the first lines of {typed} are drawn, {lines} of {len(first.lines):,} of its first document")
    elif others:
        say(f"note: {typed} has several documents, parted by blank lines; this is the first")
    return text


def _is_name(option: str, typed: str) -> bool:
    if typed in ("", "-"):
        return typed == "-"
    path = Path(typed)
    if exists(typed):
        # A word may be a folder's name by chance; a path is always meant as one.
        if path.is_dir() and path.name != typed:
            raise OptionError(f"{option} {typed} is a folder; expected the words themselves, or one file")
        return not path.is_dir()
    if len(typed.split()) == 1 and typed.lower().removesuffix(".gz").endswith(SUFFIXES):
        raise missing(typed, "give a file that is there, or the words themselves in quotes")
    return False


def _text_of(document: Document) -> tuple[str, int]:
    """Return the text to draw from a document, and its number of lines."""
    if not document.lines:
        return " ".join(document.words or document.tokens or ()), 0
    words = accumulate(len(line.split()) for line in document.lines)
    number = max(1, sum(total <= _MOST_WORDS for total in words))
    return " ".join(document.lines[:number]), number


@o.takes(
    *(RUN["model"], RUN["revision"], _TEXT, _TEXT_B, _OPTIONS["decoder_text"], _OPTIONS["generate"]),
    *(_OPTIONS["layer"], _HEADS, _LAYERS, _WORD_LEVEL, _NO_COMPRESS, _OPTIONS["max_length"]),
    *(_OPTIONS["too_long"], *(RUN[name] for name in LOADING[1:]), _OUT, _OVERWRITE),
)
def command(
    which: Annotated[
        str, o.argument(f"[{'|'.join(VIEWS)}]", "The view that the page opens with.", group="other")
    ] = VIEWS[0],
    words: Annotated[
        str | None,
        o.argument("TEXT", "The text, as --text takes it; no view need be named before it.", group="corpora"),
    ] = None,
    *,
    model: str | None,
    text: str | None,
    text_b: str | None,
    layer: int | None,
    head: str | None,
    word_level: bool,
    no_compress: bool,
    out: Path,
    overwrite: bool,
    **reading: Any,
) -> None:
    """Write a page of a model's attention on one text.

    The page contains all views in one file, and loads nothing from the network.
    """
    which, text = view_and_text(which, words, text)
    heads, layers = numbers("--head", head), numbers("--include-layers", reading["include_layers"])
    check_file_place("--out", out, reads=[text, text_b, reading["decoder_text"], model])
    if not overwrite:
        check_overwriting(out)

    from headscope.scans.prepare.given_names import check_names

    read = demonstration() if text is None else text_or_file("--text", text)
    text_b = text_b and text_or_file("--text-b", text_b)
    if reading["decoder_text"]:
        reading["decoder_text"] = text_or_file("--decoder-text", reading["decoder_text"])
    reading["include_layers"] = layers
    check_names(model=model)
    from headscope.storage.files import place_text
    from headscope.views.attention_page import attention_page
    from headscope.views.snapshot_of import take_snapshot
    from headscope.views.state import figure_call, opening

    view = take_snapshot(model, read, text_b, neuron=needs_neuron(which) or None, **reading)
    state = opening(view, which, layer=layer, heads=heads, words=word_level)
    # The call that draws the same in Python omits what does not change the picture.
    shown = {name: value for name, value in reading.items() if name not in ("too_long", *LOADING[1:])}
    call = figure_call(read, text_b, model=model, **shown)
    page = attention_page(view, state=state, call=call, compress=not no_compress)
    place_text(out, page)
    for note in view.notes:
        say(f"note: {note}")
    for note in view.words_notes if word_level else ():
        say(f"note: {note}")
    if view.generated:
        say(f"generated: {view.generated}")
    weights = sum(kind.weights.size for kind in view.kinds)
    say(f"view: {out} ({weights:,} weights, {len(page.encode()) / 1e6:.1f} MB)")


def view_and_text(which: str, words: str | None, text: str | None) -> tuple[str, str | None]:
    """Distinguish the name of a view from a text that was typed in its place.

    Args:
        which: first argument.
        words: second argument.
        text: value of `--text`.

    Raises:
        OptionError: the argument is neither the name of a view nor a text, or two texts are given.
    """
    is_text = len(which.split()) > 1 or (which not in VIEWS and nearest(which, VIEWS) is None)
    if words is None and is_text:
        which, words = VIEWS[0], which
    choose("view", which, VIEWS)
    if words is not None and text is not None:
        raise OptionError(
            f"two texts came, {shorten(words, 40)!r} and --text {shorten(text, 40)!r}; expected one of them"
        )
    return which, text if words is None else words


def numbers(option: str, value: str | None) -> tuple[int, ...]:
    """Parse `1-3,7` as 1, 2, 3, 7, and None as an empty tuple.

    Raises:
        OptionError: the value has another form.
    """
    labels: list[int] = []
    parts = [] if value is None else value.split(",")
    if len(parts) > MOST_RANGES:
        raise OptionError(f"{option} lists {len(parts):,} numbers and ranges; expected at most {MOST_RANGES:,}")
    for part in parts:
        first, dash, last = part.strip().partition("-")
        if not _LABEL.fullmatch(first) or (dash and not _LABEL.fullmatch(last)):
            raise OptionError(
                f"{option} {value!r} is not a list of numbers; expected numbers from 1 and ranges, as 1-3,7"
            )
        labels += range(int(first), int(last or first) + 1)
    return tuple(labels)


def check_overwriting(out: Path) -> None:
    """Before a file is overwritten, ask on a terminal; elsewhere allow it only for pages of headscope.

    Raises:
        OptionError: the file must not be overwritten.
    """
    from headscope.views.markup import is_page

    if not out.is_file():
        return
    if on_terminal():
        if typer.confirm(f"{out} is there already; write over it?", err=True):
            return
        raise OptionError(f"{out} was left as it is; give another --out")
    if not is_page(out):
        raise OptionError(
            f"--out {out} is there already, and is not a page of headscope; give another file, or --overwrite"
        )


def on_terminal() -> bool:
    """Return True if standard input and error are a terminal, so that a user can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


def demonstration() -> str:
    """Return a sentence of the demonstration text."""
    from headscope.installing import demo_text

    return demo_text().read_text(encoding="utf-8").split("\n", 1)[0]

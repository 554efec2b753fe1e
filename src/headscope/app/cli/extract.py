"""`headscope extract`: attention maps on disk, as the original's `extract_attention.py` makes them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.app.cli.printing import say
from headscope.app.options import typed as o
from headscope.app.options.beside_run import RUN
from headscope.counted import count
from headscope.declarations.option import choose
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.encoding.packing.line_packing import PackingCounts
    from headscope.running.extraction import Extraction


SHARED = (
    *("model", "revision", "pooling", "packing", "max_length", "token_types"),
    *("documents", "column", "max_inputs", "device", "dtype", "seed"),
)


@o.takes(*(RUN[name] for name in SHARED))
def command(
    text: Annotated[
        list[str] | None,
        typer.Option(
            "--preprocessed-data-file",
            "--text",
            help="JSON entries with text, words or tokens (or plain text); may be repeated.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder (or pickle) to write; FILE_attn (FILE_attn.pkl) beside the input when not given.",
            show_default=False,
        ),
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="[safetensors|pickle]",
            help="safetensors (a folder), or pickle (for the original's notebooks).",
        ),
    ] = "safetensors",
    store: Annotated[str, typer.Option(metavar="[float16|float32]", help="Precision on disk.")] = "float16",
    word_level: Annotated[
        bool, typer.Option("--word-level", help="Attention between words in place of tokens.")
    ] = False,
    cased: Annotated[
        bool,
        typer.Option("--cased", help="Do not lower-case; without it the tokenizer does as it is set to."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="A tiny random model with the same tokenizer, to try things out.")
    ] = False,
    too_long: o.TooLong = "skip",
    batch_size: o.BatchSize = "16",
    force: o.Force = False,
    **shared: Any,
) -> None:
    """Run a model over text and write its attention maps to disk."""
    choose("--format", form, ("safetensors", "pickle"))
    choose("--store", store, ("float16", "float32"))
    if form == "pickle" and store != "float16":
        raise OptionError(
            "--format pickle holds float16, as the original's; use --format safetensors for float32"
        )
    target = out or default_out(text or [], pickle=form == "pickle")
    options = o.run_options(**shared, text=text, too_long=too_long, batch_size=batch_size, stages=("stats",))
    from headscope.running.extraction import MapOptions, extract

    how = MapOptions(
        pickle=form == "pickle",
        store=store,
        word_level=options.pooling if word_level else None,
        cased=cased,
        debug=debug,
        replace=force,
    )
    for line in said(extract(options, target, how), max_length=options.max_length):
        say(line)


def default_out(inputs: list[str], *, pickle: bool) -> Path:
    """Return where the original would write: FILE_attn, or FILE_attn.pkl, without the ending `.json`.

    Raises:
        OptionError: no input, or none or several files to name it after.
    """
    if not inputs:
        raise OptionError(
            "no input was given; expected --preprocessed-data-file with a JSON file of entries, or --text"
        )
    if len(inputs) > 1 or inputs[0] == "-":
        raise OptionError("give --out: there is not one input file to name the maps after")
    path = Path(inputs[0])
    name = path.name.removesuffix(".gz")
    for ending in (".json", ".jsonl", ".txt"):
        name = name.removesuffix(ending)
    return path.with_name(f"{name}_attn.pkl" if pickle else f"{name}_attn")


def said(extraction: "Extraction", *, max_length: int) -> list[str]:
    """Say in plain lines what was written, and what was not."""
    if extraction.counts is None:
        return [f"{extraction.path} holds these maps already: nothing to do; --force makes them again"]
    inputs = extraction.counts.segments - extraction.left_out
    shape = " + ".join(f"{part.layers} x {part.heads} {part.kind} heads" for part in extraction.index.layout)
    between = (
        "tokens"
        if extraction.index.word_level is None
        else f"words ({extraction.index.word_level} over pieces)"
    )
    return [
        f"wrote {extraction.path}: attention between {between} of {count(inputs, 'input')}, "
        f"{shape}, {extraction.index.store}, {extraction.bytes / 1e6:,.1f} MB",
        *_losses(extraction.counts, max_length),
        *([f"left out {extraction.left_out:,}: a word has no row of its own"] if extraction.left_out else []),
        *(
            ["words are the tokenizer's own: the input gives none"]
            if extraction.index.word_level is not None and not extraction.counts.words
            else []
        ),
        *(f"note: {note}" for note in extraction.notes),
    ]


def _losses(counts: "PackingCounts", max_length: int) -> list[str]:
    lines = []
    if counts.truncated:
        lines.append(f"shortened {counts.truncated:,} to {max_length} tokens")
    for reason, number in sorted(counts.skipped.items()):
        limit = f" of {max_length} tokens (--max-length, --too-long)" if reason == "over the limit" else ""
        lines.append(f"left out {number:,}: {reason}{limit}")
    return lines

"""`headscope extract`: attention maps on disk, as the original's `extract_attention.py` makes them."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.app.cli.printing import say
from headscope.app.options import typed as o
from headscope.app.options.beside_run import CASED, FORCE, OUT_FOLDER, RUN
from headscope.counted import count
from headscope.declarations.option import Option, switch
from headscope.declarations.run_options import RunOptions
from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.running.extraction import Extraction


_TEXT = replace(
    RUN["text"],
    flags=("--preprocessed-data-file", "--text"),
    help="JSON entries with text, words or tokens (or plain text); may be repeated.",
)
_OUT = replace(
    OUT_FOLDER, help="Folder (or pickle) to write; FILE_attn (FILE_attn.pkl) next to the input when not given."
)
_FORM = Option(
    name="form",
    kind=str,
    default="safetensors",
    flags=("--format",),
    group="output",
    choices=("safetensors", "pickle"),
    help="safetensors (a folder), or pickle (for the original's notebooks).",
)
_STORE = Option(
    name="store", kind=str, default="float16", group="output", choices=("float16", "float32"), help="Precision on disk."
)
_WORD_LEVEL = switch("word_level", "Attention between words in place of tokens.")
_DEBUG = switch("debug", "A tiny random model with the same tokenizer, to try things out.", group="model")


@o.takes(
    *(_TEXT, _OUT, _FORM, _STORE, _WORD_LEVEL, CASED, _DEBUG),
    *(replace(RUN["too_long"], default="skip"), replace(RUN["batch_size"], default=16), FORCE),
    *(RUN[name] for name in ("model", "revision", "pooling", "packing", "max_length", "token_types")),
    *(RUN[name] for name in ("documents", "column", "max_inputs", "device", "device_map", "dtype", "seed")),
)
def command(
    *, out: Path | None, form: str, store: str, word_level: bool, cased: bool, debug: bool, force: bool, **values: Any
) -> None:
    """Run a model over text and write its attention maps to disk."""
    if form == "pickle" and store != "float16":
        raise OptionError("--format pickle holds float16, as the original's; use --format safetensors for float32")
    target = out or default_out(values["text"] or [], pickle=form == "pickle")
    options = o.run_options(RunOptions, **values, stages=("stats",))
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
    """Return the path to which the original would write: FILE_attn, or FILE_attn.pkl, without the ending `.json`.

    Raises:
        OptionError: no name follows, because the input is missing, standard input, or several files.
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
    """Return plain lines that report the written maps and the left-out inputs."""
    counts, index = extraction.counts, extraction.index
    if counts is None:
        return [f"{extraction.path} holds these maps already: nothing to do; --force makes them again"]
    inputs = counts.segments - extraction.left_out
    shape = " + ".join(f"{part.layers} x {part.heads} {part.kind} heads" for part in index.layout)
    between = "tokens" if index.word_level is None else f"words ({index.word_level} over pieces)"
    lines = [
        f"wrote {extraction.path}: attention between {between} of {count(inputs, 'input')}, "
        f"{shape}, {index.store}, {extraction.bytes / 1e6:,.1f} MB"
    ]
    if counts.truncated:
        lines.append(f"shortened {counts.truncated:,} to {max_length} tokens")
    for reason, number in sorted(counts.skipped.items()):
        limit = f" of {max_length} tokens (--max-length, --too-long)" if reason == "over the limit" else ""
        lines.append(f"left out {number:,}: {reason}{limit}")
    if extraction.left_out:
        lines.append(f"left out {extraction.left_out:,}: a word has no row of its own")
    return [*lines, *(f"note: {note}" for note in extraction.notes)]

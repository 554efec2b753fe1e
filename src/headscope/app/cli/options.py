"""The options that mean the same in every command."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.errors import OptionError

if TYPE_CHECKING:
    from headscope.study.options import RunOptions

Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        "--bert-dir",
        help="Hub name (google-bert/bert-base-uncased) or folder; the embedded headscope-minilm when not given.",
        show_default=False,
    ),
]
Revision = Annotated[str | None, typer.Option(help="Branch, tag or commit on the hub.", show_default=False)]
Text = Annotated[
    list[str] | None,
    typer.Option(
        "--text",
        help="Text, .json features, a folder of them, or - for standard input; may be repeated. "
        "The demonstration text when not given.",
        show_default=False,
    ),
]
Packing = Annotated[
    str, typer.Option(help="How lines become inputs: pretraining, paragraphs (pairs) or single.")
]
MaxLength = Annotated[
    int,
    typer.Option(
        "--max-length", "--max-sequence-length", help="Tokens in an input at most, special tokens included."
    ),
]
TooLong = Annotated[
    str, typer.Option(help="What to do with an input over the limit: truncate, skip or error.")
]
TokenTypes = Annotated[
    str, typer.Option(help="Token types of pairs: own (the model's) or zero (as the original code).")
]
BatchSize = Annotated[str, typer.Option(help="Inputs computed together: a number, or auto.")]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:0 ... or mps.")]
Dtype = Annotated[str, typer.Option(help="Precision: float32, float64, bfloat16 or float16.")]
Seed = Annotated[int, typer.Option(min=0, help="Of every random choice.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Stop after so many inputs.", show_default=False)]

Maps = Annotated[
    Path | None,
    typer.Option(
        help="Folder of saved maps (headscope extract) to read instead of text.", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace what stands at the output's place.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]


def choose(option: str, value: str, known: Sequence[str]) -> str:
    """Return the value if it is a known one.

    Raises:
        OptionError: it is not; lists the known ones and the nearest.
    """
    if value in known:
        return value
    near = get_close_matches(value, known, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise OptionError(f"{option} {value!r} is not known; choose one of {', '.join(known)}{hint}")


def read_batch_size(value: str) -> int | None:
    """Read `--batch-size`: a number from 1, or None for `auto`.

    Raises:
        OptionError: neither.
    """
    if value == "auto":
        return None
    if value.isdecimal() and int(value) > 0:
        return int(value)
    raise OptionError(f"--batch-size {value!r} is not known; give a number from 1, or auto")


def run_options(*, text: list[str] | None, batch_size: str, **others: Any) -> "RunOptions":
    """Check the options of a run and put them together.

    Raises:
        OptionError: a value is not known; names the known ones.
    """
    size = read_batch_size(batch_size)
    choose("--packing", others["packing"], ("pretraining", "paragraphs", "single"))
    choose("--too-long", others["too_long"], ("truncate", "skip", "error"))
    choose("--token-types", others["token_types"], ("own", "zero"))
    choose("--dtype", others["dtype"], ("float32", "float64", "bfloat16", "float16"))
    from headscope.study.options import RunOptions

    return RunOptions(text=tuple(text or ()), batch_size=size, **others)

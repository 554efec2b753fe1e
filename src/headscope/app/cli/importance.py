"""`headscope importance`: how much the loss depends on attention to each class of token, layer by layer."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show_table
from headscope.app.cli.syntax import Out, run_tables

if TYPE_CHECKING:
    from headscope.analyses.stage_result import StageResult

LOSSES = ("mlm", "clm", "denoise")
Loss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        help="mlm (encoders), clm (decoders) or denoise (encoder-decoders); by the model's kind when not given.",
        show_default=False,
    ),
]
_NAMES = {"cls": "cls", "sep": "sep", "punctuation": ". ,", "other": "other"}


@o.takes("text", "model", "revision", *o.SURFACE, *o.MACHINE)
def command(loss: Loss = None, out: Out = None, **given: Any) -> None:
    """Take the gradient of the model's loss by its attention: what the loss depends on, by class of token.

    Needs a checkpoint with a trained head; the embedded model has one.
    """
    if loss is not None:
        o.choose("--loss", loss, LOSSES)
    given["loss"] = loss or "none"
    for line in run_tables("importance", out=out, given=given, show=show):
        say(line)


def show(result: "StageResult") -> None:
    """Print the layers' means of both measures by class of token."""
    table = result.tables["importance"]
    means = table[table["head"].isna()]
    several = means["kind"].nunique() > 1
    columns = [("layer", "left")]
    for measure in ("gradient:", "w x gradient:"):
        for place, name in enumerate(_NAMES.values()):
            columns.append((f"{measure} {name}" if place == 0 else name, "right"))
    shown = []
    for (kind, layer), rows in means.groupby(["kind", "layer"], sort=False):
        value = rows.set_index(["measure", "key_class"])["value"]
        cells = [number(value[m, name]) for m in ("gradient", "weight_times_gradient") for name in _NAMES]
        shown.append([f"{kind} {layer}" if several else str(layer), *cells])
    show_table(columns, shown)
    facts = result.facts["importance"]
    say(
        f"loss {facts['loss']}: {facts['loss_mean']:.2f} nats a token on average over {facts['segments']:,} segments, "
        f"{facts['targets']:,} tokens predicted; mean over heads, in thousandths: |d loss / d weight|, and that times "
        "the weight; by class of the token attended to"
    )


def number(value: float) -> str:
    """Write a value in thousandths with three digits, and what cannot occur as a dash."""
    return "-" if value != value else f"{1000 * value:#.3g}"

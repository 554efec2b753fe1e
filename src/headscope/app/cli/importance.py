"""`headscope importance`: how much the loss depends on attention to each class of token, layer by layer."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from headscope.app.cli import options as o
from headscope.app.cli.printing import say
from headscope.app.cli.syntax import Out, run_tables

if TYPE_CHECKING:
    pass

LOSSES = ("mlm", "clm", "denoise")
Loss = Annotated[
    str | None,
    typer.Option(
        "--loss",
        help="mlm (encoders), clm (decoders) or denoise (encoder-decoders); by the model's kind when not given.",
        show_default=False,
    ),
]


@o.takes("text", "model", "revision", *o.SURFACE, *o.MACHINE)
def command(loss: Loss = None, out: Out = None, **given: Any) -> None:
    """Take the gradient of the model's loss by its attention: what the loss depends on, by class of token.

    Needs a checkpoint with a trained head; the embedded model has one.
    """
    if loss is not None:
        o.choose("--loss", loss, LOSSES)
    given["loss"] = loss or "none"
    for line in run_tables("importance", out=out, given=given):
        say(line)

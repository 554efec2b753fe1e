"""`headscope probe`: how many head words a parser over all heads' attention finds, as table 3 for a terminal."""

from typing import TYPE_CHECKING, Any

from headscope.app.cli import options as o
from headscope.app.cli.printing import say
from headscope.app.cli.syntax import Out, run_tables

if TYPE_CHECKING:
    pass


@o.takes(
    "treebank",
    "treebank_train",
    "model",
    "revision",
    "fold_labels",
    "pieces",
    *o.PROBES,
    "strict_input",
    *o.MACHINE,
)
def command(out: Out = None, **given: Any) -> None:
    """Train probes on --treebank-train and measure them on --treebank: what all heads know of syntax together.

    Beside them stand the same probes on random weights, a parser that sees words and distances only, and the
    structural probe on each layer's vectors.
    """
    for line in run_tables("probes", out=out, given=given):
        say(line)

"""`headscope coref`: which head finds antecedents, beside baselines; and GAP by gender."""

from typing import TYPE_CHECKING, Any

from headscope.app.cli import options as o
from headscope.app.cli.printing import say
from headscope.app.cli.syntax import Out, run_tables

if TYPE_CHECKING:
    pass


@o.takes("coref", "model", "revision", "pieces", "controls", *o.COREFERENCE, "strict_input", *o.MACHINE)
def command(out: Out = None, **given: Any) -> None:
    """Score every head on antecedents of mentions, beside baselines; GAP's files by gender.

    Without --coref the synthetic documents are read.
    """
    for line in run_tables("coreference", out=out, given=given):
        say(line)

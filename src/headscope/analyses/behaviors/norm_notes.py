"""Notes on norm-weighted behaviors: rows that are left out, and kinds of attention without norms."""

from collections.abc import Iterator

from headscope.analyses.behaviors.sums.accumulator import BehaviorAccumulator
from headscope.analyses.behaviors.sums.norm_accumulator import NormBehaviorAccumulator
from headscope.analyses.stage_result import notes_on_left_out


def norm_notes(sums: BehaviorAccumulator, *, where: str = "") -> Iterator[str]:
    """Yield notes on each kind of attention; none for sums of weights alone.

    Args:
        sums: accumulator after a scan.
        where: words that name the rows: `over shuffled words`; empty for all rows of the text.
    """
    if not isinstance(sums, NormBehaviorAccumulator):
        return
    for kind in sums.unknown:
        yield (
            f"{kind} heads are measured by where they look alone, for no linear map takes their attention's output as "
            "it is"
        )
    yield from notes_on_left_out(sums.left_out, "behaviors by what heads write", where=where)

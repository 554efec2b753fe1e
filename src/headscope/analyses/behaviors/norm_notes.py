"""What the numbers by what heads write leave out, in words: rows of which nothing is written, and what is not known."""

from collections.abc import Iterator

from headscope.analyses.behaviors.accumulator import BehaviorAccumulator
from headscope.analyses.behaviors.norm_accumulator import NormBehaviorAccumulator
from headscope.counted import count


def not_written(sums: BehaviorAccumulator, *, where: str = "") -> Iterator[str]:
    """Yield what is to be said, kind by kind; nothing of sums that were not asked for what is written.

    Args:
        sums: after a scan.
        where: which rows they are of, where that needs to be said: `over shuffled words`.
    """
    if not isinstance(sums, NormBehaviorAccumulator):
        return
    for kind in sums.unknown:
        yield (
            f"{kind} heads are measured by where they look alone, for no linear map takes their attention's output as "
            "it is"
        )
    for kind, rows in sums.left_out.items():
        if number := int(rows.sum()):
            yield (
                f"of {count(number, 'row')} of {kind} heads {f'{where} ' if where else ''}nothing at all is written; "
                "they are left out of the behaviors by what heads write"
            )

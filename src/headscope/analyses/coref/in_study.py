"""The parts of a study on coreference: the heads that find antecedents, and the number of mentions that were read."""

from collections.abc import Mapping
from typing import Any

from headscope.analyses.study_parts import HeadMeasures, StudyParts
from headscope.counted import count


def summary(manifest: Mapping[str, Any]) -> list[str]:
    """Say how many mentions and how many rows of GAP count."""
    read = []
    if coreference := manifest.get("coreference"):
        read.append(f"{count(coreference['counted'], 'mention')} with an antecedent")
    if gap := manifest.get("gap"):
        read.append(f"{count(gap['used'], 'row')} of GAP")
    return read


STUDY = StudyParts(
    chosen="coref",
    named=lambda _: "coreference",
    summary=summary,
    heads=(
        HeadMeasures(
            table="coref_heads",
            values=("accuracy",),
            by=("mention_type",),
            where={"model": "trained"},
        ),
    ),
)

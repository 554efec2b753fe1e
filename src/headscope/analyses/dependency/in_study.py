"""What a study knows of dependency heads: the relations that heads find, and which trees were read."""

from collections.abc import Mapping
from typing import Any

from headscope.analyses.study_parts import HeadMeasures, StudyParts
from headscope.counted import count


def summary(manifest: Mapping[str, Any]) -> list[str]:
    """Say how many trees were read."""
    treebank = manifest.get("treebank")
    return [f"trees of {count(treebank['sentences'], 'sentence')}"] if treebank else []


STUDY = StudyParts(
    chosen="dependency_best",
    named=lambda row: str(row["relation"]),
    summary=summary,
    heads=(
        HeadMeasures(
            table="dependency", values=("accuracy",), by=("relation", "direction"), where={"model": "trained"}
        ),
    ),
)

"""The report that `headscope atlas` and `headscope export` take, and the folder beside it that they write to."""

from pathlib import Path
from typing import Annotated

from headscope.app.options import typed as o

StudyFolder = Annotated[Path, o.argument("DIR", "Folder of a headscope report.", group="corpora")]


def beside(study: Path, name: str) -> Path:
    """Return the folder `DIR-name` beside the report's folder, also where that was named `.`."""
    folder = study.resolve()
    return folder.with_name(f"{folder.name}-{name}")

"""The report folder that `headscope atlas` and `headscope export` take, and the folder next to it for their output."""

from pathlib import Path
from typing import Annotated

from headscope.app.options import typed as o

StudyFolder = Annotated[Path, o.argument("DIR", "Folder of a headscope report.", group="corpora")]


def beside(study: Path, name: str) -> Path:
    """Return the folder `DIR-name` next to the report's folder, even if that was given as `.`."""
    folder = study.resolve()
    return folder.with_name(f"{folder.name}-{name}")

"""What libraries would read of the current folder when they are imported: the program lets them find nothing there."""

import os
from typing import Any

_READ_FROM_THE_CURRENT_FOLDER = frozenset({"matplotlibrc"})


def hide_settings_files() -> None:
    """Let matplotlib begin with the settings that it ships, whoever else left some.

    It looks in the current folder before anywhere else, which no setting of its own turns off: so the bare name is
    not there for it. For a program of our own alone, since it holds for the whole process.
    """
    exists = os.path.exists

    def exists_elsewhere(path: Any) -> bool:
        # A path in any other form than the bare name is one that somebody gave.
        return not (isinstance(path, str) and path in _READ_FROM_THE_CURRENT_FOLDER) and exists(path)

    os.path.exists = exists_elsewhere
    os.environ["MATPLOTLIBRC"] = os.devnull

"""Where a file that a user names may go."""

from pathlib import Path

from headscope.errors import OptionError


def check_file_place(option: str, path: Path) -> None:
    """Refuse a place that no file can be written to, before anything is computed for it.

    Raises:
        OptionError: a folder stands there, or it is in none.
    """
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise OptionError(f"{option} {path} is no place for a file; give a file in a folder that exists")

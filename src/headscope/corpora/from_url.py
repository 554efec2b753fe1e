"""Corpora by address: `s3://bucket/wiki.txt`, read over the network once and kept on this disk while the run goes on.

Nothing is fetched that the user did not name: an address is recognized only where a file is expected.
"""

import atexit
import re
import shutil
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from headscope.corpora.mentions.brackets import printable
from headscope.corpora.opening import source_name
from headscope.errors import InputError
from headscope.installing import how_to_install
from headscope.storage.lock import scratch
from headscope.visible import count

SCHEMES = (
    *("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "webhdfs"),
    *("http", "https", "ftp", "sftp", "hf", "file", "memory"),
)
"""The protocols of fsspec that read files from a store. Others open the contents of files, or run commands."""
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://[^\s]+")
_PIECE = 1 << 22  # bytes


def is_address(name: str) -> bool:
    """Return True if a name is an address: `<scheme>://...`."""
    return _ADDRESS.fullmatch(name) is not None


@cache
def copied(address: str) -> tuple[str, ...]:
    """Return local copies of the files at an address, in order: one file, or all that match a pattern (`*`).

    Copies keep their names, whose endings give the format. They are made once per process and removed with it; copies
    that a killed process left are removed by the next.

    Raises:
        InputError: the scheme is unknown, a package or the file is missing, it is a folder, permission or
            disk space is missing; the message says what to do.
    """
    scheme = address.partition("://")[0].lower()
    if scheme not in SCHEMES:
        raise InputError(
            f"{source_name(address)}: addresses that begin with {scheme}:// are not read; expected "
            f"{', '.join(SCHEMES)}, or a local file"
        )
    files = _opened(address, scheme)
    try:
        remote_path = str(files._strip_protocol(address))
        remote_paths = sorted(files.glob(remote_path)) if "*" in address else [remote_path]
        if not remote_paths:
            raise InputError(f"no file matches {source_name(address)}; look at the pattern, or give files by name")
        if any(map(files.isdir, remote_paths)):
            raise InputError(
                f"{source_name(address)} is a folder; give its files by name, or by a pattern as .../*.txt"
            )
        _check_room(files, remote_paths, address)
        folder = Path(tempfile.mkdtemp(dir=_room()))
        return tuple(str(_copy(files, path, folder / str(number))) for number, path in enumerate(remote_paths))
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"no such file: {source_name(address)}; give the address of a file that is there") from None
    except ImportError as error:
        raise _lacking(address, scheme, error) from None
    except Exception as error:  # each store raises its own error classes
        raise InputError(
            f"cannot read {source_name(address)}: {printable(f'{type(error).__name__}: {error}'[:300])}; look at the "
            "address, at the permission to read it, and at the network"
        ) from None


def _opened(address: str, scheme: str) -> Any:
    """Return the store of an address."""
    try:
        import fsspec

        return fsspec.filesystem(scheme)
    except ImportError as error:
        raise _lacking(address, scheme, error) from None
    except Exception as error:
        raise InputError(
            f"cannot read {source_name(address)}: {printable(f'{type(error).__name__}: {error}'[:300])}; look at what "
            f"{scheme}:// needs on this machine"
        ) from None


def _lacking(address: str, scheme: str, error: ImportError) -> InputError:
    why = printable(str(error).partition("\n")[0][:200])
    return InputError(
        f"{source_name(address)}: reading {scheme}:// needs a package that is not installed ({why}); "
        f"{how_to_install('remote')}"
    )


def _check_room(files: Any, paths: list[str], address: str) -> None:
    needed = sum(files.size(path) or 0 for path in paths)
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if needed > free:
        raise InputError(
            f"{source_name(address)}: {count(len(paths), 'file')} of {needed / 1e9:.1f} GB, and "
            f"{tempfile.gettempdir()}, where they are kept while the run goes on, has room for {free / 1e9:.1f}; set "
            "TMPDIR to a larger disk"
        )


def _copy(files: Any, path: str, folder: Path) -> Path:
    folder.mkdir()
    target = folder / path.rstrip("/").rpartition("/")[2]
    with files.open(path, "rb") as source, target.open("wb") as copy:
        shutil.copyfileobj(source, copy, _PIECE)
    return target


@cache
def _room() -> Path:
    """Return the folder where this process keeps its copies; it is removed with the process."""
    stack = ExitStack()
    folder = stack.enter_context(scratch(Path(tempfile.gettempdir()), "headscope-remote"))
    folder.mkdir(mode=0o700)
    atexit.register(stack.close)
    return folder

"""Corpora that are not on this disk: by address (s3://bucket/wiki.txt), copied once and kept while the run goes on,
and the names of those on the hub."""

import atexit
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from headscope.corpora.hub_parquet import parquet_to_conllu, parquet_to_text
from headscope.corpora.mentions.brackets import printable
from headscope.corpora.opening import source_name
from headscope.errors import InputError
from headscope.installing import how_to_install
from headscope.storage.lock import scratch
from headscope.visible import count

_TEXTS = {"wikitext": "wikitext-2-raw-v1", "wikitext-2": "wikitext-2-raw-v1"}
FORM = re.compile(r"(?P<corpus>ud:[^/@]*|wikitext(?:-\d+)?)(?:/(?P<split>[a-z]+))?(?:@(?P<revision>.+))?", re.I)
_LONGEST_REVISION = 250
_TREEBANK = re.compile(r"[a-z]{2,8}_[a-z0-9]+")
LOOK = "names are a language code, _ and a treebank, as ud:en_ewt or ud:fr_gsd"
Trouble = Literal["away", "repository", "revision", "file", "permission", "name", "size", "range"]
_BY_STATUS: dict[int, Trouble] = {401: "permission", 403: "permission", 416: "range"}


@dataclass(frozen=True, kw_only=True)
class Source:
    """The place of a family of names on the hub.

    Attributes:
        repository, revision, file: dataset, commit, and path within it.
        splits: names of splits that the user may write, mapped to those of the file; the first is the default.
        ending: ending of the plain file that `convert` makes from the Parquet file.
    """

    repository: str
    revision: str
    file: str
    splits: dict[str, str]
    ending: str
    convert: Callable[..., None]


# A commit, not a branch, so that a name means the same text everywhere and always. Both commits are documented in
# public records of downloads: main of September 2026 (UD 2.18), and main since January 2024. @revision gives another.
_TREEBANKS = Source(
    repository="universal-dependencies/universal_dependencies",
    revision="6b8168e1a6c048c9f8c731aca07daa7aaba228c6",
    file="parquet/{config}/{split}.parquet",
    splits={"dev": "dev", "test": "test", "train": "train", "validation": "dev", "valid": "dev"},
    ending="conllu",
    convert=parquet_to_conllu,
)
_WIKITEXT = Source(
    repository="Salesforce/wikitext",
    revision="b08601e04326c79dfdd32d625aee71d232d685c3",
    file="{config}/{split}-00000-of-00001.parquet",
    splits={"validation": "validation", "test": "test", "train": "train", "dev": "validation", "valid": "validation"},
    ending="txt",
    convert=parquet_to_text,
)


@dataclass(frozen=True, kw_only=True)
class HubPlace:
    """The data set that a name refers to; `revision` is None if the name has none."""

    name: str
    source: Source
    config: str
    split: str
    revision: str | None

    @property
    def file(self) -> str:
        """The path in the repository."""
        return self.source.file.format(config=self.config, split=self.split)


def parse(name: str) -> HubPlace:
    """Parse a name.

    Raises:
        InputError: the name has another form, the split does not exist, or the revision cannot be one.
    """
    form = FORM.fullmatch(name)
    if form is None:
        raise InputError(
            f"'{printable(name)}' is not the name of a corpus to fetch; expected ud:<treebank>, as ud:en_ewt, or "
            f"wikitext"
        )
    corpus, split = form["corpus"].lower(), (form["split"] or "").lower()
    if corpus.startswith("ud:"):
        source, config = _TREEBANKS, corpus[3:]
        if not _TREEBANK.fullmatch(config):
            raise InputError(f"{printable(corpus)} is not a treebank: {LOOK}")
    else:
        source, config = _WIKITEXT, _TEXTS.get(corpus, "")
        if not config:
            raise InputError(f"{printable(corpus)} is not known; of WikiText, wikitext-2 is fetched: write wikitext")
    if split and split not in source.splits:
        known = ", ".join(dict.fromkeys(source.splits.values()))
        raise InputError(f"{corpus} has no split {printable(split)}; choose one of {known}")
    split = source.splits[split] if split else next(iter(source.splits))
    revision = form["revision"]
    if revision is not None and (not revision.isprintable() or len(revision) > _LONGEST_REVISION):
        raise InputError(
            f"the revision {printable(revision)} is not a branch, tag or commit; leave it out, or write {corpus}@main"
        )
    return HubPlace(name=corpus, source=source, config=config, split=split, revision=revision)


def trouble_of(error: BaseException) -> Trouble | None:
    """Classify an error of `huggingface_hub`; return None if it is not about the hub, such as a full disk.

    `away`: no network, offline mode, no answer or a broken one; `repository`, `revision`, `file`: it does not exist on
    the hub (or the repository is private); `permission`: its terms are not accepted; `name`: not a hub name; `size`:
    another number of bytes than announced; `range`: a download that cannot be resumed where it stopped.
    """
    from huggingface_hub import errors

    links = list(_links(error))
    # The most specific link counts: the client wraps an answer of the hub in "nothing in the cache either".
    telling: tuple[tuple[type[BaseException], Trouble], ...] = (
        (errors.RevisionNotFoundError, "revision"),
        (errors.GatedRepoError, "permission"),  # a subclass of RepositoryNotFoundError, so before it
        (errors.RepositoryNotFoundError, "repository"),
        (errors.RemoteEntryNotFoundError, "file"),
        (errors.HFValidationError, "name"),
    )
    for kind, trouble in telling:
        if any(isinstance(link, kind) for link in links):
            return trouble
    for link in links:
        if isinstance(link, errors.HfHubHTTPError):
            return _BY_STATUS.get(link.response.status_code, "away")
    if any("Consistency check failed" in str(link) for link in links if isinstance(link, OSError)):
        return "size"
    # The client's own base class of transport errors: httpx in some versions of huggingface_hub, httpx2 in others.
    transport = errors.HfHubHTTPError.__bases__[0]
    lost = (transport, ConnectionError, TimeoutError, errors.LocalEntryNotFoundError, errors.FileMetadataError)
    return "away" if any(isinstance(link, lost) for link in links) else None


def _links(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and its chain of causes, each once."""
    earlier: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in earlier:
        yield link
        earlier.append(link)
        link = link.__cause__ or link.__context__


SCHEMES = (
    *("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "hdfs", "webhdfs"),
    *("http", "https", "ftp", "sftp", "hf", "file", "memory"),
)
"""The protocols of fsspec that are accepted. Some of the others open archives, or run commands."""
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
    try:
        import fsspec

        files = fsspec.filesystem(scheme)
        remote_path = str(files._strip_protocol(address))
        remote_paths = sorted(files.glob(remote_path)) if "*" in address else [remote_path]
        if not remote_paths:
            raise InputError(f"no file matches {source_name(address)}; look at the pattern, or give files by name")
        if any(map(files.isdir, remote_paths)):
            raise InputError(
                f"{source_name(address)} is a folder; give its files by name, or by a pattern as .../*.txt"
            )
        _check_disk_space(files, remote_paths, address)
        folder = Path(tempfile.mkdtemp(dir=_room()))
        return tuple(str(_copy(files, path, folder / str(number))) for number, path in enumerate(remote_paths))
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"no such file: {source_name(address)}; give the address of a file that is there") from None
    except ImportError as error:
        why = printable(str(error).partition("\n")[0][:200])
        raise InputError(
            f"{source_name(address)}: reading {scheme}:// needs a package that is not installed ({why}); "
            f"{how_to_install('remote')}"
        ) from None
    except Exception as error:  # each store raises its own error classes
        raise InputError(
            f"cannot read {source_name(address)}: {printable(f'{type(error).__name__}: {error}'[:300])}; look at the "
            f"address, at the permission to read it, at the network, and at what {scheme}:// needs on this machine"
        ) from None


def _check_disk_space(files: Any, paths: list[str], address: str) -> None:
    needed = sum(files.size(path) or 0 for path in paths)
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if needed > free:
        raise InputError(
            f"{source_name(address)}: {count(len(paths), 'file')} of {needed / 1e9:.1f} GB, and "
            f"{tempfile.gettempdir()}, where they are kept while the run goes on, has {free / 1e9:.1f} GB free; set "
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

"""Corpora by name: `ud:en_ewt` and `wikitext`, fetched from the hub once and kept as plain files."""

import hashlib
import re
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from headscope.corpora.remote import FORM, LOOK, HubPlace, copied, is_address, parse, trouble_of
from headscope.errors import InputError

# Part of the files' names: raise it when the conversion of a Parquet file changes.
_CONVERSION = 1
_AGAIN = "run the same command again"
_LOCAL = "give a local file"


def is_remote(name: str) -> bool:
    """Return True for names to fetch: `ud:<treebank>`, `wikitext`, `wikitext-2`, optionally `/<split>`, `@<revision>`.

    Case does not matter. A local file or folder of that name takes precedence and is not fetched.
    """
    return FORM.fullmatch(name) is not None and not Path(name).exists()


def resolve(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths, with each name or address to fetch replaced by its local files.

    Raises:
        InputError: as in `fetch` and `copied`.
    """
    return tuple(local for path in paths for local in _local(path))


def _local(path: str) -> tuple[str, ...]:
    if is_address(path):
        return copied(path)
    return (str(fetch(path)) if is_remote(path) else path,)


def fetch(name: str, *, cache_dir: Path | None = None) -> Path:
    """Return a corpus's plain file (CoNLL-U or text), downloading and converting it if that was not done before.

    The hub is contacted only for a corpus that was not fetched before, or for a branch or tag, which may have moved; if
    it cannot be reached, the earlier download is used.

    Args:
        name: name that `is_remote` accepts; the development split if it names none, the commit in `remote.py` if it
            names no revision.
        cache_dir: folder for the hub's files and the converted ones; the hub's own cache (`HF_HOME`) when None.

    Raises:
        InputError: the name, treebank, split or revision does not exist; permission is missing; a downloaded file is
            damaged; or the hub cannot be reached and the corpus was not fetched before.
    """
    from huggingface_hub import constants

    dataset = parse(name)
    assets = Path(constants.HF_ASSETS_CACHE) if cache_dir is None else cache_dir / "assets"
    folder = assets / "headscope" / f"corpora-{_CONVERSION}"
    revision = dataset.revision or dataset.source.revision
    if _kept(folder, dataset, revision).exists():
        return _kept(folder, dataset, revision)
    parquet = _download(dataset, revision, None if cache_dir is None else cache_dir / "hub")
    commit = parquet.parents[dataset.file.count("/")].name  # .../snapshots/<commit>/<file>
    plain = _kept(folder, dataset, commit)
    if not plain.exists():
        dataset.source.convert(parquet, plain, name=dataset.name)
    return plain


def _kept(folder: Path, dataset: HubPlace, commit: str) -> Path:
    stem = f"{dataset.config}-{dataset.split}-{commit}"
    return folder / f"{re.sub(r'[^A-Za-z0-9_.-]', '-', stem)}.{dataset.source.ending}"


def _download(dataset: HubPlace, revision: str, cache_dir: Path | None) -> Path:
    """Return the Parquet file in the hub's cache, after a check of its checksum."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    repository, file = dataset.source.repository, dataset.file

    where: dict[str, Any] = {"repo_type": "dataset", "revision": revision}
    download = partial(hf_hub_download, repository, file, cache_dir=cache_dir, **where)
    try:
        # One request first: without an answer, hf_hub_download would retry for half a minute.
        digest = get_hf_file_metadata(hf_hub_url(repository, file, **where)).etag
    except Exception as error:
        if trouble_of(error) != "away":
            refuse(error, dataset, revision)
        try:
            parquet = Path(download(local_files_only=True))
        except OSError:
            refuse(error, dataset, revision)
        digest = parquet.resolve().name  # the cache names a file by its checksum
    else:
        try:
            parquet = Path(_resumed(download))
        except Exception as error:
            refuse(error, dataset, revision, begun=True)
    _compare(parquet, digest or "", dataset)
    return parquet


def _resumed(download: Callable[..., str]) -> str:
    try:
        return download()
    except Exception as error:
        if trouble_of(error) != "range":
            raise
        return download(force_download=True)  # the download cannot be resumed, so it starts again


def _compare(parquet: Path, digest: str, dataset: HubPlace) -> None:
    """Remove a file whose checksum is not the one that the hub announced; for large files it is their SHA-256."""
    if not re.fullmatch(r"[0-9a-f]{64}", digest):
        return
    with parquet.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if sha256 != digest:
        parquet.resolve().unlink(missing_ok=True)
        parquet.unlink(missing_ok=True)
        raise InputError(
            f"{dataset.name} came damaged: its SHA-256 is {sha256[:12]}..., the hub announced {digest[:12]}...; it was "
            "removed: run the same command again"
        )


def refuse(error: Exception, dataset: HubPlace, revision: str, *, begun: bool = False) -> NoReturn:
    """Raise the error for a failed download; re-raise an error that is not about the hub unchanged.

    Args:
        begun: whether the hub had answered, so that a lost connection interrupted the download.

    Raises:
        InputError: the error with a message in one sentence.
    """
    from huggingface_hub import constants

    repository, trouble, called = dataset.source.repository, trouble_of(error), dataset.name
    if trouble is None:
        raise error
    if trouble == "file":
        raise _no_file(dataset, revision) from error
    away = f"the hub cannot be reached, and {called} was not fetched before; go online once to fetch it, or {_LOCAL}"
    if begun:
        away = f"the download of {called} broke off; {_AGAIN}"
    elif constants.HF_HUB_OFFLINE:
        away = f"HF_HUB_OFFLINE is set, and {called} was not fetched before; unset it once to fetch it, or {_LOCAL}"
    no_revision = f"the hub has {repository} but no revision {revision}; look up its branches, tags and commits"
    if dataset.revision is None:
        no_revision = (
            f"the hub's {repository} no longer has the commit {revision[:12]} that headscope asks for; name another, "
            f"as {called}@main"
        )
    terms = f"accept its terms on its hub page and run `hf auth login`, or {_LOCAL}"
    sentences: dict[str, str] = {
        "revision": no_revision,
        "repository": f"the hub shows no dataset {repository}; it may have moved: update headscope, or {_LOCAL}",
        "permission": f"{repository} asks for permission: {terms}",
        "size": f"{called} came with another size than the hub announced; nothing was kept: {_AGAIN}",
    }
    raise InputError(sentences.get(trouble, away)) from error


def _no_file(dataset: HubPlace, revision: str) -> InputError:
    """Return the error for a missing file, listing the available ones if the hub answers."""
    if dataset.source.ending != "conllu":
        return InputError(
            f"the hub's {dataset.source.repository} has no {dataset.file} at revision {revision}; leave out the "
            "revision"
        )
    top, treebank, _ = dataset.file.split("/")
    treebanks = _listing(dataset, revision, top)
    if treebank in treebanks:
        splits = sorted(name.removesuffix(".parquet") for name in _listing(dataset, revision, f"{top}/{treebank}"))
        there = f"; it has {', '.join(splits)}: write {dataset.name}/{splits[0]}" if splits else ""
        return InputError(f"{dataset.name} has no {dataset.split} split{there}")
    near = get_close_matches(treebank, treebanks, n=5, cutoff=0.6)
    if near:
        return InputError(
            f"the hub has no treebank {dataset.name}; near it: {', '.join(f'ud:{name}' for name in near)} (of "
            f"{len(treebanks)}); {LOOK}"
        )
    return InputError(f"the hub has no treebank {dataset.name}; {LOOK}")


def _listing(dataset: HubPlace, revision: str, folder: str) -> list[str]:
    """Return the names in a folder of the repository; an empty list if the hub does not answer."""
    from huggingface_hub import HfApi

    try:
        tree = HfApi().list_repo_tree(dataset.source.repository, folder, repo_type="dataset", revision=revision)
        return [entry.path.rpartition("/")[2] for entry in tree]
    except Exception as error:
        if trouble_of(error) is None:
            raise
        return []

"""Messages for corpora that cannot be fetched."""

from difflib import get_close_matches
from typing import NoReturn

from headscope.corpora.fetch.hub_trouble import trouble_of
from headscope.corpora.fetch.names import LOOK, HubPlace
from headscope.errors import InputError

_AGAIN = "run the same command again"


def refuse(error: Exception, dataset: HubPlace, revision: str, *, begun: bool = False) -> NoReturn:
    """Raise the error for a failed download; re-raise an error that is not about the hub unchanged.

    Args:
        begun: whether the hub had answered, so that a lost connection interrupted the download.

    Raises:
        InputError: the error with a message in one sentence.
    """
    from huggingface_hub import constants

    repository, trouble = dataset.source.repository, trouble_of(error)
    if trouble is None:
        raise error
    if trouble == "file":
        raise _no_file(dataset, revision) from error
    if trouble == "revision" and dataset.revision is None:
        sentence = (
            f"the hub's {repository} no longer has the commit {revision[:12]} that headscope asks for; name another, "
            f"as {dataset.name}@main"
        )
    elif trouble == "revision":
        sentence = f"the hub has {repository} but no revision {revision}; look up its branches, tags and commits"
    elif trouble == "repository":
        sentence = f"the hub shows no dataset {repository}; it may have moved: update headscope, or give a local file"
    elif trouble == "permission":
        sentence = (
            f"{repository} asks for permission: accept its terms on its hub page and run `hf auth login`, or give a "
            "local file"
        )
    elif trouble == "size":
        sentence = f"{dataset.name} came with another size than the hub announced; nothing was kept: {_AGAIN}"
    elif begun:
        sentence = f"the download of {dataset.name} broke off; {_AGAIN}"
    elif constants.HF_HUB_OFFLINE:
        sentence = (
            f"HF_HUB_OFFLINE is set, and {dataset.name} was not fetched before; unset it once to fetch it, or give a "
            "local file"
        )
    else:
        sentence = (
            f"the hub cannot be reached, and {dataset.name} was not fetched before; go online once to fetch it, or "
            "give a local file"
        )
    raise InputError(sentence) from error


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

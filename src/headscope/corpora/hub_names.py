"""The names of corpora that can be fetched, their places on the hub, and the errors of the hub in one word."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from headscope.corpora.hub_parquet import parquet_to_conllu, parquet_to_text
from headscope.corpora.mentions.brackets import printable
from headscope.errors import InputError

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

"""Classification of the hub's errors in one word, whatever its client raised."""

from collections.abc import Iterator
from typing import Literal

Trouble = Literal["away", "repository", "revision", "file", "permission", "name", "size", "range"]
_BY_STATUS: dict[int, Trouble] = {401: "permission", 403: "permission", 416: "range"}


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

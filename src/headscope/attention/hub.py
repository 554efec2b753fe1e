"""A model's files from the hub, into its own cache, as one folder of one commit."""

from pathlib import Path

from headscope.errors import ModelError

_TOKENISER_FILES = ["*.json", "*.txt", "*.model"]
_WEIGHTS = ["*.safetensors"]
# Copies of the same weights in other forms, and what other tools keep beside them.
_LEFT_OUT = ["*/*", "*.fp16.safetensors", "*.fp32.safetensors", "flax_*", "tf_*"]


def fetch(name: str, *, revision: str | None = None, weights: bool = True) -> Path:
    """Return the folder of a hub model, fetched now or before; its name is the commit.

    Only safetensors weights and the tokeniser's and configuration's files are fetched. When the hub cannot be
    reached, what was fetched before serves.

    Args:
        name: `org/name`.
        revision: branch, tag or commit; the main branch when None.
        weights: whether the weights are wanted.

    Raises:
        ModelError: no such model or revision, no permission, or the hub cannot be reached and the model was not
            fetched before.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import (
        GatedRepoError,
        HfHubHTTPError,
        HFValidationError,
        LocalEntryNotFoundError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        folder = snapshot_download(
            name,
            revision=revision,
            allow_patterns=_TOKENISER_FILES + (_WEIGHTS if weights else []),
            ignore_patterns=_LEFT_OUT,
        )
    except RevisionNotFoundError as error:
        raise ModelError(
            f"the hub has {name} but no revision {revision}; look up its branches, tags and commits"
        ) from error
    except GatedRepoError as error:
        raise ModelError(
            f"{name} asks for permission: accept its terms on its hub page and run `hf auth login`"
        ) from error
    except HFValidationError as error:
        raise ModelError(
            f"{name!r} is neither a folder nor a hub name; give a folder with config.json, or a hub name as org/name"
        ) from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        if _caused_by(error, RepositoryNotFoundError):
            raise ModelError(
                f"the hub has no model {name}; give its full name, as google-bert/bert-base-uncased"
            ) from error
        raise ModelError(
            f"the hub cannot be reached, and {name} is not in its cache; what works offline: no --model (the "
            "embedded headscope-minilm), a local folder, or a model fetched before"
        ) from error
    return Path(folder)


def _caused_by(error: BaseException, kind: type[BaseException]) -> bool:
    seen: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in seen:
        if isinstance(link, kind):
            return True
        seen.append(link)
        link = link.__cause__ or link.__context__
    return False

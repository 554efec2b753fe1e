"""The file of word vectors for probes, identified by its content."""

from hashlib import file_digest
from pathlib import Path

from headscope.corpora.opening import is_pipe, other_than_file, source_name
from headscope.errors import OptionError


def check_vectors(path: Path) -> None:
    """Raise an error for a file of word vectors that cannot be opened, or can be read only once.

    Raises:
        OptionError: the file is unusable; the message gives the reason.
    """
    name = source_name(path)
    try:
        if is_pipe(path):
            raise OptionError(
                f"--vectors {name} is a pipe, which can be read only once; write it to a file, and give that"
            )
        if kind := other_than_file(path):
            raise OptionError(f"--vectors {name} is {kind}; expected a GloVe or word2vec text file")
        path.open("rb").close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise OptionError(f"--vectors {name} cannot be read ({why}); expected a GloVe or word2vec text file") from error


def hash_of_vectors(path: Path) -> str:
    """Return the hash of a file of word vectors.

    Raises:
        OptionError: as in `check_vectors`.
    """
    check_vectors(path)
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()

"""Overlap of the treebanks on which probes are trained and evaluated."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from headscope.corpora.annotation import AnnotatedDocument
from headscope.errors import OptionError


class FileContents:
    """Hashes of the sentences of each file of a treebank, and of all its files together.

    Only the words and their order count. The same text under another name, compressed, in another format or with
    other trees has the same hash, because probes see the same attention over it.

    Args:
        name: name of the treebank in messages.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._names: dict[int, str] = {}
        self._hashes = {-1: blake2b(digest_size=16)}  # of all files together

    def add(self, document: AnnotatedDocument) -> None:
        """Add the next document."""
        number, name = document.file
        self._names.setdefault(number, name or self.name)
        for sentence in document.sentences:
            words = json.dumps(sentence.words).encode() + b"\n"
            for each in (-1, number):
                self._hashes.setdefault(each, blake2b(digest_size=16)).update(words)

    def names(self) -> dict[str, str]:
        """Return the name of each file and of the whole treebank, by hash."""
        whole = {self._hashes[-1].hexdigest(): self.name}
        return whole | {self._hashes[number].hexdigest(): name for number, name in self._names.items()}


def shared_files(train: Mapping[str, str], evaluated: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the pairs of files, one of each treebank, that contain the same sentences.

    Args:
        train, evaluated: names by hash, from `FileContents.names`.
    """
    return [(name, evaluated[key]) for key, name in train.items() if key in evaluated]


def check_overlap(train: Mapping[str, str], evaluated: Mapping[str, str]) -> None:
    """Check that probes are not evaluated on their training data; arguments as in `shared_files`.

    Raises:
        OptionError: both treebanks, or a file of each, contain the same sentences; the message names them.
    """
    for first, second in shared_files(train, evaluated):
        which = f"{first}, in both" if first == second else f"{first} and {second}"
        raise OptionError(
            f"--treebank-train and --treebank hold the same sentences ({which}): probes would be measured on their "
            "training data; give one of the two other files, or --allow-overlap to measure them all the same"
        )


def overlap_facts(
    train: Iterable[Sequence[str]], evaluated: Iterable[Sequence[str]], files: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Return the manifest's facts on evaluated sentences that are also training sentences, word for word.

    Args:
        train: words of each training sentence.
        evaluated: words of each evaluated sentence.
        files: result of `shared_files`.
    """
    trained = set(map(tuple, train))
    sentences = [tuple(words) for words in evaluated]
    shared = [words for words in sentences if words in trained]
    words, all_words = sum(map(len, shared)), sum(map(len, sentences))
    return {
        "sentences": len(shared),
        "share": len(shared) / max(1, len(sentences)),
        "words": words,
        "words_share": words / max(1, all_words),
        # Shown to the user, so without folders, as everywhere in a manifest.
        "files": [[Path(name).name for name in pair] for pair in files],
    }


def overlap_line(facts: Mapping[str, Any]) -> str:
    """Return a sentence on the evaluated sentences that are also training sentences, from `overlap_facts`."""
    number = int(facts["sentences"])
    if not number:
        return "no measured sentence is in train"
    shares = f"{_percent(facts['share'])}, {_percent(facts['words_share'])} of the words"
    verb = "is" if number == 1 else "are"
    said = f"{number:,} of the measured sentences ({shares}) {verb} in train too, word for word"
    same = ", ".join(str(pair[1]) for pair in facts["files"])
    return f"{said}; train holds the sentences of {same}, which --allow-overlap let in" if same else said


def _percent(share: float) -> str:
    return f"{100 * share:.1f}%" if share >= 0.0005 else "under 0.1%"

"""What the treebanks that probes are trained and measured on have in common."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

from headscope.corpora.annotation import AnnotatedDocument
from headscope.errors import OptionError


class FileContents:
    """Hashes the sentences of each file of a treebank, and of all its files together.

    Words alone count, in their order: the same text under another name or path, zipped, in another format or with other
    trees is the same text, and attention over it was seen in training all the same.

    Args:
        name: what messages call the treebank.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._names: dict[int, str] = {}
        self._hashes = {-1: blake2b(digest_size=16)}  # of them all

    def add(self, document: AnnotatedDocument) -> None:
        """Take the next document."""
        number, name = document.file
        self._names.setdefault(number, name or self.name)
        for sentence in document.sentences:
            words = json.dumps(sentence.words).encode() + b"\n"
            for each in (-1, number):
                self._hashes.setdefault(each, blake2b(digest_size=16)).update(words)

    def names(self) -> dict[str, str]:
        """Return the name of each file, and of all together where they are several, by its hash."""
        found = {self._hashes[-1].hexdigest(): self.name}
        return found | {self._hashes[number].hexdigest(): name for number, name in self._names.items()}


def shared_files(train: Mapping[str, str], evaluated: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return the names of the files, in each treebank, that hold the same sentences.

    Args:
        train, evaluated: each as `FileContents.names` gives them.
    """
    return [(name, evaluated[key]) for key, name in train.items() if key in evaluated]


def check_overlap(train: Mapping[str, str], evaluated: Mapping[str, str]) -> None:
    """Refuse to measure probes on what they were trained on; arguments as `shared_files`.

    Raises:
        OptionError: both treebanks, or a file of each, hold the same sentences; names them.
    """
    for first, second in shared_files(train, evaluated):
        which = f"{first}, in both" if first == second else f"{first} and {second}"
        raise OptionError(
            f"--treebank-train and --treebank hold the same sentences ({which}): probes would be measured on what they "
            "were trained on; give one of the two other files, or --allow-overlap to measure them all the same"
        )


def overlap_facts(
    train: Iterable[Sequence[str]], evaluated: Iterable[Sequence[str]], files: Iterable[tuple[str, str]]
) -> dict[str, Any]:
    """Return what the manifest says of sentences that are measured and were trained on, word for word the same.

    Args:
        train: the words of each sentence that probes are trained on.
        evaluated: those of each that they are measured on.
        files: as `shared_files`.
    """
    seen = set(map(tuple, train))
    measured = [tuple(words) for words in evaluated]
    shared = [words for words in measured if words in seen]
    number, of = sum(map(len, shared)), sum(map(len, measured))
    return {
        "sentences": len(shared),
        "share": len(shared) / max(1, len(measured)),
        "words": number,
        "words_share": number / max(1, of),
        # For people, and without their folders, as everywhere in a manifest.
        "files": [[Path(name).name for name in pair] for pair in files],
    }


def overlap_line(facts: Mapping[str, Any]) -> str:
    """Say how many measured sentences were trained on; `facts` as `overlap_facts` returns them."""
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

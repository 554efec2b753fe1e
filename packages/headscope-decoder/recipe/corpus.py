"""Write the training corpus: a document a block, from three sets of English text.

    python packages/headscope-decoder/recipe/corpus.py DATA OUT.txt

`DATA` holds the folders `wikitext-2`, `wiki-sample` and `litbank-coref`. Documents keep the order of their files.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

_NO_SPACE_BEFORE = re.compile(r" ([.,;:!?)\]”]|n't\b|'(?:s|re|ve|ll|d|m)\b)")
_NO_SPACE_AFTER = re.compile(r"([(\[“]) ")


def wikitext(paths: Iterable[Path]) -> Iterator[list[str]]:
    """Yield articles as lines: headings without their marks, words as they are written (`<unk>` stays)."""
    article: list[str] = []
    for path in paths:
        for line in path.read_text(encoding="utf-8").splitlines():
            line = line.strip()
            if re.fullmatch(r"= [^=].*[^=] =", line) and article:
                yield article
                article = []
            if line:
                article.append(joined(re.sub(r" @(.)@ ", r"\1", line.strip("= "))))
        yield article
        article = []


def novels(paths: Iterable[Path]) -> Iterator[list[str]]:
    """Yield the beginnings of novels as sentences, from the fourth column of CoNLL files."""
    for path in paths:
        sentences: list[list[str]] = [[]]
        for line in path.read_text(encoding="utf-8").splitlines():
            cells = line.split("\t")
            if len(cells) > 3:
                sentences[-1].append(cells[3])
            elif not line.strip():
                sentences.append([])
        yield [joined(" ".join(words)) for words in sentences if words]


def blocks(path: Path) -> Iterator[list[str]]:
    """Yield documents of plain text that blank lines part."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        if lines:
            yield lines


def joined(text: str) -> str:
    """Take the spaces out that set words apart from punctuation; straight quotes open and close in turn."""
    text = _NO_SPACE_AFTER.sub(r"\1", _NO_SPACE_BEFORE.sub(r"\1", text))
    parts = text.split('"')
    for place in range(1, len(parts), 2):
        parts[place] = parts[place].strip() if place < len(parts) - 1 else parts[place]
    return '"'.join(parts).strip()


def corpus(data: Path) -> Iterator[list[str]]:
    """Yield the documents of the three sets."""
    yield from wikitext(data / "wikitext-2" / name for name in ("valid.txt", "test.txt"))
    yield from blocks(data / "wiki-sample" / "wiki_sample.txt")
    yield from novels(sorted((data / "litbank-coref" / "conll").glob("*.conll")))


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.write_text("\n\n".join("\n".join(lines) for lines in corpus(source)) + "\n", encoding="utf-8")

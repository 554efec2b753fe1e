"""Tables from outside: word vectors, and the hub's Parquet files with the names that request them."""

import io
from pathlib import Path

import numpy as np
import pandas as pd

from fuzz.sample import Sample
from fuzz.target import Check, Target
from headscope.analyses.probes.word_vectors import read_vectors
from headscope.corpora.hub_parquet import parquet_to_conllu, parquet_to_text
from headscope.corpora.reading import read_corpus
from headscope.corpora.remote import parse
from headscope.corpora.trees.treebank import read_treebank
from support.demo_treebank import demo_documents

_GLOVE = "the 0.418 0.24968 -0.41242\n, 0.013441 0.23682 -1e-3\nNew York 1 2 3\ncaf\u00e9 0.5 -0.5 .25\n"
_WORD2VEC = "3 2\nthe 0.1 0.2 \n</s> 1 2 \ncat -1e-3 4 \n"


def _vectors(folder: Path) -> list[Sample]:
    return [{"vectors.txt": text.encode()} for text in (_GLOVE, _WORD2VEC)]


def _read_vectors(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        for wanted in (None, ["The", "cat", "New York"]):
            found = read_vectors(path, wanted)
            table = found.of(["the", "cat", "", "\ud800"])
            assert table.shape == (4, found.width)
            assert np.isfinite(table).all(), "a number that is not finite"

    return run


def _parquet(table: pd.DataFrame) -> bytes:
    held = io.BytesIO()
    table.to_parquet(held, index=False)
    return held.getvalue()


def _treebanks(folder: Path) -> list[Sample]:
    rows = []
    for document in demo_documents(1, 2):
        for number, sentence in enumerate(document.sentences):
            size = len(sentence.words)
            row = {
                "sent_id": f"s{number}",
                "text": sentence.text,
                "comments": ["__SENT_ID__", "newdoc" if number == 0 else "x = y", "__TEXT__"],
                "tokens": list(sentence.words),
                "lemmas": ["_"] * size,
                "upos": list(sentence.tags),
                "xpos": [None] * size,
                "feats": ["Number=Sing"] * size,
                "head": [str(head) for head in sentence.heads],
                "deprel": list(sentence.relations),
                "deps": [None] * size,
                "misc": ["SpaceAfter=No"] * size,
                "mwt": [{"id": "1-2", "form": "x", "feats": None, "misc": None}] if number == 0 else [],
                "empty_nodes": [{"id": "1.1", "form": "x", "deps": "0:root"}] if number == 1 else [],
            }
            rows.append(row)
    return [{"dev.parquet": _parquet(pd.DataFrame(rows))}]


def _articles(folder: Path) -> list[Sample]:
    lines = ["", " = Cat = \n", "", " A cat is 1 @,@ 000 small . \n", "", " = = Uses = = \n", "", " None . \n", None]
    return [{"test.parquet": _parquet(pd.DataFrame({"text": lines}))}]


def _convert_treebank(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        plain = folder / "plain.conllu"
        plain.unlink(missing_ok=True)
        parquet_to_conllu(path, plain, name="ud:en_x")
        list(read_treebank(plain))

    return run


def _convert_text(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        plain = folder / "plain.txt"
        plain.unlink(missing_ok=True)
        parquet_to_text(path, plain, name="wikitext")
        list(read_corpus(plain))

    return run


def _names(folder: Path) -> list[Sample]:
    named = ("ud:en_ewt", "ud:fr_gsd/test@main", "wikitext", "wikitext-2/valid", "WikiText/train@x/../y")
    return [{"name.txt": name.encode()} for name in named]


def _parse_name(folder: Path) -> Check:
    def run(given: Path) -> None:
        (path,) = given.iterdir()
        place = parse(path.read_bytes().decode("utf-8", "surrogateescape"))
        assert ".." not in place.file, "a name leads out of the repository"

    return run


TARGETS = [
    Target(name="word-vectors", seeds=_vectors, prepare=_read_vectors),
    Target(name="hub-treebank", seeds=_treebanks, prepare=_convert_treebank),
    Target(name="hub-text", seeds=_articles, prepare=_convert_text),
    Target(name="hub-names", seeds=_names, prepare=_parse_name),
]

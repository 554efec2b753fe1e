"""Corpora of text, features and coreference: each reader, read to the end."""

import gzip
import json
import re
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from fuzz.sample import Sample
from fuzz.target import Check, Target
from headscope.corpora.document import CorpusDigest
from headscope.corpora.mentions.gap_rows import HEADER, read_gap
from headscope.corpora.reading import read_corpus
from headscope.corpora.trees.treebank import read_coreference
from headscope.errors import InputError
from support.demo_treebank import demo_conllu
from support.hostile import printable

_TEXT = (
    "The cat sat on the mat.\nIt  slept.\n\nA dog\tcame by.\r\nIt left; \u201cwhy?\u201d she asked.\n\n"
    "Le chat dort.\n日本語。"
)
_ENTRIES: list[dict[str, Any]] = [
    {"text": "The cat sat."},
    {"words": ["The", "cat", "sat", "."], "heads": [2, 3, 0, 3], "relns": ["det", "nsubj", "root", "punct"]},
    {"tokens": ["[CLS]", "the", "cat", "##s", "[SEP]"], "id": 7, "score": 0.5, "of": {"a": [None, True]}},
]
_COLUMNS = (
    "#begin document (nw/a); part 000\n"
    "nw/a 0 0 John NNP (TOP(S(NP*) - - - - * (0)\nnw/a 0 1 saw VBD (VP* - - - - * -\n"
    "nw/a 0 2 his PRP$ (NP* - - - - * (1|(0)\nnw/a 0 3 dog NN *))) - - - - * 1)\n\n#end document\n"
    "#begin document (nw/a); part 001\nnw/a 1 0 It PRP (TOP(S(NP*) - - - - * (0)\n"
    "nw/a 1 1 slept VBD (VP*) - - - - * -\nnw/a 1 2 . . *)) - - - - * -\n\n#end document\n"
)
_LITBANK = (
    "#begin document (11_alice); part 0\n11_alice\t0\t0\tAlice\t_\t_\t_\t_\t_\t_\t_\t_\t(0)\n"
    "11_alice\t0\t1\tsaw\t_\t_\t_\t_\t_\t_\t_\t_\t_\n11_alice\t0\t2\ther\t_\t_\t_\t_\t_\t_\t_\t_\t(1|(0)\n"
    "11_alice\t0\t3\tcat\t_\t_\t_\t_\t_\t_\t_\t_\t1)\n\n#end document\n"
)
_ENTITIES = (
    "# newdoc id = g\n# global.Entity = eid-etype-head-other\n# text = Mary left her house\n"
    "1\tMary\t_\tPROPN\t_\t_\t2\tnsubj\t_\tEntity=(e1-person-1-x)\n2\tleft\t_\tVERB\t_\t_\t0\troot\t_\t_\n"
    "3\ther\t_\tPRON\t_\t_\t4\tnmod:poss\t_\tEntity=(e2-place-2-x(e1-person-1-x)\n"
    "4\thouse\t_\tNOUN\t_\t_\t2\tobj\t_\tEntity=e2)\n4.1\tup\t_\tADV\t_\t_\t_\t_\t_\tEntity=(e3[1/2]-x-1)\n"
    "5-6\tto'er\t_\t_\t_\t_\t_\t_\t_\t_\n5\tto\t_\tADP\t_\t_\t6\tcase\t_\tEntity=(e3[2/2]-x-1)\n"
    "6\ther\t_\tPRON\t_\t_\t2\tobl\t_\tEntity=(e1)\n"
)
_GAP = "\t".join(HEADER) + (
    "\ntest-1\tZoe met Ann; she smiled at Ann's dog.\tshe\t13\tZoe\t0\tFALSE\tAnn\t8\tTRUE\thttp://x/y\n"
    "test-2\tSt*fano saw him, Bo.\thim\t12\tSt*fano\t0\tTRUE\tBo\t17\tFALSE\thttp://x/z\n"
)


def _one(name: str, *contents: str | bytes) -> Callable[[Path], list[Sample]]:
    """Return a function that makes samples of one file with this name."""
    return lambda folder: [{name: each.encode() if isinstance(each, str) else each} for each in contents]


def _synthetic(folder: Path) -> list[Sample]:
    return [{"corpus.conllu": demo_conllu(1, 3).encode()}, {"corpus.conllu": _ENTITIES.encode()}]


def _drawn(read: Callable[[Path], Iterable[Any]], check: Callable[[Any], None]) -> Callable[[Path], Check]:
    """Return a function that reads the only file of a folder to the end and checks each document."""

    def run(folder: Path) -> None:
        (path,) = folder.iterdir()
        came = False
        for each in read(path):
            came = True
            check(each)
        assert came, "the reader returned nothing and raised no error"

    return lambda folder: run


def _document(document: Any) -> None:
    assert re.fullmatch(r"[0-9a-f]{16}(-[0-9]+)?", document.id)  # equal documents are numbered
    given = [part for part in (document.lines, document.words, document.tokens) if part]
    assert len(given) == 1, "a document is lines, words or tokens"
    assert all(isinstance(piece, str) and piece for piece in given[0])
    "".join(given[0]).encode()


def _annotated(document: Any) -> None:
    words = document.words
    assert words
    assert all(word.strip() for word in words)
    for sentence in document.sentences:
        assert len(sentence.heads) in (0, len(sentence.words))
        assert all(0 <= head <= len(sentence.words) for head in sentence.heads)
    for mention in document.mentions:
        assert 0 <= mention.start < mention.end <= len(words), "a mention beyond its document"
    for each in document.unmatched:
        assert printable(str(each)), "a bracket whose words cannot be printed"


def _gap_row(row: Any) -> None:
    for begin, end in (row.a, row.b, (row.pronoun, row.pronoun + 1)):
        assert 0 <= begin < end <= len(row.words), "a name beyond its text"


def _corpus(path: Path) -> Iterable[Any]:
    """Read as a run does, with the hash; a document that cannot be hashed is refused with a message."""
    return islice(CorpusDigest(read_corpus(path)), 200_000)


def _with_mentions(path: Path) -> Iterable[Any]:
    documents = list(read_coreference(path))
    if not any(document.mentions for document in documents):
        raise InputError("no document with mentions")
    return documents


_LINES = "\n".join(map(json.dumps, _ENTRIES)) + "\n"
TARGETS = [
    Target(name="text", seeds=_one("corpus.txt", _TEXT, _TEXT * 40), prepare=_drawn(_corpus, _document)),
    Target(name="features", seeds=_one("corpus.json", json.dumps(_ENTRIES)), prepare=_drawn(_corpus, _document)),
    Target(name="json-lines", seeds=_one("corpus.jsonl", _LINES), prepare=_drawn(_corpus, _document)),
    Target(
        name="gzip",
        seeds=_one("corpus.txt.gz", *(gzip.compress(_TEXT.encode() * n, mtime=0) for n in (1, 100))),
        prepare=_drawn(_corpus, _document),
    ),
    Target(name="entities", seeds=_synthetic, prepare=_drawn(_with_mentions, _annotated)),
    Target(
        name="conll-2012",
        seeds=_one("corpus.gold_conll", _COLUMNS, _LITBANK),
        prepare=_drawn(read_coreference, _annotated),
    ),
    Target(name="gap", seeds=_one("gap.tsv", _GAP), prepare=_drawn(read_gap, _gap_row)),
]

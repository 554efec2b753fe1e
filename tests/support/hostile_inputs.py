"""Damaged and malicious corpora: every damage to a good file of each format, and damage specific to one format."""

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from headscope.analyses.probes.word_vectors import read_vectors
from headscope.corpora.hub_parquet import parquet_to_conllu, parquet_to_text
from headscope.corpora.mentions.gap_rows import read_gap
from headscope.corpora.reading import read_corpus
from headscope.corpora.trees.treebank import read_coreference, read_treebank
from support.hostile import Case

_CONLLU = (
    "# newdoc id = d\n# sent_id = 1\n# text = Ann saw her dog.\n"
    "1\tAnn\tAnn\tPROPN\tNNP\t_\t2\tnsubj\t_\tEntity=(e1-person-1)\n"
    "2\tsaw\tsee\tVERB\tVBD\t_\t0\troot\t_\t_\n"
    "3\ther\tshe\tPRON\tPRP$\t_\t4\tnmod:poss\t_\tEntity=(e2-animal-2(e1-person-1)\n"
    "4\tdog\tdog\tNOUN\tNN\t_\t2\tobj\t_\tEntity=e2)\n\n"
    "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "1\tdo\tdo\tAUX\tVBP\t_\t3\taux\t_\t_\n2\tn't\tnot\tPART\tRB\t_\t3\tadvmod\t_\t_\n"
    "3\tgo\tgo\tVERB\tVB\t_\t0\troot\t_\tEntity=(e3[1/2]-x)\n3.1\t_\t_\t_\t_\t_\t_\t_\t_\tEntity=(e3[2/2]-x)\n\n"
)
_CONLL2012 = (
    "#begin document (bc/a); part 000\n"
    "bc/a 0 0 Ann NNP (TOP(S(NP*) - - - - * (0)\nbc/a 0 1 saw VBD (VP* - - - - * -\n"
    "bc/a 0 2 her PRP$ (NP* - - - - * (1|(0)\nbc/a 0 3 dog NN *)))) - - - - * 1)\n\n"
    "bc/a 0 0 She PRP (TOP(S(NP*) - - - - * (0)\nbc/a 0 1 ran VBD (VP*))) - - - - * -\n\n#end document\n"
)
_GAP = (
    "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    "t-1\tAnna met Clara when she left.\tshe\t20\tAnna\t0\tTRUE\tClara\t9\tFALSE\thttp://x\n"
    "t-2\tBob told Tom that he won.\the\t18\tBob\t0\tFALSE\tTom\t9\tTRUE\thttp://x\n"
)
_TREES = [{"words": ["Ann", "ran"], "heads": [2, 0], "relns": ["nsubj", "root"]}]
_FEATURES = [{"text": "The cat sat.", "n": 1}, {"words": ["a", "dog"], "heads": [2, 0]}, {"tokens": ["[CLS]", "x"]}]


@dataclass(frozen=True)
class Reader:
    """Hold a reader: its name, the name and content of a good file, and the call that reads it."""

    name: str
    file: str
    good: str
    read: Callable[[Path], Any]

    def all(self, path: Path) -> list[Any]:
        """Read a file to its end."""
        read = self.read(path)
        return list(read) if isinstance(read, Iterator) else [read]


READERS = {
    reader.name: reader
    for reader in (
        Reader("text", "a.txt", "The cat sat on the mat. It slept.\nA dog 3 came.\n\nAnother 12 one.\n", read_corpus),
        Reader("features", "a.json", json.dumps(_FEATURES, indent=1), read_corpus),
        Reader("lines", "a.jsonl", "".join(json.dumps(each) + "\n" for each in _FEATURES), read_corpus),
        Reader("conllu", "a.conllu", _CONLLU, read_treebank),
        Reader("entities", "a.conllu", _CONLLU, read_coreference),
        Reader("relations", "a.txt", "the 2-det\nfox 3-nsubj\nran 0-root\n\nit 2-nsubj\nwon 0-root\n", read_treebank),
        Reader("trees", "a.json", json.dumps(_TREES), read_treebank),
        Reader("conll2012", "a.conll", _CONLL2012, read_coreference),
        Reader("gap", "a.tsv", _GAP, read_gap),
        Reader("glove", "a.txt", "the 0.418 0.24968 -0.41242\ncat 1e-3 2 3\n, 0.1 0.2 0.3\n", read_vectors),
        Reader("word2vec", "a.vec", "3 2\nthe 0.4 0.2\ncat 1 2\ndog 3 4\n", read_vectors),
    )
}

HOSTILE_WORDS = {
    "ansi": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "markup": "[/x]",
    "open markup": "[bold red]",
    "link": "[link=file:///etc/passwd]x[/link]",
    "right to left": "\u202egnp.exe\u202c",
    "isolate": "\u2067x\u2069",
    "zero width": "a\u200b\u200db",
    "byte order mark": "\ufeffa",
    "noncharacter": "\ufffe\U0010ffff",
    "private": "\ue000",
    "delete": "a\x7fb",
    "next line": "a\x85b",
    "line separator": "a\u2028b\u2029c",
    "form feed": "a\x0cb",
    "bell": "\x07\x08",
    "no-break space": "\u00a0",
    "combining": "e" + "\u0301" * 2000,
    "script": "</script><script>alert(1)</script>",
    "format": "{0.__class__} %s %n ${HOME} $(id)",
    "path": "../../../../etc/passwd",
    "long": "w" * 100_000,
    "tag space": "\U000e0041\U000e007f",
    "half a character in json": "\\ud800",
    "quote": "\"'`\\",
    "brackets": "((((((",
    "closing": "))))",
    "pipe": "a|b|c",
}
HOSTILE_NUMBERS = {
    "minus one": "-1",
    "zero": "0",
    "nine digits": "999999999",
    "thirty digits": "9" * 30,
    "five thousand digits": "9" * 5000,
    "exponent": "1e999",
    "nan": "NaN",
    "infinity": "-Infinity",
    "arabic": "\u0663",
    "superscript": "\u00b2",
    "full width": "\uff11",
    "half": "1.5",
    "hexadecimal": "0x10",
    "underscore": "1_0",
    "plus": "+1",
    "nothing": "",
    "true": "true",
    "null": "null",
    "list": "[1]",
}


def _flipped(data: bytes, seed: int) -> bytes:
    rng, out = random.Random(seed), bytearray(data)
    for _ in range(1 + seed):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _lines(data: bytes, change: Callable[[list[bytes]], list[bytes]]) -> bytes:
    return b"".join(change(data.splitlines(keepends=True)))


def _shuffled(data: bytes, seed: int) -> bytes:
    lines = data.splitlines(keepends=True)
    random.Random(seed).shuffle(lines)
    return b"".join(lines)


def _nth(data: bytes, pattern: bytes, new: str, number: int) -> bytes:
    """Replace the match at `number` tenths of all matches of a pattern."""
    found = list(re.finditer(pattern, data))
    if not found:
        return data + new.encode("utf-8", "surrogatepass")
    match = found[number * (len(found) - 1) // 10]
    return data[: match.start()] + new.encode("utf-8", "surrogatepass") + data[match.end() :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    **{f"cut to {tenths} tenths": lambda d, t=tenths: d[: len(d) * t // 10] for tenths in (1, 3, 5, 7, 9)},
    "without its last byte": lambda d: d[:-1],
    "without its first byte": lambda d: d[1:],
    **{f"bits flipped, {seed}": lambda d, s=seed: _flipped(d, s) for seed in range(8)},
    "a nul": lambda d: d[: len(d) // 2] + b"\0" + d[len(d) // 2 :],
    "nothing but nuls": lambda d: b"\0" * len(d),
    "cr line ends": lambda d: d.replace(b"\n", b"\r"),
    "crlf line ends": lambda d: d.replace(b"\n", b"\r\n"),
    "a cr within": lambda d: d.replace(b"e", b"\r", 1),
    "a byte order mark": lambda d: b"\xef\xbb\xbf" + d,
    "two byte order marks": lambda d: b"\xef\xbb\xbf" * 2 + d,
    "utf-16": lambda d: d.decode().encode("utf-16"),
    "utf-32": lambda d: d.decode().encode("utf-32"),
    "latin-1": lambda d: d.replace(b"e", b"\xe9", 1),
    "half a character": lambda d: d.replace(b"e", b"\xed\xa0\x80", 1),
    "an overlong slash": lambda d: d.replace(b"e", b"\xc0\xaf", 1),
    "beyond unicode": lambda d: d.replace(b"e", b"\xf7\xbf\xbf\xbf", 1),
    "ends in half a character": lambda d: d.rstrip() + b"\xf0\x9f",
    "nothing": lambda d: b"",
    "blank lines": lambda d: b" \n\t\n\r\n",
    "one byte": lambda d: d[:1],
    "twice": lambda d: d + d,
    "lines backwards": lambda d: _lines(d, lambda lines: lines[::-1]),
    **{f"lines shuffled, {seed}": lambda d, s=seed: _shuffled(d, s) for seed in range(3)},
    "every line twice": lambda d: _lines(d, lambda lines: [line for each in lines for line in (each, each)]),
    "no line ends": lambda d: d.replace(b"\n", b""),
    "no tabs": lambda d: d.replace(b"\t", b" "),
    "tabs for spaces": lambda d: d.replace(b" ", b"\t"),
    "a column less": lambda d: _lines(d, lambda lines: [re.sub(rb"[\t ][^\t ]*\n$", b"\n", line) for line in lines]),
    "a column more": lambda d: d.replace(b"\n", b"\t_\n"),
    "zipped": gzip.compress,
    "zipped twice": lambda d: gzip.compress(gzip.compress(d)),
    "half of the zip": lambda d: (z := gzip.compress(d))[: len(z) // 2],
    "zip with a wrong sum": lambda d: gzip.compress(d)[:-6] + b"\0\0" + gzip.compress(d)[-4:],
    "zip with more behind it": lambda d: gzip.compress(d) + b"garbage",
    "zip of other": lambda d: gzip.compress(b"\x1f\x8b" + d),
    "another file's head": lambda d: b"\x89PNG\r\n\x1a\n" + d,
    "json nested deeply": lambda d: b"[" * 50_000 + d,
    "objects nested deeply": lambda d: b'[{"text": "x", "a": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"}]",
    **{
        f"{name} for a word, {at}": lambda d, n=new, a=at: _nth(d, rb"[A-Za-z]{2,}", n, a)
        for name, new in HOSTILE_WORDS.items()
        for at in (6,)
    },
    **{
        f"{name} for a number, {at}": lambda d, n=new, a=at: _nth(d, rb"\d+(?:\.\d+)?", n, a)
        for name, new in HOSTILE_NUMBERS.items()
        for at in (6,)
    },
}


def damaged() -> Iterator[Case]:
    """Yield every kind of damage to a file of every format; `name` begins with the reader's name."""
    for reader in READERS.values():
        for name, damage in DAMAGES.items():

            def make(folder: Path, reader: Reader = reader, damage: Callable[[bytes], bytes] = damage) -> Path:
                path = folder / reader.file
                path.write_bytes(damage(reader.good.encode()))
                return path

            yield Case(f"{reader.name}: {name}", make, None)


def refused() -> Iterator[Case]:
    """Yield files with faults specific to a format, which must be refused with a message."""
    number = count()
    for reader, says, content in _SPECIAL:

        def make(folder: Path, reader: str = reader, content: str | Callable[[], bytes] = content) -> Path:
            path = folder / READERS[reader].file
            path.write_bytes(content() if callable(content) else content.encode())
            return path

        yield Case(f"{reader}: {says[:40]} {next(number)}", make, says)


def _tree(*heads: object) -> str:
    rows = (f"{n}\tw{n}\t_\tNOUN\t_\t_\t{head}\tdep\t_\t_" for n, head in enumerate(heads, 1))
    return "\n".join(rows) + "\n\n"


def _part(*cells: str) -> str:
    rows = (f"d 0 {n} w NN - - - - - * {cell}" for n, cell in enumerate(cells))
    return "#begin document (d); part 000\n" + "\n".join(rows) + "\n\n#end document\n"


def _gap(**changes: str) -> str:
    head, row, *_ = _GAP.split("\n")
    fields = dict(zip(head.split("\t"), row.split("\t")))
    return head + "\n" + "\t".join({**fields, **changes}.values()) + "\n"


_SPECIAL: list[tuple[str, str, Any]] = [
    ("conllu", "its own head", _tree(1)),
    ("conllu", "heads run in a circle", _tree(0, 3, 4, 2)),
    ("conllu", "heads run in a circle", _tree(0, *range(3, 2000), 2)),
    ("conllu", "a number up to 2", _tree(0, 9)),
    ("conllu", "no word of the sentence", _tree(2, 1)),
    ("conllu", "exactly one root", _tree(0, 0)),
    ("conllu", "has no head", _tree("_")),
    ("conllu", "expected a number", _tree("\x1b[2J")),
    ("conllu", "expected a number", _tree("-1")),
    ("conllu", "expected a number", _tree("9" * 5000)),
    ("conllu", "expected 1 in the first column", "999999999\tw\t_\t_\t_\t_\t0\troot\t_\t_\n"),
    ("conllu", "number of a word", "\u0661\tw\t_\t_\t_\t_\t0\troot\t_\t_\n"),
    ("conllu", "must end at a later word", "1-999999999\tw" + "\t_" * 8 + "\n" + _tree(0)),
    ("conllu", "has no word", "0.1\tw" + "\t_" * 8 + "\n\n"),
    ("conllu", "more than 100,000 lines", lambda: b"1\tw\n" * 100_002),
    ("conllu", "longer than 16 MiB", lambda: gzip.compress(b"1\t" + b"w" * (40 << 20))),
    ("conllu", "without control characters", _tree(0).replace("dep", "a\x1b[31m")),
    ("conllu", "without control characters", _tree(0).replace("dep", "\u202edep")),
    ("entities", "no Entity=", _tree(0)),
    ("entities", "after 10,000 brackets", _tree(0).replace("_\n", f"Entity={'e1)' * 10_001}\n")),
    ("entities", "without an entity's id", _tree(0).replace("_\n", "Entity=()\n")),
    ("entities", "expected brackets", _tree(0).replace("_\n", "Entity=\x1b[31m\n")),
    ("entities", "names neither", "# global.Entity = \x1b[31m-x\n" + _tree(0).replace("_\n", "Entity=(a)\n")),
    ("relations", "heads run in a circle", "a 0-root\nb 3-x\nc 2-x\n"),
    ("relations", "expected head-label", "a \x1b[31m\n"),
    ("relations", "fields", "a b c d\n"),
    ("relations", "more than 100,000 lines", lambda: b"a 0-x\n" * 100_001),
    ("trees", "found text", '[{"text": "x"}]'),
    ("trees", "whole number", '[{"words": ["a"], "heads": ["\\u001b[31m"], "relns": ["x"]}]'),
    ("trees", "whole number", '[{"words": ["a"], "heads": [true], "relns": ["x"]}]'),
    ("trees", "whole number", '[{"words": ["a"], "heads": [{"a": [1]}], "relns": ["x"]}]'),
    ("trees", "expected a string", '[{"words": ["a"], "heads": [0], "relns": [null]}]'),
    ("trees", "to be a list", '[{"words": ["a"], "heads": "\\u202e", "relns": ["x"]}]'),
    ("trees", "1 words, 2 heads", '[{"words": ["a"], "heads": [0, 1], "relns": ["x"]}]'),
    ("trees", "the head of", '[{"words": ["a"], "heads": [1000000000000], "relns": ["x"]}]'),
    ("features", "half of a character", '[{"text": "a\\ud800"}]'),
    ("features", "half of a character", '[{"words": ["ok", "\\udfff"]}]'),
    ("features", "exactly one of", '[{"text": "a", "words": ["b"]}]'),
    ("features", "exactly one of", '[{"\\u001b[31m\\u202e": 1}]'),
    ("features", "too large a number", '[{"text": "a", "n": 1e999}]'),
    ("features", "thousands of digits", '[{"text": "a", "n": ' + "9" * 5000 + "}]"),
    ("features", "not a JSON number", '[{"text": "a", "n": NaN}]'),
    ("features", "empty list", "[]"),
    ("features", "malformed JSON", '[{"text": "a"} \x1b[31m]'),
    ("features", "nested too deeply", '[{"text": "a", "n": ' + "[" * 200_000),
    ("features", "longer than 16 million", lambda: gzip.compress(b'[{"text": "' + b"a" * (40 << 20))),
    ("features", "characters of white space", lambda: gzip.compress(b" " * (40 << 20))),
    ("lines", "malformed JSON", '{"text": "a"} {"text": "b"}\n'),
    ("lines", "found a list", "[1]\n"),
    ("lines", "4 MiB of white space", lambda: gzip.compress(b" " * (40 << 20))),
    ("text", "longer than 16 MiB", lambda: gzip.compress(b"a" * (40 << 20))),
    ("text", "4 MiB of white space", lambda: gzip.compress(b"\n" * (40 << 20))),
    ("text", "only blank lines", "\n" * 9999),
    ("text", "ends too early", lambda: gzip.compress(bytes(range(97, 123)) * 9999)[:40]),
    ("conll2012", "after 10,000 brackets", _part("(0|" * 10_001)),
    ("conll2012", "expected brackets", _part("\x1b[31m(")),
    ("conll2012", "without an entity's id", _part("(|)")),
    ("conll2012", "no #end document", _part("(0)").replace("#end document", "")),
    ("conll2012", "has no words", "#begin document (d); part 000\n#end document\n"),
    ("conll2012", "expected #begin document", "\x1b[31m\n"),
    ("conll2012", "expected #begin document", "#begin \u202e\n"),
    ("conll2012", "comes twice", _part("(0)") + _part("(0)")),
    ("conll2012", "12 columns or more", "#begin document (d); part 000\nd 0 0 w\n#end document\n"),
    ("conll2012", "word's number", _part("(0)").replace(" 0 w", " x w")),
    ("gap", "the header of GAP", "\x1b[31m\t\u202e\n"),
    ("gap", "no rows", _GAP.split("\n")[0] + "\n"),
    ("gap", "11 columns", _GAP.split("\n")[0] + "\na\tb\n"),
    ("gap", "number of characters", _gap(**{"A-offset": "-1"})),
    ("gap", "number of characters", _gap(**{"A-offset": "9" * 30})),
    ("gap", "found its end", _gap(**{"A-offset": "999999999"})),
    ("gap", "TRUE or FALSE", _gap(**{"A-coref": "\x1b[31m"})),
    ("gap", "both TRUE", _gap(**{"B-coref": "TRUE"})),
    ("gap", "expected a pronoun", _gap(Pronoun="Anna", **{"Pronoun-offset": "0"})),
    ("gap", "is empty", _gap(A=" ")),
    ("glove", "NaN or infinite", "a 1 2\nb nan 3\n"),
    ("glove", "NaN or infinite", "a 1 2\nb 1e400 3\n"),
    ("glove", "NaN or infinite", "a 1 2\nb 1e39 3\n"),
    ("glove", "found 1 number", "a 1 2\nb 1\n"),
    ("glove", "found 3 numbers", "a 1 2\nb 1 2 3\n"),
    ("glove", "among them", "a 1 2\nb \x1b[31m 2\n"),
    ("glove", "line 1: expected a word", "only text here\n"),
    ("glove", "line 1: expected a word", lambda: b"a" + b" 1" * 100_001),
    ("glove", "longer than 16 MiB", lambda: b"a" + b" 1" * (9 << 20)),
    ("word2vec", "ends too early", "1000000000000 2\na 1 2\n"),
    ("word2vec", "line 1: expected a word", "2 999999999\na 1 2\n"),
    ("word2vec", "line 1: expected a word", "2 0\na\n"),
    ("word2vec", "line 2: expected a word and 1 numbers", "9" * 5000 + " 2\na 1 2\n"),
    ("word2vec", "line 2: expected a word and 1 numbers", "\u00b2 2\na 1 2\n"),
    ("word2vec", "numbers, found", "2 3\na 1 2\n"),
    ("word2vec", "for none of the corpus's", "0 2\n"),
]

_DROPPED: list[tuple[str, str, str]] = [
    ("entities", "closes a mention that is not open", _tree(0).replace("_\n", "Entity=e1)\n")),
    ("entities", "never closed", _tree(0).replace("_\n", "Entity=(e1\n")),
    ("entities", "is out of order", _tree(0).replace("_\n", "Entity=(e1[2/3])\n")),
    ("entities", "has no part 2", _tree(0).replace("_\n", "Entity=(e1[1/3])\n")),
    ("entities", "closes a mention that is not open", _tree(0).replace("_\n", "Entity=\x1b[31me1)\n")),
    ("entities", "never closed", _tree(0).replace("_\n", f"Entity=(\u202e{'e' * 9999}\n")),
    ("entities", "(document \\x1b]0;owned\\x07)", "# newdoc id = \x1b]0;owned\x07\n"
     + _tree(0).replace("_\n", "Entity=e1)\n")),
    ("entities", "x" * 80 + "...)", f"# newdoc id = {'x' * 9999}\n" + _tree(0).replace("_\n", "Entity=e1)\n")),
    ("conll2012", "closes a mention that is not open", _part("0)")),
    ("conll2012", "never closed", _part("(0", "(0", "0)")),
    ("conll2012", "(document \\x1b[31m)", _part("0)").replace("(d)", "(\x1b[31m)")),
]  # fmt: skip


def dropped() -> Iterator[Case]:
    """Yield unmatched brackets of mentions: those mentions are dropped, and reported in printable text."""
    number = count()
    for reader, says, content in _DROPPED:

        def make(folder: Path, reader: str = reader, content: str = content) -> Path:
            path = folder / READERS[reader].file
            path.write_text(content)
            return path

        yield Case(f"{reader}: {says[:40]!r} {next(number)}", make, says)


def parquet_cases() -> Iterator[Case]:
    """Yield files of the hub that are cut, bit-flipped, of other columns and types, or with unreadable rows."""
    good: dict[str, list[Any]] = {"tokens": [["Ann", "ran"]], "head": [["2", "0"]], "deprel": [["nsubj", "root"]]}
    kinds: dict[str, dict[str, list[Any]]] = {
        "no column": {"other": [1]},
        "a column missing": {"tokens": [["a"]], "head": [["0"]]},
        "numbers for lists": {"tokens": [1], "head": [2], "deprel": [3]},
        "strings for lists": {"tokens": ["ab"], "head": ["20"], "deprel": ["xy"]},
        "nulls": {"tokens": [None], "head": [None], "deprel": [None]},
        "nulls within": {"tokens": [[None, "a"]], "head": [[None, None]], "deprel": [["x", None]]},
        "another length": {"tokens": [["a"]], "head": [["0", "1"]], "deprel": [["x"]]},
        "a tab": {"tokens": [["a\tb"]], "head": [["0"]], "deprel": [["x"]]},
        "a line end": {"tokens": [["a\nb"]], "head": [["0"]], "deprel": [["x"]]},
        "an escape": {"tokens": [["\x1b[31m"]], "head": [["0"]], "deprel": [["\u202e"]]},
        "bytes": {"tokens": [[b"\xff"]], "head": [[b"0"]], "deprel": [[b"x"]]},
        "a bad range": {**good, "mwt": [[{"id": "\x1b[31m", "form": "x"}]]},
        "a range without id": {**good, "mwt": [[{"form": "x"}]]},
        "ranges as text": {**good, "mwt": ["1-2"]},
        "ranges as a list of texts": {**good, "mwt": [["1-2"]]},
        "nodes as a list of texts": {**good, "empty_nodes": [["1.1"]]},
        "ranges as numbers": {**good, "mwt": [[1, 2]]},
        "a number for an id": {**good, "mwt": [[{"id": 1, "form": "x"}]]},
        "a huge range": {**good, "mwt": [[{"id": "9" * 5000 + "-1", "form": "x"}]]},
        "an arabic range": {**good, "mwt": [[{"id": "\u0661-\u00b2", "form": "x"}]]},
        "a bad empty node": {**good, "empty_nodes": [[{"id": "1-1", "form": "x"}]]},
        "comments of numbers": {**good, "comments": [[1, 2]]},
        "a comment of two lines": {**good, "comments": [["a\nb"]]},
        "no rows": {"tokens": [], "head": [], "deprel": []},
        "text of numbers": {"text": [1, 2]},
        "text of lists": {"text": [["a"]]},
        "text of bytes": {"text": [b"\xff"]},
        "text of nulls": {"text": [None]},
        "text": {"text": ["a line", " = Title = ", ""]},
    }

    def made(content: dict[str, list[Any]], change: Callable[[bytes], bytes]) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            import pyarrow
            from pyarrow import parquet

            path = folder / "a.parquet"
            parquet.write_table(pyarrow.table(content), path)
            path.write_bytes(change(path.read_bytes()))
            return path

        return make

    for name, content in kinds.items():
        yield Case(f"parquet: {name}", made(content, bytes), None)
    for name, damage in DAMAGES.items():
        if name.startswith(("cut", "without", "bits", "a nul", "nothing", "one byte", "twice", "zipped", "another")):
            yield Case(f"parquet: {name}", made(good, damage), None)


def read_parquet(path: Path) -> list[Any]:
    """Read a converted treebank from a Parquet file of the hub, or the file's texts if it is not a treebank."""
    from headscope.errors import HeadscopeError

    plain = path.with_suffix(".conllu")
    try:
        parquet_to_conllu(path, plain, name="ud:x")
    except HeadscopeError as error:
        parquet_to_text(path, path.with_suffix(".txt"), name="wikitext")
        return [error]
    return list(read_treebank(plain))

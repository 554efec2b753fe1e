"""Reading a long file takes as much memory as reading a short one."""

import gzip
import json
import tracemalloc

import pytest

from headscope.corpora.document import CorpusDigest
from headscope.corpora.reading import read_corpus

pytestmark = pytest.mark.slow

WORDS = [letter * 115 for letter in "abcdef"]  # few long words, since tracemalloc makes every object expensive


def write(path, documents: int) -> None:
    """Write this number of documents of about 700 bytes."""
    if path.suffix == ".json":
        content = json.dumps([{"words": WORDS, "heads": [2, 0]} for _ in range(documents)])
    elif path.suffix == ".jsonl":
        content = "\n".join(json.dumps({"tokens": WORDS, "n": n}) for n in range(documents))
    else:
        content = "\n\n".join("\n".join(WORDS) for _ in range(documents))
    path.write_bytes(gzip.compress(content.encode()) if path.suffix == ".gz" else content.encode())


def peak(path) -> int:
    tracemalloc.start()
    try:
        reading = CorpusDigest(read_corpus([path]))
        for _ in reading:
            pass
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.json", "a.jsonl"])
def test_memory_does_not_grow_with_the_file(tmp_path, name):
    short, long = tmp_path / f"short-{name}", tmp_path / f"long-{name}"
    write(short, 700)
    write(long, 7000)
    if not name.endswith(".gz"):
        assert long.stat().st_size > 4_500_000
    few = peak(short)
    assert few < 1_500_000
    # 20 bytes per document, to distinguish equal ones, and a few more during sorting.
    assert peak(long) < few + 300_000

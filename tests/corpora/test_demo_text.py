"""The demonstration text of the package."""

from headscope.corpora.reading import read_corpus
from headscope.installing import demo_text


def test_the_demo_text_is_a_corpus_to_show():
    documents = list(read_corpus([demo_text()]))
    assert len(documents) >= 30
    assert sum(len(line.split()) for document in documents for line in document.lines) >= 6000
    assert min(len(document.lines) for document in documents) >= 2
    assert len({document.lines for document in documents}) == len(documents)

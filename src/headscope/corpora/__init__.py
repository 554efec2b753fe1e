"""Corpora: text and features files as a stream of documents."""

from headscope.corpora.demo import demo_text, demo_treebank
from headscope.corpora.digest import CorpusDigest
from headscope.corpora.document import Document, document_id
from headscope.corpora.files import expand, open_lines
from headscope.corpora.reading import read_corpus
from headscope.corpora.text.features import read_features
from headscope.corpora.text.plain import read_text

__all__ = [
    "CorpusDigest",
    "Document",
    "demo_text",
    "demo_treebank",
    "document_id",
    "expand",
    "open_lines",
    "read_corpus",
    "read_features",
    "read_text",
]

"""Small parts of the demonstration's treebank, for tests."""

from headscope.corpora.annotation import AnnotatedDocument
from headscope.corpora.trees.treebank import read_treebank
from headscope.installing import demo_treebank


def demo_conllu(first: int, last: int) -> str:
    """Return the CoNLL-U text of the documents from `first` to `last`, counted from 1."""
    _, *documents = demo_treebank().read_text(encoding="utf-8").split("# newdoc ")
    return "".join(f"# newdoc {document}" for document in documents[first - 1 : last])


def demo_documents(first: int, last: int) -> list[AnnotatedDocument]:
    """Return the documents from `first` to `last`, counted from 1."""
    return [*read_treebank(demo_treebank())][first - 1 : last]

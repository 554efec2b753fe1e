import pytest
import torch

from support.commands import cli
from support.demo_treebank import demo_conllu, demo_documents

__all__ = ["cli"]


@pytest.fixture(scope="session")
def treebank(tmp_path_factory):
    path = tmp_path_factory.mktemp("training") / "small.conllu"
    path.write_text(demo_conllu(101, 112), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """Return a text of 30 documents with one sentence per line, which is quicker to read than a treebank."""
    path = tmp_path_factory.mktemp("training") / "small.txt"
    blocks = ["\n".join(s.text for s in document.sentences) for document in demo_documents(101, 130)]
    path.write_text("\n\n".join(blocks))
    return path


@pytest.fixture(autouse=True)
def one_thread():
    """Use one thread, since sums depend on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

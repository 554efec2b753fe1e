import pytest
import torch

from headscope_grammar import synthetic_documents, write_conllu
from support.commands import cli

__all__ = ["cli"]


@pytest.fixture(scope="session")
def treebank(tmp_path_factory):
    path = tmp_path_factory.mktemp("training") / "small.conllu"
    write_conllu(synthetic_documents(12, seed=3), path)
    return path


@pytest.fixture(scope="session")
def text(tmp_path_factory):
    """Sentences a line, 30 documents: quicker to read than a treebank."""
    path = tmp_path_factory.mktemp("training") / "small.txt"
    blocks = ["\n".join(s.text for s in document.sentences) for document in synthetic_documents(30, seed=3)]
    path.write_text("\n\n".join(blocks))
    return path


@pytest.fixture(autouse=True)
def one_thread():
    """Sums depend on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)

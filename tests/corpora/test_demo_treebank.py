"""The statements on the card of the package's treebank are true."""

from collections import Counter
from pathlib import Path

import headscope_minilm
import pytest

from headscope.scans.prepare.annotated import DEMO_NAME, AnnotatedCorpus

CHECKOUT = Path(__file__).parents[2] / "packages" / "headscope-minilm" / "src" / "headscope_minilm"


@pytest.fixture(scope="module")
def documents():
    return list(AnnotatedCorpus.treebank(()).read())


@pytest.mark.parametrize("name", ["demo_text", "demo_treebank"])
def test_what_is_installed_is_what_the_checkout_holds(name):
    installed = getattr(headscope_minilm, name)()
    assert installed.read_bytes() == (CHECKOUT / "demo" / installed.name).read_bytes(), (
        "the installed headscope-minilm is another: pip install ./packages/headscope-minilm"
    )


def test_it_is_read_for_trees_and_for_mentions(documents):
    assert f"synthetic English, {len(documents)} documents" == DEMO_NAME
    assert list(AnnotatedCorpus.coreference(()).read()) == documents


def test_sizes_are_those_of_the_card(documents):
    assert len(documents) == len({document.id for document in documents}) == 250
    assert {len(document.sentences) for document in documents} == set(range(3, 9))
    lengths = [len(sentence) for document in documents for sentence in document.sentences]
    assert (min(lengths) >= 3, max(lengths) <= 40) == (True, True)


def is_tree(heads):
    """Return True if there is one root and every word is below it."""
    below, number = {0}, 0
    while len(below) > number:
        number = len(below)
        below |= {at for at, head in enumerate(heads, 1) if head in below}
    return heads.count(0) == 1 and number == len(heads) + 1


def test_every_sentence_is_a_tree(documents):
    assert is_tree((2, 0, 2))
    assert not any(is_tree(heads) for heads in ((2, 1, 0), (0, 0), (2, 3, 2)))
    for document in documents:
        for sentence in document.sentences:
            assert is_tree(sentence.heads), sentence.text
            roots = [relation for relation, head in zip(sentence.relations, sentence.heads) if head == 0]
            assert roots == ["root"], sentence.text
            assert "" not in sentence.tags, sentence.text


def test_at_least_20_relations_have_the_100_cases_that_a_finding_needs(documents):
    counts = Counter(name for document in documents for sentence in document.sentences for name in sentence.relations)
    assert sum(count >= 100 for name, count in counts.items() if name not in ("punct", "root")) >= 20


def test_every_document_mentions_two_entities_twice(documents):
    for document in documents:
        chains = Counter(mention.entity for mention in document.mentions)
        assert sum(number > 1 for number in chains.values()) >= 2, document.id
        assert document.unmatched == (), document.id

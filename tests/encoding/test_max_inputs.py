"""A limit of inputs: they are spread over the documents, and drawn by the seed."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.max_inputs import draw_documents, draw_inputs
from headscope.models.load_model import load_model

SIZES = st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 6), max_size=12)


def places(sizes):
    return [(document, index) for document, size in sizes.items() for index in range(size)]


@given(SIZES, st.integers(1, 40), st.integers(0, 3))
def test_no_document_gives_two_more_than_another_that_has_more(sizes, limit, seed):
    drawn = draw_inputs(places(sizes), limit=limit, seed=seed)
    assert len(drawn) == min(limit, sum(sizes.values()))
    assert drawn <= set(places(sizes))
    taken = Counter(document for document, _ in drawn)
    for document, size in sizes.items():
        assert taken[document] == size or taken[document] >= max(taken.values(), default=0) - 1


@given(SIZES, st.integers(1, 40), st.randoms())
def test_the_order_of_the_inputs_plays_no_part(sizes, limit, random):
    mixed = places(sizes)
    random.shuffle(mixed)
    assert draw_inputs(mixed, limit=limit, seed=1) == draw_inputs(places(sizes), limit=limit, seed=1)


@given(SIZES, st.integers(1, 40), st.integers(0, 3))
def test_the_documents_kept_are_those_of_which_inputs_are_drawn_first(sizes, limit, seed):
    documents = [Document(id=f"{name} {number}", lines=("x",)) for name in sizes for number in range(40)]
    kept = draw_documents(iter(documents), limit=limit, seed=seed)
    chosen = {each.id for each in kept}
    assert len(kept) == len(chosen) == min(len(documents), 4 * limit + 64)
    assert [each.id for each in kept] == [each.id for each in documents if each.id in chosen]
    every = [(each.id, 0) for each in documents]
    assert {document for document, _ in draw_inputs(every, limit=limit, seed=seed)} <= chosen


def test_another_seed_draws_others():
    many = places({f"d{number}": 9 for number in range(9)})
    drawn = {seed: draw_inputs(many, limit=20, seed=seed) for seed in range(4)}
    assert len(set(drawn.values())) == 4
    # Some drawn inputs are not the first of their document.
    assert {index for _, index in drawn[0]} > {0}


@pytest.fixture(scope="module")
def encoder():
    return Encoder(load_model(None).tokenizer)


def test_a_packer_counts_what_it_gives(encoder):
    documents = [Document(id=f"d{n}", lines=tuple(f"a line {k} of text" for k in range(n))) for n in range(9)]
    packer = Packer(encoder, packing="single", seed=3)
    made = list(packer.pack(iter(documents), max_inputs=11))
    assert len(made) == packer.counts.segments == 11
    assert packer.counts.tokens == sum(map(len, made))
    # Eight documents have a line: each gives one input, three a second one, in the order of the corpus.
    assert packer.counts.documents_used == len({segment.document for segment in made}) == 8
    order = [(segment.document, segment.index) for segment in made]
    assert order == sorted(order)
    assert len(set(order)) == 11


def test_under_a_limit_an_input_is_what_it_is_without(encoder):
    documents = [Document(id=f"d{n}", lines=("one line", "and another", "a third")) for n in range(6)]
    whole = {(s.document, s.index): s.ids.tolist() for s in Packer(encoder, packing="single").pack(documents)}
    for segment in Packer(encoder, packing="single").pack(documents, max_inputs=7):
        assert whole[segment.document, segment.index] == segment.ids.tolist()

"""Packing: inputs that fit, are cut or are skipped, and their counts."""

from random import Random

import pytest
from headscope_minilm import folder
from transformers import AutoTokenizer

from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.errors import InputError

LINES = ("one two three", "four five", "six seven eight nine ten eleven twelve", "thirteen fourteen", "fifteen")


@pytest.fixture(scope="module")
def encoder():
    return Encoder(AutoTokenizer.from_pretrained(folder()))


def texts(encoder, segments):
    return [" ".join(encoder.tokenizer.convert_ids_to_tokens(segment.ids)) for segment in segments]


def pack(encoder, *documents, **options):
    packer = Packer(encoder, **options)
    made = packer.pack(Document(id=str(i), lines=lines, origin=f"t.txt, line {i}") for i, lines in enumerate(documents))
    return packer, list(made)


def test_paragraph_pairs_are_lines_one_and_two_three_and_four(encoder):
    packer, segments = pack(encoder, LINES, packing="paragraphs")
    assert texts(encoder, segments) == [
        "[CLS] one two three [SEP] four five [SEP]",
        "[CLS] six seven eight nine ten eleven twelve [SEP] thirteen fourteen [SEP]",
    ]
    assert packer.counts.skipped == {"no second paragraph to pair with": 1}
    assert segments[0].token_types.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]


def test_a_pair_over_the_limit_is_cut_from_the_longer_text(encoder):
    packer, segments = pack(encoder, LINES, packing="paragraphs", max_length=9)
    assert texts(encoder, segments)[1] == "[CLS] six seven eight nine [SEP] thirteen fourteen [SEP]"
    assert [segment.shortened for segment in segments] == [False, True]
    assert (packer.counts.truncated, packer.counts.segments) == (1, 2)
    _, segments = pack(encoder, (LINES[2], LINES[2]), packing="paragraphs", max_length=9)
    assert texts(encoder, segments) == ["[CLS] six seven eight [SEP] six seven eight [SEP]"]


def test_a_pair_over_the_limit_is_skipped_or_an_error_on_option(encoder):
    packer, segments = pack(encoder, LINES, packing="paragraphs", max_length=9, too_long="skip")
    assert len(segments) == 1
    assert packer.counts.skipped["over the limit"] == 1
    with pytest.raises(InputError, match=r"^t.txt, line 0: 12 tokens, expected at most 9; raise --max-length"):
        pack(encoder, LINES, packing="paragraphs", max_length=9, too_long="error")


def test_pretraining_pairs_cut_nothing_when_they_may_not(encoder):
    """Lines are packed while the next one fits; a line over the limit is skipped, or an error."""
    packer, segments = pack(encoder, LINES, max_length=11, too_long="skip")
    found = texts(encoder, segments)
    assert found == ["[CLS] one two three [SEP] four five [SEP]", "[CLS] thirteen fourteen [SEP] fifteen [SEP]"]
    assert not any(segment.shortened for segment in segments)
    assert packer.counts.skipped == {"no second line to pair with": 1}
    packer, segments = pack(encoder, LINES, max_length=8, too_long="skip")
    assert packer.counts.skipped["over the limit"] == 1
    with pytest.raises(InputError, match=r"^t.txt, line 0: 10 tokens, expected at most 8"):
        pack(encoder, LINES, max_length=8, too_long="error")


def test_pretraining_pairs_fill_the_limit_and_keep_every_line_in_order(encoder):
    packer, segments = pack(encoder, LINES * 3, max_length=12)
    assert all(len(segment) <= 12 for segment in segments)
    assert packer.counts.truncated == sum(segment.shortened for segment in segments) > 0
    assert [segment.index for segment in segments] == list(range(len(segments)))


def test_joined_lines_fill_an_input_and_lose_their_end_alone(encoder):
    packer, segments = pack(encoder, LINES, LINES[:1], packing="joined", max_length=9)
    assert texts(encoder, segments) == [
        "[CLS] one two three four five six seven [SEP]",
        "[CLS] thirteen fourteen fifteen [SEP]",
        "[CLS] one two three [SEP]",
    ]
    assert [segment.shortened for segment in segments] == [True, False, False]
    assert not any(segment.token_types.any() for segment in segments)
    assert packer.counts.documents_used == 2
    assert not packer.counts.skipped
    packer, segments = pack(encoder, LINES, packing="joined", max_length=9, too_long="skip")
    assert texts(encoder, segments) == [
        "[CLS] one two three four five [SEP]",
        "[CLS] six seven eight nine ten eleven twelve [SEP]",
        "[CLS] thirteen fourteen fifteen [SEP]",
    ]


def test_a_first_word_over_the_limit_gives_no_empty_input(encoder):
    packer = Packer(encoder, max_length=6)
    document = Document(id="w", words=("pneumonoultramicroscopic", "fox"), origin="w.json, entry 1")
    assert list(packer.pack([document])) == []
    assert packer.counts.skipped == {"first word over the limit": 1}


def test_words_are_cut_between_words_and_counted(encoder):
    packer = Packer(encoder, max_length=7)
    words = ("the", "cat", "unbelievably", "sat", "down")
    (segment,) = packer.pack([Document(id="w", words=words, origin="w.json, entry 1")])
    assert segment.words == words[: len(segment.words)]
    assert segment.shortened
    assert packer.counts.words_split <= packer.counts.words == len(segment.words)
    assert segment.word_ids[1:-1].max() == len(segment.words) - 1


def test_the_limit_counts_inputs(encoder):
    _, segments = pack(encoder, LINES, LINES, packing="single")
    assert len(segments) == 10
    assert len(list(Packer(encoder, packing="single").pack([Document(id="a", lines=LINES)], max_inputs=3))) == 3


TEXTS = [(*LINES[i:], *LINES, *LINES[:i]) for i in range(5)] * 3


def inputs(documents, encoder, **options):
    segments = Packer(encoder, max_length=12, **options).pack(documents)
    return [(segment.document, segment.index, segment.ids.tolist()) for segment in segments]


def numbered(texts):
    return [Document(id=f"{number:02}", lines=lines) for number, lines in enumerate(texts)]


def test_three_shards_give_the_inputs_of_one_run(encoder):
    documents = numbered(TEXTS)
    whole = inputs(documents, encoder, seed=3)
    parts = [inputs(documents[place::3], encoder, seed=3) for place in range(3)]
    assert sorted(each for part in parts for each in part) == whole
    assert inputs(documents, encoder, seed=4) != whole
    # Two documents with the same lines are cut differently.
    by_document = [[each[2] for each in whole if each[0] == document.id] for document in documents]
    assert any(by_document[place] != by_document[place + 5] for place in range(5))


def test_one_stream_of_draws_depends_on_what_came_before(encoder):
    documents = numbered(TEXTS)
    whole = inputs(documents, encoder, one_stream=True)
    parts = [inputs(documents[place::3], encoder, one_stream=True) for place in range(3)]
    assert sorted(each for part in parts for each in part) != whole
    assert [each for each in whole if each[0] < "05"] == inputs(documents[:5], encoder, one_stream=True)


@pytest.mark.parametrize("seed", [0, 1, 2, 7])
def test_the_cut_of_a_document_follows_from_seed_and_id_alone(encoder, seed):
    _, (made,) = pack(encoder, LINES, seed=seed)
    cut = Random(f"{seed} 0").randint(1, len(LINES) - 1)
    assert texts(encoder, [made]) == [f"[CLS] {' '.join(LINES[:cut])} [SEP] {' '.join(LINES[cut:])} [SEP]"]

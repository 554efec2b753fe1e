"""Treebank sentences as model inputs: alignment with the tree, limits, counts, words in random order."""

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.encoding.encoder import Encoder
from headscope.encoding.sentence_packing import SentenceCounts, SentencePacker, shuffled


def encoder(*, merges=False) -> Encoder:
    """Return WordPiece, in which `cats` is `cat ##s` and `~` is deleted; with `merges`, `do n't` is one token."""
    names = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "cat", "##s", "sat", "down", "do n't", "do", "##wn"]
    backend = Tokenizer(models.WordPiece({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
    if merges:
        backend = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="[UNK]"))
        backend.pre_tokenizer = pre_tokenizers.Split("|", "removed")
    else:
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.normalizer = normalizers.Replace("~", "")
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    special = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    return Encoder(PreTrainedTokenizerFast(tokenizer_object=backend, **special))


def tree(*words, heads=None, relations=None):
    number = len(words)
    return AnnotatedSentence(
        words=words,
        heads=tuple(heads or (0, *[1] * (number - 1))),
        relations=tuple(relations or ("root", *["dep"] * (number - 1))),
    )


def documents(*sentences, each=2):
    return [
        AnnotatedDocument(id=f"d{i // each}", sentences=tuple(sentences[i : i + each]))
        for i in range(0, len(sentences), each)
    ]


CATS = tree("cats", "sat", "down", heads=(2, 0, 2), relations=("nsubj", "root", "advmod"))


def test_a_sentence_worked_by_hand():
    packer = SentencePacker(encoder(), max_length=16)
    (segment,) = packer.pack(documents(CATS))
    assert segment.ids.tolist() == [1, 4, 5, 6, 7, 2]
    assert segment.word_ids.tolist() == [-1, 0, 0, 1, 2, -1]
    assert segment.token_types.tolist() == [0] * 6
    assert segment.words == ("cats", "sat", "down")
    assert segment.fields == {"heads": [2, 0, 2], "relns": ["nsubj", "root", "advmod"]}
    assert (segment.document, segment.index) == ("d0", 0)
    assert packer.counts == SentenceCounts(documents=1, sentences=1, words=3, words_split=1)
    (tagged,) = packer.pack(documents(replace(CATS, tags=("NOUN", "VERB", "ADV"))))
    assert tagged.fields == {**segment.fields, "tags": ["NOUN", "VERB", "ADV"]}


def test_words_that_lose_their_piece_are_counted_and_keep_their_arc():
    packer = SentencePacker(encoder(), max_length=16)
    (segment,) = packer.pack(documents(tree("~", "cats", "~~", "sat")))
    assert segment.word_ids.tolist() == [-1, 1, 1, 3, -1]
    assert len(segment.words) == len(segment.fields["heads"]) == 4
    assert (packer.counts.words, packer.counts.words_dropped, packer.counts.words_merged) == (4, 2, 0)
    packer = SentencePacker(encoder(merges=True), max_length=16)
    (segment,) = packer.pack(documents(tree("do", "n't")))
    assert segment.word_ids.tolist() == [-1, 0, -1]
    assert (packer.counts.words, packer.counts.words_dropped, packer.counts.words_merged) == (2, 0, 1)
    assert packer.counts.words_split == 0


def test_long_sentences_are_left_out_whole_and_counted():
    # 4 tokens and 2 special ones
    for length, kept in ((6, 1), (5, 0)):
        packer = SentencePacker(encoder(), max_length=length)
        made = list(packer.pack(documents(CATS, tree("sat"))))
        assert [s.index for s in made] == ([0, 1] if kept else [1])  # its index among the sentences stays
        assert packer.counts.skipped == ({} if kept else {"sentence over the limit": 1})
        assert packer.counts.sentences == 1 + kept
        assert packer.counts.words == 1 + 3 * kept


def test_the_limit_is_of_sentences_that_were_used():
    long = tree(*["cats"] * 9)
    made = documents(CATS, CATS, long, CATS, CATS, CATS)
    for limit, read, used in ((0, 0, 0), (1, 1, 1), (2, 1, 2), (3, 2, 3), (4, 3, 4), (9, 3, 5)):
        packer = SentencePacker(encoder(), max_length=8)
        segments = list(packer.pack(iter(made), max_inputs=limit))
        assert len(segments) == packer.counts.sentences == used
        assert packer.counts.documents == read
    assert [(s.document, s.index) for s in segments] == [("d0", 0), ("d0", 1), ("d1", 1), ("d2", 0), ("d2", 1)]


def test_an_empty_sentence_is_passed_over():
    packer = SentencePacker(encoder(), max_length=8)
    assert [s.index for s in packer.pack(documents(tree(), CATS))] == [1]
    assert packer.counts == SentenceCounts(documents=1, sentences=1, words=3, words_split=1)


def test_sentences_are_drawn_one_by_one():
    seen = []

    def stream():
        for document in documents(CATS, CATS, CATS, CATS):
            seen.append(document.id)
            yield document

    packed = SentencePacker(encoder(), max_length=8).pack(stream())
    next(packed)
    assert seen == ["d0"]


def arcs(sentence):
    """Return the arcs by name: words are unique."""
    return Counter(
        (word, sentence.words[head - 1] if head else None, relation)
        for word, head, relation in zip(sentence.words, sentence.heads, sentence.relations)
    )


def test_shuffled_words_keep_their_arcs():
    words = tuple("abcdefgh")
    heads, relations = (3, 1, 0, 3, 4, 8, 6, 5), tuple(f"r{i}" for i in range(8))
    sentence = AnnotatedSentence(words=words, heads=heads, relations=relations, tags=tuple("ABCDEFGH"), origin="x")
    orders = set()
    for seed in range(30):
        other = shuffled(sentence, Random(seed))
        assert arcs(other) == arcs(sentence)
        assert [tag.lower() for tag in other.tags] == list(other.words)
        assert other.origin == "x"
        orders.add(other.words)
    assert len(orders) > 25
    firsts = Counter(shuffled(sentence, Random(seed)).words[0] for seed in range(800))
    assert all(60 < firsts[word] < 140 for word in words)  # every word comes first about equally often


def test_the_order_is_that_of_the_sentence_and_the_seed():
    sentence = tree(*(["cats", "sat", "down", "cat", "do"] * 2))
    made = documents(sentence, sentence, sentence)

    def orders(**options):
        packer = SentencePacker(encoder(), max_length=30, shuffle=True, **options)
        return [s.words for s in packer.pack(made)]

    assert orders() == orders()
    assert len(set(orders())) == 3
    assert orders(seed=1) != orders()
    assert sorted(orders()[0]) == sorted(sentence.words)
    # The order of a sentence does not depend on earlier ones.
    packer = SentencePacker(encoder(), max_length=30, shuffle=True)
    assert [s.words for s in packer.pack(made[1:])] == orders()[2:]


def test_pieces_of_a_shuffled_sentence_belong_to_its_words():
    packer = SentencePacker(encoder(), max_length=16, shuffle=True, seed=4)
    (segment,) = packer.pack(documents(CATS))
    assert segment.words != CATS.words
    pieces = {"cats": 2, "sat": 1, "down": 1}
    expected = [i for i, word in enumerate(segment.words) for _ in range(pieces[word])]
    assert segment.word_ids[1:-1].tolist() == expected
    np.testing.assert_array_equal(segment.ids[[0, -1]], [1, 2])
    sentence = AnnotatedSentence(
        words=segment.words, heads=tuple(segment.fields["heads"]), relations=tuple(segment.fields["relns"])
    )
    assert arcs(sentence) == arcs(CATS)

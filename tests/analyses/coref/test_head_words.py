"""Head words and types of mentions: worked cases, and agreement of the rule with real trees."""

import math

import pytest

from headscope.analyses.coref.head_words import MentionWords, rule_agreement, rule_head
from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.corpora.trees.treebank import read_treebank
from support.shared_data import data


def document(*sentences: str | AnnotatedSentence) -> AnnotatedDocument:
    made = [
        one if isinstance(one, AnnotatedSentence) else AnnotatedSentence(words=tuple(one.split())) for one in sentences
    ]
    return AnnotatedDocument(id="x", sentences=tuple(made))


def tree(text: str) -> AnnotatedSentence:
    """Make a sentence of `word/tag/head/relation`."""
    rows = [word.split("/") for word in text.split()]
    return AnnotatedSentence(
        words=tuple(row[0] for row in rows),
        tags=tuple(row[1] for row in rows),
        heads=tuple(int(row[2]) for row in rows),
        relations=tuple(row[3] for row in rows),
    )


@pytest.mark.parametrize(
    ("phrase", "head"),
    [
        ("he", "he"),
        ("the old man", "man"),
        ("the President of France", "President"),
        ("Mr. Smith , the lawyer", "Smith"),
        ("Her Majesty 's ship", "ship"),
        ("John 's", "John"),
        ("the dogs '", "dogs"),
        ("the Queen of England ’s", "Queen"),
        ("a tall , dark stranger", "stranger"),
        ("the big , fat , lazy cat from next door", "cat"),
        ("the man who knew too much", "man"),
        ("the house that Jack built", "house"),
        ("the place where we met", "place"),
        ("those who left", "those"),
        ("one of the men", "one"),
        ("some of their neighbors", "some"),
        ("many of whom", "many"),
        ("the poor of the parish", "poor"),
        ("the man standing there", "man"),
        ("halls built for music", "halls"),
        ("a girl called Ann", "girl"),
        ("the wounded soldiers", "soldiers"),
        ("the following day", "day"),
        ("the brick building", "building"),
        ("the old building of stone", "building"),
        ("the board meeting", "meeting"),
        ("the parties concerned", "parties"),
        ("the sleeping dog", "dog"),
        ("a seed of doubt", "seed"),
        ("Fred Browning", "Browning"),
        ("the man I saw", "man"),
        ("almost any path you please", "path"),
        ("my brother and I", "I"),
        ("her father and mother", "mother"),
        ("oil and gas company", "company"),
        ("about twenty people", "people"),
        ("more than five thousand men", "men"),
        ("a delightful and charming lady , his wife", "lady"),
        ("the family of the bride", "family"),
        ("a friend ( whom I knew )", "friend"),
        ("the village — a poor one", "village"),
        ("“ the front hall ” , they said", "hall"),
        ("Lady Catherine de Bourgh", "Bourgh"),
        ("THE OLD MAN OF THE SEA", "MAN"),
        ("of the", "the"),
        (". . .", "."),
        ("in 1999", "1999"),
    ],
)
def test_the_rule_on_words(phrase: str, head: str):
    words = phrase.split()
    assert words[rule_head(words)] == head


def test_punctuation_alone_has_its_last_word_for_a_head():
    assert rule_head(["...", "-"]) == 1


def test_the_rule_counts_from_the_mention_and_the_answer_from_the_document():
    text = document("It rained .", "The King of Spain slept .")
    assert MentionWords(text).head(Mention(3, 7, "e")) == 4
    assert MentionWords(text).head(Mention(0, 1, "e")) == 0


def test_with_a_tree_the_head_is_the_word_whose_head_lies_outside():
    """`the cat I saw`: the rule without trees would also say cat; a tree may say another word."""
    sentence = tree(
        "They/PRON/2/nsubj like/VERB/0/root a/DET/5/det house/NOUN/5/compound cat/NOUN/2/obj "
        "of/ADP/7/case Rome/PROPN/5/nmod"
    )
    text = document("It rained .", sentence)
    assert MentionWords(text).head(Mention(5, 10, "e")) == 7
    # `a house`, a span that is no subtree: the higher word
    assert MentionWords(text).head(Mention(5, 7, "e")) == 6
    assert MentionWords(text).head(Mention(3, 10, "e")) == 4  # the root
    assert MentionWords(text).head(Mention(8, 10, "e")) == 9


def test_of_several_the_nearest_to_the_root_then_the_leftmost():
    sentence = tree("a/NOUN/5/nsubj b/NOUN/4/obj c/NOUN/5/obj d/VERB/5/ccomp e/VERB/0/root f/NOUN/5/obj")
    text = document(sentence)
    assert MentionWords(text).head(Mention(1, 3, "e")) == 2  # c hangs on the root itself, b below d
    assert MentionWords(text).head(Mention(2, 4, "e")) == 2  # c and d hang equally high
    assert MentionWords(text).head(Mention(0, 3, "e")) == 0


def test_a_determiner_is_a_head_only_alone():
    sentence = tree("the/DET/4/det:x World/PROPN/3/compound Bank/PROPN/4/compound head/NOUN/0/root")
    text = document(sentence)
    assert MentionWords(text).head(Mention(0, 3, "e")) == 2
    assert MentionWords(text).head(Mention(0, 1, "e")) == 0


@pytest.mark.parametrize("relation", ["det", "case", "mark", "cc", "aux", "aux:pass", "cop", "clf", "punct"])
def test_function_words_come_last_however_near_the_root(relation: str):
    """`a` hangs on the root itself, Ann below it; the span of the two is no subtree."""
    sentence = tree(f"a/X/3/{relation} Ann/PROPN/4/nmod left/VERB/0/root home/NOUN/3/obj b/X/3/{relation}")
    text = document(sentence)
    assert MentionWords(text).head(Mention(0, 2, "e")) == 1
    # alone, or among its like, it is the head all the same: the leftmost
    assert MentionWords(text).head(Mention(0, 1, "e")) == 0
    apart = document(tree(f"a/X/3/{relation} b/X/3/{relation} left/VERB/0/root"))
    assert MentionWords(apart).head(Mention(0, 2, "e")) == 0


def test_punctuation_is_no_head_where_there_is_a_word():
    sentence = tree("ran/VERB/0/root ,/PUNCT/1/punct he/PRON/4/nsubj said/VERB/1/parataxis ./PUNCT/1/punct")
    text = document(sentence)
    assert MentionWords(text).head(Mention(1, 3, "e")) == 2
    assert MentionWords(text).head(Mention(4, 5, "e")) == 4


def test_heads_of_a_constituency_tree_do():
    sentence = AnnotatedSentence(
        words=("the", "man", "in", "black", "left"),
        tags=("DT", "NN", "IN", "NN", "VBD"),
        heads=(2, 5, 2, 3, 0),
        relations=("dep", "dep", "dep", "dep", "root"),
    )
    assert MentionWords(document(sentence)).head(Mention(0, 4, "e")) == 1


def test_a_mention_into_the_next_sentence_is_judged_by_its_first():
    text = document("I saw old", "Mary of Rome")
    assert MentionWords(text).head(Mention(2, 4, "e")) == 2
    first = tree("a/DET/2/det b/NOUN/0/root")
    assert MentionWords(document(first, first)).head(Mention(0, 4, "e")) == 1


def kind(text: AnnotatedDocument, word: str) -> str:
    at = text.words.index(word)
    mention = Mention(at, at + 1, "e")
    return MentionWords(text).type(MentionWords(text).head(mention))


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        *((tag, "pronoun") for tag in ("PRON", "DET", "PRP", "PRP$", "WP", "WP$", "EX", "DT", "WDT", "PDT")),
        *((tag, "proper") for tag in ("PROPN", "NNP", "NNPS")),
        *((tag, "nominal") for tag in ("NOUN", "NN", "NNS", "NUM", "CD", "VERB", "VBG", "ADJ", "ADV")),
    ],
)
def test_types_by_tag_whatever_the_word(tag: str, expected: str):
    words = ("see", "He")
    sentence = AnnotatedSentence(words=words, tags=("VERB", tag))
    assert MentionWords(document(sentence)).type(1) == expected


@pytest.mark.parametrize("tag", ["_", "X", "XX", "-"])
def test_a_tag_that_says_nothing_leaves_it_to_the_word(tag: str):
    sentence = AnnotatedSentence(words=("see", "him"), tags=("VERB", tag))
    assert MentionWords(document(sentence)).type(1) == "pronoun"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("she", "pronoun"),
        ("HERSELF", "pronoun"),
        ("I", "pronoun"),
        ("whom", "pronoun"),
        ("nobody", "pronoun"),
        ("king", "nominal"),
        ("Ann", "proper"),
        ("US", "proper"),
        ("us", "pronoun"),
    ],
)
def test_types_without_tags(word: str, expected: str):
    assert kind(document(f"then came {word} ."), word) == expected


def test_the_head_of_a_longer_mention_decides():
    text = document("then came the King of Spain and all of us .")
    assert MentionWords(text).type(MentionWords(text).head(Mention(2, 6, "e"))) == "proper"
    assert MentionWords(text).type(MentionWords(text).head(Mention(7, 10, "e"))) == "pronoun"


@pytest.mark.parametrize("opening", ["", "“ ", "( ", "he said : “ ", "he said , `` "])
def test_a_capital_that_begins_a_sentence_tells_nothing_by_itself(opening: str):
    assert kind(document(f"{opening}Dogs bark ."), "Dogs") == "nominal"
    assert kind(document(f"{opening}Mary came .", "they saw Mary ."), "Mary") == "proper"
    assert kind(document(f"{opening}Mary came .", "Mary left ."), "Mary") == "nominal"
    assert kind(document(f"{opening}Dogs bark .", "they saw dogs ."), "Dogs") == "nominal"


def test_a_line_of_capitals_tells_nothing_by_itself():
    assert kind(document("HOW THE KING CAME"), "KING") == "nominal"
    assert kind(document("HOW MARY CAME", "then Mary left"), "MARY") == "proper"
    assert kind(document("GIVE IT TO US"), "US") == "pronoun"


def test_the_second_word_of_a_sentence_tells():
    assert kind(document("Poor Mary came ."), "Mary") == "proper"


def test_agreement_on_phrases_worked_out_by_hand():
    first = tree(
        "the/DET/2/det cat/NOUN/6/nsubj of/ADP/5/case old/ADJ/5/amod Rome/PROPN/2/nmod saw/VERB/0/root "
        "a/DET/8/det man/NOUN/6/obj in/ADP/10/case Rome/PROPN/6/obl:loc and/CCONJ/12/cc Spain/PROPN/10/conj"
    )
    # `the cat of old Rome`, `old Rome`, `a man`; of `Rome and Spain` the tree says Rome, the rule Spain
    assert rule_agreement([document(first)]) == (4, 3 / 4)
    # left out: a subtree in two pieces, a pronoun's, and (in the next) a single word
    broken = tree("a/DET/3/det sees/VERB/0/root man/NOUN/2/obj")
    pronoun = tree("all/DET/2/det they/PRON/3/nsubj see/VERB/0/root")
    # `the box`, without `out of`
    compound = tree("out/ADP/4/case of/ADP/1/fixed the/DET/4/det box/NOUN/5/obl come/VERB/0/root it/NOUN/5/obj")
    assert rule_agreement([document(broken, pronoun, compound, "no tree here")]) == (1, 1.0)


def test_no_phrase_is_no_agreement():
    count, share = rule_agreement([document("no tree here")])
    assert count == 0
    assert math.isnan(share)


def test_agreement_with_a_real_treebank():
    """Measured: 0.864 of 2,775 phrases of EWT dev; the rest are coordinations and names, by the first in UD."""
    count, share = rule_agreement(read_treebank(data("ud-english-ewt/en_ewt-ud-dev.conllu")))
    print(f"rule_head agrees with the trees of EWT dev on {share:.3f} of {count} phrases")
    assert count == 2_775
    assert share > 0.85

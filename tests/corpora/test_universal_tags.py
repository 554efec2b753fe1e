"""Parts of speech, read from a segment's fields and mapped to Universal Dependencies."""

import pytest

from headscope.corpora.trees.tree import TAGS, universal_tag
from headscope.encoding.sentence_packing import tags_of_fields
from headscope.errors import InputError


def test_tags_of_penn_are_universal_ones():
    assert [universal_tag(tag) for tag in ("NNS", "VBZ", "IN", "PRP$", "MD", ",", "$")] == [
        *("NOUN", "VERB", "ADP", "PRON", "AUX", "PUNCT", "SYM")
    ]
    assert [universal_tag(tag) for tag in TAGS] == list(TAGS)
    assert [universal_tag(tag) for tag in ("", "_", "NE", "noun")] == [""] * 4


@pytest.mark.parametrize(("tags", "found"), [(["NOUN"], "1"), ([1, 2], "something else"), ("ab", "something else")])
def test_tags_that_are_not_one_a_word_are_refused(tags, found):
    with pytest.raises(InputError) as refused:
        tags_of_fields({"tags": tags}, 2, "segment 1 of document d")
    assert str(refused.value) == (
        "segment 1 of document d: expected tags as a list of names, one for each of its 2 words, found "
        f"{found}; give a treebank, or maps that were extracted from one"
    )


def test_a_segment_may_have_no_tags():
    assert tags_of_fields({}, 2, "d") == []
    assert tags_of_fields({"tags": ["NOUN", "VERB", "X"]}, 2, "d") == ["NOUN", "VERB"]

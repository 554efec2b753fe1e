"""Lines `word head-label` in the paper's format: valid and refused ones."""

from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpora.annotation import AnnotatedSentence
from headscope.corpora.document import document_id
from headscope.corpora.trees.clark2019 import relation_line_documents
from headscope.corpora.trees.treebank import GIVE_TREEBANK, read_treebank, to_relation_lines
from headscope.errors import InputError

SHAPE = "expected a word and its head-label with a space between them (fox 3-nsubj)"


def read(text: str, **options):
    return list(relation_line_documents(text.split("\n"), name="x.txt", **options))


def message(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value)


def test_every_sentence_is_a_document():
    text = "the 2-det\nfox 3-nsubj\nran 0-root\n\n\n  \n- 2-a-b-c\nco-op\t0-root:x"
    first, second = read(text)
    assert first.sentences[0] == AnnotatedSentence(
        words=("the", "fox", "ran"), heads=(2, 3, 0), relations=("det", "nsubj", "root"), origin="x.txt, line 1"
    )
    # a label follows the first hyphen; the last sentence needs no blank line after it
    assert second.sentences[0] == AnnotatedSentence(
        words=("-", "co-op"), heads=(2, 0), relations=("a-b-c", "root:x"), origin="x.txt, line 7"
    )
    assert [first.id, second.id] == [document_id(first.content()), document_id(second.content())]
    assert [first.origin, second.origin] == ["x.txt, line 1", "x.txt, line 7"]


def test_files_and_directories(tmp_path):
    (tmp_path / "b.txt").write_text("b 0-root\n")
    (tmp_path / "a.txt").write_text("\ufeffa 0-root\r\n\r\nc 0-root")
    documents = list(read_treebank(tmp_path))
    assert [document.words for document in documents] == [("a",), ("c",), ("b",)]
    assert len({document.id for document in documents}) == 3


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("dog", f"{SHAPE}, found only 'dog'"),
        ("hot dog 1-obj", f"{SHAPE}, found 3 fields"),
        ("10\u00a0000 1-obj", f"{SHAPE}, found 3 fields"),
        ("# text = a dog", f"{SHAPE}, found 5 fields; a CoNLL-U file must be named .conllu"),
        ("2\tdog\t_\t_\t_\t_\t1\tobj\t_\t_", f"{SHAPE}, found 10 fields; a CoNLL-U file must be named .conllu"),
        ("dog obj", "expected head-label after the word (3-nsubj), found 'obj'"),
        ("dog 1", "expected head-label after the word (3-nsubj), found '1'"),
        ("dog -obj", "'dog' has no head; expected a treebank in which every word has one (0 for the root)"),
        (
            "dog obj-1",
            "the head of 'dog' is 'obj'; expected a number: that of a word of the sentence, from 1, or 0 for the root",
        ),
        ("dog 1-", "'dog' has no relation to its head; expected one, such as nsubj"),
        ("dog 1-_", "'dog' has no relation to its head; expected one, such as nsubj"),
        ("dog 1-a\x07", "the relation of 'dog' is 'a\\x07'; expected one without control characters, such as nsubj"),
        (
            "dog 7-obj",
            "the head of word 2 ('dog') is 7; expected 0 for the root, or a number up to 2, the sentence's words",
        ),
        ("dog 2-obj", "word 2 ('dog') is its own head; expected another word, or 0 for the root"),
        (
            "dog 0-root",
            "word 2 ('dog') has head 0, and so has word 1 ('saw'); expected exactly one root in a sentence, and a "
            "blank line between sentences",
        ),
    ],
)
def test_a_bad_line_is_named(line, expected):
    assert message(f"a 0-root\n\n\nsaw 0-root\n{line}\n") == f"x.txt, line 5: {expected}"


def test_heads_that_are_no_tree():
    assert message("a 0-root\n\na 2-x\nb 1-x\n") == (
        "x.txt, line 3: no word of the sentence that begins here has head 0; expected exactly one root"
    )
    assert message("\na 0-root\nb 3-x\nc 2-x\n") == (
        "x.txt, line 3: heads run in a circle: word 2 ('b') -> word 3 ('c') -> word 2; expected every word to lead "
        "to the root"
    )


def test_a_file_without_blank_lines_is_not_held_whole():
    with pytest.raises(InputError) as caught:
        list(relation_line_documents(chain(["a 0-root", "", ""], repeat("a 0-root")), name="x.txt"))
    assert str(caught.value) == (
        "x.txt, line 4: a sentence of more than 100,000 lines begins here; put a blank line between sentences"
    )


def test_nothing_to_read(tmp_path):
    expected = "expected a word and its head-label on each line (fox 3-nsubj), with a blank line between sentences"
    assert message("\n \n") == f"x.txt has no sentence: {expected}"
    (tmp_path / "a.txt").write_text("")
    with pytest.raises(InputError) as caught:
        list(read_treebank(tmp_path / "a.txt"))
    assert str(caught.value) == f"{tmp_path / 'a.txt'} is empty: {expected}"
    with pytest.raises(InputError) as caught:
        list(read_treebank(tmp_path / "none.txt"))
    assert str(caught.value) == f"no such file: {tmp_path / 'none.txt'}; {GIVE_TREEBANK}"


words = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zs", "Zl", "Zp"]), min_size=1).filter(str.strip)


@given(st.lists(st.tuples(words, st.sampled_from(["nsubj", "a-b", "nmod:poss", "-"])), min_size=1), st.data())
def test_what_is_written_is_read_again(drawn, more):
    # any earlier word in a shuffled order may be a head, so that all trees are possible
    order = more.draw(st.permutations(range(len(drawn))))
    heads = [0] * len(drawn)
    for place in range(1, len(order)):
        heads[order[place]] = 1 + order[more.draw(st.integers(0, place - 1))]
    given_words, relations = zip(*drawn)
    given_words = tuple(word.replace("\ufeff", "x") for word in given_words)
    sentence = AnnotatedSentence(words=given_words, heads=tuple(heads), relations=relations, origin="x.txt, line 1")
    (document,) = read(to_relation_lines(sentence))
    assert document.sentences == (sentence,)

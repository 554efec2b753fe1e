"""White space between the words of a treebank: `SpaceAfter=No`, ranges, paragraphs, the text."""

import io

import conllu
import pytest

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.corpora.trees.conllu import conllu_documents
from headscope.corpora.trees.treebank import lost_in, read_treebank, treebank_text
from headscope.encoding.tokenizer.alignment import join_words
from support.shared_data import data


def sentence(*rows, comments=()):
    """Return lines for rows of `number form last-column`; every word depends on the first."""
    lines = [f"# {comment}" for comment in comments]
    for row in rows:
        number, form, last = row.split(" ")
        tree = "_\t_" if "-" in number or "." in number else "0\troot" if number == "1" else "1\tdep"
        lines.append(f"{number}\t{form}\t_\tX\t_\t_\t{tree}\t_\t{last}")
    return [*lines, ""]


def read(*sentences):
    (document,) = conllu_documents([line for each in sentences for line in each], name="my.conllu")
    return document


@pytest.mark.parametrize(
    ("rows", "comments", "written"),
    [
        (("1 Hello SpaceAfter=No", "2 , _", "3 world SpaceAfter=No", "4 ! _"), (), "Hello, world!"),
        (("1 Hello _", "2 world _"), (), "Hello world"),
        # The range is written in place of its words, and its last column gives the space after them.
        (
            (
                *("1 Va _", "2-3 au SpaceAfter=No", "2 à SpaceAfter=No", "3 le _"),
                *("4 , _", "5 bar SpaceAfter=No", "6 . _"),
            ),
            (),
            "Va au, bar.",
        ),
        (("1-2 du _", "1 de _", "2 le SpaceAfter=No", "3 lait _"), (), "du lait"),
        # A range that is the concatenation of its words is written word by word; one without a form is ignored.
        (("1-2 don't _", "1 do _", "2 n't _", "3 go _"), (), "don't go"),
        (("1-2 _ _", "1 de _", "2 le _", "3 lait _"), (), "de le lait"),
        (("1-3 dámelo SpaceAfter=No", "1 da _", "2 me _", "3 lo _", "4 . _"), (), "dámelo."),
        (("1-2 vámonos _", "1 vamos _", "2 nos _", "3-4 al _", "3 a _", "4 el _"), (), "vámonos al"),
        # An empty node is not a word, and its columns are ignored.
        (("1 a SpaceAfter=No", "1.1 x _", "2 . SpaceAfter=No|Entity=(e1)", "3 b _"), (), "a.b"),
        # Without SpaceAfter, the text comment gives the spaces.
        (("1 吾輩 _", "2 は _", "3 猫 _", "4 。 _"), ("text = 吾輩は猫。",), "吾輩は猫。"),
        (("1 a _", "2-3 au _", "2 à _", "3 le _", "4 . _"), ("text = a au.",), "a au."),
        (("1 a _", "2 b _"), ("text = another",), "a b"),
        (("1 a _", "2 b _"), ("text = a  b c",), "a b"),
    ],
)  # fmt: skip
def test_words_are_joined_as_they_are_written(rows, comments, written):
    (one,) = read(sentence(*rows, comments=comments)).sentences
    text, spans = join_words(one.forms, one.spaces)
    assert text == written
    before = ""
    for (start, end), form, word in zip(spans, one.forms, one.words, strict=True):
        before = form or before  # a word without a form has that of the previous word
        assert text[start:end] == before
        assert form in (word, "") or one.written


def test_sentences_follow_one_another_as_written_and_paragraphs_stand_apart():
    words = ("1 你 SpaceAfter=No", "2 。 SpaceAfter=No")
    document = read(sentence(*words, comments=("newdoc",)), sentence(*words), sentence(*words, comments=("newpar",)))
    assert join_words(document.words, document.spaces)[0] == "你。你。 你。"
    assert document.spaces == (False, False, False, True, False, False)
    plain = AnnotatedDocument(id="d", sentences=(AnnotatedSentence(words=("a", "b")),))
    assert plain.spaces == ()


def test_what_is_written_is_read_again():
    document = read(
        sentence("1 Hello SpaceAfter=No", "2 , _", "3 you SpaceAfter=No", comments=("newdoc",)),
        sentence("1 a _", "2 b _"),
    )
    text = "".join(treebank_text([document], form=".conllu"))
    again = read(text.splitlines())
    assert [each.spaces for each in again.sentences] == [(False, True, False), ()]
    assert lost_in(document, form=".txt")["sentences as they were written"] == 1


@pytest.mark.parametrize("name", ["ud-english-ewt/en_ewt-ud-dev.conllu", "ud-french-gsd/fr_gsd-ud-dev.conllu"])
def test_treebanks_read_as_their_text(name):
    """Compare with another library: its joined tokens and ranges equal the text, and so do ours."""
    path = data(name)
    sentences = (one for document in read_treebank(path) for one in document.sentences)
    checked = 0
    for parsed, own in zip(conllu.parse_incr(io.StringIO(path.read_text())), sentences, strict=True):
        inside, raw = set(), []
        for token in parsed:
            number, gap = token["id"], "" if (token["misc"] or {}).get("SpaceAfter") == "No" else " "
            if number in inside or (isinstance(number, tuple) and number[1] == "."):
                continue
            if isinstance(number, tuple):
                inside |= set(range(number[0], number[2] + 1))
            raw.append(token["form"] + gap)
        assert "".join(raw).strip() == " ".join(parsed.metadata["text"].split())
        assert join_words(own.forms, own.spaces)[0] == "".join(raw).strip()
        assert list(own.words) == [token["form"] for token in parsed if isinstance(token["id"], int)]
        assert list(own.heads) == [token["head"] for token in parsed if isinstance(token["id"], int)]
        checked += 1
    assert checked > 1400

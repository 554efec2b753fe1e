"""CoNLL-U: the same sentences as the `conllu` library reads from real treebanks, and the refused files."""

import gzip
from collections import Counter
from itertools import count, islice, pairwise, product

import pytest

from headscope.corpora.annotation import Mention
from headscope.corpora.document import document_id
from headscope.corpora.trees.conllu import conllu_documents
from headscope.corpora.trees.tree import check_tree, find_circle
from headscope.corpora.trees.treebank import GIVE_TREEBANK, read_treebank
from headscope.errors import InputError
from support.shared_data import data

SMALL = """\
# newdoc id = first
# sent_id = 1
# text = Il va au bar.
1	Il	il	PRON	P	_	2	nsubj	2:nsubj|4:nsubj	_
2	va	aller	VERB	V	_	0	root	_	_
3-4	au	_	_	_	_	_	_	_	_
3	à	à	ADP	_	_	5	case	_	_
4	le	le	_	D	_	5	det	_	_
5	bar	bar	NOUN	N	_	2	obl:arg	_	SpaceAfter=No
5.1	il	_	_	_	_	_	_	2:x	_
6	.	.	_	_	_	2	punct	_	_

# text = Oui = oui
1	10 000	_	_	_	_	0	root	_	_

# newdoc
1	#	_	_	_	_	2	dep	_	_
2	_	_	X	_	_	0	root	_	_"""


def rows(*words: str) -> str:
    """Write a sentence from `form head relation`."""
    split = (word.split(" ") for word in words)
    return "".join(f"{n}\t{w}\t_\t_\t_\t_\t{h}\t{r}\t_\t_\n" for n, (w, h, r) in enumerate(split, 1))


def read(text: str, **options):
    return list(conllu_documents(text.split("\n"), name="x.conllu", **options))


def message(text: str) -> str:
    with pytest.raises(InputError) as caught:
        read(text)
    return str(caught.value)


# --- sentences and documents


def test_every_field_of_a_small_treebank():
    left_out = Counter()
    first, second = read(SMALL, left_out=left_out)
    french, yes = first.sentences
    assert french.words == ("Il", "va", "à", "le", "bar", ".")
    assert french.heads == (2, 0, 5, 5, 2, 2)
    assert french.relations == ("nsubj", "root", "case", "det", "obl:arg", "punct")
    assert french.tags == (
        "PRON",
        "VERB",
        "ADP",
        "D",
        "NOUN",
        "_",
    )  # treebank-specific tags replace missing universal ones
    assert french.text == "Il va au bar."
    assert (french.origin, first.origin) == ("x.conllu, line 4", "x.conllu, line 4")
    assert (yes.words, yes.tags, yes.text) == (("10 000",), (), "Oui = oui")
    assert second.sentences[0].words == ("#", "_")
    assert second.sentences[0].text == ""
    assert second.origin == "x.conllu, line 17"
    assert first.mentions == ()
    assert [first.id, second.id] == [document_id(first.content()), document_id(second.content())]
    assert left_out == Counter({"multi-word tokens": 1, "empty nodes": 1})


def test_where_documents_begin():
    one = rows("a 0 root") + "\n"
    # words of each document's sentences
    cases = {
        one * 3: [1, 1, 1],
        "# newdoc\n" + one * 3: [3],
        "# newdoc id = x\n" + one * 2 + "# newdoc id = y\n" + one: [2, 1],
        one * 2 + "# newdoc\n" + one * 2: [1, 1, 2],
        "# newdoc\n\n# newpar\n" + one * 2: [2],  # comments between blank lines are ignored
        "# newdoctor\n" + one * 2: [1, 1],
        "\n \n" + one + "\n\t\n" + one.strip("\n"): [1, 1],
        "#newdoc\r\n".replace("\r", "") + one * 2: [2],
    }
    for text, expected in cases.items():
        assert [len(document.sentences) for document in read(text)] == expected, text


def test_comments_that_no_sentence_follows_lend_it_no_text():
    (document,) = read("# text = gone\n\n" + rows("a 0 root"))
    assert document.sentences[0].text == ""


def test_files_each_begin_a_document_and_equal_ones_are_numbered(tmp_path):
    plain, packed = tmp_path / "in" / "a.conllu", tmp_path / "in" / "sub" / "b.CONLLU.gz"
    packed.parent.mkdir(parents=True)
    plain.write_text(SMALL)
    packed.write_bytes(gzip.compress(SMALL.replace("\n", "\r\n").encode()))
    (tmp_path / "in" / "LICENSE.txt").write_text("not a treebank")
    documents = list(read_treebank(tmp_path / "in"))
    assert [document.sentences[0].words[0] for document in documents] == ["Il", "#", "Il", "#"]
    assert [document.origin for document in documents[1:3]] == [f"{plain}, line 17", f"{packed}, line 4"]
    assert [document.id for document in documents] == [
        documents[0].id,
        documents[1].id,
        f"{documents[0].id}-2",
        f"{documents[1].id}-2",
    ]


def test_a_document_comes_when_the_next_begins():
    drawn = []

    def endless():
        for number in count():
            drawn.append(number)
            yield from ("# newdoc", *rows(f"w{number} 0 root").splitlines(), "")

    documents = list(islice(conllu_documents(endless(), name="x"), 3))
    assert [document.words for document in documents] == [("w0",), ("w1",), ("w2",)]
    assert drawn == [0, 1, 2, 3]


def test_mentions_from_the_last_column():
    def row(place, entity):
        filled = place.isdecimal()
        head, relation = ("0" if place == "1" else "1", "x") if filled else ("_", "_")
        return f"{place}\tw\t_\t_\t_\t_\t{head}\t{relation}\t_\tSpaceAfter=No|Entity={entity}|X=Y".replace(
            "Entity=|", ""
        )

    lines = ["# newdoc", "# global.Entity = etype-eid-head", row("1", "(person-e1-1)")]
    lines += [row("2", "(place-e2-1"), row("2.1", "(zero-e1-1)"), row("3", "e2)"), ""]
    lines += [row("1", ""), row("2", "(person-e1-1)")]
    (document,) = read("\n".join(lines))
    # positions count words only and continue through the document
    assert document.mentions == (Mention(0, 1, "e1"), Mention(1, 3, "e2"), Mention(4, 5, "e1"))
    lines[-1] = row("2", "e9)")
    (document,) = read("\n".join(lines))
    assert document.mentions == (Mention(0, 1, "e1"), Mention(1, 3, "e2"))
    assert [str(one) for one in document.unmatched] == ["x.conllu, line 9: e9) closes a mention that is not open"]
    lines[0] = "# newdoc id = tale"
    (document,) = read("\n".join(lines))
    assert str(document.unmatched[0]).startswith("x.conllu, line 9 (document tale): ")


# --- real treebanks, compared with another reader


def size_of(documents):
    sentences = sum(len(document.sentences) for document in documents)
    return len({document.id for document in documents}), sentences, sum(len(d.words) for d in documents)


@pytest.mark.parametrize(
    ("name", "size", "ranges"),
    [
        ("ud-english-ewt/en_ewt-ud-dev.conllu", (318, 2001, 25147), 359),
        ("ud-french-gsd/fr_gsd-ud-dev.conllu", (1476, 1476, 35721), 1057),
    ],
)
def test_sizes_of_real_treebanks(name, size, ranges):
    left_out = Counter()
    documents = list(read_treebank(data(name), left_out=left_out))
    assert size_of(documents) == size
    assert left_out["multi-word tokens"] == ranges


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("ud-english-ewt/en_ewt-ud-test.conllu", (316, 2077, 25094)),
        ("ud-french-gsd/fr_gsd-ud-test.conllu", (416, 416, 10018)),
    ],
)
def test_the_conllu_library_reads_the_same(name, size):
    library = pytest.importorskip("conllu")
    with data(name).open(encoding="utf-8") as file:
        theirs = list(library.parse_incr(file))
    documents = list(read_treebank(data(name)))
    assert size_of(documents) == size
    assert len(documents) == sum("newdoc id" in tokens.metadata for tokens in theirs) or len(documents) == len(theirs)
    ours = [sentence for document in documents for sentence in document.sentences]
    assert len(ours) == len(theirs)
    for sentence, tokens in zip(ours, theirs):
        words = [token for token in tokens if isinstance(token["id"], int)]
        assert sentence.words == tuple(token["form"] for token in words)
        assert sentence.heads == tuple(token["head"] for token in words)
        assert sentence.relations == tuple(token["deprel"] for token in words)
        assert sentence.tags == tuple(token["upos"] for token in words)
        assert sentence.text == tokens.metadata["text"]


def test_the_words_of_au():
    documents = read_treebank(data("ud-french-gsd/fr_gsd-ud-dev.conllu"))
    words, text = next(
        (sentence.words, sentence.text)
        for document in documents
        for sentence in document.sentences
        if " au " in sentence.text
    )
    assert "au" not in words
    assert ("à", "le") in pairwise(words)
    assert " au " in text


# --- refused files

GOOD = "1	a	_	_	_	_	0	root	_	_"
COLUMNS = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "2	b	_	_	_	_	1	x	_",
            f"expected 10 columns with tabs between them ({COLUMNS}), found 9; give _ for unknown values",
        ),
        (
            "2	b	_	_	_	_	1	x	_	_	_",
            f"expected 10 columns with tabs between them ({COLUMNS}), found 11; give _ for unknown values",
        ),
        (
            "2 b _ _ _ _ 1 x _ _",
            f"expected 10 columns with tabs between them ({COLUMNS}), found spaces between them; put tabs there",
        ),
        ("b 1-x", f"expected 10 columns with tabs between them ({COLUMNS}), found 1 and no tab"),
        (
            "two	b	_	_	_	_	1	x	_	_",
            "expected the number of a word (5), of a range (5-6) or of an empty node (5.1) in the first column, "
            "found 'two'",
        ),
        (
            "2-	b	_	_	_	_	1	x	_	_",
            "expected the number of a word (5), of a range (5-6) or of an empty node (5.1) in the first column, "
            "found '2-'",
        ),
        (
            "3	b	_	_	_	_	1	x	_	_",
            "expected 2 in the first column, found 3; number the words of a sentence 1, 2, 3 ... and put a blank "
            "line between sentences",
        ),
        (
            GOOD,
            "expected 2 in the first column, found 1; number the words of a sentence 1, 2, 3 ... and put a blank "
            "line between sentences",
        ),
        (
            "1-2	b	_	_	_	_	_	_	_	_",
            "expected 2 in the first column, found 1-2; number the words of a sentence 1, 2, 3 ... and put a blank "
            "line between sentences",
        ),
        (
            "2.1	b	_	_	_	_	_	_	_	_",
            "expected 1.1 in the first column, found 2.1; number the words of a sentence 1, 2, 3 ... and put a blank "
            "line between sentences",
        ),
        (
            "2-3	b	_	_	_	_	_	_	_	_",
            "the range 2-3 must end at a later word of the sentence, which has 1",
        ),
        (
            "2-1	b	_	_	_	_	_	_	_	_",
            "the range 2-1 must end at a later word of the sentence, which has 1",
        ),
        ("2		_	_	_	_	1	x	_	_", "word 2 is empty; expected its form in the second column"),
        (
            "2	\u00a0	_	_	_	_	1	x	_	_",
            "word 2 is empty; expected its form in the second column",
        ),
        (
            "2	b	_	_	_	_	_	x	_	_",
            "'b' has no head; expected a treebank in which every word has one (0 for the root)",
        ),
        (
            "2	b	_	_	_	_		x	_	_",
            "'b' has no head; expected a treebank in which every word has one (0 for the root)",
        ),
        (
            "2	b	_	_	_	_	a	x	_	_",
            "the head of 'b' is 'a'; expected a number: that of a word of the sentence, from 1, or 0 for the root",
        ),
        (
            "2	b	_	_	_	_	-1	x	_	_",
            "the head of 'b' is '-1'; expected a number: that of a word of the sentence, from 1, or 0 for the root",
        ),
        (
            f"2	b	_	_	_	_	{'9' * 5000}	x	_	_",
            f"the head of 'b' is '{'9' * 40}'...; expected a number: that of a word of the sentence, from 1, or 0 "
            "for the root",
        ),
        (
            "2	b	_	_	_	_	٣	x	_	_",
            "the head of 'b' is '٣'; expected a number: that of a word of the sentence, from 1, or 0 for the root",
        ),
        (
            "2	b	_	_	_	_	1	_	_	_",
            "'b' has no relation to its head; expected one, such as nsubj",
        ),
        (
            "2	b	_	_	_	_	1		_	_",
            "'b' has no relation to its head; expected one, such as nsubj",
        ),
        (
            "2	b	_	_	_	_	1	n subj	_	_",
            "the relation of 'b' is 'n subj'; expected one without white space, such as nsubj",
        ),
        (
            "2	b	_	_	_	_	3	x	_	_",
            "the head of word 2 ('b') is 3; expected 0 for the root, or a number up to 2, the sentence's words",
        ),
        (
            "2	b	_	_	_	_	2	x	_	_",
            "word 2 ('b') is its own head; expected another word, or 0 for the root",
        ),
        (
            "2	b	_	_	_	_	0	x	_	_",
            "word 2 ('b') has head 0, and so has word 1 ('a'); expected exactly one root in a sentence, and a blank "
            "line between sentences",
        ),
    ],
)
def test_a_bad_line_is_named(line, expected):
    assert message(f"# text = c\n{GOOD}\n\n{GOOD}\n{line}\n\n{GOOD}\n") == f"x.conllu, line 5: {expected}"


def test_heads_that_are_no_tree():
    assert message("# c\n" + rows("a 2 x", "b 1 x")) == (
        "x.conllu, line 2: no word of the sentence that begins here has head 0; expected exactly one root"
    )
    # a range interrupts the lines of words
    split = rows("a 0 root", "b 4 x", "c 1 x", "d 5 x", "e 2 x").split("\n")
    text = "\n".join([*split[:1], "2-3	bc	_	_	_	_	_	_	_	_", *split[1:]])
    assert message(text) == (
        "x.conllu, line 3: heads run in a circle: word 2 ('b') -> word 4 ('d') -> word 5 ('e') -> word 2; expected "
        "every word to lead to the root"
    )
    ring = [f"w{n} {n % 10 + 1} x" for n in range(1, 11)]
    long = message(rows(*ring, "r 0 root"))
    assert long == (
        "x.conllu, line 1: heads run in a circle: "
        + "".join(f"word {n} ('w{n}') -> " for n in range(1, 9))
        + "... -> word 1; expected every word to lead to the root"
    )


def test_every_short_list_of_heads_is_judged_as_a_walk_would():
    def leads_to_root(heads, word):
        for _ in heads:
            word = heads[word - 1] if word else 0
        return word == 0

    trees = 0
    for size in (1, 2, 3, 4):
        for heads in product(range(size + 1), repeat=size):
            good = heads.count(0) == 1 and all(leads_to_root(heads, word) for word in range(1, size + 1))
            trees += good
            try:
                check_tree(["w"] * size, heads, origins=["x"] * size)
            except InputError:
                assert not good
            else:
                assert good
            circle = find_circle(heads)
            assert bool(circle) == any(not leads_to_root(heads, word) for word in range(1, size + 1))
            if circle:
                assert [heads[place] - 1 for place in circle] == circle[1:] + circle[:1]
                assert circle[0] == min(circle)
    assert trees == 1 + 2 + 9 + 64  # Cayley's number of rooted labeled trees


def test_a_long_chain_does_not_exhaust_the_stack():
    size = 20_000
    assert find_circle([*range(2, size + 1), 1]) == list(range(size))
    check_tree(["w"] * size, [*range(2, size + 1), 0], origins=["x"] * size)


def test_sentences_without_words():
    nothing = (
        "x.conllu has no sentence: expected CoNLL-U: a word a line in 10 columns with tabs between them, a blank "
        "line between sentences"
    )
    assert message("") == nothing
    assert message("# newdoc\n\n# text = a\n \n") == nothing
    no_word = "x.conllu, line 2: the sentence that begins here has no word; expected a row numbered 1"
    for row in ("0.1	a	_	_	_	_	_	_	_	_", "1-2	a	_	_	_	_	_	_	_	_"):
        assert message(f"# c\n{row}\n\n{GOOD}\n") == no_word


def test_a_file_without_blank_lines_is_not_held_whole():
    def endless():
        yield "# text = a"
        for number in count(1):
            yield f"{number}	a	_	_	_	_	0	root	_	_"

    with pytest.raises(InputError) as caught:
        list(conllu_documents(endless(), name="x.conllu"))
    assert str(caught.value) == (
        "x.conllu, line 2: a sentence of more than 100,000 lines begins here; put a blank line between sentences"
    )


def test_files_that_cannot_be_read(tmp_path):
    def refusal(path):
        with pytest.raises(InputError) as caught:
            list(read_treebank(path))
        return str(caught.value)

    empty, latin = tmp_path / "a.conllu", tmp_path / "b.conllu"
    empty.write_bytes(b"")
    latin.write_bytes((GOOD + "\n").encode() + b"2\t\xe9")
    assert refusal(empty) == (
        f"{empty} is empty: expected CoNLL-U: a word a line in 10 columns with tabs between them, a blank line "
        "between sentences"
    )
    assert refusal(latin) == (
        f"{latin} is not UTF-8: byte 0xe9 at offset {len(GOOD) + 3}; convert it, for example with iconv -f LATIN1 "
        "-t UTF-8"
    )
    assert refusal(tmp_path / "none") == f"no such file: {tmp_path / 'none'}; {GIVE_TREEBANK}"

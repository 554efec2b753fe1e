"""Treebanks of any format, mixed, and written again."""

import gzip
import json
from collections import Counter

import pytest

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.corpora.trees.treebank import lost_in, read_treebank, treebank_text
from headscope.errors import InputError, OptionError

GIVE = (
    "give a .conllu file, a .txt file of word head-label lines, a .json file with words, heads and relns, or a "
    "directory of them"
)
CONLLU = (
    "# newdoc\n1	a	_	X	_	_	0	root	_	_\n\n1	b	_	_	_	_	0	root	_	_\n"
)
LINES = "c 0-root\n\nd 0-root\n"
ENTRIES = [
    {"words": ["e", "f"], "heads": [2, 0], "relns": ["x:y", "root"], "id": 3},
    {"words": ["g"], "heads": [0], "relns": ["root"]},
]


def message(paths) -> str:
    with pytest.raises(InputError) as caught:
        list(read_treebank(paths))
    return str(caught.value)


@pytest.fixture
def mixed(tmp_path):
    (tmp_path / "a.conllu").write_text(CONLLU)
    (tmp_path / "a.CONLLU.gz").write_bytes(gzip.compress(CONLLU.encode()))
    (tmp_path / "b.txt").write_text(LINES)
    (tmp_path / "b.dep").write_text(LINES)
    (tmp_path / "c.json").write_text(json.dumps(ENTRIES))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, ENTRIES)).encode()))
    return tmp_path


def test_the_ending_says_the_format(mixed):
    names = ["c.jsonl.gz", "a.CONLLU.gz", "b.dep", "c.json", "a.conllu", "b.txt"]
    left_out = Counter()
    documents = list(read_treebank([str(mixed / name) for name in names], left_out=left_out))
    words = ["ef", "g", "ab", "c", "d", "ef", "g", "ab", "c", "d"]
    assert ["".join(document.words) for document in documents] == words
    assert len({document.id for document in documents}) == len(words)
    assert left_out == Counter({"other fields of entries": 2})
    origin = f"{mixed / 'c.json'}, entry 1"
    assert documents[5] == AnnotatedDocument(
        id=f"{documents[0].id}-2",
        sentences=(AnnotatedSentence(words=("e", "f"), heads=(2, 0), relations=("x:y", "root"), origin=origin),),
        origin=origin,
    )


def test_a_folder_means_its_conllu_files_where_it_has_any(mixed):
    assert [document.origin for document in read_treebank(mixed)] == [
        f"{mixed / 'a.CONLLU.gz'}, line 2",
        f"{mixed / 'a.conllu'}, line 2",
    ]
    for name in ("a.CONLLU.gz", "a.conllu"):
        (mixed / name).unlink()
    # b.dep has no known ending
    assert ["".join(document.words) for document in read_treebank(mixed)] == ["c", "d", "ef", "g", "ef", "g"]


def test_standard_input_is_conllu(pipe_in, mixed):
    pipe_in(CONLLU.encode())
    documents = list(read_treebank([mixed / "b.txt", "-"]))
    assert [document.origin for document in documents[1:]] == [f"{mixed / 'b.txt'}, line 3", "standard input, line 2"]
    assert message(["-", mixed / "b.txt", "-"]) == (
        "- is given twice, but standard input can be read only once; give it once"
    )


def test_paths_are_looked_up_before_the_first_document(tmp_path, mixed):
    with pytest.raises(InputError) as caught:
        read_treebank([mixed / "a.conllu", tmp_path / "none.conllu"])
    assert str(caught.value) == f"no such file: {tmp_path / 'none.conllu'}; {GIVE}"
    assert message([]) == f"the treebank has no file: {GIVE}"
    assert message("") == f"no such file: ''; {GIVE}"
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "README.md").write_text("x")
    assert message(tmp_path / "bare") == (
        f"no treebank in {tmp_path / 'bare'}: expected *.conllu, *.json, *.jsonl or *.txt, found none; put them "
        "there or give the files by name"
    )


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"words": None, "text": "A dog"},
            "expected words, heads and relns, found text in place of words; add the words",
        ),
        (
            {"words": None, "tokens": ["a"]},
            "expected words, heads and relns, found tokens in place of words; add the words",
        ),
        ({"heads": None}, "expected heads to be a list, an item for each word, found none"),
        ({"relns": None}, "expected relns to be a list, an item for each word, found none"),
        ({"heads": "2 0"}, "expected heads to be a list, an item for each word, found '2 0'"),
        ({"relns": {"a": 1}}, 'expected relns to be a list, an item for each word, found {"a": 1}'),
        ({"heads": [2]}, "expected a head and a relation for each word, found 2 words, 1 heads and 2 relns"),
        (
            {"relns": ["x", "y", "z"]},
            "expected a head and a relation for each word, found 2 words, 2 heads and 3 relns",
        ),
        *(
            (
                {"heads": [value, 0]},
                f"the head of 'e' is {found}; expected a whole number: 0 for the root, or the position of its head "
                "from 1",
            )
            for value, found in [(2.0, "2.0"), ("2", "'2'"), (True, "true"), (None, "null"), ([2], "[2]")]
        ),
        ({"relns": ["x", 7]}, "the relation of 'f' is 7; expected a string"),
        ({"relns": ["x", ""]}, "'f' has no relation to its head; expected one, such as nsubj"),
        (
            {"relns": ["x\ty", "root"]},
            "the relation of 'e' is 'x\\ty'; expected one without white space, such as nsubj",
        ),
        (
            {"heads": [-1, 0]},
            "the head of word 1 ('e') is -1; expected 0 for the root, or a number up to 2, the sentence's words",
        ),
        (
            {"heads": [3, 0]},
            "the head of word 1 ('e') is 3; expected 0 for the root, or a number up to 2, the sentence's words",
        ),
        ({"heads": [2, 2]}, "word 2 ('f') is its own head; expected another word, or 0 for the root"),
        (
            {"heads": [0, 0]},
            "word 2 ('f') has head 0, and so has word 1 ('e'); expected exactly one root in a sentence, and a blank "
            "line between sentences",
        ),
        ({"heads": [2, 1]}, "no word of the sentence that begins here has head 0; expected exactly one root"),
        ({"words": ["e", " "]}, "item 2 of words is empty; fill it in or leave the entry out"),
    ],
)
def test_a_bad_entry_is_named(tmp_path, change, expected):
    entry = {key: value for key, value in (ENTRIES[0] | change).items() if value is not None}
    path = tmp_path / "x.json"
    path.write_text(json.dumps([ENTRIES[1], entry]))
    assert message(path) == f"{path}, entry 2: {expected}"


def test_bad_files(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("[]")
    assert message(path) == f"{path} is an empty list: expected a JSON list with at least one object"
    path.write_text("")
    assert message(path) == f"{path} is empty: expected JSON objects, each with words, heads and relns"


# --- writing

DOCUMENTS = [
    AnnotatedDocument(
        id="1",
        sentences=(
            AnnotatedSentence(words=("a\u00a0b", "c\nd\te"), heads=(2, 0), relations=("x", "root"), text="a b\nc"),
        ),
    ),
    AnnotatedDocument(
        id="2",
        sentences=(
            AnnotatedSentence(words=("é",), heads=(0,), relations=("root",), tags=("X",)),
            AnnotatedSentence(words=("f",), heads=(0,), relations=("root",)),
        ),
        mentions=(Mention(0, 1, "e"),),
    ),
    AnnotatedDocument(id="3", sentences=(AnnotatedSentence(words=("g",), heads=(0,), relations=("root",)),)),
]


def test_conllu_by_hand():
    # document marks begin at the first document with several sentences: before it, each sentence is a document
    assert "".join(treebank_text(DOCUMENTS, form=".conllu")) == (
        "# text = a b c\n1\ta\u00a0b\t_\t_\t_\t_\t2\tx\t_\t_\n2\tc_d_e\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
        "# newdoc\n1\té\t_\tX\t_\t_\t0\troot\t_\t_\n\n1\tf\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
        "# newdoc\n1\tg\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    )


def test_lines_and_entries_by_hand():
    assert "".join(treebank_text(DOCUMENTS, form=".txt")) == (
        "a_b 2-x\nc_d_e 0-root\n\né 0-root\n\nf 0-root\n\ng 0-root\n\n"
    )
    text = "".join(treebank_text(DOCUMENTS, form=".json"))
    assert json.loads(text) == [
        {"words": ["a\u00a0b", "c\nd\te"], "heads": [2, 0], "relns": ["x", "root"]},
        {"words": ["é"], "heads": [0], "relns": ["root"]},
        {"words": ["f"], "heads": [0], "relns": ["root"]},
        {"words": ["g"], "heads": [0], "relns": ["root"]},
    ]
    assert text.isascii()
    assert "".join(treebank_text([], form=".json")) == "[]\n"


def test_what_a_form_has_no_place_for():
    assert [dict(lost_in(document, form=".conllu")) for document in DOCUMENTS] == [{}, {"mentions": 1}, {}]
    assert [dict(lost_in(document, form=".txt")) for document in DOCUMENTS] == [
        {"sentences as they were written": 1},
        {"tags": 1, "bounds of documents (each sentence is one of its own)": 1, "mentions": 1},
        {},
    ]


def test_another_form():
    with pytest.raises(OptionError) as caught:
        list(treebank_text(DOCUMENTS, form=".xml"))
    assert str(caught.value) == "expected one of .conllu, .txt, .json as the form of a treebank, found '.xml'"


def test_documents_survive_conllu(tmp_path):
    path = tmp_path / "x.conllu"
    path.write_text("".join(treebank_text(DOCUMENTS, form=".conllu")))
    back = list(read_treebank(path))
    assert [[len(sentence) for sentence in document.sentences] for document in back] == [[2], [1, 1], [1]]
    assert [document.sentences[0].tags for document in back] == [(), ("X",), ()]
    assert back[0].sentences[0].text == "a b c"

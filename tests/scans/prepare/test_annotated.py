"""Annotated corpora: counted and hashed once, read again, cut at a limit, and as plain text."""

import io

import pytest

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.errors import InputError
from headscope.scans.prepare.annotated import AnnotatedCorpus, AnnotatedText, mention_corpora
from headscope.scans.prepare.text_corpus import named
from support.demo_treebank import demo_conllu, demo_documents

LINES = "The 2-det\ndog 3-nsubj\nran 0-root\n\nIt 2-nsubj:pass\nwon 0-root\n\n"


def sentence(*words, trees=True):
    if not trees:
        return AnnotatedSentence(words=words)
    heads = tuple(range(len(words)))
    return AnnotatedSentence(words=words, heads=heads, relations=("root", *["dep"] * (len(words) - 1)))


def document(name, *sentences, mentions=()):
    return AnnotatedDocument(id=name, sentences=sentences, mentions=mentions)


def corpus(*documents, name="own"):
    return AnnotatedCorpus(lambda: iter(documents), name=name)


def test_counts_and_hash():
    first = document("a", sentence("Ann", "ran"), sentence("She", "won", "it"))
    own = corpus(first, document("b", sentence("No", trees=False)))
    digest = own.digest()
    assert (own.documents, own.sentences, own.words, own.mentions) == (2, 3, 6, 0)
    assert own.relations == {"root": 2, "dep": 3}
    assert own.trees
    # Counting again adds nothing up.
    assert own.digest() == digest
    assert (own.documents, own.words, own.relations["dep"]) == (2, 6, 3)
    bare = corpus(document("b", sentence("No", trees=False)))
    bare.digest()
    assert not bare.trees


def test_any_change_of_content_changes_the_hash():
    mention = Mention(start=0, end=1, entity="e1")
    whole = (sentence("Ann", "ran"), sentence("She", "won"))
    changed = AnnotatedSentence(words=("She", "won"), heads=(2, 0), relations=("nsubj", "root"))
    others = [
        corpus(document("", *whole)),
        corpus(document("", *whole, mentions=(mention,))),
        corpus(document("", *whole, mentions=(Mention(start=0, end=1, entity="e2"),))),
        corpus(document("", *whole, mentions=(Mention(start=0, end=2, entity="e1"),))),
        corpus(document("", whole[0]), document("", whole[1])),
        corpus(document("", whole[1], whole[0])),
        corpus(document("", whole[0], changed)),
        corpus(document("", whole[0], sentence("She", "won", trees=False))),
    ]
    assert len({each.digest() for each in others}) == len(others)


def test_words_are_joined_as_written_or_by_spaces(tmp_path):
    rows = "1\tHi\t_\tX\t_\t_\t0\troot\t_\tEntity=(e1)|SpaceAfter=No\n2\t!\t_\tX\t_\t_\t1\tpunct\t_\t_\n\n"
    (tmp_path / "trees.conllu").write_text(rows)
    (tmp_path / "plain.conllu").write_text(rows.replace("|SpaceAfter=No", ""))
    paths = (str(tmp_path / "trees.conllu"),)
    for make in (AnnotatedCorpus.treebank, AnnotatedCorpus.coreference):
        written, by_spaces = make(paths), make(paths, spacing="words")
        (first,), (second,) = written.read(), by_spaces.read()
        assert (first.spaces, second.spaces) == ((False, True), ())
        assert first.id != second.id
        # What the model reads is another text, and so the run another.
        assert written.digest() != by_spaces.digest()
        assert by_spaces.digest() == make((str(tmp_path / "plain.conllu"),)).digest()


def test_a_limit_takes_sentences_of_every_document_before_a_second_of_one():
    first = document("a", sentence("1"), sentence("2"))
    second = document("b", sentence("3"), sentence("4"))
    own = corpus(first, second)

    def words(limit):
        return [[s.words[0] for s in each.sentences] for each in own.read(sentences=limit)]

    assert words(None) == words(4) == words(9) == [["1", "2"], ["3", "4"]]
    assert sorted(map(len, words(3))) == [1, 2]
    assert list(map(len, words(2))) == [1, 1]
    assert list(map(len, words(1))) == [1]
    seeds = {str(list(own.read(sentences=2, seed=seed))) for seed in range(9)}
    assert len(seeds) > 1


def test_annotated_corpora_as_text():
    written = AnnotatedSentence(words=("It", "is", "n't", "."), text="It isn't.")
    first = corpus(document("a", written, sentence("Ann", "ran")), document("empty"), name="x.conllu")
    second = corpus(document("a", sentence("Yes")), name="y.conll")
    text = AnnotatedText([first, second])
    assert text.name == "x.conllu, y.conll"
    assert [(each.id, each.lines) for each in text.read()] == [("a", ("It isn't.", "Ann ran")), ("1-a", ("Yes",))]
    number, digest = text.digest()
    assert number == 3
    assert digest == AnnotatedText([first, second]).digest()[1] != AnnotatedText([second, first]).digest()[1]
    assert AnnotatedText([first, first]).name == "x.conllu"


def test_files_and_the_synthetic_corpus(tmp_path):
    path = tmp_path / "small.txt"
    path.write_text(LINES)
    own = AnnotatedCorpus.treebank((str(path),))
    own.digest()
    assert (own.name, own.documents, own.sentences, own.words) == ("small.txt", 2, 2, 5)
    assert own.relations["nsubj:pass"] == 1
    made = tmp_path / "made.conllu"
    made.write_text(demo_conllu(1, 3), encoding="utf-8")
    mentions = AnnotatedCorpus.coreference((str(made),))
    mentions.digest()
    assert mentions.mentions == sum(len(each.mentions) for each in demo_documents(1, 3))
    assert AnnotatedCorpus.treebank(()).name == "synthetic English, 250 documents"


def test_standard_input_is_kept_for_the_second_reading(monkeypatch):
    row = "1\tRun\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(row.encode())))
    own = AnnotatedCorpus.treebank(("-",))
    assert own.name == "standard input"
    first = own.digest()
    assert [each.words for each in own.read()] == [("Run",)]
    assert own.digest() == first


SPOILT = (
    "1\tAnn\t_\t_\t_\t_\t2\tnsubj\t_\tEntity=(e1)\n2\tran\t_\t_\t_\t_\t0\troot\t_\tEntity=e1)\n\n"
    "1\tShe\t_\t_\t_\t_\t2\tnsubj\t_\tEntity=(e1)\n2\twon\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
)


@pytest.mark.parametrize("kind", ["treebank", "coreference"])
def test_a_bracket_that_matches_no_other_stops_only_a_strict_run(tmp_path, kind):
    path = tmp_path / "spoilt.conllu"
    path.write_text("# newdoc\n" + SPOILT)
    of = getattr(AnnotatedCorpus, kind)
    own = of((str(path),))
    spoilt = own.digest()
    assert own.mentions == 2
    for documents in (own.read(), own.read(sentences=1)):
        (document,) = documents
        assert [str(each) for each in document.unmatched] == [
            "spoilt.conllu, line 3: e1) closes a mention that is not open"
        ]
    with pytest.raises(InputError) as refused:
        of((str(path),), strict=True).digest()
    assert str(refused.value) == (
        f"{path}, line 3: e1) closes a mention that is not open; open it before with (e1 or remove the bracket"
    )
    # Mended, the mentions are the same; what a run says of them is not, and so it is measured again.
    path.write_text(path.read_text().replace("Entity=e1)", "_"))
    mended = of((str(path),), strict=True)
    assert mended.digest() != spoilt
    assert mended.mentions == 2


def test_a_file_that_is_missing_is_named_when_it_is_read(tmp_path):
    missing = tmp_path / "no.conllu"
    with pytest.raises(InputError, match=f"^no such file: {missing}; "):
        AnnotatedCorpus.treebank((str(missing),)).digest()


def test_gap_files_among_others(tmp_path):
    gap, other = tmp_path / "own.tsv", tmp_path / "own.conllu"
    other.write_text(demo_conllu(1, 1), encoding="utf-8")
    row = "own-{0}\tAnna met Clara when she left.\tshe\t20\tAnna\t0\tTRUE\tClara\t9\tFALSE\tx\n"
    header = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
    gap.write_text(header + row.format(1) + row.format(2))
    mentions, found = mention_corpora((str(other), str(gap)))
    assert mentions is not None
    assert mentions.name == "own.conllu, own.tsv"
    assert found is not None
    assert found.name == "own.tsv"
    assert sorted(each.name for each in found.read()) == ["own-1", "own-2"]
    assert len(list(found.read(limit=1))) == 1
    assert {each.name for seed in range(9) for each in found.read(limit=1, seed=seed)} == {"own-1", "own-2"}
    before = found.digest()
    gap.write_text(gap.read_text().replace("TRUE", "FALSE"))
    mentions, changed = mention_corpora((str(gap),))
    assert mentions is None
    assert changed is not None
    assert changed.digest() != before
    assert mention_corpora((str(other),))[1] is None
    synthetic, none = mention_corpora(())
    assert synthetic is not None
    assert synthetic.name == "synthetic English, 250 documents"
    assert none is None


def test_names_of_many_files():
    assert named(("a/b/x.conllu",)) == "x.conllu"
    assert named(("-", "y")) == "standard input, y"
    assert named(tuple("abcde")) == "a, b, c and 2 more"

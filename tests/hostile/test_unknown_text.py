"""A text with many tokens unknown to its tokenizer is refused, or every result carries a note."""

import json
from pathlib import Path

import pytest

from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.tokenizer.unknown import EARLY, KnownPieces
from headscope.errors import InputError
from headscope.models.load_model import load_tokenizer
from support import hostile_model_folders as folders
from support.commands import run_command
from support.hostile import printable
from support.measured import blank_figures
from support.model_folders import save_tiny_gpt2, save_tiny_t5

KNOWN, UNKNOWN = "cat", "кот"
CAUSE = "likely its vocabulary is of another language or script, or not this model's own"


def line(unknown: int, *, words: int = 10) -> str:
    """Return a line of `words` words, `unknown` of them unknown; each word is one token."""
    return " ".join([UNKNOWN] * unknown + [KNOWN] * (words - unknown))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return folders.copied(tmp_path_factory.mktemp("unknown"))


@pytest.fixture(scope="module")
def encoder(model):
    tokenizer, _ = load_tokenizer(model)
    return Encoder(tokenizer)


def read(encoder, lines, *, packing="single"):
    """Return the count of known tokens and the segments of a corpus of one document."""
    known = KnownPieces(encoder, "text")
    packer = Packer(encoder, packing=packing)
    segments = list(known.watch(packer.pack([Document(id="a", lines=tuple(lines))])))
    return known, segments


@pytest.mark.parametrize("packing", ["single", "paragraphs", "pretraining"])
@pytest.mark.parametrize("unknown", range(11))
def test_the_share_decides(encoder, unknown, packing):
    lines = [line(unknown)] * 8
    if unknown >= 9:
        with pytest.raises(InputError, match=rf"^the model's tokenizer does not know the text: .*{CAUSE}; give"):
            read(encoder, lines, packing=packing)
        return
    known, _ = read(encoder, lines, packing=packing)
    assert known.share == pytest.approx(unknown / 10)
    assert (known.note() is None) == (unknown < 2)


def test_the_words_of_both(encoder):
    with pytest.raises(InputError) as refused:
        read(encoder, [line(10)] * 3)
    assert str(refused.value) == (
        f"the model's tokenizer does not know the text: 30 of 30 pieces (100%) are [UNK], unknown; {CAUSE}; give a "
        "model whose tokenizer knows it"
    )
    known, _ = read(encoder, [line(5)] * 3)
    assert known.note() == (
        f"text: 15 of 30 pieces (50%) are [UNK], unknown, so that numbers say little of it; {CAUSE}"
    )


def test_a_long_corpus_is_refused_after_its_first_segments(encoder):
    def endless():
        while True:
            made.append(1)
            yield Document(id=str(len(made)), lines=(line(10),))

    made = []
    known = KnownPieces(encoder, "text")
    with pytest.raises(InputError):
        for _ in known.watch(Packer(encoder, packing="single").pack(endless())):
            pass
    assert len(made) == EARLY


@pytest.mark.parametrize(("changed", "cause"), [(str.upper, "lower-case"), (str.lower, "upper-case")])
def test_case_is_named_where_it_is_the_cause(tmp_path, changed, cause):
    def keep_case(folder: Path) -> None:
        path = folder / "tokenizer.json"
        given = json.loads(path.read_text())
        given["normalizer"] = None
        if cause == "upper-case":
            given["model"]["vocab"] = {
                piece if piece.startswith("[") else piece.upper(): i for piece, i in given["model"]["vocab"].items()
            }
        path.write_text(json.dumps(given))

    tokenizer, _ = load_tokenizer(folders.copied(tmp_path, keep_case))
    with pytest.raises(InputError, match=f"likely its vocabulary is {cause}"):
        read(Encoder(tokenizer), [changed("The Cat sat On the mat")])


def test_bytes_know_everything(tmp_path):
    tokenizer, _ = load_tokenizer(save_tiny_gpt2(tmp_path, ["the cat sat"] * 9))
    encoder = Encoder(tokenizer)
    assert encoder.unknown_id is None
    known, segments = read(encoder, ["кот 猫 🐈", "<|endoftext|>" * 9])
    assert len(segments) == 2
    assert known.note() is None


def test_unigrams_may_not_know(tmp_path):
    tokenizer, _ = load_tokenizer(save_tiny_t5(tmp_path, ["the cat sat on the mat"] * 9))
    assert Encoder(tokenizer).unknown_id == tokenizer.unk_token_id
    with pytest.raises(InputError, match="are <unk>, unknown"):
        read(Encoder(tokenizer), ["猫犬 鳥魚 " * 3])


def trees(words):
    rows = "".join(
        f"{n}\t{word}\t_\tNOUN\t_\t_\t{n - 1}\t{'root' if n == 1 else 'obj'}\t_\tEntity=(e{n % 2}-person-1-)\n"
        for n, word in enumerate(words.split(), start=1)
    )
    return "# newdoc id = a\n# global.Entity = eid-etype-head-other\n" + f"{rows}\n" * 4


def commands(model, place, content):
    text, treebank = place / "text.txt", place / "trees.conllu"
    text.write_text(f"{content}\n{content}\n\n" * 4)
    treebank.write_text(trees(content))
    short = ("--max-length", 64)
    yield "stats", ("stats", "--text", text, "--model", model, *short)
    yield "report", ("report", "--text", text, "--model", model, "--out", place / "out", *short)
    yield "segments", ("segments", "--text", text, "--model", model, "--out", place / "out.json", *short)
    yield "extract", ("extract", "--text", text, "--model", model, "--out", place / "maps", *short)
    once = ("--steps", 1, "--batch-size", 2)
    yield "train", ("train", "--text", text, "--model", model, "--out", place / "t", *once, *short)
    yield "syntax", ("syntax", "--treebank", treebank, "--model", model, "--controls", 0, *short)
    yield "coref", ("coref", "--coref", treebank, "--model", model, "--controls", 0, *short)
    yield "view", ("view", "--text", content, "--model", model, "--out", place / "view.html")


COMMANDS = ("stats", "segments", "extract", "train", "syntax", "coref", "view")


@pytest.mark.parametrize("command", [*COMMANDS, "report"])
def test_a_command_refuses_what_is_unknown_and_leaves_nothing(command, model, tmp_path):
    code, _, said = run_command(*dict(commands(model, tmp_path, line(10)))[command])
    assert code == 2
    assert "headscope: the model's tokenizer does not know the " in said
    assert CAUSE in said
    assert printable(said)
    assert not any((tmp_path / name).exists() for name in ("out.json", "maps", "view.html"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("unknown", [1, 5])
def test_a_command_says_what_it_did_not_know(command, unknown, model, tmp_path):
    code, said, error = run_command(*dict(commands(model, tmp_path, line(unknown)))[command])
    assert code == 0, error
    noted = [each for each in said.splitlines() if each.startswith("note: ") and "are [UNK], unknown" in each]
    assert len(noted) == (unknown == 5), said


@pytest.mark.slow
def test_the_manifest_and_the_page_say_it_too(model, tmp_path):
    with blank_figures():
        code, _, error = run_command(*dict(commands(model, tmp_path, line(5)))["report"])
    assert code == 0, error
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert sum("are [UNK], unknown" in note for note in manifest["notes"]) == 1
    assert "are [UNK], unknown" in (tmp_path / "out" / "report.html").read_text()

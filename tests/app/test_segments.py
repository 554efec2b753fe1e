"""`headscope segments` against the original's algorithm, told again in plain words."""

import gzip
import json
import random

import pytest
from headscope_minilm import folder as embedded
from transformers import AutoTokenizer

WORDS = (
    *("the", "quick", "brown", "fox", "jumps", "over", "a", "lazy", "dog", "while", "unbelievably"),
    *("naïve", "zebras,", "playing", "chess;", "won't", "stop."),
)


def sentences(seed=1, documents=25, end=""):
    """Documents of 1 to 20 lines of 1 to 25 words; no line comes near the limit."""
    rng = random.Random(seed)
    blocks = [
        "\n".join(" ".join(rng.choices(WORDS, k=rng.randint(1, 25))).capitalize() for _ in range(rng.randint(1, 20)))
        for _ in range(documents)
    ]
    return "\n\n".join(blocks) + end


def original(text, tokenize, *, max_length):
    """What the original's script makes of a text: chunks of lines up to the limit, cut in two, shuffled.

    Told from its description: lines are gathered until they reach the room beside [CLS] and two [SEP] or the
    document ends; a line of the chunk is drawn where the second text begins; while both are too long together,
    a token goes from one end, drawn by a coin, of the longer (of the second, if they are equal).
    """
    dice = random.Random(0)
    room = max_length - 3
    made = []
    for block in text.split("\n\n"):
        waiting = []
        lines = block.splitlines()
        for line, last in zip(lines, [False] * (len(lines) - 1) + [True]):
            waiting.append(tokenize(line))
            if not last and sum(map(len, waiting)) < room:
                continue
            if len(waiting) == 1:
                waiting = []
                continue
            cut = dice.randint(1, len(waiting) - 1)
            first = [token for each in waiting[:cut] for token in each]
            second = [token for each in waiting[cut:] for token in each]
            while len(first) + len(second) > room:
                longer = first if len(first) > len(second) else second
                longer.pop(0 if dice.random() < 0.5 else -1)
            made.append(["[CLS]", *first, "[SEP]", *second, "[SEP]"])
            waiting = []
    dice.shuffle(made)
    return [{"tokens": tokens} for tokens in made]


@pytest.mark.parametrize("max_length", [64, 128])
def test_the_same_file_as_the_originals(max_length, cli, tmp_path):
    path = tmp_path / "unlabeled.txt"
    path.write_text(sentences(), encoding="utf-8")
    # Underscores and the original's names of options; the embedded model's folder is a BERT's.
    code, out, _ = cli("segments", "--data_file", path, "--bert_dir", embedded(), "--max_sequence_length", max_length)
    tokenizer = AutoTokenizer.from_pretrained(embedded())
    expected = original(sentences(), tokenizer.tokenize, max_length=max_length)
    assert len(expected) > 20
    made = (tmp_path / "unlabeled.json").read_text()
    assert json.loads(made) == expected
    assert made == json.dumps(expected)  # and byte for byte
    assert code == 0
    tokens = sum(len(each["tokens"]) for each in expected)
    used = sum(block.count("\n") > 0 for block in sentences().split("\n\n"))
    lines = out.splitlines()
    assert lines[0] == (
        f"wrote {tmp_path / 'unlabeled.json'}: {len(expected)} inputs of {used} documents, {tokens:,} tokens"
    )
    assert lines[1].endswith(f" to {max_length} tokens")
    assert lines[2].endswith(": no second line to pair with")


def test_the_last_document_counts_without_a_blank_line_after_it(cli, tmp_path):
    found = []
    for name, end in (("with.txt", "\n\n"), ("without.txt", "")):
        (tmp_path / name).write_text(sentences(documents=3, end=end), encoding="utf-8")
        cli("segments", "--text", tmp_path / name)
        found.append((tmp_path / name).with_suffix(".json").read_text())
    assert found[0] == found[1]


def test_the_first_documents_only(cli, tmp_path):
    (tmp_path / "all.txt").write_text(sentences(), encoding="utf-8")
    (tmp_path / "few.txt").write_text("\n\n".join(sentences().split("\n\n")[:7]), encoding="utf-8")
    cli("segments", "--data-file", tmp_path / "all.txt", "--num_docs", 7)
    cli("segments", "--data-file", tmp_path / "few.txt")
    assert (tmp_path / "all.json").read_text() == (tmp_path / "few.json").read_text()
    cli("segments", "--data-file", tmp_path / "all.txt", "--max-inputs", 2, "--out", tmp_path / "two.json")
    assert len(json.loads((tmp_path / "two.json").read_text())) == 2


def test_case_is_kept_where_asked(cli, tmp_path):
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"Hello there\nhello There\n"))
    cli("segments", "--text", path, "--packing", "paragraphs", "--cased")
    assert json.loads((tmp_path / "a.json").read_text()) == [
        {"tokens": ["[CLS]", "[UNK]", "there", "[SEP]", "hello", "[UNK]", "[SEP]"]}
    ]
    cli("segments", "--text", path, "--packing", "paragraphs", "--force")
    assert json.loads((tmp_path / "a.json").read_text()) == [
        {"tokens": ["[CLS]", "hello", "there", "[SEP]", "hello", "there", "[SEP]"]}
    ]


def test_single_lines_and_further_fields(cli, tmp_path):
    path = tmp_path / "in.json"
    path.write_text(json.dumps([{"text": "a b", "mark": 3}, {"words": ["c", "d"], "heads": [0, 1]}]))
    code, _, err = cli("segments", "--text", path)
    assert (code, err) == (2, f"headscope: give --out: {path} is JSON already\n")
    cli("segments", "--text", path, "--packing", "single", "--out", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == [
        {"tokens": ["[CLS]", "a", "b", "[SEP]"], "mark": 3},
        {"tokens": ["[CLS]", "c", "d", "[SEP]"], "heads": [0, 1]},
    ]


@pytest.mark.slow
def test_what_is_refused(cli, tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("only one line\n")
    cases = [
        ((), "no input was given; expected --data-file (or --text) with a text file"),
        (("--text", path, "--text", path), "give --out: there is not one input file to name the segments after"),
        (("--text", "-"), "give --out: there is not one input file to name the segments after"),
        (
            ("--text", path, "--packing", "paragraph"),
            "--packing 'paragraph' is not known; choose one of pretraining, paragraphs, joined, single; did you mean "
            "paragraphs?",
        ),
        (
            ("--text", path, "--max-length", 4),
            "--max-length 4 leaves no room beside the special tokens; expected at least 5 tokens",
        ),
        (
            ("--text", path),
            "no input could be built from 1 document with packing pretraining (no second line to pair with: 1); use "
            "--packing single for texts of one line",
        ),
    ]
    for arguments, sentence in cases:
        code, out, err = cli("segments", *arguments)
        assert (code, out, err) == (2, "", f"headscope: {sentence}\n")
    assert [each.name for each in tmp_path.iterdir()] == ["one.txt"]  # nothing half-written
    (tmp_path / "one.json").write_text("mine")
    code, _, err = cli("segments", "--text", path, "--packing", "single")
    assert (code, err) == (
        2,
        f"headscope: {tmp_path / 'one.json'} is there already; give another --out, or --force to replace it\n",
    )
    assert (tmp_path / "one.json").read_text() == "mine"


def test_a_tokenizer_without_weights_is_enough(cli, tmp_path):
    model = tmp_path / "model"
    model.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (model / name).write_bytes((embedded() / name).read_bytes())
    (tmp_path / "a.txt").write_text("hello there\na fox\n")
    code, _, _ = cli("segments", "--data-file", tmp_path / "a.txt", "--bert-dir", model)
    assert code == 0
    assert json.loads((tmp_path / "a.json").read_text()) == [
        {"tokens": ["[CLS]", "hello", "there", "[SEP]", "a", "fox", "[SEP]"]}
    ]

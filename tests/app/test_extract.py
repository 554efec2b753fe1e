"""`headscope extract`: its maps are the model's own, in the form that is asked for."""

import json
import pickle

import numpy as np
import pytest
import torch
from headscope_minilm import folder as embedded
from transformers import AutoModel, AutoTokenizer

from headscope.attention.word_attention import word_level
from headscope.maps import writer as maps_writer
from headscope.maps.maps_source import MapsSource

ENTRIES = [
    {"text": "The unbelievable fox, ran.", "mark": "first"},
    {"words": ["Playing", "chess", "unbelievably", "won't", "stop", "."], "heads": [3, 1, 3, 5, 0, 5]},
    {"tokens": ["[CLS]", "a", "fox", "[SEP]", "play", "##ing", "[SEP]"]},
    {"text": "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"},
]


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "dev.json"
    path.write_text(json.dumps(ENTRIES))
    return path


@pytest.fixture(scope="module")
def bert():
    torch.manual_seed(0)
    model = AutoModel.from_pretrained(embedded(), attn_implementation="eager", dtype=torch.float32).eval()
    return model, AutoTokenizer.from_pretrained(embedded())


def eager(bert, tokens, types=None):
    """transformers' own maps of one input, `[layers, heads, n, n]`."""
    model, tokenizer = bert
    ids = torch.tensor([tokenizer.convert_tokens_to_ids(tokens)])
    types = torch.tensor([types or [0] * len(tokens)])
    with torch.no_grad():
        out = model(input_ids=ids, token_type_ids=types, output_attentions=True)
    return torch.stack(out.attentions)[:, 0]


FIRST = ["[CLS]", "the", "unbelievable", "fox", ",", "ran", ".", "[SEP]"]
SECOND = ["[CLS]", "playing", "chess", "un", "##bel", "##ie", "##va", "##bly", "won", "'", "t", "stop", ".", "[SEP]"]
SECOND_WORDS = [-1, 0, 1, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5, -1]
THIRD = ENTRIES[2]["tokens"]


def test_maps_are_the_models_own(cli, data, bert, tmp_path):
    code, out, err = cli(
        "extract", "--preprocessed_data_file", data, "--bert_dir", embedded(), "--max_sequence_length", 16,
        "--batch_size", 2, "--store", "float32",
    )  # fmt: skip
    assert (code, err) == (0, "")
    source = MapsSource(tmp_path / "dev_attn")
    assert [entry.input.tokens for entry in source.index.entries] == [FIRST, SECOND, THIRD]
    size = sum(path.stat().st_size for path in (tmp_path / "dev_attn").glob("*.safetensors"))
    assert out.splitlines() == [
        f"wrote {tmp_path / 'dev_attn'}: attention between tokens of 3 inputs, 6 x 12 encoder heads, float32, "
        f"{size / 1e6:.1f} MB",
        "left out 1: over the limit of 16 tokens (--max-length, --too-long)",
    ]
    for entry, types in zip(source.index.entries, (None, None, [0, 0, 0, 0, 1, 1, 1])):
        expected = eager(bert, entry.input.tokens, types)
        np.testing.assert_allclose(source.maps(entry)["encoder"], expected, atol=5e-6)
    assert source.index.entries[0].fields == {"text": ENTRIES[0]["text"], "mark": "first"}
    assert source.index.entries[1].fields == {"heads": [3, 1, 3, 5, 0, 5]}
    assert source.index.entries[1].words == ENTRIES[1]["words"]
    assert source.index.entries[1].input.word_ids == SECOND_WORDS
    assert source.index.entries[0].input.classes == [1, 0, 0, 0, 3, 0, 3, 2]
    assert source.index.special == {"cls": "[CLS]", "sep": "[SEP]"}


def test_the_originals_pickle(cli, data, bert, tmp_path):
    code, out, _ = cli(
        "extract", "--preprocessed-data-file", data, "--format", "pickle", "--max-length", 16, "--token-types", "zero"
    )  # fmt: skip
    assert code == 0
    path = tmp_path / "dev_attn.pkl"
    assert out.startswith(f"wrote {path}: attention between tokens of 3 inputs, 6 x 12 encoder heads, float16, ")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["dev.json", "dev_attn.pkl"]
    entries = pickle.loads(path.read_bytes())
    for entry, given, tokens in zip(entries, ENTRIES, (FIRST, SECOND, THIRD), strict=False):
        assert {key: entry[key] for key in given} == given  # the entry's own fields, whatever they are
        assert set(entry) == {*given, "attns", "tokens"}
        assert entry["tokens"] == tokens
        assert entry["attns"].dtype == np.float16
        np.testing.assert_allclose(entry["attns"], eager(bert, tokens), atol=5e-4)  # zeros for both texts
    assert len(entries) == 3


@pytest.mark.parametrize("pooling", ["mean", "first", "max"])
def test_word_level(pooling, cli, tmp_path, bert):
    (tmp_path / "w.json").write_text(json.dumps([ENTRIES[1]]))
    arguments = ("extract", "--text", tmp_path / "w.json", "--word_level", "--pooling", pooling)
    code, out, _ = cli(*arguments, "--format", "pickle")
    assert code == 0
    (entry,) = pickle.loads((tmp_path / "w_attn.pkl").read_bytes())
    expected = word_level(eager(bert, SECOND), torch.tensor([SECOND_WORDS]).expand(6, -1), pooling=pooling).weights
    assert entry["attns"].shape == (6, 12, 8, 8)  # six words and two special tokens
    np.testing.assert_allclose(entry["attns"], expected, atol=5e-4)
    assert entry["words"] == ENTRIES[1]["words"]
    assert out.startswith(
        f"wrote {tmp_path / 'w_attn.pkl'}: attention between words ({pooling} over pieces) of 1 input, "
    )


def test_word_level_of_text_says_whose_words_they_are(cli, tmp_path):
    (tmp_path / "t.json").write_text(json.dumps([ENTRIES[0]]))
    _, out, _ = cli("extract", "--text", tmp_path / "t.json", "--word-level", "--debug")
    assert len(out.splitlines()) == 1  # the words are those of the text
    (tmp_path / "u.json").write_text(json.dumps([ENTRIES[0], {"text": "fox " + "ab" * 33}]))
    _, out, _ = cli("extract", "--text", tmp_path / "u.json", "--word-level", "--debug")
    assert out.splitlines()[1:] == [
        "note: some words are the tokenizer's: each token of a stretch of over 64 letters without spaces is a word "
        "(1 input)"
    ]


def test_a_word_without_pieces_has_no_place_in_a_pickle(cli, tmp_path):
    (tmp_path / "w.json").write_text(json.dumps([{"words": ["a", "\x07", "fox"]}, {"words": ["a", "fox"]}]))
    code, out, _ = cli("extract", "--text", tmp_path / "w.json", "--word-level", "--debug", "--format", "pickle")
    assert code == 0
    assert " of 1 input, " in out.splitlines()[0]
    assert out.splitlines()[1:] == ["left out 1: a word has no row of its own"]
    assert [entry["words"] for entry in pickle.loads((tmp_path / "w_attn.pkl").read_bytes())] == [["a", "fox"]]


def test_debug_is_a_tiny_random_model_with_the_same_tokenizer(cli, data, tmp_path):
    for out in ("a", "b"):
        cli("extract", "--text", data, "--debug", "--out", tmp_path / out, "--store", "float32")
    one, other = MapsSource(tmp_path / "a"), MapsSource(tmp_path / "b")
    assert [(part.layers, part.heads) for part in one.layout] == [(3, 12)]
    assert one.index.model["name"] == "debug (headscope-minilm's tokenizer)"
    assert one.index.entries[0].input.tokens == FIRST
    assert len(one.index.entries) == 4
    for entry in one.index.entries:  # the same weights each time
        np.testing.assert_array_equal(one.maps(entry)["encoder"], other.maps(entry)["encoder"])


def test_case_limit_and_plain_text(cli, tmp_path):
    (tmp_path / "t.txt").write_text("A Fox ran\nHello there\n\nan end\nof it\n")
    _, out, _ = cli(
        "extract", "--text", tmp_path / "t.txt", "--packing", "paragraphs", "--cased", "--debug", "--max-inputs", 1
    )
    (entry,) = MapsSource(tmp_path / "t_attn").index.entries
    assert entry.input.tokens == ["[CLS]", "[UNK]", "[UNK]", "ran", "[SEP]", "[UNK]", "there", "[SEP]"]
    assert entry.token_types == [0, 0, 0, 0, 0, 1, 1, 1]
    assert " of 1 input, 3 x 12 encoder heads, float16, " in out


def test_the_order_is_the_inputs(cli, tmp_path):
    """Batches are cut by length; what is written is not."""
    texts = ["a fox ran " * (1 + 7 * number % 11) for number in range(20)]
    (tmp_path / "o.json").write_text(json.dumps([{"text": text.strip()} for text in texts]))
    cli("extract", "--text", tmp_path / "o.json", "--debug", "--batch-size", 3)
    entries = MapsSource(tmp_path / "o_attn").index.entries
    assert [entry.fields["text"] for entry in entries] == [text.strip() for text in texts]
    cli("extract", "--text", tmp_path / "o.json", "--debug", "--batch-size", 3, "--format", "pickle")
    found = pickle.loads((tmp_path / "o_attn.pkl").read_bytes())
    assert [entry["text"] for entry in found] == [text.strip() for text in texts]


@pytest.mark.slow
def test_what_stands_there_stays(cli, data, tmp_path):
    arguments = ("extract", "--text", data, "--debug", "--max-inputs", 2)
    cli(*arguments)
    index = tmp_path / "dev_attn" / "index.json"
    before = index.stat().st_mtime_ns
    code, out, _ = cli(*arguments)
    assert (code, out) == (
        0, f"{tmp_path / 'dev_attn'} holds these maps already: nothing to do; --force makes them again\n"
    )  # fmt: skip
    assert index.stat().st_mtime_ns == before
    there = "is there already; give another --out, or --force to replace it"
    for other in (("--cased",), ("--word-level",), ("--store", "float32"), ("--max-length", "64")):
        code, _, err = cli(*arguments, *other)
        if other == ("--cased",):
            assert code == 2  # another tokenizer
        assert (code, err) == (2, f"headscope: {tmp_path / 'dev_attn'} {there}\n")
    assert index.stat().st_mtime_ns == before
    assert cli(*arguments, "--word-level", "--force")[0] == 0
    assert json.loads(index.read_text())["word_level"] == "mean"
    (tmp_path / "p.pkl").write_text("mine")
    code, _, err = cli(*arguments, "--format", "pickle", "--out", tmp_path / "p.pkl")
    assert (code, err) == (2, f"headscope: {tmp_path / 'p.pkl'} {there}\n")


def test_what_is_refused(cli, data, tmp_path):
    cases = [
        ((), "no input was given; expected --preprocessed-data-file with a JSON file of entries, or --text"),
        (("--text", "-"), "give --out: there is not one input file to name the maps after"),
        (
            ("--text", data, "--format", "pkl"),
            "--format 'pkl' is not known; choose one of safetensors, pickle; did you mean pickle?",
        ),
        (
            ("--text", data, "--store", "float64"),
            "--store 'float64' is not known; choose one of float16, float32; did you mean float16?",
        ),
        (("--text", data, "--pooling", "last"), "--pooling 'last' is not known; choose one of mean, first, max"),
        (
            ("--text", data, "--format", "pickle", "--store", "float32"),
            "--format pickle holds float16, as the original's; use --format safetensors for float32",
        ),
        (
            ("--text", data, "--max-length", 5, "--debug", "--max-inputs", 1),
            "no input could be built from 4 documents with packing pretraining (over the limit: 4); raise --max-length "
            "or use --too-long truncate",
        ),
    ]
    for arguments, sentence in cases:
        code, out, err = cli("extract", *arguments)
        assert (code, out, err) == (2, "", f"headscope: {sentence}\n")
    assert [each.name for each in tmp_path.iterdir()] == ["dev.json"]


@pytest.mark.parametrize("form", ["safetensors", "pickle"])
@pytest.mark.parametrize(("problem", "code"), [(KeyboardInterrupt(), 130), (OSError(28, "No space left"), 2)])
def test_a_run_that_is_stopped_leaves_nothing(problem, code, form, cli, data, tmp_path, monkeypatch):
    done = []
    write = maps_writer.MapsWriter.end

    def end(self, batch):
        if done:
            raise problem
        done.append(batch)
        write(self, batch)

    monkeypatch.setattr(maps_writer.MapsWriter, "end", end)
    stopped, _, err = cli("extract", "--text", data, "--debug", "--batch-size", 1, "--format", form)
    assert done
    assert [each.name for each in tmp_path.iterdir()] == ["dev.json"]
    assert stopped == code
    assert (
        err
        == {
            130: "headscope: stopped; nothing half-written was left, and finished results are kept\n",
            2: "headscope: cannot read or write a file: No space left; what was finished is kept: free space, check "
            "permissions or give another path, and run the same command again\n",
        }[code]
    )

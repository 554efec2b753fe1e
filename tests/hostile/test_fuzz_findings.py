"""Minimal cases of past findings of `make fuzz`: each gave a traceback or an unprintable message."""

import json
import os
import pickle

import pandas as pd
import pytest

from headscope.analyses.probes.word_vectors import read_vectors
from headscope.corpora.hub_parquet import parquet_to_conllu, parquet_to_text
from headscope.corpora.reading import read_corpus
from headscope.corpora.remote import parse
from headscope.errors import InputError, ModelError, OptionError
from headscope.maps.unpickling import read_plain_pickle
from headscope.views.given_arrays import raw_view
from headscope.views.state import opening
from support.hostile import printable
from support.made_maps import sentence_pair
from support.model_folders import save_tiny_t5
from support.tiny_models import tiny_model
from support.tiny_tokenizers import tiny_tokenizer

TREEBANK = {"tokens": [["A", "cat"]], "head": [["2", "0"]], "deprel": [["det", "root"]]}
BROKEN = "the data are broken: try another @revision, or give a local file"


def told(error):
    """Return the message of an error, after checking that it can be printed."""
    text = str(error.value)
    assert printable(text)
    assert len(text) < 1000
    return text


def parquet(folder, columns):
    path = folder / "some.parquet"
    path.write_bytes(pd.DataFrame(columns).to_parquet(index=False))
    return path


@pytest.mark.parametrize(
    ("begin", "shown"),
    [("\x1b[2J", "\\x1b"), ("\x9b", "\\x9b"), ("\u202e", "\\u202e"), ("\u200b", "\\u200b"), ("\x7f", "\\x7f")],
)
def test_json_that_begins_with_what_cannot_be_printed(begin, shown, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(begin + "[]", encoding="utf-8")
    with pytest.raises(InputError) as error:
        list(read_corpus(path))
    assert told(error) == (
        f"{path}: expected a JSON list of objects, found text that begins with {shown}; put the objects in [ and ], "
        "or name the file .jsonl if it has one object a line"
    )


@pytest.mark.parametrize("convert", [parquet_to_conllu, parquet_to_text])
def test_columns_whose_names_cannot_be_printed(convert, tmp_path):
    path = parquet(tmp_path, {"\x1b[31m": ["x"], "\u202e": ["y"], "x" * 5000: ["z"]})
    with pytest.raises(InputError) as error:
        convert(path, tmp_path / "out", name="ud:en_x")
    assert "found \\x1b[31m, \\u202e, " + "x" * 80 + "... (no " in told(error)


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": [7]},
        {"head": ["20"]},
        {"tokens": [{"a": "A", "b": "cat"}]},
        {"feats": [1.5]},
        {"comments": ["newdoc"]},
        {"comments": [[{"x": 1}]]},
        {"mwt": [[3]]},
        {"mwt": [[{"form": "x"}]]},
        {"mwt": [[{"id": 1}]]},
        {"mwt": [[{"id": "9" * 5000 + "-2", "form": "x"}]]},
        {"empty_nodes": [["1.1"]]},
        {"empty_nodes": [True]},
    ],
)
def test_treebank_columns_of_other_types(change, tmp_path):
    with pytest.raises(InputError) as error:
        parquet_to_conllu(parquet(tmp_path, {**TREEBANK, **change}), tmp_path / "out", name="ud:en_x")
    assert told(error).startswith("ud:en_x, row 1 is not a sentence that CoNLL-U can hold (")
    assert told(error).endswith(f"); {BROKEN}")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", [7, 0.5, True, ["a"], {"a": "b"}])
def test_text_that_is_none(value, tmp_path):
    with pytest.raises(InputError) as error:
        parquet_to_text(parquet(tmp_path, {"text": [value]}), tmp_path / "out", name="wikitext")
    assert told(error) == f"wikitext, row 1: expected text, found {value!r}; {BROKEN}"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ud:en\x1b[2J", "ud:en\\x1b[2j is not a treebank"),
        ("ud:en_ewt\nx", "ud:en_ewt\\nx is not a treebank"),
        ("ud:" + "x" * 5000, "ud:" + "x" * 77 + "... is not a treebank"),
        ("wikitext/" + "x" * 5000, "wikitext has no split " + "x" * 80 + "...; choose one of validation, test, train"),
        ("wikitext" * 5000, "...' is not the name of a corpus to fetch"),
        ("wikitext@\x1b[2J", "the revision \\x1b[2J is not a branch, tag or commit"),
        ("wikitext@" + "x" * 5000, "is not a branch, tag or commit"),
    ],
)
def test_names_of_corpora_that_cannot_be_printed(name, shown):
    with pytest.raises(InputError) as error:
        parse(name)
    assert shown in told(error)


def test_vectors_that_promise_a_number_of_thousands_of_digits(tmp_path):
    path = tmp_path / "x.vec"
    path.write_text("9" * 5000 + " 2\nthe 1 2\n")
    with pytest.raises(InputError) as error:
        read_vectors(path)
    assert f"{path}, line" in told(error)


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (b"\x80\x02c\x1b[2J\nx\n.", "asks for ⟨U+001B⟩[2J.x"),
        (b"\x80\x02c\0\0odecs\nencode\n.", "asks for ⟨U+0000⟩⟨U+0000⟩odecs.encode"),
        (pickle.dumps(os.system), "asks for posix.system"),
        (b"\x80\x04\x8c\x07\xe2\x80\xaeexec\x8c\x04\xe2\x80\xaex\x93.", "asks for ⟨U+202E⟩exec.⟨U+202E⟩x"),
    ],
)
def test_pickles_that_ask_for_what_cannot_be_printed(content, shown, tmp_path):
    path = tmp_path / "x.pkl"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_plain_pickle(path)
    assert shown in told(error)


@pytest.mark.parametrize("kind", ["\x1b[2J", "\u202e", "x\ny", "a\u200db", "x" * 5000])
def test_a_kind_of_attention_that_cannot_be_printed(kind):
    with pytest.raises(OptionError) as error:
        opening(sentence_pair(neuron=False), "head", kind=kind)
    assert "attention here; choose one of encoder" in told(error)


@pytest.mark.parametrize("name", ["\x1b[2J", "a\u200db", "x" * 5000])
def test_a_view_that_cannot_be_printed(name):
    with pytest.raises(OptionError) as error:
        opening(sentence_pair(neuron=False), name)
    assert "is not known; choose one of head, model, neuron, heatmap, matrix" in told(error)


@pytest.mark.parametrize("tokens", [[None, "a"], ["a", None], [1, None]])
def test_tokens_of_which_one_is_none(tokens):
    with pytest.raises(InputError) as error:
        raw_view(attention=[[[[0.5, 0.5], [0.5, 0.5]]]], tokens=tokens)
    assert "expected tokens as a list of strings, got a" in told(error)


def test_a_weight_file_whose_type_is_a_family_of_emoji(tmp_path):
    """The message of the safetensors library quotes the type, which contains invisible joiners."""
    from headscope.models.folder.weight_files import read_headers

    header = json.dumps({"a": {"dtype": "\U0001f469\u200d\U0001f467", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "model.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    with pytest.raises(ModelError) as refused:
        read_headers(tmp_path)
    assert printable(str(refused.value))
    assert "is cut off or no safetensors file" in str(refused.value)


@pytest.mark.slow
def test_a_decoder_that_starts_with_two_tokens(tmp_path):
    from headscope.attention.model.examination import examine
    from headscope.encoding.encoder import Encoder
    from headscope.models.load_model import load_model

    folder = save_tiny_t5(tmp_path / "t5", ["the cat sat", "a dog came"] * 20)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "decoder_start_token_id": [0, 0]}))

    def look():
        loaded = load_model(folder)
        examine(loaded.model, Encoder(loaded.tokenizer).vocabulary)

    with pytest.raises(ModelError) as refused:
        look()
    assert printable(str(refused.value))
    assert "decoder_start_token_id" in str(refused.value)


def test_a_tokenizer_that_writes_a_text_twice(tmp_path):
    from headscope.encoding.encoder import Encoder
    from headscope.models.load_model import load_tokenizer

    folder = save_tiny_t5(tmp_path / "t5", ["the cat sat", "a dog came"] * 20)
    content = json.loads((folder / "tokenizer.json").read_text())
    text = {"Sequence": {"id": "A", "type_id": 0}}
    content["post_processor"]["single"] = [text, text, {"SpecialToken": {"id": "</s>", "type_id": 0}}]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    tokenizer, _ = load_tokenizer(folder)
    with pytest.raises(ModelError) as refused:
        Encoder(tokenizer)
    assert str(refused.value) == (
        "tokenizer.json's post_processor does not write each text once; expected special tokens around each text, "
        "once: save the tokenizer again"
    )


def test_a_tokenizer_whose_library_gives_up_when_it_is_used(tmp_path):
    """The file loads; only the first text reveals that its template names a missing token."""
    from headscope.models.load_model import load_tokenizer

    folder = save_tiny_t5(tmp_path / "t5", ["the cat sat", "a dog came"] * 20)
    content = json.loads((folder / "tokenizer.json").read_text())
    content["post_processor"]["special_tokens"] = {}
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ModelError) as refused:
        load_tokenizer(folder)
    assert "could not be loaded, for its tokenizer is not as it should be" in told(refused)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda made: made["single"].__setitem__(1, {"Sequence": {"id": "A", "type_id": 313}}),
            "token types up to 313, and the model knows 2",
        ),
        (
            lambda made: made["special_tokens"]["[SEP]"].update(ids=[70_000]),
            "token ids up to 70000, and the model knows 99",
        ),
    ],
)
def test_a_tokenizer_that_writes_what_the_model_has_no_embedding_for(change, says, tmp_path):
    from headscope.models.load_model import load_model

    tiny_model("bert").save_pretrained(tmp_path)
    tiny_tokenizer("bert").save_pretrained(tmp_path)
    content = json.loads((tmp_path / "tokenizer.json").read_text())
    change(content["post_processor"])
    (tmp_path / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(ModelError) as refused:
        load_model(tmp_path)
    assert told(refused) == (
        f"{tmp_path.name}: the tokenizer has {says}; expected the tokenizer that the model was trained with".replace(
            "has token types", "writes token types"
        )
    )

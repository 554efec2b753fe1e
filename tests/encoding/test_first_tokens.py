"""Texts that already begin with the tokenizer's first tokens, such as a chat template's <s>, get them only once."""

import warnings

import pytest
import torch

import headscope as hs
from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.tokenizer.unknown import KnownPieces
from headscope.errors import InputError
from headscope.statistics.sums.accumulator import Accumulator
from support.slow_tokenizers import esm
from support.task_models import tiny_task_model
from support.tiny_models import shared_tiny_model
from support.tiny_tokenizers import tiny_tokenizer


class Nothing(Accumulator):
    """An accumulator without values."""

    def declare(self):
        return {}

    def update(self, tile):
        pass

    def compute(self):
        return None


TEXT = "the cat sat on the mat"


def two_first():
    """Return a tokenizer that adds two tokens before a text, as GLM's does."""
    from tokenizers import processors

    tokenizer = tiny_tokenizer("gpt2")
    tokenizer.add_special_tokens({"additional_special_tokens": ["[CLS]", "[SEP]"]})
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="[SEP] [CLS] $A", pair="[SEP] [CLS] $A $B", special_tokens=[("[CLS]", 0), ("[SEP]", 2)]
    )
    return tokenizer


def read(tokenizer, *lines, packing="single", **more):
    """Return the token names of a document's inputs, the notes on it, and its segments."""
    encoder = Encoder(tokenizer)
    packer, known = Packer(encoder, packing=packing, **more), KnownPieces(encoder, "text")
    segments = list(known.watch(packer.pack([Document(lines=lines)])))
    return [tokenizer.convert_ids_to_tokens(segment.ids.tolist()) for segment in segments], known.notes(), segments


@pytest.mark.parametrize("packing", ["single", "joined", "paragraphs", "pretraining"])
def test_first_tokens_that_are_written_are_read_once(packing):
    tokenizer = tiny_tokenizer("bert")
    (with_them,), notes, (segment,) = read(tokenizer, f"[CLS] {TEXT}", *[TEXT] * (packing != "single"), packing=packing)
    (without,), no_notes, (plain,) = read(tokenizer, TEXT, *[TEXT] * (packing != "single"), packing=packing)
    assert with_them == without
    assert segment.token_types.tolist() == plain.token_types.tolist()
    assert notes == ["text: 1 input begins with [CLS] as written, which the tokenizer adds as well; it is read once"]
    assert no_notes == []


def test_only_the_text_s_own_first_tokens_go():
    tokenizer = tiny_tokenizer("bert")
    cases = {
        "written twice": ("[CLS] [CLS] the", ["[CLS]", "[CLS]", "the", "[SEP]"]),
        "further in": ("the [CLS] cat", ["[CLS]", "the", "[CLS]", "cat", "[SEP]"]),
        "nothing else": ("[CLS]", ["[CLS]", "[CLS]", "[SEP]"]),
        "another special token": ("[SEP] the", ["[CLS]", "[SEP]", "the", "[SEP]"]),
    }
    wrong = {
        name: read(tokenizer, text)[0] for name, (text, right) in cases.items() if read(tokenizer, text)[0] != [right]
    }
    assert not wrong
    # In joined lines, only the first loses the written token.
    (joined,), _, _ = read(tokenizer, "[CLS] the", "[CLS] cat", packing="joined")
    assert joined == ["[CLS]", "the", "[CLS]", "cat", "[SEP]"]
    # A tokenizer that adds no tokens leaves the text unchanged.
    added = tiny_tokenizer("gpt2")
    added.add_special_tokens({"bos_token": "[CLS]"})
    assert read(added, "[CLS] the")[:2] == ([["[CLS]", "the"]], [])


def test_several_first_tokens_and_tokenizers_in_python(tmp_path):
    (tokens,), (note,), _ = read(two_first(), "[SEP] [CLS] the cat")
    assert tokens == ["[SEP]", "[CLS]", "the", "cat"]
    assert note.startswith("text: 1 input begins with [SEP][CLS] as written")
    assert read(two_first(), "[CLS] the")[0] == [["[SEP]", "[CLS]", "[CLS]", "the"]]
    (tokens,), notes, (segment,) = read(esm(tmp_path), "<cls> L A G")
    assert tokens == ["<cls>", "L", "A", "G", "<eos>"]
    assert len(notes) == 1
    assert (segment.word_ids >= 0).tolist() == [False, True, True, True, False]


def test_a_text_fits_that_is_as_long_as_the_limit_with_them():
    tokenizer = tiny_tokenizer("bert")
    assert len(read(tokenizer, f"[CLS] {TEXT}", max_length=8, too_long="error")[0][0]) == 8
    with pytest.raises(InputError, match="8 tokens, expected at most 7"):
        read(tokenizer, f"[CLS] {TEXT}", max_length=7, too_long="error")


def test_views_scans_and_runs_say_so():
    model, tokenizer = shared_tiny_model("bert"), tiny_tokenizer("bert")
    text, note = f"[CLS] {TEXT}", "text: 1 input begins with [CLS] as written, which the tokenizer adds as well; it is"
    given = {"model": model, "tokenizer": tokenizer}
    found = hs.attention(text, **given, level="word")
    assert found.coords["query"].values.tolist() == ["[CLS]", *TEXT.split(), "[SEP]"]
    assert found.attrs["notes"] == [f"{note} read once"]
    torch.testing.assert_close(
        torch.tensor(found.values), torch.tensor(hs.attention(TEXT, **given, level="word").values)
    )
    assert hs.attention(text, **given, max_length=8).shape[-1] == 8
    study = hs.stats(text=[text, TEXT], packing="single", max_length=20, **given)
    assert f"{note} read once" in study.manifest["notes"]
    with pytest.warns(UserWarning, match="begins with \\[CLS\\] as written"):
        hs.scan([text], [Nothing()], max_length=20, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hs.scan([TEXT], [Nothing()], max_length=20, **given)
    writer = hs.attention(text, model=tiny_task_model("gpt2", dtype=torch.float32), tokenizer=two_first(), generate=1)
    assert "notes" not in writer.attrs

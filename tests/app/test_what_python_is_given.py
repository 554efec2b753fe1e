"""What Python may hand over in place of what was meant: errors of ours, which say what to give."""

from itertools import cycle

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.app.widget import AttentionWidget
from headscope.encoding.encoder import Encoder
from headscope.errors import AttentionError, HeadscopeError, InputError, OptionError, OutputError
from headscope.statistics.sums.accumulator import Accumulator
from headscope.views import view_payload
from headscope.views.attention_page import StaticPage, save_page
from headscope.views.given_arrays import raw_view
from headscope.views.view_payload import payload
from support.hostile import printable
from support.slow_tokenizers import byt5
from support.tiny_models import shared_tiny_model
from support.tiny_tokenizers import tiny_tokenizer

TOKENS = ["a", "b", "c"]
MAPS = np.full((2, 2, 3, 3), 1 / 3, np.float32)
TO_GIVE = "expected a text, a list of texts, the Path of a file or folder, or what headscope.read_corpus returns"


class Nothing(Accumulator):
    def declare(self):
        return {}

    def update(self, tile): ...

    def compute(self):
        return None


def said(error, action, *given, **how):
    with pytest.raises(error) as refused:
        action(*given, **how)
    assert isinstance(refused.value, HeadscopeError)
    assert printable(str(refused.value))
    return str(refused.value)


# --- tokens and attention


def test_what_yields_tokens_is_a_list_of_them():
    found = raw_view(attention=MAPS, tokens=(token for token in TOKENS))
    assert payload(found) == payload(raw_view(attention=MAPS, tokens=TOKENS))
    assert isinstance(hs.head_view(attention=MAPS, tokens=iter(TOKENS), static=True), StaticPage)


def test_tokens_without_end():
    text = said(AttentionError, hs.head_view, attention=MAPS, tokens=cycle(TOKENS))
    assert text.startswith("encoder attention is 3 queries by 3 keys, and there are 1048576 and 1048576 tokens; ")


def test_tokens_that_are_a_number():
    assert said(InputError, hs.head_view, attention=MAPS, tokens=3) == (
        "expected tokens as a list of strings, got a int among them; tokenizer.convert_ids_to_tokens(ids) gives them"
    )


@pytest.mark.parametrize(
    ("layer", "says"),
    [
        (torch.tensor(MAPS[0]).to_sparse(), "a sparse tensor; give it with all its zeros, as tensor.to_dense()"),
        (torch.tensor(MAPS[0, 0]).to_sparse_csr(), "a sparse tensor; give it with all its zeros, as tensor.to_dense()"),
        (
            torch.empty(2, 3, 3, device="meta"),
            "a tensor without data (on the device meta); run the model with its weights loaded",
        ),
        (
            torch.tensor(MAPS[0], dtype=torch.complex64),
            "a tensor of complex numbers; expected weights between 0 and 1, after the softmax",
        ),
    ],
    ids=["sparse", "CSR", "meta", "complex"],
)
def test_tensors_that_hold_no_weights(layer, says):
    attention = [torch.tensor(MAPS[0]), layer]
    assert said(AttentionError, hs.head_view, attention=attention, tokens=TOKENS) == (
        f"layer 2 of encoder attention is {says}"
    )


def test_a_tensor_with_nan():
    attention = torch.tensor(MAPS)
    attention[1, 0, 2, 1] = torch.nan
    assert said(AttentionError, hs.head_view, attention=attention, tokens=TOKENS) == (
        "encoder attention of head 2-1, row 3 holds nan; expected weights between 0 and 1: give attention after the "
        "softmax"
    )


@pytest.mark.parametrize("static", [True, False])
def test_more_weights_than_a_page_holds_are_refused_before_they_are_drawn(static, monkeypatch):
    monkeypatch.setattr(view_payload, "MOST_WEIGHTS", 35)
    drawn = []
    monkeypatch.setattr(view_payload, "write_weights", drawn.append)
    assert said(AttentionError, hs.head_view, attention=MAPS, tokens=TOKENS, static=static) == (
        "the view would hold 36 weights, and a page holds at most 35; give a shorter text, or fewer layers and heads "
        "(include_layers, include_heads)"
    )
    assert drawn == []


def test_a_page_holds_what_models_give():
    """BERT's 144 heads over 512 tokens, and as many as 960."""
    assert 144 * 512**2 < 144 * 960**2 < view_payload.MOST_WEIGHTS


# --- places


@pytest.fixture(params=[True, False], ids=["page", "widget"])
def view(request):
    made = hs.head_view(attention=MAPS, tokens=TOKENS, static=request.param)
    assert isinstance(made, StaticPage if request.param else AttentionWidget)
    return made


def test_a_view_is_saved_to_a_file(view, tmp_path, monkeypatch):
    assert view.save(str(tmp_path / "in" / "v.html")).read_text().startswith("<!doctype html>")
    assert said(OptionError, view.save, tmp_path) == (
        f'{tmp_path} is a folder; expected a file, as "{tmp_path / "view.html"}"'
    )
    monkeypatch.chdir(tmp_path)
    assert said(OptionError, view.save, "") == '. is a folder; expected a file, as "view.html"'
    assert said(OptionError, save_page, 3, "") == 'path is a int; expected that of a file, as "view.html"'
    (tmp_path / "file").touch()
    assert said(OutputError, view.save, tmp_path / "file" / "v.html") == (
        f"cannot read or write {tmp_path / 'file'}: File exists; what was finished is kept: free space, check "
        "permissions or give another path, and run the same command again"
    )


def test_a_study_that_is_none(tmp_path):
    assert said(OptionError, hs.head_atlas, 7, out=tmp_path) == (
        "study is a int; expected a study, or the folder of a finished run"
    )


# --- texts


def test_a_file_that_was_closed(tmp_path):
    with (tmp_path / "text.txt").open("w") as file:
        pass
    assert said(OptionError, hs.report, text=file) == (
        "text is a file that was closed; give its path as a Path, or what was read from it"
    )
    assert said(OptionError, hs.scan, file, [Nothing()]) == (f"text is a file that was closed; {TO_GIVE}")


HALF = "the \ud800 cat"
SAYS = (
    "a text has half a character (a lone surrogate, U+D800) at character 5 of 9; expected Unicode: decode its bytes "
    "again, or leave it out"
)


@pytest.fixture(scope="module")
def model():
    return shared_tiny_model("bert"), tiny_tokenizer()


@pytest.mark.parametrize("name", ["attention", "head_view", "heatmap", "report", "stats", "scan"])
def test_half_a_character(name, model, tmp_path):
    loaded, tokenizer = model
    call = {
        "attention": lambda: hs.attention(HALF, model=loaded, tokenizer=tokenizer),
        "head_view": lambda: hs.head_view(HALF, model=loaded, tokenizer=tokenizer),
        "heatmap": lambda: hs.heatmap(HALF, model=loaded, tokenizer=tokenizer),
        "report": lambda: hs.report(loaded, tokenizer=tokenizer, text=[HALF], max_length=32, out=tmp_path / "run"),
        "stats": lambda: hs.stats(loaded, tokenizer=tokenizer, text=[HALF], max_length=32),
        "scan": lambda: hs.scan([HALF], [Nothing()], model=loaded, tokenizer=tokenizer, max_length=32),
    }[name]
    assert said(InputError, call) == SAYS


def test_half_a_character_for_a_tokenizer_in_python():
    assert said(InputError, Encoder(byt5()).pieces, [HALF]) == SAYS


# --- accumulators


def test_what_is_no_accumulator(model):
    loaded, tokenizer = model
    for given, says in (
        ([3], "accumulators holds a int; expected what a subclass of headscope.Accumulator makes"),
        (
            [Nothing],
            "accumulators holds the class Nothing itself; expected what a subclass of headscope.Accumulator makes",
        ),
        ([], "accumulators is []; expected a list of one accumulator or more"),
    ):
        assert said(OptionError, hs.scan, ["the cat"], given, model=loaded, tokenizer=tokenizer) == says

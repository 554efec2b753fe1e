"""`headscope view`: one page, whole or not at all; wrong input gives one sentence."""

import html
import json
import re

import numpy as np
import pytest

from headscope.views.bundle import view_names
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5
from support.views import read_maps, read_neuron

NO_LIST = "is not a list of numbers; expected numbers from 1 and ranges, as 1-3,7"
ALL = ", ".join(view_names())
SENTENCES = ["The cat sat on the mat.", "A dog came by and looked at the cat.", "The mat was warm, and the cat slept."]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny-bert")


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    folder = save_tiny_gpt2(tmp_path_factory.mktemp("model") / "tiny-gpt2", SENTENCES * 8)
    from transformers import GPT2Config, GPT2LMHeadModel

    GPT2LMHeadModel(GPT2Config.from_pretrained(folder)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    folder = save_tiny_t5(tmp_path_factory.mktemp("model") / "tiny-t5", SENTENCES * 8)
    from transformers import T5Config, T5ForConditionalGeneration

    T5ForConditionalGeneration(T5Config.from_pretrained(folder)).save_pretrained(folder)
    return folder


@pytest.fixture
def view(cli, tmp_path):
    """Run the command; return what the page holds."""

    def run(*arguments):
        out = tmp_path / "page.html"
        code, said, err = cli("view", *arguments, "-o", out)
        assert (code, err) == (0, ""), err
        assert re.fullmatch(rf"(generated: .+\n)?view: {re.escape(str(out))} \([\d,]+ weights, \d+\.\d MB\)\n", said)
        (found,) = re.findall(
            r'<script type="application/json" id="attention">(.*?)</script>', out.read_text(), re.DOTALL
        )
        return json.loads(found)

    return run


def refused(result, sentence):
    assert result[2] == f"headscope: {sentence}\n"
    assert (result[0], result[1]) == (2, "")


@pytest.mark.parametrize("which", view_names())
def test_every_view(view, bert, which):
    told = view(which, "--model", bert, "--text", "The cat sat.", "--layer", 2, "--head", 1)
    kind = told["kinds"][0]
    head = "heads=1" if which in ("head", "model") else "head=1"
    assert told["state"] == f"view={which}&layer=2&{head}"
    assert told["model"] == "tiny-bert"
    assert kind["queries"]["tokens"] == ["[CLS]", "the", "cat", "sat", ".", "[SEP]"]
    assert read_maps(kind).shape == (2, 2, 6, 6)
    np.testing.assert_allclose(read_maps(kind).sum(-1), 1, atol=0.02)
    assert kind["neuron"]["width"] == 8


@pytest.mark.parametrize(
    ("typed", "opens"), [(["The cat sat."], "head"), (["slept."], "head"), (["matrix", "The cat sat."], "matrix")]
)
def test_a_text_needs_no_option(view, bert, typed, opens):
    told = view(*typed, "--model", bert, "--layer", 2)
    assert told["title"] == typed[-1]
    assert told["state"].startswith(f"view={opens}&layer=2")


def test_a_file_needs_no_option(view, bert, tmp_path):
    (tmp_path / "my.txt").write_text("A dog came by.\n", encoding="utf-8")
    assert view(tmp_path / "my.txt", "--model", bert)["title"] == "A dog came by."


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        (["heat"], f"view 'heat' is not known; choose one of {ALL}; did you mean heatmap?"),
        (["heat", "The cat sat."], f"view 'heat' is not known; choose one of {ALL}; did you mean heatmap?"),
        (["modle"], f"view 'modle' is not known; choose one of {ALL}; did you mean model?"),
        (["The cat.", "The dog."], f"view 'The cat.' is not known; choose one of {ALL}"),
        (["The cat.", "--text", "The dog."], "two texts came, 'The cat.' and --text 'The dog.'; expected one of them"),
        (["nowhere.txt"], "no such file: nowhere.txt; give a file that is there, or the words themselves in quotes"),
    ],
)
def test_what_is_no_view_and_no_text_is_refused(cli, typed, sentence):
    refused(cli("view", *typed), sentence)


@pytest.mark.parametrize("which", ["head", "neuron"])
def test_queries_and_keys_of_a_long_text_are_kept_for_their_view(view, bert, which):
    told = view(which, "--model", bert, "--text", "the cat sat " * 15)
    assert len(told["kinds"][0]["queries"]["tokens"]) > 32
    assert (told["kinds"][0]["neuron"] is not None) == (which == "neuron")


def test_the_embedded_model_and_text(view):
    pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    told = view()
    assert told["model"] == "headscope-minilm"
    assert told["title"].startswith("The piano had not been tuned since the flood")
    assert told["kinds"][0]["layers"] == [1, 2, 3, 4, 5, 6]
    assert 0 < told["largest_error"] <= 1 / 255


def test_a_pair_words_and_chosen_layers(view, bert):
    told = view(
        "model", "--model", bert, "--text", "The cat sat.", "--text-b", "It was unbelievably warm.",
        "--include-layers", 2, "--word-level", "--no-compress",
    )  # fmt: skip
    kind = told["kinds"][0]
    assert told["state"] == "view=model&level=word"
    assert kind["layers"] == [2]
    assert kind["queries"]["segment_b"] == 6
    assert "unbelievably" in kind["queries"]["word_text"]
    assert kind["maps"][0]["encoding"] == "base64"


def test_underscores_are_hyphens(view, bert):
    assert view("--model", bert, "--text", "The cat.", "--include_layers", "1-2")["kinds"][0]["layers"] == [1, 2]


def test_generated_text(view, gpt2):
    told = view("head", "--model", gpt2, "--text", "The cat sat on", "--generate", 5)
    axis = told["kinds"][0]["queries"]
    assert told["kinds"][0]["kind"] == "decoder"
    assert len(axis["tokens"]) == axis["generated"] + 5
    assert axis["tokens"][:2] == ["The", "cat"]


def test_an_encoder_decoder_that_writes(view, t5):
    told = view("head", "--model", t5, "--text", "The cat sat.", "--decoder-text", "A dog", "--generate", 3)
    kinds = {kind["kind"]: kind for kind in told["kinds"]}
    assert list(kinds) == ["encoder", "decoder", "cross"]
    axis = kinds["decoder"]["queries"]
    assert axis["tokens"][0] == "<pad>"
    assert 3 <= axis["generated"] < len(axis["tokens"]) <= axis["generated"] + 3
    assert kinds["cross"]["keys"] == kinds["encoder"]["queries"]


def test_position_bias_of_t5(view, t5):
    told = view("neuron", "--model", t5, "--text", "The cat sat.")
    n = len(told["kinds"][0]["queries"]["tokens"])
    _, _, bias, _ = read_neuron(told["kinds"][0], 1)
    assert bias.shape == (2, n, n)


def test_text_over_the_limit(cli, view, bert):
    long = "word " * 600
    refused(
        cli("view", "--model", bert, "--text", long),
        "the text is 602 tokens long, and at most 512 can be read; shorten it, or cut it with --too-long truncate "
        "(too_long='truncate' in Python)",
    )
    told = view("--model", bert, "--text", long, "--too-long", "truncate", "--max-length", 20)
    assert len(told["kinds"][0]["queries"]["tokens"]) == 20


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["heads"], f"view 'heads' is not known; choose one of {', '.join(view_names())}; did you mean head?"),
        (["--too-long", "skip"], "--too-long 'skip' is not known; choose one of error, truncate"),
        (["--head", "a"], f"--head 'a' {NO_LIST}"),
        (["--head", "0"], f"--head '0' {NO_LIST}"),
        (["--include-layers", "1-"], f"--include-layers '1-' {NO_LIST}"),
        (["--include-layers", "9"], "there is no layer 9; expected labels from 1 to 2"),
        (["--layer", "3"], "there is no layer 3 here; choose from 1-2"),
        (["--head", "5"], "there is no head 5 here; choose from 1-2"),
        (["matrix", "--head", "1-2"], "the matrix view draws one head, and 2 were named; choose one"),
        (["--text", " "], "the text ' ' has no tokens; expected at least one word"),
        (
            ["--decoder-text", "x"],
            "tiny-bert has no decoder behind an encoder; leave --decoder-text out, or choose a model such as T5 or "
            "BART",
        ),
        (["--max-length", "513"], "--max-length 513 is more than tiny-bert can read; expected at most 512 tokens"),
    ],
)
def test_wrong_input(cli, bert, tmp_path, arguments, sentence):
    given = [] if "--text" in arguments else ["--text", "The cat."]
    out = tmp_path / "page.html"
    refused(cli("view", *arguments, *given, "--model", bert, "--out", out), sentence)
    assert not out.exists()


def test_no_place_for_a_page(cli, bert, tmp_path):
    for out in (tmp_path, tmp_path / "nowhere" / "page.html"):
        refused(
            cli("view", "--model", bert, "--text", "a", "--out", out),
            f"--out {out} cannot hold a file; give a file in a folder that exists",
        )


def test_a_family_that_writes_no_text(cli, bert):
    code, _, err = cli("view", "--model", bert, "--text", "The cat.", "--generate", 3)
    assert code == 2
    assert err == (
        "headscope: tiny-bert has no trained head to write text with: its checkpoint lacks "
        "cls.predictions.bias and 5 more weights, which would be random; expected one saved with its head "
        "(AutoModelForCausalLM), or leave out --generate\n"
    )


def test_ranges_are_read():
    from headscope.app.cli.view import numbers

    assert numbers("--head", "1-3,7, 2") == (1, 2, 3, 7, 2)
    assert numbers("--head", None) == ()


def test_a_file_that_is_no_page_of_ours_is_not_written_over(cli, bert, tmp_path):
    notes = tmp_path / "notes.html"
    notes.write_text("<h1>mine</h1>")
    given = ("view", "--model", bert, "--text", "The cat sat.", "-o", notes)
    refused(
        cli(*given),
        f"--out {notes} is there already, and is not a page of headscope; give another file, or --overwrite",
    )
    assert notes.read_text() == "<h1>mine</h1>"
    assert cli(*given, "--overwrite")[0] == 0
    # A page of headscope's own is made anew.
    before = notes.read_bytes()
    assert cli("view", "--model", bert, "--text", "A dog.", "-o", notes)[0] == 0
    assert notes.read_bytes() != before


@pytest.mark.parametrize("answer", [True, False])
def test_on_a_terminal_it_asks_before_it_writes_over_a_page(cli, bert, tmp_path, monkeypatch, answer):
    page = tmp_path / "page.html"
    page.write_text("before")
    asked = []
    monkeypatch.setattr("headscope.app.cli.view.on_terminal", lambda: True)
    monkeypatch.setattr("typer.confirm", lambda question, err: asked.append(question) or answer)
    result = cli("view", "--model", bert, "--text", "The cat sat.", "-o", page)
    assert asked == [f"{page} is there already; write over it?"]
    if answer:
        assert result[0] == 0
        assert "<html" in page.read_text()
    else:
        refused(result, f"{page} was left as it is; give another --out")
        assert page.read_text() == "before"


def test_what_the_model_writes_is_said_and_stands_in_the_title(cli, gpt2, tmp_path):
    page = tmp_path / "page.html"
    code, said, err = cli("view", "--model", gpt2, "--text", "The cat", "--generate", 4, "-o", page)
    assert (code, err) == (0, "")
    generated = re.search(r"^generated: (.+)$", said, re.MULTILINE)[1]
    title = re.search(r"<title>(.*?)</title>", page.read_text(), re.DOTALL)[1]
    assert title.startswith("The cat → ")
    assert generated.split()[0] in html.unescape(title)

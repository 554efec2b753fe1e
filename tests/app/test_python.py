"""What `import headscope as hs` offers: models and texts in memory, the commands as functions, errors in words."""

import gc
import inspect
import subprocess
import sys
import tempfile
from html import escape

import numpy as np
import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.app.analysis_functions import name_of
from headscope.app.beside_run import FUNCTIONS, VIEW
from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.scans.declarations.option import options_of
from headscope.scans.declarations.run_options import RunOptions
from support.demo_treebank import demo_conllu
from support.tiny_models import CONFIGS, VOCABULARY
from support.tiny_tokenizers import tiny_tokenizer
from support.undrawn import leave_drawing_out

TEXTS = ["the cat sat on the mat, and ran.", "the dogs ran.\nthe cat sat on the dog.", "the dog sat."]
COMMANDS = [analysis.command.name for analysis in ANALYSES if analysis.command]
OWN = sorted(
    [
        *("Accumulator", "HeadId", "HeadscopeError", "Study", "TextFeature", "__version__", "attention"),
        *("head_atlas", "head_view", "heatmap", "load_model", "matrix_view", "model_view", "neuron_view"),
        *("open_study", "prune", "read_corpus", "report", "scan"),
    ]
)


def masked_lm():
    """A small model of one's own, in train mode, with a frozen part, as it is in the midst of its training."""
    import transformers as tf

    torch.manual_seed(3)
    model = tf.BertForMaskedLM(CONFIGS["bert"]())
    model.train()
    model.bert.encoder.layer[0].eval()
    model.bert.embeddings.word_embeddings.weight.requires_grad_(False)
    return model


def hooks_of(module):
    return [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]


def state_of(model):
    """All that must come back: modes, flags, gradients, the attention implementation, weights, dtype and device."""
    return (
        [module.training for module in model.modules()],
        [(p.requires_grad, p.grad, p.dtype, p.device) for p in model.parameters()],
        model.config._attn_implementation,
        model.config.output_attentions,
        # transformers keeps hooks of its own in a model that was once asked for output_attentions
        [hook for module in model.modules() for hook in hooks_of(module) if "headscope" in str(hook.__module__)],
    )


@pytest.fixture(scope="module")
def mine():
    tokenizer = tiny_tokenizer("bert")
    tokenizer.mask_token = "[UNK]"
    return masked_lm(), tokenizer


@pytest.fixture(scope="module")
def study(mine, tmp_path_factory):
    model, tokenizer = mine
    before, weights = state_of(model), {k: v.clone() for k, v in model.state_dict().items()}
    out = tmp_path_factory.mktemp("mine") / "out"
    with pytest.MonkeyPatch.context() as patch:
        leave_drawing_out(patch)
        found = hs.report(model=model, tokenizer=tokenizer, text=TEXTS, loss="mlm", out=out, max_length=64)
    assert state_of(model) == before
    assert all(torch.equal(v, weights[k]) for k, v in model.state_dict().items())
    return found


def test_a_model_in_memory_is_a_run_like_any_other(study, mine, tmp_path):
    model, tokenizer = mine
    told = study.manifest["signature"]["model"]
    assert (told["name"], told["origin"], told["family"]) == ("BertForMaskedLM", "memory", "bert")
    assert study.manifest["signature"]["corpus"]["name"] == "3 texts in memory"
    assert study.manifest["counts"]["documents_used"] == 3
    assert study.manifest["counts"]["segments"] == 4  # a line alone is no pair, and none is left out
    assert study.report_path.exists()
    # The same model, saved, finds the same: the signature differs by the head's weights alone.
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    (tmp_path / "texts.txt").write_text("\n\n".join(TEXTS))
    saved = hs.stats(tmp_path / "model", text=tmp_path / "texts.txt", packing="single", max_length=64)
    pd.testing.assert_frame_equal(saved.stats, study.stats, atol=1e-6, rtol=0)
    assert saved.manifest["signature"]["corpus"]["hash"] == study.manifest["signature"]["corpus"]["hash"]


@pytest.mark.slow
def test_a_temporary_run_goes_with_its_last_study_unless_it_is_saved(mine, tmp_path, monkeypatch):
    leave_drawing_out(monkeypatch)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    model, tokenizer = mine
    for name, how in (("report", {"skip": "experiments"}), ("norms", {})):
        made = getattr(hs, name)(model, tokenizer=tokenizer, text=TEXTS, max_length=64, **how)
        path, again = made.path, hs.open_study(made.path)
        tables = again.tables
        del made, again
        gc.collect()
        assert len(tables["norms"]), name  # read only now
        saved = hs.open_study(path).save(tmp_path / name)
        del tables
        gc.collect()
        assert list((tmp_path / "temporary").iterdir()) == [], name
        assert saved.path == tmp_path / name
        assert len(saved.table("norms")), name
        assert saved.report_path.exists() == (name == "report")
        assert saved._repr_html_()
    with pytest.raises(hs.HeadscopeError) as refused:
        saved.save(tmp_path / "report")
    assert str(refused.value) == f"{tmp_path / 'report'} is there already; give save() the path of a new folder"


def test_the_temporary_folder_of_a_run_that_fails_goes(mine, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    model, tokenizer = mine
    for name in ("report", "stats"):
        with pytest.raises(hs.HeadscopeError, match="no input could be built"):
            getattr(hs, name)(model, tokenizer=tokenizer, text=TEXTS[0], packing="paragraphs", max_length=64)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_study_of_tables_in_memory_cannot_be_saved(study, tmp_path):
    in_memory = hs.Study(study.manifest, dict(study.tables))
    with pytest.raises(hs.HeadscopeError) as refused:
        in_memory.save(tmp_path / "out")
    assert str(refused.value) == (
        "this study is of tables in memory; only a study that is opened from its folder can be saved"
    )


def test_the_signature_is_that_of_the_weights(mine):
    model, tokenizer = mine

    def signed(one):
        return hs.stats(one, tokenizer=tokenizer, text=TEXTS, max_length=64).manifest["signature"]

    first = signed(model)
    assert signed(model)["id"] == first["id"]
    other = masked_lm()
    with torch.no_grad():
        other.bert.encoder.layer[1].attention.self.query.weight[0, 0] += 1
    assert signed(other)["id"] != first["id"]
    half = signed(masked_lm().to(torch.bfloat16))
    assert half["options"]["dtype"] == "bfloat16"
    assert first["options"]["dtype"] == "float32"


def test_a_model_comes_back_after_an_error_too(mine):
    model, tokenizer = mine
    before = state_of(model)
    with pytest.raises(hs.HeadscopeError, match="no input could be built"):
        hs.stats(model, tokenizer=tokenizer, text=TEXTS[0], packing="paragraphs", max_length=64)
    assert state_of(model) == before


def test_importance_needs_the_models_own_head(mine):
    model, tokenizer = mine
    with pytest.raises(hs.HeadscopeError, match=r"^BertModel has no masked-LM head, which loss mlm needs; load the"):
        hs.importance(model.bert, tokenizer=tokenizer, text=TEXTS, max_length=64)


def test_every_head_is_a_row(study):
    heads = study.heads
    assert len(heads) == 12
    assert list(heads.columns[:7]) == ["kind", "layer", "head", "summary", "role", "finds", "shows"]
    row = heads.iloc[3]
    card = study.head(int(row["layer"]), int(row["head"]))
    assert card.summary == row["summary"]
    assert repr(card).startswith(f"Head {row['layer']}-{row['head']}. {row['summary'][:20]}")
    assert study.head(str(card.id)) == study.head(card.id) == card
    assert card.examples
    assert escape(card.examples[0].text) in card._repr_html_()
    assert set(study._ipython_key_completions_()) == set(study.stats["statistic"])
    assert study.tables._ipython_key_completions_() == list(study.tables)
    for wrong, words in (((9, 99), "no head 9-99; this study has 1-1 to "), ((3,), "layer 3 alone is not a head")):
        with pytest.raises(KeyError) as refused:
            study.head(*wrong)
        assert refused.value.args[0].startswith(words)
    assert {"stats.role.norm", "norms.output_norm", "behaviors.local.norm", "experiments.repeated.induction"} < set(
        heads
    )
    assert heads.groupby(["kind", "layer", "head"]).size().eq(1).all()
    assert heads.columns.is_unique
    for name in ("previous", "entropy"):
        np.testing.assert_array_equal(
            heads.set_index(["layer", "head"])[f"stats.{name}"].unstack().to_numpy(), study[name].to_numpy()
        )
    own = study.table("importance").query("measure == 'gradient' and key_class == 'sep' and head.notna()")
    np.testing.assert_array_equal(heads["importance.gradient.sep"], own.sort_values(["layer", "head"])["value"])


def test_a_study_shows_its_grid_findings_and_page(study, monkeypatch):
    html = study._repr_html_()
    assert html.count("<rect") == 12
    assert "encoder 3-4:" in html
    assert "Heads of the encoder by role" in html
    assert "have no intervals" in html
    assert f'href="{study.report_path.resolve().as_uri()}"' in html
    monkeypatch.chdir(study.path.parent)
    assert 'href="out/report.html"' in study._repr_html_()


def test_what_is_public_and_nothing_else():
    import headscope.present  # noqa: F401 - modules that were imported are no names of the user's

    assert dir(hs) == sorted([*OWN, *COMMANDS])
    assert sorted(hs.__all__) == OWN
    assert all(callable(getattr(hs, name)) or name == "__version__" for name in dir(hs))
    code = "import sys, headscope as hs; hs.syntax; hs.report; print({'torch', 'pandas', 'typer'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_are_functions_with_the_options_of_the_command(name):
    from typer.main import get_command

    from headscope.app.cli.program import app

    typed = {each.name for each in get_command(app).commands[name].params}
    analysis = next(each for each in ANALYSES if each.command and name_of(each.command) == name)
    typed -= {"help", "quiet", "files", "models", *(option.name for option in analysis.command.shown)}
    parameters = inspect.signature(getattr(hs, name)).parameters.values()
    named = {each.name for each in parameters if each.kind is not inspect.Parameter.VAR_POSITIONAL}
    # Functions cannot be typed.
    functions = {each.name for of, each in FUNCTIONS.items() if any(of in stage.options for stage in analysis.stages)}
    assert named == typed | functions | {"model", "out", "tokenizer", "watch"}
    assert "Returns:" in getattr(hs, name).__doc__


def test_a_report_offers_every_option():
    offered = inspect.signature(hs.report).parameters
    functions = {each.name for each in FUNCTIONS.values()}
    assert set(offered) == {*options_of(RunOptions), *functions, "out", "watch", "tokenizer"}
    assert all(name in hs.report.__doc__ for name in offered)


def test_views_offer_what_they_take():
    from headscope.app.on_text import view_of
    from headscope.encoding.choices import LOADING
    from headscope.models.load_model import load_model
    from headscope.views.given_arrays import raw_view
    from headscope.views.model_input import ReadingRequest
    from headscope.views.snapshot_of import reader_of, take_snapshot

    taken = {
        name: each.default
        for function in (view_of, take_snapshot, ReadingRequest, reader_of, raw_view)
        for name, each in inspect.signature(function).parameters.items()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    }
    # Said by the view's name, by `generate`, and by place; what only the library itself hands on.
    hidden = {"neuron", "writes", "text", "text_b", "count_from", "readable", "title"}
    taken |= {name: inspect.signature(load_model).parameters[name].default for name in LOADING}
    assert {each.name for each in VIEW} == {*taken} - hidden | {"tokenizer"}
    for each in VIEW:
        if each.name in taken and each.default is not None:
            assert each.default == taken[each.name], each.name


def test_a_command_finds_what_the_command_line_finds(tmp_path):
    (tmp_path / "my.conllu").write_text(demo_conllu(1, 3), encoding="utf-8")
    found = hs.syntax(treebank=tmp_path / "my.conllu", controls=0, fold_labels=True)
    assert "syntax_best" in found.tables
    assert "stats" not in found.tables
    heads = found.heads
    assert len(heads) == 72
    own = found.table("syntax").query("relation == 'all' and direction == 'dependent->head'")
    own = own.set_index(["layer", "head"])["accuracy"]
    assert heads.set_index(["layer", "head"])["syntax.all.dependent_to_head"].to_dict() == own.to_dict()
    assert "Tables in" in found._repr_html_()
    assert list(hs.open_study(found.path).tables) == list(found.tables)


def test_files_of_a_command_are_written(mine, tmp_path):
    model, tokenizer = mine
    out = tmp_path / "matrix.npy"
    found = hs.distances(model, tokenizer=tokenizer, text=TEXTS, max_length=64, matrix=out)
    assert np.load(out).shape == (12, 12)
    assert {"distances.x", "distances.y", "distances.cluster", "stats.previous"} <= set(found.heads.columns)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: hs.report("The cat sat on the mat."), r"^model is 'The cat sat .*', which reads like a text; .*=$"),
        (lambda: hs.report(["a text"]), r"^model is a list; expected a hub name, a folder, or a model; give texts as"),
        (lambda: hs.report(model=3), r"^model is a int; expected a hub name, a folder, what headscope.load_model"),
        (lambda: hs.report(tokenizer="bert"), r"^a tokenizer was given without its model; "),
        (lambda: hs.report(max_inputs="3"), r"^max_inputs is '3'; expected a whole number$"),
        (lambda: hs.report(max_inputs=True), r"^max_inputs is True; expected a whole number$"),
        (lambda: hs.report(treebank=3), r"^treebank is 3; expected a path, or a list of paths$"),
        (
            lambda: hs.report(include="direction"),
            r"^include 'direction' is not known; choose one of pca, effects, why$",
        ),
        (lambda: hs.report(include=3), r"^include is 3; expected a name, or a list of names$"),
        (lambda: hs.report(fold_labels="yes"), r"^fold_labels is 'yes'; expected True or False$"),
        (lambda: hs.report(packing=["single"]), r"^packing is \['single'\]; expected one of pretraining, paragraphs"),
        (lambda: hs.report(out=3), r"^out is 3; expected a path$"),
        (lambda: hs.syntax(treebnk="my.conllu"), r"^syntax has no option 'treebnk'; .*; did you mean treebank\?$"),
        (lambda: hs.distances(treebank="my.conllu"), r"^distances has no option 'treebank'; it has model, text, "),
        (lambda: hs.importance(loss="mln"), r"^loss 'mln' is not known; .*; did you mean mlm\?$"),
        (lambda: hs.head_view("a cat", head=1), r"^head_view has no option 'head'; .*; did you mean heads\?$"),
        (lambda: hs.head_view("a cat", heads=1), r"^heads is 1; expected a list of whole numbers, as \[1\]$"),
        (lambda: hs.head_view("a cat", layer=[1]), r"^layer is \[1\]; expected a whole number$"),
        (lambda: hs.head_view(["a cat"]), r"^text is a list; expected one text, as a string$"),
        (lambda: hs.heatmap(model="The cat sat."), r"^model is 'The cat sat.', which reads like a text; "),
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_in_words(call, words):
    with pytest.raises(hs.HeadscopeError, match=words):
        call()


def test_a_model_and_its_tokenizer_are_checked(mine):
    model, tokenizer = mine
    for given, words in [
        ({}, r"^model is a BertForMaskedLM without a tokenizer; give tokenizer=, "),
        ({"tokenizer": "bert"}, r"^tokenizer is a str; expected a tokenizer of transformers"),
        ({"tokenizer": tokenizer, "device": "cpu"}, r"^device was given with a model in memory, which is taken as it"),
        ({"tokenizer": hs.load_model().tokenizer}, rf"token ids up to \d+, and the model knows {VOCABULARY}; "),
    ]:
        with pytest.raises(hs.HeadscopeError, match=words):
            hs.report(model, text=TEXTS, **given)

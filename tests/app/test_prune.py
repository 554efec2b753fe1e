"""`headscope prune` and `hs.prune`: a checkpoint without some heads, that plain transformers loads."""

import os
import re
from functools import partial

import pandas as pd
import pytest
import torch

import headscope as hs
from headscope.app.pruning import weakest_heads
from headscope.attention.head_id import HeadId, named_heads
from headscope.models.anatomy import KindLayout
from headscope.models.temporary_changes import quiet_libraries
from support.model_folders import save_tiny_bert, save_tiny_masked_lm

TWO_BY_TWO = [KindLayout(kind="encoder", layers=2, heads=2)]


SAME = "; shapes and configuration stay the same, so the file does not shrink"


@pytest.fixture
def model(tmp_path):
    with quiet_libraries():
        return save_tiny_masked_lm(tmp_path / "model")


@pytest.fixture
def heads(tmp_path):
    path = tmp_path / "heads.txt"
    path.write_text("# of the first layer\n1-2,  2-1\n\n2-1 # twice\n")
    return path


def test_a_head_with_its_vocabulary_head_is_written_whole(cli, model, heads, tmp_path):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    out = tmp_path / "pruned"
    assert cli("prune", "--model", model, "--heads", heads, "--out", out) == (
        0,
        f"wrote {out}: without 2 of 4 heads (1-2, 2-1){SAME}\n",
        "",
    )
    card = (out / "README.md").read_text()
    assert card.startswith("# model without 2 heads\n\n2 attention heads of 4 of model write nothing")
    assert "Removed: 1-2, 2-1.\n" in card
    old, new = (AutoModelForMaskedLM.from_pretrained(folder).state_dict() for folder in (model, out))
    changed = {name for name in old if not torch.equal(old[name], new[name])}
    names = [f"bert.encoder.layer.{layer}.attention.output.dense.weight" for layer in (0, 1)]
    assert old.keys() == new.keys()
    assert changed == set(names)
    for name, head in zip(names, (1, 0)):
        kept = 1 - head
        assert not new[name][:, 8 * head : 8 * head + 8].any()
        assert torch.equal(new[name][:, 8 * kept : 8 * kept + 8], old[name][:, 8 * kept : 8 * kept + 8])
    assert AutoTokenizer.from_pretrained(out)("A cat.") == AutoTokenizer.from_pretrained(model)("A cat.")


def test_a_model_without_a_head_and_python(model, tmp_path):
    bare = save_tiny_bert(tmp_path / "bare")
    pruned = hs.prune(bare, heads=["2-2", HeadId("encoder", 1, 1)], out=tmp_path / "pruned")
    assert (pruned.removed, pruned.heads) == ((HeadId("encoder", 1, 1), HeadId("encoder", 2, 2)), 4)
    again = hs.prune(bare, heads=["2-2"], out=str(tmp_path / "pruned"), replace=True)
    assert again.removed == (HeadId("encoder", 2, 2),)
    study = hs.norms(model=str(again.path), text=["The cat sat.", "A dog ran."], out=tmp_path / "run")
    written = study.heads.set_index(["layer", "head"])["norms.output_norm"]
    assert written[2, 2] == 0
    assert (written.drop((2, 2)) > 0).all()
    # The weakest of a run goes first.
    less = hs.prune(bare, keep=0.75, study=study, by="norms.output_norm", out=tmp_path / "less")
    assert less.removed == (HeadId("encoder", 2, 2),)


TEXT = "The cat sat on the mat.\nIt slept there.\n\nA dog came by.\nIt left the cat alone.\n\n" * 8


@pytest.mark.parametrize("intervention", ["zero", "mean"])
def test_the_loss_before_and_after_is_printed_and_stands_in_the_card(cli, model, heads, tmp_path, intervention):
    (tmp_path / "my.txt").write_text(TEXT)
    given = ["--model", model, "--heads", heads, "--text", tmp_path / "my.txt", "--intervention", intervention]
    code, printed, err = cli("prune", *given, "--out", tmp_path / "pruned")
    assert (code, err) == (0, "")
    first, second = printed.splitlines()
    assert first == f"wrote {tmp_path / 'pruned'}: without 2 of 4 heads (1-2, 2-1){SAME}"
    # Half of the 16 documents fit means, and the others measure.
    number = 16 if intervention == "zero" else 8
    form = r"([+-]?\d+\.\d{3})"
    says = re.fullmatch(
        rf"loss on the hidden words of {number} inputs: {form} nats before, {form} after "
        rf"\({form} nats, 95% interval {form} to {form}\)"
        if number >= 10
        else rf"loss on the hidden words of {number} inputs: {form} nats before, {form} after \({form} nats\)",
        second,
    )
    assert says, second
    before, after, added, *ends = map(float, says.groups())
    assert added == pytest.approx(after - before, abs=0.0011)
    assert not ends or ends[0] <= added <= ends[1]
    card = (tmp_path / "pruned" / "README.md").read_text()
    assert second[1:] in card
    assert ("in the projection's bias" in card) == (intervention == "mean")


def test_the_loss_is_that_of_the_written_checkpoint(model, tmp_path):
    """Before of the pruned model is after of the model: the same inputs, read back."""
    (tmp_path / "my.txt").write_text(TEXT)
    text = tmp_path / "my.txt"
    first = hs.prune(model, heads=["1-2"], text=text, out=tmp_path / "first")
    second = hs.prune(tmp_path / "first", heads=["2-1"], text=text, out=tmp_path / "second")
    assert second.loss.before == pytest.approx(first.loss.after, rel=1e-6)
    both = hs.prune(model, heads=["1-2", "2-1"], text=text, out=tmp_path / "both")
    assert both.loss.after == pytest.approx(second.loss.after, rel=1e-6)
    assert both.loss.before == first.loss.before
    assert first.loss.after != first.loss.before


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"intervention": "mean"}, "--intervention mean takes the mean over a text; give one with --text"),
        (
            {"intervention": "means"},
            "--intervention 'means' is not known; choose one of zero, mean; did you mean mean?",
        ),
        (
            {"intervention": "mean", "text": "The cat sat."},
            "means are fitted on half of the documents and measured on the others, and this text has one; expected two "
            "or more, apart by blank lines",
        ),
    ],
)
def test_a_text_that_is_needed(model, tmp_path, given, words):
    with pytest.raises(hs.HeadscopeError) as refused:
        hs.prune(model, heads=["1-2"], out=tmp_path / "out", **given)
    assert str(refused.value) == words
    assert not (tmp_path / "out").exists()


def test_a_model_without_a_vocabulary_head_has_no_loss(tmp_path):
    bare = save_tiny_bert(tmp_path / "bare")
    with pytest.raises(hs.HeadscopeError) as refused:
        hs.prune(bare, heads=["1-2"], text="The cat sat.", out=tmp_path / "out")
    assert str(refused.value) == (
        "bare is saved as BertModel, which predicts no tokens, so that its loss is not known; leave --text out"
    )


def measured(values):
    places = [("encoder", layer, head) for layer in (1, 2) for head in (1, 2)]
    return pd.DataFrame(places, columns=["kind", "layer", "head"]).assign(
        **{"norms.output_norm": values, "role": "mixed"}
    )


@pytest.mark.parametrize(
    ("values", "keep", "removed"),
    [
        ([3.0, 1.0, 2.0, 4.0], 0.5, ["1-2", "2-1"]),
        ([3.0, 1.0, 2.0, 4.0], 0.51, ["1-2"]),  # at least that share stays
        ([1.0, 1.0, 1.0, 1.0], 0.25, ["1-1", "1-2", "2-1"]),
    ],
)
def test_the_weakest_go(values, keep, removed):
    table = measured(values)
    for rows in (table, table.iloc[[2, 0, 3, 1]] if len(set(values)) > 1 else table):
        heads = partial(weakest_heads, table=rows, measure="norms.output_norm", keep=keep)(TWO_BY_TWO)
        assert [str(head) for head in heads] == removed


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (
            partial(weakest_heads, table=measured([1.0, 2.0, 3.0, 4.0]), measure="norms.outputnorm", keep=0.5),
            "the run has no measure 'norms.outputnorm'; choose one of norms.output_norm; did you mean "
            "norms.output_norm?",
        ),
        (
            partial(
                weakest_heads,
                table=measured([1.0, float("nan"), 3.0, float("nan")]),
                measure="norms.output_norm",
                keep=0.5,
            ),
            "the run has no norms.output_norm of 2 heads, as of 1-2; choose a measure that it has of all heads, or "
            "name the heads to remove with --heads",
        ),
        (
            partial(
                weakest_heads, table=measured([1.0, 2.0, 3.0, 4.0]).iloc[:3], measure="norms.output_norm", keep=0.5
            ),
            "the run measured 3 heads and the model has 4; expected a run of this model",
        ),
        (
            partial(
                weakest_heads,
                table=measured([1.0, 2.0, 3.0, 4.0]).assign(layer=[1, 1, 3, 3]),
                measure="norms.output_norm",
                keep=0.5,
            ),
            "the model has no head 3-1; it has 2 layers of 2 encoder heads",
        ),
        *(
            (
                partial(weakest_heads, table=measured([1.0, 2.0, 3.0, 4.0]), measure="norms.output_norm", keep=keep),
                f"--keep {keep:g} keeps {kept} of 4 heads; expected a share above 0 that leaves some of them out",
            )
            for keep, kept in ((0.0, 0), (0.8, 4), (1.0, 4), (70.0, 280), (-1.0, -4))
        ),
        (partial(named_heads, names=[]), "no head was named; expected one or more, as 8-10"),
        (partial(named_heads, names=["8"]), "'8' is not a head; expected layer-head from 1, as 8-10 or cross 8-10"),
        (partial(named_heads, names=["1-3"]), "the model has no head 1-3; it has 2 layers of 2 encoder heads"),
    ],
)
def test_heads_that_cannot_be_chosen(chosen, said):
    with pytest.raises(hs.HeadscopeError) as refused:
        chosen(TWO_BY_TWO)
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give either --heads with a file of the heads to remove, or --keep with --study and --by, as --keep 0.7"),
        (["--heads", "heads.txt", "--keep", "0.5"], "give either --heads with"),
        (["--heads", "heads.txt", "--by", "norms.output_norm"], "--study and --by choose heads for --keep; leave them"),
        (["--keep", "0.5"], "--keep needs an order of the heads; give --study with the folder of a finished run"),
        (["--heads", "none.txt"], "no such file: none.txt; give a text with a head a line, as 8-10"),
        (["--heads", "."], ". is a folder; expected a regular file; expected a text with a head a line, as 8-10"),
    ],
)
def test_options_that_do_not_go_together(cli, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "heads.txt").write_text("1-1")
    code, out, error = cli("prune", *arguments, "--out", "pruned")
    assert (code, out) == (2, "")
    assert error.startswith(f"headscope: {said}")
    assert not (tmp_path / "pruned").exists()


def test_bytes_that_are_no_text(cli, tmp_path):
    path = tmp_path / "heads.bin"
    path.write_bytes(b"\xff\xfe1-1")
    _, _, error = cli("prune", "--heads", path, "--out", tmp_path / "pruned")
    assert error == f"headscope: {path} is not UTF-8 text; expected a head a line, as 8-10\n"


def test_nothing_is_replaced_unasked(cli, model, heads, tmp_path):
    out = tmp_path / "pruned"
    out.mkdir()
    (out / "mine").write_text("kept")
    code, _, error = cli("prune", "--model", model, "--heads", heads, "--out", out)
    assert code == 2
    assert f"{out} is there already and holds something that headscope did not write; give another --out" in error
    code, _, error = cli("prune", "--model", model, "--heads", heads, "--out", out, "--force")
    assert code == 2
    assert f"{out} holds something that headscope did not write, so --force does not replace it; " in error
    assert [each.name for each in out.iterdir()] == ["mine"]
    (out / "mine").unlink()
    assert cli("prune", "--model", model, "--heads", heads, "--out", out)[0] == 0
    code, _, error = cli("prune", "--model", model, "--heads", heads, "--out", out)
    assert (code, error) == (2, f"headscope: {out} is there already; give another --out, or --force to replace it\n")
    assert cli("prune", "--model", model, "--heads", heads, "--out", out, "--force")[0] == 0


def test_a_class_that_no_auto_class_makes(cli, model, heads, tmp_path):
    config = model / "config.json"
    config.write_text(config.read_text().replace("BertForMaskedLM", "BertForSomething"))
    code, _, error = cli("prune", "--model", model, "--heads", heads, "--out", tmp_path / "pruned")
    assert code == 2
    assert error.startswith(
        "headscope: model: its config.json names the class BertForSomething, which none of AutoModel"
    )


def test_python_says_what_is_missing():
    for given, said in (
        ({"heads": ["1-1"]}, "prune needs out, the folder of the new checkpoint"),
        ({"heads": "1-1", "out": "x"}, 'heads is a text; expected a list of heads, as ["3-7", "3-8"], or the Path of'),
    ):
        with pytest.raises(hs.HeadscopeError) as refused:
            hs.prune(**given)
        assert str(refused.value).startswith(said)


def test_the_modes_of_files_follow_the_umask(cli, model, heads, tmp_path):
    before = os.umask(0o002)
    try:
        code, out, _ = cli("prune", "--model", model, "--heads", heads, "--out", tmp_path / "out")
    finally:
        os.umask(before)
    assert code == 0
    assert "shapes and configuration stay the same" in out
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in (tmp_path / "out").iterdir()}
    assert set(modes.values()) == {"0o664"}, modes

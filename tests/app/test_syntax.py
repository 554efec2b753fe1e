"""`headscope syntax`: table 1 for a terminal, the tables on disk, saved maps, other kinds of model, wrong options."""

import json
import re

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.corpora.trees.treebank import read_treebank
from headscope.present.words import short
from headscope.scans.prepare.annotated import AnnotatedCorpus
from support.commands import run_command
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5
from support.shared_data import data

SCHEMAS = {
    "syntax": "model seed kind layer head direction relation n_arcs reachable accuracy ci_low ci_high q_value",
    "syntax_best": "model seed selection relation n_arcs kind layer head share direction accuracy ci_low ci_high "
    "all_documents all_documents_ci_low all_documents_ci_high "
    "held_out held_out_ci_low held_out_ci_high baseline_offset baseline_accuracy baseline_ci_low baseline_ci_high "
    "margin margin_ci_low margin_ci_high q_value",
    "syntax_differences": "relation than seed n_arcs difference ci_low ci_high",
    "syntax_baselines": "baseline offset relation n_arcs accuracy ci_low ci_high",
    "syntax_by_distance": "model kind layer head direction relation distance n_arcs accuracy ci_low ci_high "
    "baseline_offset baseline_accuracy",
    "syntax_noop": "kind layer head direction relation key_class n_words n_other_words attending others "
    "difference ci_low ci_high",
    "syntax_examples": "kind layer head direction relation outcome value document segment tokens weights queries "
    "keys predicted",
}
HEADS = ["kind", "layer", "head", "direction", "relation"]
TOTALS = ("all", "all_but_punct_root")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("syntax")


@pytest.fixture(scope="module")
def treebank(folder):
    path = folder / "small.conllu"
    path.write_text(demo_conllu(1, 24), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def sentences(treebank):
    return [s for document in read_treebank(treebank) for s in document.sentences]


@pytest.fixture(scope="module")
def model(folder):
    return save_tiny_bert(folder / "tiny")


@pytest.fixture(scope="module")
def syntax(model, treebank, folder):
    """Run the command with some options into a folder of its own; return what it said, and the folder."""
    made = {}

    def run(*options, source=("--treebank", treebank), which=model):
        key = (*options, *source, which)
        if key not in made:
            out = folder / f"out-{len(made)}"
            of = () if which is None else ("--model", which)
            code, said, err = run_command("syntax", *of, *source, "--out", out, "--quiet", *options)
            assert (code, err) == (0, "")
            made[key] = said, out
        return made[key]

    return run


def table(out, name):
    return pd.read_parquet(out / "tables" / f"{name}.parquet")


def manifest(out):
    return json.loads((out / "manifest.json").read_text())


def test_table_1_for_a_terminal(syntax):
    said, out = syntax("--controls", 1)
    lines = said.splitlines()
    best = table(out, "syntax_best")
    shown = best[(best["model"] == "trained") & (best["selection"] == "held-out")]
    control = best[(best["model"] == "control") & (best["selection"] == "held-out")].set_index("relation")
    assert len(shown) >= 5
    start = lines.index("Best head of each relation:") + 1
    for row in shown[~shown["relation"].isin(TOTALS)].to_dict("records"):
        (line,) = [line for line in lines[start + 1 :] if line.startswith(f"{short(row['relation'])} ")]
        assert f" {row['layer']}-{row['head']} " in line
        assert f"{100 * row['accuracy']:.1f} " in line
        assert f"{100 * control.loc[row['relation'], 'held_out']:.1f}" in line
        assert line.endswith(f"{row['n_arcs']:,}")


def test_the_tables_are_as_promised(syntax, sentences):
    _, out = syntax("--controls", 1)
    assert sorted(path.stem for path in (out / "tables").iterdir()) == sorted(SCHEMAS)
    for name, columns in SCHEMAS.items():
        own = table(out, name)
        assert list(own.columns) == columns.split(), name
        assert len(own), name
        for column in {"accuracy", "ci_low", "ci_high", "share", "reachable", "baseline_accuracy"} & {*own.columns}:
            if (name, column[:3]) not in (("syntax_noop", "ci_"), ("syntax_differences", "ci_")):
                assert own[column].dropna().between(0, 1).all(), (name, column)
    counted = pd.Series([label for sentence in sentences for label in sentence.relations]).value_counts()
    heads = table(out, "syntax")
    assert set(zip(heads["layer"], heads["head"])) == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert set(heads["kind"]) == {"encoder"}
    assert set(heads["direction"]) == {"dependent->head", "head->dependent"}
    seeds = heads.drop_duplicates("model").set_index("model")["seed"]
    assert seeds["control"] == 0
    assert pd.isna(seeds["trained"])
    # Bidirectional attention reaches every head but that of the root.
    assert (heads[~heads["relation"].isin(TOTALS)]["reachable"] == 1).all()
    frequent = {name: n for name, n in counted.items() if n >= 100 and name != "root"}
    relations = heads.drop_duplicates("relation").set_index("relation")["n_arcs"]
    assert relations.drop(list(TOTALS)).to_dict() == frequent
    assert relations["all"] == counted.sum()
    assert relations["all_but_punct_root"] == counted.sum() - counted["punct"] - counted["root"]


def test_baselines_and_a_head_agree_with_a_plain_loop(syntax, sentences, model):
    """Word by word over transformers' own weights; near ties may fall either way in another batch."""
    from transformers import AutoModel, AutoTokenizer

    _, out = syntax("--controls", 1)
    own = AutoModel.from_pretrained(model, attn_implementation="eager").eval()
    tokenizer = AutoTokenizer.from_pretrained(model)
    hits = {direction: [0, 0] for direction in ("dependent->head", "head->dependent")}
    offset = n = 0
    for sentence in sentences:
        inputs = tokenizer(list(sentence.words), is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            weights = own(**inputs, output_attentions=True).attentions[1][0].double().numpy()
        number = len(sentence.words)
        pieces = np.array([[place == i for place in inputs.word_ids(0)] for i in range(number)], dtype=float)
        word = pieces / pieces.sum(1, keepdims=True) @ weights @ pieces.T
        for i, (gold, label) in enumerate(zip(sentence.heads, sentence.relations)):
            if label != "det":
                continue
            n += 1
            offset += gold - 1 == i + 1
            for head in range(2):
                others = [j for j in range(number) if j != i]
                hits["dependent->head"][head] += gold - 1 == max(others, key=lambda j: word[head, i, j])
                hits["head->dependent"][head] += gold - 1 == max(others, key=lambda j: word[head, j, i])
    heads = table(out, "syntax").query("model == 'trained' and relation == 'det' and layer == 2")
    assert (heads["n_arcs"] == n).all()
    for row in heads.to_dict("records"):
        assert row["accuracy"] * n == pytest.approx(hits[row["direction"]][row["head"] - 1], abs=2)
    fixed = table(out, "syntax_baselines").query("relation == 'det' and offset == 1")
    assert set(fixed["baseline"]) == {"offset", "right-branching"}
    np.testing.assert_allclose(fixed["accuracy"], offset / n)


def test_a_finished_run_is_shown_again_without_a_scan(syntax, model, treebank, monkeypatch):
    said, out = syntax("--controls", 1)
    monkeypatch.setattr("headscope.analyses.syntax.compute.collect", lambda *_, **__: pytest.fail("scanned again"))
    again = run_command("syntax", "--model", model, "--treebank", treebank, "--controls", 1, "--out", out, "-q")
    assert again == (0, said, "")


@pytest.mark.slow
def test_saved_maps_give_the_same_numbers(syntax, model, treebank, folder):
    flat, maps = folder / "small.json", folder / "maps"
    assert run_command("convert", treebank, flat)[0] == 0
    extracted = run_command(
        *("extract", "--model", model, "--text", flat, "--out", maps), *("--store", "float32", "--packing", "single")
    )
    assert extracted[0] == 0
    _, by_model = syntax("--controls", 0, source=("--treebank", flat))
    said, by_maps = syntax(source=("--maps", maps), which=None)
    assert "control" not in said
    assert "Read 129 documents, 129 sentences and" in said
    first, second = (table(out, "syntax").set_index(HEADS) for out in (by_model, by_maps))
    assert set(first.index) == set(second.index)
    first = first.loc[second.index]
    assert (first["n_arcs"] == second["n_arcs"]).all()
    # float32 is kept whole: only a tie in another batch can make a difference.
    assert ((first["accuracy"] - second["accuracy"]).abs() * first["n_arcs"]).max() < 2.5
    fixed = [table(out, "syntax_baselines")["accuracy"] for out in (by_model, by_maps)]
    np.testing.assert_array_equal(*fixed)
    # Another way of reading the same maps takes the place of the first.
    assert run_command("syntax", "--maps", maps, "--fold-labels", "--out", by_maps, "-q")[0] == 0
    assert not table(by_maps, "syntax")["relation"].str.contains(":").any()
    assert run_command("syntax", "--maps", maps, "--treebank", flat) == (
        2,
        "",
        "headscope: both a corpus and saved maps were given; a run reads one of them\n",
    )
    assert run_command("syntax", "--maps", maps, "--shuffled") == (
        2,
        "",
        "headscope: --maps holds what a model made of the words in order; leave --shuffled out\n",
    )


def test_maps_without_trees_are_refused(model, folder):
    text, maps = folder / "text.txt", folder / "text-maps"
    text.write_text("The cat sat.\nA dog came.\n")
    assert run_command("extract", "--model", model, "--text", text, "--out", maps)[0] == 0
    code, said, err = run_command("syntax", "--maps", maps, "-q")
    assert (code, said) == (2, "")
    assert re.sub(r"document \w+", "document X", err) == (
        "headscope: segment 1 of document X of these maps has no tree: expected the fields heads and relns; extract "
        "the maps from a treebank's JSON (headscope convert makes it)\n"
    )


def test_folded_labels_are_counted_together(syntax, sentences):
    _, out = syntax("--controls", 0, "--fold-labels")
    labels = [label.partition(":")[0] for sentence in sentences for label in sentence.relations]
    n = table(out, "syntax").drop_duplicates("relation").set_index("relation")["n_arcs"]
    assert not any(":" in name for name in n.index)
    assert n["nsubj"] == labels.count("nsubj")
    _, plain = syntax("--controls", 1)
    kept = table(plain, "syntax").drop_duplicates("relation").set_index("relation")["n_arcs"]
    assert n["nsubj"] > kept["nsubj"]
    assert (manifest(out)["treebank"]["folded"], manifest(plain)["treebank"]["folded"]) == (True, False)


def test_special_tokens_as_candidates_change_as_many_accuracies_as_the_manifest_says(syntax):
    _, plain = syntax("--controls", 1)
    _, kept = syntax("--controls", 0, "--special-tokens")
    first, second = (
        table(out, "syntax").query("model == 'trained'").set_index(HEADS)["accuracy"] for out in (plain, kept)
    )
    difference = (first - second[first.index]).abs()
    for out, special in ((plain, False), (kept, True)):
        facts = manifest(out)["treebank"]
        assert facts["special_kept"] is special
        assert facts["special_changes"]["of"] == len(first)
        assert facts["special_changes"]["accuracies"] == pytest.approx((difference > 1e-12).sum(), abs=2)
        assert facts["special_changes"]["largest"] == pytest.approx(difference.max(), abs=0.02)
    assert difference.max() > 0


def test_shuffled_words_both_directions_and_a_limit(syntax, treebank):
    _, out = syntax("--controls", 0, "--shuffled", "--both-directions", "--max-inputs", 70)
    heads, best = table(out, "syntax"), table(out, "syntax_best")
    assert set(heads["model"]) == set(best["model"]) == {"trained", "shuffled"}
    assert set(heads["direction"]) == {"dependent->head", "head->dependent", "both"}
    assert heads[heads["model"] == "shuffled"]["q_value"].isna().all()
    n = heads.groupby(["model", "relation"])["n_arcs"].unique()
    drawn = AnnotatedCorpus.treebank((str(treebank),)).read(sentences=70)
    words = sum(len(sentence) for document in drawn for sentence in document.sentences)
    assert n["trained", "all"].tolist() == n["shuffled", "all"].tolist() == [words]
    assert manifest(out)["treebank"]["sentences"] == 70
    rates = heads[heads["relation"] == "all"].set_index(["model", "layer", "head", "direction"])["accuracy"]
    assert not np.allclose(rates["trained"], rates["shuffled"])


def test_the_originals_choices_have_no_held_out_row(syntax):
    said, out = syntax("--controls", 0, "--compat", "original")
    best = table(out, "syntax_best")
    assert set(best["selection"]) == {"same-data"}
    assert best["share"].isna().all()
    assert best["baseline_offset"].between(-3, 2).all()
    assert "Table: the paper’s way, chosen and scored on the same sentences" in said
    facts = manifest(out)["treebank"]
    assert (facts["compat"], facts["pooling"]) == ("original", "first")
    options = manifest(out)["signature"]["options"]
    assert (options["compat"], options["pooling"]) == ("original", "first")


def test_a_byte_level_decoder(syntax, sentences, folder):
    gpt2 = save_tiny_gpt2(folder / "gpt2", [sentence.text for sentence in sentences])
    _, out = syntax("--controls", 0, which=gpt2)
    heads = table(out, "syntax")
    assert set(heads["kind"]) == {"decoder"}
    assert manifest(out)["treebank"]["words_dropped"] == manifest(out)["treebank"]["words_merged"] == 0
    # A word sees what stands left of it: a determiner not its noun, the noun its determiner.
    arcs = [
        head < number
        for sentence in sentences
        for number, (head, label) in enumerate(zip(sentence.heads, sentence.relations), 1)
        if label == "det"
    ]
    left = sum(arcs) / len(arcs)
    assert left < 0.5
    det = heads[heads["relation"] == "det"].groupby("direction")["reachable"].unique()
    assert det["dependent->head"].tolist() == [pytest.approx(left)]
    assert det["head->dependent"].tolist() == [pytest.approx(1 - left)]
    assert (heads["accuracy"] <= heads["reachable"] + 1e-12).all()
    examples = table(out, "syntax_examples")
    assert all(len(row.weights) == len(row.tokens) ** 2 for row in examples.itertuples())


def test_an_encoder_and_a_decoder_in_one(syntax, sentences, folder):
    t5 = save_tiny_t5(folder / "t5", [sentence.text for sentence in sentences])
    said, out = syntax("--controls", 0, which=t5)
    heads = table(out, "syntax")
    assert set(heads["kind"]) == {"encoder", "decoder"}
    assert heads.groupby("kind")["n_arcs"].nunique().nunique() == 1
    (line,) = [line for line in said.splitlines() if line.startswith("all words ")]
    assert " encoder " in line or " decoder " in line


def test_a_real_treebank_without_documents(model):
    path = data("ud-french-gsd/fr_gsd-ud-dev.conllu")
    arguments = ("--treebank", path, "--max-inputs", 60, "--max-length", 512, "--controls", 0, "-q")
    code, said, err = run_command("syntax", "--model", model, *arguments)
    assert (code, err) == (0, "")
    lines = said.splitlines()
    drawn = AnnotatedCorpus.treebank((str(path),)).read(sentences=60)
    words = sum(len(sentence) for document in drawn for sentence in document.sentences)
    (line,) = [line for line in lines if line.startswith("all words ")]
    assert line.endswith(f"{words:,}")
    assert {"det", "case", "nmod"} <= {line.split()[0] for line in lines if line}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--compat", "orginal"), "--compat 'orginal' is not known; the only choice is original"),
        (("--pooling", "middle"), "--pooling 'middle' is not known; choose one of mean, first, max"),
        (("--pooling", "frist"), "--pooling 'frist' is not known; choose one of mean, first, max; did you mean first?"),
        (
            ("--compat", "original", "--pooling", "max"),
            "--compat original and --pooling max contradict each other: the original's notebook reads attention from a "
            "cut word's first piece; leave one of the two out",
        ),
        (
            ("--compat", "original", "--special-tokens"),
            "--compat original and --special-tokens contradict each other: the original's notebook leaves special "
            "tokens out; leave one of the two out",
        ),
        (("--max-length", 5), "no sentence of small.conllu fits into --max-length 5 tokens; raise it"),
        (("--max-length", 3), "--max-length 3 leaves no room beside the special tokens; expected at least 5 tokens"),
    ],
)
def test_wrong_options_in_one_sentence(cli, model, treebank, options, sentence):
    arguments = ("syntax", "--model", model, "--treebank", treebank, "-q", *options)
    assert cli(*arguments) == (2, "", f"headscope: {sentence}\n")


def test_a_negative_number_of_controls(cli, treebank):
    code, said, err = cli("syntax", "--treebank", treebank, "--controls", "-1")
    assert (code, said) == (2, "")
    assert err == "headscope: --controls '-1' is not known; give a number from 0, or auto\n"


def test_treebanks_that_cannot_be_read(cli, tmp_path, monkeypatch):
    missing = tmp_path / "no.conllu"
    circle = tmp_path / "circle.conllu"
    row = "{}\t{}\t_\t_\t_\t_\t{}\tdep\t_\t_\n"
    circle.write_text(row.format(1, "a", 2) + row.format(2, "b", 1) + row.format(3, "c", 0) + "\n")
    flat = tmp_path / "flat.conllu"
    flat.write_text("1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n")
    cases = {
        missing: f"no such file: {missing}; give a .conllu file, a .txt file of word head-label lines, a .json file "
        "with words, heads and relns, or a directory of them",
        circle: f"{circle}, line 1: heads run in a circle: word 1 ('a') -> word 2 ('b') -> word 1; expected every word "
        "to lead to the root",
        "ud:en_ewt": "HF_HUB_OFFLINE is set, and ud:en_ewt was not fetched before; unset it once to fetch it, or give "
        "a local file",
    }
    monkeypatch.setattr("huggingface_hub.constants.HF_ASSETS_CACHE", str(tmp_path / "assets"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    for path, sentence in cases.items():
        assert cli("syntax", "--treebank", path, "-q") == (2, "", f"headscope: {sentence}\n")
    code, said, err = cli("syntax", "--treebank", flat, "-q")
    assert (code, said) == (2, "")
    assert err.startswith(f"headscope: {flat}, line 1: ")

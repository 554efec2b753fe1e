"""Stages of a run: which are measured, what is kept when one is stopped, what a signature depends on, the page."""

import json
from pathlib import Path

import pytest

import headscope as hs
from headscope.errors import OptionError
from headscope.present.study import open_study
from headscope.running.stages import stages_of
from headscope.running.writing import read_stages, write_run
from headscope.scans.declarations.analysis_list import ANALYSES, REQUESTS, STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare import annotated
from headscope.scans.prepare.prepared_run import prepare
from support.demo_treebank import demo_conllu, demo_documents
from support.measured import blank_figures
from support.model_folders import save_tiny_bert, save_tiny_gpt2


def measured(*read, given=None):
    """What is measured of text and these corpora beside, in order, by what stages declare.

    Args:
        read: names of corpora, and of options that a stage may want.
        given: those of them that somebody gave, where some come of themselves.
    """
    return [
        name
        for name, stage in STAGES.items()
        if not stage.by_name
        and set(stage.corpora) <= {"text", *read}
        and set(stage.required_options) <= set(read if given is None else given)
    ]


def declared(*stages):
    """The names of the tables that stages declare, by the names of the stages."""
    owners = {stage.name: (analysis, stage) for analysis in ANALYSES for stage in analysis.stages}
    return {schema.name for name in stages for schema in owners[name][0].tables(owners[name][1])}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("stages")


@pytest.fixture(scope="module")
def corpora(folder):
    """A corpus that gives trees and mentions, another of one document, and a text."""
    (folder / "all.conllu").write_text(demo_conllu(1, 10), encoding="utf-8")
    (folder / "one.conllu").write_text(demo_conllu(101, 101), encoding="utf-8")
    (folder / "text.txt").write_text("The cat sat on the mat.\nIt slept.\n\nA dog came by.\nIt left.\n")
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return str(save_tiny_bert(folder / "tiny"))


@pytest.fixture(scope="module")
def asked(corpora, model):
    both = (str(corpora / "all.conllu"),)
    return RunOptions(model=model, treebank=both, coref=both, controls=0)


@pytest.fixture
def without_figures():
    """Leave the figures out: drawing takes most of a report's time and has tests of its own."""
    with blank_figures():
        yield


@pytest.mark.slow
def test_a_report_on_annotated_corpora_reads_their_sentences(asked, corpora, without_figures):
    out = corpora / "whole"
    write_run(prepare(asked), out)
    assert [result.name for result in read_stages(out)] == measured("treebank", "coreference")
    assert [result.name for result in read_stages(out, "map", "syntax")] == ["syntax", "map"]
    study = hs.report(model=asked.model, treebank=asked.treebank[0], coref=asked.coref[0], out=out, controls=0)
    sentences = sum(len(document.sentences) for document in demo_documents(1, 10))
    assert study.manifest["signature"]["corpus"]["name"] == "all.conllu"
    assert study.manifest["counts"]["documents"] == study.manifest["counts"]["documents_used"] == 10
    assert study.manifest["treebank"]["sentences"] == sentences
    # 10 documents are enough for intervals.
    assert study.manifest["notes"] == []
    assert repr(study).startswith(
        f"<Study of tiny: 2 x 2 encoder heads; {study.manifest['counts']['segments']} segments of 10 documents; trees "
        f"of {sentences} sentences; {study.manifest['coreference']['counted']} mentions with an antecedent; "
    )
    assert list(study.roles.columns) == ["kind", "layer", "head", "role", "finds"]
    assert all(isinstance(found, list) for found in study.roles["finds"])
    page = study.report_path.read_text(encoding="utf-8")
    assert 'id="section-syntax"' in page
    assert 'id="section-coref"' in page
    for row in study.table("syntax_best").query("selection == 'held-out'").to_dict("records"):
        assert f"{100 * row['accuracy']:.1f}" in page
    assert "Same head word, else nearest" in page


@pytest.mark.slow
def test_a_report_on_a_byte_level_decoder(corpora, folder, without_figures):
    documents = demo_documents(1, 10)
    sentences = [sentence.text for document in documents for sentence in document.sentences]
    gpt2 = save_tiny_gpt2(folder / "gpt2", sentences)
    path = corpora / "all.conllu"
    study = hs.report(model=gpt2, treebank=path, coref=path, out=corpora / "gpt2-report", controls=0)
    assert study.kinds == ["decoder"]
    assert set(study.tables) == declared(*measured("treebank", "coreference"))
    page = study.report_path.read_text(encoding="utf-8")
    assert 'id="section-syntax"' in page
    assert 'id="section-coref"' in page


def test_few_documents_are_noted_once_and_truly(corpora, model, tmp_path):
    write_run(prepare(RunOptions(model=model, text=(str(corpora / "text.txt"),), packing="single")), tmp_path)
    assert open_study(tmp_path).manifest["notes"] == ["intervals need at least 10 documents; this run has 2"]


@pytest.mark.slow
def test_nothing_given_means_the_demonstration_corpora(model, tmp_path, monkeypatch):
    few = tmp_path / "few.conllu"
    few.write_text(demo_conllu(1, 12), encoding="utf-8")
    monkeypatch.setattr(annotated, "demo_treebank", lambda: few)
    annotated.demo_documents.cache_clear()
    try:
        run = prepare(RunOptions(model=model, controls=0, max_inputs=12))
        assert [stage.name for stage in stages_of(run)] == measured("treebank", "coreference", given=())
        write_run(run, tmp_path / "out")
    finally:
        annotated.demo_documents.cache_clear()
    study = open_study(tmp_path / "out")
    assert set(study.tables) == declared(*measured("treebank", "coreference", given=()))
    assert study.manifest["treebank"]["sentences"] == 12
    assert study.manifest["treebank"]["name"] == study.manifest["coreference"]["name"]
    # One of each: the text is the demonstration's, not that of the trees.
    assert study.manifest["signature"]["corpus"]["name"] == "demo.txt"


def signature(**options):
    return prepare(RunOptions(**{"controls": 0, **options})).signature["id"]


@pytest.mark.slow
def test_what_a_signature_depends_on(corpora, model):
    every, one = (str(corpora / name) for name in ("all.conllu", "one.conllu"))
    text = (str(corpora / "text.txt"),)
    base = {"model": model, "treebank": (one,)}
    first = signature(**base)
    assert signature(**base) == first
    others = [{"treebank": (every,)}, {"coref": (one,)}, {"text": text}, {"fold_labels": True}, {"max_inputs": 3}]
    ids = [signature(**{**base, **other}) for other in others]
    assert len({first, *ids}) == len(others) + 1
    assert signature(**base, batch_size=3, strict=True) == first
    alone = signature(model=model, text=text)
    assert signature(model=model, text=text, fold_labels=True, pooling="max") == alone
    assert signature(model=model, text=text, controls=1) != alone
    # Its cuts come from one stream.
    assert signature(model=model, text=text, compat="original") != alone


def test_which_options_shape_which_numbers():
    def shaping(**options):
        # Explanations read whatever corpus is given, so their options shape every run.
        return json.dumps(RunOptions(skip=("explanation",), **options).shaping, sort_keys=True)

    changes = {
        "treebank": [
            *({"fold_labels": True}, {"pooling": "max"}, {"special_tokens": True}, {"both_directions": True}),
            *({"compat": "original"}, {"controls": 1}, {"shuffled": True}, {"max_length": 64}, {"max_inputs": 3}),
            {"stages": ("syntax",)},
        ],
        "coref": [
            *(
                {"pooling": "max"},
                {"compat": "original"},  # which fixes pieces for the whole run
                {"controls": 1},
                {"windows": "first"},
                {"singletons": False},
                {"strict": True},
            ),
            *({"max_length": 64}, {"max_inputs": 3}, {"stages": ("coref",)}),
        ],
        "text": [
            *({"packing": "single"}, {"too_long": "skip"}, {"max_length": 64}, {"max_inputs": 3}),
            *({"compat": "original"}, {"controls": 1}),
        ],
    }
    every = [*changes["treebank"], *changes["coref"], *changes["text"][:2]]
    for corpus, own in changes.items():
        # Annotated corpora are read as text too, so that the options of text shape their runs as well.
        shaped_by = [*own, *changes["text"]]
        plain = shaping(**{corpus: ("a",)})
        for change in every:
            changed = shaping(**{corpus: ("a",), **change})
            assert (changed != plain) == (change in shaped_by or "stages" in change), (corpus, change)


@pytest.mark.slow
def test_stages_follow_what_was_given(corpora, model, tmp_path):
    one, text = (str(corpora / name) for name in ("one.conllu", "text.txt"))
    cases = [
        ({"text": (text,)}, measured()),
        ({"text": (text,), "loss": "mlm"}, measured("loss")),
        ({"treebank": (one,)}, measured("treebank")),
        ({"coref": (one,)}, measured("coreference")),
        ({"treebank": (one,), "stages": ("syntax",)}, ["syntax"]),
        ({"treebank": (one,), "treebank_train": (one,), "allow_overlap": True}, measured("treebank", "treebank_train")),
    ]
    for options, expected in cases:
        run = prepare(RunOptions(model=model, **options))
        assert [stage.name for stage in stages_of(run)] == expected
    gap = tmp_path / "own.tsv"
    gap.write_text(
        "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"
        "own-1\tAnna met Clara when she left.\tshe\t20\tAnna\t0\tTRUE\tClara\t9\tFALSE\tx\n"
    )
    alone = RunOptions(model=model, coref=(str(gap),), stages=("coref",))
    assert [stage.name for stage in stages_of(prepare(alone))] == ["gap"]
    together = RunOptions(model=model, coref=(str(gap),), treebank=(one,))
    assert [stage.name for stage in stages_of(prepare(together))] == measured("treebank", "gap")
    with pytest.raises(OptionError) as refused:
        prepare(RunOptions(model=model, coref=(str(gap),)))
    assert str(refused.value) == ("GAP has no text to read heads on; give --text too, or use headscope coref")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"controls": -1}, "controls is -1; expected a number from 0"),
        ({"compat": "orginal"}, "compat 'orginal' is not known; choose one of original"),
        ({"windows": "last"}, "windows 'last' is not known; choose one of all, first"),
        ({"stages": ("heads",)}, "stage 'heads' is not known; choose from " + ", ".join(REQUESTS)),
        ({"loss": "mse"}, "loss 'mse' is not known; choose one of none, mlm, clm, denoise"),
        ({"seeds": 0}, "seeds is 0; expected a whole number from 1"),
        (
            {"treebank_train": ("a",)},
            "--treebank-train was given without --treebank; probes are trained on the one and measured on the other",
        ),
        (
            {"maps": Path("a"), "loss": "mlm"},
            "saved maps hold no gradients; leave --loss out, or give a model and text in place of --maps",
        ),
        (
            {"vectors": Path("no-such-file")},
            "--vectors no-such-file cannot be read (No such file or directory); expected a GloVe or word2vec text file",
        ),
    ],
)
def test_wrong_options_from_python(options, sentence):
    with pytest.raises(OptionError) as refused:
        _ = RunOptions(**options).vectors_hash
    assert str(refused.value) == sentence


def test_a_loss_for_another_kind_of_model_is_refused_before_any_stage(corpora, model, tmp_path):
    options = RunOptions(model=model, text=(str(corpora / "text.txt"),), loss="clm")
    with pytest.raises(OptionError) as refused:
        write_run(prepare(options), tmp_path / "out")
    assert str(refused.value) == "loss clm is for decoders, and tiny is an encoder; choose loss mlm"
    assert not (tmp_path / "out" / "tables").exists()

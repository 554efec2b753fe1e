"""The paper's tables of a study, and a study for other programs."""

import csv
import io
import json
import re
import shutil
import subprocess
import zipfile
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from headscope.errors import OptionError, OutputError
from headscope.present.words import words_for
from headscope.reporting.export import export, workbook_bytes
from headscope.scans.declarations.analysis_list import ANALYSES
from support import mock_inputs
from support.mock_probes import with_probes
from support.mock_study import write_study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    return write_study(with_probes(mock_inputs.section_4(2, 3)), tmp_path_factory.mktemp("runs") / "study")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    run = with_probes(mock_inputs.section_4(2, 3, documents=4), documents=4)
    return write_study(run, tmp_path_factory.mktemp("runs") / "few")


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    return write_study(mock_inputs.encoder(1, 2), tmp_path_factory.mktemp("runs") / "bare")


def tables(study):
    return [study.table_1(), study.table_2(), study.table_3()]


def body(latex):
    """The cells of a LaTeX tabular, line by line."""
    inside = latex.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    return [[cell.strip() for cell in line.removesuffix(r" \\").split(" & ")] for line in inside.strip().splitlines()]


NAMES = sorted(name for analysis in ANALYSES for name in analysis.paper)


def test_each_table_has_one_maker():
    assert len(NAMES) == len({*NAMES})
    assert NAMES[:3] == ["table-1", "table-2", "table-3"]


def test_table_1_has_the_numbers_of_the_run(study):
    best = study.table("syntax_best")
    (obj,) = best[
        (best["model"] == "trained") & (best["selection"] == "held-out") & (best["relation"] == "obj")
    ].to_dict("records")
    made = study.table_1()
    (row,) = made.frame[made.frame["relation"] == "obj"].to_dict("records")
    assert (row["accuracy"], row["q"], row["n_arcs"]) == (obj["accuracy"], obj["q_value"], obj["n_arcs"])
    assert row["head"] == f"{obj['layer']}-{obj['head']}"
    assert row["offset_accuracy"] == obj["baseline_accuracy"]
    line = next(cells for cells in body(made.to_latex()) if cells[0] == "obj")
    low, high = 100 * obj["ci_low"], 100 * obj["ci_high"]
    assert line[3] == f"{100 * obj['accuracy']:.1f} ({low:.1f}--{high:.1f})"
    assert line[2] == r"dependent $\rightarrow$ head"


def test_table_2_and_3_have_theirs(study):
    table, made = study.table("coref"), study.table_2()
    (row,) = made.frame[made.frame["system"] == "Nearest candidate"].to_dict("records")
    own = table[(table["system"] == "nearest") & (table["mention_type"] == "pronoun")].iloc[0]
    assert (row["pronoun"], row["pronoun_n_mentions"]) == (own["accuracy"], own["n_mentions"])
    probes, wide = study.table("probes"), study.table_3().frame
    means = probes[probes["seed"].isna() & (probes["measure"] == "UAS") & (probes["model"] == "trained")]
    (line,) = wide[wide["probe"] == "Right-branching"].to_dict("records")
    assert line["score"] == means.loc[means["probe"] == "right-branching", "value"].iloc[0]


def test_every_run_has_tables_of_heads_and_layers(bare):
    heads, layers = bare.paper_tables()
    assert (heads.name, layers.name) == ("table-heads", "table-layers")
    roles = bare.heads["role"].value_counts()
    assert dict(zip(heads.frame["role"], heads.frame["n_heads"], strict=True)) == {
        words_for(bare.manifest).roles[name]: number for name, number in roles.items()
    }
    stats = bare.stats
    means = stats[stats["head"].isna() & (stats["statistic"] == "entropy") & (stats["measure"] == "weight")]
    np.testing.assert_allclose(layers.frame["entropy"], means.sort_values("layer")["value"])
    assert len(layers.frame) == bare.stats["layer"].nunique()


def test_the_strongest_head_of_a_role_has_its_largest_share(study):
    made = next(table for table in study.paper_tables() if table.name == "table-heads")
    heads = study.heads
    for row in made.frame.dropna(subset="attention").to_dict("records"):
        (name,) = [name for name, label in words_for(study.manifest).roles.items() if label == row["role"]]
        shares = heads.loc[heads["role"] == name, f"stats.{name}"]
        assert row["attention"] == pytest.approx(shares.max())
        best = heads.loc[shares.idxmax()]
        assert row["head"] == f"{best['layer']}-{best['head']}"


@pytest.mark.parametrize("place", range(len(NAMES)))
def test_latex_is_well_formed_and_csv_reads_back(study, place):
    every = study.paper_tables()
    if place >= len(every):
        pytest.skip("the made-up run does not fill this table")
    made = every[place]
    latex = made.to_latex()
    assert latex.count(r"\begin{table") == latex.count(r"\end{table") == 1
    columns = len(re.search(r"\\begin\{tabular\}\{([lcr]+)\}", latex)[1])
    assert {len(cells) for cells in body(latex)} == {columns} == {len(made.columns)}
    unescaped = re.sub(r"\\[&%$#_{}]", "", latex.partition(r"\midrule")[2].partition(r"\bottomrule")[0])
    assert not re.search(r"[%#_]", unescaped)
    assert rf"\label{{tab:headscope-{made.name.removeprefix('table-')}}}" in latex
    read = pd.read_csv(io.StringIO(made.to_csv()))
    assert list(read.columns) == list(made.frame.columns)
    numbers = made.frame.select_dtypes("number").columns
    assert len(numbers) > 3
    for name in numbers:
        np.testing.assert_allclose(read[name], made.frame[name].astype(float), rtol=1e-12)


def test_what_was_not_tested_is_said_to_be_so(few):
    made = few.table_1()
    said = {cells[-2] for cells in body(made.to_latex()) if not cells[0].startswith("all")}
    assert said == {"not tested"}
    assert made.frame["q"].isna().all()
    assert "not tested" in made._repr_html_()


def test_hostile_names_do_not_leave_their_cell(tmp_path):
    run = mock_inputs.section_4(2, 3)
    best = run.tables.get("syntax_best")
    best = best.assign(relation=best["relation"].replace("obj", r"\input{x}&%"))
    run.tables["syntax_best"] = best
    made = write_study(run, tmp_path / "run").table_1()
    assert r"\textbackslash{}input\{x\}\&\%" in made.to_latex()


def test_a_study_without_it_says_what_would_measure_it(bare):
    with pytest.raises(KeyError, match="run headscope report with --treebank'"):
        bare.table_1()
    with pytest.raises(KeyError, match="run headscope report with --coref'"):
        bare.table_2()
    with pytest.raises(KeyError, match="run headscope report with --treebank and --treebank-train'"):
        bare.table_3()


def test_csv_holds_the_papers_tables_and_the_runs(study, tmp_path):
    written = export(study, tmp_path / "out", form="csv")
    assert [path.name for path in written] == [
        *(f"{table.name}.csv" for table in study.paper_tables()), *(f"{name}.csv" for name in study.tables)
    ]  # fmt: skip
    stats = pd.read_csv(tmp_path / "out" / "stats.csv")
    np.testing.assert_allclose(stats["value"], study.table("stats")["value"], rtol=1e-12)
    examples = list(csv.DictReader((tmp_path / "out" / "examples.csv").open(encoding="utf-8", newline="")))
    assert json.loads(examples[0]["tokens"]) == list(study.examples["tokens"].iloc[0])


def test_latex_holds_the_papers_tables(study, bare, tmp_path):
    written = export(study, tmp_path / "out", form="latex")
    assert [path.stem for path in written] == [table.name for table in study.paper_tables()]
    assert [path.stem for path in written[:3]] == ["table-1", "table-2", "table-3"]
    assert written[0].read_text(encoding="utf-8") == study.table_1().to_latex()


def test_latex_of_a_run_without_attention_on_text_is_refused_in_words(tmp_path):
    run = mock_inputs.encoder(1, 2)
    run.tables.pop("stats")
    study = write_study(run, tmp_path / "run")
    with pytest.raises(OptionError) as refused:
        export(study, tmp_path / "none", form="latex")
    assert str(refused.value) == (
        f"{study.path} fills no table for a paper, which are of stats, behaviors, syntax, coref, probes; run headscope "
        "report, or take --format csv"
    )


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX: apt-get install texlive-latex-base")
def test_a_real_latex_reads_every_table_and_none_leaves_its_column(study, tmp_path):
    """In two columns of plain `article`, with its default encodings, and a letter that they lack."""
    run = mock_inputs.section_4(2, 3)
    best = run.tables["syntax_best"]
    run.tables["syntax_best"] = best.assign(relation=best["relation"].replace("obj", "目的 <$&|~^é"))
    hostile = write_study(run, tmp_path / "run")
    every = [table.to_latex() for table in (*study.paper_tables(), *hostile.paper_tables())]
    rules = "".join(rf"\providecommand{{\{name}}}{{\hline}}" for name in ("toprule", "midrule", "bottomrule"))
    (tmp_path / "all.tex").write_text(
        "\n".join([r"\documentclass[twocolumn]{article}", rules, r"\begin{document}", *every, r"\end{document}"]),
        encoding="utf-8",
    )
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "all.tex"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        errors="replace",
    )
    assert done.returncode == 0, done.stdout[-2000:]
    wide = [float(points) for points in re.findall(r"Overfull \\hbox \(([\d.]+)pt too wide", done.stdout)]
    assert not [points for points in wide if points > 3], done.stdout


def sheets(content):
    """A workbook read by its own rules: names, and each sheet's rows of (type, text)."""
    main = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    archive = zipfile.ZipFile(io.BytesIO(content))
    names = [one.get("name") for one in ElementTree.fromstring(archive.read("xl/workbook.xml")).iter(f"{main}sheet")]
    return {
        name: [
            [(cell.get("t"), "".join(cell.itertext())) for cell in row]
            for row in ElementTree.fromstring(archive.read(f"xl/worksheets/sheet{place}.xml")).iter(f"{main}row")
        ]
        for place, name in enumerate(names, start=1)
    }


def test_a_workbook_has_a_sheet_a_table(study, tmp_path):
    (path,) = export(study, tmp_path / "out", form="xlsx")
    found = sheets(path.read_bytes())
    assert list(found) == [*(table.name for table in study.paper_tables()), *study.tables]
    titles, *rows = found["stats"]
    table = study.table("stats")
    assert [text for _, text in titles] == list(table.columns)
    assert len(rows) == len(table)
    place = list(table.columns).index("value")
    read = [float(row[place][1]) if row[place][1] else np.nan for row in rows]
    np.testing.assert_array_equal(read, table["value"].astype(float))


def test_a_text_is_never_a_formula(tmp_path):
    rows = [["=1+1", 2.5, None, float("nan"), True, "a<b>&\x00"]]
    content = workbook_bytes({"x": (list("abcdef"), rows)})
    assert sheets(content)["x"][1] == [
        ("inlineStr", "=1+1"), (None, "2.5"), (None, ""), (None, ""), ("b", "1"), ("inlineStr", "a<b>&?")
    ]  # fmt: skip
    assert content == workbook_bytes({"x": (list("abcdef"), rows)})
    run = mock_inputs.encoder(1, 2)
    run.tables["examples"] = run.examples.assign(document="=cmd|'/c x'!A1")
    export(write_study(run, tmp_path / "run"), tmp_path / "out", form="csv")
    read = pd.read_csv(tmp_path / "out" / "examples.csv")
    assert set(read["document"]) == {"'=cmd|'/c x'!A1"}


def test_wrong_places_and_formats_are_refused(study, tmp_path):
    with pytest.raises(OptionError, match=r"--format is 'pdf'; expected one of csv, latex, xlsx"):
        export(study, tmp_path, form="pdf")
    with pytest.raises(OutputError, match="holds a run; give --out a folder of its own"):
        export(study, study.path, form="csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is a file; --out expects a folder"):
        export(study, tmp_path / "file", form="csv")

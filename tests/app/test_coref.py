"""`headscope coref`: table 2 for a terminal, its tables on disk, GAP, options, and what cannot be read."""

import json
import re

import pandas as pd
import pytest

from support.commands import run_command
from support.demo_treebank import demo_conllu, demo_documents
from support.model_folders import save_tiny_bert, save_tiny_gpt2, save_tiny_t5
from support.shared_data import data

SCHEMAS = {
    "coref": "model seed selection system kind layer head share mention_type n_mentions accuracy ci_low ci_high "
    "all_documents all_documents_ci_low all_documents_ci_high held_out held_out_ci_low held_out_ci_high q_value",
    "coref_differences": "mention_type system than than_type seed n_mentions difference ci_low ci_high",
    "coref_heads": "model seed kind layer head mention_type n_mentions accuracy ci_low ci_high",
    "coref_examples": "kind layer head direction relation outcome value document segment tokens weights queries "
    "keys predicted",
}
TYPES = ["all", "pronoun", "proper", "nominal"]
SYSTEMS = ["nearest", "head match", "head match, else nearest", "rules"]
GAP_HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL\n"


def gap_rows(number):
    """Rows of our own: he or she, and the first name, the second or none."""
    rows = []
    for i in range(number):
        first, second = ("Anna Bell", "Clara") if i % 2 else ("Mark Hill", "Peter")
        pronoun = "she" if i % 2 else "he"
        text = f"{first} wrote to {second} on day {i} before {pronoun} left."
        truth = [i % 3 == 0, i % 3 == 1]
        rows.append(
            "\t".join(
                [
                    *(f"own-{i}", text, pronoun, str(text.index(f" {pronoun} ") + 1)),
                    *(first, "0", str(truth[0]).upper()),
                    *(second, str(text.index(second)), str(truth[1]).upper(), "http://example.org"),
                ]
            )
        )
    return GAP_HEADER + "\n".join(rows) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("coref")


@pytest.fixture(scope="module")
def documents():
    return demo_documents(1, 16)


@pytest.fixture(scope="module")
def corpus(folder):
    path = folder / "small.conllu"
    path.write_text(demo_conllu(1, 16), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def gap(folder):
    path = folder / "own.tsv"
    path.write_text(gap_rows(12))
    return path


@pytest.fixture(scope="module")
def model(folder):
    return save_tiny_bert(folder / "tiny")


@pytest.fixture(scope="module")
def coref(model, corpus, folder):
    """Run the command with some options into a folder of its own; return what it said, and the folder."""
    made = {}

    def run(*options, sources=(corpus,), which=model):
        key = (*options, *sources, which)
        if key not in made:
            out = folder / f"out-{len(made)}"
            of = [argument for source in sources for argument in ("--coref", source)]
            code, said, err = run_command("coref", "--model", which, *of, "--out", out, "-q", *options)
            assert (code, err) == (0, "")
            made[key] = said, out
        return made[key]

    return run


def table(out, name):
    return pd.read_parquet(out / "tables" / f"{name}.parquet")


def facts(out, name="coreference"):
    return json.loads((out / "manifest.json").read_text())[name]


@pytest.mark.slow
def test_table_2_for_a_terminal(coref):
    said, out = coref("--controls", 1)
    lines = said.splitlines()
    lines = lines[lines.index("Antecedents found, by type of mention:") + 1 :]
    systems = table(out, "coref")
    n = systems.drop_duplicates("mention_type").set_index("mention_type")["n_mentions"]
    titles = ["All mentions", "Pronouns", "Proper names", "Nominals"]
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines[:8]]
    assert rows[0] == ["system", *(f"{title}, n {n[name]}" for title, name in zip(titles, TYPES)), "q"]
    own = systems.query("model == 'trained' and selection == 'held-out'").set_index("mention_type")
    best = own.loc["all"]
    assert rows[1][:2] == [
        f"Head {best['layer']}-{best['head']}, held out",
        f"{100 * best['accuracy']:.1f} ({100 * best['ci_low']:.1f}-{100 * best['ci_high']:.1f})",
    ]
    assert rows[1][-1] == ("<0.001" if best["q_value"] < 0.001 else f"{best['q_value']:.3f}")
    assert re.fullmatch(r"Head \d-\d, same documents", rows[2][0])
    assert [row[0] for row in rows[3:]] == [
        "Nearest candidate", "Same head word", "Same head word, else nearest", "Four rules",
        "Best head, random weights",
    ]  # fmt: skip
    counts = facts(out)
    assert (
        f"Read 16 documents, {counts['windows']} windows and {counts['mentions']} mentions of small.conllu; "
        f"{counts['counted']} mentions have an antecedent in their window and count."
    ) in said


def test_the_tables_are_as_promised(coref):
    _, out = coref("--controls", 1)
    assert sorted(path.stem for path in (out / "tables").iterdir()) == sorted(SCHEMAS)
    for name, columns in SCHEMAS.items():
        own = table(out, name)
        assert list(own.columns) == columns.split(), name
        assert len(own), name
    systems, heads = table(out, "coref"), table(out, "coref_heads")
    for own in (systems, heads):
        assert own[["accuracy", "ci_low", "ci_high"]].stack().dropna().between(0, 1).all()
    assert set(zip(heads["layer"], heads["head"])) == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert len(heads) == 2 * 4 * len(TYPES)
    baselines = systems[systems["model"] == "baseline"]
    assert list(dict.fromkeys(baselines["system"])) == SYSTEMS
    assert baselines["selection"].isna().all()
    # The same-data row is the best of the heads' own accuracies.
    for model in ("trained", "control"):
        own = systems[systems["model"] == model]
        chosen = own.query("selection == 'same-data' and mention_type == 'all'")
        most = heads[heads["model"] == model].query("mention_type == 'all'")["accuracy"].max()
        assert chosen["accuracy"].tolist() == [pytest.approx(most)]
    by_type = heads[heads["model"] == "trained"].drop_duplicates("mention_type").set_index("mention_type")["n_mentions"]
    assert by_type["all"] == by_type.drop("all").sum() == facts(out)["counted"]


def plain_counts(documents):
    """Mentions, and those whose entity has a mention before them with a head word further left."""
    mentions = singletons = 0
    for document in documents:
        names = [mention.entity for mention in document.mentions]
        mentions += len(names)
        singletons += sum(names.count(name) == 1 for name in set(names))
    return mentions, singletons


@pytest.mark.parametrize(
    "options",
    [(), ("--max-length", 24), ("--max-length", 24, "--windows", "first"), ("--max-inputs", 5, "--max-length", 24)],
)
def test_every_mention_is_accounted_for(coref, documents, options):
    said, out = coref(*options)
    counts = facts(out)
    assert counts["mentions"] == counts["without_antecedent"] + counts["counted"] + counts["lost"]
    assert counts["lost"] == sum(counts["lost_why"].values())
    assert counts["counted"] == sum(counts["counted_by_type"].values())
    assert counts["documents"] == len(documents)
    assert (counts["mentions"], counts["singletons"]) == plain_counts(documents)
    for why, number in counts["lost_why"].items():
        assert f"{why}: {number:,}" in said
    if "--max-inputs" in options:
        assert counts["lost_why"]["in no window that --max-inputs lets in"] > 0
    assert ("after the first window" in counts["lost_why"]) == ("first" in options)


@pytest.mark.slow
def test_stricter_readings(coref):
    _, plain = coref("--controls", 1)
    _, strict = coref("--controls", 0, "--strict")
    _, fewer = coref("--controls", 0, "--no-singletons")
    keys = ["kind", "layer", "head", "mention_type"]
    loose, tight, among = (
        table(out, "coref_heads").query("model == 'trained'").set_index(keys)["accuracy"]
        for out in (plain, strict, fewer)
    )
    # Right among all other words is right among the candidates; fewer wrong candidates help only.
    assert (tight <= loose + 1e-12).all()
    assert tight["encoder", 1, 1, "all"] < loose["encoder", 1, 1, "all"]
    assert (among >= loose - 1e-12).all()
    assert among["encoder", 1, 1, "all"] > loose["encoder", 1, 1, "all"]
    assert [facts(out)["strict"] for out in (plain, strict)] == [False, True]


def test_gap_by_gender(coref, gap, corpus):
    said, out = coref("--controls", 0, sources=(gap, corpus))
    own = table(out, "gap")
    assert list(own.columns) == [
        "system",
        "selection",
        "kind",
        "layer",
        "head",
        "gender",
        "measure",
        "n_cases",
        "value",
        "ci_low",
        "ci_high",
        *("all_documents", "all_documents_ci_low", "all_documents_ci_high"),
    ]
    assert own[["value", "ci_low", "ci_high"]].stack().dropna().between(0, 1).all()
    value = own.set_index(["system", "measure", "gender"])["value"]
    n = own.drop_duplicates(["measure", "gender"]).set_index(["measure", "gender"])["n_cases"]
    # Of 12 rows, a third name the first, a third the second, a third none; half of each is of a woman.
    assert n["accuracy"].to_dict() == {"all": 8, "masculine": 4, "feminine": 4}
    assert n["f1"].to_dict() == {"all": 12, "masculine": 6, "feminine": 6}
    for system in ("random", "nearest", "first"):
        assert value[system, "accuracy", "all"] == 0.5
        # 4 right of 12 marked and 8 true.
        assert value[system, "f1", "all"] == pytest.approx(2 * 4 / (12 + 8))
    assert facts(out, "gap") == {
        **{"name": "own.tsv", "kinds": ["encoder"], "rows": 12, "used": 12, "shortened": 0, "lost": {}}
    }
    assert "GAP by gender, 12 of 12 rows:" in said.splitlines()
    assert sorted(path.stem for path in (out / "tables").iterdir()) == sorted([*SCHEMAS, "gap"])


def test_a_byte_level_decoder_and_gap(coref, gap, corpus, documents, folder):
    sentences = [sentence.text for document in documents for sentence in document.sentences]
    gpt2 = save_tiny_gpt2(folder / "gpt2", [*sentences, gap_rows(12)])
    said, out = coref("--controls", 0, sources=(gap, corpus), which=gpt2)
    assert set(table(out, "coref_heads")["kind"]) == {"decoder"}
    # The pronoun stands right of both names here, where a decoder sees them.
    assert facts(out, "gap")["used"] == 12
    counts = facts(out)
    assert counts["mentions"] == counts["without_antecedent"] + counts["counted"] + counts["lost"]
    assert "GAP by gender, 12 of 12 rows:" in said.splitlines()


def test_an_encoder_and_a_decoder_in_one_are_told_apart(coref, gap, corpus, documents, folder):
    sentences = [sentence.text for document in documents for sentence in document.sentences]
    t5 = save_tiny_t5(folder / "t5", [*sentences, gap_rows(12)])
    said, out = coref("--controls", 0, sources=(gap, corpus), which=t5)
    assert set(table(out, "coref_heads")["kind"]) == {"encoder", "decoder"}
    named = [line for line in said.splitlines() if re.match(r"Head (encoder|decoder) \d-\d, same", line)]
    assert len(named) == 2


def test_real_novels(model, tmp_path):
    source = sorted(data("litbank-coref/conll").glob("*.conll"))[:2]
    for path in source:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    out = tmp_path / "out"
    arguments = ("--coref", tmp_path, "--max-inputs", 20, "--controls", 0, "-q", "--out", out)
    code, said, err = run_command("coref", "--model", model, *arguments)
    assert (code, err) == (0, "")
    counts = facts(out)
    assert counts["head_rule"]["from"] == "rule"
    assert counts["mentions"] == counts["without_antecedent"] + counts["counted"] + counts["lost"]
    assert "note: coreference: intervals need at least 10 documents; it has 2" in said.splitlines()


@pytest.mark.slow
def test_brackets_that_match_no_other_cost_their_mention_only(coref, corpus, folder, cli, model):
    """Two brackets too many in one document, and one never closed: all else is measured as without them."""
    blocks = corpus.read_text().split("\n\n")
    at = blocks[2].rindex("\t_")
    blocks[2] = blocks[2][:at] + "\tEntity=e999)e999)(e998" + blocks[2][at + 2 :]
    spoilt = folder / "spoilt.conllu"
    spoilt.write_text("\n\n".join(blocks))
    _, plain = coref("--controls", 0)
    said, out = coref("--controls", 0, sources=(spoilt,))
    pd.testing.assert_frame_equal(table(out, "coref_heads"), table(plain, "coref_heads"))
    line = "\n\n".join([*blocks[:2], blocks[2][:at]]).count("\n") + 1
    faults = [*["e999) closes a mention that is not open"] * 2, "the mention (e998 is never closed"]
    counts, clean = facts(out), facts(plain)
    named = counts["unmatched_named"]
    assert [each.partition(": ")[2] for each in named] == faults
    assert all(each.startswith(f"spoilt.conllu, line {line}") for each in named)
    assert (counts["unmatched_brackets"], clean["unmatched_brackets"]) == (3, 0)
    assert counts["mentions"] == clean["mentions"]
    note = f"coreference: 3 brackets of mentions match no other, and those mentions were left out: {'; '.join(named)}"
    assert f"note: {note}" in said.splitlines()
    assert note in json.loads((out / "manifest.json").read_text())["notes"]
    assert "brackets of mentions" not in (plain / "manifest.json").read_text()
    assert cli("coref", "--coref", spoilt, "--model", model, "--strict-input", "-q") == (
        *(2, ""),
        f"headscope: {spoilt}, line {line}: {faults[0]}; open it before with (e999 or remove the bracket\n",
    )


def test_what_cannot_be_read(cli, corpus, model, tmp_path):
    without = tmp_path / "without.conllu"
    without.write_text(re.sub(r"Entity=[^\s|]*\|?", "_", corpus.read_text()).replace("_SpaceAfter", "SpaceAfter"))
    missing, empty = tmp_path / "no.conll", tmp_path / "empty"
    empty.mkdir()
    alone = tmp_path / "alone.conllu"
    alone.write_text("1\tAnn\t_\tPROPN\t_\t_\t2\tnsubj\t_\tEntity=(e1)\n2\tran\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n")
    cases = {
        without: f"{without} has no Entity= in its last column: expected coreference as in GUM or CorefUD; give it as "
        "a treebank, or give a file with Entity=",
        missing: f"no such file: {missing}; give CoNLL-U with Entity= (.conllu), CoNLL-2012 (.conll, .gold_conll), GAP "
        "(.tsv), or a directory of them",
        empty: f"no coreference file in {empty}: expected *.conllu, *.conll, *.gold_conll, *.v4_gold_conll, "
        "*.auto_conll, *.v4_auto_conll or *.tsv, found none; put them there or give the files by name",
        "-": "coreference is read from files, whose endings say what they are; give CoNLL-U with Entity= (.conllu), "
        "CoNLL-2012 (.conll, .gold_conll), GAP (.tsv), or a directory of them",
    }
    for path, sentence in cases.items():
        assert cli("coref", "--coref", path, "-q") == (2, "", f"headscope: {sentence}\n")
    spoilt = tmp_path / "spoilt.conllu"
    spoilt.write_text(alone.read_text().replace("(e1)", "e1)"))
    code, said, err = cli("coref", "--coref", spoilt, "--model", model, "-q")
    assert (code, said) == (2, "")
    assert err.startswith("headscope: no mention of spoilt.conllu can be scored: 0 mentions in 1 document, ")
    assert "1 bracket of a mention matches no other" in err
    assert cli("coref", "--coref", alone, "--model", model, "-q") == (
        2,
        "",
        "headscope: no mention of alone.conllu can be scored: 1 mention in 1 document, none with an antecedent in "
        "its window (each entity is mentioned once); raise --max-length\n",
    )


def test_unknown_values_name_the_nearest(cli, corpus):
    assert cli("coref", "--coref", corpus, "--windows", "frist") == (
        2,
        "",
        "headscope: --windows 'frist' is not known; choose one of all, first; did you mean first?\n",
    )

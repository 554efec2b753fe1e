"""How lines are packed where nothing is said, and what a run says of its text before it measures anything."""

import pytest
from transformers import AutoModelForCausalLM, LlamaConfig

from headscope.app.cli.printing import ProgressPrinter
from headscope.corpora.given import given_text
from headscope.models.load_model import load_model
from headscope.running.stages import measure
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.input_sizes import SINGLE_LINES, with_packing
from headscope.scans.prepare.prepared_run import prepare_model_run
from support.model_folders import save_tiny_bert

PROMPTS = [f"Prompt {number} is one line" for number in range(4)]
PAIR = "The cat sat on the mat.\nIt slept."
PAIRS = [f"Cat {each} sat.\nIt slept {each} days." for each in range(5)]


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def decoder(bert, tmp_path_factory):
    """A decoder whose tokenizer could make pairs: it has the tokenizer of a BERT."""
    folder = tmp_path_factory.mktemp("decoder")
    tokenizer = load_model(str(bert)).tokenizer
    sizes = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=len(tokenizer), **sizes)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def prepared(model, tmp_path, texts, **options):
    """Return the run, and what it said while it was prepared."""
    path = tmp_path / "text.txt"
    path.write_text("\n\n".join(texts) + "\n")
    said = []
    run = prepare_model_run(
        RunOptions(model=str(model), text=(str(path),), **{"stages": ("stats",), **options}),
        watch=lambda progress: said.append(progress.note),
    )
    return run, [note for note in said if note]


def test_a_decoder_reads_one_line_prompts_and_no_pairs(decoder, tmp_path):
    run, said = prepared(decoder, tmp_path, [*PROMPTS, PAIR])
    assert run.signature["options"]["packing"] == "joined"
    separator = run.encoder.tokenizer.sep_token_id
    assert [segment.ids.tolist().count(separator) for segment in run.segments()] == [1] * 5
    assert run.facts()["counts"]["documents_used"] == 5
    assert said == ["intervals need at least 10 documents; this run has 5"]
    (result,) = measure(run)
    assert result.tables["stats"]["value"].notna().any()


def test_an_encoder_reads_pairs_and_says_first_what_it_leaves_out(bert, tmp_path):
    run, said = prepared(bert, tmp_path, [*PROMPTS, PAIR])
    assert run.signature["options"]["packing"] == "pretraining"
    left_out = (
        "4 documents of a single line are left out, because a line alone makes no pair; give --packing single to read "
        "each line by itself"
    )
    assert said == [left_out, "intervals need at least 10 documents; this run has 1"]
    assert len(list(run.segments())) == 1
    assert run.facts()["notes"] == said
    run, said = prepared(bert, tmp_path, [*PROMPTS, PAIR] * 3, packing="single")
    assert said == []
    assert len(list(run.segments())) == 18


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
def test_a_text_without_a_second_line_is_read_by_single_lines(kind, bert, decoder, tmp_path):
    run, said = prepared(bert if kind == "encoder" else decoder, tmp_path, PROMPTS)
    assert run.signature["options"]["packing"] == ("single" if kind == "encoder" else "joined")
    assert len(list(run.segments())) == 4
    few = "intervals need at least 10 documents; this run has 4"
    assert said == ([SINGLE_LINES, few] if kind == "encoder" else [few])
    assert run.facts()["notes"] == said


def test_an_option_that_is_given_decides_what_is_read(bert, tmp_path):
    run, said = prepared(bert, tmp_path, PROMPTS, packing="single")
    assert SINGLE_LINES not in said
    run, said = prepared(bert, tmp_path, PAIRS, documents="blocks")
    assert (run.corpora.documents, said) == (5, ["intervals need at least 10 documents; this run has 5"])
    run, said = prepared(bert, tmp_path, PAIRS, packing="joined")
    assert run.corpora.documents == 5
    assert said[-1] == "blank lines part documents; where each line is a text of its own, give --documents lines"


@pytest.mark.parametrize("number", [4, 5, 9, 10])
def test_lines_are_documents_where_that_gives_ten(number, bert, decoder, tmp_path):
    """Pairs of lines: 4 of them make 8 documents by lines, too few; 10 are enough as they stand."""
    texts = [f"Cat {each} sat.\nIt slept {each} days." for each in range(number)]
    for model in (bert, decoder):
        run, said = prepared(model, tmp_path, texts)
        by_line = number in (5, 9)
        assert run.corpora.documents == (2 * number if by_line else number)
        assert run.options.documents == ("lines" if by_line else "")
        chosen = (
            f"the text has {number} documents and intervals need at least 10, so each of its {2 * number} lines is "
            "read as a document; give --documents blocks to keep the blocks between blank lines"
        )
        assert (chosen in said) == by_line
        list(run.segments())
        assert run.facts()["notes"] == said
        if by_line:
            explicit, said = prepared(model, tmp_path, texts, documents="lines")
            assert explicit.signature["id"] == run.signature["id"]
            assert chosen not in said
            assert len(list(run.segments())) == 2 * number
            piped = RunOptions(model=str(model), documents_in_memory=given_text(texts), stages=("stats",))
            assert prepare_model_run(piped).signature["id"] == run.signature["id"]


def test_what_is_given_stays(bert, decoder):
    for folder, packing in ((bert, "joined"), (decoder, "pretraining")):
        options = RunOptions(model=str(folder), packing=packing)
        from headscope.scans.prepare.reading_model import open_model

        assert with_packing(options, open_model(options).anatomy) is options


def test_a_note_is_printed_at_once_and_not_where_progress_is_not_wanted(bert, tmp_path, capsys):
    path = tmp_path / "text.txt"
    path.write_text(f"{PAIR}\n")
    for quiet in (False, True):
        with ProgressPrinter(quiet=quiet) as watch:
            prepare_model_run(RunOptions(model=str(bert), text=(str(path),), stages=("stats",)), watch=watch)
        said = capsys.readouterr().err
        assert said.startswith("headscope: note: intervals need at least 10 documents") is not quiet


class TestControls:
    NOTE = "no random weights are measured beside a model of over a billion parameters; --controls 1 measures them"

    def test_three_by_default(self, bert, tmp_path):
        run, said = prepared(bert, tmp_path, PROMPTS, stages=("behaviors",))
        assert run.controls == run.options.shaping["controls"] == 3
        assert self.NOTE not in [*said, *run.facts()["notes"]]

    @pytest.mark.parametrize(("requested", "measured"), [(None, 0), (0, 0), (1, 1)])
    def test_of_a_large_model_those_that_were_asked_for(self, requested, measured, bert, tmp_path, monkeypatch):
        monkeypatch.setattr("headscope.scans.prepare.input_sizes.LARGE", 1000)
        run, said = prepared(bert, tmp_path, PROMPTS, controls=requested, stages=("behaviors",))
        assert run.controls == run.options.shaping["controls"] == measured
        assert (self.NOTE in said) == (self.NOTE in run.facts()["notes"]) == (measured == 0)

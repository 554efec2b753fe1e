"""No file of a model folder can run code, hang the program, or cause a traceback."""

import ast
import io
import resource
import sys
import time
from pathlib import Path

import pytest

import headscope
from headscope.errors import ModelError
from headscope.models.load_model import load_model, load_tokenizer
from support import hostile_model_folders as folders
from support.commands import run_command
from support.hostile import each, printable

SOURCE = Path(headscope.__file__).parent
TREES = "# newdoc id = a\n" + "".join(
    "1\tthe\t_\tDET\t_\t_\t2\tdet\t_\t_\n2\tcat\t_\tNOUN\t_\t_\t3\tnsubj\t_\t_\n3\tsat\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    for _ in range(4)
)


@pytest.fixture(scope="module", autouse=True)
def before():
    """Return the peak memory of this process so far, in kB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """Return the path of the marker that a folder's program would write if it ran."""
    path = tmp_path / "ran"
    monkeypatch.setenv(folders.MARKER, str(path))
    return path


@pytest.fixture
def answers(monkeypatch):
    """Replace standard input by one that answers yes to every question."""
    given = io.StringIO("y\n" * 1000)
    monkeypatch.setattr(sys, "stdin", given)
    return given


@pytest.mark.slow
def test_every_auto_class_is_told_to_trust_no_code():
    found = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr
            if named in ("from_pretrained", "from_config"):
                told = {word.arg: word.value for word in node.keywords}.get("trust_remote_code")
                safe = isinstance(told, ast.Constant) and told.value is False
                found.append((f"{path.name}:{node.lineno}", safe))
    assert len(found) >= 4
    assert [place for place, safe in found if not safe] == []


@each(folders.every_case())
def test_a_folder_is_taken_or_refused_in_words(case, tmp_path, marker, answers):
    made = case.make(tmp_path)
    began = time.monotonic()
    if case.says is None:
        load_model(made)
    else:
        with pytest.raises(ModelError) as refused:
            look_at(made)
        assert case.says in str(refused.value)
        assert printable(str(refused.value))
        assert len(str(refused.value)) < 1500
        assert "weights_only" not in str(refused.value)
    assert time.monotonic() - began < 10
    assert not marker.exists()
    assert answers.tell() == 0


def look_at(folder):
    """Do the first steps of every command: load the model and its tokenizer, and examine the model's heads."""
    from headscope.attention.model.examination import examine
    from headscope.encoding.encoder import Encoder

    loaded = load_model(folder)
    return examine(loaded.model, Encoder(loaded.tokenizer).vocabulary)


def test_so_many_folders_take_no_gigabyte(before):
    """Loading the folders of the tests above took less than 1 GB; the first folder includes torch and transformers."""
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1e6


@pytest.mark.parametrize(("name", "says"), folders.names())
def test_a_name_is_refused_in_words(name, says, answers):
    for load in (load_model, load_tokenizer):
        with pytest.raises(ModelError) as refused:
            load(name)
        assert says in str(refused.value)
        assert printable(str(refused.value))
    assert answers.tell() == 0


def commands(model, place):
    """Return every command that loads a model or a tokenizer."""
    text, trees, mentions = place / "text.txt", place / "trees.conllu", place / "mentions.conllu"
    text.write_text("the cat sat on the mat .\nthe dog ran , and sat .\n\n" * 4)
    trees.write_text(TREES)
    mentions.write_text(
        "# global.Entity = eid-etype-head-other\n"
        + TREES.replace("NOUN\t_\t_\t3\tnsubj\t_\t_", "NOUN\t_\t_\t3\tnsubj\t_\tEntity=(e1-person-1-)")
    )
    (place / "original.pkl").write_bytes(b"")
    out = ("--out", place / "out")
    yield "report", ("report", "--text", text, "--model", model, *out)
    yield "stats", ("stats", "--text", text, "--model", model)
    yield "segments", ("segments", "--text", text, "--model", model, "--out", place / "out.json")
    yield "extract", ("extract", "--text", text, "--model", model, *out)
    yield "extract-debug", ("extract", "--text", text, "--model", model, "--debug", *out)
    yield "convert", ("convert", place / "original.pkl", place / "maps", "--model", model)
    yield "syntax", ("syntax", "--treebank", trees, "--model", model)
    yield "coref", ("coref", "--coref", mentions, "--model", model)
    yield "importance", ("importance", "--text", text, "--model", model)
    yield ("probes", ("probes", "--treebank", trees, "--treebank-train", trees, "--allow-overlap", "--model", model))
    yield "distances", ("distances", "--text", text, "--model", model)
    for which in ("head", "neuron"):
        yield (f"view-{which}", ("view", which, "--text", "the cat", "--model", model, "--out", place / "v.html"))
    yield ("view-generate", ("view", "--text", "the cat", "--generate", 2, "--model", model, "--out", place / "v.html"))
    yield "train", ("train", "--text", text, "--model", model, *out)
    yield "train-tokenizer", ("train", "--text", text, "--size", "1x1x8", "--tokenizer", model, *out)


COMMANDS = (
    *("report", "stats", "segments", "extract", "extract-debug", "convert", "syntax", "coref", "importance", "probes"),
    *("distances", "view-head", "view-neuron", "view-generate", "train", "train-tokenizer"),
)
REFUSED = tuple(folders.code_folders())


@each(REFUSED)
@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_runs_a_folders_code(command, case, tmp_path, marker, answers):
    made = case.make(tmp_path)
    given = dict(commands(made, tmp_path))
    assert tuple(given) == COMMANDS
    code, _, said = run_command(*given[command])
    # Loading only a tokenizer does not check the attention implementation.
    assert code == 2, said
    assert said.startswith("headscope: ")
    assert folders.OWN_CODE in said
    assert printable(said)
    assert not marker.exists()
    assert answers.tell() == 0


@each(REFUSED)
@pytest.mark.parametrize(
    "look", ["head_view", "model_view", "neuron_view", "heatmap", "matrix_view", "load_model", "report"]
)
def test_no_function_runs_a_folders_code(look, case, tmp_path, marker, answers):
    made = case.make(tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("the cat sat .\nthe dog ran .\n\n" * 3)
    given = {"load_model": {}, "report": {"text": text, "out": tmp_path / "out"}}.get(look, {"text": "the cat"})
    with pytest.raises(ModelError, match=folders.OWN_CODE):
        getattr(headscope, look)(model=str(made), **given) if look != "load_model" else headscope.load_model(made)
    assert not marker.exists()
    assert answers.tell() == 0


@each(REFUSED)
def test_the_explorer_runs_no_folders_code(case, tmp_path, marker, answers):
    from headscope.app.explorer.model_shelf import FAILED, Shelf, named_models

    shelf = Shelf(named_models([str(case.make(tmp_path))]))
    shelf.start()
    shelf._thread.join()
    (told,) = shelf.descriptions()
    assert told["state"] == FAILED
    assert folders.OWN_CODE in told["message"]
    assert not marker.exists()
    assert answers.tell() == 0


@each(folders.known_families_with_code())
@pytest.mark.parametrize("command", ["stats", "segments", "extract-debug", "view-head", "train"])
def test_a_known_family_is_loaded_without_the_code_beside_it(command, case, tmp_path, marker, answers):
    made = case.make(tmp_path)
    assert type(load_model(made).model).__module__ == "transformers.models.bert.modeling_bert"
    given = dict(commands(made, tmp_path))[command]
    more = {"train": ("--steps", 1, "--max-length", 16)}.get(command, ())
    code, _, said = run_command(*given, *more)
    assert code in (0, None), said
    assert not marker.exists()
    assert answers.tell() == 0


def test_the_words_of_a_refusal(tmp_path):
    made = folders.copied(tmp_path, folders.in_json("config.json", model_type="evil", auto_map={"AutoConfig": "a.B"}))
    with pytest.raises(ModelError) as refused:
        load_model(made)
    assert str(refused.value) == (
        f"{made} is refused: it needs code of its own (config.json has an auto_map), which is never run; "
        "give a model that transformers loads with its own classes"
    )

"""A wrong name of a file or folder is refused before torch is imported, which takes seconds."""

import json
import subprocess
import sys

import pytest

# Runs each command in a process forked from one that has imported the program and some packages but not torch.
_PROGRAM = """
import json, os, sys, tempfile, numpy, pandas, pydantic
sys.modules["torch"] = None
from headscope.app.cli.program import main
ended = []
for typed in json.loads(sys.argv[1]):
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            main(typed)
            sys.exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        ended.append((code, *(os.pread(file.fileno(), 1 << 20, 0).decode() for file in (out, err))))
print(json.dumps(ended))
"""
TEXT = "no such file: no.txt; give a text file, a .json features file, a directory of them, or - for standard input"
MODEL = "no model folder at ./no; give a folder with config.json, or a hub name as org/name"
TREES = "no such file: no.conllu; give a .conllu file, a .txt file of word head-label lines, a .json file"
CASES = [
    (["report", "no.txt"], TEXT),
    (["report", "no.txt", "--dry-run"], TEXT),
    (["report", "--treebank", "no.conllu"], TREES),
    (["report", "--treebank", "here.conllu", "--treebank-train", "no.conllu"], TREES),
    (["report", "--coref", "no.conllu"], "no such file: no.conllu; give CoNLL-U with Entity="),
    (["report", "--model", "./no"], MODEL),
    (["report", "--model", "empty"], "empty has no config.json; expected a model folder"),
    (["stats", "--text", "here.txt", "no.txt"], TEXT),
    (["stats", "--maps", "no"], "no holds no saved maps: expected a folder with index.json"),
    (["stats", "--maps", "empty", "--text", "here.txt"], "both a corpus and saved maps were given"),
    (["stats", "--maps", "empty", "--model", "a/b"], "--maps already holds a model's attention"),
    (["syntax", "--maps", "empty", "--shuffled"], "--maps holds what a model made of the words in order"),
    (["stats", "here.txt", "--packing", "no"], "--packing 'no' is not known"),
    (["syntax", "--treebank", "no.conllu"], TREES),
    (["probes", "--vectors", "no.txt"], "--vectors no.txt cannot be read (No such file or directory)"),
    (["extract", "--text", "no.txt", "--out", "out"], TEXT),
    (["segments", "--text", "no.txt", "--out", "out"], TEXT),
    (["segments", "--text", "here.txt", "--out", "out", "--model", "./no"], MODEL),
    (["view", "The cat sat.", "--model", "./no"], MODEL),
    (["prune", "--heads", "heads.txt", "--text", "no.txt", "--out", "out"], TEXT),
    (["prune", "--heads", "heads.txt", "--model", "./no", "--out", "out"], MODEL),
    (
        ["syntax", "here.txt"],
        "got unexpected extra argument(s) (here.txt); headscope syntax reads no plain text: give "
        "--treebank with an annotated file; headscope syntax --help",
    ),
    (
        ["coref", "here.txt"],
        "got unexpected extra argument(s) (here.txt); headscope coref reads no plain text: give "
        "--coref with an annotated file; headscope coref --help",
    ),
    (["export", "no"], "no holds no headscope run: expected a manifest.json"),
    (["atlas", "no"], "no holds no headscope run: expected a manifest.json"),
    (["train", "--text", "no.txt", "--out", "out"], TEXT),
]


@pytest.fixture
def folder(tmp_path):
    for name in ("here.txt", "heads.txt"):
        (tmp_path / name).write_text("1-1\n")
    (tmp_path / "here.conllu").write_text("1\tCats\tcat\tNOUN\t_\t_\t0\troot\t_\t_\n\n")
    (tmp_path / "empty").mkdir()
    return tmp_path


def ended(folder, commands):
    """Return the exit status, output and errors of each command."""
    program = [sys.executable, "-c", _PROGRAM, json.dumps(commands)]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_wrong_names_are_refused_without_torch(folder):
    problems = []
    for (typed, sentence), (code, out, err) in zip(CASES, ended(folder, [typed for typed, _ in CASES]), strict=True):
        if code != 2 or not err.startswith(f"headscope: {sentence}") or out:
            problems.append(f"{' '.join(typed)}: {code}: {out}{err[-300:]}")
    assert not problems, "\n".join(problems)


def test_the_first_line_comes_without_torch(folder):
    """What is read and loaded is said before the imports that take seconds, which fail here."""
    cases = [
        (["report", "here.txt"], "reading here.txt, loading headscope-minilm"),
        (["report", "--treebank", "here.conllu", "--model", "a/b"], "reading here.conllu, loading a/b"),
        (["report"], "reading the demonstration's text and treebank, loading headscope-minilm"),
        (["report", "here.txt", "--dry-run"], "reading here.txt, loading headscope-minilm"),
        (["stats"], "reading the demonstration's text, loading headscope-minilm"),
        (["syntax"], "reading the demonstration's treebank, loading headscope-minilm"),
        (["coref"], "reading the demonstration's treebank, loading headscope-minilm"),
        (["stats", "-q"], None),
    ]
    problems = []
    for (typed, line), (_, _, err) in zip(cases, ended(folder, [typed for typed, _ in cases]), strict=True):
        first = err.splitlines()[0]
        if "torch" not in err or (first != f"headscope: {line}" if line else first.startswith("headscope:")):
            problems.append(f"{' '.join(typed)}: {first}")
    assert not problems, "\n".join(problems)


def test_a_function_refuses_a_wrong_name_without_torch(folder):
    program = (
        'import sys; sys.modules["torch"] = None\nimport headscope as hs\n'
        'for call in (lambda: hs.report(text="no.txt"), lambda: hs.stats("./no", text="here.txt")):\n'
        "    try:\n        call()\n    except hs.HeadscopeError as error:\n        print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [TEXT, MODEL], done.stderr

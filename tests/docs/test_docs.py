"""README and docs run as written: every command and every Python block, in an empty folder with its own text.

Small random models replace the embedded ones, with the first documents of their text: these tests check the commands
on the pages, and the embedded models' results have their own tests.
"""

import re
import shlex
import tomllib

import headscope_decoder
import headscope_minilm
import pytest

from headscope.analyses.effects import joint_compute, joint_sums
from headscope.installing import EMBEDDED_MODELS
from support.demo_treebank import demo_conllu
from support.docs import PAGES, ROOT, blocks, run_line, sequences
from support.model_folders import save_classifier, save_few_heads, save_tiny_masked_lm
from support.quick_probes import quick_probes
from support.undrawn import leave_drawing_out

STORY = "The cat sat on the mat. It slept, and dreamt of fish.\nA dog came by, looked at it, and left again.\n\n"
COMMANDS = [
    pytest.param(sequence, id=f"{page.name}-{number}")
    for page in PAGES
    for number, sequence in enumerate(sequences(page), start=1)
]


def begins_another(sequence):
    """Return True if another case runs the same lines first and then more; of equal cases only the first is kept."""
    lines = lines_of(sequence)
    others = [lines_of(case.values[0]) for case in COMMANDS]
    longer = any(other[: len(lines)] == lines and len(other) > len(lines) for other in others)
    return longer or COMMANDS[others.index(lines)].values[0] is not sequence


def lines_of(sequence):
    return "".join(sequence).splitlines()


@pytest.fixture(scope="module")
def few_heads(tmp_path_factory):
    """Return a model with just the layers and heads that the pages name."""
    return save_tiny_masked_lm(tmp_path_factory.mktemp("few") / "model", layers=3, heads=8)


@pytest.fixture(scope="module")
def few_decoder_heads(tmp_path_factory):
    """Return a decoder with the same number of layers."""
    return save_few_heads(tmp_path_factory.mktemp("few") / "decoder", headscope_decoder.folder(), layers=3)


@pytest.fixture(scope="module")
def few_documents(tmp_path_factory):
    """Return the first two lines of twelve demonstration documents: intervals need ten documents."""
    documents = headscope_minilm.demo_text().read_text(encoding="utf-8").split("\n\n")
    file = tmp_path_factory.mktemp("few") / "demo.txt"
    few = ("\n".join(document.splitlines()[:2]) for document in documents[:12])
    file.write_text("\n\n".join(few), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def classifier(few_heads, tmp_path_factory):
    """Return the model that the pages call my-sst2."""
    return save_classifier(tmp_path_factory.mktemp("classifier") / "model", few_heads, ("negative", "positive"))


@pytest.fixture
def folder(tmp_path, monkeypatch, request, classifier, few_heads, few_decoder_heads, few_documents):
    """Return a folder with corpora: enough to measure on, and few sentences to train on, since training is slow.

    Only the tutorial draws the page of a report, since it describes the page; drawing takes most of a report's time
    and has its own tests.
    """
    monkeypatch.setattr(headscope_minilm, "folder", lambda: few_heads)
    monkeypatch.setattr(headscope_minilm, "demo_text", lambda: few_documents)
    monkeypatch.setattr(headscope_decoder, "folder", lambda: few_decoder_heads)
    if "tutorial" not in request.node.name:
        leave_drawing_out(monkeypatch)
    # Each set of heads needs a pass. Import both modules before patching, or the second would keep the patched
    # numbers.
    for module in (joint_compute, joint_sums):
        monkeypatch.setattr(module, "DRAWS", 2)
        monkeypatch.setattr(module, "SETS", 8)
    (tmp_path / "my.txt").write_text(STORY * 12)
    rows = [f"{sentence},{number % 2}" for number, sentence in enumerate(["It slept."] * 12)]
    (tmp_path / "reviews.csv").write_text("\n".join(["sentence,label", *rows]) + "\n")
    (tmp_path / "my-sst2").symlink_to(classifier)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "a.txt").write_text(STORY)
    (tmp_path / "my.conllu").write_text(demo_conllu(1, 12), encoding="utf-8")
    (tmp_path / "my-train.conllu").write_text(demo_conllu(101, 108), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with quick_probes(passes=1):
        yield tmp_path


# These commands would create a new environment; the tests check the names in them instead.
INSTALLING = ("python3 -m venv .venv", ". .venv/bin/activate", "pip install ")


def check_installing(line):
    for word in shlex.split(line)[2:] if line.startswith("pip") else ():
        place, _, extras = word.partition("[")
        project = tomllib.loads((ROOT / place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for extra in filter(None, extras.rstrip("]").split(",")):
            assert extra in project["optional-dependencies"], line


def test_readme_begins_with_the_installation_and_names_every_extra():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert blocks(ROOT / "README.md", "bash")[0].splitlines()[-1].startswith("pip install ")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for extra in extras["optional-dependencies"]:
        assert f"| `{extra}` |" in readme or extra == "dev"


def test_the_demonstration_says_what_to_type_next():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8").split("\ndemo: .venv")[1].split("\n\n")[0]
    assert "headscope report my.txt" in recipe


def test_the_demonstration_reports_on_both_models():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.split("\ndemo: .venv")[1].split("\n\n")[0]
    (decoder,) = (line for line in makefile.splitlines() if f"--model {EMBEDDED_MODELS[1]} " in line)
    installed = makefile.split("\n.venv/.demo:")[1].split("\n\n")[0]
    for name in EMBEDDED_MODELS:
        assert f"./packages/{name} " in installed
    # Each report goes into its own folder, which git ignores and `make clean` removes.
    for folder in ("demo-report", decoder.split("--out ")[1]):
        assert f"--out {folder}\n" in makefile
        assert f"{folder}/report.html" in recipe
        assert f"\n/{folder}/\n" in (ROOT / ".gitignore").read_text(encoding="utf-8")
        assert folder in makefile.split("\nclean:")[1].split()


@pytest.mark.slow
@pytest.mark.parametrize("sequence", [case for case in COMMANDS if not begins_another(case.values[0])])
def test_commands_run_as_written(sequence, folder):
    for line in lines_of(sequence):
        if line.startswith("make "):
            makefile = (ROOT / "Makefile").read_text()
            assert re.search(rf"^{line.split()[1]}:", makefile, re.MULTILINE), line
            continue
        if line.startswith(INSTALLING):
            check_installing(line)
            continue
        code, err = run_line(line)
        assert code == 0, f"{line}\n{err}"
        assert "Traceback" not in err


def test_every_command_is_among_those_run():
    shown = [line for page in PAGES for block in blocks(page, "bash") for line in block.splitlines()]
    run = [line for case in COMMANDS for block in case.values[0] for line in block.splitlines()]
    assert sorted(run) == sorted(shown)
    assert len(shown) > 30


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p, "python")], ids=lambda p: p.name)
def test_python_runs_as_written(page, folder):
    names: dict[str, object] = {"__name__": "docs"}
    for number, block in enumerate(blocks(page, "python")):
        exec(compile(block, f"{page.name} block {number + 1}", "exec"), names)


def test_links_between_pages_lead_somewhere():
    """Each link names an existing file and, after `#`, one of its headings in GitHub's form."""
    lost = []
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", page.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            path = page.parent / target if target else page
            if not path.exists() or (anchor and anchor not in anchors(path)):
                lost.append(f"{page.name}: {target}#{anchor}")
    assert not lost


def anchors(page):
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_definition_has_an_address():
    """Every definition has a heading and is in the list at the top; none is a paragraph with a bold name."""
    page = (ROOT / "docs" / "definitions.md").read_text(encoding="utf-8")
    assert not re.findall(r"^\*\*.*", page, re.MULTILINE)
    listed = re.findall(r"\]\(#([\w-]+)\)", page[: page.index("\n## ")])
    assert set(listed) == anchors(ROOT / "docs" / "definitions.md") - {"what-every-number-means"}

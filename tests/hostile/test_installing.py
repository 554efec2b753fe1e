"""Installation advice works: headscope is not on PyPI, so the advice names the path of the checkout or wheel."""

import re
import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest
import typer

import headscope
from headscope import installing
from headscope.app.cli.program_commands import GroupedCommand, commands_of_packages
from headscope.errors import InputError, ModelError, OptionError
from headscope.installing import demo_text, demo_treebank
from headscope.models.load_model import load_model
from headscope.models.locating import embedded_folder

ROOT = Path(headscope.__file__).resolve().parents[2]


def quoted(path):
    """Return a path in the checkout, quoted for a shell."""
    return shlex.quote(str(ROOT / path))


@pytest.mark.parametrize("extra", ["explore", "notebook", "tokenizers"])
def test_a_checkout_is_named(extra):
    assert installing.how_to_install(extra) == f"install it with pip install {shlex.quote(f'{ROOT}[{extra}]')}"


def test_the_embedded_model_is_a_package_of_the_checkout(monkeypatch):
    monkeypatch.setitem(sys.modules, "headscope_minilm", None)
    with pytest.raises(ModelError) as refused:
        embedded_folder()
    assert str(refused.value) == (
        "no model was named and the embedded one is not installed; install it with pip install "
        f"{quoted('packages/headscope-minilm')}, or give --model a hub name or a local folder"
    )
    assert (ROOT / "packages" / "headscope-minilm" / "pyproject.toml").is_file()


def test_an_embedded_model_is_named_by_its_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "headscope_decoder", None)
    with pytest.raises(ModelError) as refused:
        load_model("headscope-decoder")
    assert str(refused.value) == (
        f"headscope-decoder is a package of its own; install it with pip install {quoted('packages/headscope-decoder')}"
    )
    assert (ROOT / "packages" / "headscope-decoder" / "pyproject.toml").is_file()


def test_the_trainer_is_named_by_its_package(monkeypatch, capsys):
    monkeypatch.setattr(installing, "entry_points", lambda group: [])
    (train,) = commands_of_packages(taken=frozenset())
    program = typer.Typer(rich_markup_mode=None)
    train.add_to(program, shown_by=GroupedCommand)
    with pytest.raises(OptionError) as refused:
        program(["--text", "my.txt", "--size", "1x1x8"], standalone_mode=False)
    assert str(refused.value) == (
        "headscope train is a package of its own, headscope-train; install it with pip install "
        f"{quoted('packages/headscope-train')}"
    )
    assert (ROOT / "packages" / "headscope-train" / "pyproject.toml").is_file()
    program(["--help"], standalone_mode=False)
    assert "a package of its own, headscope-train" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "left", [None, ModuleType("headscope_minilm")]
)  # not installed, or a version from before these files existed
@pytest.mark.parametrize(
    ("path", "what", "option"),
    [
        (demo_text, "no text was given", "or give --text"),
        (demo_treebank, "no treebank was given", "or give --treebank (--coref for mentions)"),
    ],
)
def test_the_demonstration_comes_with_the_embedded_model(monkeypatch, left, path, what, option):
    assert path().is_file()
    monkeypatch.setitem(sys.modules, "headscope_minilm", left)
    with pytest.raises(InputError) as refused:
        path()
    assert str(refused.value) == (
        f"{what} and the demonstration's is not installed; install it with pip install "
        f"{quoted('packages/headscope-minilm')}, {option}"
    )


def test_a_wheel_is_named_where_there_is_no_checkout(monkeypatch):
    monkeypatch.setattr(installing, "_checkout", lambda: None)
    start = "install it from the wheel or the checkout that headscope came from, as pip install "
    assert installing.how_to_install("explore") == f"{start}'headscope-*.whl[explore]'"
    assert installing.how_to_install("demo") == f"{start}headscope_minilm-*.whl"
    assert installing.how_to_install_companion("headscope-decoder") == f"{start}headscope_decoder-*.whl"


def test_no_other_message_names_an_index():
    wrong = [
        path.name
        for path in Path(headscope.__file__).parent.rglob("*.py")
        if re.search(r"pip install", path.read_text(encoding="utf-8")) and path.name != "installing.py"
    ]
    assert wrong == []

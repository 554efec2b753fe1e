"""Files as one types them: beside options, in a view, and the folder of a run that was given none."""

import io
import json
import re
import sys

import pytest

from headscope.app.cli import view
from headscope.app.cli.view import text_or_file
from headscope.errors import InputError, OptionError
from headscope.present.study import open_study
from headscope.reporting import atlas_files
from support.model_folders import save_tiny_bert
from support.undrawn import leave_drawing_out

STORY = "The cat sat on the mat.\nA dog came by.\n\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")


@pytest.mark.slow
def test_a_report_of_files_alone_names_its_folder(cli, model, tmp_path, monkeypatch):
    drawn = []
    leave_drawing_out(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(STORY * 6)
    asked = ("report", "a.txt", "b.txt", "--model", model)
    code, out, err = cli(*asked, "-q")
    assert (code, err) == (0, "")
    assert "folder: a-and-1-more-tiny (--out names another)\n" in out
    assert out.endswith("report: a-and-1-more-tiny/report.html\n")
    first = open_study(tmp_path / "a-and-1-more-tiny")
    assert first.manifest["counts"]["documents"] == 12
    # The same again draws anew, which takes its time; another run has a folder of its own.
    monkeypatch.setattr(atlas_files, "draw", drawn.append)
    assert cli(*asked, "-q")[0] == 0
    assert not (tmp_path / "a-and-1-more-tiny-2").exists()
    code, out, _ = cli(*asked, "--seed", 1, "-q")
    assert (code, "folder: a-and-1-more-tiny-2 " in out) == (0, True)
    assert open_study(first.path).manifest["signature"] == first.manifest["signature"]
    assert [study.path.name for study in drawn] == ["a-and-1-more-tiny", "a-and-1-more-tiny-2"]


def test_lines_are_documents_where_asked_and_the_note_says_so(cli, model, tmp_path):
    text = tmp_path / "my.txt"
    text.write_text("The cat sat on the mat.\nA dog came by.\n" * 6)
    asked = ("stats", text, "--model", model, "-q")
    note = "note: blank lines part documents; where each line is a text of its own, give --documents lines\n"
    _, out, _ = cli(*asked, "--packing", "joined")
    assert "intervals need at least 10 documents; this run has 1\n" in out
    assert note in out
    _, out, _ = cli(*asked)
    assert "each of its 12 lines is read as a document; give --documents blocks" in out
    assert "this run has" not in out
    assert note not in out
    _, out, err = cli(*asked, "--documents", "lines")
    assert err == ""
    assert "intervals need" not in out
    assert note not in out


def test_a_view_reads_a_file(cli, model, tmp_path):
    text, page = tmp_path / "my.txt", tmp_path / "page.html"
    text.write_text("The cat\nsat.\n\nA dog.\n")
    code, out, err = cli("view", "--model", model, "--text", text, "-o", page)
    assert (code, err) == (0, "")
    assert out.startswith(f"note: {text} has several documents, parted by blank lines; this is the first\n")
    drawn = re.search(r'id="attention">(.*?)</script>', page.read_text(), re.DOTALL).group(1)
    assert '"sat"' in drawn
    assert "my.txt" not in drawn


def test_of_a_long_document_the_first_lines_are_drawn(tmp_path, capsys):
    text = tmp_path / "my.txt"
    lines = ["one " * 60, "two " * 40, "three", "four"]
    text.write_text("\n".join(lines) + "\n\nA dog.\n")
    assert text_or_file("--text", str(text)).split() == ["one"] * 60 + ["two"] * 40
    said = f"note: the first lines of {text} are drawn, 2 of 4 of its first document\n"
    assert capsys.readouterr().out == said
    text.write_text("one " * 300 + "\ntwo\n")
    assert text_or_file("--text", str(text)).split() == ["one"] * 300
    said = f"note: the first lines of {text} are drawn, 1 of 2 of its first document\n"
    assert capsys.readouterr().out == said


def test_more_than_any_view_shows_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(view, "_MOST_CHARACTERS", 8)
    (tmp_path / "my.txt").write_text("The cat sat.\n")
    (tmp_path / "my.json").write_text(json.dumps([{"words": ["The", "cat", "sat", "."]}]))
    for name, part, length in (("my.txt", "line", 12), ("my.json", "document", 13)):
        with pytest.raises(
            OptionError,
            match=rf"^--text .*{name}: its first {part} has {length} characters; expected at most 8, a sentence "
            "or some: put each on a line of its own, or type the words$",
        ):
            text_or_file("--text", str(tmp_path / name))


def test_words_are_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    for words in ("The cat sat.", "src", "Why?", "a/b", "", "x" * 5_000, "read my.txt"):
        assert text_or_file("--text", words) == words


def test_what_is_named_and_cannot_be_read_is_said(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"^no such file: no\.txt; give a file that is there, or the words "):
        text_or_file("--text", "no.txt")
    with pytest.raises(OptionError, match=r"is a folder; expected the words themselves, or one file$"):
        text_or_file("--text", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"It slept.\n")))
    assert text_or_file("--text", "-") == "It slept."

"""The files that a path names, their content, and errors about them."""

import errno
import gzip
import os
import random
import sys
from pathlib import Path

import pytest

from headscope.corpora.files import MAX_LINE, expand, open_lines, open_text, split_lines
from headscope.corpora.opening import CHUNK, gunzip
from headscope.errors import InputError

GIVE = "give a text file, a .json features file, a directory of them, or - for standard input"
TEXT = "text, one sentence or one paragraph a line, with a blank line between documents"


def write(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def message(action) -> str:
    with pytest.raises(InputError) as caught:
        list(action())
    return str(caught.value)


# --- choosing files


def test_files_come_in_the_order_given_and_a_directory_sorted(tmp_path):
    last = write(tmp_path / "zz" / "later.txt", b"x")
    for name in ["b.json", "a.txt", "sub/c.jsonl", "sub/deeper/d.TXT", "a.txt.gz", "e.md", "data.csv", "UPPER.GZ"]:
        write(tmp_path / "in" / name, b"x")
    for name in [".hidden.txt", ".git/f.txt", "sub/.cache/g.txt"]:
        write(tmp_path / "in" / name, b"x")
    found = list(expand([str(last), tmp_path / "in", "-"]))
    inside = [str(path.relative_to(tmp_path / "in")) for path in found[1:-1]]
    assert found[0] == last
    assert found[-1] == "-"
    assert inside == ["UPPER.GZ", "a.txt", "a.txt.gz", "b.json", "sub/c.jsonl", "sub/deeper/d.TXT"]


def test_a_file_named_outright_may_have_any_name_even_a_hidden_one(tmp_path):
    paths = [write(tmp_path / name, b"x") for name in (".hidden", "corpus.en", "notes.md")]
    assert list(expand(paths)) == paths


def test_one_path_does_without_a_list(tmp_path):
    path = write(tmp_path / "a.txt", b"x")
    assert list(expand(str(path))) == [path]
    assert list(expand(path)) == [path]


def test_a_directory_named_like_a_text_file_is_not_taken_for_one(tmp_path):
    inner = write(tmp_path / "year.txt" / "jan.txt", b"x")
    assert list(expand([tmp_path])) == [inner]


def test_missing_files_are_named_before_the_first_file_is_yielded(tmp_path):
    there, missing = write(tmp_path / "a.txt", b"x"), tmp_path / "b.txt"
    with pytest.raises(InputError) as caught:
        next(expand([there, missing]))
    assert str(caught.value) == f"no such file: {missing}; {GIVE}"


def test_what_cannot_be_the_name_of_a_file(tmp_path):
    there = write(tmp_path / "a.txt", b"x")
    assert message(lambda: expand([""])) == f"no such file: ''; {GIVE}"
    assert message(lambda: expand(["a\0b"])) == f"no such file: a\\x00b; {GIVE}"
    assert message(lambda: expand([there / "b"])) == f"no such file: {there}/b; {GIVE}"
    prose = "The text itself,\n" + "not a path. " * 400  # a likely mistake in Python
    shown = "The text itself,\\n" + ("not a path. " * 400)[: 300 - 18]
    assert message(lambda: expand([prose])) == f"no such file: {shown}...; {GIVE}"


def test_a_dangling_link_in_a_directory_is_missed(tmp_path):
    (tmp_path / "link.txt").symlink_to(tmp_path / "gone")
    assert message(lambda: expand([tmp_path])) == f"no such file: {tmp_path}/link.txt; {GIVE}"


def test_a_directory_without_text(tmp_path):
    write(tmp_path / "table.csv", b"x")
    write(tmp_path / ".hidden.txt", b"x")
    assert message(lambda: expand([tmp_path])) == (
        f"no text file in {tmp_path}: expected *.txt, *.json, *.jsonl, *.fasta, *.fa, *.faa, *.fna or *.gz, found "
        "none; put them there or give the files by name"
    )


def test_standard_input_is_given_once():
    assert message(lambda: expand(["-", "-"])) == (
        "- is given twice, but standard input can be read only once; give it once"
    )


@pytest.fixture
def without_rights():
    """Drop root's rights during the test, since root can read everything."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        yield
        os.seteuid(0)
    else:
        yield


@pytest.fixture
def locked(tmp_path_factory):
    """Return a directory with a locked file and a locked directory; everything else is readable."""
    place = tmp_path_factory.mktemp("locked")
    for folder in (place, *place.parents[:3]):  # each pytest process adds a folder level
        if folder != Path("/tmp"):
            folder.chmod(0o755)
    write(place / "secret.txt", b"x").chmod(0)
    write(place / "open" / "vault" / "a.txt", b"x")
    (place / "open" / "vault").chmod(0)
    yield place
    (place / "open" / "vault").chmod(0o755)


def test_no_right_to_read(locked, without_rights):
    end = f"permission denied; {GIVE}"
    secret, vault = locked / "secret.txt", locked / "open" / "vault"
    assert message(lambda: open_lines(secret)) == f"cannot read {secret}: {end}"
    assert message(lambda: expand([vault])) == f"cannot read {vault}: {end}"
    assert message(lambda: expand([vault / "a.txt"])) == f"cannot read {vault}/a.txt: {end}"
    assert message(lambda: expand([locked / "open"])) == f"cannot read {vault}: {end}"


def test_other_troubles_of_the_system_are_passed_on(tmp_path, monkeypatch):
    assert message(lambda: open_lines(tmp_path)) == f"cannot read {tmp_path}: is a directory; {GIVE}"

    class FailingDisk:
        def read(self, size: int) -> bytes:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(sys, "stdin", type("Stdin", (), {"buffer": FailingDisk()})())
    assert message(lambda: open_lines("-")) == f"cannot read standard input: input/output error; {GIVE}"


# --- text


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\ntwo", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\rtwo\r", ["one", "two"]),
        (b"\n\none\n\n", ["", "", "one", ""]),
        (b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n", ["one", "\ufefftwo"]),
        (b" a \n", [" a "]),
        (
            "a\x0bb\x0cc\x85d\u2028e".encode(),
            ["a\x0bb\x0cc\x85d\u2028e"],
        ),  # only line feeds and carriage returns end lines
        (b"a", ["a"]),
        (b"\n", [""]),
    ],
)
def test_lines(tmp_path, data, lines):
    plain, packed = write(tmp_path / "a.txt", data), write(tmp_path / "b.txt.gz", gzip.compress(data))
    disguised = write(tmp_path / "c.txt", gzip.compress(data))
    assert [list(open_lines(path)) for path in (plain, packed, disguised)] == [lines] * 3


def test_lines_across_the_borders_of_chunks(tmp_path):
    draw = random.Random(0)
    lines = ["é€😀x"[draw.randrange(4)] * draw.choice([0, 1, 7, 30_000]) for _ in range(60)]
    data = "\r\n".join(lines).encode() + b"\r\n"
    assert len(data) > 8 * CHUNK
    path, packed = write(tmp_path / "a.txt", data), write(tmp_path / "a.gz", gzip.compress(data))
    assert list(open_lines(path)) == lines
    assert list(open_lines(packed)) == lines


def test_standard_input(pipe_in):
    pipe_in(b"\xef\xbb\xbfone\r\ntwo")
    assert list(open_lines("-")) == ["one", "two"]
    pipe_in(gzip.compress(b"three\n"))
    assert list(open_lines("-")) == ["three"]


def test_lines_of_a_real_pipe_come_before_it_is_closed(monkeypatch):
    out, into = os.pipe()
    with os.fdopen(out) as reader, os.fdopen(into, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", reader)
        lines = open_lines("-")
        writer.write(b"one\ntwo\nthr")
        assert [next(lines), next(lines)] == ["one", "two"]
        writer.write(b"ee\n")
        writer.close()
        assert list(lines) == ["three"]


def test_no_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert message(lambda: open_lines("-")) == "there is no standard input to read here; give a file"


def test_nothing_in_it(tmp_path, pipe_in):
    bare, marked = write(tmp_path / "a.txt", b""), write(tmp_path / "b.txt", b"\xef\xbb\xbf")
    packed = write(tmp_path / "c.txt.gz", gzip.compress(b""))
    for path in (bare, marked, packed):
        assert message(lambda path=path: open_lines(path)) == f"{path} is empty: expected {TEXT}"
    assert message(lambda: open_text(bare, expected="a poem")) == f"{bare} is empty: expected a poem"
    pipe_in(b"")
    assert message(lambda: open_lines("-")) == f"standard input is empty: expected {TEXT}"


@pytest.mark.parametrize("before", [0, 1, CHUNK - 1, CHUNK, 3 * CHUNK + 17])
@pytest.mark.parametrize(("bad", "value"), [(b"\xe9t\xe9", "e9"), (b"\xff", "ff"), (b"\xe2\x82", "e2")])
def test_not_utf_8_names_the_byte(tmp_path, before, bad, value):
    # odd prefixes, so that two-byte characters straddle the chunks
    data = ("a" * (before % 2) + "é" * (before // 2)).encode() + bad
    for path in (write(tmp_path / "a.txt", data), write(tmp_path / "b.gz", gzip.compress(data))):
        assert message(lambda path=path: open_lines(path)) == (
            f"{path} is not UTF-8: byte 0x{value} at offset {before}; "
            "convert it, for example with iconv -f LATIN1 -t UTF-8"
        )


def test_lines_before_a_bad_byte_are_numbered_in_the_original_file(tmp_path):
    # the byte order mark and carriage returns, which the reader drops, count in the offset
    path = write(tmp_path / "a.txt", b"\xef\xbb\xbfone\r\n\xe9\r\n")
    assert " at offset 8;" in message(lambda: open_lines(path))


def test_binary_files(tmp_path):
    end = "give UTF-8 text (iconv -f UTF-16 -t UTF-8 converts UTF-16)"
    wide = write(tmp_path / "wide.txt", "Hé".encode("utf-16-le"))
    marked = write(tmp_path / "marked.txt", "Hé".encode("utf-16"))
    far = write(tmp_path / "far.txt", b"a" * (2 * CHUNK + 5) + b"\0")
    for path, offset in ((wide, 1), (marked, 3), (far, 2 * CHUNK + 5)):
        assert message(lambda path=path: open_lines(path)) == (
            f"{path} is not text: NUL byte at offset {offset}; {end}"
        )


def test_a_line_over_16_mib(tmp_path):
    fits = b"short\n" + b"x" * MAX_LINE + b"\n"
    path = write(tmp_path / "a.txt", fits)
    assert [len(line) for line in open_lines(path)] == [5, MAX_LINE]
    expected = "longer than 16 MiB; break it into shorter lines"
    path = write(tmp_path / "b.txt", fits[:-1] + b"x")
    assert message(lambda: open_lines(path)) == f"{path}, line 2: {expected}"
    wide = ["\n\n", "é" * (MAX_LINE // 2), "é", "\n"]  # the limit is in bytes, not characters
    assert message(lambda: split_lines(wide, name="pipe")) == f"pipe, line 3: {expected}"


# --- gzip


def broken(path: Path, how: str) -> str:
    return f"{path} is broken: its gzip data {how}; make or fetch it again"


def test_broken_gzip(tmp_path):
    draw = random.Random(0)
    whole = gzip.compress(bytes(draw.randrange(97, 123) for _ in range(200_000)))
    for cut in (2, 5, 11, len(whole) // 2, len(whole) - 8, len(whole) - 1):
        path = write(tmp_path / "cut.txt.gz", whole[:cut])
        assert message(lambda path=path: open_lines(path)) == broken(path, "ends too early")
    spoilt = bytearray(whole)
    spoilt[-6] ^= 1  # the checksum
    path = write(tmp_path / "spoilt.gz", bytes(spoilt))
    assert message(lambda: open_lines(path)) == broken(path, "cannot be unpacked")
    path = write(tmp_path / "tail.gz", whole + b"more")
    assert message(lambda: open_lines(path)) == broken(path, "cannot be unpacked")


def test_gz_in_name_only(tmp_path):
    path = write(tmp_path / "a.txt.gz", b"plain text\n")
    assert message(lambda: open_lines(path)) == (
        f"{path} ends in .gz but is not gzip; rename it, or make or fetch it again"
    )


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_gzip_in_members_chunks_and_padding(step):
    data = "aé€😀\r\n".encode() * 50
    packed = b"".join(gzip.compress(data[at : at + 7]) for at in range(0, len(data), 7)) + b"\0" * 100
    pieces = list(gunzip([packed[at : at + step] for at in range(0, len(packed), step)], name="x"))
    assert b"".join(pieces) == data
    assert all(pieces)


def test_what_unpacks_to_a_lot_comes_in_small_pieces():
    pieces = list(gunzip([gzip.compress(bytes(20 << 20))], name="x"))
    assert sum(map(len, pieces)) == 20 << 20
    assert max(map(len, pieces)) == CHUNK


def test_a_mark_that_is_not_at_the_start_is_kept(tmp_path):
    # members come as pieces of their own; only the first may lose its mark
    parts = [b"\xef", b"\xbb\xbfa", b"\xef\xbb\xbfb"]
    path = write(tmp_path / "a.gz", b"".join(map(gzip.compress, parts)))
    assert list(open_lines(path)) == ["a\ufeffb"]


def test_members_that_cut_characters_and_line_ends(tmp_path):
    # a chunk that unpacks to nothing must not be taken for the end of the file
    path = write(tmp_path / "a.gz", b"".join(gzip.compress(part) for part in (b"a\xc3", b"", b"\xa9\r", b"", b"\nb")))
    assert list(open_lines(path)) == ["aé", "b"]

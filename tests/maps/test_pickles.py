"""Pickles in the paper's format: written for its notebooks, and read without trusting them."""

import io
import os
import pickle
import pickletools
import struct
import tracemalloc
from collections import OrderedDict

import numpy as np
import pytest

from headscope.errors import InputError, OptionError, OutputError
from headscope.maps.index import MapEntry, MapsIndex, Tokens, maps_folder
from headscope.maps.maps_source import MapsSource
from headscope.maps.pickle_conversion import maps_to_pickle, pickle_to_maps
from headscope.maps.pickles import read_original_pickle, write_original_pickle
from headscope.maps.unpickling import read_plain_pickle
from headscope.models.anatomy import KindLayout

EXPECTED = "expected only arrays of numbers, dicts, lists, strings and numbers, as the original code writes them"
RNG = np.random.default_rng(0)


def attention(layers, heads, n):
    return RNG.dirichlet(np.ones(n), size=(layers, heads, n)).astype(np.float16)


def entries():
    return [
        {"attns": attention(2, 3, 5), "tokens": ["[CLS]", "play", "##ing", ".", "[SEP]"], "relns": ["root", "punct"]},
        {"attns": attention(2, 3, 3), "tokens": ["[CLS]", "é日🙂", "[SEP]"], "heads": [0, 1], "score": 0.5, "x": None},
    ]


def assert_equal(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected):
        assert one.keys() == other.keys()
        np.testing.assert_array_equal(one["attns"], other["attns"])
        assert one["attns"].dtype == other["attns"].dtype
        assert {k: v for k, v in one.items() if k != "attns"} == {k: v for k, v in other.items() if k != "attns"}


# --- reading pickles from outside


@pytest.mark.parametrize("protocol", range(1, pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_python_3(protocol, tmp_path):
    path = tmp_path / "maps.pkl"
    path.write_bytes(pickle.dumps(entries_now := entries(), protocol))
    assert_equal(read_original_pickle(path), entries_now)


def test_arrays_of_every_plain_kind(tmp_path):
    path = tmp_path / "arrays.pkl"
    whole = {
        "fortran": np.asfortranarray(RNG.random((3, 4))),
        "big": RNG.random((2, 2)).astype(">f4"),
        "whole": np.arange(6, dtype=np.int64).reshape(2, 3),
        "truth": np.array([True, False]),
        "bytes": np.arange(3, dtype=np.uint8),
        "none": np.zeros((0, 4), dtype=np.float32),
        "scalar": np.float64(0.25),
        "count": np.int32(7),
    }
    for protocol in range(2, 6):
        path.write_bytes(pickle.dumps(whole, protocol))
        found = read_plain_pickle(path)
        for name, value in whole.items():
            np.testing.assert_array_equal(found[name], value)
            assert np.shape(found[name]) == value.shape


def python_2():
    """Return a pickle as Python 2.7 writes it with protocol 2: text, dtypes and arrays are byte strings."""
    raw = attention(1, 1, 2)
    content = (
        b"\x80\x02]q\x00}q\x01(U\x05attnsq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04"
        b"K\x00\x85q\x05U\x01bq\x06\x87q\x07Rq\x08(K\x01(K\x01K\x01K\x02K\x02tq\tcnumpy\ndtype\nq\nU\x02f2q\x0b"
        b"K\x00K\x01\x87q\x0cRq\r(K\x03U\x01<q\x0eNNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tq\x0fb\x89"
        b"T" + struct.pack("<i", raw.nbytes) + raw.tobytes() + b"q\x10tq\x11b"
        b"U\x06tokensq\x12]q\x13(U\x05[CLS]q\x14U\x02\xc3\xa9q\x15eua."
    )
    return content, raw


def test_a_pickle_of_python_2(tmp_path):
    path = tmp_path / "py2.pkl"
    content, raw = python_2()
    assert (
        pickle.loads(content, encoding="latin1")[0]["attns"].tolist() == raw.tolist()
    )  # check that the pickle has this meaning
    path.write_bytes(content)
    assert_equal(read_original_pickle(path), [{"attns": raw, "tokens": ["[CLS]", "é"]}])


# --- hostile pickles: no named function is called


class Calls:
    """Pickle as a call."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def named(module, name, arguments=b")"):
    """Return a pickle that calls a function by name, which need not exist here."""
    return b"\x80\x02c" + module.encode() + b"\n" + name.encode() + b"\n" + arguments + b"R."


def array_state(*, dtype=b"cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R", shape=b"(K\x02t", raw=b"C\x02ab"):
    return (
        b"\x80\x04cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
        + shape
        + dtype
        + b"\x89"
        + raw
        + b"tb."
    )


LONG = struct.pack("<i", 20_000) + b"a" * 20_000


def many(first, references, *, more=b""):
    """Return a pickle of a list: one value, entry 0 of the memo, and references to it."""
    return b"\x80\x02](" + first + b"q\x00" + more + references + b"e."


SENTINEL = "was-here"
HOSTILE = {
    "os.system": (lambda mark: pickle.dumps(Calls(os.system, f"touch {mark}")), "asks for posix.system"),
    "eval": (lambda mark: pickle.dumps(Calls(eval, f"open({str(mark)!r}, 'w')")), "asks for builtins.eval"),
    "eval in python 2's words": (
        lambda mark: b"\x80\x02c__builtin__\neval\nX" + struct.pack("<i", 3) + b"1+1\x85R.",
        "asks for __builtin__.eval",
    ),
    "getattr": (lambda mark: named("builtins", "getattr"), "asks for builtins.getattr"),
    "a name with dots": (lambda mark: named("numpy", "ndarray.tofile"), "asks for numpy.ndarray.tofile"),
    "an import by the way": (lambda mark: named("antigravity", "x"), "asks for antigravity.x"),
    "numpy.load": (lambda mark: named("numpy", "load"), "asks for numpy.load"),
    "fromfile": (lambda mark: named("numpy", "fromfile"), "asks for numpy.fromfile"),
    "memmap": (lambda mark: named("numpy", "memmap"), "asks for numpy.memmap"),
    "a module of numpy": (
        lambda mark: named("numpy.testing._private.utils", "runstring"),
        "asks for numpy.testing._private.utils.runstring",
    ),
    "codecs": (lambda mark: named("_codecs", "decode"), "asks for _codecs.decode"),
    "encode as rot13": (
        lambda mark: named("_codecs", "encode", b"X\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86"),
        "calls _codecs.encode with arguments that do not encode bytes",
    ),
    "bytes of a size": (
        lambda mark: named("builtins", "bytes", b"J\xff\xff\xff\x7f\x85"),
        "calls bytes with arguments",
    ),
    "ndarray itself": (lambda mark: named("numpy", "ndarray", b"J\xff\xff\xff\x7f\x85\x85"), "calls numpy.ndarray"),
    "another array class": (
        lambda mark: named("numpy.core.multiarray", "_reconstruct", b"cnumpy\ndtype\nK\x00\x85U\x01b\x87"),
        "makes an array of an unknown kind",
    ),
    "an object array": (
        lambda mark: pickle.dumps(np.array([Calls(os.system, f"touch {mark}")], dtype=object)),
        "holds an array of type 'O8'",
    ),
    "an object array of plain things": (
        lambda mark: pickle.dumps(np.array(["a", 1], dtype=object)),
        "holds an array of type 'O8'",
    ),
    "a record array": (lambda mark: pickle.dumps(np.zeros(2, dtype=[("a", "f8")])), "holds an array of type 'V8'"),
    "a dtype with fields": (
        lambda mark: array_state(
            dtype=b"cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R(K\x03U\x01<N](U\x01aeNK\x00K\x00K\x00tb"
        ),
        "holds an array whose items are not plain numbers",
    ),
    "an array of more than its bytes": (
        lambda mark: array_state(shape=b"(J\xff\xff\xff\x7fJ\xff\xff\xff\x7ft"),
        "holds an array of shape (2147483647, 2147483647) with 2 bytes",
    ),
    "an array of negative size": (
        lambda mark: array_state(shape=b"(J\xff\xff\xff\xfft"),
        "holds an array of shape (-1,)",
    ),
    "a memo of two billion places": (
        lambda mark: b"\x80\x02Nr" + struct.pack("<I", 2**31 - 1) + b".",
        "asks for a memo of 2,147,483,647 places after 2 instructions",
    ),
    "a frame of a petabyte": (
        lambda mark: b"\x80\x04\x95" + struct.pack("<Q", 2**50) + b"N.",
        "announces 1,125,899,906,842,624 bytes and has 11",
    ),
    "an object of a class": (lambda mark: pickle.dumps(OrderedDict(), 4), "asks for collections.OrderedDict"),
    "a new object": (lambda mark: b"\x80\x02cnumpy\nndarray\n)\x81.", "uses the pickle instruction NEWOBJ"),
    "an old object": (lambda mark: b"(S'x'\nios\nsystem\n.", "uses the pickle instruction INST"),
    "a set": (lambda mark: pickle.dumps({1}, 4), "uses the pickle instruction EMPTY_SET"),
    "the extension registry": (lambda mark: b"\x80\x02\x82\x01.", "uses the pickle instruction EXT1"),
    "a persistent id": (lambda mark: b"\x80\x02U\x01aQ.", "uses the pickle instruction BINPERSID"),
    "a change to a function of ours": (
        lambda mark: b"\x80\x02c_codecs\nencode\n}U\x0c__defaults__K\x01sb.",
        "changes _codecs.encode",
    ),
    "a change to its attributes": (
        lambda mark: b"\x80\x02c_codecs\nencode\nN}U\x09_functionK\x01s\x86b.",
        "changes _codecs.encode",
    ),
    "an array without content": (
        lambda mark: b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R.",
        "holds something that is not plain data",
    ),
    "a function as a value": (lambda mark: b"\x80\x02cnumpy\ndtype\n.", "holds something that is not plain data"),
    "keys that are numbers": (lambda mark: pickle.dumps({1: 2}), "has a dict whose keys are not strings"),
    # Each list contains the one before it nine times: 9 ** 13 values in 300 bytes.
    "lists in lists in lists": (
        lambda mark: (
            b"\x80\x02]q\x00("
            + b"K\x01" * 9
            + b"e"
            + b"".join(b"]q" + bytes([i + 1]) + b"(" + (b"h" + bytes([i])) * 9 + b"e" for i in range(12))
            + b"."
        ),
        "unfolds to more values than it has bytes",
    ),
    # One long string and many references to it: 200 MB in 40 kB.
    "a byte string named many times": (
        lambda mark: many(b"T" + LONG, b"h\x00" * 10_000),
        "unfolds to more than 64 times as much text as it has bytes",
    ),
    "a string named many times": (
        lambda mark: many(b"X" + LONG, b"h\x00" * 10_000),
        "unfolds to more than 64 times as much text as it has bytes",
    ),
    "a byte string as the key of many dicts": (
        lambda mark: many(b"T" + LONG, b"}h\x00Ns" * 8_000),
        "unfolds to more than 64 times as much text as it has bytes",
    ),
    "a string encoded many times": (
        lambda mark: many(
            b"X" + LONG, b"h\x01h\x00h\x02\x86R" * 5_000, more=b"c_codecs\nencode\nq\x01X\x06\x00\x00\x00latin1q\x02"
        ),
        "makes more bytes than it has",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_are_refused_and_nothing_runs(name, tmp_path, monkeypatch):
    make, why = HOSTILE[name]
    path = tmp_path / "hostile.pkl"
    mark = tmp_path / SENTINEL
    path.write_bytes(make(mark))
    called = []
    for function in ("system", "popen"):
        monkeypatch.setattr(os, function, lambda *a: called.append(a))
    with pytest.raises(InputError) as caught:
        read_plain_pickle(path)
    assert str(caught.value) == f"{path} is refused: it {why}; {EXPECTED}"
    assert not mark.exists()
    assert called == []


def test_the_hostile_pickles_would_have_worked(tmp_path):
    """Plain pickle runs the code of the hostile pickles above."""
    mark = tmp_path / SENTINEL
    pickle.loads(HOSTILE["os.system"][0](mark))
    assert mark.exists()
    assert pickle.loads(HOSTILE["eval in python 2's words"][0](mark)) == 2


def test_references_to_one_byte_string_share_its_memory(tmp_path):
    path = tmp_path / "shared.pkl"
    path.write_bytes(many(b"T" + struct.pack("<i", 200_000) + b"a" * 200_000, b"h\x00" * 60))
    tracemalloc.start()
    try:
        found = read_plain_pickle(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == ["a" * 200_000] * 61
    assert peak < 2_000_000  # separate copies would take 12 MB


def test_a_list_that_holds_itself(tmp_path):
    path = tmp_path / "loop.pkl"
    loop = [1] * 3000
    loop.append(loop)
    path.write_bytes(pickle.dumps(loop))
    with pytest.raises(InputError) as caught:
        read_plain_pickle(path)
    assert str(caught.value) in (
        f"{path} is refused: it unfolds to more values than it has bytes; {EXPECTED}",
        f"{path} is refused: it is nested too deeply or too large to read; {EXPECTED}",
    )


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not a pickle",
        b"\x80\x02]",
        b"\x80\x02]X\xff\xff\xff\x7fab.",
        b"\x80\x04\x8e" + b"\xff" * 8 + b".",
        b"\x80\x02h\x05.",
        b"\x80\x02U\x01\xffa.",
    ],
)
def test_broken_pickles(content, tmp_path):
    path = tmp_path / "broken.pkl"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_plain_pickle(path)
    assert str(caught.value).startswith(f"{path} is not a whole pickle of plain data (")
    assert str(caught.value).endswith(f"); {EXPECTED}")


def test_no_file(tmp_path):
    with pytest.raises(InputError) as caught:
        read_plain_pickle(tmp_path / "no.pkl")
    assert str(caught.value) == (
        f"no such file: {tmp_path / 'no.pkl'}; give a pickle of the original code, as unlabeled_attn.pkl"
    )


GOOD = {"attns": np.full((1, 1, 2, 2), 0.5, np.float16), "tokens": ["a", "b"]}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"attns": 1}, ": expected a list of dicts with attns and tokens, found a dict"),
        ([], ": expected a list of dicts with attns and tokens, found an empty list"),
        ([GOOD, 3], ", entry 2: expected a dict with attns and tokens, found a number"),
        ([{"tokens": []}], ", entry 1: expected attns to be a float array [layers, heads, n, n], found none"),
        (
            [{**GOOD, "attns": np.zeros((1, 1, 2, 2), int)}],
            ", entry 1: expected attns to be a float array [layers, heads, n, n], found an array of int64",
        ),
        (
            [{**GOOD, "attns": np.zeros((1, 2, 3))}],
            ", entry 1: expected attns to have shape [layers, heads, n, n], found [1, 2, 3]",
        ),
        ([{**GOOD, "tokens": "ab"}], ", entry 1: expected tokens to be a list of strings, found a string"),
        ([{**GOOD, "tokens": ["a"]}], ", entry 1: attns has 2 rows, expected 1 (its tokens); extract it again"),
        (
            [{**GOOD, "tokens": ["a"], "words": ["a"]}],
            ", entry 1: attns has 2 rows, expected 1 (its tokens) or 3 (its words and two special tokens); "
            "extract it again",
        ),
        (
            [GOOD, {**GOOD, "attns": np.full((2, 1, 2, 2), 0.5, np.float16)}],
            ", entry 2: attns has 2 layers of 1 heads, expected 1 of 1 as in entry 1; keep the maps of one model in "
            "a file",
        ),
        (
            [GOOD, {**GOOD, "attns": np.full((1, 3, 2, 2), 0.5, np.float16)}],
            ", entry 2: attns has 1 layers of 3 heads, expected 1 of 1 as in entry 1; keep the maps of one model in "
            "a file",
        ),
    ],
)
def test_entries_that_are_not_the_originals(content, why, tmp_path):
    path = tmp_path / "odd.pkl"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(InputError) as caught:
        read_original_pickle(path)
    assert str(caught.value) == f"{path}{why}"


# --- writing


def test_what_is_written_is_read_by_plain_pickle(tmp_path):
    path = tmp_path / "out.pkl"
    written = entries()
    assert write_original_pickle(path, iter(written)) == 2
    with path.open("rb") as file:
        assert_equal(pickle.load(file), written)
    assert_equal(read_original_pickle(path), written)
    content = path.read_bytes()
    instructions = [(op.name, argument) for op, argument, _ in pickletools.genops(content)]
    assert instructions[0] == ("PROTO", 2)
    assert all(op.proto <= 2 for op, _, _ in pickletools.genops(content))  # Python 2.7 can read it
    modules = {argument for name, argument in instructions if name == "GLOBAL"}
    assert modules == {
        "numpy.core.multiarray _reconstruct",  # numpy 1 and 2 both have this name
        "numpy ndarray",
        "numpy dtype",
        "_codecs encode",
    }


def test_it_is_written_entry_by_entry(tmp_path):
    path = tmp_path / "out.pkl"

    def stream():
        for number in range(3):
            yield {"attns": np.full((1, 1, 1, 1), number, np.float32), "tokens": ["a"]}
            assert not path.exists()
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_original_pickle(path, stream())
    assert list(tmp_path.iterdir()) == []
    path.write_text("mine")
    with pytest.raises(OutputError) as caught:
        write_original_pickle(path, [])
    assert str(caught.value) == (f"{path} is there already; give another --out, or --force to replace it")
    assert path.read_text() == "mine"


def test_there_and_back(tmp_path):
    """Converting a pickle to a folder and back gives the same entries; the folder is valid saved maps."""
    original = entries()
    path = tmp_path / "a.pkl"
    with path.open("wb") as file:
        pickle.dump(original, file, -1)
    assert pickle_to_maps(path, tmp_path / "maps") == 2
    source = MapsSource(tmp_path / "maps")
    assert source.layout == (KindLayout("encoder", 2, 3),)
    first = source.index.entries[0].input
    assert first.tokens == original[0]["tokens"]
    assert first.classes == [1, 0, 0, 3, 2]
    assert first.word_ids == [-1, 0, 0, 1, -1]
    assert source.index.entries[1].fields == {"heads": [0, 1], "score": 0.5, "x": None}
    assert maps_to_pickle(tmp_path / "maps", tmp_path / "b.pkl") == (2, 0)
    assert_equal(read_original_pickle(tmp_path / "b.pkl"), original)


def test_word_level_and_causal_pickles(tmp_path):
    causal = np.tril(attention(1, 2, 4)).astype(np.float32)
    causal = (causal / causal.sum(-1, keepdims=True)).astype(np.float16)
    original = [{"words": ["playing", "."], "attns": causal, "tokens": ["[CLS]", "play", "##ing", ".", "[SEP]"]}]
    write_original_pickle(tmp_path / "a.pkl", original)
    pickle_to_maps(tmp_path / "a.pkl", tmp_path / "maps")
    source = MapsSource(tmp_path / "maps")
    assert source.layout == (KindLayout("decoder", 1, 2),)
    assert source.index.word_level == "first"
    (entry,) = source.index.entries
    assert entry.input.tokens == ["[CLS]", "playing", ".", "[SEP]"]
    assert entry.input.word_ids == [-1, 0, 1, -1]
    assert entry.input.classes == [1, 0, 3, 2]
    maps_to_pickle(tmp_path / "maps", tmp_path / "b.pkl")
    assert_equal(read_original_pickle(tmp_path / "b.pkl"), original)


def folder_of(path, layout, entry, maps, *, word_level=None):
    index = MapsIndex(model={}, special={}, layout=layout, store="float16", word_level=word_level, signature={})
    with maps_folder(path, index) as writer:
        writer.add(entry, maps)


def test_what_a_pickle_has_no_place_for(tmp_path):
    tokens = Tokens(tokens=["<s>", "a", "</s>"], ids=[0, 1, 2], classes=[1, 0, 2], word_ids=[-1, 0, -1])
    both = (KindLayout("encoder", 1, 1), KindLayout("decoder", 1, 1))
    one = np.full((1, 1, 3, 3), 1 / 3)
    folder_of(
        tmp_path / "both",
        both,
        MapEntry(document="d", index=0, input=tokens, decoder=tokens),
        {"encoder": one, "decoder": one},
    )
    with pytest.raises(OptionError) as caught:
        maps_to_pickle(tmp_path / "both", tmp_path / "a.pkl")
    assert str(caught.value) == (
        f"{tmp_path / 'both'} holds attention of several kinds (encoder, decoder), and the original's pickle has "
        "place for one; keep the folder of maps"
    )
    # The second of two words has no token, so a reader that counts rows would take [SEP] for it.
    entry = MapEntry(document="d", index=0, input=tokens, words=["a", "\u200b"])
    folder_of(tmp_path / "words", both[:1], entry, {"encoder": one}, word_level="mean")
    assert maps_to_pickle(tmp_path / "words", tmp_path / "a.pkl") == (0, 1)
    assert pickle.loads((tmp_path / "a.pkl").read_bytes()) == []


def test_the_python_2_fixture_has_only_instructions_of_protocol_2():
    content, _ = python_2()
    assert all(op.proto <= 2 for op, _, _ in pickletools.genops(io.BytesIO(content)))

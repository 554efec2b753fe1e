"""Saved maps and pickles that are damaged or malicious give an early error message in every reader."""

import pickle
import time
import tracemalloc

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.syntax.compute import SyntaxMeasurement
from headscope.attention.row_checks import sum_tolerance, wrong_row
from headscope.errors import AttentionError, HeadscopeError, InputError
from headscope.maps.index_reader import read_index
from headscope.maps.maps_source import MapsSource
from headscope.maps.pickle_conversion import maps_to_pickle, pickle_to_maps
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.maps_run import MapsRun
from headscope.scans.prepare.prepared_run import prepare
from support.commands import run_command
from support.hostile import Case, each, printable
from support.hostile_index import index_files, index_values, masks, trees
from support.hostile_maps import folders
from support.hostile_pickles import MARK, pickles, right
from support.hostile_rows import WRONG, rows
from support.hostile_shards import shards
from support.maps_folders import FORMS, SHARD, edited, whole
from support.views import hand_made


class Nothing:
    """A consumer that ignores the tiles."""

    def begin(self, batch): ...
    def update(self, tile): ...
    def end(self, batch): ...


def walk(folder):
    MapsSource(folder).run(Nothing(), {"weights", "statistics"})


def said(case: Case, folder, act, *, error=InputError):
    """Read a case; check that its message is the expected one, names the file or document, and can be printed."""
    place = case.make(folder)
    if case.says is None:
        act(place)
        return ""
    with pytest.raises(error) as caught:
        act(place)
    text = str(caught.value)
    assert case.says in text
    assert str(place) in text or "document" in text
    assert printable(text)
    return text


@each(folders())
def test_damaged_maps_are_refused_in_words(case, tmp_path):
    said(case, tmp_path, walk)


@each(trees())
def test_maps_without_a_right_tree_are_no_treebank(case, tmp_path):
    def syntax(folder):
        SyntaxMeasurement(prepare(RunOptions(maps=folder, stages=("syntax",)))).measure()

    said(case, tmp_path, syntax)


@each(pickles())
def test_damaged_pickles_are_refused_and_nothing_runs(case, tmp_path):
    def convert(path):
        pickle_to_maps(path, tmp_path / "out")
        maps_to_pickle(tmp_path / "out", tmp_path / "again.pkl")

    said(case, tmp_path, convert)
    left = {path.name for path in tmp_path.iterdir()}
    assert MARK not in left
    assert left == ({"maps.pkl"} if case.says is not None else {"maps.pkl", "out", "again.pkl"})


# --- every reader of maps

SAMPLE = {
    "an index of noise": (index_files, "an index of zeros"),
    "a null id": (index_values, "one of the ids is null"),
    "a billion layers": (index_values, "layers a billion"),
    "a file that is missing": (shards, "a shard that is missing"),
    "maps of another shape": (shards, "maps of another shape"),
    "a mask out of range": (masks, "a mask out of range"),
    "negative weights": (rows, "encoder weights negative in float16"),
    "NaN": (rows, "decoder weights NaN in float32"),
}
READERS = {
    "stats": ("stats", "--maps", "{maps}", "-q"),
    "syntax": ("syntax", "--maps", "{maps}", "-q"),
    "distances": ("distances", "--maps", "{maps}", "-q"),
    "report": ("report", "--maps", "{maps}", "--out", "{out}", "-q"),
    "convert": ("convert", "{maps}", "{out}"),
}


def sampled(name):
    cases, wanted = SAMPLE[name]
    return next(case for case in cases() if case.name == wanted)


SAMPLED = [pytest.param(sampled(name), id=name) for name in SAMPLE]


@pytest.mark.parametrize("case", SAMPLED)
@pytest.mark.parametrize("command", READERS)
def test_every_command_that_reads_maps_says_so_with_2(command, case, tmp_path):
    place = case.make(tmp_path)
    arguments = [part.format(maps=place, out=tmp_path / "out") for part in READERS[command]]
    code, _, err = run_command(*arguments)
    assert code == 2
    assert err.startswith("headscope: ")
    assert case.says in err
    assert printable(err)


@pytest.mark.parametrize("case", SAMPLED)
def test_report_in_python_raises_the_same(case, tmp_path):
    said(case, tmp_path, lambda maps: hs.report(maps=maps, out=tmp_path / "out"))


def test_probes_take_no_maps():
    code, _, err = run_command("probes", "--maps", "maps")
    assert code == 2
    assert "--maps" in err


@pytest.mark.parametrize("name", ["a billion layers", "a null id", "an index of noise"])
def test_a_bad_index_is_known_without_the_weights(name, tmp_path):
    place = sampled(name).make(tmp_path)
    (place / SHARD).unlink()
    with pytest.raises(InputError):
        read_index(place)
    with pytest.raises(InputError):
        MapsRun(RunOptions(maps=place))


@each(
    case
    for case in (*index_values(), *index_files(), *shards())
    if any(word in case.name for word in ("billion", "terabyte", "gigabyte", "99 MB", "overflow", "in lists", "huge"))
)
def test_what_is_absurd_is_refused_at_once_and_in_little_memory(case, tmp_path):
    place = case.make(tmp_path)
    tracemalloc.start()
    began = time.perf_counter()
    try:
        with pytest.raises(InputError):
            walk(place)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - began < 10
    assert peak < 50_000_000


# --- exact messages


def refused(act):
    with pytest.raises(HeadscopeError) as caught:
        act()
    return str(caught.value)


def test_what_is_said_of_a_row(tmp_path):
    change, _ = WRONG["negative"]
    place = whole(tmp_path / "maps", "three", change=lambda maps: change(maps[1, 0, 2]))
    assert refused(lambda: walk(place)) == (
        f"{place / SHARD}: row 3 of cross head 2-1 in segment 1 of document b holds -0.5; expected weights "
        "between 0 and 1: give attention after the softmax, or extract the maps again"
    )


def test_what_is_said_of_an_index(tmp_path):
    place = edited(lambda content: content["entries"][0]["input"]["ids"].__setitem__(2, None), tmp_path)
    assert refused(lambda: walk(place)) == (
        f"{place / 'index.json'} is damaged (entry 1, input, ids: expected a whole number from 0 to "
        "2,147,483,647, found null); extract the maps again"
    )
    (place / "index.json").write_bytes(b"[" * 100_000)
    assert refused(lambda: walk(place)) == (
        f"{place / 'index.json'} is damaged (it is nested more than 72 deep); extract the maps again"
    )
    with (place / "index.json").open("r+b") as file:
        file.truncate(1 << 30)
    assert refused(lambda: walk(place)) == (
        f"{place / 'index.json'} is damaged (it has 1,073,741,824 bytes; expected at most 33,554,432); extract the "
        "maps again"
    )


def test_what_is_said_of_a_file(tmp_path):
    again = "copy the whole folder again, or extract the maps again"
    place = whole(tmp_path / "maps")
    (place / SHARD).rename(tmp_path / "elsewhere")
    (place / SHARD).symlink_to(tmp_path / "elsewhere")
    assert refused(lambda: walk(place)) == (
        f"{place / SHARD} is a link that leads out of its folder; expected the file itself: copy it there, or "
        "extract the maps again"
    )
    (place / SHARD).unlink()
    (place / SHARD).write_bytes(bytes((tmp_path / "elsewhere").stat().st_size))
    text = refused(lambda: walk(place))
    assert text.startswith(f"{place / SHARD} is not a whole safetensors file (")
    assert text.endswith(f"); {again}")


def test_a_link_within_the_folder_is_fine(tmp_path):
    place = whole(tmp_path / "maps")
    (place / SHARD).rename(place / "moved.safetensors")
    (place / SHARD).symlink_to("moved.safetensors")
    walk(place)


def test_what_is_said_of_a_tree(tmp_path):
    place = edited(lambda content: content["entries"][0]["fields"].update(heads=7), tmp_path)
    assert refused(lambda: SyntaxMeasurement(prepare(RunOptions(maps=place, stages=("syntax",)))).measure()) == (
        "segment 1 of document a: expected heads as a list of whole numbers, and relns as a list of names; give a "
        "treebank, or maps that were extracted from one"
    )


# --- arrays given to views

OUTSIDE = {
    "negative": (-0.5, "holds -0.5; expected weights between 0 and 1"),
    "above 1": (1.5, "holds 1.5; expected weights between 0 and 1"),
    "NaN": (np.nan, "holds nan; expected weights between 0 and 1"),
    "infinite": (np.inf, "holds inf; expected weights between 0 and 1"),
    "too much in all": (0.9, "sums to 1.9; expected 1 at most"),
}
VIEWS = ("head_view", "model_view", "matrix_view", "heatmap")


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("view", VIEWS)
def test_arrays_that_are_no_attention_are_not_drawn(view, dtype, name):
    value, says = OUTSIDE[name]
    maps = hand_made().astype(dtype)
    maps[0, 1, 1, 1] = value
    text = refused(lambda: getattr(hs, view)(attention=maps, tokens=["a", "b", "c"]))
    assert text == f"encoder attention of head 1-2, row 2 {says}: give attention after the softmax"


@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.float32, bool])
def test_an_array_of_zeros_is_not_drawn(dtype):
    text = refused(lambda: hs.head_view(attention=np.zeros((1, 2, 3, 3), dtype), tokens=["a", "b", "c"]))
    assert text == (
        "encoder attention is 0 in every layer and head; expected rows that sum to 1: give attention after the softmax"
    )


@pytest.mark.parametrize(
    ("attention", "says"),
    [
        (7, "encoder attention is a int; expected a sequence with one tensor or array a layer"),
        (["a\x1b[2J"], "layer 1 of encoder attention is not an array of numbers ("),
        ([[["0.5"]]], "layer 1 of encoder attention is not an array of numbers ("),
        ([[[[1.0], [0.5, 0.5]]]], "layer 1 of encoder attention is not an array of numbers ("),
        ([np.ones((2, 3, 3), dtype=complex)], "layer 1 of encoder attention is not an array of numbers ("),
        ([np.full((2, 3, 3), None)], "layer 1 of encoder attention is not an array of numbers ("),
        ([np.full((2, 3, 3), 3)], "encoder attention of head 1-1, row 1 holds 3; expected weights between 0 and 1"),
        ([np.full((2, 3, 3), 1e300)], "encoder attention of head 1-1, row 1 holds inf; expected weights"),
        (torch.full((1, 1, 2, 3, 3), -1.0), "encoder attention of head 1-1, row 1 holds -1; expected weights"),
    ],
)
def test_what_is_no_array_of_weights_is_not_drawn(attention, says):
    with pytest.raises(AttentionError) as caught:
        hs.head_view(attention=attention, tokens=["a", "b", "c"])
    assert str(caught.value).startswith(says)
    assert printable(str(caught.value))


# --- rounding errors in valid rows


def softmaxes(rng, keys, scale):
    scores = scale * rng.normal(size=(1, 2, 8, keys))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("keys", [1, 2, 3, 5, 128, 512, 4096, 32768])
@pytest.mark.parametrize("scale", [0.0, 1.0, 8.0])
def test_rounding_never_makes_a_right_row_wrong(keys, scale):
    exact = softmaxes(np.random.default_rng(keys), keys, scale)
    half = exact.astype(np.float16)
    coarse = torch.tensor(exact).to(torch.bfloat16).to(torch.float16).numpy()
    for weights in (exact, half, coarse):
        sums = weights.astype(np.float64).sum(-1)
        assert abs(sums - 1).max() <= sum_tolerance(keys)
        assert wrong_row(weights.astype(np.float32)) is None


def test_a_half_of_the_tolerance_is_what_bfloat16_takes():
    thirds = torch.full((1, 1, 3), 1 / 3).to(torch.bfloat16).float().numpy()
    assert abs(float(thirds.sum()) - 1) == 2**-9
    assert wrong_row(thirds) is None


def test_a_minus_before_zero_is_no_negative_weight():
    assert wrong_row(np.array([[[1, -0.0], [0.5, 0.5]]], dtype=np.float32)) is None


def test_the_smallest_weight_on_a_masked_key_is_seen():
    hidden = np.array([[0, 1], [0, 0]], dtype=np.float32)
    weights = np.array([[[1, 2**-24], [0.5, 0.5]]], dtype=np.float32)
    found = wrong_row(weights, hidden=hidden)
    assert found.index == (0, 0)
    assert found.what == "holds 5.96e-08 for key 2, which is masked; expected 0"
    assert wrong_row(weights) is None


def test_maps_that_are_right_are_read_as_before(tmp_path):
    for form in FORMS:
        for store in ("float16", "float32"):
            walk(whole(tmp_path / form / store, form, store=store))
    walk(whole(tmp_path / "masked", masked=True))


# --- more exact messages

AGAIN = "copy the whole folder again, or extract the maps again"


def test_what_is_said_of_tensors(tmp_path):
    def text(name):
        place = next(case for case in (*shards(), *masks()) if case.name == name).make(tmp_path / name[:30])
        return refused(lambda: walk(place)).replace(str(place), "MAPS")

    for name in ("maps under another name", "maps of another shape", "maps of BF16", "a mask not stored"):
        (tmp_path / name[:30]).mkdir()
    assert text("maps under another name") == (
        f"MAPS: the encoder maps of segment 1 of document b are missing (tensor 2.encoder of {SHARD}); {AGAIN}"
    )
    assert text("maps of another shape") == (
        "MAPS: the encoder maps of segment 1 of document b are F16 of shape [2, 2, 25, 1], expected F16 of shape "
        f"[2, 2, 5, 5] [layers, heads, queries, keys] as the index says; {AGAIN}"
    )
    assert text("maps of BF16") == (
        "MAPS: the encoder maps of segment 1 of document b are BF16 of shape [2, 2, 5, 5], expected F16 of shape "
        f"[2, 2, 5, 5] [layers, heads, queries, keys] as the index says; {AGAIN}"
    )
    assert text("a mask not stored") == (
        f"MAPS/{SHARD}: mask.9 is missing, expected U8 of shape [4], a bit for each of 5 rows and 5 keys; {AGAIN}"
    )


def pickled(entries, folder):
    path = folder / "maps.pkl"
    path.write_bytes(pickle.dumps(entries, 2))
    return path


def test_what_is_said_of_a_pickle(tmp_path):
    entries = right()
    entries[1]["attns"][1, 0, 2] = 0
    path = pickled(entries, tmp_path)
    assert refused(lambda: pickle_to_maps(path, tmp_path / "out")) == (
        f"{path}, entry 2: row 3 of head 2-1 sums to 0; expected 1: give attention after the softmax, or extract it "
        "again"
    )
    pickled([right()[0], right(by_word=True)[1]], tmp_path)
    assert refused(lambda: pickle_to_maps(path, tmp_path / "out")) == (
        f"{path}, entry 1: its attention is by token and that of entry 2 by word; keep the two in files of their own"
    )
    pickled([{**right(by_word=True)[0], "tokens": ["[CLS]"]}], tmp_path)
    assert refused(lambda: pickle_to_maps(path, tmp_path / "out")) == (
        f"{path}, entry 1: expected tokens with a special token at each end, as its attention by word has, found 1; "
        "extract it again"
    )


def test_words_that_tokens_do_not_tell_apart_are_kept_but_not_taken_for_rows(tmp_path):
    """The words of a treebank's `don't` cannot be matched with BERT's tokens, so rows are not words."""
    entry = {
        "attns": np.full((1, 1, 5, 5), 0.2, np.float16),
        "tokens": ["[CLS]", "don", "'", "t", "[SEP]"],
        "words": ["don't"],
    }
    assert pickle_to_maps(pickled([entry], tmp_path), tmp_path / "out") == 1
    (found,) = read_index(tmp_path / "out").entries
    assert found.words == []
    maps_to_pickle(tmp_path / "out", tmp_path / "again.pkl")
    (again,) = pickle.loads((tmp_path / "again.pkl").read_bytes())
    assert (again["words"], again["tokens"]) == (entry["words"], entry["tokens"])

"""Saved maps: reading returns the model's values, and broken folders are refused with a clear message."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from headscope.analyses.stats.sums import StatsAccumulator
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.model.segment_source import left_padding_works
from headscope.attention.scan import scan
from headscope.attention.word_attention import word_level
from headscope.encoding.vocabulary import KeyClass
from headscope.errors import InputError, OutputError
from headscope.maps.index import MapEntry, MapsIndex, Tokens, maps_folder
from headscope.maps.index_reader import read_index
from headscope.maps.maps_source import MapsSource
from headscope.maps.writer import MapsWriter
from headscope.models.anatomy import KindLayout
from headscope.storage.lock import place_held
from headscope.storage.places import is_own
from support.inputs import eager_maps, made_up_segments, vocabulary
from support.tiny_models import shared_tiny_model

DECODERS = ("gpt2", "llama", "mistral")
FAMILIES = ("bert", *DECODERS, "t5", "bart", "modernbert", "deberta-v2")


def names(ids):
    return [f"t{i}" for i in ids]


def index_for(layout, **options):
    about = {"store": "float32", "word_level": None, **options}
    return MapsIndex(
        model={"name": "tiny"}, special={"cls": "[CLS]", "sep": "[SEP]"}, layout=layout, signature={"id": "x"}, **about
    )


def save(folder, family, segments, *, size=4, side="right", tile_limit=1 << 26, shuffle=False, others=(), **options):
    model = shared_tiny_model(family)
    vocab = vocabulary(has_cls=family not in DECODERS)
    anatomy = examine(model, vocab)
    writing = {key: options.pop(key) for key in ("shard_bytes", "replace") if key in options}
    with maps_folder(folder, index_for(anatomy.layout, **options), **writing) as saved:
        writer, ordered = MapsWriter(saved, names=names), list(saved.in_order(segments))
        if shuffle:
            Random(1).shuffle(ordered)
        batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]
        source = ModelSource(model, anatomy, vocab, batches, padding_side=side, tile_limit=tile_limit)
        scan(source, [writer, *[make(anatomy.layout) for make in others]])
    return anatomy


def stats_of(source):
    stats = StatsAccumulator(source.layout)
    scan(source, [stats])
    return stats.compute()


def model_stats(family, segments):
    model = shared_tiny_model(family)
    vocab = vocabulary(has_cls=family not in DECODERS)
    anatomy = examine(model, vocab)
    return stats_of(ModelSource(model, anatomy, vocab, [segments[i : i + 5] for i in range(0, len(segments), 5)]))


def assert_same_stats(found, expected, *, atol):
    assert [each.kind for each in found] == [each.kind for each in expected]
    for one, other in zip(found, expected):
        for number in ("value", "low", "high"):
            np.testing.assert_allclose(getattr(one.values, number), getattr(other.values, number), rtol=0, atol=atol)
        np.testing.assert_allclose(one.uniform, other.uniform, rtol=0, atol=1e-7)
        np.testing.assert_array_equal(one.n, other.n)


@pytest.mark.parametrize("family", FAMILIES)
def test_statistics_from_saved_maps_equal_those_from_the_model(family, tmp_path):
    segments = made_up_segments(14, documents=12)
    expected = model_stats(family, segments)
    save(tmp_path / "exact", family, segments, shuffle=True)
    assert_same_stats(stats_of(MapsSource(tmp_path / "exact", batch_size=3)), expected, atol=1e-6)
    save(tmp_path / "half", family, segments, store="float16", tile_limit=4 * 4 * 20 * 5)
    assert_same_stats(stats_of(MapsSource(tmp_path / "half")), expected, atol=1e-3)


@pytest.mark.parametrize("family", ["bert", "gpt2", "t5", "modernbert"])
def test_left_padding_gives_the_same_maps(family, tmp_path):
    assert left_padding_works(shared_tiny_model(family), examine(shared_tiny_model(family), vocabulary()), vocabulary())
    segments = made_up_segments(6)
    save(tmp_path / "right", family, segments)
    save(tmp_path / "left", family, segments, side="left")
    right, left = MapsSource(tmp_path / "right"), MapsSource(tmp_path / "left")
    assert left.index.masks == right.index.masks
    for one, other in zip(right.index.entries, left.index.entries):
        assert other == one
        for kind, maps in right.maps(one).items():
            np.testing.assert_allclose(left.maps(other)[kind], maps, atol=1e-6)


@pytest.mark.parametrize("family", ["bert", "t5"])
def test_the_folder_read_with_nothing_of_ours(family, tmp_path):
    """Check the format with other libraries: JSON, safetensors, and transformers' own weights."""
    segments = [
        replace(segment, words=("some", "words"), fields={"heads": [0, 1], "note": "é"}, shortened=i == 2)
        for i, segment in enumerate(made_up_segments(5))
    ]
    save(tmp_path / "maps", family, segments, shuffle=True, shard_bytes=4000)
    content = json.loads((tmp_path / "maps" / "index.json").read_text())
    assert (content["format"], content["version"]) == ("headscope maps", 1)
    assert content["model"] == {"name": "tiny"}
    assert content["special"] == {"cls": "[CLS]", "sep": "[SEP]"}
    assert len(content["shards"]) > 1
    assert content["masks"] == []
    model = shared_tiny_model(family)
    for place, (entry, segment) in enumerate(zip(content["entries"], segments)):
        assert (entry["document"], entry["index"]) == (segment.document, segment.index)
        assert entry["input"]["ids"] == segment.ids.tolist()
        assert entry["input"]["tokens"] == names(segment.ids)
        assert entry["input"]["classes"] == vocabulary().classes[segment.ids].tolist()
        assert entry["input"]["word_ids"] == segment.word_ids.tolist()
        assert entry["token_types"] == segment.token_types.tolist()
        assert entry["words"] == ["some", "words"]
        assert entry["fields"] == {"heads": [0, 1], "note": "é"}
        assert entry["shortened"] == (place == 2)
        shard = load_file(tmp_path / "maps" / content["shards"][entry["shard"]]["file"])
        ids = torch.from_numpy(segment.ids)[None]
        if family == "bert":
            assert entry["decoder"] is None
            inputs = {"input_ids": ids, "token_type_ids": torch.from_numpy(segment.token_types)[None]}
        else:
            assert entry["decoder"]["ids"] == [0, *segment.ids[:-1].tolist()]
            inputs = {"input_ids": ids, "decoder_input_ids": torch.tensor([entry["decoder"]["ids"]])}
        for kind, layers in eager_maps(model, **inputs).items():
            stored = shard[f"{entry['name']}.{'encoder' if kind == 'self' else kind}"]
            np.testing.assert_allclose(stored, torch.stack(layers)[:, 0], atol=2e-6)
    files = {path.name for path in (tmp_path / "maps").iterdir()}
    assert files == {"index.json", *(shard["file"] for shard in content["shards"])}


def test_masks_that_are_no_default_survive(tmp_path):
    segments = made_up_segments(8)
    save(tmp_path / "maps", "modernbert", segments)
    index = read_index(tmp_path / "maps")
    lengths = {len(segment) for segment in segments if len(segment) > 4}  # a window of 3 each way hides nothing in 4
    assert len(index.masks) == len(lengths)  # one for each length, shared by segments and local layers
    source = MapsSource(tmp_path / "maps")
    for entry in index.entries:
        n = len(entry.input)
        if n <= 4:
            assert entry.masks == {}
            continue
        everywhere, local, last = entry.masks["encoder"]
        assert everywhere is None
        assert last is None
        at = np.arange(n)
        window = abs(at[:, None] - at) <= 3
        np.testing.assert_array_equal(source.shards.mask(index.masks[local]), window)


def test_word_level_maps(tmp_path):
    segments = made_up_segments(9)
    for pooling in ("mean", "first", "max"):
        save(tmp_path / pooling, "bert", segments, word_level=pooling)
        source = MapsSource(tmp_path / pooling)
        for segment, entry in zip(segments, source.index.entries):
            inputs = {
                "input_ids": torch.from_numpy(segment.ids)[None],
                "token_type_ids": torch.from_numpy(segment.token_types)[None],
            }
            eager = torch.stack(eager_maps(shared_tiny_model("bert"), **inputs)["self"])[:, 0]
            expected = word_level(eager, torch.from_numpy(segment.word_ids)[None].expand(3, -1), pooling=pooling)
            np.testing.assert_allclose(source.maps(entry)["encoder"], expected.weights, atol=2e-6)
    # Tiles that end between words give the same values.
    save(tmp_path / "cut", "bert", segments, word_level="mean", tile_limit=4 * 4 * 20 * 4)
    whole, cut = MapsSource(tmp_path / "mean"), MapsSource(tmp_path / "cut")
    for one, other in zip(whole.index.entries, cut.index.entries):
        np.testing.assert_allclose(cut.maps(other)["encoder"], whole.maps(one)["encoder"], atol=1e-6)


def test_tiles_of_word_level_maps_are_words(tmp_path):
    segments = made_up_segments(6)
    save(tmp_path / "maps", "gpt2", segments, word_level="mean")
    source = MapsSource(tmp_path / "maps")
    assert source.index.masks == ()  # a word sees itself and the words before it, a decoder's default

    class Check:
        needs = frozenset({"weights"})
        span = "rows"

        def begin(self, batch):
            self.batch = batch

        def update(self, tile):
            for item, segment in enumerate(self.batch.segments):
                original = next(each for each in segments if each.document == segment.document)
                rows = tile.queries.valid[item]
                groups = []
                for place, word in enumerate(original.word_ids):
                    if word == -1 or not groups or original.word_ids[groups[-1][0]] != word:
                        groups.append([])
                    groups[-1].append(place)
                assert tile.queries.ids[item][rows].tolist() == [original.ids[g[0]] for g in groups]
                classes = vocabulary(has_cls=False).of(original.ids, decoder=True)
                expected = [classes[g[0]] if len(g) == 1 else KeyClass.OTHER for g in groups]
                assert tile.queries.classes[item][rows].tolist() == expected
                torch.testing.assert_close(tile.weights[item][:, rows].sum(-1), torch.ones(4, len(groups)))

        def end(self, batch):
            pass

    scan(source, [Check()])


def test_some_entries_only(tmp_path):
    segments = made_up_segments(5)
    save(tmp_path / "maps", "bert", segments)
    source = MapsSource(tmp_path / "maps")
    few = source.only([3, 1])
    assert [entry.document for entry in few.index.entries] == [segments[3].document, segments[1].document]
    assert len(source.index.entries) == 5
    assert_same_stats(stats_of(few), model_stats("bert", [segments[3], segments[1]]), atol=1e-6)


TOKENS = Tokens(tokens=["[CLS]", "a", "[SEP]"], ids=[0, 5, 2], classes=[1, 0, 2], word_ids=[-1, 0, -1])
LAYOUT = (KindLayout("encoder", 2, 2),)


def small(folder, **options):
    with maps_folder(folder, index_for(LAYOUT), **options) as writer:
        for document in ("a", "b"):
            writer.add(MapEntry(document=document, index=0, input=TOKENS), {"encoder": np.full((2, 2, 3, 3), 1 / 3)})
    return folder


def refused(action):
    with pytest.raises((InputError, OutputError)) as caught:
        action()
    return str(caught.value)


def walk(folder):
    scan(MapsSource(folder), [StatsAccumulator(LAYOUT)])


def test_no_index(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert refused(lambda folder=folder: MapsSource(folder)) == (
            f"{folder} holds no saved maps: expected a folder with index.json, as headscope extract writes it when "
            "it finishes; give that folder"
        )


def test_another_version_or_another_thing(tmp_path):
    path = small(tmp_path / "maps") / "index.json"
    text = path.read_text()
    path.write_text(text.replace('"version": 1', '"version": 7'))
    assert refused(lambda: MapsSource(tmp_path / "maps")) == (
        f"{path} has version 7 of saved maps, expected version 1; use the headscope that wrote it, or extract the "
        "maps again with this one"
    )
    path.write_text('{"weight_map": {}}')
    assert refused(lambda: MapsSource(tmp_path / "maps")) == (
        f"{path} is not an index of saved maps; give a folder that headscope extract wrote"
    )


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"special"', '"spatial"', "it lacks 'special'"),
        (
            '"file": "maps-00001',
            '"file": "../maps-00001',
            "shards, file: expected the name of a file in the folder, found the text '../maps-00001.safetensors'",
        ),
        (
            '"kind": "encoder"',
            '"kind": "sideways"',
            "layout, kind: expected one of encoder, decoder, cross, found the text 'sideways'",
        ),
        ('"ids": [0, 5, 2]', '"ids": [0, 5]', "entry 1 has lists of different length, or no tokens"),
        (
            '"shard": 0, "name": "2"',
            '"shard": 4, "name": "2"',
            "entry 2, shard: expected a whole number from 0 to 0, found 4",
        ),
    ],
)
def test_a_damaged_index(old, new, why, tmp_path):
    path = small(tmp_path / "maps") / "index.json"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    assert refused(lambda: MapsSource(tmp_path / "maps")) == f"{path} is damaged ({why}); extract the maps again"


def test_an_index_that_breaks_off(tmp_path):
    path = small(tmp_path / "maps") / "index.json"
    path.write_bytes(path.read_bytes()[:100])
    assert refused(lambda: MapsSource(tmp_path / "maps")).startswith(f"{path} is damaged (")


def test_broken_shards(tmp_path):
    folder = small(tmp_path / "maps")
    shard = folder / "maps-00001.safetensors"
    whole = shard.read_bytes()
    again = "copy the whole folder again, or extract the maps again"
    shard.write_bytes(whole[:-10])
    assert refused(lambda: walk(folder)) == f"{shard} has {len(whole) - 10} bytes, expected {len(whole)}; {again}"
    shard.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert refused(lambda: walk(folder)) == (f"{shard} is not the file that was written (its hash differs); {again}")
    shard.unlink()
    assert refused(lambda: walk(folder)) == f"{shard} is missing; {again}"


def test_maps_of_another_length_than_the_index_says(tmp_path):
    path = small(tmp_path / "maps") / "index.json"
    content = json.loads(path.read_text())
    for values in content["entries"][1]["input"].values():
        values.append(values[0])
    path.write_text(json.dumps(content))
    assert refused(lambda: walk(tmp_path / "maps")) == (
        f"{tmp_path / 'maps'}: the encoder maps of segment 1 of document b are F32 of shape [2, 2, 3, 3], "
        "expected F32 of shape [2, 2, 4, 4] [layers, heads, queries, keys] as the index says; copy the whole folder "
        "again, or extract the maps again"
    )


def test_nothing_is_replaced_unless_asked(tmp_path):
    folder = small(tmp_path / "maps")
    (folder / "mine.txt").write_text("mine")
    assert refused(lambda: small(folder)) == (
        f"{folder} is there already; give another --out, or --force to replace it"
    )
    assert (folder / "mine.txt").exists()
    small(folder, replace=True)
    assert sorted(path.name for path in folder.iterdir()) == ["index.json", "maps-00001.safetensors"]
    (tmp_path / "empty").mkdir()
    small(tmp_path / "empty")
    assert {path.name for path in tmp_path.iterdir()} == {"maps", "empty"}


def test_an_error_leaves_nothing_and_the_old_maps_stay(tmp_path):
    def broken(folder, **options):
        with maps_folder(folder, index_for(LAYOUT), shard_bytes=1, **options) as writer:
            writer.add(MapEntry(document="a", index=0, input=TOKENS), {"encoder": np.ones((2, 2, 3, 3))})
            (part,) = tmp_path.glob(f".{folder.name}.*.headscope-part")
            assert (part / "maps-00001.safetensors").exists()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken(tmp_path / "maps")
    assert list(tmp_path.iterdir()) == []
    before = (small(tmp_path / "maps") / "index.json").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        broken(tmp_path / "maps", replace=True)
    assert [path.name for path in tmp_path.iterdir()] == ["maps"]
    assert (tmp_path / "maps" / "index.json").read_bytes() == before


SCRIPT = """
import sys, time, numpy as np
from headscope.models.anatomy import KindLayout
from headscope.maps.index import maps_folder
from headscope.maps.index import MapEntry, MapsIndex, Tokens
layout = (KindLayout("encoder", 1, 1),)
index = MapsIndex(model={}, special={}, layout=layout, store="float16", word_level=None, signature={})
with maps_folder(sys.argv[1], index, shard_bytes=1) as writer:
    tokens = Tokens(tokens=["a"], ids=[0], classes=[0], word_ids=[0])
    writer.add(MapEntry(document="d", index=0, input=tokens), {"encoder": np.ones((1, 1, 1, 1))})
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_process_leaves_no_readable_half(sent, tmp_path):
    folder = tmp_path / "maps"
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ
    ) as process:
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(sent)
        process.wait(timeout=30)
    left = list(tmp_path.iterdir())
    assert len(left) == (0 if sent == signal.SIGINT else 1)
    assert all(is_own(path) for path in left)
    with place_held(folder):  # the next run removes leftovers of a kill
        small(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["maps"]

"""`headscope convert`: the original's pickles to folders of maps and back."""

import json
import pickle

import numpy as np
import pytest
from headscope_minilm import folder as embedded

from headscope.maps.maps_source import MapsSource


@pytest.fixture
def original(tmp_path):
    rng = np.random.default_rng(0)
    entries = [
        {
            "attns": rng.dirichlet(np.ones(len(tokens)), size=(2, 2, len(tokens))).astype(np.float16),
            "tokens": tokens,
            "relns": ["root"],
        }
        for tokens in (["[CLS]", "the", "fox", ",", "[SEP]"], ["[CLS]", "play", "##ing", "[SEP]", "chess", "[SEP]"])
    ]
    path = tmp_path / "unlabeled_attn.pkl"
    path.write_bytes(pickle.dumps(entries, -1))
    return path, entries


def test_there_and_back(cli, original, tmp_path):
    path, entries = original
    code, out, _ = cli("convert", path, tmp_path / "maps")
    assert (code, out) == (0, f"wrote {tmp_path / 'maps'}: the maps of 2 entries, float16\n")
    source = MapsSource(tmp_path / "maps")
    for entry, given in zip(source.index.entries, entries):
        np.testing.assert_array_equal(source.maps(entry)["encoder"], given["attns"])
        assert entry.input.tokens == given["tokens"]
    assert source.index.entries[0].input.classes == [1, 0, 0, 3, 2]
    code, out, _ = cli("convert", tmp_path / "maps", tmp_path / "back.pkl")
    assert (code, out) == (0, f"wrote {tmp_path / 'back.pkl'}: 2 entries, float16\n")
    back = pickle.loads((tmp_path / "back.pkl").read_bytes())
    for entry, given in zip(back, entries):
        assert entry.keys() == given.keys()
        np.testing.assert_array_equal(entry["attns"], given["attns"])
        assert (entry["tokens"], entry["relns"]) == (given["tokens"], given["relns"])


def test_with_the_models_own_vocabulary(cli, original, tmp_path):
    path, _ = original
    cli("convert", path, tmp_path / "maps", "--bert-dir", embedded())
    vocabulary = (embedded() / "vocab.txt").read_text().splitlines()
    index = MapsSource(tmp_path / "maps").index
    for entry in index.entries:
        assert [vocabulary[number] for number in entry.input.ids] == entry.input.tokens
    assert index.entries[1].input.word_ids == [-1, 0, 0, -1, 1, -1]
    assert index.entries[1].input.classes == [1, 0, 0, 2, 0, 2]


def test_extracted_maps_and_their_pickle_agree(cli, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"text": "A fox ran.", "mark": 1}, {"words": ["playing", "on"]}]))
    for form in ("safetensors", "pickle"):
        cli("extract", "--text", tmp_path / "a.json", "--debug", "--format", form)
    cli("convert", tmp_path / "a_attn", tmp_path / "b.pkl")
    assert (tmp_path / "b.pkl").read_bytes() == (tmp_path / "a_attn.pkl").read_bytes()


def test_what_is_refused(cli, original, tmp_path):
    path, _ = original
    (tmp_path / "maps").mkdir()
    (tmp_path / "maps" / "mine").write_text("mine")
    hostile = tmp_path / "hostile.pkl"
    hostile.write_bytes(b"cposix\nsystem\n(S'touch /tmp/never'\ntR.")
    cases = [
        (
            (tmp_path / "none", tmp_path / "x"),
            f"no such file or folder: {tmp_path / 'none'}; give a pickle of the original code, or a folder of maps",
        ),
        (
            (path, tmp_path / "maps"),
            f"{tmp_path / 'maps'} is there already and holds something that headscope did not write; give another "
            "--out",
        ),
        (
            (tmp_path / "maps", tmp_path / "x.pkl"),
            f"{tmp_path / 'maps'} holds no saved maps: expected a folder with index.json, as headscope extract writes "
            "it when it finishes; give that folder",
        ),
        (
            (hostile, tmp_path / "x"),
            f"{hostile} is refused: it asks for posix.system; expected only arrays of numbers, dicts, lists, strings "
            "and numbers, as the original code writes them",
        ),
    ]
    for arguments, sentence in cases:
        code, out, err = cli("convert", *arguments)
        assert (code, out, err) == (2, "", f"headscope: {sentence}\n")
    assert not (tmp_path / "x").exists()
    assert cli("convert", path, tmp_path / "maps", "--force")[0] == 2
    (tmp_path / "maps" / "mine").unlink()
    assert cli("convert", path, tmp_path / "maps", "--force")[0] == 0
    assert cli("convert", path, tmp_path / "maps", "--force")[0] == 0

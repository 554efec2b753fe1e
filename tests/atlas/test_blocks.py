"""The atlas's data against the tables it is made of."""

import base64
import json

import numpy as np
import pandas as pd
import pytest

from headscope.analyses.distances import page_rows
from headscope.analyses.distances.page_rows import map_and_nearest
from headscope.errors import InputError
from headscope.present.kinds import kinds_of
from headscope.present.study import open_study
from headscope.reporting import card_sentences
from headscope.reporting.atlas_page import atlas_blocks
from headscope.reporting.card_sentences import joined
from headscope.reporting.payload import data_block, maps_block
from headscope.views.markup import json_text
from headscope.views.quantize import read_weights
from support.made_once import MadeWhenRead
from support.measured import about, with_parts


@pytest.fixture(scope="module")
def blocks(studies):
    return MadeWhenRead(studies, lambda name: atlas_blocks(studies[name]))


def places(table, heads):
    return ((table["layer"].astype(int) - 1) * heads + table["head"].astype(int) - 1).to_numpy()


def test_the_reports_data_is_in_it_unchanged(blocks, studies):
    for name in ("whole", "bare", "t5"):
        one = about(studies[name])
        assert json.loads(json_text(blocks[name]["data"])) == json.loads(json_text(data_block(studies[name])))
        assert blocks[name]["maps"] == maps_block(one)


def test_every_block_is_json(blocks):
    for name, one in blocks.items():
        assert set(one) == {"data", "maps", "atlas"}
        for block in one.values():
            assert json.loads(json_text(block)), name


def test_accuracies_are_those_of_the_table(blocks, studies):
    told = {one["name"]: one for one in blocks["whole"]["atlas"]["relations"]}
    table = studies["whole"].table("syntax")
    assert list(told) == [*dict.fromkeys(table["relation"]), "coreference"]
    for name in ("obj", "nsubj", "det"):
        own = table[(table["relation"] == name) & (table["model"] == "trained")]
        best = own.loc[own.groupby(["layer", "head"])["accuracy"].idxmax()]
        at = places(best, 12)
        columns = told[name]["heads"]["encoder"]
        for key, column in (("value", "accuracy"), ("low", "ci_low"), ("high", "ci_high")):
            np.testing.assert_allclose(np.array(columns[key])[at], best[column], atol=5e-5)
        ways = np.where(best["direction"] == "dependent->head", 0, 1)
        np.testing.assert_array_equal(np.array(columns["way"])[at], ways)
        assert told[name]["n"] == own["n_arcs"].max()
        offsets = studies["whole"].table("syntax_baselines")
        offsets = offsets[(offsets["relation"] == name) & (offsets["baseline"] == "offset")]
        assert told[name]["baseline"] == pytest.approx(offsets["accuracy"].max(), abs=1e-6)


def test_the_best_head_is_the_held_out_one(blocks, studies):
    told = {one["name"]: one["best"] for one in blocks["whole"]["atlas"]["relations"]}
    table = studies["whole"].table("syntax_best")
    held = table[(table["model"] == "trained") & (table["selection"] == "held-out")]
    assert len(held) > 5
    for row in held.to_dict("records"):
        best = told[row["relation"]]
        assert best["index"] == (row["layer"] - 1) * 12 + row["head"] - 1
        beats = row["q_value"] < 0.05 and row["margin"] > 0
        assert best["beats"] == beats, row["relation"]
        assert best["tested"] is True
        assert best["accuracy"] == pytest.approx(row["accuracy"], abs=1e-4)
    found = {name for names in studies["whole"].roles["finds"] for name in names}
    assert {name for name, best in told.items() if best and best["beats"]} == found
    assert told["coreference"]["beats"]
    assert "coreference" in found


def test_nearest_heads_are_those_of_the_distances(blocks, studies):
    near = blocks["whole"]["atlas"]["kinds"]["encoder"]["nearest"]
    table = studies["whole"].table("head_distances")
    for index in (0, 17, 71):
        layer, head = index // 12 + 1, index % 12 + 1
        apart = []
        for row in table.to_dict("records"):
            ends = [(row[f"layer_{side}"], row[f"head_{side}"]) for side in "ab"]
            if (layer, head) in ends:
                (other,) = [end for end in ends if end != (layer, head)]
                apart.append((row["divergence"], (other[0] - 1) * 12 + other[1] - 1))
        assert [at for at, _ in near[index]] == [at for _, at in sorted(apart)[:5]]
        assert [nats for _, nats in near[index]] == pytest.approx([d for d, _ in sorted(apart)[:5]], abs=1e-6)


def test_places_are_those_of_the_map(blocks, studies):
    told = blocks["two"]["atlas"]["kinds"]["decoder"]["map"]
    table = studies["two"].table("head_map")
    own = table[table["kind"] == "decoder"]
    at = places(own, 4)
    for name in ("x", "y", "cluster"):
        np.testing.assert_allclose(np.array(told[name])[at], own[name], atol=5e-5)


def test_places_a_millionth_of_a_nat_apart_are_kept_apart(studies):
    """A model with random weights: every head attends alike, and nearly alike is what the map shows."""
    study = studies["two"]
    table = study.table("head_map")
    small = {"head_map": table.assign(x=1e-6 * table["x"], y=1e-6 * table["y"])}
    pairs = study.table("head_distances")
    small["head_distances"] = pairs.assign(divergence=1e-6 * pairs["divergence"])
    run = with_parts(study, **small)
    kind = next(one for one in kinds_of(run) if one.name == "decoder")
    told = map_and_nearest(run, kind)
    own = small["head_map"][small["head_map"]["kind"] == "decoder"]
    at = places(own, kind.heads_per_layer)
    for name in ("x", "y"):
        np.testing.assert_allclose(np.array(told["map"][name])[at], own[name], rtol=1e-5)
    assert len(set(zip(told["map"]["x"], told["map"]["y"]))) == len(own)
    near = [nats for line in told["nearest"] for _, nats in line]
    assert min(near) > 0


def test_the_divergence_of_every_pair_is_the_tables(blocks, studies):
    table = studies["two"].table("head_distances")
    own = table[table["kind_a"] == "decoder"]
    told = blocks["two"]["atlas"]["kinds"]["decoder"]["apart"]
    steps = np.frombuffer(base64.b64decode(told["bytes"]), "<u2")
    heads = 4
    index = {
        side: (own[f"layer_{side}"].astype(int) - 1) * heads + own[f"head_{side}"].astype(int) - 1 for side in "ab"
    }
    order = np.lexsort((index["b"], index["a"]))
    np.testing.assert_allclose(steps * told["step"], own["divergence"].to_numpy()[order], atol=0.51 * told["step"])


def test_sentences_are_the_tables_weights(blocks, studies):
    study, atlas = studies["whole"], blocks["whole"]["atlas"]
    told = atlas["kinds"]["encoder"]["sentences"]
    arcs = pd.concat([study.table("syntax_examples"), study.table("coref_examples")])
    top_examples = study.table("top_examples")
    assert sum(map(len, told.values())) == len(arcs) + len(top_examples)
    for table, relation in ((arcs, True), (top_examples, False)):
        for row in table.iloc[::7].to_dict("records"):
            index = (row["layer"] - 1) * 12 + row["head"] - 1
            name = row["relation"] if relation else row["behavior"]
            value = row["value"]
            (one, *_) = [
                s for s in told[index] if s["name"] == name and s["value"] == pytest.approx(value, abs=1e-6)
                and (not relation or s["outcome"] == row["outcome"])
                and [t[0] for t in s["tokens"]] == list(row["tokens"])
            ]  # fmt: skip
            n = len(row["tokens"])
            weights = np.reshape(row["weights"], (n, -1))
            read = read_weights(base64.b64decode(one["bytes"]), weights.shape)
            largest = weights.max(1, keepdims=True)
            assert (np.abs(read - weights) <= largest / 255 + 1e-3).all()
            if relation:
                assert [arc[:2] for arc in one["arcs"]] == [[q, k] for q, k in zip(row["queries"], row["keys"])]
                assert all(arc[2] for arc in one["arcs"]) == (row["outcome"] == "right")
                assert "[" not in one["text"]
            else:
                assert one["text"] == row["text"]


def test_of_many_heads_each_has_one_short_sentence_and_its_nearest(monkeypatch, studies, blocks):
    """What a page of 1,024 heads must leave out to open at once; tables have it all."""
    monkeypatch.setattr(card_sentences, "MANY_HEADS", 70)
    monkeypatch.setattr(card_sentences, "FEW_TOKENS", 6)
    monkeypatch.setattr(page_rows, "MOST_IN_PAIRS", 70)
    study, before = open_study(studies["whole"].path), blocks["whole"]["atlas"]["kinds"]["encoder"]
    told = atlas_blocks(study)["atlas"]["kinds"]["encoder"]
    assert told["apart"] is None
    assert told["nearest"] == before["nearest"]
    assert told["sentences"].keys() == before["sentences"].keys()
    for place, (one,) in told["sentences"].items():
        first = before["sentences"][place][0]
        assert (one["name"], one["value"], one["label"]) == (first["name"], first["value"], first["label"])
        assert len(one["tokens"]) == min(6, len(first["tokens"]))
        assert "".join(t[0] + " " for t in one["tokens"]) in "".join(t[0] + " " for t in first["tokens"])
    assert card_sentences.first_sentences(about(study)) == {"encoder": {}}


def test_a_sentence_is_cut_to_where_a_head_attends_most():
    weights = np.zeros((9, 9))
    weights[3:6, 4:7] = 0.3
    weights[0, 8] = 0.5  # no stretch of five holds both ends
    row = {"tokens": list("abcdefghi"), "weights": weights.reshape(-1), "value": 1.0}
    arcs = {"queries": [4, 0], "keys": [5, 8], "predicted": [6, 8]}
    told = card_sentences.shortened({**row, **arcs}, most=5)
    assert told["tokens"] == list("cdefg")
    np.testing.assert_array_equal(told["weights"].reshape(5, 5), weights[2:7, 2:7])
    assert (told["queries"], told["keys"], told["predicted"]) == ([2], [3], [4])
    across = card_sentences.shortened({**row, "keys": list("ABCDEFGHI")}, most=5)
    assert (across["tokens"], across["keys"]) == (list("bcdef"), list("EFGHI"))
    np.testing.assert_array_equal(across["weights"].reshape(5, 5), weights[1:6, 4:9])
    assert card_sentences.shortened(row, most=9) is row


def test_a_run_without_the_new_table_still_has_the_sentences_of_its_examples(blocks, studies):
    atlas = blocks["bare"]["atlas"]
    assert atlas["missing"]["top_examples"] == "run headscope report again"
    kept = studies["bare"].table("examples")
    own = kept[kept["behavior"] != "shared"]
    told = atlas["kinds"]["encoder"]["sentences"]
    assert sum(map(len, told.values())) == len(own) > 0
    assert blocks["whole"]["atlas"]["missing"] == {
        "behaviors": "run headscope report again",
        "pca": "run headscope report again with --include pca",
        "explanation": "run headscope report again",
        "experiments": "run headscope report again, with a model and text",
        **dict.fromkeys(("distribution", "relations", "coreference", "distances", "top_examples")),
    }


def test_what_was_not_measured_is_said(blocks):
    atlas = blocks["bare"]["atlas"]
    assert atlas["relations"] == []
    assert atlas["kinds"]["encoder"]["map"] is None
    assert atlas["kinds"]["encoder"]["nearest"] is None
    assert atlas["missing"]["relations"] == "give the run a --treebank"
    asked = {entry["name"]: entry["what"] for entry in atlas["vocabulary"]}
    assert asked["obj"] == "unmeasured"
    assert asked["previous"] == "role"


def test_words_to_ask_with(blocks):
    entries = blocks["whole"]["atlas"]["vocabulary"]
    words = {}
    for entry in entries:
        for word in entry["words"]:
            words.setdefault(word, []).append((entry["what"], entry["name"]))
    assert ("relation", "obj") in words["object"]
    assert ("relation", "nsubj") in words["subject"]
    assert words["comma"] == [("role", "period_comma")]
    assert words["[cls]"] == [("role", "cls")]
    assert words["antecedent"] == [("relation", "coreference")]
    assert "all words" not in {entry["label"] for entry in entries}


def test_words_as_a_line_of_text():
    assert joined(["He", "said", "(", "twice", ")", ",", "do", "n't", ",", "it", "'s", "50", "%", "!"]) == (
        "He said (twice), don't, it's 50%!"
    )


def test_a_run_without_statistics_is_refused(studies, tmp_path):
    study = studies["bare"]
    lacking = type(study)(study.manifest, {"examples": study.tables["examples"]}, path=tmp_path)
    with pytest.raises(InputError) as refused:
        atlas_blocks(lacking)
    assert str(refused.value) == (
        f"{tmp_path} has no table 'stats', which the atlas needs; it has examples. Give the folder of a "
        "headscope report"
    )


def test_every_head_is_on_every_shared_sentence(blocks, inputs):
    told = blocks["sentences"]["maps"]["encoder"]["sentences"]
    shared = inputs["sentences"].examples.query("behavior == 'shared'")
    assert [[token[-1] for token in one["queries"]] for one in told] == [
        list(own["tokens"].iloc[0]) for _, own in shared.groupby(["document", "segment"], sort=False)
    ]
    for one, (_, own) in zip(told, shared.groupby(["document", "segment"], sort=False)):
        for row in own.to_dict("records"):
            square = 2 * (len(row["tokens"]),)
            packed = one["bytes"][(row["layer"] - 1) * 3 + row["head"] - 1]
            back = read_weights(base64.b64decode(packed), square)
            weights = np.reshape(row["weights"], square)
            assert np.abs(np.sqrt(back) - np.sqrt(weights)).max() < 0.003

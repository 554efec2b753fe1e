"""Measures of two models: columns of `study.heads` as paired differences, and groups gained and lost."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import headscope as hs
from headscope.analyses.compare.measures import joined_rows
from headscope.analyses.explanation.sums import KeptSegment, SampledRows
from headscope.models.load_model import LoadedModel, load_model
from support.random_lines import save_random_lines

MEASURES = ["norms", "behaviors", "explanation"]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    words = "the cat sat on a mat and it slept while rain fell over old town"
    return save_random_lines(tmp_path_factory.mktemp("text") / "text.txt", words.split())


def another(change):
    """Return the embedded model with a change of its attention layers."""
    loaded = load_model(None)
    with torch.no_grad():
        change(loaded.model.encoder.layer)
    return LoadedModel(model=loaded.model, tokenizer=loaded.tokenizer, name="another")


@pytest.mark.slow
def test_values_are_those_of_the_analyses_and_differences_are_theirs(text):
    def louder(layers):
        layers[1].attention.output.dense.weight[:, :32] *= 2

    second = another(louder)
    changes = hs.compare(None, second, text=text, controls=0, measures=["norms", "behaviors"]).table("measure_changes")
    values = changes.pivot(index=["kind", "layer", "head"], columns="column", values=["first", "second"])
    for side, model in (("first", None), ("second", second)):
        for study in (
            hs.stats(model, text=text),
            hs.norms(model, text=text),
            hs.behaviors(model, text=text, controls=0),
        ):
            heads = study.heads.set_index(["kind", "layer", "head"])
            shared = [name for name in values[side] if name in heads]
            assert shared
            np.testing.assert_allclose(values[side][shared], heads[shared].astype(float), atol=1e-6)
    assert {name.split(".")[0] for name in values["first"]} == {"stats", "norms", "behaviors"}
    np.testing.assert_allclose(changes["second"] - changes["first"], changes["difference"], atol=1e-9)
    louder_head = changes[(changes["layer"] == 2) & (changes["head"] == 1)].set_index("column")
    assert louder_head.loc["norms.output_norm", "difference"] == pytest.approx(
        louder_head.loc["norms.output_norm", "first"], rel=1e-3
    )
    assert louder_head.loc["norms.output_norm", "q_value"] < 0.05


@pytest.mark.slow
def test_a_model_has_the_explanations_of_itself(text):
    study = hs.compare(None, "headscope-minilm", text=text, controls=0, measures=MEASURES)
    assert (study.table("measure_changes")["difference"].dropna() == 0).all()
    groups = study.table("compare_groups")
    assert len(groups)
    assert (groups["difference"] == 0).all()
    assert groups["verdict"].isna().all()


@pytest.mark.slow
def test_a_head_loses_the_group_that_its_change_removes(text):
    def scrambled(layers):
        query = layers[1].attention.self.query.weight.view(12, 32, -1)
        query[9] = query[9].flip(0)

    study = hs.compare(None, another(scrambled), text=text, controls=0, measures=["explanation"])
    groups = study.table("compare_groups").set_index(["layer", "head", "group"])
    assert groups.loc[(2, 10, "previous"), "verdict"] == "lost"
    assert groups.loc[(2, 10, "previous"), "first"] > 0.2 > groups.loc[(2, 10, "previous"), "second"]
    before = groups[groups.index.get_level_values("layer") == 1]  # below the change
    assert (before["difference"].abs() < 1e-6).all()
    assert before["verdict"].isna().all()


def test_behaviors_and_explanations_of_other_tokens_are_left_out(text):
    study = hs.compare(None, "headscope-decoder", text=text, controls=0, measures=MEASURES, max_inputs=12)
    assert "they describe tokens, which differ" in str(study.manifest)
    assert not len(study.table("compare_groups"))
    columns = study.table("measure_changes")["column"].str.split(".").str[0]
    assert set(columns) == {"stats", "norms"}


def test_rows_of_both_samples_are_joined_head_by_head():
    draw = np.random.default_rng(0)

    def sampled(index, rows, shape):
        attention = draw.random((2, *shape, len(rows), 5), dtype=np.float32)
        return SampledRows("a", index, KeptSegment(None, None, {}), np.array(rows), attention)

    first = [sampled(0, [1, 3, 4], (2, 3)), sampled(1, [0], (2, 3)), sampled(2, [2], (2, 3))]
    second = [sampled(0, [3, 4], (1, 4)), replace(sampled(2, [1], (1, 4)))]
    (joined,) = joined_rows(first, second)
    assert joined.rows.tolist() == [3, 4]
    assert joined.attention.shape == (2, 10, 1, 2, 5)
    np.testing.assert_array_equal(joined.attention[:, 4, 0], first[0].attention[:, 1, 1, 1:])
    np.testing.assert_array_equal(joined.attention[:, 9, 0], second[0].attention[:, 0, 3])

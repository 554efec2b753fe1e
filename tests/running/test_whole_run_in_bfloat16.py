"""A whole run in half precision: every stage is measured, close to float32, and the manifest says what it was."""

from dataclasses import replace

import pytest

from headscope.present.study import open_study
from headscope.running.writing import write_run
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from support.demo_treebank import demo_conllu
from support.model_folders import save_tiny_masked_lm

pytestmark = pytest.mark.slow


def test_every_stage_of_a_run(tmp_path):
    (tmp_path / "dev.conllu").write_text(demo_conllu(1, 5), encoding="utf-8")
    asked = RunOptions(
        model=str(save_tiny_masked_lm(tmp_path / "tiny")),
        treebank=(str(tmp_path / "dev.conllu"),),
        coref=(str(tmp_path / "dev.conllu"),),
        loss="mlm",
        controls=1,
        max_length=64,
        batch_size=4,
    )
    studies = {}
    for dtype in ("float32", "bfloat16"):
        out = tmp_path / dtype
        write_run(prepare(replace(asked, dtype=dtype)), out)
        studies[dtype] = open_study(out)
        assert studies[dtype].manifest["signature"]["options"]["dtype"] == dtype
        assert studies[dtype].manifest["complete"] is True
    exact, half = studies["float32"], studies["bfloat16"]
    assert half.manifest["signature"]["id"] != exact.manifest["signature"]["id"]
    assert set(half.tables) == set(exact.tables)
    assert {"stats", "importance", "syntax", "coref", "head_distances"} <= set(half.tables)
    keys = ["kind", "layer", "head", "measure", "statistic"]
    both = exact.table("stats").merge(half.table("stats"), on=keys, suffixes=("", "_half"))
    # 8 bits of a weight: shares and nats are off in the third digit.
    off = (both["value"] - both["value_half"]).abs()
    assert 0 < off.max() < 0.02
    gradients = [study.table("importance")["value"] for study in (exact, half)]
    assert gradients[0].corr(gradients[1]) > 0.99

"""Effects on logits: a decoder's table, compensation against a loop over documents, the page and the terminal."""

import numpy as np
import pytest

from headscope.analyses.effects.compute import EffectsMeasurement, effects_table
from headscope.analyses.effects.sums import EffectsAccumulator
from headscope.attention.scan import scan
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.inference.confidence import ratio_interval
from support import mock_inputs
from support.effect_pages import sections, terminal
from support.effects import KeepEffects
from support.measured import only
from support.mock_effects import added_loss, with_effects
from support.model_folders import save_tiny_gpt2
from support.page_tables import Tables

LINES = [
    "The old bridge was closed, and nobody crossed it.",
    "It opened again on a Tuesday in spring.",
    "A dog came by and slept in the sun, as dogs do.",
]
OTHERS = ("loss", "kl", "attribution", "gate")
ON_LOGITS = ["logit", "direct", "compensation", "copying"]


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A tiny GPT-2's measurement, its result, and the effects on each input as its source tells them."""
    folder = tmp_path_factory.mktemp("direct")
    (folder / "text.txt").write_text("\n\n".join(f"Day {n}.\n{LINES[n % 3]}" for n in range(12)) + "\n")
    model = str(save_tiny_gpt2(folder / "gpt2", LINES))
    options = RunOptions(
        model=model, text=(str(folder / "text.txt"),), packing="single", stages=("effects",), device="cpu",
        intervention="zero",
    )  # fmt: skip
    measurement = EffectsMeasurement(prepare(options))
    result, keep = measurement.measure(), KeepEffects()
    scan(measurement.text.source(), [keep])
    return result, keep


def test_effects_on_logits_and_their_intervals_are_those_of_a_loop(measured):
    result, keep = measured
    assert result.facts["effects"]["no_direct"] == ""
    table = result.tables["effects"]
    assert list(dict.fromkeys(table["measure"])) == [*OTHERS, *ON_LOGITS, "ov_copying"]
    scores = table[table["measure"] == "ov_copying"]
    for row in scores.to_dict("records"):
        assert row["value"] == keep.ov_copying["decoder", row["layer"] - 1][row["head"] - 1]
    assert scores["ci_low"].isna().all()
    assert table.loc[table["measure"] != "loss", "q_value"].isna().all()
    documents = sorted({key[0] for key in keep.heads})
    for row in table[table["measure"].isin(ON_LOGITS)].to_dict("records"):
        sums, numbers = np.zeros(len(documents)), np.zeros(len(documents))
        for key, of_heads in keep.heads.items():
            document, *_, layer = key
            if layer != row["layer"] - 1:
                continue
            logit = of_heads[row["head"] - 1, 0, 2]
            direct, copying = keep.direct[key][row["head"] - 1]
            value = {"logit": logit, "direct": direct, "compensation": direct - logit, "copying": copying}
            sums[documents.index(document)] += value[row["measure"]]
            numbers[documents.index(document)] += 1
        interval = ratio_interval(sums, numbers, scale="real")
        for column, expected in (("value", interval.value), ("ci_low", interval.low), ("ci_high", interval.high)):
            assert row[column] == pytest.approx(float(expected), rel=1e-4, abs=1e-7)


def test_compensation_is_told_where_heads_wrote_nothing(measured):
    results = EffectsAccumulator.from_state(measured[0].state).compute()
    every = {*OTHERS, *ON_LOGITS, "ov_copying"}
    assert set(effects_table(results, "mean")["measure"]) == every - {"compensation"}
    assert set(effects_table(results, "zero")["measure"]) == every


def test_the_page_has_a_table_of_them():
    inputs = with_effects(mock_inputs.decoder(2, 4), intervention="zero", direct=True)
    rows = Tables(only(sections(inputs, "effects"))).found["table-direct-decoder"]
    names = ["logit lost without it", "direct effect", "compensation", "copying", "copying by weights"]
    assert rows[0] == ["", *names]
    assert len(rows) == 2 + 8
    frame = inputs.tables.get("effects").set_index(["layer", "head", "measure"])
    for row in rows[2:]:
        layer, head = map(int, row[0].split("-"))
        values = [float(cell.replace("−", "-")) for cell in row[1::2]]
        expected = [frame.loc[layer, head, name]["value"] for name in (*ON_LOGITS, "ov_copying")]
        assert values == pytest.approx(expected, rel=0.06, abs=5e-4)
    without = Tables(only(sections(with_effects(mock_inputs.decoder(2, 4)), "effects")))
    assert "table-direct-decoder" not in without.found


def test_the_terminal_has_them_and_says_what_compensation_needs():
    (_, grid, _), lines = terminal(with_effects(mock_inputs.decoder(2, 4), direct=True))
    names = ("logit lost without it", "direct effect", "copying")
    assert list(grid.titles) == [
        "head", *(f"{name}: {each}" for name in names for each in ("value", "95% interval")),
        "copying by weights: value",
    ]  # fmt: skip
    first = added_loss(1, 1, 4)
    assert [float(value) for value in grid.rows[0][1::2]] == pytest.approx([2 * first, 3 * first, 0.1, 0.5])
    assert any(line.startswith("Compensation: ") and "--intervention zero" in line for line in lines)

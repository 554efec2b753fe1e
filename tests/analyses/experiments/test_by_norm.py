"""Experiments by what heads write: against plain loops, and heads of which weight and norm say different things."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.analyses.behaviors.catalog import NAMES
from headscope.analyses.behaviors.compute import heads_table, norm_notes
from headscope.analyses.experiments import compute
from headscope.analyses.experiments.compute import inputs_of, needles, repeated_tokens
from headscope.analyses.experiments.sums import CopyAccumulator, RetrievalAccumulator
from headscope.analyses.experiments.tables import EXPERIMENTS
from headscope.attention.output_norms import OutputNorms
from headscope.attention.scan import scan
from headscope.encoding.encoder import Frame
from headscope.running.stages import measure_stage
from headscope.scans.declarations.analysis_list import STAGES
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.tables.frames import of_measure
from support.behaving import keys_of, masks
from support.hand_made import HandMadeSource, random_map
from support.model_folders import save_tiny_bloom, save_tiny_llama
from support.written_by_hand import lengths_by_hand

FRAME = Frame((2,), ())
NO_DELIMITERS = np.zeros(1, dtype=np.uint8)
REPEATED = repeated_tokens(np.arange(10, 99), FRAME, longest=50, seed=0, number=20)
TEXT = {f"doc{place}": np.random.default_rng(place).integers(10, 30, size=90) for place in range(12)}
NEEDLES = needles(TEXT, FRAME, longest=150, seed=0, number=12)
COPYING = ("induction", "duplicate", "previous")


def rows_of(experiment, segment):
    """The rows that an experiment asks."""
    if experiment == "shuffled":
        return range(len(segment))
    first, stop = segment.fields["copy"]
    return range(first, stop - (experiment == "needle"))


def right_keys(segment, row):
    """The keys inside the needle that are the token behind a row."""
    start, end = segment.fields["needle"]
    return [key for key in range(start, end) if segment.ids[key] == segment.ids[row + 1]]


def plain(experiment, names, segments, exact, *, causal, special=()):
    """Every head's means by plain loops over rows: `{name: (value, n)}`, each `[layer, head]`, and rows left out.

    Args:
        exact: of each segment the weights of each layer `[head, row, key]`, and the lengths `[layer, head, key]`.
    """
    layers, heads = exact[0][1].shape[:2]
    sums = {name: np.zeros((layers, heads)) for name in names}
    rows = {name: np.zeros((layers, heads), dtype=int) for name in names}
    left_out = np.zeros((layers, heads), dtype=int)
    for segment, (maps, lengths) in zip(segments, exact, strict=True):
        ids = segment.ids.tolist()
        seen = masks("decoder" if causal else "encoder")(len(ids))
        for row in rows_of(experiment, segment):
            keys = {
                name: right_keys(segment, row)
                if name == "retrieval"
                else keys_of(name, ids, row, seen, special=special)
                for name in names
                if name != "distance"
            }
            for layer, head in np.ndindex(layers, heads):
                written = maps[layer][head, row] * lengths[layer, head]
                total = written.sum()
                if total == 0:
                    left_out[layer, head] += 1
                    continue
                for name in names:
                    if name == "distance":
                        found = sum(abs(row - key) * each for key, each in enumerate(written)) / total
                    elif not keys[name]:
                        continue
                    elif name == "retrieval":
                        found = int(written.argmax()) in keys[name]
                    else:
                        found = written[keys[name]].sum() / total
                    sums[name][layer, head] += found
                    rows[name][layer, head] += 1
    return {name: (sums[name] / np.maximum(rows[name], 1), rows[name]) for name in names}, left_out


def causal_map(segment):
    return random_map(segment, causal=True)


@pytest.mark.parametrize("how", [{}, {"height": 7, "side": "left", "batch_size": 3}])
@pytest.mark.parametrize(
    ("experiment", "make", "segments", "names"),
    [("repeated", CopyAccumulator, REPEATED, COPYING), ("needle", RetrievalAccumulator, NEEDLES, ("retrieval",))],
)
def test_every_number_is_that_of_a_plain_loop(experiment, make, segments, names, how):
    source = HandMadeSource(segments, causal_map, kind="decoder", **how)
    sums = make(source.layout, NO_DELIMITERS)
    scan(source, [sums])
    weight, norm = sums.compute()
    lengths = [
        np.broadcast_to((np.arange(1, 4)[:, None] + segment.ids % 7)[None], (2, 3, len(segment)))
        for segment in segments
    ]
    exact = [(causal_map(segment), own) for segment, own in zip(segments, lengths, strict=True)]
    expected, left_out = plain(experiment, names, segments, exact, causal=True)
    for name, (value, n) in expected.items():
        column = NAMES.index(name)
        np.testing.assert_allclose(norm.heads.value[..., column], value, atol=1e-12, err_msg=name)
        np.testing.assert_array_equal(norm.n[:, :-1, column], n)
        np.testing.assert_array_equal(norm.uniform[:, column], weight.uniform[:, column])
        assert not np.allclose(norm.heads.value[..., column], weight.heads.value[..., column])
    assert left_out.sum() == sums.left_out["decoder"].sum() == 0


LINES = [
    f"The {a} {b} {c} a {d} by the {e} and the {a} {b} ran."
    for a in ("old", "red", "small") for b in ("cat", "dog", "hen") for c in ("saw", "met")
    for d in ("fish", "bird") for e in ("sea", "hill")
]  # fmt: skip
# Measured here, of shuffled words: delimiters are told from the tokenizer, which has tests of its own.
ASKED = {
    "repeated": COPYING,
    "needle": ("retrieval",),
    "shuffled": ("first", "local", "distance", "duplicate", "induction"),
}


def measured(base, model, *, controls):
    documents = ["\n".join(LINES[place::14]) for place in range(14)]
    (base / "text.txt").write_text("\n\n".join(documents) + "\n")
    run = prepare(
        RunOptions(
            model=str(model),
            text=(str(base / "text.txt"),),
            packing="single",
            max_length=64,
            controls=controls,
            stages=("experiments",),
        )
    )
    return run, measure_stage(STAGES["experiments"], run, {}, None)


def numbers(result, experiment, name, *, model="trained", by="norm"):
    """The values and numbers of rows of single heads, in head order."""
    table = of_measure(result.tables["experiments"], by)
    own = table[(table["experiment"] == experiment) & (table["model"] == model) & table["head"].notna()]
    own = own[own["behavior"] == name]
    return own["value"].to_numpy(), own["n_rows"].to_numpy()


def check_model(run, result, family, *, causal):
    special = tuple(run.loaded.tokenizer.all_special_ids)
    model = run.loaded.model.double()
    try:
        for experiment, segments in inputs_of(run).items():
            if not segments:
                continue
            exact = [lengths_by_hand(model, family, segment) for segment in segments]
            expected, left_out = plain(experiment, ASKED[experiment], segments, exact, causal=causal, special=special)
            assert left_out.sum() == 0
            for name, (value, n) in expected.items():
                found, rows = numbers(result, experiment, name)
                assert (n > 0).all(), name
                np.testing.assert_allclose(found, value.ravel(), rtol=1e-5, err_msg=f"{experiment} {name}")
                np.testing.assert_array_equal(rows, n.ravel())
                weights, _ = numbers(result, experiment, name, by="weight")
                assert not np.allclose(found, weights, rtol=1e-3), name
    finally:
        model.float()


@pytest.mark.slow
def test_the_embedded_model_agrees_with_its_own_eager_attention_in_float64(tmp_path, monkeypatch):
    minilm = pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    monkeypatch.setattr(compute, "repeated_tokens", partial(repeated_tokens, number=12))
    monkeypatch.setattr(compute, "SHUFFLED_INPUTS", 24)
    run, result = measured(tmp_path, minilm.folder(), controls=0)
    assert result.notes == ()
    check_model(run, result, "bert", causal=False)


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    base = tmp_path_factory.mktemp("grouped")
    return measured(base, save_tiny_llama(base / "tiny", LINES), controls=1)


def test_grouped_heads_agree_with_their_own_eager_attention_in_float64(grouped):
    run, result = grouped
    assert run.loaded.model.config.num_key_value_heads < run.loaded.model.config.num_attention_heads
    check_model(run, result, "llama", causal=True)


def test_controls_are_measured_by_both(grouped):
    _, result = grouped
    for experiment, one in EXPERIMENTS.items():
        for name in one.behaviors:
            weight, norm = (numbers(result, experiment, name, model="control", by=by) for by in ("weight", "norm"))
            np.testing.assert_array_equal(norm[1], weight[1], err_msg=name)
            assert len(norm[0]) == 8
    # Which head stands for a behavior is chosen by weights, once.
    best = result.tables["experiments_best"]
    assert not best.duplicated(["experiment", "model", "kind", "behavior"]).any()


def test_where_no_output_projection_is_known_there_are_weights_alone_and_it_is_said(tmp_path):
    _, result = measured(tmp_path, save_tiny_bloom(tmp_path / "tiny", LINES), controls=1)
    assert set(result.tables["experiments"]["measure"]) == {"weight"}
    assert set(result.tables["experiments"]["model"]) == {"trained", "control"}
    assert result.notes == (
        "experiments: decoder heads are measured by where they look alone, for no linear map takes their attention's "
        "output as it is",
    )


def ahead(segment, row):
    """The key that followed where the row's token stood before: a copy's next token; the row itself elsewhere."""
    first, stop = segment.fields["copy"]
    start = segment.fields["needle"][0] if "needle" in segment.fields else first - (stop - first)
    return start + row - first + 1 if first <= row < stop else row


class SinkIsNothing(HandMadeSource):
    """The first head writes nothing of the first token, the second of that alone, the third nothing at all."""

    @staticmethod
    def written_of(weights, ids, rows):
        first = (torch.arange(ids.shape[1]) == 0).double()
        keys = torch.stack([1 - first, first, first * 0]).expand(len(ids), -1, -1)
        return OutputNorms(keys=keys, outputs=torch.zeros(weights.shape[:3]))


def sinking(share):
    """All three heads: most of each row on the first token, or none, and the rest on what comes next in the copy."""

    def weights(segment):
        out = np.zeros((len(segment), len(segment)))
        for row in range(len(segment)):
            out[row, 0] += share
            out[row, min(ahead(segment, row), row)] += 1 - share
        return np.stack([out] * 3)[None]

    return weights


def by_hand(make, segments, share, name):
    source = SinkIsNothing(segments, sinking(share), kind="decoder")
    sums = make(source.layout, NO_DELIMITERS)
    scan(source, [sums])
    table = heads_table(sums.compute(), [name])
    own = table[table["head"].notna()].set_index(["measure", "head"])
    return own, sums.left_out["decoder"][0].tolist()


def told(own, measure, head):
    row = own.loc[(measure, head)]
    return round(row["value"], 9), row["n_rows"], row["shows"] if pd.notna(row["shows"]) else None


def test_a_head_on_the_sink_of_which_it_writes_nothing_writes_of_the_copy():
    rows = sum(segment.fields["copy"][1] - segment.fields["copy"][0] - 1 for segment in REPEATED)
    own, left_out = by_hand(CopyAccumulator, REPEATED, 0.9, "induction")
    assert own.loc[("weight", 1), "value"] < 0.11
    for head in (1, 2, 3):
        assert not own.loc[("weight", head), "shows"]
    # Its last row is its own next token, so that it stands there with all that it writes.
    value, n, shows = told(own, "norm", 1)
    assert (n, shows) == (rows + len(REPEATED), True)
    assert value == pytest.approx(1.0)
    assert told(own, "norm", 2) == (0.0, rows + len(REPEATED), False)
    assert pd.isna(own.loc[("norm", 3), "value"])
    assert own.loc[("norm", 3), "n_rows"] == 0
    assert left_out == [0, 0, rows + len(REPEATED)]


def test_retrieval_is_of_the_key_of_which_most_is_written():
    rows = sum(segment.fields["copy"][1] - segment.fields["copy"][0] - 1 for segment in NEEDLES)
    own, left_out = by_hand(RetrievalAccumulator, NEEDLES, 0.9, "retrieval")
    # It looks at the first token the most, which is no part of the needle.
    assert told(own, "weight", 1) == (0.0, rows, False)
    assert told(own, "norm", 1) == (1.0, rows, True)
    assert told(own, "norm", 2) == (0.0, rows, False)
    assert left_out == [0, 0, rows]
    # It looks at the token of the needle alone, and of that the second head writes nothing.
    own, left_out = by_hand(RetrievalAccumulator, NEEDLES, 0.0, "retrieval")
    for head in (1, 2, 3):
        assert told(own, "weight", head) == (1.0, rows, True)
    assert told(own, "norm", 1) == (1.0, rows, True)
    for head in (2, 3):
        assert pd.isna(own.loc[("norm", head), "value"])
        assert own.loc[("norm", head), "n_rows"] == 0
    assert left_out == [0, rows, rows]


class Nothing(HandMadeSource):
    """Heads that write nothing at all."""

    @staticmethod
    def written_of(weights, ids, rows):
        keys = torch.zeros(*weights.shape[:2], ids.shape[1])
        return OutputNorms(keys=keys, outputs=torch.zeros(weights.shape[:3]))


def test_heads_that_write_nothing_are_not_those_of_which_it_is_not_known():
    source = Nothing(REPEATED, causal_map, kind="decoder")
    sums = CopyAccumulator(source.layout, NO_DELIMITERS)
    assert sums.unknown == ()  # nothing was read
    scan(source, [sums])
    assert sums.unknown == ()
    rows = 6 * sum(segment.fields["copy"][1] - segment.fields["copy"][0] for segment in REPEATED)
    assert list(norm_notes(sums, where="over repeated random tokens")) == [
        f"of {rows:,} rows of decoder heads over repeated random tokens nothing at all is written; they are left out "
        "of the norm-weighted behaviors"
    ]

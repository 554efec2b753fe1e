"""The tables of sources from sums made by hand."""

import numpy as np
import pytest

from headscope.analyses.why.pulls import ALL, KEYS, NON_SINK, SIDES, sources_of
from headscope.analyses.why.rows import (
    chosen_sources,
    established,
    moved_less,
    pull_table,
    random_shares,
    source_table,
    with_patches,
)
from headscope.analyses.why.sums import PatchSums, PullSums
from headscope.analyses.why.tables import ABOVE_RANDOM, LEAST_ABOVE, MOST_SOURCES, PAIRS, PULLS, SOURCES
from headscope.models.anatomy import KindLayout
from headscope.statistics.tables.frames import check_table

PART = KindLayout("decoder", 2, 20)
NAMES = sources_of((PART,))
HEADS = [index for index, source in enumerate(NAMES) if source.part == "head" and source.layer == 0]
TOKEN = [source.part for source in NAMES].index("token")
DOCUMENTS = 12


def sums(*, shares=None, spread=0.02, pull=2.0):
    """Return sums: head 2-1 has the given shares of its keys, by index; the rest is the token embedding."""
    generator = np.random.default_rng(0)
    accounts = np.zeros((DOCUMENTS, 2, 20, len(KEYS), len(SIDES), len(NAMES)))
    accounts[..., TOKEN] = pull
    for index, value in (shares or {}).items():
        part = pull * (value + generator.normal(0, spread, DOCUMENTS))
        accounts[:, 1, 0, :, 1, index] = part[:, None]
        accounts[:, 1, 0, :, 1, TOKEN] -= part[:, None]
    return PullSums(accounts, np.ones((DOCUMENTS, 2, len(KEYS)), dtype=np.int32))


def test_tables_fit_their_schemas_and_shares_sum_to_one():
    shares = {HEADS[0]: 0.6, HEADS[1]: -0.2} | dict.fromkeys(HEADS[2:], 0.01)
    extra = {index: 0.005 for index, source in enumerate(NAMES) if source.part == "mlp"}
    trained = sums(shares=shares | extra)
    pulls, table = pull_table(PART, trained, None), source_table(PART, trained, None, NAMES)
    check_table(PULLS, pulls[PULLS.names])
    check_table(SOURCES, table[SOURCES.names])
    sides = table.groupby(["layer", "head", "keys", "side"])["share"].sum()
    assert np.allclose(sides, 1.0)
    head = table[(table["layer"] == 2) & (table["head"] == 1) & (table["keys"] == NON_SINK) & (table["side"] == "key")]
    assert len(head) <= MOST_SOURCES + 1
    first = head.iloc[0]
    assert (first["source_part"], first["source_layer"], first["source_head"]) == ("head", 1, 1)
    assert first["share"] == pytest.approx(0.6, abs=0.02)
    assert first["ci_low"] < first["share"] < first["ci_high"]
    assert head["established"].isna().all()  # nothing to compare with


def test_small_sources_are_summed():
    many = KindLayout("decoder", 3, MOST_SOURCES)
    names = sources_of((many,))
    accounts = np.ones((DOCUMENTS, 3, MOST_SOURCES, len(KEYS), len(SIDES), len(names)))
    table = source_table(many, PullSums(accounts, np.ones((DOCUMENTS, 3, 2), dtype=np.int32)), None, names)
    one = table[(table["layer"] == 3) & (table["head"] == 2) & (table["keys"] == ALL) & (table["side"] == "query")]
    assert len(one) == MOST_SOURCES + 1
    assert one.iloc[-1]["source_part"] == "others"
    assert one.iloc[-1]["share"] == pytest.approx(1 - MOST_SOURCES / len(names))


def test_a_source_is_established_above_random_weights_only():
    random = sums(shares={HEADS[3]: 0.1}, spread=0.0)
    largest = random_shares(random, NAMES)
    assert largest[1, 1, 1, HEADS[0]] == pytest.approx(0.1)  # the largest of any head of the layer, for all heads
    assert largest[0, 1, 1, HEADS[0]] == pytest.approx(0.0)
    threshold = 0.1 + max(ABOVE_RANDOM * 0.1, LEAST_ABOVE)
    wrong = []
    for share, expected in ((threshold + 0.1, True), (threshold - 0.01, False), (0.105, False), (-0.5, False)):
        trained = sums(shares={HEADS[0]: share}, spread=0.01)
        if bool(established(trained, largest, 1, 0, KEYS.index(NON_SINK))[1, HEADS[0]]) is not expected:
            wrong.append(share)
    assert not wrong
    few = sums(shares={HEADS[0]: 0.9})
    few = PullSums(few.accounts[:9], few.inputs[:9])
    assert all(value is None for value in established(few, largest, 1, 0, 0)[1])


def test_a_head_that_attends_evenly_is_not_tested():
    random = sums(shares={HEADS[3]: 0.1})
    table = source_table(PART, sums(shares={HEADS[0]: 0.9}, pull=0.05), random, NAMES)
    assert table["established"].isna().all()
    table = source_table(PART, sums(shares={HEADS[0]: 0.9}), random, NAMES)
    assert table.loc[(table["layer"] == 2) & (table["head"] == 1), "established"].any()


def test_the_strongest_sources_are_chosen_and_their_replacements_added():
    trained = sums(shares={HEADS[0]: 0.6, HEADS[1]: -0.3, HEADS[2]: 0.05}, spread=0.0)
    chosen = chosen_sources({"decoder": trained}, NAMES, most=2)
    assert chosen["decoder", 1][0] == ((NAMES[TOKEN],), (NAMES[TOKEN], NAMES[HEADS[0]]))
    shape = (DOCUMENTS, 2, 20, 2, 2)
    moved = np.zeros(shape)
    moved[:, 1, 0, 1, 1] = np.linspace(0.2, 0.4, DOCUMENTS)
    counts = (moved > 0).astype(np.int32)
    pairs = np.zeros((DOCUMENTS, 2, 20, 2, 2))
    pairs[:, 1, 0, 0, 1] = 1.0
    patches = PatchSums(moved, counts, pairs, np.full((DOCUMENTS, 2, 20), 2.0), np.ones((DOCUMENTS, 2), dtype=np.int32))
    table, of_pairs = with_patches(PART, source_table(PART, trained, None, NAMES), patches, chosen)
    check_table(SOURCES, table[SOURCES.names])
    check_table(PAIRS, of_pairs[PAIRS.names])
    row = table[table["moved"].notna()]
    assert set(row["source_head"]) == {1}
    assert set(row["side"]) == {"key"}
    assert row["moved"].iloc[0] == pytest.approx(0.3)
    assert row["n_replaced"].iloc[0] == DOCUMENTS
    (pair,) = of_pairs.to_dict("records")
    assert (pair["query_part"], pair["key_part"], pair["key_head"], pair["share"]) == ("token", "head", 1, 0.5)


def test_replacements_are_compared_by_their_paired_difference():
    """Two sources that vary together: their intervals overlap, and the smaller one moves less in every input."""
    shared = np.linspace(0.1, 0.5, DOCUMENTS)
    wrong = []
    for gap, expected in ((0.05, [False, True]), (0.0, [False, False])):
        moved, counts = np.zeros((DOCUMENTS, 2, 20, 2, 2)), np.ones((DOCUMENTS, 2, 20, 2, 2), dtype=np.int32)
        moved[:, 1, 0, 1] = np.stack([shared, shared - gap * np.linspace(0.9, 1.1, DOCUMENTS)], axis=-1)
        pulls, inputs = np.ones((DOCUMENTS, 2, 20)), np.ones((DOCUMENTS, 2), dtype=np.int32)
        patches = PatchSums(moved, counts, np.zeros(moved.shape), pulls, inputs)
        if moved_less(patches)[1, 0, 1].tolist() != expected:
            wrong.append((gap, moved_less(patches)[1, 0, 1].tolist()))
    moved[0, 1, 0, 1, 1], counts[0, 1, 0, 1, 1] = 0.0, 0  # not replaced in the first input: the two are not paired
    if None not in moved_less(patches)[1, 0, 1].tolist():
        wrong.append("unpaired")
    assert not wrong
    few = PatchSums(moved[:9], counts[:9], moved[:9], moved[:9, ..., 0, 0], counts[:9, :, 0, 0, 0])
    assert all(value is None for value in moved_less(few)[1, 0, 1].tolist())

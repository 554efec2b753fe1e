"""The tables of the map: a row a head, a cluster, a kind, as the parts that they are made of say."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import silhouette_samples, silhouette_score

from headscope.analyses.distances.clusters import cluster, embed, stability
from headscope.analyses.distances.compute import ONE_HEAD, layer_effect, map_tables
from headscope.analyses.distances.tables import HEAD_CLUSTERS, HEAD_MAP, LAYER_EFFECT
from support.mock_distances import ROWS, divergences


@pytest.fixture(scope="module")
def results():
    return [divergences(3, 4, layered=0.2), divergences(4, 1, kind="cross", seed=1)]


@pytest.fixture(scope="module")
def tables(results):
    roles = {("encoder", 1, 2): "previous", ("cross", 4, 1): "broad"}
    finds = {("encoder", 2, 3): ["obj", "nsubj"], ("cross", 1, 1): ["coreference"]}
    return map_tables(results, roles=roles, finds=finds, seed=3, resamples=30)


def test_a_row_for_each_head(results, tables):
    table = tables["head_map"]
    assert list(table.columns) == HEAD_MAP.names
    own = table[table["kind"] == "encoder"].reset_index(drop=True)
    assert own[["layer", "head"]].to_numpy().tolist() == [[a, b] for a in (1, 2, 3) for b in (1, 2, 3, 4)]
    points, _ = embed(results[0].divergence, seed=3)
    assert np.array_equal(own[["x", "y"]].to_numpy(), points)
    assert own["cluster"].tolist() == cluster(results[0].divergence).labels.tolist()
    told = table.set_index(["kind", "layer", "head"])
    assert told.loc[("encoder", 1, 2), "role"] == "previous"
    assert told.loc[("cross", 4, 1), "role"] == "broad"
    assert told["role"].notna().sum() == 2
    assert told.loc[("encoder", 2, 3), "finds"] == "obj,nsubj"
    assert (told["finds"] == "").sum() == len(table) - 2


def test_without_a_look_nothing_is_said_of_what_heads_find(results):
    table = map_tables(results[1:], roles={}, finds=None, resamples=5)["head_map"]
    assert table["finds"].isna().all()
    assert table["role"].isna().all()


def test_a_row_for_each_cluster(results, tables):
    table = tables["head_clusters"]
    assert list(table.columns) == HEAD_CLUSTERS.names
    own = table[table["kind"] == "encoder"]
    found = cluster(results[0].divergence)
    assert own["cluster"].tolist() == list(range(1, found.number + 1))
    assert own["size"].sum() == 12
    jaccard, _ = stability(results[0], found, resamples=30, seed=3)
    several = own["size"].to_numpy() > 1
    assert own["stability"].to_numpy()[several] == pytest.approx(jaccard[0][several])
    every = silhouette_samples(np.sqrt(results[0].divergence), found.labels, metric="precomputed")
    means = [every[found.labels == number].mean() for number in own["cluster"]]
    assert own["silhouette"].to_numpy()[several] == pytest.approx(np.array(means)[several])
    assert 0 < several.sum() < len(several)
    assert own.loc[~several, ["stability", "ci_low", "ci_high", "silhouette"]].isna().all(axis=None)
    for row in own.to_dict("records"):
        members = [at for at in range(12) if found.labels[at] == row["cluster"]]
        assert row["size"] == len(members)
        apart = [results[0].divergence[a, b] for a in members for b in members if a < b]
        assert row["divergence"] == pytest.approx(np.mean(apart) if apart else np.nan, nan_ok=True)
        middle = (row["medoid_layer"] - 1) * 4 + row["medoid_head"] - 1
        assert middle in members
        totals = {a: sum(results[0].divergence[a, b] for b in members) for a in members}
        assert totals[middle] == min(totals.values())
        assert row["n_rows"] == 12 * ROWS


def test_a_row_for_each_kind(results, tables):
    table = tables["layer_effect"]
    assert list(table.columns) == LAYER_EFFECT.names
    encoder, cross = table.to_dict("records")
    effect = layer_effect(results[0], seed=3)
    assert effect.pop("reason") is None
    assert {name: encoder[name] for name in effect} == effect
    labels = tables["head_map"].query("kind == 'encoder'")["cluster"]
    score = silhouette_score(np.sqrt(results[0].divergence), labels, metric="precomputed")
    assert encoder["silhouette"] == pytest.approx(score)
    assert encoder["clusters"] == labels.nunique()
    assert 0 < encoder["stress"] < 0.2
    assert pd.isna(encoder["reason"])
    assert cross["reason"] == ONE_HEAD
    assert np.isnan(cross["effect"])


def test_tables_survive_parquet(tables, tmp_path):
    for name, table in tables.items():
        table.to_parquet(tmp_path / name, index=False)
        back = pd.read_parquet(tmp_path / name)
        nulls = [frame.astype(object).where(frame.notna(), None) for frame in (back, table)]
        pd.testing.assert_frame_equal(*nulls)


def test_no_kind_gives_empty_tables():
    for name, columns in (
        ("head_map", HEAD_MAP.names),
        ("head_clusters", HEAD_CLUSTERS.names),
        ("layer_effect", LAYER_EFFECT.names),
    ):
        table = map_tables([], roles={}, finds=None)[name]
        assert table.empty
        assert list(table.columns) == columns

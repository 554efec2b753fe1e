"""What the report needs to know of one run: the manifest, the tables, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class ReportInputs:
    """One run, as the report reads it.

    Attributes:
        manifest: the run's `manifest.json`: signature, kinds, counts, timings, notes.
        surface: `tables/surface.parquet`: `kind layer head statistic value ci_low ci_high uniform n`; `layer` and
            `head` are 1-based, a missing head is the layer's mean, shares lie in [0, 1] and entropies are in nats.
        surface_differences: `tables/surface_differences.parquet`: one surface statistic less another.
        roles: `kind layer head role`, and `finds` where the run has a treebank or coreference: the relations (and
            `coreference`) at which the head is held-out best and beats its baseline with q < 0.05.
        examples: `tables/examples.parquet`: `kind layer head behaviour value document segment tokens keys weights`;
            the behaviour is a role, or `shared` for the sentence that every head's card shows.
        paper: the paper's numbers (`headscope.data/clark2019.json`), or None to leave them out.
        is_bert_base: whether the model is the paper's; only then its numbers stand beside the measured ones.
        dependency: `tables/dependency.parquet`, None when the run has no treebank; so are the five below.
        dependency_best: the best head and the best offset of each relation, held-out and on the same data.
        dependency_differences: the selection less that of random weights, on the same arcs.
        dependency_baselines: fixed offsets, left- and right-branching.
        dependency_by_distance: the held-out best head of each relation by the distance of the dependency.
        dependency_noop: attention to special tokens from the words that attend in a relation and from all others.
        arc_examples: sentences with a head's weights and the gold arcs, right and wrong.
        coreference: `tables/coreference.parquet`, None when the run has no coreference; so is the next.
        coreference_differences: the chosen head less each baseline, type less type, and less random weights.
        coreference_heads: antecedents found by every head.
        gap: names chosen for GAP's pronouns, by gender; None when the run has no GAP.
        head_distances: divergences of all pairs of heads of a kind, None when not measured; so are the three below.
        head_map: each head's place on the map, its cluster, role and what it finds.
        head_clusters: the clusters' sizes and stability.
        layer_effect: divergences within and between layers, the test of their difference, and the map's stress.
        probes: `tables/probes.parquet`: heads found by each probe, by seed and on average; None when the run has no
            probes; so are the four below.
        probe_differences: each probe's UAS less each other's, on the same words.
        probe_relations, probe_by_distance: the same by relation and by distance.
        probe_weights: the weight that each probe gives each head, both ways.
        probe_layers: the structural probe on every layer.
        importance: `tables/importance.parquet`: the gradient of the loss by class of key; None when the run has none;
            so is the next.
        importance_differences: each class of key less other tokens, over the same documents, layer by layer.
    """

    manifest: Mapping[str, Any]
    surface: pd.DataFrame
    roles: pd.DataFrame
    examples: pd.DataFrame
    paper: Mapping[str, Any] | None
    is_bert_base: bool
    surface_differences: pd.DataFrame | None = None
    dependency: pd.DataFrame | None = None
    dependency_best: pd.DataFrame | None = None
    dependency_differences: pd.DataFrame | None = None
    dependency_baselines: pd.DataFrame | None = None
    dependency_by_distance: pd.DataFrame | None = None
    dependency_noop: pd.DataFrame | None = None
    arc_examples: pd.DataFrame | None = None
    coreference: pd.DataFrame | None = None
    coreference_differences: pd.DataFrame | None = None
    coreference_heads: pd.DataFrame | None = None
    gap: pd.DataFrame | None = None
    head_distances: pd.DataFrame | None = None
    head_map: pd.DataFrame | None = None
    head_clusters: pd.DataFrame | None = None
    layer_effect: pd.DataFrame | None = None
    importance: pd.DataFrame | None = None
    importance_differences: pd.DataFrame | None = None
    probes: pd.DataFrame | None = None
    probe_differences: pd.DataFrame | None = None
    probe_relations: pd.DataFrame | None = None
    probe_by_distance: pd.DataFrame | None = None
    probe_weights: pd.DataFrame | None = None
    probe_layers: pd.DataFrame | None = None

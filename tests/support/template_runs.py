"""Made-up runs that together reach every branch of the templates, by analysis."""

import numpy as np
import pandas as pd

from headscope.analyses.effects.estimates import estimates_table
from support import mock_inputs
from support.measured import with_parts
from support.mock_behaviors import with_behaviors
from support.mock_compare import with_comparison
from support.mock_distances import with_distances
from support.mock_distribution import with_distribution
from support.mock_effect_kept import with_effect_kept
from support.mock_effects import with_effects
from support.mock_explanation import with_explanation
from support.mock_importance import FACTOR, with_importance
from support.mock_joint import with_joint_effects
from support.mock_norms import with_norms
from support.mock_pca import with_pca
from support.mock_probes import SCORES, probe_facts, with_probes
from support.mock_syntax import with_treebank
from support.mock_why import with_why

NOT_MEASURED = ("control accuracy", "Spearman")


SYNTAX_TABLES = ("syntax", "syntax_best", "syntax_baselines", "syntax_by_distance", "syntax_noop")


def changed(table, *, where="", **columns):
    """Return a run with a treebank in which some columns of a table are changed, in the rows of a query."""
    run = mock_inputs.section_4(2, 3)
    rows = run.tables[table].copy()
    chosen = rows.query(where).index if where else rows.index
    for name, value in columns.items():
        rows.loc[chosen, name] = value(rows.loc[chosen]) if callable(value) else value
    return with_parts(run, **{table: rows})


def opposite_noop(**columns):
    """Return a run in which attending words give special tokens more weight than other words do."""
    turned = {"difference": lambda row: 0.2, "ci_low": lambda row: 0.19, "ci_high": lambda row: 0.21}
    return changed("syntax_noop", **turned, **columns)


def without_intervals():
    run = mock_inputs.section_4(2, 3)
    best = run.tables["syntax_best"].copy()
    best[[name for name in best if "ci_" in name]] = np.nan
    return with_parts(run, syntax_best=best)


def with_manifest(*, corpus="treebank", **values):
    run = mock_inputs.section_4(2, 3)
    return with_parts(run, manifest={**run.manifest, corpus: {**run.manifest[corpus], **values}})


def only_baseline(name):
    """Return a run with one of the two branching baselines."""
    run = mock_inputs.section_4(2, 3)
    rows = run.tables["syntax_baselines"]
    return with_parts(run, syntax_baselines=rows[rows["baseline"].isin(["offset", name])])


def one_relation(**values):
    """Return a run with a single relation."""
    run = changed("syntax_best", **values)
    return with_parts(run, **{name: run.tables[name].query("relation == 'obj'") for name in SYNTAX_TABLES})


def empty():
    run = mock_inputs.section_4(2, 3)
    return with_parts(run, **{name: run.tables[name].iloc[:0] for name in SYNTAX_TABLES})


def of_clusters(number=3, *, stability=0.9, roles=("sep", "previous", "mixed"), kinds=None, silhouette=0.5, **effect):
    """Return a run with equal-sized clusters of these stabilities and roles, and changed layer effects."""
    run = with_distances(mock_inputs.encoder(4, 6) if kinds is None else kinds)
    clusters, heads = (run.tables[name] for name in ("head_clusters", "head_map"))
    several = []
    for kind, rows in heads.groupby("kind", sort=False):
        row = clusters[clusters["kind"] == kind].iloc[[0] * number]
        several.append(row.assign(cluster=range(1, number + 1), size=4, stability=stability, silhouette=silhouette))
        of_head = np.arange(len(rows)) * number // len(rows)
        heads.loc[rows.index, ["cluster", "role"]] = np.array(
            [1 + of_head, np.resize(roles, number)[of_head]], dtype=object
        ).T
    effects = run.tables["layer_effect"].assign(**effect)
    heads = heads.astype({"cluster": "int64"})
    return with_parts(run, head_clusters=pd.concat(several), head_map=heads, layer_effect=effects)


def nearest(run, *, width=0.01, **ends):
    """Return the run with one pair of heads at most half as far apart as any other."""
    pairs = run.tables["head_distances"].sort_values("divergence").reset_index(drop=True)
    pairs.loc[0, "divergence"] /= 2
    pairs = pairs.assign(ci_low=pairs["divergence"] * (1 - width), ci_high=pairs["divergence"] * (1 + width))
    return with_parts(run, head_distances=pairs.assign(**ends))


NO_ENDS = {"ci_low": np.nan, "ci_high": np.nan}


SIX_ROLES = ("sep", "cls", "period_comma", "broad", "previous", "next")


def probed(*, run=None, without=(), manifest=None, **options):
    """Return a run without some of the probes."""
    scores = [each for each in options.pop("scores", SCORES) if each[:2] not in without]
    run = with_probes(run or mock_inputs.encoder(2, 3), scores=scores, **options)
    return run if manifest is None else with_parts(run, manifest={**run.manifest, "probes": manifest})


def with_selectivity(value):
    """Return a run whose probes have this selectivity, and whose two attention-based parsers score nearly the same."""
    changed = {"selectivity": value, "UAS": 0.59}
    return probed(
        scores=[(*each[:3], {**each[3], **{k: changed.get(k, v) for k, v in each[3].items()}}) for each in SCORES]
    )


def with_norm_weighted(run, *, factor=1.0, head=None):
    """Return a run with norm-weighted attention equal to the weights, but for a factor on the shares of one head or
    all.
    """
    weight = run.tables["stats"]
    norm = weight.assign(measure="norm")
    changed = (norm["statistic"] != "entropy") & (norm["head"] == head if head else True)
    norm.loc[changed, ["value", "ci_low", "ci_high"]] *= factor
    return with_parts(run, stats=pd.concat([weight, norm], ignore_index=True))


def without_roles():
    """Return a run in which no head has a role."""
    run = mock_inputs.encoder(2, 2)
    return with_parts(run, roles=run.roles.assign(role="mixed"))


def control_of_one_seed():
    run = changed("coref", where="model == 'control' and seed > 0", model="left out")
    return with_parts(run, coref_differences=run.tables["coref_differences"].query("than != 'control' or seed == 0"))


def differing(value, *, where=""):
    """Return a run in which all differences of antecedent accuracy have this value and a narrow interval."""
    return changed("coref_differences", where=where, difference=value, ci_low=value - 0.01, ci_high=value + 0.01)


def all_effects():
    run = with_effects(with_explanation(with_norms(mock_inputs.encoder(2, 4))), intervention="zero", direct=True)
    return with_joint_effects(with_effect_kept(run, kept={(1, 2): -0.3, (2, 4): 0.9}))


def effects(shape=(2, 4), *, factor=1.0, width=0.002, **estimates):
    """Return a run with effects times a factor; estimates are functions of their values."""
    run = with_norms(with_effects(mock_inputs.decoder(*shape), width=width))
    rows = run.tables["effects"].copy()
    rows[["value", "ci_low", "ci_high"]] *= factor
    for name, change in estimates.items():
        here = rows["measure"] == name
        rows.loc[here, "value"] = change(rows.loc[here, "value"].to_numpy())
    return with_parts(run, effects=rows, effect_estimates=estimates_table(rows))


def some_heads_changed(most):
    """Return a run in which only some heads were changed: the first `most` heads of layer 1."""
    run = effects((4, 8))
    rows = run.tables["effects"]
    changed = (rows["layer"] == 1) & (rows["head"] <= most)
    kept = rows[changed | rows["measure"].isin(["attribution", "gate"])].reset_index(drop=True)
    return with_parts(run, effects=kept, effect_estimates=estimates_table(kept))


def joint(factor=1.0, *, areas=1.0, **options):
    """Return a run with heads removed together, and losses times a factor."""
    run = with_joint_effects(mock_inputs.decoder(4, 8), **options)
    tables = {name: run.tables[name].copy() for name in ("joint_curves", "joint_areas")}
    for rows, times in zip(tables.values(), (factor, areas), strict=True):
        rows[["value", "ci_low", "ci_high"]] *= times
    return with_parts(run, **tables)


def kept_of_the_model(measure, low, high):
    """Return a run in which a number of the whole model has another interval."""
    run = with_effect_kept(mock_inputs.encoder(2, 4))
    rows = run.tables["effect_kept"].copy()
    rows.loc[rows["layer"].isna() & (rows["measure"] == measure), ["ci_low", "ci_high"]] = low, high
    return with_parts(run, effect_kept=rows)


def explained(where="", **values):
    """Return a run with explained heads in three corpora, in which some rows have other values."""
    run = with_explanation(mock_inputs.section_4(2, 3), annotated=("treebank", "coreference"))
    table = run.tables["explanation"].copy()
    table.loc[table.query(where).index if where else table.index, list(values)] = list(values.values())
    return with_parts(run, explanation=table)


def of_sources(where, **values):
    """Return a run in which some sources of heads have other values."""
    run = with_why(mock_inputs.encoder(2, 3))
    table = run.tables["sources"].copy()
    table.loc[table.query(where).index, list(values)] = list(values.values())
    return with_parts(run, sources=table)


BEHAVIORS = [
    lambda: with_behaviors(mock_inputs.t5()),
    lambda: with_behaviors(mock_inputs.encoder(6, 12), unwritten=("first", "duplicate")),
    lambda: with_behaviors(mock_inputs.encoder(2, 3), unwritten=()),
    lambda: with_behaviors(mock_inputs.encoder(2, 3), unwritten=None, shown=False),
    lambda: with_behaviors(mock_inputs.t5(), interval=False),
]


RUNS = {
    "arc_examples": [lambda: mock_inputs.section_4(2, 3)],
    "behaviors": BEHAVIORS,
    "compare": [
        lambda: with_comparison(mock_inputs.t5()),
        lambda: with_comparison(mock_inputs.encoder(2, 3), verdicts=("same",)),
        lambda: with_comparison(mock_inputs.encoder(2, 3), match=True),
        lambda: with_comparison(mock_inputs.encoder(2, 3), match=False),
        lambda: with_comparison(mock_inputs.encoder(2, 3), verdicts=(None,), intervals=False),
    ],
    "coref": [
        lambda: mock_inputs.section_4(2, 3),
        lambda: mock_inputs.section_4(2, 3, documents=4),
        lambda: with_parts(mock_inputs.section_4(2, 3), coref=None, coref_heads=None),
        lambda: changed("coref", where="selection == 'held-out'", accuracy=np.nan),
        lambda: differing(0.0),
        lambda: differing(0.3),
        control_of_one_seed,
        lambda: with_manifest(
            corpus="coreference", head_rule={"from": "trees"}, unmatched_brackets=1, unmatched_named=["a) is not open"]
        ),
    ],
    "distances": [
        lambda: nearest(of_clusters()),
        lambda: nearest(of_clusters(kinds=mock_inputs.two_kinds(), stability=[0.9, 0.3, 0.3])),
        lambda: of_clusters(p=0.5, stability=0.3, silhouette=0.1),
        lambda: of_clusters(p=0.5, stability=np.nan, **NO_ENDS),
        lambda: of_clusters(p=0.001, effect=0.1, stability=0.3, adjusted_rand=np.nan, **NO_ENDS),
        lambda: of_clusters(
            6, roles=SIX_ROLES, stability=[0.9] * 5 + [0.3], effect=0.0, ci_low=-0.0001, ci_high=0.0001
        ),
        lambda: of_clusters(within=1e-5, between=1e-5),
        lambda: of_clusters(effect=np.nan, reason="there is one layer"),
    ],
    "distribution": [lambda: with_distribution(mock_inputs.encoder(2, 3))],
    "effects": [
        all_effects,
        lambda: with_effects(mock_inputs.encoder(2, 4), intervals=False),
        lambda: with_effects(mock_inputs.encoder(2, 4), width=1.0),
        lambda: with_effects(mock_inputs.t5()),
        lambda: effects(factor=1e-4),
        lambda: some_heads_changed(4),
        lambda: effects((4, 8), attribution=lambda values: 0.0 * values, gate=lambda values: values * (values < 0.2)),
        lambda: effects((4, 8), attribution=lambda values: values[::-1], gate=lambda values: values[::-1]),
        lambda: effects((4, 8), width=1e-5),
        joint,
        lambda: joint(0.001),
        lambda: joint(areas=1e-4),
        lambda: joint(intervals=False),
        lambda: joint(orders=("effect", "attribution", "gate", "output_norm", "non_sink", "random")),
        lambda: joint(orders=("effect", "attribution", "gate", "output_norm", "random")),
        lambda: joint(orders=("effect", "gate", "random")),
        lambda: kept_of_the_model("added_uniform", -0.01, 0.02),
        lambda: kept_of_the_model("kept", -2.0, 3.0),
    ],
    "experiments": BEHAVIORS,
    "explanation": [
        explained,
        lambda: explained(explained=np.nan),
        lambda: explained(to_explain=0.0),
        lambda: explained("layer == 1", to_explain=0.0),
        lambda: explained("layer == 1 and head == 1 and model == 'trained'", explained=0.1, ci_low=0.05, ci_high=0.15),
        lambda: with_parts(explained(), explanation=explained().tables["explanation"].query("model == 'trained'")),
    ],
    "importance": [
        lambda: with_importance(mock_inputs.encoder()),
        lambda: with_importance(mock_inputs.encoder(), intervals=False),
        lambda: with_importance(mock_inputs.encoder(), weighted={**FACTOR, "cls": 5.0}),
        lambda: with_importance(mock_inputs.encoder(), even={("gradient", "cls")}),
        lambda: with_importance(mock_inputs.encoder(), even={("weight_times_gradient", "cls")}),
    ],
    "norms": [
        lambda: with_norms(mock_inputs.encoder(6, 12)),
        lambda: with_norms(mock_inputs.encoder(6, 12), resting=0.24),
        lambda: with_norms(mock_inputs.encoder(6, 12), resting=0.9),
        lambda: with_norms(mock_inputs.encoder(2, 2), intervals=False),
        lambda: with_norms(mock_inputs.encoder(6, 1), resting=0.1),
        lambda: with_norms(mock_inputs.t5()),
    ],
    "pca": [lambda: with_pca(mock_inputs.encoder(2, 3))],
    "probes": [
        probed,
        lambda: probed(run=mock_inputs.t5()),
        lambda: probed(documents=3, manifest={"train": {"sentences": 1}, "dev": {"sentences": 2}}),
        lambda: with_selectivity(0.001),
        lambda: probed(
            without=[("attention and words", "trained"), ("attention", "control"), ("right-branching", "trained")],
            manifest={},
        ),
        lambda: probed(
            without=[("attention", "trained"), ("distances and words", "trained")],
            scores=[(*each[:3], {k: v for k, v in each[3].items() if k not in NOT_MEASURED}) for each in SCORES],
        ),
        lambda: probed(
            scores=[
                (*each[:3], {**each[3], "UAS": 0.3} if each[0] == "attention and words" else each[3]) for each in SCORES
            ]
        ),
        lambda: probed(manifest={**probe_facts(), "overlap": {"sentences": 0}}),
        lambda: probed(scores=[]),
    ],
    "stats": [
        lambda: mock_inputs.encoder(6, 12, is_bert_base=True),
        lambda: mock_inputs.encoder(2, 3, documents=5),
        lambda: mock_inputs.random_weights(4, 8),
        lambda: mock_inputs.random_weights(4, 8, documents=5),
        lambda: with_parts(mock_inputs.decoder(2, 2), examples=None),
        lambda: mock_inputs.t5(),
        lambda: with_norm_weighted(mock_inputs.encoder(2, 4)),
        lambda: with_norm_weighted(mock_inputs.encoder(6, 12), factor=0.1),
        lambda: with_norm_weighted(mock_inputs.encoder(6, 12), factor=0.97),
        without_roles,
    ],
    "syntax": [
        lambda: mock_inputs.section_4(6, 12),
        lambda: changed("syntax_best", q_value=np.nan),
        lambda: changed("syntax_best", q_value=0.5),
        lambda: changed("syntax_best", q_value=0.001),
        lambda: changed("syntax_best", where="relation in ['acl', 'obj']", q_value=np.nan),
        lambda: with_parts(
            mock_inputs.section_4(2, 3),
            syntax_best=mock_inputs.section_4(2, 3).tables["syntax_best"].query("selection == 'same-data'"),
        ),
        lambda: changed("syntax_noop", ci_low=np.nan, ci_high=np.nan),
        lambda: changed("syntax_noop", where="relation == 'obj'", ci_low=np.nan, ci_high=np.nan),
        lambda: changed("syntax_noop", direction="dependent->head"),
        opposite_noop,
        lambda: opposite_noop(direction="head->dependent"),
        without_intervals,
        empty,
        one_relation,
        lambda: one_relation(q_value=np.nan),
        lambda: only_baseline("right-branching"),
        lambda: only_baseline("left-branching"),
        lambda: with_treebank(mock_inputs.encoder(2, 3), shuffled=True),
        lambda: with_manifest(
            special_changes={"accuracies": 3, "of": 40, "largest": 0.02}, words_merged=2, words_shared=1, folded=False
        ),
        lambda: with_manifest(special_changes={"accuracies": 0, "of": 40, "largest": None}, special_kept=True),
    ],
    "why": [
        lambda: with_why(mock_inputs.encoder(3, 8)),
        lambda: with_why(mock_inputs.encoder(2, 3), heads=False),
        lambda: with_why(mock_inputs.encoder(2, 3), established=None),
        lambda: with_why(mock_inputs.encoder(2, 3), moved=0.01),
        lambda: of_sources("source_part == 'head' and side == 'key'", share=0.05),
        lambda: of_sources("side == 'query'", share=0.05),
        lambda: of_sources("side == 'key'", share=0.05),
        lambda: of_sources("source_part == 'mlp'", share=0.7),
    ],
}

"""Made-up tables of differences of other made-up tables, with intervals half as wide as unpaired ones."""

import numpy as np

from headscope.analyses.coref.tables import COREF_DIFFERENCES
from headscope.analyses.probes.tables import PROBE_DIFFERENCES
from headscope.analyses.stats.tables import STATS_DIFFERENCES
from headscope.analyses.syntax.tables import SYNTAX_DIFFERENCES
from headscope.statistics.statistic_catalog import STATISTICS
from support.stand_ins import table_of

PAIRED = 0.5


def gap(one, other, *, paired=PAIRED):
    """Return one row's value minus another's, with null bounds where either row has none."""
    wide = [(row["ci_high"] - row["ci_low"]) / 2 for row in (one, other)]
    value = one["value"] - other["value"]
    reach = paired * float(np.hypot(*wide))
    return {"difference": value, "ci_low": value - reach, "ci_high": value + reach}


def stats_differences(stats):
    """Return the table `stats_differences` for a table of statistics."""
    rows = []
    for kind, own in stats.groupby("kind", sort=False):
        means = own[own["head"].isna()].set_index(["layer", "statistic"])
        for one, other in ((each.name, each.less) for each in STATISTICS.values() if each.less):
            for layer in sorted(set(own["layer"])):
                sides = [means.loc[(layer, name)] for name in (one, other)]
                if any(np.isnan(side["value"]) for side in sides):
                    continue
                rows.append({"kind": kind, "layer": layer, "head": None, "statistic": one, "than_layer": layer,
                             "than_head": None, "than_statistic": other, **gap(*sides), "n_inputs": 200})  # fmt: skip
        for name in (each.name for each in STATISTICS.values() if each.ranked):
            heads = own[own["head"].notna() & (own["statistic"] == name) & own["value"].notna()]
            if len(heads) < 2:
                continue
            first, *others = heads.sort_values("value", ascending=False).to_dict("records")
            gaps = [(gap(first, other), other) for other in others]
            end = "difference" if any(np.isnan(one["ci_low"]) for one, _ in gaps) else "ci_low"
            found, nearest = min(gaps, key=lambda pair, end=end: pair[0][end])
            rows.append({"kind": kind, "layer": first["layer"], "head": first["head"], "statistic": name,
                         "than_layer": nearest["layer"], "than_head": nearest["head"], "than_statistic": name,
                         **found, "n_inputs": 200})  # fmt: skip
    return table_of(STATS_DIFFERENCES, rows)


def coref_differences(table):
    """Return the table `coref_differences` for the table `coref`."""
    rows = []
    own = table.rename(columns={"accuracy": "value"})
    heads = own[(own["model"] == "trained") & (own["selection"] == "held-out")].set_index("mention_type")
    for row in own[own["model"] == "baseline"].to_dict("records"):
        rows.append({"mention_type": row["mention_type"], "system": "head", "than": row["system"],
                     "n_mentions": row["n_mentions"], **gap(heads.loc[row["mention_type"]], row)})  # fmt: skip
    types = ("pronoun", "proper", "nominal")
    for place, one in enumerate(types):
        for other in types[place + 1 :]:
            rows.append({"mention_type": one, "system": "head", "than": "head", "than_type": other,
                         "n_mentions": 100, **gap(heads.loc[one], heads.loc[other], paired=1.0)})  # fmt: skip
    for row in own[own["model"] == "control"].to_dict("records"):
        rows.append({"mention_type": row["mention_type"], "system": "selection", "than": "control",
                     "seed": row["seed"], "n_mentions": row["n_mentions"],
                     **gap(heads.loc[row["mention_type"]], row)})  # fmt: skip
    return table_of(COREF_DIFFERENCES, rows)


def syntax_differences(best):
    """Return the table `syntax_differences` for a table of best heads."""
    own = best.assign(value=best["held_out"])
    held = own[(own["model"] == "trained") & (own["selection"] == "held-out")].set_index("relation")
    rows = [
        {"relation": row["relation"], "than": row["model"], "seed": row["seed"], "n_arcs": row["n_arcs"],
         **gap(held.loc[row["relation"]], row)}
        for row in own[own["model"] != "trained"].to_dict("records")
    ]  # fmt: skip
    return table_of(SYNTAX_DIFFERENCES, rows)


def probe_differences(probes):
    """Return the table `probe_differences` for a table of probes."""
    means = probes[probes["seed"].isna() & (probes["measure"] == "UAS")].to_dict("records")
    rows = [
        {"probe": one["probe"], "model": one["model"], "than_probe": other["probe"], "than_model": other["model"],
         "measure": "UAS", "n_cases": one["n_cases"], **gap(one, other)}
        for place, one in enumerate(means)
        for other in means[place + 1 :]
    ]  # fmt: skip
    half = np.nan if means and np.isnan(means[0]["ci_low"]) else 0.006
    rows.append({"probe": "structural", "model": "trained", "than_probe": "embeddings", "than_model": "trained",
                 "measure": "UUAS", "n_cases": 20_085, "difference": 0.09, "ci_low": 0.09 - half,
                 "ci_high": 0.09 + half})  # fmt: skip
    return table_of(PROBE_DIFFERENCES, rows)

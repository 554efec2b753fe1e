"""`headscope probe`: how many head words a parser over all heads' attention finds, as table 3 for a terminal."""

from typing import TYPE_CHECKING, Any

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show_table
from headscope.app.cli.syntax import Out, interval, percent, run_tables

if TYPE_CHECKING:
    from headscope.analyses.stage_result import StageResult

_MORE = {
    "UAS tree": "as a tree",
    "LAS": "with label",
    "control accuracy": "control task",
    "selectivity": "selectivity",
}


@o.takes(
    "treebank",
    "treebank_train",
    "model",
    "revision",
    "fold_labels",
    "pieces",
    *o.PROBES,
    "strict_input",
    *o.MACHINE,
)
def command(out: Out = None, **given: Any) -> None:
    """Train probes on --treebank-train and measure them on --treebank: what all heads know of syntax together.

    Beside them stand the same probes on random weights, a parser that sees words and distances only, and the
    structural probe on each layer's vectors.
    """
    for line in run_tables("probes", out=out, given=given, show=show):
        say(line)


def show(result: "StageResult") -> None:
    """Print table 3: the share of head words that each probe finds, with its interval and its seeds' spread."""
    from headscope.analyses.probes.figures.scores import SYSTEMS

    probes = result.tables["probes"]
    more = [name for name in _MORE if (probes["measure"] == name).any()]
    columns = [("probe", "left"), ("found", "right"), ("95% interval", "right"), ("spread", "right")]
    columns += [*((_MORE[name], "right") for name in more), ("n", "right")]
    shown = []
    means = probes[probes["seed"].isna()]
    for (probe, model), system in SYSTEMS.items():
        rows = means[(means["probe"] == probe) & (means["model"] == model)].to_dict("records")
        own: dict[str, Any] = {str(row["measure"]): row for row in rows}
        if system.measure not in own:
            continue
        row = own[system.measure]
        where = f", {row['vectors']}" if probe == "structural" else ""
        measure = f" ({system.measure})" if system.measure != "UAS" else ""
        cells = (
            f"{system.name}{where}{measure}",
            *(percent(row["value"]), interval(row), percent(row["spread"])),
            *(percent(own[name]["value"]) if name in own else "-" for name in more),
            f"{row['n']:,}",
        )
        shown.append(cells)
    show_table(columns, shown)
    facts = result.facts["probes"]
    layer = _spearman(means)
    say(
        f"trained on {facts['train']['sentences']:,} sentences of {facts['train']['name']}, measured on "
        f"{facts['dev']['sentences']:,} of {facts['dev']['name']}; percent of the words, punctuation left out, means "
        f"over {facts['seeds']} seed{'' if facts['seeds'] == 1 else 's'}; words: {facts['vectors']}{layer}"
    )
    if "overlap" in facts and not facts["overlap"]["sentences"]:
        say("no measured sentence is in train")  # else a note says how many are


def _spearman(means: Any) -> str:
    """Say how well the structural probe's distances correlate with the trees'."""
    rows = means[(means["probe"] == "structural") & (means["measure"] == "Spearman")]
    if rows.empty or rows.iloc[0]["value"] != rows.iloc[0]["value"]:
        return ""
    row = rows.iloc[0]
    ends = "" if row["ci_low"] != row["ci_low"] else f" ({row['ci_low']:.2f} to {row['ci_high']:.2f})"
    return f"; structural probe's distances, Spearman: {row['value']:.2f}{ends}"

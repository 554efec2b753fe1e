"""`headscope coref`: which head finds antecedents, beside baselines; and GAP by gender."""

from typing import TYPE_CHECKING, Any

from headscope.app.cli import options as o
from headscope.app.cli.printing import say, show_table
from headscope.app.cli.syntax import Out, interval, percent, q_value, run_tables

if TYPE_CHECKING:
    from headscope.analyses.stage_result import StageResult


@o.takes("coref", "model", "revision", "pieces", "controls", *o.COREFERENCE, "strict_input", *o.MACHINE)
def command(out: Out = None, **given: Any) -> None:
    """Score every head on antecedents of mentions, beside baselines; GAP's files by gender.

    Without --coref the synthetic documents are read.
    """
    for line in run_tables("coreference", out=out, given=given, show=show):
        say(line)


def show(result: "StageResult") -> None:
    """Print table 2, or GAP's."""
    if result.name == "gap":
        _show_gap(result)
    else:
        _show_systems(result)


def _show_systems(result: "StageResult") -> None:
    systems = result.tables["coreference"]
    types = list(dict.fromkeys(systems["mention_type"]))
    n = systems.drop_duplicates("mention_type").set_index("mention_type")["n"]
    columns = [("system", "left"), *((f"{name} ({n[name]:,})", "right") for name in types), ("q", "right")]
    shown = []
    several = result.tables["coreference_heads"]["kind"].nunique() > 1
    rows = systems.assign(name=[_name(row, several=several) for row in systems.to_dict("records")])
    for name, own in rows.groupby("name", sort=False):
        cells = {
            kind: f"{percent(part['accuracy'].mean())} ({interval(part.iloc[0])})"
            if len(part) == 1
            else percent(part["held_out" if part["held_out"].notna().all() else "accuracy"].mean())
            for kind, part in own.groupby("mention_type")
        }
        tested = own[
            (own["system"] == "head") & (own["model"] == "trained") & (own["selection"] == "held-out")
        ]
        q = tested.loc[tested["mention_type"] == "all", "q_value"]
        shown.append(
            [str(name), *(cells.get(kind, "-") for kind in types), q_value(q.iloc[0]) if len(q) else ""]
        )
    show_table(columns, shown)
    facts = result.facts["coreference"]
    say(
        f"{facts['name']}: {facts['counted']:,} of {facts['mentions']:,} mentions have an antecedent in their window "
        f"of at most {facts['max_length']} tokens ({facts['windows']:,} windows, {facts['documents']:,} documents); "
        "percent, 95% interval"
    )
    held = systems[(systems["model"] == "trained") & (systems["mention_type"] == "all")]["held_out"].dropna()
    if len(held):
        say(
            "held-out: the head that halves of the documents choose most often; what is chosen on one half is right "
            f"for {percent(held.iloc[0])} on the other; q: one-sided test of the choice against nearest and against "
            "head match, else nearest"
        )
    for why, number in facts["lost_why"].items():
        say(f"left out {number:,}: {why}")


def _name(row: dict[Any, Any], *, several: bool) -> str:
    if row["model"] == "baseline":
        return str(row["system"])
    if row["model"] == "control":
        return f"random weights, {row['selection']} (mean of controls)"
    return _head(row, several=several)


def _head(row: dict[Any, Any], *, several: bool) -> str:
    """Name a head and how it was chosen; its kind of attention too where the model has several."""
    kind = f"{row['kind']} " if several else ""
    return f"{kind}head {row['layer']}-{row['head']}, {row['selection']}"


def _show_gap(result: "StageResult") -> None:
    gap = result.tables["gap"]
    measures = [(m, g) for m in dict.fromkeys(gap["measure"]) for g in dict.fromkeys(gap["gender"])]
    facts = result.facts["gap"]
    several = len(facts["kinds"]) > 1
    named = gap.assign(
        name=[
            _head(row, several=several) if row["system"] == "head" else row["system"]
            for row in gap.to_dict("records")
        ]
    )
    shown = []
    for name, own in named.groupby("name", sort=False):
        values = own.set_index(["measure", "gender"])["value"]
        shown.append([str(name), *(percent(values.get(key, float("nan"))) for key in measures)])
    columns = [("system", "left"), *((f"{measure}, {gender}", "right") for measure, gender in measures)]
    show_table(columns, shown)
    say(f"{facts['name']}: {facts['used']:,} of {facts['rows']:,} rows of GAP; percent")

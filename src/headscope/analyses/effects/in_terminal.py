"""Effects in the terminal: single heads, the largest effect first, several heads at once, and effects kept."""

from __future__ import annotations

import math
from collections.abc import Iterator

from headscope.analyses.effects.accumulator import ATTRIBUTION, GATE
from headscope.analyses.effects.direct_table import measures_on_logits
from headscope.analyses.effects.estimates.lines import estimate_lines
from headscope.analyses.effects.findings import added_losses, some_changed, wording_of
from headscope.analyses.effects.joint.findings import table_sentences
from headscope.analyses.effects.joint.rows import curves_in
from headscope.analyses.effects.joint.section import curve_cells
from headscope.analyses.effects.kept.accumulator import REPLACEMENTS
from headscope.analyses.effects.kept.findings import model_sentences
from headscope.analyses.effects.kept.rows import replaced_of
from headscope.analyses.effects.kept.section import kept_cells
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label, kind_prefixes
from headscope.counted import count
from headscope.report_kit.loss_words import loss_words, predicted
from headscope.report_kit.numbers import HYPHEN, joined, nats, q_words
from headscope.report_kit.tables.cells import number, records
from headscope.report_kit.tables.terminal import Grid
from headscope.statistics.inference.worth_saying import LEAST_LOSS


def render_results(*results: StageResult) -> Iterator[Grid | str]:
    """Yield the tables and sentences of each stage."""
    for result in results:
        render = {"effects": _effects, "joint_effects": _joint, "effect_kept": _kept}[result.name]
        yield from render(result)


def _effects(result: StageResult) -> Iterator[Grid | str]:
    """Yield a table with a line for each head, and sentences on the intervention, the loss and the estimates."""
    table, facts = result.tables["effects"], result.facts["effects"]
    prefix = kind_prefixes(table["kind"])
    on_logits = measures_on_logits(table)
    estimates = [ATTRIBUTION] if ATTRIBUTION in set(table["measure"]) else []
    others = ["kl", *estimates, *on_logits]
    values = {
        (row["kind"], row["layer"], row["head"], row["measure"]): number(row["value"])
        for row in records(table[table["measure"].isin(others)])
    }
    rows = []
    for kind in prefix:
        for effect in added_losses(table, str(kind)):
            cell = effect.added
            rows.append(
                [
                    f"{prefix[kind]}{head_label(effect.layer, effect.head)}",
                    nats(cell.value),
                    joined(cell.ci_low, cell.ci_high, nats, between=" to ", missing=HYPHEN),
                    q_words(effect.q_value),
                    *(nats(values[kind, effect.layer, effect.head, name]) for name in others),
                ]
            )
    yield Grid(("head", "added loss", "95%", "q", "KL", *others[1:]), rows)
    if len(rows) < facts["heads"]:
        yield some_changed(len(rows), facts["heads"], estimated=GATE in set(table["measure"]))
    yield wording_of(table).how
    yield (
        f"loss {facts['loss']}: {loss_words(facts, how='with all heads as they are, over')}; added loss and "
        "KL(p || p changed) in nats"
    )
    yield from estimate_lines(result.tables["effect_estimates"], prefix)
    if estimates:
        yield "attribution: the first-order estimate of the added loss, by the gradient of what the head writes"
    elif facts["no_gradient"]:
        yield f"no first-order estimates: {facts['no_gradient']}"
    if on_logits:
        yield (
            "logit: lost of the right token's logit, above the mean of all; direct: what the head by itself adds to "
            "it; copying: the same of the token that it looks at most; ov_copying: the copying score of weights alone"
        )
        if facts["no_ov"]:
            yield f"no copying scores of weights: {facts['no_ov']}"
        if "compensation" not in others:
            yield "compensation by later layers, direct less logit, is told by --intervention zero"
    elif facts["no_direct"]:
        yield f"no direct effects on logits: {facts['no_direct']}"
    if facts["documents_needed"] is not None:
        needed = count(facts["documents_needed"], "document")
        yield f"about {needed} show an effect of {LEAST_LOSS:g} nats of the median head"


def _joint(result: StageResult) -> Iterator[Grid | str]:
    """Yield a table with a line for each order in which heads are removed together, and the findings."""
    curves = result.tables["joint_curves"]
    if not len(curves):
        return
    orders = curves_in(curves, result.tables["joint_areas"])
    numbers = [f"{number:,}" for number in orders[0].points if number]
    rows = [[each.label, *curve_cells(each, missing=HYPHEN)] for each in orders]
    yield Grid(("heads removed together", *numbers, "area", "against random", "95%"), rows)
    for each in table_sentences(result.tables):
        yield each.text.replace("−", "-")
    facts = result.facts["joint_effects"]
    yield (
        f"added loss in nats over {predicted(facts)}, with so many heads changed at once, the smallest by each measure "
        "first"
    )


def _kept(result: StageResult) -> Iterator[Grid | str]:
    """Yield a table with a line for each head, each layer and the model, and the findings on the model."""
    table = result.tables["effect_kept"]
    if not len(table):
        return
    facts = result.facts["effect_kept"]
    prefix = kind_prefixes(table["kind"].dropna())
    # The last cell is the explained share, which the explanation's own command shows.
    rows = [
        [f"{prefix.get(each.kind, '')}{each.label}", *kept_cells(each, math.nan, missing=HYPHEN)[:-1]]
        for each in replaced_of(table)
    ]
    yield Grid(["replaced", *REPLACEMENTS, "kept %", "95%"], rows)
    for each in model_sentences(table):
        yield each.text
    yield (
        f"loss {facts['loss']}: {loss_words(facts, how='with attention as it is, over')}; added loss in nats with "
        "attention replaced by uniform attention, by what explains it, and by positions alone"
    )

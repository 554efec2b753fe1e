"""A report on random weights says nothing that they do not have: each sentence is computed again, or the test fails.

What is said of the text that was read is compared with plain loops over transformers' own attention. A difference, a
rank or an effect is true of the weights, not of the text: it must be found in other text, too. A sentence that no check
below knows fails the test.
"""

import re
from collections.abc import Callable

import numpy as np
import pytest

from headscope.reporting.head_summary import head_summaries
from headscope.reporting.story import findings
from headscope.statistics.roles import roles
from headscope.statistics.tables.frames import NORM, of_measure
from support.random_worlds import HEADS, LAYERS, RandomWorld

SIZE = LAYERS * HEADS
WORLDS = {
    "a BERT that attends uniformly": ("bert", 0, 0.02),
    "a BERT with large weights": ("bert", 1, 0.3),
    "a Llama with large weights": ("llama", 2, 0.2),
}
CHECKS: list[tuple[str, Callable[..., bool]]] = []


def says(pattern: str):
    """Register the check of the sentences of a pattern; it gets the world, then the groups of the pattern."""

    def register(check):
        CHECKS.append((pattern, check))
        return check

    return register


def layers_in(text: str) -> list[int]:
    """Return the layers that a sentence names, from 0: `layer 2`, `layers 1 to 3`, `layers 1 and 2`."""
    numbers = [int(number) - 1 for number in re.findall(r"\d+", text)]
    return list(range(numbers[0], numbers[-1] + 1)) if " to " in text else numbers


def near(said: str, value: float, *, unit: float = 1.0) -> bool:
    """Whether a number is that of a sentence, as it is rounded there."""
    text = said.replace("−", "-")
    decimals = len(text.partition("e")[0].partition(".")[2])
    scale = 10.0 ** (int(text.partition("e")[2] or 0) - decimals)
    return abs(float(text) - value / unit) <= 1.01 * scale


def each_head(world, table, column, **where):
    """Return a number of every head from a table of the run, head by head."""
    rows = world.study.table(table)
    rows = rows[rows["head"].notna()]
    for name, value in where.items():
        rows = rows[rows[name].isna() if value is None else rows[name] == value]
    return rows.sort_values(["layer", "head"])[column].to_numpy(dtype=float, na_value=np.nan)


# What shares of attention are.


@says(
    r"No head stands out: none puts (\d+)% or more of its attention on a neighboring token, .*, or periods and commas\."
)
def _no_share_is_large(world, bar):
    shares = world.shares(0)
    names = ("previous", "next", "current", "cls", "sep", "period_comma")
    return all(100 * shares[name].max() < int(bar) for name in names if name in shares)


@says(
    r"A share stands out above a quarter and above twice uniform attention \(.* here\), with its whole 95% interval\."
)
def _it_says_a_rule(world):
    return True


@says(r"Every head puts less than (\d+)% of its attention on the current token \(all intervals lie below\)\.")
def _none_looks_at_itself(world, bar):
    return 100 * world.shares(0)["current"].max() < int(bar)


@says(r"In (layers? .*) no difference larger than ([\d.]+) points is seen between .* tokens and others\.")
def _separators_attend_alike(world, where, points):
    shares = world.shares(0)
    gaps = 100 * np.abs(shares["sep_to_sep"] - shares["other_to_sep"]).mean(1)
    return all(gaps[layer] <= float(points) for layer in layers_in(where))


@says(r"\S+ tokens give \S+ (more|less) attention than other tokens do in (layers? .*)\.")
def _separators_attend_otherwise(world, side, where):
    shares = world.shares(1)
    gaps = (shares["sep_to_sep"] - shares["other_to_sep"]).mean(1)
    return all(abs(gaps[layer]) > 0.005 and (gaps[layer] > 0) == (side == "more") for layer in layers_in(where))


@says(r"In (layer \d+), \S+ tokens put ([\d.]+)% \(.*\) of attention on \S+, other tokens ([\d.]+)% \(.*\)\.")
def _how_separators_attend(world, where, first, second):
    shares, (layer,) = world.shares(0), layers_in(where)
    return all(
        near(said, shares[name].mean(1)[layer], unit=0.01)
        for said, name in ((first, "sep_to_sep"), (second, "other_to_sep"))
    )


@says(r"The difference in (layer \d+) is ([\d.]+) points \(.*\)\.")
def _by_how_much(world, where, points):
    shares, (layer,) = world.shares(0), layers_in(where)
    return near(points, abs(shares["sep_to_sep"] - shares["other_to_sep"]).mean(1)[layer], unit=0.01)


@says(rf"(\d+) of {SIZE} heads(, (?:all|\d+ of them) in layer \d+,)? attends? broadly: .*")
def _heads_attend_broadly(world, number, where):
    broad = world.shares(0)["entropy_ratio"] > 0.783
    in_layer = re.search(r"(all|\d+).* layer (\d+)", where or "")
    if in_layer:
        most = int(number) if in_layer[1] == "all" else int(in_layer[1])
        return broad[int(in_layer[2]) - 1].sum() >= most
    return broad.sum() >= int(number)


@says(r"(None|\d+) of the broad heads puts? (?:10% or more|less than 10%) on any one token on average\.")
def _broad_heads_are_light(world, number):
    shares = world.shares(0)
    light = (shares["max_weight"] < 0.1)[shares["entropy_ratio"] > 0.783]
    return light.all() if number == "None" else light.sum() >= int(number)


@says(r"Head (\d)-(\d) is narrowly focused: its entropy is ([\d.]+) nats \(.*")
def _a_head_is_narrow(world, layer, head, nats):
    at = int(layer) - 1, int(head) - 1
    return near(nats, world.shares(0)["entropy"][at]) and world.shares(1)["entropy_ratio"][at] < 0.5


@says(r"In the last layer no difference in entropy larger than ([\d.]+) nats is seen .*")
def _the_first_token_attends_alike(world, nats):
    shares = world.shares(0)
    return abs((shares["entropy_cls"] - shares["entropy"])[-1].mean()) <= float(nats)


@says(r"In the last layer \S+ attends (more|less) broadly than average, by .*")
def _the_first_token_attends_otherwise(world, side):
    shares = world.shares(1)
    gap = (shares["entropy_cls"] - shares["entropy"])[-1].mean()
    return abs(gap) > 0.05 and (gap > 0) == (side == "more")


@says(r"The average entropy from \S+ is ([\d.]+) nats \(.*\), over all tokens ([\d.]+) nats \(.*\)\.")
def _the_entropies(world, first, every):
    shares = world.shares(0)
    return near(first, shares["entropy_cls"][-1].mean()) and near(every, shares["entropy"][-1].mean())


def plain_roles(world):
    """The role of each head, by the rule in words."""
    shares = world.shares(0)
    conditions = [("period_comma", 0.6), ("sep", 0.6), ("cls", 0.6), ("entropy_ratio", 0.783)]
    conditions += [("previous", 0.5), ("next", 0.5)]
    named = [name for name in conditions if name[0] in shares]
    return [next((name for name, bar in named if shares[name].flat[at] > bar), "") for at in range(SIZE)]


@says(rf"(\d+) of {SIZE} heads? ha(?:s|ve) a role: (?:(\d+) broad)?(.*)\.")
def _heads_have_roles(world, number, broad, others):
    of_heads = plain_roles(world)
    return (sum(map(bool, of_heads)), of_heads.count("entropy_ratio")) == (int(number), int(broad or 0)) and not others


@says(rf"No head of {SIZE} has a role\.")
def _no_head_has_a_role(world):
    return not any(plain_roles(world))


@says(rf"All {SIZE} heads have the same role in norm-weighted attention\.")
def _roles_by_norm_are_the_same(world):
    stats = world.study.table("stats")
    assert len(of_measure(stats, NORM))
    return roles(stats, measure=NORM)["role"].tolist() == roles(stats)["role"].tolist()


# What is said not to be there: no number of the run is beyond the threshold.


@says(rf"No head of {SIZE} is inactive: every output norm is above 25% of the layer’s mean\.")
def _all_heads_write(world):
    return each_head(world, "norms", "value", statistic="output_norm_in_layer").min() > 0.25


@says(r"No head shows (.*) (in text|over repeated random tokens|in repeated needles|over shuffled words)\.")
def _no_behavior(world, behaviors, where):
    table = rows_where(world, where)
    named = re.split(r", | or ", behaviors)
    rows = table[table["behavior"].isin(named)]
    assert set(rows["behavior"]) == set(named)
    return not ((rows["value"] > 0.25) & (rows["value"] > 2 * rows["uniform"].fillna(0.0))).any()


@says(
    r"Not tested (in text|over repeated random tokens|in repeated needles|over shuffled words), which needs .*: (.*)\."
)
def _untested(world, where, behaviors):
    table = rows_where(world, where)
    return table[table["behavior"].isin(re.split(r", | and ", behaviors))]["shows"].isna().all()


def rows_where(world, where):
    if where == "in text":
        table = world.study.table("behaviors")
    else:
        names = {"random tokens": "repeated", "needles": "needle", "words": "shuffled"}
        name = next(name for words, name in names.items() if where.endswith(words))
        table = world.study.table("experiments")
        table = table[table["experiment"] == name]
    table = table[table["head"].notna() & (table["model"] == "trained")]
    return of_measure(table)


# How far attention is from uniform attention.


@says(r"No head differs from uniform attention by 0\.01 nats or more, so that there is nothing to explain\.")
def _nothing_to_explain(world):
    shares = world.shares(0)
    return (shares["uniform"] - shares["entropy"]).max() < 0.01


@says(r"Simple rules predict (under )?([\d.]+)% of the attention of a typical head\.")
def _explained(world, under, percent):
    explained = np.median(each_head(world, "explanation", "explained", measure="weight"))
    return explained < float(percent) / 100 if under else near(percent, explained, unit=0.01)


@says(r"This is the median of (\d+) heads, on documents to which the rules were not fitted\.")
def _over_heads(world, number):
    shares = world.shares(0)
    return int(number) == ((shares["uniform"] - shares["entropy"]) >= 0.01).sum()


@says(r"(\d+) heads? (?:is|are) unexplained off the sink \(less than a third predicted\): .*")
def _unexplained(world, number):
    table = world.study.table("explanation").query("measure == 'non_sink' and model == 'trained' and corpus == 'text'")
    uneven = (table["mass"] >= 0.05) & (table["to_explain"] > (1 - 0.783) * table["uniform"])
    return (uneven & (table["explained"] < 1 / 3)).sum() <= int(number) <= uneven.sum()


# Effects on the loss: none of what is not shown, and what can go can go in a plain loop.


def loss_effects(world):
    return [each_head(world, "effects", name, measure="loss") for name in ("value", "q_value")]


@says(
    rf"No head of {SIZE} is shown to change the loss: "
    r"(?:(\d+) do(?:es)? not \(within 0\.01 nats\))?(?:, )?(?:(\d+) (?:is|are) undecided)?\."
)
def _no_effect(world, within, undecided):
    """No change in the tables; those that do not change the loss do not in a plain loop; and all heads are counted."""
    value, q = loss_effects(world)
    whole = world.loss(1)
    added = [world.loss(1, ((at // HEADS, at % HEADS),)) - whole for at in range(SIZE)]
    counted = int(within or 0) + int(undecided or 0) == SIZE
    none = not ((q < 0.05) & (np.abs(value) >= 0.01)).any()
    return counted and none and sum(abs(each) < 0.01 for each in added) >= int(within or 0)


@says(r"Each head in turn was replaced by its mean output over tokens of the same class in other documents\.")
def _the_intervention(world):
    return world.study.manifest["effects"]["intervention"] == "mean"


@says(r"The loss is that of .*: (\S+) nats a (?:token|text) .* predicted\.")
def _the_loss(world, loss):
    stages = ("importance", "effects", "joint_effects", "effect_kept")
    means = [world.study.manifest[stage]["loss_mean"] for stage in stages if stage in world.study.manifest]
    return any(near(loss, mean) for mean in means)


@says(r"Detecting an effect of 0\.01 nats takes about ([\d,]+) documents?\.")
def _documents_needed(world, number):
    return int(number.replace(",", "")) == world.study.manifest["effects"]["documents_needed"]


@says(r"(Effects on single logits are|Copying by weights is|First-order estimates are) not known here: (.*)\.")
def _not_measured(world, what, why):
    name = {"E": "no_direct", "C": "no_ov", "F": "no_gradient"}[what[0]]
    return why == world.study.manifest["effects"][name]


@says(r"Heads that change nothing alone may do so together: heads with the same function compensate for each other\.")
def _it_says_what_may_be(world):
    return True


def replaced(study):
    """The loss that is added when the attention of all heads is replaced, and the share that explanations keep."""
    table = study.table("effect_kept")
    return table[table["layer"].isna()].set_index("measure")["value"]


@says(
    r"With every head’s attention replaced by its explanation the model loses (\S+) nats; "
    r"with uniform attention (\S+)\."
)
def _uniform_attention_costs(world, explained, uniform):
    """The cost is that of the weights: it is found in other text."""
    own, other = replaced(world.study), replaced(world.again)
    as_said = near(explained, own["added_explained"]) and near(uniform, own["added_uniform"])
    return as_said and other["added_uniform"] > 0.005


@says(
    r"Explanations keep \S+% of the effect of attention \(95% interval (-?\d+) to (-?\d+)\); "
    r"positions alone lose .* nats\."
)
def _explanations_keep(world, low, high):
    other = replaced(world.again)
    kept = 1 - other["added_explained"] / other["added_uniform"]
    return int(low) <= 100 * kept <= int(high)


@says(r"Predicting attention from positions alone loses (\S+) nats\.")
def _positions_alone_lose(world, lost):
    """It is said where the interval of the share that explanations keep is wider than the whole effect."""
    table = world.study.table("effect_kept")
    (kept,) = table[table["layer"].isna() & (table["measure"] == "kept")].to_dict("records")
    told = kept["ci_high"] - kept["ci_low"] < 1
    return not told and near(lost, replaced(world.study)["added_positions"])


@says(r"Uniform attention in every head is not shown to cost 0\.01 nats of loss\.")
def _uniform_attention_costs_nothing(world):
    table = world.study.table("effect_kept")
    (row,) = table[table["layer"].isna() & (table["measure"] == "added_uniform")].to_dict("records")
    return row["ci_low"] <= 0 or row["value"] < 0.01


@says(
    rf"(All|\d+) (?:of )?{SIZE} heads can go(?: together)? for (less than 0\.01|−?[\d.e−]+) nats \(.*\)"
    r"(?:, chosen .*)?\."
)
def _several_can_go(world, number, cost):
    curves = world.study.table("joint_curves")
    removed = SIZE if number == "All" else int(number)
    (row,) = curves[(curves["order"] == "effect") & (curves["n_removed"] == removed)].to_dict("records")
    if cost != "less than 0.01":
        return row["ci_high"] < 0.1 and near(cost, row["value"])
    every = tuple((at // HEADS, at % HEADS) for at in range(SIZE))
    return row["ci_high"] < 0.01 and (removed < SIZE or world.loss(1, every) - world.loss(1) < 0.01)


# How far heads are apart.


def within_and_between(world, half):
    apart, (one, other) = world.distances(half), np.triu_indices(SIZE, 1)
    same = one // HEADS == other // HEADS
    return apart[one, other][same].mean(), apart[one, other][~same].mean()


@says(r"Heads of a layer attend alike, as do heads of different layers\.")
def _heads_are_alike(world):
    return max(within_and_between(world, 0)) < 0.01


@says(r"On average two heads of a layer are ([\d.e-]+) nats apart, two of different layers ([\d.e-]+)\.")
def _how_far_apart(world, within, between):
    return all(near(said, value) for said, value in zip((within, between), within_and_between(world, 0), strict=True))


@says(r"Heads of a layer are as alike as heads of different layers, within 0\.01 nats \(.*\)\.")
def _layers_are_no_groups(world):
    within, between = within_and_between(world, 0)
    return abs(between - within) < 0.01


@says(r"Heads of a layer are not shown to be more alike than heads of different layers \(.*\)\.")
def _layers_are_not_shown_to_be_groups(world):
    row = world.study.table("layer_effect").iloc[0]
    return row["p"] >= 0.05 or row["ci_low"] <= 0


@says(r"Heads of a layer attend more alike than heads of different layers: .* \(mean JS divergence\)\.")
def _layers_are_groups(world):
    within, between = within_and_between(world, 1)
    return between - within > 0.005


@says(r"Permutation test over the layers of heads: p = ([\d.]+)\.")
def _a_permutation_test(world, p):
    apart, rng = world.distances(0), np.random.default_rng(0)

    def effect(order):
        same = (order[:, None] // HEADS == order[None] // HEADS) & ~np.eye(SIZE, dtype=bool)
        return apart[~same & ~np.eye(SIZE, dtype=bool)].mean() - apart[same].mean()

    own = effect(np.arange(SIZE))
    drawn = [effect(rng.permutation(SIZE)) >= own - 1e-12 for _ in range(2000)]
    return abs(np.mean(drawn) - float(p)) < 0.05


@says(r"The tree of heads shows no clusters: the best of its cuts has no cluster with a mean silhouette above 0\.25\.")
def _no_clusters(world):
    apart = np.sqrt(world.distances(0))
    clusters = world.study.table("head_map").sort_values(["layer", "head"])["cluster"].to_numpy()
    silhouettes = []
    for head in range(SIZE):
        means = {
            each: np.mean([apart[head, other] for other in range(SIZE) if clusters[other] == each and other != head])
            for each in set(clusters)
            if ((clusters == each) & (np.arange(SIZE) != head)).any()
        }
        own = means.pop(clusters[head], None)
        silhouettes.append(0.0 if own is None else (min(means.values()) - own) / max(own, *means.values()))
    return all(np.mean(np.array(silhouettes)[clusters == each]) <= 0.25 for each in set(clusters))


@says(r"The two heads nearest to each other are (\d)-(\d) and (\d)-(\d), ([\d.e-]+) nats apart \(.*\)\.")
def _the_nearest(world, *numbers):
    *heads, _ = numbers
    first, second = ((int(heads[at]) - 1) * HEADS + int(heads[at + 1]) - 1 for at in (0, 2))
    apart = world.distances(1) + np.eye(SIZE)
    return {first, second} == set(divmod(int(apart.argmin()), SIZE))


# The line on each head's card.


def card_is_true(world, layer, head, text):
    at = (layer - 1) * HEADS + head - 1
    if text.partition(":")[0] == "Broad":
        return world.shares(0)["entropy_ratio"].flat[at] > 0.75
    if text.startswith("Unexplained"):
        rows = (
            study.table("explanation").query(f"layer == {layer} and head == {head} and measure == 'non_sink'").iloc[0]
            for study in (world.study, world.again)
        )
        return all(row["explained"] < 0.4 for row in rows)
    if text.endswith(" predicted") or text.startswith("No simple rule"):
        # Heads that differ in the text that was read differ in other text, as features with names say there, too.
        first, second = (
            study.table("explanation").query(f"layer == {layer} and head == {head} and measure == 'weight'").iloc[0]
            for study in (world.study, world.again)
        )
        groups = [
            study.table("explanation_groups").query(f"layer == {layer} and head == {head} and measure == 'weight'")
            for study in (world.study, world.again)
        ]
        shares = [each.groupby("group")["share"].sum() for each in groups]
        named = shares[0][shares[0] >= 0.01].index
        lasting = sum(shares[1].reindex(named).fillna(0.0) > 0)
        is_far = first["to_explain"] >= 0.01 and second["to_explain"] >= 0.01
        return is_far and (text.startswith("No simple rule") or (second["explained"] > 0 and lasting > 0))
    return text == "No supported pattern"


@pytest.fixture(scope="module", params=WORLDS)
def world(request, tmp_path_factory):
    return RandomWorld(tmp_path_factory.mktemp("random"), *WORLDS[request.param])


@pytest.mark.long
def test_every_sentence_is_true_of_random_weights(world):
    wrong = []
    for each in findings(world.study):
        text = each.text
        known = [(check, match) for pattern, check in CHECKS if (match := re.fullmatch(pattern, text))]
        if not known:
            wrong.append(f"no reason why this is true of random weights: {text}")
        for check, match in known:
            if not check(world, *match.groups()):
                wrong.append(f"not so by {check.__name__}: {text}")
    for (_, layer, head), summary in head_summaries(world.study).items():
        if not card_is_true(world, layer, head, summary.text):
            wrong.append(f"not so on the card of {layer}-{head}: {summary.text}")
    assert not wrong, "\n".join(wrong)

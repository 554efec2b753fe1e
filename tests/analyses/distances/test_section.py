"""Distances in the page: the tables' numbers, figure 6 in both colorings, and sentences that the tests support."""

import re

import numpy as np
import pytest

from headscope.analyses.distances import facts, page_rows
from headscope.analyses.distances.facts import PARTS
from headscope.analyses.distances.page_rows import MAP, TREE
from headscope.present.numbers import nats, p_words, span
from headscope.reporting.story import more_terms
from support import mock_inputs
from support.measured import about, only, with_parts
from support.mock_distances import with_distances
from support.page_tables import Tables

pytestmark = pytest.mark.slow


def found(inputs):
    return PARTS.findings(about(inputs))


def texts(inputs):
    return [one.text for one in found(inputs)]


def section(inputs):
    return only(PARTS.sections(about(inputs, found=found(inputs))))


def changed(inputs, **values):
    """The same run with other numbers in its only row on the effect of layers."""
    return with_parts(inputs, layer_effect=inputs.tables.get("layer_effect").assign(**values))


@pytest.fixture(scope="module")
def inputs():
    return with_distances(mock_inputs.encoder(4, 6), finds={("encoder", 2, 3): ["obj", "nsubj"]})


@pytest.fixture(scope="module")
def two():
    return with_distances(mock_inputs.two_kinds())


@pytest.fixture(scope="module")
def small():
    return with_distances(mock_inputs.encoder(2, 3))


@pytest.fixture(scope="module")
def page(inputs):
    return section(inputs)


EFFECT = {"within": 0.25849, "between": 0.35031, "effect": 0.09182, "ci_low": 0.09084, "ci_high": 0.09277, "p": 0.0001}


APART = "On average two heads of a layer are 0.258 nats apart, two of different layers 0.350."


def test_layers_that_are_alike(inputs):
    assert texts(changed(inputs, **EFFECT))[:3] == [
        "Heads of a layer attend more alike than heads of different layers: 0.258 nats apart, against 0.350 (mean JS "
        "divergence).",
        "On average heads of different layers are 0.092 nats further apart (95% interval 0.091 to 0.093).",
        "Permutation test over the layers of heads: p = 0.0001.",
    ]
    nothing = {**EFFECT, "ci_low": np.nan, "ci_high": np.nan}
    assert texts(changed(inputs, **nothing))[1].endswith("0.092 nats further apart.")


@pytest.mark.parametrize(
    "values",
    [
        {**EFFECT, "p": 0.21},
        {**EFFECT, "ci_low": -0.01},
        {**EFFECT, "effect": -0.09182, "ci_low": -0.1, "ci_high": -0.08},
    ],
)
def test_nothing_is_claimed_that_is_not_shown(inputs, values):
    told = texts(changed(inputs, **values))
    assert told[0].startswith(
        "Heads of a layer are not shown to be more alike than heads of different layers (95% interval of the "
    )
    assert told[1:3] == [APART, f"Permutation test over the layers of heads: {p_words(values['p'])}."]


def test_no_pair_to_compare(inputs):
    alone = changed(inputs, effect=np.nan, reason="there is one layer, and no pair of heads of different layers")
    assert texts(alone)[0] == (
        "Whether heads of a layer are alike cannot be said: there is one layer, and no pair of heads of different "
        "layers."
    )


def with_clusters(inputs, stability, **values):
    """The same run with three clusters, of 12, 7 and 5 heads, of these stabilities."""
    clusters = (
        inputs.tables.get("head_clusters")
        .head(3)
        .assign(cluster=[1, 2, 3], size=[12, 7, 5], stability=stability, ci_low=0.4, ci_high=1.0)
    )
    if np.isnan(stability[0]):
        clusters[["ci_low", "ci_high"]] = np.nan
    return with_parts(changed(inputs, **values), head_clusters=clusters)


@pytest.mark.parametrize(
    ("stability", "told"),
    [
        ([0.9, 0.75, 1.0], "All 3 clusters of heads have a stability of 0.75 or more."),
        ([0.9, 0.749, 1.0], "2 of 3 clusters of heads have a stability of 0.75 or more; do not trust the others."),
        ([0.9, 0.7, 0.3], "1 of 3 clusters of heads has a stability of 0.75 or more; do not trust the others."),
        ([0.64, 0.7, 0.3], "Do not trust the 3 clusters of heads: none has a stability of 0.75 or more."),
    ],
)
def test_clusters_in_a_sentence(inputs, stability, told):
    one = with_clusters(
        inputs, stability, silhouette=0.51, adjusted_rand=0.789, adjusted_rand_low=0.611, adjusted_rand_high=1.0
    )
    said = texts(one)
    first = said.index(told)
    unstable = [str(number) for number, value in enumerate(stability, 1) if value < 0.75]
    named = [text for text in said if text.startswith("Unstable: ")]
    # Where none is to be trusted none is named.
    clusters = "cluster" if len(unstable) == 1 else "clusters"
    expected = [f"Unstable: {clusters} {' and '.join(unstable)}."] if 0 < len(unstable) < 3 else []
    assert named == expected
    assert said[first + 1 + len(named) : first + 3 + len(named)] == [
        "The tree of heads is cut where the mean silhouette is best, at 0.51.",
        "Clusters of heads agree on resampled documents: adjusted Rand index 0.79 (95% of resamples 0.61 to 1.00).",
    ]
    alone = with_parts(one, head_clusters=one.table("head_clusters").head(1))
    assert not any("tree" in text or "cluster" in text.lower() for text in texts(alone))


def test_clusters_of_few_documents_are_said_to_be_untested(inputs):
    few = with_clusters(inputs, [np.nan] * 3, adjusted_rand=np.nan, silhouette=0.51)
    assert (
        "Whether other documents would give the 3 clusters of heads again was not tested, which needs at least 10 "
        "documents."
    ) in texts(few)
    assert not any("Rand index" in text for text in texts(few))


@pytest.mark.parametrize(
    ("silhouette", "told"),
    [
        (0.1, "0.10, which shows no substantial structure"),
        (0.25, "0.25, which shows no substantial structure"),
        (0.5, "0.50, which shows a weak structure"),
    ],
)
def test_a_weak_structure_is_said_to_be_one(inputs, silhouette, told):
    weak = with_clusters(inputs, [0.9, 0.75, 1.0], adjusted_rand=np.nan, silhouette=silhouette)
    assert f"The tree of heads is cut where the mean silhouette is best, at {told}." in texts(weak)
    assert "up to 0.25 shows no substantial structure, up to 0.5 a weak one" in section(weak)


def test_a_single_head_is_no_stable_cluster(inputs):
    for stability in ([0.9, 0.8, np.nan], [1.0, 1.0, 1.0]):
        run = with_clusters(inputs, stability)
        run = with_parts(run, head_clusters=run.table("head_clusters").assign(size=[12, 7, 1]))
        assert any(text.startswith("2 of 3 clusters of heads have a stability of 0.75 or more") for text in texts(run))


def of_roles(inputs, stability):
    """Clusters 1 and 2 are mostly of one role, cluster 3 of none."""
    number = np.arange(24)
    heads = inputs.tables.get("head_map").assign(cluster=1 + number // 8, role="mixed")
    heads.loc[0:7, "role"] = "sep"
    heads.loc[8:13, "role"] = "previous"
    return with_parts(with_clusters(inputs, stability), head_map=heads)


def test_clusters_of_one_role(inputs):
    trusted = of_roles(inputs, [0.8, 0.75, 0.2])
    first = "Cluster 1 is mostly of one role: [SEP], in 8 of 8 heads."
    second = "Cluster 2 is mostly of one role: previous token, in 6 of 8 heads."
    assert [text for text in texts(trusted) if "mostly of one role" in text] == [first, second]
    heads = trusted.table("head_map").copy()
    heads.loc[8, "role"] = "mixed"
    fewer = texts(with_parts(trusted, head_map=heads))
    assert [text for text in fewer if "mostly of one role" in text] == [first]
    none = trusted.table("head_map").assign(role="mixed")
    assert not any("mostly of one role" in text for text in texts(with_parts(trusted, head_map=none)))
    unknown = trusted.table("head_map").assign(role=None)
    assert not any("mostly of one role" in text for text in texts(with_parts(trusted, head_map=unknown)))


def test_no_cluster_is_named_that_is_not_to_be_trusted(inputs):
    said = texts(of_roles(inputs, [0.64, 0.8, 0.9]))
    assert [text for text in said if "mostly of one role" in text] == [
        "Cluster 2 is mostly of one role: previous token, in 6 of 8 heads.",
        "1 more cluster is mostly of one role, and not named: its stability lies below 0.75.",
    ]
    below = texts(of_roles(inputs, [0.64, 0.7, 0.9]))
    assert "2 clusters are mostly of one role, and not named: their stability lies below 0.75." in below
    untested = texts(of_roles(inputs, [np.nan] * 3))
    assert (
        "2 clusters are mostly of one role, and not named: their stability was not tested, which needs at least 10 "
        "documents."
    ) in untested
    for told in (below, untested):
        assert not any(re.search(r"[Cc]luster \d", text) for text in told)


def test_at_most_three_clusters_of_one_role_are_named(inputs):
    number = np.arange(24)
    run = of_roles(inputs, [0.8, 0.8, 0.8])
    roles = np.array(["sep", "cls", "period_comma", "broad", "previous", "next"])
    heads = run.table("head_map").assign(cluster=1 + number // 4, role=roles[number // 4])
    clusters = run.tables.get("head_clusters")
    every = clusters.loc[clusters.index[[0, 0, 0, 0, 0, 0]]].assign(cluster=range(1, 7), size=4)
    said = texts(with_parts(run, head_map=heads, head_clusters=every))
    assert [text[:9] for text in said if text.startswith("Cluster ")] == ["Cluster 1", "Cluster 2", "Cluster 3"]
    assert "3 more clusters are mostly of one role." in said


def test_the_role_of_all_heads_is_that_of_no_cluster(inputs):
    """Eleven heads in one cluster and a twelfth alone, all of them broad, as random weights have it."""
    run = of_roles(inputs, [0.8, 0.8, 0.8])
    heads = run.table("head_map").assign(role="broad")
    assert not [text for text in texts(with_parts(run, head_map=heads)) if "mostly of one role" in text]


def test_heads_that_are_alike_have_no_layers_clusters_or_nearest_pair(inputs):
    said = texts(changed(inputs, **{**EFFECT, "within": 7e-5, "between": 8e-5, "effect": 1e-5, "ci_low": 9e-6}))
    assert said == [
        "Heads of a layer attend alike, as do heads of different layers.",
        "On average two heads of a layer are 7e-05 nats apart, two of different layers 8e-05.",
    ]


def test_a_tree_in_which_no_cluster_lies_apart_has_no_clusters(inputs):
    """Clusters of equal heads are the same on all documents, and say nothing: one head, and all others."""
    run = of_roles(inputs, [0.9, 0.9, 0.9])
    clusters = run.table("head_clusters").assign(silhouette=0.1)
    said = texts(with_parts(run, head_clusters=clusters))
    assert (
        "The tree of heads shows no clusters: the best of its cuts has no cluster with a mean silhouette above 0.25."
    ) in said
    assert not [text for text in said if re.search("stability|of one role|resampled|is cut where", text)]


def test_two_heads_are_the_nearest_where_no_other_two_could_be(inputs):
    pairs = inputs.table("head_distances").sort_values("divergence").reset_index(drop=True)
    first = pairs["divergence"].iloc[0]
    for width, named in ((0.01, True), (2.0, False)):
        ends = {"ci_low": pairs["divergence"] * (1 - width), "ci_high": pairs["divergence"] * (1 + width)}
        table = pairs.assign(**ends)
        table.loc[0, ["divergence", "ci_low", "ci_high"]] = (
            first / 2,
            first / 2 * (1 - width),
            first / 2 * (1 + width),
        )
        said = texts(with_parts(inputs, head_distances=table))
        assert any("nearest to each other" in text for text in said) is named


def test_what_is_not_to_be_trusted_is_dimmed_and_the_caption_says_so(inputs):
    markup = section(with_clusters(inputs, [0.9, 0.7, 0.3]))
    (table,) = re.findall(r'<table id="table-clusters-encoder".*?</table>', markup, re.DOTALL)
    rows = re.findall(r"<tr[^>]*>", table.partition("<tbody>")[2])
    assert [("weak" in row) for row in rows] == [False, True, True]
    assert "do not trust a cluster below 0.75: it is dimmed here, and no sentence names it." in markup
    assert "A test needs at least 10 documents." in markup


def test_a_stability_that_was_not_tested_is_said_to_be_so_in_the_table(inputs):
    markup = section(with_clusters(inputs, [np.nan] * 3))
    (table,) = re.findall(r'<table id="table-clusters-encoder".*?</table>', markup, re.DOTALL)
    assert table.count("<td>not tested</td>") == 3
    assert "weak" not in table


def test_the_groups_of_documents_are_said(inputs, page):
    assert (
        "Intervals and stability resample documents: one by one up to 32, more in 32 groups by a hash of their id "
        "(elsewhere 256); for more than 512 heads in fewer groups, 8 from 1,024 heads on."
    ) in page
    ((_, said),) = [term for term in more_terms(about(inputs)) if term[0] == "Distance between heads"]
    assert "in at most 32 groups" in said


def test_the_nearest_heads(inputs):
    pairs = inputs.tables.get("head_distances").copy()
    pairs.loc[40, ["divergence", "ci_low", "ci_high"]] = [0.00123, 0.00118, 0.00131]
    row = pairs.loc[40]
    assert texts(with_parts(inputs, head_distances=pairs))[-1] == (
        f"The two heads nearest to each other are {row['layer_a']}-{row['head_a']} and {row['layer_b']}-"
        f"{row['head_b']}, 0.0012 nats apart (95% interval 0.0012 to 0.0013)."
    )


def test_numbers_in_words():
    assert [nats(value) for value in (0.34449, 0.01, 0.00031, 0.0, -0.0921)] == [
        *("0.344", "0.010", "0.00031", "0.000", "-0.092")
    ]
    assert span(0.1231, 0.1234) == "0.1231 to 0.1234"
    assert span(np.nan, 0.2) == ""
    assert [p_words(p) for p in (0.0001, 0.0099, 0.042, 1.0)] == [*("p = 0.0001", "p = 0.0099", "p = 0.04", "p = 1.00")]


def test_each_kind_has_sentences_of_its_own(two):
    told = found(two)
    assert {one.kind for one in told} == {"encoder", "decoder"}
    assert {one.topic for one in told} == {"distances"}
    assert [one.text.split(" of ")[0] for one in told if "of a layer" in one.text and not one.goes_on] == [
        "Encoder heads",
        "Decoder heads",
    ]


def test_without_distances_there_is_nothing():
    inputs = mock_inputs.encoder(2, 3)
    assert found(inputs) == []
    assert section(inputs) is None


def test_clusters_are_the_frames(inputs, page):
    rows = Tables(page).found["table-clusters-encoder"][1:]
    assert len(rows) == len(inputs.tables.get("head_clusters"))
    for line, row in zip(rows, inputs.tables.get("head_clusters").to_dict("records")):
        own = inputs.tables.get("head_map")[inputs.tables.get("head_map")["cluster"] == row["cluster"]]
        assert line[:3] == [str(row["cluster"]), str(len(own)), f"{row['medoid_layer']}-{row['medoid_head']}"]
        assert line[3] == (nats(row["divergence"]) if len(own) > 1 else "–")
        ends = f"{row['stability']:.2f}{row['ci_low']:.2f}–{row['ci_high']:.2f}"
        silhouette = f"{row['silhouette']:.2f}"
        assert line[4:6] == ([ends, silhouette] if len(own) > 1 else ["–", "–"])
        counted = [int(number) for number in re.findall(r"\((\d+)\)", line[6])]
        assert counted == own["role"].value_counts().tolist()


def test_the_nearest_pairs_are_the_frames(inputs, page):
    rows = Tables(page).found["table-nearest-encoder"][1:]
    nearest = inputs.tables.get("head_distances").nsmallest(10, "divergence").to_dict("records")
    assert len(rows) == 10
    for line, row in zip(rows, nearest):
        assert line[0] == f"{row['layer_a']}-{row['head_a']} and {row['layer_b']}-{row['head_b']}"
        assert line[1] == nats(row["divergence"])
        assert line[3] == f"{row['n_rows']:,}"


def test_every_head_is_in_the_folded_table(inputs, page):
    rows = {row[0]: row for row in Tables(page).found["table-map-encoder"][1:]}
    assert len(rows) == 24
    assert rows["2-3"][2] == "obj, nsubj"
    pairs = inputs.tables.get("head_distances")
    for row in inputs.tables.get("head_map").to_dict("records"):
        line = rows[f"{row['layer']}-{row['head']}"]
        assert line[3] == str(row["cluster"])
        assert line[6:] == [f"{row[name]:.3f}".replace("-", "−") for name in ("x", "y")]
        best = min(
            (pair["divergence"], f"{pair[f'layer_{other}']}-{pair[f'head_{other}']}")
            for pair in pairs.to_dict("records")
            for side, other in (("a", "b"), ("b", "a"))
            if (pair[f"layer_{side}"], pair[f"head_{side}"]) == (row["layer"], row["head"])
        )
        assert line[4:6] == [best[1], nats(best[0])]


def test_both_colorings_stand_open_and_every_mark_opens_its_card(inputs, page):
    for coloring in ("role", "layer"):
        drawn = page.split(f'aria-label="Map of the encoder heads by {coloring};')[1].split("</svg>")[0]
        assert sorted(re.findall(r'data-head="(\d+-\d+)"', drawn)) == sorted(
            f"{layer}-{head}" for layer in range(1, 5) for head in range(1, 7)
        )
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_stress_is_said(small):
    assert "in nats, with a stress of 0.19 (0 is exact, 0.2 poor)" in section(changed(small, stress=0.1934))
    assert "in nats; directions have no meaning" in section(changed(small, stress=np.nan))


def test_figures_have_a_file_for_each_kind(two):
    stems = ["figure-6", "figure-6-decoder", "head-tree", "head-tree-decoder"]
    assert [*MAP.drawings(about(two)), *TREE.drawings(about(two))] == stems
    bare = about(mock_inputs.encoder(1, 1))
    assert MAP.drawings(bare) == TREE.drawings(bare) == {}


def test_a_tree_too_large_for_the_page_names_the_command_that_draws_it(small, monkeypatch):
    said = "The tree of 6 heads is too large for this page: headscope export FOLDER --figures one draws it."
    assert said not in section(small)
    assert "Figure: the tree of heads" in section(small)
    for module in (page_rows, facts):
        monkeypatch.setattr(module, "MOST_IN_TREE", 5)
    monkeypatch.setitem(facts.PAGE.template.constants, "MOST_IN_TREE", 5)
    written = section(with_parts(small))
    assert said in written
    assert "Figure: the tree of heads" not in written
    assert "head-tree" in TREE.drawings(about(small))


def test_several_kinds_are_told_apart(two):
    written = section(two)
    assert re.findall(r"<h3>([^<]*)</h3>", written) == ["Encoder", "Decoder"]
    assert 'href="#decoder-' in written
    ids = re.findall(r'\bid="([^"]+)"', written)
    assert len(ids) == len(set(ids))


def test_few_documents_draw_no_interval():
    inputs = with_distances(mock_inputs.encoder(2, 3), groups=6)
    tables = Tables(section(inputs)).found
    rows = tables["table-clusters-encoder"][1:]
    assert [row[4] for row in rows] == ["not tested" if int(row[1]) > 1 else "–" for row in rows]
    assert all(row[2] == "–" for row in tables["table-nearest-encoder"][1:])


def test_one_head():
    inputs = with_distances(mock_inputs.encoder(1, 1))
    tables = Tables(section(inputs)).found
    assert tables["table-map-encoder"][0] == ["head", "role", "cluster", "x", "y"]  # no other head can be near
    assert "table-nearest-encoder" not in tables


def test_hostile_names_are_text():
    hostile = mock_inputs.hostile()
    attack = "</script><script>alert(6)</script>"
    inputs = with_distances(hostile, finds={("encoder", 1, 1): [attack]})
    written = section(with_parts(inputs, head_map=inputs.tables.get("head_map").assign(role=[attack] * 6)))
    assert "<script" not in written

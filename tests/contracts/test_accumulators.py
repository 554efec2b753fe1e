"""Contract of accumulators: splitting, order, batching, tiling and padding of a corpus do not change results."""

import functools
import re
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.behaviors.catalog import NAMES, Delimiter
from headscope.analyses.behaviors.compute import best_table, heads_table
from headscope.analyses.behaviors.sums import BehaviorAccumulator, NormBehaviorAccumulator
from headscope.analyses.coref.gap import GapAccumulator, GapQuestion
from headscope.analyses.coref.sums import CoreferenceAccumulator
from headscope.analyses.distances.sums import DivergenceAccumulator
from headscope.analyses.distribution.examples import ExampleAccumulator
from headscope.analyses.distribution.sums import DistributionAccumulator
from headscope.analyses.effects.compute import effects_table
from headscope.analyses.effects.joint_sums import JointAccumulator
from headscope.analyses.effects.kept_compute import KeptAccumulator
from headscope.analyses.effects.sums import EffectsAccumulator
from headscope.analyses.experiments.sums import CopyAccumulator, RetrievalAccumulator
from headscope.analyses.explanation.sums import RowSampleAccumulator
from headscope.analyses.importance.compute import ImportanceAccumulator, importance_differences, importance_table
from headscope.analyses.norms.compute import NormAccumulator, norm_table
from headscope.analyses.pca.compute import map_table, pca_table
from headscope.analyses.pca.sums import PcaAccumulator
from headscope.analyses.stats.compute import stats_table
from headscope.analyses.stats.sums import NormStatsAccumulator, StatsAccumulator
from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.gold_arcs import ArcTable, DependencyOptions
from headscope.analyses.why.sums import PatchAccumulator, PullAccumulator
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.corpora.trees.tree import TAGS
from headscope.encoding.segment import Segment
from headscope.scans.examples.top_examples import TopExampleAccumulator
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.groups import GROUPS
from headscope.statistics.sums.kept import counted, largest, summed, total
from support.coreference import hits_frame, marks_frame, with_mentions
from support.docs import accumulator_of_the_docs
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments, padded_left, shared_anatomy, vocabulary
from support.tiny_models import CONFIGS, shared_tiny_model
from support.trees import with_tree

ARCS = ArcTable(("nsubj", "poss", "obj", "root", "punct", "other"))


def arcs_frame(results) -> pd.DataFrame:
    """Return every count of the trees, over all documents, as one table."""
    rows = []
    for sums in results:
        summed = {name: getattr(sums, name).sum(0) for name in ("hits", "noop", "attending", "counts", "offsets")}
        for name, array in (*summed.items(), ("reachable", sums.reachable), ("other", sums.other)):
            rows += [(sums.kind, name, str(place), float(value)) for place, value in np.ndenumerate(array)]
    return pd.DataFrame(rows, columns=["kind", "name", "place", "value"])


def divergence_frame(results) -> pd.DataFrame:
    """Return every distance between heads, and the number of rows of each group of documents."""
    rows = []
    for result in results:
        by_group = result.group_sums / result.group_rows[:, None, None]
        named = {
            "divergence": result.divergence,
            "error": result.sampling_error,
            "groups": by_group,
            "counts": np.array([result.n, result.rows_read, result.segments, *result.group_rows]),
        }
        for name, array in named.items():
            rows += [(result.kind, name, str(at), float(value)) for at, value in np.ndenumerate(array)]
    return pd.DataFrame(rows, columns=["kind", "name", "place", "value"])


def top_examples_frame(results) -> pd.DataFrame:
    """Return every kept segment of every head, in order."""
    rows = [
        (kind, str(place), rank, document, segment, score)
        for kind, kept in results.items()
        for place, entries in kept.items()
        for rank, (score, document, segment) in enumerate(entries)
    ]
    return pd.DataFrame(rows, columns=["kind", "place", "rank", "document", "segment", "score"])


def counts_frame(results) -> pd.DataFrame:
    """Return every count of rows by group of documents."""
    rows = [
        (result.kind, str(at), int(count))
        for result in results
        for at, count in np.ndenumerate(result.counts.sum((0, 2)))
    ] + [(result.kind, "documents", result.documents) for result in results]
    return pd.DataFrame(rows, columns=["kind", "place", "count"]).astype({"count": "float64"})


def examples_frame(results) -> pd.DataFrame:
    """Return every example row with all its stored fields, in order."""
    rows = [
        (
            result.kind,
            str((layer, head, strength, place, *result.segments[int(row["segment"])])),
            str([row[name].tolist() for name in ("hash", "row", "key", "key_id", "ids")]),
            float(row["value"]),
            float(row["weight"]),
        )
        for result in results
        for row, layer, head, strength, place in zip(
            result.rows, result.layer, result.head, result.strength, result.bins, strict=True
        )
    ]
    return pd.DataFrame(rows, columns=["kind", "place", "row", "value", "weight"])


def pca_frame(results) -> pd.DataFrame:
    """Return every direction's share, and every drawn token with its position on the map."""
    drawn = [
        (result.kind, axis, str((*segment, *token["ids"].tolist(), int(token["position"]))))
        for result in results
        for axis, own in result.samples.items()
        for token, segment in zip(own.tokens, own.segments, strict=True)
    ]
    return pd.concat(
        [pca_table(results), map_table(results), pd.DataFrame(drawn, columns=["kind", "axis", "token"])],
        ignore_index=True,
    )


def importance_frame(results) -> pd.DataFrame:
    """Return the importance of every class of keys, and its difference from other tokens."""
    return pd.concat([importance_table(results), importance_differences(results)], ignore_index=True)


def kept_frame(effects) -> pd.DataFrame:
    """What is added with each replacement, and what is kept, of heads, layers and the model."""
    rows = [
        (f"{effect.kind} {effect.kept.value.ndim} {name} {end}", str(at), value)
        for effect in effects
        for name in ("added", "kept", "over_positions")
        for end in ("value", "low", "high")
        for at, value in np.ndenumerate(getattr(getattr(effect, name), end))
    ]
    return pd.DataFrame(rows, columns=["of", "place", "value"])


def joint_frame(losses) -> pd.DataFrame:
    """Return the loss that every set of heads adds, by document, and the numbers of inputs."""
    added, inputs = losses
    rows = [(f"set {at}", float(value)) for at, value in np.ndenumerate(added)]
    rows += [(f"inputs {at}", float(value)) for at, value in np.ndenumerate(inputs)]
    return pd.DataFrame(rows, columns=["of", "value"])


def sums_frame(results) -> pd.DataFrame:
    """Return every sum over documents of each kind, by name."""
    rows = [
        (kind, each.name, str(at), float(value))
        for kind, sums in results.items()
        for each in fields(sums)
        for at, value in np.ndenumerate(getattr(sums, each.name).sum(0))
    ]
    return pd.DataFrame(rows, columns=["kind", "name", "place", "value"])


def effects_frame(results) -> pd.DataFrame:
    """Return every effect with its interval, and the spread over documents."""
    rows = [(result.kind, str(at), value) for result in results for at, value in np.ndenumerate(result.spread)]
    spread = pd.DataFrame(rows, columns=["kind", "place", "spread"])
    return pd.concat([effects_table(results, "mean"), spread], ignore_index=True)


def row_sample_frame(samples) -> pd.DataFrame:
    """Return every head's attention in every sampled row, by key, and the tokens of both axes."""
    rows: list[tuple[str, str, str, float]] = []
    for kind, of_kind in samples.items():
        for sample in of_kind:
            sides = (sample.segment.queries, sample.segment.keys)
            about = str((sample.document, sample.index, sample.rows.tolist()))
            tokens = str([(s.ids.tolist(), s.classes.tolist(), s.word_ids.tolist()) for s in sides])
            rows.append((kind, about, tokens, float(len(sample.rows))))
            rows += [(kind, about, str(at), float(value)) for at, value in np.ndenumerate(sample.attention)]
    return pd.DataFrame(rows, columns=["kind", "input", "place", "value"])


DELIMITERS = np.zeros(90, dtype=np.uint8)  # longer than the tokenizer's ids, as in real models
DELIMITERS[10:16] = list(Delimiter)


def behaviors_frame(results) -> pd.DataFrame:
    """Return every behavior of every head, and the best head of each behavior."""
    heads, best = heads_table(results, NAMES), best_table(results, NAMES, seed=0)
    return pd.concat([heads, best[["kind", "behavior", "value", "uniform", "held_out", "n_rows"]]])


class Largest(Accumulator):
    """The largest weight of each head and the number of rows, both over the whole corpus."""

    needs = frozenset({"weights"})

    def declare(self):
        return {"largest": largest("layer", "head"), "rows": total("kind", dtype=np.int64)}

    def update(self, tile):
        rows = tile.weights.amax(-1).masked_fill(~tile.row_valid[:, None], 0.0)
        self.add(tile, largest=rows.amax(-1))
        if tile.layer == 0:
            self.add(tile, rows=tile.row_valid.sum(1))

    def compute(self):
        return self.totals


def totals_frame(totals) -> pd.DataFrame:
    """Return every total over the whole corpus."""
    rows = [(name, str(at), float(value)) for name, array in totals.items() for at, value in np.ndenumerate(array)]
    return pd.DataFrame(rows, columns=["name", "place", "value"])


def values_frame(intervals) -> pd.DataFrame:
    """Return values by kind; intervals of shares have their own tests."""
    rows = [(kind, str(at), v) for kind, each in intervals.items() for at, v in np.ndenumerate(each.value)]
    return pd.DataFrame(rows, columns=["kind", "place", "value"])


# Every accumulator of the package, the one of the docs, and one with totals only: name -> (factory over a layout,
# function that returns the result as one table of numbers).
FAMILY = {
    "stats": (StatsAccumulator, stats_table),
    "stats_norms": (NormStatsAccumulator, stats_table),
    "norms": (NormAccumulator, norm_table),
    "arcs": (lambda layout: DependencyAccumulator(layout, ARCS, DependencyOptions(both=True)), arcs_frame),
    "behaviors": (lambda layout: BehaviorAccumulator(layout, DELIMITERS), behaviors_frame),
    "behaviors_norms": (lambda layout: NormBehaviorAccumulator(layout, DELIMITERS), behaviors_frame),
    "behaviors_copy": (lambda layout: CopyAccumulator(layout, DELIMITERS), behaviors_frame),
    "behaviors_needle": (lambda layout: RetrievalAccumulator(layout, DELIMITERS), behaviors_frame),
    "top_examples": (TopExampleAccumulator, top_examples_frame),
    "coreference": (CoreferenceAccumulator, hits_frame),
    "gap": (GapAccumulator, marks_frame),
    "importance": (ImportanceAccumulator, importance_frame),
    "effects": (EffectsAccumulator, effects_frame),
    "effect_kept": (KeptAccumulator, kept_frame),
    "joint_effects": (lambda layout: JointAccumulator(layout, number=2), joint_frame),
    "distribution": (lambda layout: DistributionAccumulator(layout, groups=GROUPS), counts_frame),
    "pca": (lambda layout: PcaAccumulator(layout, most=9), pca_frame),
    "row_examples": (ExampleAccumulator, examples_frame),
    # These bounds are so small that most rows are discarded.
    "row_sample": (lambda layout: RowSampleAccumulator(layout, most=9), row_sample_frame),
    "row_sample_bytes": (lambda layout: RowSampleAccumulator(layout, bound=3000), row_sample_frame),
    "divergence": (lambda layout: DivergenceAccumulator(layout, groups=GROUPS), divergence_frame),
    # The limit is so small that rows are sampled from most segments.
    "divergence_sampled": (lambda layout: DivergenceAccumulator(layout, groups=GROUPS, limit=1000), divergence_frame),
    "pulls": (PullAccumulator, sums_frame),
    "patches": (lambda layout: PatchAccumulator(layout, most=2), sums_frame),
    # The docs' accumulator takes no layout; the scan sets it.
    "docs": (lambda layout: accumulator_of_the_docs()(), values_frame),
    "largest": (lambda layout: Largest(), totals_frame),
}


def dressed(number: int, *, seed: int, **how: int) -> list[Segment]:
    """Return made-up segments with everything that accumulators need: trees, tags, mentions, names and a pronoun."""
    rng = np.random.default_rng(seed)
    made = []
    for plain in made_up_segments(number, seed=seed, **how):
        segment = with_tree(with_mentions(plain, rng), rng)
        if len(segment) > 7:  # two identical stretches, as in experiments
            half = (len(segment) - 2) // 2
            ids = segment.ids.copy()
            ids[1 + half : 1 + 2 * half] = ids[1 : 1 + half]
            places = {"needle": (1, 1 + half), "copy": (1 + half, 1 + 2 * half)}
            segment = replace(segment, ids=ids, fields={**segment.fields, **places})
        tags = np.random.default_rng(number).choice(TAGS, size=int(segment.word_ids.max(initial=-1)) + 1)
        segment = replace(segment, fields={**segment.fields, "tags": tags.tolist()})
        known = np.unique(segment.word_ids[segment.word_ids >= 0])
        if len(known) > 2:
            pronoun, a, b = rng.permutation(known)[:3].tolist()
            truth = [(True, False), (False, True), (False, False)][int(rng.integers(3))]
            question = GapQuestion(pronoun=pronoun, a=(a, a + 1), b=(b, b + 1), truth=truth, gender="feminine")
            segment = replace(segment, fields={**segment.fields, "gap": question})
        made.append(segment)
    return made


SEGMENTS = dressed(14, seed=7, longest=11, documents=12)


def answer(name: str, accumulator: Accumulator) -> pd.DataFrame:
    return FAMILY[name][1](accumulator.compute())


def assert_same(left: pd.DataFrame, right: pd.DataFrame, *, atol: float) -> None:
    assert list(left.columns) == list(right.columns)
    for column in left.columns:
        if left[column].dtype == float:
            np.testing.assert_allclose(left[column], right[column], atol=atol, rtol=0, equal_nan=True)
        else:
            assert left[column].equals(right[column])


@pytest.fixture(scope="module", params=sorted(FAMILY))
def reference(request):
    name = request.param
    source = HandMadeSource(SEGMENTS, random_map)
    accumulator = FAMILY[name][0](source.layout)
    scan(source, [accumulator])
    return name, accumulator


def all_of(layout) -> dict[str, Accumulator]:
    return {name: make(layout) for name, (make, _) in FAMILY.items()}


@pytest.fixture(scope="module")
def references():
    source = HandMadeSource(SEGMENTS, random_map)
    accumulators = all_of(source.layout)
    scan(source, list(accumulators.values()))
    return {name: answer(name, accumulator) for name, accumulator in accumulators.items()}


@pytest.mark.slow
@settings(max_examples=12)
@given(
    order=st.permutations(range(len(SEGMENTS))),
    batch_size=st.integers(1, 16),
    height=st.one_of(st.none(), st.integers(1, 11)),
    side=st.sampled_from(["left", "right"]),
    cut=st.integers(0, len(SEGMENTS)),
    backwards=st.booleans(),
)
def test_any_split_order_batch_tile_and_padding_gives_the_same(
    references, order, batch_size, height, side, cut, backwards
):
    shuffled = [SEGMENTS[i] for i in order]
    parts = []
    for share in (shuffled[:cut], shuffled[cut:]):
        own = all_of(HandMadeSource(SEGMENTS, random_map).layout)
        if share:
            source = HandMadeSource(share, random_map, batch_size=batch_size, height=height, side=side)
            scan(source, list(own.values()))  # in one scan, since some accumulators need rows and others whole layers
        parts.append(own)
    for name, whole in references.items():
        first, second = (part[name] for part in (parts[::-1] if backwards else parts))
        first.merge(second)
        assert_same(answer(name, first), whole, atol=1e-12)


def test_inputs_are_not_changed(reference):
    name, _ = reference
    source = HandMadeSource(SEGMENTS, random_map)
    scan(source, [FAMILY[name][0](source.layout)])
    again = HandMadeSource(SEGMENTS, random_map)
    scan(again, [])
    for left, right in zip(source.fed, again.fed):
        np.testing.assert_array_equal(left.numpy(), right.numpy())


def test_the_state_rebuilds_the_answer_and_goes_on(reference):
    name, whole = reference
    kind = type(whole)
    rebuilt = kind.from_state(whole.state())
    assert_same(answer(name, rebuilt), answer(name, whole), atol=0)
    half = HandMadeSource(SEGMENTS[:6], random_map)
    rest = HandMadeSource(SEGMENTS[6:], random_map)
    accumulator = FAMILY[name][0](half.layout)
    scan(half, [accumulator])
    resumed = kind.from_state(accumulator.state())
    scan(rest, [resumed])
    assert_same(answer(name, resumed), answer(name, whole), atol=1e-12)


def test_another_version_is_refused(reference):
    _, whole = reference
    kind = type(whole)
    state = whole.state()
    state[f"{kind.__name__}.version"] = np.array(99)
    with pytest.raises(
        ValueError,
        match=rf"^expected the state of {kind.__name__}, version {kind.version}, found version 99; compute it again$",
    ):
        kind.from_state(state)
    with pytest.raises(ValueError, match=r"found none; compute it again$"):
        kind.from_state({})


def test_another_shape_is_not_merged(reference):
    name, whole = reference
    source = HandMadeSource(SEGMENTS, lambda s: random_map(s, layers=3))
    other = FAMILY[name][0](source.layout)
    if not other.is_open:
        scan(source, [other])
    with pytest.raises(ValueError, match="merge scans of one model only"):
        type(whole).from_state(whole.state()).merge(other)


def test_another_class_is_not_merged(reference):
    _, whole = reference
    other = StatsAccumulator(whole.layout) if isinstance(whole, Largest) else Largest(whole.layout)
    with pytest.raises(ValueError, match=rf"^expected another {type(whole).__name__} to merge, came \w+$"):
        whole.merge(other)


def test_what_saw_nothing_changes_nothing(reference):
    """Merging into an accumulator that no scan has initialized returns the other sum."""
    name, whole = reference
    made = FAMILY[name][0](whole.layout)
    made.merge(whole)
    assert_same(answer(name, made), answer(name, whole), atol=0)
    made.merge(FAMILY[name][0](whole.layout))
    made.merge(type(whole).from_state(FAMILY[name][0](whole.layout).state()))
    assert_same(answer(name, made), answer(name, whole), atol=0)


def test_other_arrays_than_the_declared_are_refused(reference):
    """States whose arrays differ from the declaration are refused, as after a change without a new version."""
    _, whole = reference
    kind, state = type(whole), whole.state()
    arrays = list(whole.totals) + [f"sums.{name}" for name in whole.sums.shapes]
    for name in arrays:
        found = list(state[name].shape[1:] if name.startswith("sums.") else state[name].shape)
        wider = {**state, name: np.zeros((*state[name].shape, 2))}
        words = (
            f"expected the state of {kind.__name__} to hold {name} of shape {found}, found {[*found, 2]}; "
            "compute it again"
        )
        with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
            kind.from_state(wider)
        with pytest.raises(ValueError, match=r"found none; compute it again$"):
            kind.from_state({own: array for own, array in state.items() if own != name})


class Declares(Accumulator):
    """Add given values to the declared arrays."""

    def __init__(self, declared, values):
        self.declared, self.values = declared, values

    def declare(self):
        return self.declared

    def update(self, tile):
        self.add(tile, **self.values)

    def compute(self):
        return self.sums.stacked() | self.totals


def test_what_is_added_goes_to_its_document_kind_and_layer():
    source = HandMadeSource(SEGMENTS, random_map, batch_size=14)  # 2 layers, 3 heads; one tile a layer
    declared = {"a": summed("layer", "head"), "b": counted("kind", 2), "c": total(), "d": largest("head", "layer")}
    heads = np.arange(3.0)
    one = Declares(declared, {"a": heads, "b": [1, 2], "c": 0.5, "d": heads[:, None] - np.ones(2)})
    scan(source, [one])
    found = one.compute()
    documents = sorted({segment.document for segment in SEGMENTS})
    number = np.array([sum(segment.document == each for segment in SEGMENTS) for each in documents])
    np.testing.assert_array_equal(found["a.encoder"], number[:, None, None] * np.tile(heads, (2, 1)))
    np.testing.assert_array_equal(found["b.encoder"], 2 * number[:, None] * [1, 2])
    assert found["b.encoder"].dtype == np.int32
    assert found["c"] == 14.0
    np.testing.assert_array_equal(found["d.encoder"], [[-1, -1], [0, 0], [1, 1]])


@pytest.mark.parametrize(
    ("declared", "values", "words"),
    [
        ({"a": summed("layer")}, {"b": 1.0}, "Declares keeps no array 'b'; it declares a"),
        (
            {"a": summed("layer", "head")},
            {"a": np.zeros((14, 2))},
            "expected a as [14, 3], of 14 segments, came [14, 2]",
        ),
        ({"a": counted("layer")}, {"a": 0.5}, "a counts, and came with numbers that are not whole; declare it summed"),
        ({"a": summed("place")}, {}, "a has an axis 'place'; expected a size, or one of layer, head, head+1, kind"),
    ],
)
def test_what_does_not_fit_the_declaration_is_refused(declared, values, words):
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        scan(HandMadeSource(SEGMENTS, random_map, batch_size=14), [Declares(declared, values)])


@pytest.mark.slow
def test_more_documents_than_groups_are_folded_whatever_the_order():
    segments = dressed(GROUPS + 60, seed=8, longest=5)

    def of(chosen):
        source = HandMadeSource(chosen, random_map, batch_size=32)
        accumulators = all_of(source.layout)
        scan(source, list(accumulators.values()))
        return accumulators

    there, back, half, rest = map(of, (segments, segments[::-1], segments[:200], segments[200:]))
    for name in FAMILY:
        if not there[name].sums.shapes:  # an accumulator without sums by document, of constant size
            half[name].merge(rest[name])
            for other in (back, half):  # the sums are rounded in another order
                assert_same(answer(name, there[name]), answer(name, other[name]), atol=1e-12)
            continue
        # Documents without cases are not counted, and few have mentions.
        assert there[name].sums.folded or name in ("coreference", "gap")
        assert len(there[name].sums) <= GROUPS
        assert not half[name].sums.folded
        half[name].merge(rest[name])
        for other in (back, half):
            assert_same(answer(name, there[name]), answer(name, other[name]), atol=1e-12)


@functools.cache
def by_model(family: str, side: str, size: int) -> dict[str, pd.DataFrame]:
    """Return all results on pairs and singles of mixed length, computed through a family's own model."""
    model, vocab = shared_tiny_model(family), vocabulary()
    anatomy = shared_anatomy(family)
    segments = dressed(7, seed=9, longest=15)
    groups = [segments[i : i + size] for i in range(0, len(segments), size)]
    # Gradients, effects, pulls and patches have other sources, with their own tests of this.
    every = all_of(anatomy.layout).items()
    accumulators = {name: one for name, one in every if not one.needs & {"gradient", "effects", "pulls", "patches"}}
    source = ModelSource(model, anatomy, vocab, groups, padding_side=side)
    scan(source, list(accumulators.values()))
    return {name: answer(name, accumulator) for name, accumulator in accumulators.items()}


# Sums of attention over documents lose a digit more than means do; drawn vectors are stored in float16, to 1 in
# 2,048.
LOOSER = {"arcs": 1e-4, "pca": 5e-3}


@pytest.mark.parametrize("family", sorted(CONFIGS))
@pytest.mark.parametrize(("side", "size"), [("right", 3), ("left", 16)])
def test_end_to_end_padding_and_batch_size_do_not_matter(family, side, size):
    """Compare with each input alone, in float32, where another batch shape changes the last digits."""
    if side == "left" and not padded_left(family):
        pytest.skip(f"{family} is wrong when padded on the left: that is refused, which is tested with the families")
    for name, found in by_model(family, side, size).items():
        assert_same(found, by_model(family, "right", 1)[name], atol=LOOSER.get(name, 1e-5))

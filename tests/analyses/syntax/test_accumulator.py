"""Every head on every arc: a plain loop, the original notebook's loop, and the models' own maps."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.analyses.syntax.accumulator import DependencyAccumulator
from headscope.analyses.syntax.gold_arcs import NOOP_CLASSES, OFFSETS, ArcTable, DependencyOptions
from headscope.attention.model.examination import examine
from headscope.attention.model.model_source import ModelSource
from headscope.attention.scan import scan
from headscope.models.anatomy import KindLayout
from headscope.statistics.tables.frames import DISTANCES
from support.hand_made import HandMadeSource, random_map
from support.inputs import eager_maps, forward_inputs, made_up_segments, vocabulary
from support.tiny_models import shared_tiny_model
from support.trees import DIRECTIONS, NAMES, plain_loop, tied_map, tree_segments, with_tree

TABLE = ArcTable(("nsubj", "nsubj:pass", "poss", "obj", "root", "punct", "other"))
SEGMENTS = [*tree_segments(9, seed=1, documents=6), *tree_segments(3, seed=2, longest=26)]


def counted(segments, weights, *, kind="encoder", table=TABLE, options=None, **how):
    source = HandMadeSource(segments, weights, kind=kind, **how)
    accumulator = DependencyAccumulator(source.layout, table, options)
    scan(source, [accumulator])
    return accumulator


def row_of(relation):
    """The row that a label is counted in."""
    return relation if relation in TABLE.relations else "other"


def assert_counts(sums, found, documents, directions, table=TABLE):
    """Compare with a plain loop's counts, one key at a time."""

    def own(arc):
        document, relation, distance, *_ = arc
        row = table.relations.index(relation if relation in table.relations else "other")
        return documents.index(document), row * len(DISTANCES) + DISTANCES.index(distance or "1")

    def table_of(counter, array, rest):
        expected = np.zeros(array.shape)
        for key, number in counter.items():
            if place := rest(key):
                expected[(*own(key), *place)] += number
        return expected

    layers, heads = sums.hits.shape[2:4]
    np.testing.assert_array_equal(
        sums.hits,
        table_of(
            found["hits"], sums.hits, lambda k: (k[3], k[4], directions.index(k[5])) if k[5] in directions else ()
        ),
    )
    np.testing.assert_array_equal(sums.counts, table_of(found["counts"], sums.counts, lambda k: (...,)))
    offsets = table_of(found["offsets"], sums.offsets, lambda k: (OFFSETS.index(k[3]),))
    np.testing.assert_array_equal(sums.offsets, offsets)
    noop, attending = np.zeros(sums.noop.shape), np.zeros(sums.attending.shape)
    for (document, relation, direction, *place), value in found["noop"].items():
        if direction in directions:
            *layer_head, name = place
            own = documents.index(document), table.relations.index(relation), directions.index(direction)
            noop[(*own, *layer_head, NOOP_CLASSES.index(name))] += value
    for (document, relation, direction), number in found["attending"].items():
        if direction in directions:
            own_row = documents.index(document), table.relations.index(relation)
            attending[(*own_row, directions.index(direction))] += number
    np.testing.assert_allclose(sums.noop, noop, atol=1e-12)
    np.testing.assert_array_equal(sums.attending, attending)
    reachable = np.zeros(sums.reachable.shape)
    for (relation, layer, direction), value in found["reachable"].items():
        row = table.relations.index(relation if relation in table.relations else "other")
        if direction in directions:
            reachable[row, layer, directions.index(direction)] += value
    np.testing.assert_array_equal(sums.reachable, reachable)
    assert sums.noop.shape[3:5] == (layers, heads)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize(
    ("pooling", "special", "both"),
    [("mean", False, True), ("mean", True, False), ("first", False, False), ("max", True, True)],
)
@pytest.mark.parametrize("make", [random_map, tied_map])
def test_the_plain_loop(make, pooling, special, both, kind):
    causal = kind == "decoder"

    def weights(segment):
        return make(segment, causal=causal)

    options = DependencyOptions(pooling=pooling, special=special, both=both)
    maps = [weights(segment) for segment in SEGMENTS]
    found = plain_loop(SEGMENTS, maps, pooling=pooling, special=special, causal=causal, row_of=row_of)
    other = plain_loop(SEGMENTS, maps, pooling=pooling, special=not special, causal=causal)
    accumulator = counted(SEGMENTS, weights, kind=kind, options=options, height=5, side="left")
    (sums,) = accumulator.compute()
    documents = sorted({segment.document for segment in SEGMENTS})
    directions = list(DIRECTIONS[: 2 + both])
    assert_counts(sums, found, documents, directions)
    # Special tokens treated the other way, over all documents and distances.
    expected = np.zeros(sums.other.shape)
    for (_, relation, _, layer, head, direction), number in other["hits"].items():
        if direction in directions:
            row = TABLE.relations.index(relation if relation in TABLE.relations else "other")
            expected[row, layer, head, directions.index(direction)] += number
    np.testing.assert_array_equal(sums.other, expected)
    assert found["hits"] != other["hits"]
    # What was compared is neither nothing nor everything.
    assert 40 < sums.hits.sum() < 0.7 * sums.counts.sum() * sums.hits[0, 0].size
    assert all((sums.counts[:, i :: len(DISTANCES)] > 0).any() for i in range(len(DISTANCES)))
    placed = [len(set(segment.word_ids.tolist()) - {-1}) for segment in SEGMENTS]
    assert accumulator.words == sum(len(segment.words) for segment in SEGMENTS) > sum(placed)


def test_labels_folded():
    folded = ArcTable.of(Counter(name for s in SEGMENTS for name in s.fields["relns"]), folded=True, fewest=1)
    assert set(folded.relations) == {"nsubj", "obj", "poss", "case", "root", "punct", "other"}
    (sums,) = counted(SEGMENTS, random_map, table=folded).compute()
    plain = []
    for segment in SEGMENTS:
        names = [name.partition(":")[0] for name in segment.fields["relns"]]
        plain.append(replace(segment, fields={**segment.fields, "relns": names}))
    found = plain_loop(plain, [random_map(segment) for segment in SEGMENTS])
    documents = sorted({segment.document for segment in SEGMENTS})
    assert_counts(sums, found, documents, list(DIRECTIONS[:2]), table=folded)


def notebook(words, heads, relations, table):
    """Which words the original notebook calls right, by direction: its loop, stated anew.

    `table` is attention between words with [CLS] and [SEP] at the ends.
    """
    right = []
    for matrix in (table, table.T):
        own = matrix.copy()
        for i in range(len(own)):
            own[i, i] = 0
        predictions = [int(np.argmax(row)) + 1 for row in own[1:-1, 1:-1]]
        answers = []
        for i, (prediction, head, relation) in enumerate(zip(predictions, heads, relations)):
            correct = prediction == head
            if relation == "poss" and prediction < len(words) and i + 1 < len(words) and words[i + 1] in ("'s", "s'"):
                correct = predictions[i + 1] == head
            answers.append(correct)
        right.append(answers)
    return right


def whole_words(number, *, seed):
    """Sentences of words that are one piece each, as the notebook's maps between words are."""
    made = []
    for segment in tree_segments(number, seed=seed, longest=12, documents=11):
        n = len(segment.words)
        made.append(
            replace(
                segment,
                ids=np.array([0, *range(5, 5 + n), 2]),
                token_types=np.zeros(n + 2, dtype=np.int64),
                word_ids=np.array([-1, *range(n), -1]),
            )
        )
    return made


def sparse_map(segment):
    """Many zeros, so that rows without any other word and ties come up."""
    rng = np.random.default_rng([segment.index, len(segment), len(segment.document)])
    weights = rng.integers(0, 3, size=(2, 3, len(segment), len(segment))) / 16
    weights[:, 2, 2:, 1:-1] = 0
    return weights


def test_the_notebooks_choices():
    segments = whole_words(40, seed=3)
    expected, n = Counter(), Counter()
    for segment in segments:
        heads, relations = segment.fields["heads"], segment.fields["relns"]
        for place, own in np.ndenumerate(np.empty((2, 3))):
            del own
            right = notebook(segment.words, heads, relations, sparse_map(segment)[place])
            for direction, answers in enumerate(right):
                for relation, correct in zip(relations, answers):
                    expected[relation, *place, direction] += correct
        n.update(relations)
    table = ArcTable.of(n, fewest=1, compat=True)
    options = DependencyOptions(pooling="first", compat=True)
    (sums,) = counted(segments, sparse_map, table=table, options=options).compute()
    (by_definition,) = counted(segments, sparse_map, table=table, options=DependencyOptions()).compute()
    assert sums.hits.sum() != by_definition.hits.sum()
    for row, relation in enumerate(table.relations):
        own = sums.hits.sum(0).reshape(len(table.relations), len(DISTANCES), 2, 3, 2).sum(1)[row]
        for place, hits in np.ndenumerate(own):
            assert hits == expected[relation, *place], (relation, place)
    assert set(n) == {*NAMES, "root"}


@pytest.mark.parametrize("height", [None, 1, 4])
def test_a_layer_that_comes_in_rows_is_joined(height):
    (whole,) = counted(SEGMENTS, tied_map).compute()
    (cut,) = counted(SEGMENTS, tied_map, height=height, batch_size=3).compute()
    for name in ("hits", "counts", "offsets", "reachable", "other", "attending"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(whole, name))
    np.testing.assert_allclose(cut.noop, whole.noop, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("family", ["bert", "gpt2", "mistral", "modernbert", "bart", "t5", "mpnet"])
def test_models_agree_with_the_plain_loop_over_their_own_maps(family):
    """Through the model's own code in uneven batches and short tiles, against output_attentions one by one."""
    rng = np.random.default_rng(4)
    segments = [with_tree(segment, rng) for segment in made_up_segments(7, seed=5, longest=14)]
    model = shared_tiny_model(family)
    vocab = vocabulary(has_cls=family not in ("gpt2", "mistral"))
    anatomy = examine(model, vocab)
    groups = [segments[:3], segments[3:4], segments[4:]]
    accumulator = DependencyAccumulator(anatomy.layout, TABLE)
    scan(ModelSource(model, anatomy, vocab, groups, tile_limit=4 * 3 * 14 * 5), [accumulator])
    assert [sums.kind for sums in accumulator.compute()] == [p.kind for p in anatomy.layout if p.kind != "cross"]
    maps, shifted = {sums.kind: [] for sums in accumulator.compute()}, []
    for segment in segments:
        found = eager_maps(model, **forward_inputs(segment, anatomy))
        for kind, own in maps.items():
            own.append(torch.cat(found.get(kind, found.get("self"))).double().numpy())
        behind = np.concatenate([[-1], segment.word_ids[:-1]])
        shifted.append(replace(segment, word_ids=behind, ids=np.concatenate([[5], segment.ids[:-1]])))
    documents = sorted({segment.document for segment in segments})
    for sums in accumulator.compute():
        read = shifted if anatomy.encoder_decoder and sums.kind == "decoder" else segments
        found = plain_loop(read, maps[sums.kind], causal=sums.kind == "decoder")
        if family in ("modernbert", "mistral"):  # windows: the loop knows of causal masks only
            assert (sums.reachable < _unmasked(sums)).any()
            found["reachable"] = _seen(read, maps[sums.kind])
        # Special tokens and their classes are the vocabulary's business, compared above.
        found["noop"].clear()
        found["attending"].clear()
        empty = {name: np.zeros_like(getattr(sums, name)) for name in ("noop", "attending")}
        assert_counts(replace(sums, **empty), found, documents, list(DIRECTIONS[:2]))


def _unmasked(sums):
    arcs = sums.counts.sum(0).reshape(len(TABLE.relations), len(DISTANCES)).sum(1)
    return np.broadcast_to(arcs[:, None, None], sums.reachable.shape)


def _seen(segments, maps):
    """Arcs with some weight of any head: a softmax gives every visible key some."""
    found = Counter()
    for segment, weights in zip(segments, maps):
        words = segment.words
        for word, (number, relation) in enumerate(zip(segment.fields["heads"], segment.fields["relns"])):
            clitic = relation == "poss" and word + 1 < len(words) and words[word + 1] in ("'s", "'")
            asked = np.flatnonzero(segment.word_ids == word + clitic)
            gold = np.flatnonzero(segment.word_ids == number - 1) if number else asked[:0]
            for layer, own in enumerate(weights):
                found[relation, layer, DIRECTIONS[0]] += bool((own[:, asked][:, :, gold] > 0).any())
                found[relation, layer, DIRECTIONS[1]] += bool((own[:, gold][:, :, asked] > 0).any())
    return found


def test_segments_without_words_of_their_own_go_by_the_pieces_words():
    segments = [replace(segment, words=()) for segment in whole_words(5, seed=6)]
    (sums,) = counted(segments, random_map).compute()
    (named,) = counted([replace(s, words=("x",) * (len(s) - 2)) for s in segments], random_map).compute()
    np.testing.assert_array_equal(sums.hits, named.hits)
    assert sums.counts.sum() == sum(len(segment) - 2 for segment in segments)


def test_an_input_without_words_counts_nothing():
    bare = replace(
        SEGMENTS[0],
        document="bare",
        ids=np.array([0, 2]),
        word_ids=np.array([-1, -1]),
        token_types=np.zeros(2, dtype=np.int64),
        words=(),
        fields={"heads": [], "relns": []},
    )
    alone = counted([bare], tied_map, options=DependencyOptions(both=True))
    assert alone.words == 0
    assert alone.compute()[0].hits.sum() == 0
    (with_it,) = counted([bare, *SEGMENTS], tied_map, batch_size=1).compute()
    (without,) = counted(SEGMENTS, tied_map).compute()
    np.testing.assert_array_equal(with_it.hits.sum(0), without.hits.sum(0))


def test_other_counts_are_not_merged():
    layout = [KindLayout("encoder", 2, 3)]
    one = DependencyAccumulator(layout, TABLE)
    for other in (
        DependencyAccumulator([KindLayout("encoder", 3, 3)], TABLE),
        DependencyAccumulator(layout, ArcTable(TABLE.relations[1:])),
        DependencyAccumulator(layout, TABLE, DependencyOptions(pooling="max")),
    ):
        with pytest.raises(ValueError, match=r"or other relations; merge scans of one model only, over one treebank$"):
            one.merge(other)


@pytest.mark.parametrize(
    "options",
    [DependencyOptions(pooling="max", special=True), DependencyOptions(pooling="first", both=True, compat=True)],
)
def test_the_state_keeps_every_option(options):
    table = replace(TABLE, folded=options.special, compat=options.compat)
    accumulator = counted(SEGMENTS, random_map, table=table, options=options)
    again = DependencyAccumulator.from_state(accumulator.state())
    assert (again.table, again.options, again.layout) == (table, options, accumulator.layout)
    assert again.words == accumulator.words
    again.merge(accumulator)
    for twice, once in zip(again.compute(), accumulator.compute()):
        for name in ("hits", "noop", "attending", "counts", "offsets", "reachable", "other"):
            np.testing.assert_array_equal(getattr(twice, name), 2 * getattr(once, name))


def test_cross_attention_is_left_out():
    accumulator = DependencyAccumulator([KindLayout("encoder", 2, 3), KindLayout("cross", 2, 3)], TABLE)
    assert accumulator.layout == (KindLayout("encoder", 2, 3),)
    assert [sums.kind for sums in accumulator.compute()] == ["encoder"]

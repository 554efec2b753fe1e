"""The clearest segments of each head: which are kept, in what order, and what is cut out of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import torch

from headscope.analyses.stats.compute import StatsMeasurement
from headscope.attention.scan import scan
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.vocabulary import KeyClass
from headscope.models.load_model import load_model
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.examples import example_tables
from headscope.scans.examples.example_tables import TOP_EXAMPLES
from headscope.scans.examples.excerpts import ExcerptCollector, best_stretch, highest, inputs_to_read, statistic_by_key
from headscope.scans.examples.top_examples import TOP_EXAMPLE_STATISTICS, TopExampleAccumulator
from headscope.scans.prepare.prepared_run import prepare
from headscope.statistics.roles import roles
from support.hand_made import HandMadeSource
from support.inputs import CLS, SEP


def segment(document, length, index=0):
    ids = np.array([CLS, *range(20, 18 + length), SEP])
    words = np.array([NO_WORD, *range(length - 2), NO_WORD])
    return Segment(document=document, index=index, ids=ids, token_types=np.zeros_like(ids), word_ids=words)


def looking(shares, *, step):
    """One layer, one head: a share of the segment's own lies `step` tokens on, the rest on the token itself."""

    def weights(one):
        n, share = len(one), shares[one.document]
        table = np.zeros((n, n))
        for row in range(n):
            at = row + step
            table[row, at if 0 <= at < n else row] += share
            table[row, row] += 1 - share
        return table[None, None]

    return weights


def kept(shares, *, step=-1, length=8, statistic="previous", segments=None, **options):
    chosen = segments or [segment(name, length) for name in shares]
    source = HandMadeSource(chosen, looking(shares, step=step), **options)
    accumulator = TopExampleAccumulator(source.layout)
    scan(source, [accumulator])
    (examples,) = accumulator.compute().values()
    return list(examples.get((0, 0, statistic), ())), accumulator


def test_the_highest_means_are_kept_the_clearest_first():
    found, accumulator = kept({"a": 0.2, "b": 0.8, "c": 0.4, "d": 0.6, "e": 0.1})
    # Seven of eight rows have a token before them; the first row's share is 0 and counts.
    assert found == [(pytest.approx(0.7), "b", 0), (pytest.approx(0.525), "d", 0), (pytest.approx(0.35), "c", 0)]
    # `previous` only: of what no other statistic keeps, no token is held.
    assert {name for name, _ in accumulator.segments} <= set("abcde")


@pytest.mark.parametrize(("step", "statistic", "other"), [(-1, "previous", "next"), (1, "next", "previous")])
def test_direction_is_not_turned_round(step, statistic, other):
    found, accumulator = kept({"a": 0.9, "b": 0.3}, step=step, statistic=statistic)
    assert [document for _, document, _ in found] == ["a", "b"]
    (examples,) = accumulator.compute().values()
    assert (0, 0, other) not in examples  # never does it: nothing is clear about 0


def test_short_segments_do_not_count():
    segments = [segment("short", 5), segment("long", 6)]
    found, accumulator = kept({"short": 1.0, "long": 0.5}, segments=segments)
    assert [document for _, document, _ in found] == ["long"]
    assert set(accumulator.segments) == {("long", 0)}


def test_equal_scores_go_by_document_and_segment():
    segments = [segment("b", 8, 1), segment("c", 8), segment("b", 8), segment("a", 8), segment("d", 8)]
    shares = dict.fromkeys("abcd", 0.5)
    for order in (segments, segments[::-1]):
        found, _ = kept(shares, segments=order)
        assert [(document, index) for _, document, index in found] == [("a", 0), ("b", 0), ("b", 1)]
    # A difference below 1e-6 is none.
    found, _ = kept({"z": 0.5, "a": 0.5 - 1e-7}, segments=[segment("z", 8), segment("a", 8)])
    assert [document for _, document, _ in found] == ["a", "z"]


def test_merging_is_the_same_in_any_order():
    shares = dict(zip("abcdef", (0.1, 0.9, 0.4, 0.4, 0.7, 0.2)))
    whole, _ = kept(shares)
    parts = [kept(shares, segments=[segment(name, 8) for name in part])[1] for part in ("abc", "def")]
    for first, second in (parts, parts[::-1]):
        joined = TopExampleAccumulator.from_state(first.state())
        joined.merge(second)
        (examples,) = joined.compute().values()
        assert list(examples[0, 0, "previous"]) == whole
        wanted = {key[1:] for entries in examples.values() for key in entries}
        assert set(joined.segments) == wanted  # tokens of what was pushed out are let go
    with pytest.raises(ValueError, match="merge scans of one model only"):
        parts[0].merge(TopExampleAccumulator(parts[0].layout, most=5))


def test_memory_is_bounded_by_heads_not_by_the_corpus():
    rng = np.random.default_rng(0)
    shares = {f"d{place}": float(share) for place, share in enumerate(rng.uniform(size=300))}
    _, accumulator = kept(shares, batch_size=16)
    assert len(accumulator.segments) <= 3 * len(TOP_EXAMPLE_STATISTICS)
    assert accumulator.state()["top_examples.lengths"].shape == (len(accumulator.segments),)


def test_what_a_statistic_is_made_of_sums_to_it():
    rng = np.random.default_rng(1)
    weights = rng.dirichlet(np.ones(7), size=7).astype(np.float32)
    classes = np.array([KeyClass.CLS, 0, 0, KeyClass.PERIOD_COMMA, 0, KeyClass.SEP, KeyClass.SEP], dtype=np.uint8)
    sums = {name: statistic_by_key(name, weights, classes).sum(1) for name in TOP_EXAMPLE_STATISTICS}
    for row in range(7):
        assert sums["previous"][row] == pytest.approx(weights[row, row - 1] if row else 0.0)
        assert sums["next"][row] == pytest.approx(weights[row, row + 1] if row < 6 else 0.0)
        assert sums["cls"][row] == pytest.approx(weights[row, 0])
        assert sums["sep"][row] == pytest.approx(weights[row, 5] + weights[row, 6])
        assert sums["period_comma"][row] == pytest.approx(weights[row, 3])
        assert sums["max_weight"][row] == pytest.approx(weights[row].max())
        assert sums["entropy"][row] == pytest.approx(-(weights[row] * np.log(weights[row])).sum())


def test_a_stretch_holds_most_and_is_cut_between_words():
    n = 100
    # Words of three pieces, from the second token on.
    words = np.array([NO_WORD, *(np.arange(n - 2) // 3), NO_WORD])
    classes = np.zeros(n, dtype=np.int64)
    classes[0], classes[-1] = KeyClass.CLS, KeyClass.SEP
    shown = np.zeros((n, n))
    shown[50, 49], shown[60, 59], shown[5, 4] = 1.0, 1.0, 1.5
    start, places = best_stretch(shown, {"classes": classes, "word_ids": words}, most=32)
    assert {0, n - 1, 49, 50, 59, 60} <= set(places.tolist())
    assert len(places) <= 32
    inner = places[1:-1]
    assert start == inner[0]
    assert (np.diff(inner) == 1).all()
    assert words[inner[0]] != words[inner[0] - 1]
    assert words[inner[-1]] != words[inner[-1] + 1]
    # What lies on a special token is shown with any stretch: the rows decide.
    to_sep = np.zeros((n, n))
    to_sep[70:90, -1] = 1.0
    _, places = best_stretch(to_sep, {"classes": classes, "word_ids": words}, most=32)
    assert set(range(70, 90)) <= set(places.tolist())
    short = np.zeros((20, 20))
    start, places = best_stretch(short, {"classes": classes[:20], "word_ids": words[:20]}, most=32)
    assert (start, places.tolist()) == (0, list(range(20)))
    one_word = {"classes": np.zeros(n, dtype=np.int64), "word_ids": np.zeros(n, dtype=np.int64)}
    assert len(best_stretch(shown, one_word, most=32)[1]) == 32


def shown(source, role, *, tokens=10**6, **how):
    """What heads of a role are shown by, and the inputs that were chosen."""
    accumulator = TopExampleAccumulator(source.layout)
    scan(source, [accumulator])
    named = pd.DataFrame([{"kind": "encoder", "layer": 1, "head": 1, "role": role}])
    lengths = {key: len(one) for key, one in accumulator.segments.items()}
    chosen = inputs_to_read(accumulator.compute(), named, lengths, tokens=tokens)
    collector = ExcerptCollector(named)
    segments = [one for one in source.segments if (one.document, one.index) in chosen]
    scan(HandMadeSource(segments, source.weights, **how), [collector])
    return collector.excerpts, chosen


@pytest.mark.parametrize("how", [{}, {"height": 7, "side": "left"}])
def test_a_role_decides_what_a_head_is_shown_by(how):
    source = HandMadeSource([segment("a", 8), segment("b", 40)], looking({"a": 0.5, "b": 0.9}, step=-1))
    (long, short), _ = shown(source, "previous", **how)
    assert [(one.wanted.behavior, one.wanted.rank, one.wanted.document) for one in (long, short)] == [
        ("previous", 1, "b"),
        ("previous", 2, "a"),
    ]
    assert long.wanted.value == pytest.approx(0.9 * 39 / 40)
    assert long.weights.shape == (32, 32)
    np.testing.assert_allclose(long.weights[2, 1], 0.9, atol=1e-6)
    np.testing.assert_array_equal(short.queries, source.segments[0].ids)
    # The largest weight is 0.9 or, on the token itself, 1; of both segments the entropy is 0.33 and 0.69.
    assert [one.wanted.document for one in shown(source, "mixed", **how)[0]] == ["b", "a"]
    assert [one.wanted.document for one in shown(source, "broad", **how)[0]] == ["a", "b"]


def test_no_more_is_read_again_than_there_is_room_for():
    names = "abcdef"
    source = HandMadeSource([segment(name, 8) for name in names], looking(dict.fromkeys(names, 0.5), step=-1))
    assert shown(source, "previous", tokens=8 * 3)[1] == [("a", 0), ("b", 0), ("c", 0)]
    excerpts, chosen = shown(source, "previous", tokens=8 * 2 + 7)
    assert chosen == [("a", 0), ("b", 0)]
    assert [one.wanted.rank for one in excerpts] == [1, 2]
    assert shown(source, "previous", tokens=0)[1] == [("a", 0)]


@pytest.mark.parametrize("side", ["left", "right"])
def test_of_a_long_input_the_part_is_looked_at_where_the_head_does_it_most(side):
    """The token before from row 300 on; the excerpt lies there, and its weights are those of the whole map."""
    long = segment("long", 500)

    def weights(one):
        table = np.eye(len(one))
        for row in range(300, min(340, len(one))):
            table[row] = 0
            table[row, row - 1] = 1.0
        return table[None, None]

    source = HandMadeSource([long, segment("short", 9)], weights)
    (excerpt, *_), _ = shown(source, "previous", side=side)
    assert (excerpt.wanted.document, len(excerpt.rows)) == ("long", 32)
    assert set(excerpt.rows[1:-1]) <= set(range(299, 340))
    np.testing.assert_array_equal(excerpt.weights, weights(long)[0, 0][np.ix_(excerpt.rows, excerpt.columns)])
    assert highest(np.arange(500.0)) == slice(372, 500)
    assert highest(np.ones(500)) == slice(0, 128)


@pytest.fixture(scope="module")
def measured():
    """With room for all of the few inputs."""
    run = prepare(RunOptions(max_inputs=24, stages=("stats",)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(example_tables, "_SHARE", 1)
        return run, StatsMeasurement(run).measure()


@pytest.mark.slow
def test_chosen_sentences_are_those_of_a_plain_loop(measured):
    """Read every segment again one by one, with transformers' own eager attention, and rank them by hand."""
    run, result = measured
    table, named = result.tables["top_examples"], roles(result.tables["stats"])
    assert list(table.columns) == TOP_EXAMPLES.names
    loaded = load_model()
    loaded.model.set_attn_implementation("eager")
    classes = run.encoder.vocabulary
    scores, maps = {}, {}
    for one in run.segments():
        with torch.no_grad():
            out = loaded.model(
                input_ids=torch.tensor(one.ids)[None],
                token_type_ids=torch.tensor(one.token_types)[None],
                output_attentions=True,
            )
        weights = torch.stack([layer[0] for layer in out.attentions]).double().numpy()
        n = len(one)
        of = classes.of(one.ids)
        scores[one.document, one.index] = {
            "previous": np.trace(weights, -1, 2, 3) / n,
            "next": np.trace(weights, 1, 2, 3) / n,
            "cls": weights[..., of == KeyClass.CLS].sum(-1).mean(-1),
            "sep": weights[..., of == KeyClass.SEP].sum(-1).mean(-1),
            "period_comma": weights[..., of == KeyClass.PERIOD_COMMA].sum(-1).mean(-1),
            "entropy": -(weights * np.log(np.maximum(weights, 1e-300))).sum(-1).mean(-1),
            "max_weight": weights.max(-1).mean(-1),
        }
        maps[one.document, one.index] = (one, weights)
    assert len(table) == 3 * len(named)
    for (layer, head), rows in table.groupby(["layer", "head"]):
        role = named[(named["layer"] == layer) & (named["head"] == head)]["role"].iloc[0]
        assert set(rows["behavior"]) == {role}
        statistic = {"broad": "entropy", "mixed": "max_weight"}.get(role, role)
        plain = {key: float(table_[statistic][layer - 1, head - 1]) for key, table_ in scores.items()}
        best = sorted(plain.values(), reverse=True)[:3]
        assert list(rows["rank"]) == [1, 2, 3]
        np.testing.assert_allclose(rows["value"], best, atol=2e-6)
        for row in rows.to_dict("records"):
            assert plain[row["document"], row["segment"]] == pytest.approx(row["value"], abs=2e-6)
    for row in table[table["rank"] == 1].iloc[::9].to_dict("records"):
        one, weights = maps[row["document"], row["segment"]]
        n = len(row["tokens"])
        assert n <= 32
        ids = loaded.tokenizer.convert_tokens_to_ids(list(row["tokens"]))
        special = np.flatnonzero(one.word_ids == NO_WORD).tolist()
        stretches = (sorted({*range(row["start"], end), *special}) for end in range(len(one) + 1))
        chosen = next(places for places in stretches if len(places) == n)
        np.testing.assert_array_equal(one.ids[chosen], ids)
        ours = np.reshape(row["weights"], (n, n))
        np.testing.assert_allclose(ours, weights[row["layer"] - 1, row["head"] - 1][np.ix_(chosen, chosen)], atol=1e-5)
        assert "[SEP]" not in row["text"]
        assert row["text"].split()[0][:3] in loaded.tokenizer.decode(one.ids)


@pytest.mark.slow
def test_a_word_of_many_pieces_is_not_begun_in_the_middle(measured):
    run, result = measured
    keys = {(one.document, one.index): one for one in run.segments()}
    for row in result.tables["top_examples"].to_dict("records"):
        one = keys[row["document"], row["segment"]]
        start = row["start"]
        assert start == 0 or one.word_ids[start] == NO_WORD or one.word_ids[start] != one.word_ids[start - 1]


def test_tokens_alone_are_kept_of_a_segment():
    with_words = replace(segment("a", 8), words=("x",), fields={"heads": [1]})
    _, accumulator = kept({"a": 0.5}, segments=[with_words])
    (one,) = accumulator.segments.values()
    assert (one.words, dict(one.fields)) == ((), {})
    np.testing.assert_array_equal(one.ids, with_words.ids)
